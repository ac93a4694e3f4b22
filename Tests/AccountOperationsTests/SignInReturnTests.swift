import AccountLinking
import AccountStore
import AccountTestSupport
import Crypto
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// The code that hands a session of the sign-in page over to an app.
@Suite struct SignInReturnTests {
    private static let page = "http://localhost:3000/back?lang=en#top"
    /// RFC 7636, appendix B.
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    private func code(_ service: TestService, _ session: SignedIn) async throws -> String {
        let url = try await service.issueSignInCode(session.tokens.refreshToken, Self.page).success().url
        return try #require(url.firstMatch(of: #/[?&]concordCode=([\w-]+)(&|#|$)/#).map { String($0.1) }, "\(url)")
    }

    @Test func `a code gives a session as old as the page's, which ends`() async throws {
        try await TestService.with { service in
            let session = try await service.signUp("ada@example.com")
            service.clock.advance(seconds: 10)
            let url = try await service.issueSignInCode(session.tokens.refreshToken, Self.page, state: "s t&te")
                .success().url
            #expect(url.hasPrefix("http://localhost:3000/back?lang=en&concordCode="))
            #expect(url.hasSuffix("&state=s%20t%26te#top"))
            let code = try await code(service, session)
            service.clock.advance(seconds: 59)
            let handed = try await service.exchange(code, Self.verifier).success()
            #expect(handed.user == session.user.id)
            let (old, new) = (try claims(session.tokens.idToken), try claims(handed.tokens.idToken))
            #expect(new["auth_time"] == old["auth_time"] && new["iat"] != old["iat"])
            #expect(new["firebase"]?["sign_in_provider"] == old["firebase"]?["sign_in_provider"])
            _ = try await service.refresh(handed.tokens.refreshToken).value
            #expect(try await service.refresh(session.tokens.refreshToken).denial == .refusal(.tokenExpired))
            #expect(try await service.lookUp(session.tokens.idToken).denial == .refusal(.tokenExpired))
            #expect(try await service.sessionCount(of: session.user.id) == 1)
            #expect(try await service.events(of: session.user.id).contains("session-handed-over T23"))
            try await service.database.expectConsistency()
        }
    }

    @Test func `of Concord's pages, only the account page gets a code`() async throws {
        try await TestService.with { service in
            let change = try ProjectConfigChange(
                body: ["authorizedDomains": ["app.example.com"]],
                mask: "authorizedDomains"
            )
            _ = try await service.operations.updateProjectConfig(change, by: .owner).get()
            let token = try await service.signUp("ada@example.com").tokens.refreshToken
            // The address of the service in tests.
            let own = "http://127.0.0.1:9099"
            // The handler page passes its query on to apps.
            for path in [
                "/__/auth/handler", "/signin", "/conflict", "", "/", "/account/", "/account/account.js", "/accoun%74",
                "/x/account", "/?/account", "/#/account", "?/account",
            ] {
                #expect(try await service.issueSignInCode(token, own + path).denial == .unauthorizedDomain, "\(path)")
            }
            for other in ["https://127.0.0.1:9099", "http://127.0.0.1:9098", "http://127.0.0.1"] {
                #expect(try await service.issueSignInCode(token, other + "/account").denial == .unauthorizedDomain)
            }
            for path in ["/account", "/account?lang=th", "/account#methods"] {
                let url = try await service.issueSignInCode(token, own + path).success().url
                #expect(url.hasPrefix(own + "/account?"))
            }
        }
    }

