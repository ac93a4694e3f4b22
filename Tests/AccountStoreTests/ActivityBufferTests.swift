import AccountLinking
import AccountTestSupport
import Postgres
import Testing

@testable import AccountStore

@Suite(.store)
struct ActivityBufferTests {
    /// A store with a separate buffer on the suite's database.
    private func freshStore() throws -> AccountStore { AccountStore(client: try StoreScene.shared.client) }

    private func unreachableStore(_ scene: StoreScene) -> AccountStore {
        let client = PostgresClient(configuration: scene.database.configuration)
        client.shutDown()
        return AccountStore(client: client)
    }

    /// The stored times, without any buffer.
    private func databaseTimes(_ id: UserID) async throws -> [Timestamp?] {
        let user = try await freshStore().user(id, tenant: .project)
        return [user?.lastLoginAt, user?.lastRefreshAt]
    }

    @Test func `noted times are visible in this process at once and in the database after a flush`() async throws {
        let store = try freshStore()
        let user = try await StoreScene.shared.create(.full())
        store.activity.note(user, at: later, isSignIn: true)

        let seen = try await store.user(user.id, tenant: .project)
        #expect(seen?.lastLoginAt == later && seen?.lastRefreshAt == later)
        #expect(try await databaseTimes(user.id) == [origin, origin])
        try await store.activity.flush(to: store)
        #expect(try await databaseTimes(user.id) == [later, later])
        #expect(try await store.user(user.id, tenant: .project)?.version == user.version, "times raise no version")
    }

    @Test func `a refresh changes only the time of refresh`() async throws {
        let store = try freshStore()
        let user = try await StoreScene.shared.create(.full())
        store.activity.note(user, at: later, isSignIn: false)
        try await store.activity.flush(to: store)
        #expect(try await databaseTimes(user.id) == [origin, later])
    }

    @Test func `many notes merge into the latest time of each kind, and no time moves back`() async throws {
        let store = try freshStore()
        let user = try await StoreScene.shared.create(.full())
        store.activity.note(user, at: later.adding(seconds: 5), isSignIn: false)
        store.activity.note(user, at: later, isSignIn: true)
        store.activity.note(user, at: later.adding(seconds: -1), isSignIn: true)
        try await store.activity.flush(to: store)
        #expect(try await databaseTimes(user.id) == [later, later.adding(seconds: 5)])

        store.activity.note(user, at: origin, isSignIn: true)
        #expect(try await store.user(user.id, tenant: .project)?.lastLoginAt == later)
        try await store.activity.flush(to: store)
        #expect(try await databaseTimes(user.id) == [later, later.adding(seconds: 5)])
    }

    @Test func `times of a failed flush are written by the next one`() async throws {
        let scene = try StoreScene.shared
        let store = try freshStore()
        let user = try await scene.create(.full())
        let unreachable = unreachableStore(scene)
        store.activity.note(user, at: later, isSignIn: true)
        await #expect(throws: PostgresError.self) {
            try await store.activity.flush(to: unreachable)
        }
        #expect(try await store.user(user.id, tenant: .project)?.lastLoginAt == later)

