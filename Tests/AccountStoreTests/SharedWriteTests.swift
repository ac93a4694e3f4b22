import AccountLinking
import AccountStore
import AccountTestSupport
import Postgres
import Testing

/// New accounts and sign-ins that wait together share a transaction without affecting each other (ADR 0070).
@Suite(.store)
struct SharedWriteTests {
    /// Runs `body` with two stores of one write connection each, as two servers.
    private func withTwoStores(_ body: ([AccountStore]) async throws -> Void) async throws {
        let database = try StoreScene.shared.database
        try await database.withClient(writeConnections: 1) { first in
            try await database.withClient(writeConnections: 1) { second in
                try await body([AccountStore(client: first), AccountStore(client: second)])
            }
        }
    }

    /// Applies all `writes` at once, alternating between the stores, and returns the outcome of each.
    private func outcomes(
        _ writes: [AccountWrite],
        _ stores: [AccountStore]
    ) async throws -> [AccountStore.Applied] {
        try await withThrowingTaskGroup(of: (Int, AccountStore.Applied).self) { group in
            for (index, write) in writes.enumerated() {
                group.addTask { (index, try await stores[index % stores.count].apply(write)) }
            }
            return try await group.reduce(into: Array(repeating: .factsMoved, count: writes.count)) { $0[$1.0] = $1.1 }
        }
    }

    /// Number of transactions that wrote the events of `writes`.
    private func transactionCount(_ writes: [AccountWrite]) async throws -> Int64 {
        let ids = writes.map(\.event.id)
        return try await StoreScene.shared.database.count(
            "SELECT count(DISTINCT xmin::text) FROM account_events WHERE event_id = ANY(\(ids))"
        )
    }

    @Test func `if two new accounts claim an address, one gets it, also in shared transactions`() async throws {
        let scene = try StoreScene.shared
        let writes = (0..<128).map { number in
            var user = UserRecord.blank()
            user.email = AccountEmail(address: address("shared-\(number / 2)@example.com"), proof: nil)
            user.passwordUpdatedAt = origin
            user.methodProofs[.password] = UserRecord.MethodProof(proof: .signUp, provenAt: origin)
            return AccountWrite(
                previous: nil,
                user: user,
                passwordHash: "$hash-\(number)$",
                session: user.session(),
                event: event(.userCreated)
            )
        }
        try await withTwoStores { stores in
            let outcomes = try await outcomes(writes, stores)
            for pair in 0..<64 {
                #expect([outcomes[2 * pair], outcomes[2 * pair + 1]].count { $0 == .applied } == 1)
            }
            for (write, outcome) in zip(writes, outcomes) {
                let id = write.user.id
                guard outcome == .applied else {
                    #expect(try await scene.stored(id) == nil)
                    #expect(try await scene.eventCount(of: id) == 0)
                    continue
                }
                // No account has data of another write.
                #expect(try await scene.stored(id) == write.user)
                let claims = try await scene.claims(of: id)
                #expect(claims == write.user.email.map { ["email \($0.address.canonical)"] })
                let hashes: Query<String?> = "SELECT hash FROM password_credentials WHERE user_id = \(id.rawValue)"
                #expect(try await scene.database.rows(hashes) == [write.passwordHash])
                #expect(try await scene.store.session(user: id) == write.session)
                #expect(try await scene.eventCount(of: id) == 1)
            }
        }
    }

    @Test(.notOnCitus("callers share no transaction there"))
    func `accounts and sign-ins share transactions, changes of an account do not`() async throws {
        let scene = try StoreScene.shared
        let blank = (0..<200).map { _ in UserRecord.blank() }
        let made = blank.map { AccountWrite(previous: nil, user: $0, event: event(.userCreated)) }
        try await withTwoStores { stores in
            var applied = try await outcomes(made, stores)
            #expect(Set(applied) == [.applied])
            #expect(try await transactionCount(made) < 200)
            let signIns = blank.map {
                AccountWrite(previous: $0, user: $0, session: $0.session(), event: event(.signedIn))
            }
            applied = try await outcomes(signIns, stores)
            #expect(Set(applied) == [.applied])
            #expect(try await transactionCount(signIns) < 200)
            let changes = blank.map { user in
                var changed = user
                changed.isDisabled = true
                return AccountWrite(previous: user, user: changed, event: event(.userUpdated))
            }
            applied = try await outcomes(changes, stores)
            #expect(Set(applied) == [.applied])
            #expect(try await transactionCount(changes) == 200)
        }
        #expect(try await scene.stored(blank[0].id)?.isDisabled == true)
    }

    @Test func `a sign-in to a deleted account fails without failing those in its transaction`() async throws {
        let scene = try StoreScene.shared
        var users: [UserRecord] = []
        for _ in 0..<40 { users.append(try await scene.create(.blank())) }
        let deleted = users.enumerated().filter { $0.offset % 10 == 3 }.map(\.element)
        for user in deleted { #expect(try await scene.store.delete(user, event: event(.userDeleted)) == .applied) }
        let signIns = users.map {
            AccountWrite(previous: $0, user: $0, session: $0.session(), event: event(.signedIn))
        }
        try await withTwoStores { stores in
            let outcomes = try await outcomes(signIns, stores)
            for (user, outcome) in zip(users, outcomes) {
                let isGone = deleted.contains { $0.id == user.id }
                #expect(outcome == (isGone ? .factsMoved : .applied))
                let session = try await scene.store.session(user: user.id)
                #expect(session == (isGone ? nil : user.session()))
            }
        }
    }
}

extension AccountStore {
    /// The session that `UserRecord.session()` opens.
    fileprivate func session(user id: UserID) async throws -> SessionRecord? {
        try await session(Array(repeating: 1, count: 16), of: id, tenant: .project).session
    }
}
