import AccountLinking
import AccountStore
import AccountTestSupport
import IdentityProviders
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// Age of a provider's sign-in, and reuse of its ID tokens. The clock moves, so each test has a separate service.
struct ProviderSignInTimeTests {
    private static let address = "ada@gmail.com"

    /// Google's token about Ada, issued and signed in so many seconds ago.
    private func token(
        _ service: TestService,
        _ name: String = "first",
        issued: Int64 = 0,
        signedIn: Int64? = nil,
        lives: Int64 = 3600
    ) -> ProviderCredential {
        let now = service.clock.now.secondsSinceEpoch
        var claims: [String: JSONValue] = [
            "sub": "ada", "email": .string(Self.address), "email_verified": true, "jti": .string(name),
            "iat": .integer(now - issued), "exp": .integer(now - issued + lives),
        ]
        claims["auth_time"] = signedIn.map { .integer(now - $0) }
        return ProviderCredential(provider: .google, idToken: JSONValue.object(claims).text)
    }

    /// The refusal to set a password; `nil` if the sign-in is recent.
    private func refusalOfPassword(_ service: TestService, _ session: SignedIn) async throws -> Denial? {
        var update = UpdateAccount()
        update.password = "another horse"
        return try await outcome(
            await service.operations
                .updateAccount(update, idToken: session.tokens.idToken, tenant: .project)
        ).denial
    }

    private func refresh(_ service: TestService, _ session: SignedIn) async throws -> Denial? {
        try await outcome(await service.operations.refreshSession(session.tokens.refreshToken)).denial
    }

    private func authTime(_ session: SignedIn) throws -> Int64? {
        try claims(session.tokens.idToken)["auth_time"]?.integer
    }

    private func usedTokens(_ service: TestService) async throws -> Int64 {
        try await service.database.count("SELECT count(*) FROM used_id_tokens")
    }

    // MARK: Revocation

    @Test func `a sign-in that began before all sessions ended, and was decided after, has a live session`()
        async throws
    {
        try await TestService.with { service in
            let old = try await service.signIn(token(service)).signedIn()
            let credential = token(service, "second")
            let locking: Query<Int64?> = """
                SELECT count(*) FROM pg_locks JOIN pg_database AS d ON d.oid = database
                WHERE d.datname = current_database() AND relation = 'identifiers'::regclass AND mode = 'AccessExclusiveLock' AND granted
                """
            let waiting: Query<Int64?> = """
                SELECT count(*) FROM pg_locks JOIN pg_database AS d ON d.oid = database
                WHERE d.datname = current_database() AND relation = 'identifiers'::regclass AND NOT granted
                """
            // Holds the sign-in up before it reads the account, and ends its sessions meanwhile.
            async let ending: Void = PostgresConnection.withConnection(service.database.configuration) { connection in
                try connection.execute(script: "BEGIN; LOCK TABLE identifiers IN ACCESS EXCLUSIVE MODE")
                while try connection.query(waiting).first == .some(0) {}
                service.clock.advance(seconds: 5)
                let end = service.clock.now.secondsSinceEpoch - 2
                try connection.execute(
                    "UPDATE users SET version = version + 1, session_epoch = session_epoch + 1, valid_since = to_timestamp(\(end))"
                )
                try connection.execute(script: "COMMIT")
            }
            while try await service.database.count(locking) == 0 {}
            let new = try await service.signIn(credential).signedIn()
            try await ending
            #expect(try await refresh(service, new) == nil)
            #expect(try await refusalOfPassword(service, new) == nil, "its ID token is live too")
            #expect(try await refresh(service, old) == .refusal(.tokenExpired))

            // An administrator can set the time ahead of the clock: no session is live until then.
            let ahead = service.clock.now.secondsSinceEpoch + 60
            try await service.database.execute(
                "UPDATE users SET version = version + 1, valid_since = to_timestamp(\(ahead))"
            )
            let early = try await service.signIn(token(service, "third")).signedIn()
            #expect(try await refresh(service, early) == .refusal(.tokenExpired))
        }
    }

    // MARK: Age

