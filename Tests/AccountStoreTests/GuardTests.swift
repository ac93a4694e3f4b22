import AccountLinking
import AccountTestSupport
import Postgres
import Testing

@testable import AccountStore

/// What stops a decision that was taken on facts that are no longer so.
@Suite(.store)
struct GuardTests {
    private func disabling(_ user: UserRecord) -> AccountWrite {
        var after = user
        after.isDisabled = true
        return AccountWrite(previous: user, user: after, event: event(.userUpdated))
    }

    @Test func `a write under a version that has passed changes nothing`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        #expect(try await scene.store.apply(disabling(user)) == .applied)
        let current = try #require(try await scene.stored(user.id))

        var stale = user
        stale.profile.displayName = "stale"
        let write = AccountWrite(previous: user, user: stale, session: user.session(), event: event(.userUpdated))
        #expect(try await scene.store.apply(write) == .factsMoved)
        #expect(try await scene.stored(user.id) == current)
        #expect(try await scene.eventCount(of: user.id) == 2)
        #expect(try await scene.store.session(user.session().id, of: user.id, tenant: .project).session == nil)
    }

    @Test func `a write that changes nothing of its account is undone where the account is another by now`()
        async throws
    {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        func opening(_ user: UserRecord) -> AccountWrite {
            AccountWrite(
                previous: user,
                user: user,
                session: user.session(),
                event: event(.signedIn),
                sideWrites: [.requireUnchanged(user)]
            )
        }
        #expect(try await scene.store.apply(disabling(user)) == .applied)
        #expect(try await scene.store.apply(opening(user)) == .factsMoved)
        #expect(try await scene.store.session(user.session().id, of: user.id, tenant: .project).session == nil)
        let current = try #require(try await scene.stored(user.id))
        #expect(try await scene.store.apply(opening(current)) == .applied)
        #expect(try await scene.stored(user.id) == current, "and raises no version")
    }

    @Test func `a write to an account that is gone changes nothing`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        #expect(try await scene.store.delete(user, event: event(.userDeleted)) == .applied)
        #expect(try await scene.store.apply(disabling(user)) == .factsMoved)
        #expect(try await scene.stored(user.id) == nil)
        #expect(try await scene.eventCount(of: user.id) == 2)
    }

    /// Versions begin anew; what was decided on the account that is gone must not be applied to the new one.
    @Test func `a write to an account that was made again under its id changes nothing`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        #expect(try await scene.store.delete(user, event: event(.userDeleted)) == .applied)
        var again = UserRecord.blank(user.id.rawValue)
        again.sessionEpoch = 2000
        let current = try await scene.create(again)
        #expect(current.version == user.version)
        #expect(try await scene.store.apply(disabling(user)) == .factsMoved)
        #expect(try await scene.store.delete(user, event: event(.userDeleted)) == .factsMoved)
        var imported = user
        imported.isDisabled = true
        let row = ImportWrite(previous: user, user: imported, passwordHash: nil, event: event(.userImported))
        #expect(try await scene.store.importAccounts([row], tenant: .project) == .factsMoved)
        #expect(try await scene.stored(user.id) == current)
    }

    /// An update of an account that is gone changes no row; by the next statement another may stand under its id.
    @Test func `an account made again and changed as often is not taken for the one that was written`() async throws {
        let scene = try StoreScene.shared
        var user = try await scene.create(.full())
        #expect(try await scene.store.delete(user, event: event(.userDeleted)) == .applied)
        var again = UserRecord.blank(user.id.rawValue)
        again.sessionEpoch = 2000
        let current = try await scene.create(again)
        #expect(try await scene.store.apply(disabling(current)) == .applied)
        func write(_ assertion: SQL) async throws(PostgresError) {
            var batch = WriteBatch("assertion")
            batch.append(assertion)
            _ = try await scene.client.write(batch)
        }
        for assertion in [UserRow.assertRaised(user), UserRow.assertAllRaised([user], tenant: .project)] {
            let error = await #expect(throws: PostgresError.self) { try await write(assertion) }
            #expect(error?.sqlState == .divisionByZero)
        }
        user.sessionEpoch = current.sessionEpoch
        for assertion in [UserRow.assertRaised(user), UserRow.assertAllRaised([user], tenant: .project)] {
            try await write(assertion)
        }
    }

    @Test func `a session cannot be opened for an account that is gone`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        #expect(try await scene.store.delete(user, event: event(.userDeleted)) == .applied)
        let write = AccountWrite(previous: user, user: user, session: user.session(), event: event(.signedIn))
        #expect(try await scene.store.apply(write) == .factsMoved)
        #expect(try await scene.eventCount(of: user.id) == 2)
    }

    @Test func `a deletion under a version that has passed deletes nothing`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        #expect(try await scene.store.apply(disabling(user)) == .applied)
        #expect(try await scene.store.delete(user, event: event(.userDeleted)) == .factsMoved)
        #expect(try await scene.stored(user.id) != nil)
        #expect(try await scene.database.inconsistencies() == [])
    }

    @Test func `an account is deleted once, with everything that hangs off it`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        let opening = AccountWrite(previous: user, user: user, session: user.session(), event: event(.signedIn))
        #expect(try await scene.store.apply(opening) == .applied)
        #expect(try await scene.store.delete(user, event: event(.userDeleted)) == .applied)
        #expect(try await scene.store.delete(user, event: event(.userDeleted)) == .factsMoved)
        #expect(try await scene.claims(of: user.id) == [])
        for table: SQL in ["users", "password_credentials", "linked_providers", "sign_in_methods", "sessions"] {
            let rows = try await scene.database.count(
                "SELECT count(*) FROM \(table) WHERE user_id = \(user.id.rawValue)"
            )
            #expect(rows == 0, "\(table.text)")
        }
        #expect(try await scene.eventCount(of: user.id) == 3, "events outlive the account")
        #expect(try await scene.database.inconsistencies() == [])
    }

    @Test func `a second account with the same id is refused`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.blank())
        let write = AccountWrite(previous: nil, user: user, event: event(.userCreated))
        #expect(try await scene.store.apply(write) == .factsMoved)
    }

    @Test func `of many writers under one version exactly one is applied`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        let applied = try await withThrowingTaskGroup { group in
            for number in 0..<32 {
                group.addTask {
                    var after = user
                    after.profile.displayName = "writer \(number)"
                    let write = AccountWrite(previous: user, user: after, event: event(.userUpdated))
                    return try await scene.store.apply(write) == .applied ? 1 : 0
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(applied == 1)
        #expect(try await scene.stored(user.id)?.version == user.version + 1)
        #expect(try await scene.eventCount(of: user.id) == 2)
    }

    @Test func `of many accounts that take one address exactly one gets it`() async throws {
        let scene = try StoreScene.shared
        let wanted = address("wanted-\(nextNumber())@example.com")
        let applied = try await withThrowingTaskGroup { group in
            for _ in 0..<32 {
                group.addTask {
                    var user = UserRecord.blank()
                    user.email = AccountEmail(address: wanted, proof: nil)
                    let write = AccountWrite(previous: nil, user: user, event: event(.userCreated))
                    return try await scene.store.apply(write) == .applied ? 1 : 0
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(applied == 1)
        #expect(try await scene.database.count("SELECT count(*) FROM users WHERE email = \(wanted.raw)") == 1)
    }

    @Test func `accounts that swap identifiers crosswise never wait for each other in a circle`() async throws {
        let scene = try StoreScene.shared
        try await withThrowingTaskGroup { group in
            for _ in 0..<16 {
                group.addTask {
                    let user = try await scene.create(.full())
                    var after = user
                    after.email = AccountEmail(address: address("swap-\(user.id.rawValue)@example.com"), proof: nil)
                    after.emailProvenAt = nil
                    after.phoneNumber = nil
                    after.methodProofs[.phone] = nil
                    let write = AccountWrite(previous: user, user: after, event: event(.userUpdated))
                    #expect(try await scene.store.apply(write) == .applied)
                }
            }
            try await group.waitForAll()
        }
        #expect(try await scene.database.inconsistencies() == [])
    }
}
