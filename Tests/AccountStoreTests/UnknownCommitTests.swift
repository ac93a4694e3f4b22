import AccountLinking
import AccountStore
import AccountTestSupport
import Postgres
import Testing

/// A connection that breaks between COMMIT and its response.
@Suite(.store)
struct UnknownCommitTests {
    @Test(.enabled(if: SocketProxy.isPossible))
    func `if the response to a commit is lost, the store finds that it was applied`() async throws {
        let scene = try StoreScene.shared
        try await scene.throughProxy { store, proxy in
            let record = event(.userCreated)
            let user = UserRecord.full()
            proxy.fail(.answerLost, at: record.id)
            let write = AccountWrite(previous: nil, user: user, passwordHash: "$hash$", event: record)
            let applied = try await store.apply(write)
            #expect(applied == .applied)
            #expect(proxy.hasFailed)
            #expect(try await scene.stored(user.id) == user)
            #expect(try await scene.eventCount(of: user.id) == 1)
        }
    }

    @Test(.enabled(if: SocketProxy.isPossible), arguments: [SocketProxy.Fault.answerLost, .requestLost])
    func `if the response to a shared transaction is lost, each write finds its outcome`(
        fault: SocketProxy.Fault
    ) async throws {
        let scene = try StoreScene.shared
        try await scene.throughProxy(writeConnections: 1) { store, proxy in
            let writes = (0..<24).map { _ in
                AccountWrite(previous: nil, user: .blank(), event: event(.userCreated))
            }
            proxy.fail(fault, at: writes[17].event.id)
            let outcomes = try await withThrowingTaskGroup(of: (UserID, AccountStore.Applied).self) { group in
                for write in writes {
                    group.addTask { (write.user.id, try await store.apply(write)) }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            #expect(proxy.hasFailed)
            for write in writes {
                let isApplied = outcomes[write.user.id] == .applied
                #expect(try await scene.stored(write.user.id) == (isApplied ? write.user : nil))
                #expect(try await scene.eventCount(of: write.user.id) == (isApplied ? 1 : 0))
            }
            #expect(outcomes.values.contains(.factsMoved) == (fault == .requestLost))
        }
    }

    @Test(.enabled(if: SocketProxy.isPossible))
    func `if a transaction never reached the server, the store finds that it was not applied`() async throws {
        let scene = try StoreScene.shared
        try await scene.throughProxy { store, proxy in
            let record = event(.userCreated)
            let user = UserRecord.full()
            proxy.fail(.requestLost, at: record.id)
            let write = AccountWrite(previous: nil, user: user, passwordHash: "$hash$", event: record)
            let applied = try await store.apply(write)
            #expect(applied == .factsMoved)
            #expect(proxy.hasFailed)
            #expect(try await scene.stored(user.id) == nil)
            #expect(try await store.apply(write) == .applied, "the next attempt succeeds")
            #expect(try await scene.eventCount(of: user.id) == 1)
        }
    }

    @Test(.enabled(if: SocketProxy.isPossible))
    func `if the response to a deletion is lost, the store finds that it was applied`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        try await scene.throughProxy { store, proxy in
            let record = event(.userDeleted)
            proxy.fail(.answerLost, at: record.id)
            let applied = try await store.delete(user, event: record)
            #expect(applied == .applied)
            #expect(proxy.hasFailed)
            #expect(try await scene.stored(user.id) == nil)
        }
    }

    @Test func `a write with an existing event id is refused`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.blank())
        let record = event(.userUpdated)
        var after = user
        after.profile.displayName = "Ann"
        let write = AccountWrite(previous: user, user: after, event: record)
        #expect(try await scene.store.apply(write) == .applied)
        let current = try #require(try await scene.stored(user.id))
        var again = current
        again.profile.displayName = "Bob"
        let repeated = AccountWrite(previous: current, user: again, event: record)
        #expect(try await scene.store.apply(repeated) == .factsMoved)
        #expect(try await scene.stored(user.id) == current)
    }
}