    @Test func `an ID token from an hour ago does not make a session recent`() async throws {
        try await TestService.with { service in
            let account = try await service.signIn(token(service)).signedIn()
            service.clock.advance(seconds: 86_400)
            let old = try await service.signIn(token(service, "old", issued: 3500)).signedIn()
            #expect(old.user.id == account.user.id)
            #expect(try authTime(old) == service.clock.now.secondsSinceEpoch - 3500)
            #expect(try await refusalOfPassword(service, old) == .refusal(.credentialTooOld))
            let deleted = try await outcome(
                await service.operations.deleteAccount(idToken: old.tokens.idToken, tenant: .project)
            )
            #expect(deleted.denial == .refusal(.credentialTooOld))
            // It is a valid session, and its tokens have the time of the sign-in.
            let refreshed = try await service.operations.refreshSession(old.tokens.refreshToken)
            #expect(
                try claims(refreshed.idToken)["auth_time"]?.integer == service.clock.now.secondsSinceEpoch - 3500
            )

            let new = try await service.signIn(token(service, "new")).signedIn()
            #expect(try await refusalOfPassword(service, new) == nil)
        }
    }

    @Test func `a sign-in at the provider a month ago counts as a month old`() async throws {
        try await TestService.with { service in
            _ = try await service.signIn(token(service)).signedIn()
            service.clock.advance(seconds: 60 * 86_400)
            let month: Int64 = 30 * 86_400
            let session = try await service.signIn(token(service, "new", signedIn: month)).signedIn()
            #expect(try authTime(session) == service.clock.now.secondsSinceEpoch - month)
            #expect(try await refusalOfPassword(service, session) == .refusal(.credentialTooOld))
            #expect(try await refresh(service, session) == nil)
        }
    }

    @Test func `using a token again makes no session more recent than the first use`() async throws {
        try await TestService.with { service in
            let token = token(service)
            let first = try await service.signIn(token).signedIn()
            service.clock.advance(seconds: 301)
            let second = try await service.signIn(token).signedIn()
            #expect(second.user.id == first.user.id)
            #expect(try authTime(second) == authTime(first))
            #expect(try await refusalOfPassword(service, second) == .refusal(.credentialTooOld))
            #expect(try await usedTokens(service) == 1)
        }
    }

    @Test func `an account created by an old token has its age, and Admin SDKs accept its session`()
        async throws
    {
        try await TestService.with { service in
            let session = try await service.signIn(token(service, issued: 3000, signedIn: 90_000)).signedIn()
            let signedIn = service.clock.now.secondsSinceEpoch - 90_000
            #expect(session.isNewUser)
            #expect(try authTime(session) == signedIn)
            // Admin SDKs compare the two to detect a revoked token.
            #expect(try #require(try await service.user(session.user.id)).validSince.secondsSinceEpoch <= signedIn)
            #expect(try await refresh(service, session) == nil)
            #expect(try await refusalOfPassword(service, session) == .refusal(.credentialTooOld))
        }
    }

    @Test func `a takeover by an old token ends other sessions and is not recent`() async throws {
        try await TestService.with { service in
            let intruder = try await service.signUp(Self.address)
            service.clock.advance(seconds: 86_400)
            let owner = try await service.signIn(token(service, issued: 3500)).signedIn()
            #expect(owner.user.id == intruder.user.id && !owner.isNewUser)
            #expect(try await refresh(service, intruder) == .refusal(.tokenExpired))
            // The session began with the revocation, so `auth_time` must not make it look revoked.
            let validSince = try #require(try await service.user(owner.user.id)).validSince.secondsSinceEpoch
            #expect(try #require(try authTime(owner)) >= validSince)
            #expect(try await refresh(service, owner) == nil)
            #expect(try await refusalOfPassword(service, owner) == .refusal(.credentialTooOld))
        }
    }

    @Test func `a session after a revocation is valid however old its sign-in is, but not recent`()
        async throws
    {
        try await TestService.with { service in
            let account = try await service.signIn(token(service)).signedIn()
            service.clock.advance(seconds: 86_400)
            let revokedAt = service.clock.now
            try await service.edit(account.user.id) { $0.endSessions(at: revokedAt) }
            service.clock.advance(seconds: 10)
            // The owner has ended every session. A thief has an earlier ID token.
            let session = try await service.signIn(token(service, "stolen", issued: 1000)).signedIn()
            #expect(try authTime(session) == revokedAt.secondsSinceEpoch)
            #expect(try await refresh(service, session) == nil)
            #expect(try await refusalOfPassword(service, session) == .refusal(.credentialTooOld))
            let refreshed = try await service.operations.refreshSession(session.tokens.refreshToken)
            let read = try service.operations.tokens.verifyIDToken(refreshed.idToken, at: service.clock.now)
            #expect(read.authTime.secondsSinceEpoch == service.clock.now.secondsSinceEpoch - 1000)
        }
    }

    @Test func `times from the future, from before 1970 or in other forms do not make a session recent`()
        async throws
    {
        try await TestService.with { service in
            let now = service.clock.now.secondsSinceEpoch
            let forms: [(String, [String: JSONValue], Int64)] = [
                ("a made-up token", [:], now),
                ("from the future", ["iat": .integer(now + 50)], now),
                ("signed in in the future", ["iat": .integer(now), "auth_time": .integer(now + 1_000_000)], now),
                ("in the far future", ["iat": .double(1e300), "exp": .double(1e300)], now),
                ("signed in never", ["iat": .integer(now - 5), "auth_time": 0], now - 5),
                ("before 1970", ["iat": .integer(now - 5), "auth_time": -5], now - 5),
                ("as text", ["iat": .integer(now - 5), "auth_time": "100"], now - 5),
                ("with a fraction", ["iat": .double(Double(now) - 6.5)], now - 7),
            ]
            for (subject, times, expected) in forms {
                let claims = JSONValue.object(times.merging(["sub": .string(subject)]) { $1 })
                let session = try await service.signIn(
                    ProviderCredential(provider: .gitHub, idToken: claims.text)
                ).signedIn()
                #expect(try authTime(session) == expected, "\(subject)")
            }
        }
    }

    @Test func `a credential pending in a conflict keeps its age, and its use later is not a second use`()
        async throws
    {
        try await TestService.with { service in
            let owner = try await service.signIn(token(service)).signedIn()
            _ = try await service.signUp("other@example.com")
            // A made-up token without times counts from its arrival.
            let plain = service.credential(.google, subject: "ada", email: Self.address, isVerified: true)
            for (credential, uses) in [(token(service, "second"), 2), (plain, 2)] as [(ProviderCredential, Int64)] {
                // Linking needs a recent sign-in.
                let other = try await service.signIn("other@example.com").success()
                let (refusal, handle) = try await service.signIn(credential, idToken: other.tokens.idToken).refused()
                #expect(refusal == .federatedIdentityAlreadyLinked)
                let opened = service.clock.now.secondsSinceEpoch
                service.clock.advance(seconds: 400)
                let session = try await outcome(
                    await service.operations.signInWithIdp(
                        SignInWithIdp(source: .pendingToken(try #require(handle)), idToken: nil, createsUsers: false),
                        tenant: .project
                    )
                ).signedIn()
                #expect(session.user.id == owner.user.id)
                #expect(try authTime(session) == opened)
                #expect(try await refusalOfPassword(service, session) == .refusal(.credentialTooOld))
                #expect(try await usedTokens(service) == uses)
            }
        }
    }

    // MARK: Reuse

    @Test func `a used token does not reauthenticate again`() async throws {
        try await TestService.with { service in
            let signIn = token(service, "sign-in")
            let account = try await service.signIn(signIn).signedIn()
            #expect(
                try await service.signIn(signIn, createsUsers: false).denial == .invalidCredential(.usedBefore)
            )
            let anew = token(service, "anew")
            let reauthenticated = try await service.signIn(anew, createsUsers: false).signedIn()
            #expect(reauthenticated.user.id == account.user.id)
            #expect(try await refusalOfPassword(service, account) == nil)
            #expect(try await service.signIn(anew, createsUsers: false).denial == .invalidCredential(.usedBefore))
            // A sign-in may be repeated, because SDKs retry after a lost answer.
            #expect(try await service.signIn(anew).signedIn().user.id == account.user.id)
            #expect(try await usedTokens(service) == 2)
            // Ending every session keeps the used tokens.
            let now = service.clock.now
            try await service.edit(account.user.id) { $0.endSessions(at: now) }
            #expect(try await service.signIn(anew, createsUsers: false).denial == .invalidCredential(.usedBefore))
        }
    }

    @Test func `a refused token is not consumed, and a made-up one without expiry never is`() async throws {
        try await TestService.with { service in
            let token = token(service)
            // No account has the identity yet.
            let (refusal, _) = try await service.signIn(token, createsUsers: false).refused()
            #expect(refusal == .userNotFound)
            #expect(try await usedTokens(service) == 0)
            _ = try await service.signIn(token).signedIn()
            let plain = service.credential(.google, subject: "ada", email: Self.address, isVerified: true)
            for _ in 1...3 { _ = try await service.signIn(plain, createsUsers: false).signedIn() }
            #expect(try await usedTokens(service) == 1)
        }
    }

    @Test func `of 64 concurrent reauthentications with one token exactly one succeeds`() async throws {
        try await TestService.withTwo { first, second in
            let account = try await first.signIn(token(first)).signedIn()
            let anew = token(first, "anew")
            let denials = try await first.race(with: second) { service, _ in
                try await service.signIn(anew, createsUsers: false).denial
            }
            #expect(denials.count { $0 == nil } == 1)
            #expect(denials.count { $0 == .invalidCredential(.usedBefore) } == 63)
            #expect(try await usedTokens(first) == 2)
            #expect(try await first.database.count("SELECT count(*) FROM sessions") == 2)
            #expect(try await first.user(account.user.id) != nil)
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `of concurrent sign-ins and reauthentications with one token at most one reauthenticates`()
        async throws
    {
        try await TestService.withTwo { first, second in
            _ = try await first.signIn(token(first)).signedIn()
            let anew = token(first, "anew")
            let outcomes = try await first.race(with: second) { service, caller in
                let isSignIn = caller % 4 < 2
                return (isSignIn, try await service.signIn(anew, createsUsers: isSignIn).denial)
            }
            #expect(outcomes.allSatisfy { isSignIn, denial in !isSignIn || denial == nil })
            #expect(outcomes.count { isSignIn, denial in !isSignIn && denial == nil } <= 1)
            #expect(try await usedTokens(first) == 2)
            let opened = outcomes.count { $0.1 == nil } + 1
            #expect(try await first.database.count("SELECT count(*) FROM sessions") == Int64(opened))
        }
    }

    @Test func `a used token is stored until it expires, and is deleted with its account`() async throws {
        try await TestService.with { service in
            let account = try await service.signIn(token(service, lives: 600)).signedIn()
            _ = try await service.signIn(token(service, "longer", lives: 1 << 40)).signedIn()
            var purge = Purge(
                store: service.operations.store,
                project: service.operations.project,
                effects: service.operations.effects,
                keepSeconds: 7 * 86_400,
                rowsMax: 100,
                databaseClock: { service.clock.now }
            )
            service.clock.advance(seconds: 659)
            #expect(try await purge.run().rows[.usedIDTokens] == 0)
            service.clock.advance(seconds: 1)
            #expect(try await purge.run().rows[.usedIDTokens] == 1)
            // A token's expiry is capped at the longest accepted life.
            let latest = try await service.database.count(
                "SELECT max(extract(epoch FROM expires_at))::bigint FROM used_id_tokens"
            )
            #expect(latest <= service.clock.now.secondsSinceEpoch + 86_400 + 120)
            let new = try await service.signIn(token(service, "new")).signedIn()
            _ = try await service.operations.deleteAccount(idToken: new.tokens.idToken, tenant: .project)
            #expect(new.user.id == account.user.id)
            #expect(try await usedTokens(service) == 0)
        }
    }
}
