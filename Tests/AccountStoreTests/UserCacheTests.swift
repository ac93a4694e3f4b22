import AccountLinking
import AccountTestSupport
import Postgres
import Synchronization
import Testing

@testable import AccountStore

/// A cached user is served only while the database confirms that it is current.
@Suite(.store)
struct UserCacheTests {
    /// Another server on the suite's database.
    private func server() throws -> AccountStore { AccountStore(client: try StoreScene.shared.client) }

    /// The user that a server returns if it read the user before another server makes `change`.
    private func reported(
        of user: UserRecord,
        after change: (AccountStore) async throws -> Void
    ) async throws -> UserRecord? {
        let reader = try server()
        #expect(try await reader.user(user.id, tenant: .project) == user)
        try await change(server())
        return try await reader.user(user.id, tenant: .project)
    }

    private func expectApplied(_ write: AccountWrite, _ store: AccountStore) async throws {
        #expect(try await store.apply(write) == .applied)
    }

    @Test(arguments: NamedChange.all)
    func `a change by another server is visible at once`(_ named: NamedChange) async throws {
        let scene = try StoreScene.shared
        let before = try await scene.create(.full())
        let change = named.change(of: before)
        let after = before.applying(change, ChangeContext(now: later, methodProof: .session))
        let write = AccountWrite(
            previous: before,
            user: after,
            passwordHash: change.password == .set ? "$another$" : nil,
            event: event(.userUpdated, at: later)
        )
        let seen = try await reported(of: before) { try await expectApplied(write, $0) }
        #expect(seen == (try await scene.stored(before.id)))
        #expect((seen?.version == before.version) == (before == after))
    }

    @Test func `a new profile from a provider is visible at once`() async throws {
        let scene = try StoreScene.shared
        let before = try await scene.create(.full())
        var described = try #require(before.linkedProviders[.google])
        described.photoURL = "https://example.com/new.png"
        described.updatedAt = later
        var after = before
        after.refreshProfile(of: described)
        let write = AccountWrite(previous: before, user: after, session: before.session(), event: event(.signedIn))
        let seen = try await reported(of: before) { try await expectApplied(write, $0) }
        #expect(seen?.linkedProviders[.google] == described)
        #expect(seen == (try await scene.stored(before.id)))
    }

    @Test func `a deletion is visible at once, and so is a new account with the same id`() async throws {
        let scene = try StoreScene.shared
        let before = try await scene.create(.full())
        let reader = try server()
        #expect(try await reader.user(before.id, tenant: .project) == before)
        #expect(try await scene.store.delete(before, event: event(.userDeleted)) == .applied)
        #expect(try await reader.user(before.id, tenant: .project) == nil)

        var successor = UserRecord.blank(before.id.rawValue)
        successor.sessionEpoch = before.sessionEpoch + 5
        #expect(successor.version == before.version)
        let stored = try await scene.create(successor)
        #expect(try await reader.user(before.id, tenant: .project) == stored)
    }

    @Test func `flushed sign-in times are visible without reading the user again`() async throws {
        let scene = try StoreScene.shared
        let before = try await scene.create(.full())
        let seen = try await reported(of: before) { writer in
            writer.activity.note(before, at: later, isSignIn: true)
            try await writer.activity.flush(to: writer)
            try await PostgresConnection.withConnection(scene.database.configuration) { connection in
                try connection.execute(
                    "UPDATE linked_providers SET display_name = 'unread' WHERE user_id = \(before.id.rawValue)"
                )
            }
        }
        var expected = before
        expected.lastLoginAt = later
        expected.lastRefreshAt = later
        #expect(seen == expected)
        let whole = try await scene.stored(before.id)
        #expect(whole?.linkedProviders[.google]?.displayName == "unread")
    }

