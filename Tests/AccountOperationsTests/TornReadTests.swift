import AccountLinking
import AccountOperations
import AccountTestSupport
import Postgres
import Testing

/// Claims are read before their users. An account no longer has what it lost between the two reads, even if its claim
/// was read.
@Suite struct TornReadTests {
    /// Runs `change` in the database after `operation` has read claims and before it reads their users.
    ///
    /// Each lock lets the operation proceed up to one point: the claims, then the users.
    private func between<Output: Sendable>(
        _ service: TestService,
        change: String,
        _ operation: @Sendable () async throws -> Output
    ) async throws -> Output {
        let configuration = service.database.configuration
        let (claimsLocked, claimsLock) = AsyncStream.makeStream(of: Void.self)
        let (claimsWanted, claimsRequest) = AsyncStream.makeStream(of: Void.self)
        async let claims: Void = PostgresConnection.withConnection(configuration) { connection in
            defer {
                claimsLock.finish()
                claimsRequest.finish()
            }
            try connection.execute(script: "BEGIN; LOCK TABLE identifiers IN ACCESS EXCLUSIVE MODE")
            claimsLock.finish()
            try connection.execute(script: Self.untilSomebody("NOT granted", "identifiers"))
            claimsRequest.finish()
            try connection.execute(script: Self.untilSomebody("granted AND mode = 'AccessExclusiveLock'", "users"))
            try connection.execute(script: "COMMIT")
        }
        for await _ in claimsLocked {}
        async let changed: Void = {
            for await _ in claimsWanted {}
            try await PostgresConnection.withConnection(configuration) { connection in
                try connection.execute(script: "BEGIN; LOCK TABLE users IN ACCESS EXCLUSIVE MODE")
                try connection.execute(script: Self.untilSomebody("NOT granted", "users"))
                try connection.execute(script: change + "; COMMIT")
            }
        }()
        let output = try await operation()
        try await claims
        try await changed
        return output
    }

    /// Waits for a lock on `table`, at most 5 minutes, so that a faulty test ends.
    private static func untilSomebody(_ condition: String, _ table: String) -> String {
        """
        DO $$ BEGIN
            FOR attempt IN 1..30000 LOOP
                EXIT WHEN EXISTS (
                    SELECT FROM pg_locks JOIN pg_database AS d ON d.oid = database
                    WHERE \(condition) AND relation = '\(table)'::regclass AND d.datname = current_database());
                PERFORM pg_sleep(0.01);
            END LOOP;
        END $$
        """
    }