        store.activity.note(user, at: later.adding(seconds: 1), isSignIn: false)
        try await store.activity.flush(to: store)
        #expect(try await databaseTimes(user.id) == [later, later.adding(seconds: 1)])
    }

    @Test func `a read has the times from before it, whether flushes fail or succeed meanwhile`() async throws {
        let scene = try StoreScene.shared
        let store = try freshStore()
        let user = try await scene.create(.full())
        store.activity.note(user, at: later, isSignIn: true)
        let unwritten = store.activity.unwritten()
        let unreachable = unreachableStore(scene)
        await #expect(throws: PostgresError.self) { try await store.activity.flush(to: unreachable) }
        #expect(unwritten.overlay(user).lastLoginAt == later)

        try await store.activity.flush(to: store)
        #expect(unwritten.overlay(user).lastLoginAt == later)
        #expect(store.activity.unwritten().overlay(user) == user, "the database has the times")

        let last = later.adding(seconds: 1)
        store.activity.note(user, at: last, isSignIn: false)
        try await store.activity.flush(to: store)
        try await store.activity.flush(to: store)
        #expect(unwritten.overlay(user).lastLoginAt == later)
        #expect(unwritten.overlay(user).lastRefreshAt == last)
    }

    /// A read of one user.
    struct Read: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// True if the store has the user in its cache, and reads only the version and the times.
        var isOfCached = false
        let user: @Sendable (AccountStore, UserRecord) async throws -> UserRecord?

        private static let bytes = [UInt8](repeating: 1, count: 16)

        static let all = [
            Read(testDescription: "user") { try await $0.user($1.id, tenant: .project) },
            Read(testDescription: "cached user", isOfCached: true) { try await $0.user($1.id, tenant: .project) },
            Read(testDescription: "owner of an address") { store, user in
                try await store.user(owning: .email(#require(user.email).address), tenant: .project)
            },
            Read(testDescription: "one of some users") { try await $0.users([$1.id], tenant: .project).first },
            Read(testDescription: "several users") {
                try await $0.users([$1.id, userID("nobody-\($1.id.rawValue)")], tenant: .project).first
            },
            Read(testDescription: "users with a proven conflict") {
                try await $0.users([$1.id], andProvenConflictOf: $1.id, tenant: .project, at: later).users.first
            },
            Read(testDescription: "list of users") {
                // The id before that of the user, so that the answer is short.
                let before = userID(String($1.id.rawValue.dropLast()))
                return try await $0.users(after: before, limit: 1, tenant: .project).first
            },
            Read(testDescription: "facts about a password") { store, user in
                let source = AttemptSource(network: "192.0.2.1")
                let address = try #require(user.email).address
                return try await store.passwordFacts(of: address, by: source, tenant: .project, at: later).user
            },
            Read(testDescription: "session") {
                try await $0.session($1.session().id, of: $1.id, tenant: .project).user
            },
            Read(testDescription: "session of a cached user", isOfCached: true) {
                try await $0.session($1.session().id, of: $1.id, tenant: .project).user
            },
            Read(testDescription: "device") { try await $0.device(bytes + bytes, of: $1.id, tenant: .project).user },
            Read(testDescription: "device of a cached user", isOfCached: true) {
                try await $0.device(bytes + bytes, of: $1.id, tenant: .project).user
            },
            Read(testDescription: "import") {
                try await $0.importSituation([$1.id], [], tenant: .project, at: later).users[$1.id]
            },
            Read(testDescription: "facts about a conflict") { store, user in
                let identity = Identifier.email(try #require(user.email).address)
                return try await store.conflictFacts(bytes, of: user.id, identity: identity, tenant: .project).user
            },
            Read(testDescription: "facts about a conflict, with the stored answer") { store, user in
                let identity = Identifier.email(try #require(user.email).address)
                let key = StoredResponseKey(tenant: .project, user: user.id, digest: bytes + bytes)
                return try await store.conflictFacts(
                    bytes,
                    of: user.id,
                    identity: identity,
                    tenant: .project,
                    answerTo: key,
                    at: later
                ).user
            },
        ]
    }

    @Test(.enabled(if: SocketProxy.isPossible), arguments: Read.all)
    func `times that are flushed between a read and its answer are in the answer`(read: Read) async throws {
        let scene = try StoreScene.shared
        // No other row of an answer has this text.
        let name = "held-\(nextNumber())"
        var named = UserRecord.full("read-\(nextNumber())-b")
        named.profile.displayName = name
        let created = try await scene.create(named)
        let opening = AccountWrite(
            previous: created,
            user: created,
            session: created.session(),
            event: event(.signedIn)
        )
        #expect(try await scene.store.apply(opening) == .applied)
        let user = try #require(try await scene.stored(created.id))

        // One connection answers all queries of a read at once.
        try await scene.throughProxy(readConnections: 1) { store, proxy in
            if read.isOfCached { _ = try await store.user(user.id, tenant: .project) }
            store.activity.note(user, at: later, isSignIn: true)
            let held = proxy.hold(answerWith: read.isOfCached ? user.id.rawValue : name)
            async let answer = {
                defer { proxy.release() }
                return try await read.user(store, user)
            }()
            for await _ in held {}
            // The answer was read from the database, and is on its way to the store.
            #expect(proxy.hasHeld)
            try await store.activity.flush(to: scene.store)
            proxy.release()
            let seen = try await answer
            #expect(seen?.lastLoginAt == later && seen?.lastRefreshAt == later)
        }
        #expect(try await databaseTimes(user.id) == [later, later])
    }

    @Test func `a flush skips deleted users, and splits many users over several statements`() async throws {
        let store = try freshStore()
        let user = try await StoreScene.shared.create(.full())
        for number in 0..<2500 {
            store.activity.note(.blank("gone-\(number)"), at: later, isSignIn: true)
        }
        store.activity.note(user, at: later, isSignIn: true)
        try await store.activity.flush(to: store)
        #expect(try await databaseTimes(user.id) == [later, later])
    }

    @Test func `two servers that flush the same users do not block each other`() async throws {
        let scene = try StoreScene.shared
        var users: [UserRecord] = []
        for _ in 0..<20 { users.append(try await scene.create(.blank())) }
        try await withThrowingTaskGroup { group in
            for number in 0..<8 {
                let store = try freshStore()
                for user in users {
                    store.activity.note(user, at: later.adding(seconds: Int64(number)), isSignIn: true)
                }
                group.addTask { try await store.activity.flush(to: store) }
            }
            try await group.waitForAll()
        }
        for user in users {
            #expect(try await databaseTimes(user.id) == [later.adding(seconds: 7), later.adding(seconds: 7)])
        }
    }

    /// Deletes the account and makes another with its uid, as an import does.
    private func recreated(_ user: UserRecord, epoch: Int64) async throws -> UserRecord {
        let scene = try StoreScene.shared
        try await scene.database.execute(
            """
            DELETE FROM identifiers WHERE user_id = '\(user.id.rawValue)';
            DELETE FROM users WHERE user_id = '\(user.id.rawValue)'
            """
        )
        var next = UserRecord.blank(user.id.rawValue)
        next.sessionEpoch = epoch
        next.lastLoginAt = origin
        next.lastRefreshAt = origin
        return try await scene.create(next)
    }

    @Test func `sign-in times of a deleted account do not change the next account with its uid`() async throws {
        let store = try freshStore()
        let user = try await StoreScene.shared.create(.blank())
        store.activity.note(user, at: later, isSignIn: true)
        let next = try await recreated(user, epoch: user.sessionEpoch + 4_000_000_000_000)
        let seen = try await store.user(next.id, tenant: .project)
        #expect(seen?.lastLoginAt == origin && seen?.lastRefreshAt == origin)
        try await store.activity.flush(to: store)
        #expect(try await databaseTimes(next.id) == [origin, origin])

        // The third account's own times count, even though times of the second wait and its epoch is lower.
        let third = try await recreated(next, epoch: next.sessionEpoch - 3_000_000_000_000)
        store.activity.note(next, at: later, isSignIn: true)
        store.activity.note(third, at: later.adding(seconds: 1), isSignIn: false)
        store.activity.note(next, at: later, isSignIn: true)
        let shown = try await store.user(third.id, tenant: .project)
        #expect(shown?.lastLoginAt == origin && shown?.lastRefreshAt == later.adding(seconds: 1))
        try await store.activity.flush(to: store)
        #expect(try await databaseTimes(third.id) == [origin, later.adding(seconds: 1)])
    }

    @Test func `a time from before all sessions of an account ended still counts`() async throws {
        let store = try freshStore()
        let user = try await StoreScene.shared.create(.full())
        store.activity.note(user, at: later, isSignIn: true)
        var ended = user
        ended.sessionEpoch += 2
        store.activity.note(ended, at: later.adding(seconds: 1), isSignIn: false)
        try await StoreScene.shared.database.execute(
            "UPDATE users SET session_epoch = session_epoch + 3 WHERE user_id = '\(user.id.rawValue)'"
        )
        let seen = try await store.user(user.id, tenant: .project)
        #expect(seen?.lastLoginAt == later && seen?.lastRefreshAt == later.adding(seconds: 1))
        try await store.activity.flush(to: store)
        #expect(try await databaseTimes(user.id) == [later, later.adding(seconds: 1)])
    }

    @Test func `times that many servers hold of a deleted account do not change the next account`() async throws {
        let user = try await StoreScene.shared.create(.blank())
        var stores: [AccountStore] = []
        for number in 0..<12 {
            let store = try freshStore()
            store.activity.note(user, at: later.adding(seconds: Int64(number)), isSignIn: true)
            stores.append(store)
        }
        let next = try await recreated(user, epoch: user.sessionEpoch + 4_000_000_000_000)
        stores[3].activity.note(next, at: later, isSignIn: false)
        try await withThrowingTaskGroup { group in
            for store in stores { group.addTask { try await store.activity.flush(to: store) } }
            try await group.waitForAll()
        }
        // The store that saw both accounts writes the times of the account that it saw last.
        let times = try await databaseTimes(next.id)
        #expect(times[0] == origin && [origin, later].contains(times[1]))
    }
}
