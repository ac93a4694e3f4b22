import AccountLinking
import AccountTestSupport
import Postgres
import Testing

@testable import AccountStore

/// Guards against decisions on facts that have changed.
@Suite(.store)
struct GuardTests {
    private func disabling(_ user: UserRecord) -> AccountWrite {
        var after = user
        after.isDisabled = true
        return AccountWrite(previous: user, user: after, event: event(.userUpdated))
    }

    @Test func `a write with a stale version changes nothing`() async throws {
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

    @Test func `a session write that requires an unchanged account is refused after a change`()
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
        #expect(try await scene.stored(user.id) == current, "opening a session raises no version")
    }

    @Test func `a write to a deleted account changes nothing`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        #expect(try await scene.store.delete(user, event: event(.userDeleted)) == .applied)
        #expect(try await scene.store.apply(disabling(user)) == .factsMoved)
        #expect(try await scene.stored(user.id) == nil)
        #expect(try await scene.eventCount(of: user.id) == 2)
    }

    /// Versions start again. A decision on the deleted account must not apply to the new one.
    @Test func `a write to a deleted account does not change a new account with its id`() async throws {
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

    /// An update of a deleted account changes no row. Another account may have its id before the next statement.
    @Test func `the guards distinguish a new account with the same id and version from the deleted one`() async throws {
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

    @Test func `a session cannot be opened for a deleted account`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        #expect(try await scene.store.delete(user, event: event(.userDeleted)) == .applied)
        let write = AccountWrite(previous: user, user: user, session: user.session(), event: event(.signedIn))
        #expect(try await scene.store.apply(write) == .factsMoved)
        #expect(try await scene.eventCount(of: user.id) == 2)
    }

    @Test func `a deletion with a stale version deletes nothing`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        #expect(try await scene.store.apply(disabling(user)) == .applied)
        #expect(try await scene.store.delete(user, event: event(.userDeleted)) == .factsMoved)
        #expect(try await scene.stored(user.id) != nil)
        #expect(try await scene.database.inconsistencies() == [])
    }

    @Test func `an account is deleted once, with all its rows`() async throws {
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

    @Test func `if many writers use one version, exactly one is applied`() async throws {
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

    @Test func `if many accounts claim one address, exactly one gets it`() async throws {
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

    @Test func `accounts that swap identifiers do not deadlock`() async throws {
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

/// The errors of guards, from PostgreSQL and from Citus.
struct GuardErrorTests {
    private func saysFactsMoved(_ state: SQLState, _ message: String, column: String? = nil) -> Bool {
        PostgresError(.server(state), message, column: column).saysFactsMoved
    }

    @Test(arguments: ["version", "state", "messages", "failures"])
    func `a guard that sets a column to NULL is recognised with and without the name of the column`(column: String) {
        let message = "null value in column \"\(column)\" of relation \"users_102044\" violates not-null constraint"
        #expect(saysFactsMoved(.notNullViolation, message, column: column))
        #expect(saysFactsMoved(.notNullViolation, message), "Citus sends no column")
        #expect(saysFactsMoved(.notNullViolation, "Nullwert in Spalte »\(column)« von Relation »users_102044«"))
        #expect(saysFactsMoved(.notNullViolation, "la colonne « \(column) » dans la relation « users_102044 »"))
        #expect(saysFactsMoved(.notNullViolation, "リレーション\"users_102044\"の列\"\(column)\"のNULL値"))
    }

    @Test func `a taken key is recognised when Citus copies rows`() {
        let name = "identifiers_pkey_102090"
        #expect(saysFactsMoved(.uniqueViolation, ""))
        #expect(saysFactsMoved(.internalError, "duplicate key value violates unique constraint \"\(name)\""))
        #expect(saysFactsMoved(.internalError, "doppelter Schlüsselwert verletzt Unique-Constraint »\(name)«"))
        #expect(!saysFactsMoved(.internalError, "could not open relation \"users_102044\""))
        #expect(!saysFactsMoved(.internalError, "index \"\(name)\" of \"identifiers_102090\" is broken"))
    }

    @Test func `a NULL in another column is no guard`() {
        let message = "null value in column \"email\" of relation \"project_config_versions_102\""
        #expect(!saysFactsMoved(.notNullViolation, message, column: "email"))
        #expect(!saysFactsMoved(.notNullViolation, message))
    }

    @Test(arguments: ["version", "state", "messages", "failures"])
    func `a word of a message that is not the name of the column is no guard`(word: String) {
        for message in [
            "null value in column \"email\" of relation \"users_102044\" violates the \(word)",
            "\(word): null value in column \"email\" of relation \"users_102044\"",
            "null value in column \"email\" of relation \"\(word)_102044\"",
            "null value in column \"email\" of relation \"users_102044\" (\"\(word)\")",
        ] { #expect(!saysFactsMoved(.notNullViolation, message), "\(message)") }
    }
}