    @Test func `the code is stored as its hash, and shows neither the account nor the session`() async throws {
        try await TestService.with { service in
            let session = try await service.signUp("ada@example.com")
            let code = try await code(service, session)
            let rows: [String?] = try await service.database.rows("SELECT to_jsonb(t)::text FROM sign_in_returns AS t")
            #expect(rows.count == 1)
            let row = rows.compactMap(\.self).joined()
            #expect(!row.contains(code) && !row.contains(Self.verifier))
            let opened = String(decoding: Base64URL.decode(code) ?? [], as: UTF8.self)
            #expect(!opened.contains(session.user.id.rawValue))
            let again = try await self.code(service, session)
            #expect(again != code)
            #expect(try await service.database.count("SELECT count(*) FROM sign_in_returns") == 1)
            #expect(
                try await service.exchange(code, Self.verifier).denial == .sessionCode(.unusable),
                "a session has one code, the newest"
            )
            _ = try await service.exchange(again, Self.verifier).success()
        }
    }

    @Test func `50 callers on two servers exchange one code once, and the second use ends the session`() async throws {
        try await TestService.withTwo { service, other in
            let session = try await service.signUp("ada@example.com")
            let code = try await code(service, session)
            let outcomes = try await service.race(with: other, count: 50) { service, _ in
                try await service.exchange(code, Self.verifier)
            }
            #expect(outcomes.count { $0.denial == nil } == 1)
            #expect(outcomes.count { $0.denial == .sessionCode(.unusable) } == 49)
            #expect(try await service.database.count("SELECT count(*) FROM account_events WHERE rule = 'T23'") == 1)
            #expect(try await service.sessionCount(of: session.user.id) == 0, "the second use ends it")
            let tokens = try #require(outcomes.compactMap { try? $0.success() }.first).tokens
            #expect(try await other.refresh(tokens.refreshToken).denial == .refusal(.tokenExpired))
            try await service.database.expectConsistency()
        }
    }

    @Test func `50 callers on two servers who repeat one exchange get the same session, and no other exists`()
        async throws
    {
        try await TestService.withTwo { service, other in
            let session = try await service.signUp("ada@example.com")
            let code = try await code(service, session)
            let request = IdempotentRequest<HandedSession>(
                key: try #require(IdempotencyKey("key")),
                credential: code,
                route: "r",
                request: "{}"
            ) { Array($0.tokens.refreshToken.utf8) }
            let tokens = try await service.race(with: other, count: 50) { service, _ in
                switch try await service.exchange(code, Self.verifier, request) {
                case .success(let handed): handed.tokens.refreshToken
                case .denied(.answeredBefore(let answer)): String(decoding: answer, as: UTF8.self)
                case .denied(let denial): "\(denial)"
                }
            }
            #expect(Set(tokens).count == 1, "\(Set(tokens))")
            _ = try await service.refresh(try #require(tokens.first)).value
            #expect(try await service.sessionCount(of: session.user.id) == 1)
        }
    }

    @Test func `of codes that 32 callers issue for one session, one gives a session`() async throws {
        try await TestService.withTwo { service, other in
            let session = try await service.signUp("ada@example.com")
            let codes = try await service.race(with: other, count: 32) { service, _ in
                try await self.code(service, session)
            }
            #expect(Set(codes).count == 32)
            #expect(try await service.database.count("SELECT count(*) FROM sign_in_returns") == 1)
            let outcomes = try await service.race(with: other, count: 32) { service, caller in
                try await service.exchange(codes[caller], Self.verifier)
            }
            #expect(outcomes.count { $0.denial == nil } == 1)
            #expect(try await service.sessionCount(of: session.user.id) == 1, "replaced codes end no session")
        }
    }

    @Test func `five wrong verifiers lock a code, under concurrency too, and a new code is good`() async throws {
        try await TestService.withTwo { service, other in
            let session = try await service.signUp("ada@example.com")
            let code = try await code(service, session)
            let wrong = String(repeating: "v", count: 43)
            let denials = try await service.race(with: other) { service, _ in
                try await service.exchange(code, wrong).denial
            }
            #expect(denials.count { $0 == .sessionCode(.wrongVerifier) } == 5)
            #expect(denials.count { $0 == .sessionCode(.tooManyAttempts) } == denials.count - 5)
            #expect(try await service.exchange(code, Self.verifier).denial == .sessionCode(.tooManyAttempts))
            _ = try await service.exchange(try await self.code(other, session), Self.verifier).success()
        }
    }

    @Test func `a code expires after 60 seconds, and a wrong verifier never ends the session that it gave`()
        async throws
    {
        try await TestService.with { service in
            let session = try await service.signUp("ada@example.com")
            let late = try await code(service, session)
            service.clock.advance(seconds: 60)
            #expect(try await service.exchange(late, Self.verifier).denial == .sessionCode(.unusable))
            let code = try await code(service, session)
            let handed = try await service.exchange(code, Self.verifier).success()
            let wrong = String(repeating: "v", count: 43)
            #expect(try await service.exchange(code, wrong).denial == .sessionCode(.unusable))
            _ = try await service.refresh(handed.tokens.refreshToken).value
            #expect(
                try await service.issueSignInCode(session.tokens.refreshToken, Self.page).denial
                    == .refusal(.tokenExpired),
                "a session is handed over once"
            )
        }
    }

    @Test func `an ended, forged or foreign refresh token gets no code`() async throws {
        try await TestService.with { service in
            let session = try await service.signUp("ada@example.com")
            let token = try #require(RefreshToken(session.tokens.refreshToken))
            func forged(_ change: (inout RefreshToken) -> Void) -> String {
                var forged = token
                change(&forged)
                return forged.encoded
            }
            let eve = try await service.signUp("eve@example.com")
            for refreshToken in [
                "forged", session.tokens.idToken, forged { $0.secret = Array(repeating: 1, count: 32) },
                forged { $0.tenant = TenantID("other") },
            ] {
                let denial = try await service.issueSignInCode(refreshToken, Self.page).denial
                #expect(denial == .invalidRefreshToken, "\(refreshToken)")
            }
            let gone = forged { $0.session = Array(repeating: 1, count: 16) }
            #expect(try await service.issueSignInCode(gone, Self.page).denial == .refusal(.tokenExpired))
            let moved = forged { $0.user = eve.user.id }
            #expect(try await service.issueSignInCode(moved, Self.page).denial == .refusal(.tokenExpired))
            _ = try await service.operations.endAllSessions(of: session.user.id, tenant: .project)
            #expect(
                try await service.issueSignInCode(session.tokens.refreshToken, Self.page).denial
                    == .refusal(.tokenExpired)
            )
            #expect(try await service.database.count("SELECT count(*) FROM sign_in_returns") == 0)
        }
    }

    @Test func `a code of another project, or of another tenant, is an unknown code`() async throws {
        try await TestService.with { service in
            let session = try await service.signUp("ada@example.com")
            let named = SignInCode(
                tenant: TenantID("other"),
                user: session.user.id,
                session: Array(repeating: 1, count: 16)
            )
            let secret = [UInt8](repeating: 2, count: 32)
            let key = try #require(Sealer.Key(id: "another", bytes: Array(repeating: 8, count: 32)))
            for code in [
                try named.sealed(by: service.operations.sealer, secret: secret),
                try named.sealed(by: Sealer(sealingKey: key), secret: secret), "",
                String(repeating: "A", count: 4096),
            ] {
                #expect(try await service.exchange(code, Self.verifier).denial == .sessionCode(.unusable))
            }
        }
    }

    @Test func `a page outside the authorized domains gets no code, also if it was authorized before`() async throws {
        try await TestService.with { service in
            let session = try await service.signUp("ada@example.com")
            for url in [
                "https://evil.example/", "http://localhost.evil.example/", "https://evil.example/?http://localhost",
            ] {
                let denial = try await service.issueSignInCode(session.tokens.refreshToken, url).denial
                #expect(denial == .unauthorizedDomain, "\(url)")
            }
            #expect(try await service.database.count("SELECT count(*) FROM sign_in_returns") == 0)
            let code = try await code(service, session)
            try await service.database.execute(
                "UPDATE sign_in_returns SET continue_url = 'https://removed.example/'"
            )
            #expect(try await service.exchange(code, Self.verifier).denial == .sessionCode(.unusable))
            #expect(try await service.sessionCount(of: session.user.id) == 1, "the page's session lives")
        }
    }

    @Test(arguments: ["ended", "revoked", "disabled", "deleted"])
    func `what ends the page's session between issue and exchange makes the code unusable`(
        change: String
    ) async throws {
        try await TestService.with { service in
            let session = try await service.signUp("ada@example.com")
            let code = try await code(service, session)
            let (user, now) = (session.user.id, service.clock.now)
            switch change {
            case "ended":
                _ = try await service.operations.signOut(
                    idToken: session.tokens.idToken,
                    localID: nil,
                    tenant: .project
                )
            case "revoked": try await service.edit(user) { $0.endSessions(at: now) }
            case "disabled": try await service.edit(user) { $0.isDisabled = true }
            default: _ = try await service.delete(session.tokens.idToken).value
            }
            let expected = change == "disabled" ? SessionCodeRefusal.userDisabled : .unusable
            #expect(try await service.exchange(code, Self.verifier).denial == .sessionCode(expected))
            let exchanges: Query<Int64?> = """
                SELECT count(*) FROM account_events WHERE rule = \(Rule.sessionCodeExchanged.rawValue)
                """
            #expect(try await service.database.count(exchanges) == 0)
        }
    }

    @Test func `codes are deleted after they expired, and with their account`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let bob = try await service.signUp("bob@example.com")
            _ = try await code(service, ada)
            service.clock.advance(seconds: 60)
            _ = try await code(service, bob)
            var purge = Purge(
                store: service.operations.store,
                project: service.operations.project,
                effects: service.operations.effects,
                keepSeconds: 0,
                rowsMax: 100,
                databaseClock: { service.clock.now }
            )
            #expect(try await purge.run().rows[.signInReturns] == 1)
            #expect(try await service.database.count("SELECT count(*) FROM sign_in_returns") == 1)
            _ = try await service.delete(bob.tokens.idToken).value
            #expect(try await service.database.count("SELECT count(*) FROM sign_in_returns") == 0)
        }
    }
}

extension TestService {
    fileprivate func issueSignInCode(
        _ refreshToken: String,
        _ url: String,
        state: String? = nil
    ) async throws -> Outcome<SignInReturnView> {
        let destination = try AppReturn(
            continueURL: url,
            state: state,
            codeChallenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        )
        return try await outcome(
            await operations.issueSignInCode(refreshToken, to: destination, ChangeRequest(tenant: .project))
        )
    }

    fileprivate func exchange(
        _ code: String,
        _ verifier: String,
        _ idempotent: IdempotentRequest<HandedSession>? = nil
    ) async throws -> Outcome<HandedSession> {
        let verifier = try #require(CodeVerifier(verifier))
        return try await outcome(
            await operations.exchangeSessionCode(
                code,
                verifier,
                ChangeRequest(tenant: .project, idempotent: idempotent)
            )
        )
    }
}
