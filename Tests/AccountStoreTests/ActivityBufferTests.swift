import AccountLinking
import AccountStore
import AccountTestSupport
import Postgres
import Testing

@Suite(.store)
struct ActivityBufferTests {
    /// A store with a buffer of its own, on the suite's database.
    private func freshStore() throws -> AccountStore { AccountStore(client: try StoreScene.shared.client) }

    /// What the database has, past any buffer.
    private func databaseTimes(_ id: UserID) async throws -> [Timestamp?] {
        let user = try await freshStore().user(id, tenant: .project)
        return [user?.lastLoginAt, user?.lastRefreshAt]
    }

    @Test func `times are seen in this process at once and in the database after a flush`() async throws {
        let store = try freshStore()
        let user = try await StoreScene.shared.create(.full())
        store.activity.note(user.id, tenant: .project, at: later, isSignIn: true)

        let seen = try await store.user(user.id, tenant: .project)
        #expect(seen?.lastLoginAt == later && seen?.lastRefreshAt == later)
        #expect(try await databaseTimes(user.id) == [origin, origin])
        try await store.activity.flush(to: store)
        #expect(try await databaseTimes(user.id) == [later, later])
        #expect(try await store.user(user.id, tenant: .project)?.version == user.version, "no fact changed")
    }

    @Test func `a refresh moves only the time of refresh`() async throws {
        let store = try freshStore()
        let user = try await StoreScene.shared.create(.full())
        store.activity.note(user.id, tenant: .project, at: later, isSignIn: false)
        try await store.activity.flush(to: store)
        #expect(try await databaseTimes(user.id) == [origin, later])
    }

    @Test func `many notes merge into the latest of each kind, and times never go back`() async throws {
        let store = try freshStore()
        let user = try await StoreScene.shared.create(.full())
        store.activity.note(user.id, tenant: .project, at: later.adding(seconds: 5), isSignIn: false)
        store.activity.note(user.id, tenant: .project, at: later, isSignIn: true)
        store.activity.note(user.id, tenant: .project, at: later.adding(seconds: -1), isSignIn: true)
        try await store.activity.flush(to: store)
        #expect(try await databaseTimes(user.id) == [later, later.adding(seconds: 5)])

        store.activity.note(user.id, tenant: .project, at: origin, isSignIn: true)
        #expect(try await store.user(user.id, tenant: .project)?.lastLoginAt == later)
        try await store.activity.flush(to: store)
        #expect(try await databaseTimes(user.id) == [later, later.adding(seconds: 5)])
    }

    @Test func `what a failed flush took is kept for the next`() async throws {
        let scene = try StoreScene.shared
        let store = try freshStore()
        let user = try await scene.create(.full())
        let unreachable = PostgresClient(configuration: scene.database.configuration)
        unreachable.shutDown()
        store.activity.note(user.id, tenant: .project, at: later, isSignIn: true)
        await #expect(throws: PostgresError.self) {
            try await store.activity.flush(to: AccountStore(client: unreachable))
        }
        #expect(try await store.user(user.id, tenant: .project)?.lastLoginAt == later)

        store.activity.note(user.id, tenant: .project, at: later.adding(seconds: 1), isSignIn: false)
        try await store.activity.flush(to: store)
        #expect(try await databaseTimes(user.id) == [later, later.adding(seconds: 1)])
    }

    @Test func `users who are gone are skipped, and several statements are used for many`() async throws {
        let store = try freshStore()
        let user = try await StoreScene.shared.create(.full())
        for number in 0..<2500 {
            store.activity.note(userID("gone-\(number)"), tenant: .project, at: later, isSignIn: true)
        }
        store.activity.note(user.id, tenant: .project, at: later, isSignIn: true)
        try await store.activity.flush(to: store)
        #expect(try await databaseTimes(user.id) == [later, later])
    }

    @Test func `two servers that flush the same users do not stop each other`() async throws {
        let scene = try StoreScene.shared
        var users: [UserID] = []
        for _ in 0..<20 { users.append(try await scene.create(.blank()).id) }
        try await withThrowingTaskGroup { group in
            for number in 0..<8 {
                let store = try freshStore()
                for user in users {
                    store.activity.note(
                        user,
                        tenant: .project,
                        at: later.adding(seconds: Int64(number)),
                        isSignIn: true
                    )
                }
                group.addTask { try await store.activity.flush(to: store) }
            }
            try await group.waitForAll()
        }
        for user in users {
            #expect(try await databaseTimes(user) == [later.adding(seconds: 7), later.adding(seconds: 7)])
        }
    }
}
