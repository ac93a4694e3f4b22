import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

/// Many concurrent callers through two servers on one database. The results are read from the database.
struct AdministrationRaces {
    private func withTwoServices(
        settings: JSONValue = ProjectSettings.developmentDefaults,
        _ body: (TestService, TestService) async throws -> Void
    ) async throws {
        try await TestService.with(settings: settings) { first in
            try await first.database.withClient { client in
                let second = try await TestService.make(database: first.database, client: client, settings: settings)
                try await body(first, second)
                await second.operations.passwords.shutDown()
            }
        }
    }

    private func isSuccess<Value>(_ outcome: Outcome<Value>) -> Bool {
        if case .success = outcome { true } else { false }
    }

    private func denial<Value>(_ outcome: Outcome<Value>) -> Denial? {
        if case .denied(let denial) = outcome { denial } else { nil }
    }

    /// `nil` if contention refused the caller.
    private func orLater<Value>(_ body: () async throws -> Outcome<Value>) async throws -> Outcome<Value>? {
        do {
            return try await body()
        } catch is Contention {
            return nil
        }
    }

    private func signUp(_ service: TestService, _ email: String) async throws -> SignedIn {
        let address = try #require(EmailAddress(email))
        let outcome = try await outcome(
            await service.operations.signUp(.password(address, "correct horse"), tenant: .project)
        )
        guard case .success(let signedIn) = outcome else { throw UnexpectedDenial() }
        return signedIn
    }

    private struct UnexpectedDenial: Error {}

    @Test func `when both last methods are unlinked at once, one stays`() async throws {
        var settings = ProjectSettings.developmentDefaults.object ?? [:]
        settings["concord"] = ["keepsLastSignInMethod": true]
        try await withTwoServices(settings: .object(settings)) { first, second in
            let user = try await signUp(first, "ann@example.com")
            var update = AdminUpdateAccount()
            let google = try #require(ProviderIdentity(provider: .google, subject: "g1"))
            update.link = AdminUpdateAccount.Link(identity: google)
            _ = try await outcome(await first.operations.updateAccount(update, of: user.user.id, tenant: .project))

            let outcomes = try await first.race(with: second) { service, caller in
                var request = UpdateAccount()
                // Each service gets both requests.
                request.removal.providers = [(caller / 2).isMultiple(of: 2) ? .password : .google]
                return try await orLater { [request] in
                    try await outcome(
                        await service.operations.updateAccount(
                            request,
                            idToken: user.tokens.idToken,
                            tenant: .project
                        )
                    )
                }
            }
            let database = first.database
            let passwords = try await database.count("SELECT count(*) FROM password_credentials")
            let providers = try await database.count("SELECT count(*) FROM linked_providers")
            let methods = try await database.count("SELECT count(*) FROM sign_in_methods")
            #expect(passwords + providers == 1)
            #expect(methods == 1)
            let claims = try await database.count("SELECT count(*) FROM identifiers WHERE kind = 'federated'")
            #expect(claims == providers)
            #expect(outcomes.contains { $0.flatMap(denial) == .refusal(.lastSignInMethod) })
        }
    }

    @Test func `when many accounts change to one address at once, one gets it`() async throws {
        try await withTwoServices { first, second in
            var tokens: [SignedIn] = []
            for number in 0..<8 { tokens.append(try await signUp(first, "user\(number)@example.com")) }
            let users = tokens
            let outcomes = try await first.race(with: second) { service, caller in
                var request = UpdateAccount()
                request.email = "wanted@example.com"
                return try await orLater { [request] in
                    try await outcome(
                        await service.operations.updateAccount(
                            request,
                            idToken: users[caller % 8].tokens.idToken,
                            tenant: .project
                        )
                    )
                }
            }
            #expect(outcomes.filter { $0.map(isSuccess) ?? false }.count >= 1)
            let database = first.database
            #expect(try await database.count("SELECT count(*) FROM users WHERE email = 'wanted@example.com'") == 1)
            let claims = try await database.count(
                "SELECT count(*) FROM identifiers WHERE value = 'wanted@example.com'"
            )
            #expect(claims == 1)
            // Every account owns exactly its address, and the winner's first address stays reserved.
            let owned = try await database.count(
                "SELECT count(*) FROM identifiers WHERE kind = 'email' AND reserved_until IS NULL"
            )
            #expect(owned == 8)
            let mismatched: [Int64?] = try await database.joinedRows(
                """
                SELECT count(*) FROM users LEFT JOIN identifiers
                    ON identifiers.tenant_id = users.tenant_id AND identifiers.user_id = users.user_id
                    AND reserved_until IS NULL
                WHERE identifiers.value IS DISTINCT FROM users.email
                """
            )
            #expect(mismatched == [0])
            let reserved: [Int64?] = try await database.joinedRows(
                """
                SELECT count(*) FROM identifiers JOIN users USING (tenant_id, user_id)
                WHERE reserved_until IS NOT NULL AND users.email = 'wanted@example.com'
                """
            )
            #expect(reserved == [1])
            #expect(try await database.count("SELECT count(*) FROM identifiers") == 9)
            #expect(outcomes.contains { $0.flatMap(denial) == .refusal(.emailExists) })
        }
    }