    @Test func `a session is read with the current state of its user`() async throws {
        let scene = try StoreScene.shared
        let before = try await scene.create(.full())
        let session = before.session()
        let opening = AccountWrite(previous: before, user: before, session: session, event: event(.signedIn))
        #expect(try await scene.store.apply(opening) == .applied)
        let reader = try server()
        for _ in 0..<2 {
            let found = try await reader.session(session.id, of: before.id, tenant: .project)
            #expect(found.session == session && found.user == before)
        }

        var disabled = before
        disabled.isDisabled = true
        let write = AccountWrite(previous: before, user: disabled, event: event(.userUpdated))
        #expect(try await scene.store.apply(write) == .applied)
        let found = try await reader.session(session.id, of: before.id, tenant: .project)
        #expect(found.session == session && found.user?.isDisabled == true)

        let current = try #require(found.user)
        #expect(try await scene.store.delete(current, event: event(.userDeleted)) == .applied)
        let gone = try await reader.session(session.id, of: before.id, tenant: .project)
        #expect(gone.session == nil && gone.user == nil)
    }

    @Test(.notOnCitus("a row's origin is its shard there"))
    func `after a restart or a restored table, cached users are read again`()
        async throws
    {
        let user = try await StoreScene.shared.create(.full())
        let client = try StoreScene.shared.client
        let known = try #require(try await client.read(UserRow.lookup(user.id, tenant: .project)).known)
        let version = try #require(try await client.read(UserVersionRow.lookup(user.id, tenant: .project)).first)
        #expect(version.updating(known) == user)
        let start: Query<PostgresTimestamp?> = "SELECT pg_postmaster_start_time()"
        let table: Query<Int64?> = "SELECT 'users'::regclass::oid::bigint"
        var started = try #require(try await client.read(start).first.flatMap(\.self))
        let number = try #require(try await client.read(table).first.flatMap(\.self))
        #expect(known.origin == UserOrigin(serverStart: started, table: number))
        let elsewhere = UserOrigin(serverStart: started, table: number + 1)
        #expect(version.updating(CachedUser(record: user, origin: elsewhere)) == nil)
        started.microsecondsSinceEpoch -= 1
        let earlier = UserOrigin(serverStart: started, table: number)
        #expect(version.updating(CachedUser(record: user, origin: earlier)) == nil)
    }

    @Test func `the cache is bounded and holds the latest users`() throws {
        let cache = UserCache()
        let somewhere = UserOrigin(serverStart: origin.stored, table: 1)
        let count = UserCache.usersMax * 5 / 2
        for number in 0..<count {
            // A user that is read again in full is cached once.
            for _ in 0..<2 { cache.remember(CachedUser(record: .blank("u\(number)"), origin: somewhere)) }
        }
        let kept = (0..<count).filter { cache.user(userID("u\($0)"), tenant: .project) != nil }
        #expect(kept == Array(count - UserCache.usersMax..<count))
        #expect(cache.user(userID("u\(count - 1)"), tenant: TenantID("other")) == nil)
    }

    /// Writers use one server, readers another. A reader never gets a state that was outdated when it asked, or that
    /// never existed.
    @Test func `readers beside writers see only committed states that are current`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        let reader = try server()
        let committed = Committed()
        let writes = 40
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    let writer = try server()
                    for _ in 0..<writes {
                        while true {
                            let before = try #require(try await writer.user(user.id, tenant: .project))
                            var after = before
                            let name = "\(before.version + 1)"
                            after.profile.displayName = name
                            after.linkedProviders[.google]?.displayName = name
                            let write = AccountWrite(previous: before, user: after, event: event(.userUpdated))
                            guard try await writer.apply(write) == .applied else { continue }
                            committed.version.max(before.version + 1, ordering: .sequentiallyConsistent)
                            break
                        }
                    }
                }
            }
            for _ in 0..<32 {
                group.addTask {
                    while true {
                        let least = committed.version.load(ordering: .sequentiallyConsistent)
                        let seen = try #require(try await reader.user(user.id, tenant: .project))
                        #expect(seen.version >= least)
                        if seen.version > user.version {
                            #expect(seen.profile.displayName == "\(seen.version)")
                            #expect(seen.linkedProviders[.google]?.displayName == "\(seen.version)")
                        }
                        if seen.version == user.version + Int64(4 * writes) { return }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(
            try await scene.database.count(
                "SELECT version FROM users WHERE user_id = \(user.id.rawValue) AND display_name = version::text"
            ) == user.version + Int64(4 * writes)
        )
    }
}

/// The latest version that a writer has committed.
private final class Committed: Sendable {
    let version = Atomic<Int64>(0)
}