    @Test func `an identity that is removed during its sign-in opens no session`() async throws {
        try await TestService.with { service in
            let credential = service.credential(.gitHub, subject: "trojan", email: "ada@example.com")
            let before = try await service.signIn(credential).signedIn()
            // The state after a takeover by the address's owner.
            let takeover = """
                UPDATE users SET version = version + 1, session_epoch = session_epoch + 1;
                DELETE FROM linked_providers; DELETE FROM sign_in_methods;
                DELETE FROM identifiers WHERE kind = 'federated'
                """
            let outcome = try await between(service, change: takeover) { try await service.signIn(credential) }
            #expect(try outcome.confirmation().account == before.user.id)
            #expect(
                try await service.database.count(
                    "SELECT count(*) FROM sessions JOIN users USING (tenant_id, user_id, session_epoch)"
                ) == 0
            )
        }
    }

    @Test func `an address that its account loses during a sign-in links nothing to that account`() async throws {
        try await TestService.with { service in
            let former = try await service.signUp("ada@gmail.com")
            let change = """
                UPDATE users SET email = 'eve@example.com', version = version + 1, session_epoch = session_epoch + 1;
                DELETE FROM identifiers;
                INSERT INTO identifiers (kind, value, user_id) SELECT 'email', 'eve@example.com', user_id FROM users
                """
            let arriving = service.credential(.google, subject: "ada", email: "ada@gmail.com", isVerified: true)
            let signedIn = try await between(service, change: change) {
                try await service.signIn(arriving).signedIn()
            }
            #expect(signedIn.isNewUser)
            #expect(signedIn.user.id != former.user.id)
            #expect(try await service.user(former.user.id)?.linkedProviders.isEmpty == true)
        }
    }

    @Test func `an address that its account loses during a password sign-in signs in to nothing`() async throws {
        try await TestService.with { service in
            _ = try await service.signUp("ada@gmail.com")
            let change = """
                UPDATE users SET email = 'eve@example.com', version = version + 1, session_epoch = session_epoch + 1;
                DELETE FROM identifiers;
                INSERT INTO identifiers (kind, value, user_id) SELECT 'email', 'eve@example.com', user_id FROM users
                """
            let outcome = try await between(service, change: change) { try await service.signIn("ada@gmail.com") }
            #expect(outcome.denial == .refusal(.emailNotFound))
        }
    }

    @Test func `an identity linked to the same account meanwhile opens no conflict`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let change = """
                UPDATE users SET version = version + 1;
                INSERT INTO linked_providers (user_id, provider_id, subject, linked_at, updated_at)
                    SELECT user_id, 'github.com', '1', now(), now() FROM users;
                INSERT INTO identifiers (kind, value, user_id)
                    SELECT 'federated', 'github.com' || E'\\x1F' || '1', user_id FROM users
                """
            let outcome = try await between(service, change: change) {
                try await service.signIn(service.credential(.gitHub, subject: "1"), idToken: ada.tokens.idToken)
            }
            #expect(try outcome.refused().refusal == .federatedIdentityAlreadyLinked)
            #expect(try outcome.refused().pendingToken == nil)
            #expect(try await service.database.count("SELECT count(*) FROM conflicts") == 0)
        }
    }

    @Test func `a conflict resolved while it is read is closed, and its proof is not reported as stale`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            let proven = try await service.prove(handle, by: ada).success()
            // The state after resolving it.
            let settling = """
                UPDATE users SET version = version + 1, session_epoch = session_epoch + 1;
                UPDATE conflicts SET state = 'resolved', closed_at = now(), version = version + 1
                """
            let outcome = try await before(reading: "users", service, change: settling, afterSeconds: 0.3) {
                try await service.resolve(handle, proven.proofToken)
            }
            #expect(outcome.denial == .conflict(.closed(.resolved)))
        }
    }

    @Test func `a session deleted with its account is reported as an unknown user`() async throws {
        try await TestService.with { service in
            let token = try await service.signUp("ada@example.com").tokens.refreshToken
            #expect(try await outcome(await service.operations.refreshSession(token)).denial == nil)
            // The user is read meanwhile, on another connection.
            let refreshed = try await before(
                reading: "sessions",
                service,
                change: "DELETE FROM users",
                afterSeconds: 0.3
            ) { try await outcome(await service.operations.refreshSession(token)) }
            #expect(refreshed.denial == .refusal(.userNotFound))
        }
    }

    @Test func `during a lock a correct password is not revealed, with a second factor either`() async throws {
        try await TestService.with { service in
            let email = try #require(EmailAddress("ada@example.com"))
            _ = try await service.signUp("ada@example.com")
            try await service.database.execute(
                """
                INSERT INTO second_factors (user_id, enrollment_id, slot, number, enrolled_at)
                    SELECT user_id, 'factor', 1, '+16505553434', now() FROM users;
                UPDATE users SET version = version + 1
                """
            )
            @Sendable func replace(_ old: String) async throws -> Denial? {
                try await outcome(
                    await service.operations
                        .replacePassword(of: email, oldPassword: old, newPassword: "another horse", tenant: .project)
                )
                .denial
            }
            #expect(try await replace(TestService.password) == .refusal(.credentialTooOld))
            #expect(try await replace("wrong") != nil)
            // Other guesses locked the address after this one found it unlocked.
            let lock = """
                UPDATE password_attempts SET failures = 10, locked_until = '9000-01-01', forgotten_at = '9000-01-02';
                UPDATE password_sources SET failures = 10, locked_until = '9000-01-01', forgotten_at = '9000-01-02'
                """
            let denial = try await before(reading: "users", service, change: lock, afterSeconds: 0) {
                try await replace(TestService.password)
            }
            #expect(denial == .refusal(.tooManyAttempts))
        }
    }

    /// Runs `change` in the database when `operation` is about to read `table`. `afterSeconds` lets it finish reads on
    /// other connections first.
    private func before<Output: Sendable>(
        reading table: String,
        _ service: TestService,
        change: String,
        afterSeconds: Double,
        _ operation: @Sendable () async throws -> Output
    ) async throws -> Output {
        let (tableLocked, lock) = AsyncStream.makeStream(of: Void.self)
        async let changed: Void = PostgresConnection.withConnection(service.database.configuration) { connection in
            defer { lock.finish() }
            try connection.execute(script: "BEGIN; LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE")
            lock.finish()
            try connection.execute(script: Self.untilSomebody("NOT granted", table))
            try connection.execute(script: "SELECT pg_sleep(\(afterSeconds)); \(change); COMMIT")
        }
        for await _ in tableLocked {}
        let output = try await operation()
        try await changed
        return output
    }
}
