import AccountLinking
import AccountTestSupport
import Testing

@testable import AccountStore
@testable import Postgres

/// Searches and lists of administrators: their answers, and that their cost does not grow with the number of accounts.
struct SearchTests {
    /// The ids that a search finds, and the number of statements that it sent; lookups count apart.
    private func found(
        _ scene: StoreScene,
        _ edit: (inout UserSearch) -> Void
    ) async throws -> (ids: [String], reads: Int) {
        var search = UserSearch()
        edit(&search)
        let before = scene.client.state.read.statistics.accepted
        let users = try await scene.store.users(search, tenant: .project)
        return (users.map(\.id.rawValue), scene.client.state.read.statistics.accepted - before)
    }

    @Test func `a search sends a statement for each kind of identifier that it names, and one for the users`()
        async throws
    {
        try await StoreScene.with { scene in
            let ann = try await scene.create(.full("ann"))
            let bob = try await scene.create(.full("bob"))
            let email = try #require(ann.email?.address)
            let number = try #require(bob.phoneNumber)
            let google = try #require(bob.linkedProviders[.google]?.identity)
            let searches: [(what: String, edit: (inout UserSearch) -> Void, ids: [String], reads: Int)] = [
                ("nothing", { _ in }, [], 0),
                ("an id", { $0.ids = [ann.id] }, ["ann"], 1),
                ("two ids", { $0.ids = [bob.id, ann.id] }, ["ann", "bob"], 1),
                ("an address", { $0.emails = [email] }, ["ann"], 2),
                ("an unknown address", { $0.emails = [address("nobody@example.com")] }, [], 1),
                ("a number", { $0.phoneNumbers = [number] }, ["bob"], 2),
                ("an identity", { $0.identities = [google] }, ["bob"], 2),
                (
                    "an address and an identity", { ($0.emails, $0.identities) = ([email], [google]) }, ["ann", "bob"],
                    3
                ),
                ("a first address", { $0.initialEmails = ["FIRST-ann@example.com"] }, ["ann"], 2),
            ]
            for search in searches {
                let (ids, reads) = try await found(scene, search.edit)
                #expect(ids == search.ids, "\(search.what)")
                #expect(reads == search.reads, "\(search.what)")
            }
        }
    }

    /// Three accounts: by id a, b, c; by creation c, a, b; by name b, a, c, which has none.
    private func fill(_ scene: StoreScene) async throws {
        for (id, seconds, name) in [("a", 2, "N"), ("b", 3, "M"), ("c", 1, nil)] as [(String, Int64, String?)] {
            var user = UserRecord.blank(id)
            user.createdAt = origin.adding(seconds: seconds)
            user.profile.displayName = name
            _ = try await scene.create(user)
        }
    }

    @Test(arguments: [
        (UserOrder(key: .id, isDescending: false), ["a", "b", "c"]),
        (UserOrder(key: .id, isDescending: true), ["c", "b", "a"]),
        (UserOrder(key: .createdAt, isDescending: false), ["c", "a", "b"]),
        (UserOrder(key: .createdAt, isDescending: true), ["b", "a", "c"]),
        (UserOrder(key: .displayName, isDescending: false), ["b", "a", "c"]),
        (UserOrder(key: .displayName, isDescending: true), ["a", "b", "c"]),
    ])
    func `a page has the order of the list`(_ order: UserOrder, _ ids: [String]) async throws {
        try await StoreScene.with { scene in
            try await fill(scene)
            func page(_ limit: Int64, _ offset: Int64, sortedMax: Int64 = 3) async throws -> [String]? {
                try await scene.store
                    .users(by: order, limit: limit, offset: offset, tenant: .project, sortedMax: sortedMax)?
                    .map(\.id.rawValue)
            }
            #expect(try await page(10, 0) == ids)
            #expect(try await page(1, 1) == [ids[1]])
            #expect(try await page(10, 3) == [])
            // More accounts than can be sorted.
            #expect(try await page(10, 0, sortedMax: 2) == (order.isIndexed ? ids : nil))
        }
    }

    @Test func `a count is exact up to its limit, and PostgreSQL's estimate above it`() async throws {
        try await StoreScene.with { scene in
            try await fill(scene)
            let count = { (exactMax: Int64) in
                try await scene.store.userCount(exactMax: exactMax, sharedMax: exactMax, tenant: .project)
            }
            #expect(try await count(3) == 3)
            // Never less than what was counted, even before the first ANALYZE.
            #expect(try await count(1) >= 2)
            try await scene.database.execute("ANALYZE users")
            #expect(try await count(1) == 3)
        }
    }

    @Test func `a tenant's count never includes the accounts of another tenant`() async throws {
        try await StoreScene.with { scene in
            try await fill(scene)
            try await scene.database.execute(
                """
                INSERT INTO users (tenant_id, user_id, session_epoch, valid_since, created_at)
                    SELECT 'other', 'other-' || n, 1, now(), now() FROM generate_series(1, 5) AS n;
                ANALYZE users
                """
            )
            let other = TenantID("other")
            for (sharedMax, project, others) in [(1, 2, 2), (3, 3, 3), (100, 3, 5)] as [(Int64, Int64, Int64)] {
                #expect(
                    try await scene.store.userCount(exactMax: 1, sharedMax: sharedMax, tenant: .project) == project
                )
                #expect(try await scene.store.userCount(exactMax: 1, sharedMax: sharedMax, tenant: other) == others)
            }
            let newest = try await scene.store.users(
                by: UserOrder(key: .createdAt, isDescending: true),
                limit: 10,
                offset: 0,
                tenant: .project,
                sortedMax: 100
            )
            #expect(newest?.map(\.id.rawValue) == ["b", "a", "c"])
        }
    }

    @Test(.notOnCitus("the plan of a statement on Citus shows shards"))
    func `the issuers of a provider's identities are found by an index`() async throws {
        try await StoreScene.with { scene in
            let issuers = { (provider: ProviderID) in
                try await scene.client.read(LinkedProviderRow.issuers(of: provider, tenant: .project)).first?.issuers
            }
            #expect(try await issuers(.google) == [])
            for (id, issuer) in [("a", nil), ("b", "https://b.example.com"), ("c", "https://a.example.com")] {
                var user = UserRecord.full(id)
                user.linkedProviders[.google]?.issuer = issuer
                _ = try await scene.create(user)
            }
            #expect(try await issuers(.google) == ["https://a.example.com", "https://b.example.com"])
            try await scene.database.execute("VACUUM ANALYZE")
            let query = LinkedProviderRow.issuers(of: .google, tenant: .project)
            let plan = try await scene.client.read(Query<String?>("EXPLAIN (COSTS OFF) \(query.sql)"))
            #expect(plan.contains { $0?.contains("linked_providers_by_issuer") ?? false }, "\(plan)")
        }
    }
}