    @Test func `an account that is updated and deleted at once is never left half deleted`() async throws {
        try await withTwoServices { first, second in
            let user = try await signUp(first, "ann@example.com")
            let outcomes = try await first.race(with: second) { service, caller in
                if caller == 20 {
                    let deleted = try await orLater {
                        try await outcome(await service.operations.deleteAccount(user.user.id, tenant: .project))
                    }
                    return deleted.map(isSuccess) ?? false
                }
                var update = AdminUpdateAccount()
                update.email = "ann\(caller)@example.com"
                update.phoneNumber = "+1555000\(1000 + caller)"
                let updated = try await orLater { [update] in
                    try await outcome(
                        await service.operations.updateAccount(update, of: user.user.id, tenant: .project)
                    )
                }
                return updated.map(isSuccess) ?? false
            }
            #expect(outcomes.count == 64)
            // Contention may have refused the deletion. A retry succeeds.
            _ = try await outcome(await first.operations.deleteAccount(user.user.id, tenant: .project))
            let database = first.database
            #expect(try await database.count("SELECT count(*) FROM users") == 0)
            #expect(try await database.count("SELECT count(*) FROM identifiers") == 0)
            #expect(try await database.count("SELECT count(*) FROM account_events WHERE kind = 'user-deleted'") == 1)
        }
    }

    @Test func `concurrent custom tokens for one new account create one account`() async throws {
        try await withTwoServices { first, second in
            let outcomes = try await first.race(with: second) { service, _ in
                try await outcome(
                    await service.operations.signInWithCustomToken("{\"uid\":\"chosen\"}", tenant: .project)
                )
            }
            #expect(outcomes.allSatisfy(isSuccess))
            let created = outcomes.filter { if case .success(let signedIn) = $0 { signedIn.isNewUser } else { false } }
            #expect(created.count == 1)
            let database = first.database
            #expect(try await database.count("SELECT count(*) FROM users") == 1)
            #expect(try await database.count("SELECT count(*) FROM sessions") == 64)
            #expect(try await database.count("SELECT count(*) FROM account_events WHERE kind = 'user-created'") == 1)
        }
    }

    @Test func `concurrent creations of one address by an administrator create one account`() async throws {
        try await withTwoServices { first, second in
            let outcomes = try await first.race(with: second) { service, caller in
                var request = CreateAccount()
                request.email = "ann@example.com"
                request.phoneNumber = "+1555000\(1000 + caller % 3)"
                return try await orLater { [request] in
                    try await outcome(await service.operations.createAccount(request, tenant: .project))
                }
            }
            #expect(outcomes.filter { $0.map(isSuccess) ?? false }.count == 1)
            #expect(try await first.database.count("SELECT count(*) FROM users") == 1)
            #expect(try await first.database.count("SELECT count(*) FROM identifiers") == 2)
        }
    }

    @Test func `overlapping batch deletions delete every account once`() async throws {
        try await withTwoServices { first, second in
            var ids: [UserID] = []
            for number in 0..<120 {
                var request = CreateAccount()
                request.email = "user\(number)@example.com"
                let outcome = try await outcome(await first.operations.createAccount(request, tenant: .project))
                guard case .success(let user) = outcome else { throw UnexpectedDenial() }
                ids.append(user.id)
            }
            let all = ids
            _ = try await first.race(with: second, count: 16) { service, caller in
                // Each caller deletes half of the accounts, from a different start.
                let mine = (0..<60).map { all[($0 + caller * 8) % all.count] }
                do {
                    _ = try await service.operations.deleteAccounts(mine, force: true, tenant: .project)
                } catch is Contention {}
            }
            // Callers that contention refused retry.
            _ = try await first.operations.deleteAccounts(all, force: true, tenant: .project)
            let database = first.database
            #expect(try await database.count("SELECT count(*) FROM users") == 0)
            #expect(try await database.count("SELECT count(*) FROM identifiers") == 0)
            let events = try await database.count("SELECT count(*) FROM account_events WHERE kind = 'user-deleted'")
            #expect(events == 120)
        }
    }

    @Test func `when one session changes the password many times at once, one change succeeds`() async throws {
        try await withTwoServices { first, second in
            let user = try await signUp(first, "ann@example.com")
            let outcomes = try await first.race(with: second, count: 16) { service, caller in
                var request = UpdateAccount()
                request.password = "another horse \(caller)"
                return try await orLater { [request] in
                    try await outcome(
                        await service.operations.updateAccount(
                            request,
                            idToken: user.tokens.idToken,
                            tenant: .project
                        )
                    )
                }
            }
            let successes = outcomes.filter { $0.map(isSuccess) ?? false }
            #expect(successes.count == 1)
            #expect(outcomes.contains { $0.flatMap(denial) == .refusal(.tokenExpired) })
            #expect(try await first.database.count("SELECT count(*) FROM sessions") == 1)
        }
    }
}
