import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import IdentityProviders
import JSON
import Postgres
import Testing

/// Many callers at once, through two services on one database.
struct EmailCodeRaceTests {
    private static let callers = 64

    /// Runs `body` for every caller at once, half of them on another service, and collects what it returned.
    private func race<Output: Sendable>(
        _ api: TestAPI,
        _ body: @escaping @Sendable (_ operations: AccountOperations, _ caller: Int) async throws -> Output
    ) async throws -> [Output] {
        try await api.service.database.withClient { client in
            let other = try await TestService.make(
                database: api.service.database,
                client: client,
                clock: api.service.clock,
                settings: ProjectSettings.developmentDefaults
            )
            let first = api.service.operations
            let second = other.operations
            let outputs = try await withThrowingTaskGroup { group in
                for caller in 0..<Self.callers {
                    group.addTask { try await body(caller.isMultiple(of: 2) ? first : second, caller) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            await second.passwords.shutDown()
            return outputs
        }
    }

    @Test func `if 64 requests use one sign-in link of a new address, one account and one session are created`()
        async throws
    {
        try await TestAPI.with { api in
            let code = try await api.code("EMAIL_SIGNIN", for: "new@example.com")
            let request = EmailLinkSignIn(email: "new@example.com", code: code, idToken: nil)
            let outcomes = try await race(api) { operations, _ in
                switch try await outcome(await operations.signInWithEmailLink(request, tenant: .project)) {
                case .success: return Denial?.none
                case .denied(let denial): return denial
                }
            }
            #expect(outcomes.count { $0 == nil } == 1)
            #expect(outcomes.count { $0 == .refusal(.invalidEmailCode) } == Self.callers - 1)
            let database = api.service.database
            for table: SQL in ["users", "identifiers", "sessions", "account_events"] {
                #expect(try await database.count("SELECT count(*) FROM \(table)") == 1)
            }
        }
    }

    @Test func `if 64 requests use one sign-in link of an existing account, one session is created`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let first = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            #expect(try await api.follow(first, as: "ada@example.com").status == 200)
            let code = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            let request = EmailLinkSignIn(email: "ada@example.com", code: code, idToken: nil)
            let successes = try await race(api) { operations, _ in
                if case .success = try await outcome(await operations.signInWithEmailLink(request, tenant: .project)) {
                    true
                } else {
                    false
                }
            }
            #expect(successes.count { $0 } == 1)
            #expect(try await api.service.database.count("SELECT count(*) FROM sessions") == 2)
        }
    }

    @Test func `if 64 requests use one reset code, one succeeds and its password is stored`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let code = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            let winners = try await race(api) { operations, caller -> Int? in
                let outcome = try await outcome(
                    await operations.resetPassword(
                        code,
                        newPassword: "password number \(caller)",
                        tenant: .project
                    )
                )
                if case .success = outcome { return caller }
                return nil
            }.compactMap(\.self)
            #expect(winners.count == 1)
            let winner = try #require(winners.first)
            #expect(try await api.signIn("ada@example.com", password: "password number \(winner)").status == 200)
            let database = api.service.database
            #expect(
                try await database.count("SELECT count(*) FROM account_events WHERE kind = 'account-taken-over'") == 1
            )
            #expect(try await database.count("SELECT count(*) FROM sessions") == 1)
        }
    }

    @Test func `if 64 requests use one code to change an address, one succeeds`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            let code = try await api.code(
                "VERIFY_AND_CHANGE_EMAIL",
                session: ada["idToken"]?.string,
                newEmail: "new@example.com"
            )
            let successes = try await race(api) { operations, _ in
                if case .success = try await outcome(await operations.applyEmailCode(code, tenant: .project)) {
                    true
                } else {
                    false
                }
            }
            #expect(successes.count { $0 } == 1)
            let database = api.service.database
            let owned: Query<String?> = "SELECT value FROM identifiers WHERE reserved_until IS NULL"
            #expect(try await database.rows(owned) == ["new@example.com"])
            let reserved: Query<String?> = "SELECT value FROM identifiers WHERE reserved_until IS NOT NULL"
            #expect(try await database.rows(reserved) == ["ada@example.com"])
            #expect(
                try await database.count("SELECT count(*) FROM one_time_codes WHERE kind = 'RECOVER_EMAIL'") == 1
            )
            #expect(try await database.count("SELECT count(*) FROM outbox") == 2)
        }
    }

    @Test func `if 64 requests use one code for a taken address, one gets the reason and the others an invalid code`()
        async throws
    {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            let code = try await api.code(
                "VERIFY_AND_CHANGE_EMAIL",
                session: ada["idToken"]?.string,
                newEmail: "new@example.com"
            )
            _ = try await api.signUp("new@example.com")
            let denials = try await race(api) { operations, _ -> Denial? in
                if case .denied(let denial) = try await outcome(await operations.applyEmailCode(code, tenant: .project))
                {
                    return denial
                }
                return nil
            }
            #expect(denials.count { $0 == .refusal(.emailExists) } == 1)
            #expect(denials.count { $0 == .refusal(.invalidEmailCode) } == Self.callers - 1)
        }
    }

    /// The owner of an address that was replaced, and the code that brings it back.
    private func replaced(_ api: TestAPI, wasProven: Bool) async throws -> (owner: JSONValue, recovery: String) {
        let ada = try await api.signUp("ada@example.com")
        if wasProven { try await api.service.prove("ada@example.com") }
        try await api.service.replaceAddress("ada@example.com", by: "new@example.com")
        return (ada["localId"] ?? .null, try await api.listedCode("RECOVER_EMAIL").code)
    }

    private func owners(_ api: TestAPI) async throws -> [String] {
        try await api.service.database.rows(
            "SELECT user_id FROM identifiers WHERE value = 'ada@example.com'" as Query<String?>
        ).compactMap { $0 }
    }

    @Test(arguments: [false, true])
    func `if sign-ups race with the recovery of a freed address, the recovery wins`(wasProven: Bool) async throws {
        try await TestAPI.with { api in
            let (owner, recovery) = try await replaced(api, wasProven: wasProven)
            let address = try #require(EmailAddress("ada@example.com"))
            let winners = try await race(api) { operations, caller in
                if caller % 8 < 2 {
                    if case .success = try await outcome(await operations.applyEmailCode(recovery, tenant: .project)) {
                        return "owner"
                    }
                } else {
                    let signUp = SignUp.password(address, TestService.password)
                    if case .success = try await outcome(await operations.signUp(signUp, tenant: .project)) {
                        return "thief"
                    }
                }
                return "nobody"
            }
            #expect(winners.filter { $0 != "nobody" } == ["owner"])
            #expect(try await owners(api) == [owner.string])
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test func `if accounts created by an administrator race with a recovery, the recovered account has the address`()
        async throws
    {
        try await TestAPI.with { api in
            let (owner, recovery) = try await replaced(api, wasProven: true)
            let recovered = try await race(api) { operations, caller in
                if caller % 8 < 2 {
                    if case .success = try await outcome(await operations.applyEmailCode(recovery, tenant: .project)) {
                        return true
                    }
                    return false
                }
                var decoy = CreateAccount()
                decoy.email = "ada@example.com"
                _ = try await outcome(await operations.createAccount(decoy, tenant: .project))
                return false
            }
            #expect(recovered.count { $0 } == 1)
            #expect(try await owners(api) == [owner.string])
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test(arguments: [false, true])
    func `if recoveries race with a thief's password changes, one recovery wins and no password of the thief remains`(
        wasProven: Bool
    ) async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            if wasProven { try await api.service.prove("ada@example.com") }
            let change = try await api.code(
                "VERIFY_AND_CHANGE_EMAIL",
                session: ada["idToken"]?.string,
                newEmail: "thief@example.com"
            )
            #expect(try await api.post("/v1/accounts:update", ["oobCode": .string(change)]).status == 200)
            let recovery = try await api.listedCode("RECOVER_EMAIL").code
            let session = try await api.signIn("thief@example.com").json
            let idToken = try #require(session["idToken"]?.string)
            api.service.clock.advance(seconds: 1)
            let recovered = try await race(api) { operations, caller in
                if caller % 8 < 2 {
                    if case .success = try await outcome(await operations.applyEmailCode(recovery, tenant: .project)) {
                        return true
                    }
                    return false
                }
                var update = UpdateAccount()
                update.password = "password number \(caller)"
                _ = try await outcome(await operations.updateAccount(update, idToken: idToken, tenant: .project))
                return false
            }
            #expect(recovered.count { $0 } == 1)
            let owner = try #require(try await api.service.user(owning: "ada@example.com"))
            #expect(owner.id.rawValue == ada["localId"]?.string && owner.account.isEmailVerified)
            // The thief's password, if there was one, is suspended; the owner's own stays where the owner was known.
            let database = api.service.database
            let suspended = try await database.count(
                "SELECT count(*) FROM quarantined_methods WHERE method = 'password'"
            )
            #expect(owner.passwordUpdatedAt == nil ? suspended == 1 : wasProven && suspended == 0)
            let stored = try await database.count("SELECT count(*) FROM password_credentials")
            #expect(stored == (owner.passwordUpdatedAt == nil ? 0 : 1))
            #expect(try await database.count("SELECT count(*) FROM sessions") == 0)
            #expect(
                try await database.count("SELECT count(*) FROM account_events WHERE rule IN ('U14', 'U28', 'U29')") == 1
            )
            #expect(try await database.inconsistencies() == [])
        }
    }

    @Test func `if sign-ups race for an address after its reservation, one gets it`() async throws {
        try await TestAPI.with { api in
            let (owner, _) = try await replaced(api, wasProven: true)
            api.service.clock.advance(seconds: 30 * 86_400)
            let address = try #require(EmailAddress("ada@example.com"))
            let winners = try await race(api) { operations, _ -> String? in
                let outcome = try await outcome(
                    await operations.signUp(.password(address, TestService.password), tenant: .project)
                )
                if case .success(let signedIn) = outcome { return signedIn.user.id.rawValue }
                return nil
            }.compactMap(\.self)
            #expect(winners.count == 1 && winners.first != owner.string)
            #expect(try await owners(api) == winners)
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test func `if 64 wrong addresses are sent for one link, five are compared`() async throws {
        try await TestAPI.with { api in
            let code = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            let denials = try await race(api) { operations, caller -> Denial? in
                let request = EmailLinkSignIn(email: "guess\(caller)@example.com", code: code, idToken: nil)
                if case .denied(let denial) = try await outcome(
                    await operations.signInWithEmailLink(request, tenant: .project)
                ) {
                    return denial
                }
                return nil
            }
            #expect(denials.count { $0 == .emailCode(.wrongAddress) } == 5)
            #expect(denials.count { $0 == .emailCode(.tooManyAttempts) } == Self.callers - 5)
            #expect(try await api.service.database.count("SELECT sum(attempts) FROM one_time_codes") == 5)
        }
    }

    @Test func `if the owner's link races with an intruder's recovery code, the intruder loses the owner's address`()
        async throws
    {
        try await TestAPI.with { api in
            _ = try await api.signUp("intruder@example.com", password: "intruder's own")
            try await api.service.replaceAddress("intruder@example.com", by: "victim@example.com")
            let recovery = try await api.listedCode("RECOVER_EMAIL").code
            let link = try await api.code("EMAIL_SIGNIN", for: "victim@example.com")
            let request = EmailLinkSignIn(email: "victim@example.com", code: link, idToken: nil)
            _ = try await race(api) { operations, caller in
                if caller % 4 < 2 {
                    if case .success = try await outcome(await operations.applyEmailCode(recovery, tenant: .project)) {
                        return "recovered"
                    }
                } else {
                    if case .success = try await outcome(
                        await operations.signInWithEmailLink(request, tenant: .project)
                    ) {
                        return "owner"
                    }
                }
                return "denied"
            }
            // The owner's link came first, and the account is one the intruder cannot enter; or the recovery did, which
            // gave the address up and voided the account's other codes, the link among them.
            if let victim = try await api.service.user(owning: "victim@example.com") {
                #expect(victim.account.isEmailVerified)
                #expect(!victim.account.hasPassword)
            } else {
                #expect(try await api.service.user(owning: "intruder@example.com") != nil)
            }
            #expect(
                try await api.service.database.count("SELECT count(*) FROM one_time_codes WHERE consumed_at IS NULL")
                    == 0
            )
        }
    }

    @Test func `a write that uses a code is undone when the code is used, void, locked or gone`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            let id = try #require(ada["localId"]?.string.flatMap(UserID.init))
            let store = api.service.operations.store
            let now = api.service.clock.now
            let address = try #require(EmailAddress("ada@example.com"))
            func code(_ byte: UInt8) -> EmailCodeRecord {
                EmailCodeRecord(
                    tenant: .project,
                    hash: Array(repeating: byte, count: 32),
                    kind: .emailSignIn,
                    user: id,
                    email: address,
                    createdAt: now,
                    expiresAt: now.adding(seconds: 60)
                )
            }
            let (used, void, locked, gone, fresh) = (code(1), code(2), code(3), code(4), code(5))
            _ = try await store.issue(void, message: nil)
            try await api.service.change(
                "ada@example.com",
                sideWrites: [.voidEmailCodes(of: id, tenant: .project, .all, at: now)]
            ) { _ in }
            for record in [used, locked, fresh] { _ = try await store.issue(record, message: nil) }
            let first = PostgresUUID(high: 1, low: 1)
            #expect(try await store.useUp(used, by: first, at: now) == .applied)
            for _ in 1...5 { #expect(try await store.countWrongAddress(locked)) }
            #expect(try await !store.countWrongAddress(locked))

            let user = try #require(try await api.service.user(owning: "ada@example.com"))
            var changed = user
            changed.profile.displayName = "changed"
            for (number, record) in [used, void, locked, gone, fresh].enumerated() {
                let use = PostgresUUID(high: 2, low: UInt64(number))
                let write = AccountWrite(
                    previous: user,
                    user: changed,
                    event: AccountEvent(id: use, occurredAt: now, kind: .userUpdated, rule: .adminUpdateUnknownAccount),
                    sideWrites: [.useUp(record, by: use, at: now)]
                )
                let isFresh = record.hash == fresh.hash
                #expect(try await store.apply(write) == (isFresh ? .applied : .factsMoved))
                let name = try await api.service.user(owning: "ada@example.com")?.profile.displayName
                #expect(name == (isFresh ? "changed" : nil))
                #expect(try await store.useUp(record, by: first, at: now) == .factsMoved || record.hash == used.hash)
            }
        }
    }
    // MARK: Confirming and disowning

    @Test func `if a confirmation races with a disownment, one wins`() async throws {
        for _ in 1...4 {
            try await TestAPI.with { api in
                let begun = try await api.signUp("ada@example.com")
                let idToken = begun["idToken"]?.string
                let codes = [
                    try await api.code("VERIFY_EMAIL", session: idToken),
                    try await api.code("VERIFY_EMAIL", session: idToken),
                ]
                let done = try await race(api) { operations, caller -> String? in
                    let code = codes[caller % 4 / 2]
                    if caller % 8 < 4 {
                        guard case .success = try await outcome(await operations.applyEmailCode(code, tenant: .project))
                        else {
                            return nil
                        }
                        return "confirmed"
                    }
                    guard case .success = try await outcome(await operations.disownAccount(code, tenant: .project))
                    else { return nil }
                    return "disowned"
                }.compactMap(\.self)
                // Either code confirms what the other has confirmed, but nothing follows a takeover.
                #expect(done.count(where: { $0 == "disowned" }) <= 1)
                #expect(done == ["disowned"] || Set(done) == ["confirmed"], "\(done)")
                let database = api.service.database
                let rules: Query<String?> = "SELECT rule FROM account_events WHERE rule ~ '^V[4-9]$'"
                #expect(try await database.rows(rules) == [done.first == "disowned" ? "V9" : "V6"])
                let user = try #require(try await api.service.user(owning: "ada@example.com"))
                #expect(user.account.isEmailVerified && user.account.hasPassword == (done.first == "confirmed"))
                #expect(try await database.count("SELECT count(*) FROM sessions") == 0)
                #expect(try await database.inconsistencies() == [])
            }
        }
    }

    @Test func `if a disownment wins against an intruder's changes, no method of the intruder remains`()
        async throws
    {
        for _ in 1...4 {
            try await TestAPI.with { api in
                let begun = try await api.signUp("ada@example.com")
                let idToken = try #require(begun["idToken"]?.string)
                let code = try await api.code("VERIFY_EMAIL", session: idToken)
                var update = UpdateAccount()
                update.email = "elsewhere@example.com"
                let wins = try await race(api) { [update] operations, caller -> Bool in
                    switch caller % 3 {
                    case 0:
                        if case .success = try await outcome(await operations.disownAccount(code, tenant: .project)) {
                            return true
                        }
                    case 1:
                        let claims: JSONValue = ["sub": .string("eve \(caller)")]
                        let credential = ProviderCredential(provider: .gitHub, idToken: claims.text)
                        let link = SignInWithIdp(source: .credential(credential), idToken: idToken, createsUsers: true)
                        _ = try await outcome(await operations.signInWithIdp(link, tenant: .project))
                    default:
                        _ = try await outcome(
                            await operations.updateAccount(update, idToken: idToken, tenant: .project)
                        )
                    }
                    return false
                }
                let database = api.service.database
                #expect(try await database.inconsistencies() == [])
                let id = try #require(begun["localId"]?.string.flatMap(UserID.init))
                let user = try #require(try await api.service.user(id))
                if wins.contains(true) {
                    #expect(user.email?.address == EmailAddress("ada@example.com") && user.account.isEmailVerified)
                    #expect(user.account.signInMethods == [])
                    #expect(try await database.count("SELECT count(*) FROM sessions") == 0)
                } else {
                    // The address had moved on: it is free, and the code worth nothing.
                    #expect(user.email?.address == EmailAddress("elsewhere@example.com"))
                }
            }
        }
    }
}
