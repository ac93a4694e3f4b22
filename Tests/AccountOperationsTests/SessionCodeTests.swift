import AccountLinking
import AccountStore
import AccountTestSupport
import Crypto
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// The way back from the page of a conflict to the app, and the code that hands the session over.
@Suite struct SessionCodeTests {
    private static let page = "http://localhost:3000/back?lang=en#top"
    /// RFC 7636, appendix B.
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    /// A conflict that was resolved, and the session that did it.
    private struct Resolved {
        let handle: String
        let signedIn: SignedIn
        let email: String

        var user: UserID { signedIn.user.id }
    }

    private func resolved(
        _ service: TestService,
        _ email: String = "ada@example.com",
        subject: String = "77",
        challenge: String? = Self.challenge
    ) async throws -> Resolved {
        let account = try await service.signUp(email)
        let handle = try await service.openConflict(with: email, subject: subject)
        _ = try await service.setReturn(handle, Self.page, state: "s t&te", challenge).success()
        let proven = try await service.prove(handle, by: account).success()
        service.clock.advance(seconds: 10)
        let signedIn = try await service.resolve(handle, proven.proofToken).success()
        return Resolved(handle: handle, signedIn: signedIn, email: email)
    }

    private func code(_ service: TestService, _ resolved: Resolved) async throws -> String {
        let url = try await service.issueCode(resolved.handle, resolved.signedIn.tokens.idToken).success().url
        return try #require(url.firstMatch(of: #/[?&]concordCode=([\w-]{43})(&|#|$)/#).map { String($0.1) }, "\(url)")
    }

    @Test func `a code gives a session as old as the one that resolved the conflict`() async throws {
        try await TestService.with { service in
            let resolved = try await resolved(service)
            let shown = try await service.view(resolved.handle, nil).success().wayBack
            #expect(shown?.givesCode == true)
            #expect(shown?.url == "http://localhost:3000/back?lang=en&concordConflict=resolved&state=s%20t%26te#top")
            let code = try await code(service, resolved)
            let signIn: Query<String?> = """
                SELECT concat_ws(' ', auth_time, sign_in_provider, second_factor, sign_in_attributes)
                FROM sessions WHERE sign_in_provider = 'twitter.com'
                """
            let before: [String?] = try await service.database.rows(signIn)
            service.clock.advance(seconds: 59)
            let handed = try await service.exchange(code, Self.verifier).success()
            #expect(handed.user == resolved.user)
            let (old, new) = (
                try claims(resolved.signedIn.tokens.idToken), try claims(handed.tokens.idToken)
            )
            #expect(new["auth_time"] == old["auth_time"] && new["iat"] != old["iat"])
            #expect(new["firebase"]?["sign_in_provider"] == "twitter.com")
            #expect(new["firebase"]?["sign_in_attributes"] == old["firebase"]?["sign_in_attributes"])
            _ = try await service.refresh(handed.tokens.refreshToken).value
            let after: [String?] = try await service.database.rows(signIn)
            #expect(before.count == 1 && after == before, "one session, as old as the one before: \(after)")
            #expect(
                try await service.database.count(
                    """
                    SELECT count(*) FROM sessions JOIN conflict_returns USING (tenant_id, user_id)
                    WHERE given_session = sessions.session_id
                    """
                ) == 1
            )
            let resolver = resolved.signedIn.tokens
            #expect(try await service.lookUp(resolver.idToken).denial == .refusal(.tokenExpired))
            #expect(try await service.refresh(resolver.refreshToken).denial == .refusal(.tokenExpired))
            _ = try await service.lookUp(handed.tokens.idToken).value
            #expect(try await service.events(of: resolved.user).contains("session-handed-over T23"))
            #expect(try await service.view(resolved.handle, nil).success().wayBack?.givesCode == false)
            try await service.database.expectConsistency()
        }
    }

    @Test func `the code is not stored, and the answer to resolving has none`() async throws {
        try await TestService.with { service in
            let resolved = try await resolved(service)
            let code = try await code(service, resolved)
            let rows: [String?] = try await service.database.rows("SELECT to_jsonb(t)::text FROM conflict_returns AS t")
            #expect(rows.count == 1)
            let row = rows.compactMap(\.self).joined()
            #expect(!row.contains(code) && !row.contains(Self.verifier))
            let hash = SHA256.hash(data: Array(code.utf8)).map {
                String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
            }
            #expect(row.contains(hash.joined()))
        }
    }

    @Test func `50 callers on two servers exchange one code once, and the second use ends the session`() async throws {
        try await TestService.withTwo { service, other in
            let resolved = try await resolved(service)
            let code = try await code(service, resolved)
            let outcomes = try await service.race(with: other, count: 50) { service, _ in
                try await service.exchange(code, Self.verifier)
            }
            #expect(outcomes.count { $0.denial == nil } == 1)
            #expect(outcomes.count { $0.denial == .sessionCode(.unusable) } == 49)
            let count = try await service.database.count("SELECT count(*) FROM account_events WHERE rule = 'T23'")
            #expect(count == 1, "one session was opened")
            #expect(
                try await service.database.count(
                    """
                    SELECT count(*) FROM sessions JOIN conflict_returns USING (tenant_id, user_id)
                    WHERE given_session = sessions.session_id
                    """
                ) == 0,
                "and ended by the second use"
            )
            let tokens = try #require(outcomes.compactMap { try? $0.success() }.first).tokens
            #expect(try await other.refresh(tokens.refreshToken).denial == .refusal(.tokenExpired))
            #expect(try await other.lookUp(tokens.idToken).denial == .refusal(.tokenExpired))
            #expect(
                try await other.lookUp(resolved.signedIn.tokens.idToken).denial == .refusal(.tokenExpired),
                "the session that resolved the conflict has ended too"
            )
            try await service.database.expectConsistency()
        }
    }

    @Test func `50 callers on two servers who repeat one request get the same session, and no other exists`()
        async throws
    {
        try await TestService.withTwo { service, other in
            let resolved = try await resolved(service)
            let code = try await code(service, resolved)
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
            #expect(
                try await service.database.count(
                    "SELECT count(*) FROM sessions WHERE sign_in_provider = 'twitter.com'"
                ) == 1
            )
        }
    }

    @Test func `five wrong verifiers lock a code, under concurrency too, and a new code is good`() async throws {
        try await TestService.withTwo { service, other in
            let resolved = try await resolved(service)
            let code = try await code(service, resolved)
            let wrong = String(repeating: "v", count: 43)
            let denials = try await service.race(with: other) { service, _ in
                try await service.exchange(code, wrong).denial
            }
            #expect(denials.count { $0 == .sessionCode(.wrongVerifier) } == 5)
            #expect(denials.count { $0 == .sessionCode(.tooManyAttempts) } == 59)
            #expect(try await service.exchange(code, Self.verifier).denial == .sessionCode(.tooManyAttempts))
            let next = try await self.code(other, resolved)
            #expect(try await service.exchange(code, Self.verifier).denial == .sessionCode(.unusable))
            _ = try await service.exchange(next, Self.verifier).success()
        }
    }

    @Test func `a code expires after 60 seconds, and gives nothing to another verifier, not even a second use`()
        async throws
    {
        try await TestService.with { service in
            let resolved = try await resolved(service)
            let late = try await code(service, resolved)
            service.clock.advance(seconds: 60)
            #expect(try await service.exchange(late, Self.verifier).denial == .sessionCode(.unusable))
            let code = try await code(service, resolved)
            let handed = try await service.exchange(code, Self.verifier).success()
            let wrong = String(repeating: "v", count: 43)
            #expect(try await service.exchange(code, wrong).denial == .sessionCode(.unusable))
            _ = try await service.refresh(handed.tokens.refreshToken).value
            #expect(
                try await service.issueCode(resolved.handle, resolved.signedIn.tokens.idToken).denial
                    == .refusal(.tokenExpired),
                "a conflict gives one session"
            )
        }
    }

    @Test func `the handle, another session of the account and a foreign session get no code`() async throws {
        try await TestService.with { service in
            let resolved = try await resolved(service)
            let twitter = service.credential(.twitter, subject: "77", email: resolved.email)
            let again = try await service.signIn(twitter).signedIn()
            let eve = try await service.signUp("eve@example.com")
            for session in [again, eve] {
                #expect(
                    try await service.issueCode(resolved.handle, session.tokens.idToken).denial
                        == .sessionCode(.unusable)
                )
            }
            #expect(try await service.issueCode(resolved.handle, "forged").denial == .invalidIDToken)
            let foreign = try await self.resolved(service, "bob@example.com", subject: "78")
            #expect(
                try await service.issueCode(foreign.handle, resolved.signedIn.tokens.idToken).denial
                    == .sessionCode(.unusable)
            )
        }
    }

    @Test(arguments: [false, true])
    func `a page that was read before the conflict was resolved is not stored after`(
        hasEarlierPage: Bool
    ) async throws {
        try await TestService.with { service in
            let account = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            if hasEarlierPage { _ = try await service.setReturn(handle, Self.page, state: "early").success() }
            let store = service.operations.store
            let found = try #require(ConflictHandle(handle, sealer: service.operations.sealer))
            let conflict = try #require(
                try await store.conflict(found.conflict, of: found.user, tenant: .project)
            )
            let late = ConflictReturnRecord(
                of: conflict,
                continueURL: Self.page,
                state: "late",
                codeChallenge: nil
            )
            let proven = try await service.prove(handle, by: account).success()
            _ = try await service.resolve(handle, proven.proofToken).success()
            #expect(try await store.put(late, sideWrites: []) == .factsMoved)
            #expect(try await store.conflictReturn(of: conflict)?.state == (hasEarlierPage ? "early" : nil))
        }
    }

    @Test func `each of 8 pages that races with the resolution is stored with its session, or refused`() async throws {
        try await TestService.withTwo { service, other in
            for number in 0..<8 {
                let email = "page\(number)@example.com"
                let account = try await service.signUp(email)
                let handle = try await service.openConflict(with: email, subject: "8\(number)")
                let proven = try await service.prove(handle, by: account).success()
                let denials = try await service.race(with: other, count: 2) { service, caller in
                    if caller == 0 { return try await service.resolve(handle, proven.proofToken).denial }
                    return try await service.setReturn(handle, Self.page, state: "s", Self.challenge).denial
                }
                #expect(Set(denials).isSubset(of: [nil, .conflict(.closed(.resolved))]), "\(denials)")
                let stored = denials.allSatisfy { $0 == nil }
                #expect(try await service.view(handle, nil).success().wayBack?.givesCode == (stored ? true : nil))
            }
        }
    }

    @Test func `without a challenge the app gets its user back, and no code`() async throws {
        try await TestService.with { service in
            let resolved = try await resolved(service, challenge: nil)
            let wayBack = try await service.view(resolved.handle, nil).success().wayBack
            #expect(wayBack?.givesCode == false && wayBack?.url.contains("concordConflict=resolved") == true)
            #expect(
                try await service.issueCode(resolved.handle, resolved.signedIn.tokens.idToken).denial
                    == .sessionCode(.unusable)
            )
        }
    }

    @Test(arguments: ["ended", "revoked", "disabled", "deleted", "reset", "taken over"])
    func `what ends the resolver's session between issue and exchange makes the code unusable`(
        change: String
    ) async throws {
        try await TestService.with { service in
            // Google's word proves an address at Gmail.
            let resolved = try await resolved(service, "ada@gmail.com")
            let code = try await code(service, resolved)
            let (user, now) = (resolved.user, service.clock.now)
            switch change {
            case "ended":
                _ = try await service.operations.signOut(
                    idToken: resolved.signedIn.tokens.idToken,
                    localID: nil,
                    tenant: .project
                )
            case "revoked": try await service.edit(user) { $0.endSessions(at: now) }
            case "disabled": try await service.edit(user) { $0.isDisabled = true }
            case "deleted": _ = try await service.delete(resolved.signedIn.tokens.idToken).value
            case "taken over":
                let owner = service.credential(.google, subject: "g", email: resolved.email, isVerified: true)
                _ = try await service.signIn(owner).signedIn()
            default:
                _ = try await service.operations.resetPassword(
                    try await service.resetCode(for: resolved.email),
                    newPassword: "battery staple",
                    tenant: .project
                )
            }
            let expected = change == "disabled" ? SessionCodeRefusal.userDisabled : .unusable
            #expect(try await service.exchange(code, Self.verifier).denial == .sessionCode(expected))
            let exchanges: Query<Int64?> = """
                SELECT count(*) FROM account_events WHERE rule = \(Rule.sessionCodeExchanged.rawValue)
                """
            #expect(try await service.database.count(exchanges) == 0)
        }
    }

    @Test func `an exchange that races with the end of all sessions leaves no live session behind`() async throws {
        try await TestService.withTwo { service, other in
            for number in 0..<8 {
                let resolved = try await resolved(service, "race\(number)@example.com", subject: "9\(number)")
                let code = try await code(service, resolved)
                let outcomes = try await service.race(with: other, count: 2) { service, caller in
                    if caller == 0 { return try await service.exchange(code, Self.verifier) }
                    _ = try await service.operations.endAllSessions(of: resolved.user, tenant: .project)
                    return .denied(.sessionCode(.unusable))
                }
                for handed in outcomes.compactMap({ try? $0.success() }) {
                    #expect(try await other.refresh(handed.tokens.refreshToken).denial == .refusal(.tokenExpired))
                }
            }
            try await service.database.expectConsistency()
        }
    }

    @Test func `a page of a foreign, malformed or removed host gets neither its user nor a code`() async throws {
        try await TestService.with { service in
            _ = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            for url in [
                "https://evil.example/", "http://localhost.evil.example/", "https://evil.example/?http://localhost",
            ] {
                #expect(try await service.setReturn(handle, url).denial == .unauthorizedDomain, "\(url)")
            }
            #expect(try await service.view(handle, nil).success().wayBack == nil)
            let long = "http://localhost/" + String(repeating: "a", count: AppReturn.urlBytesMax - 17)
            _ = try await service.setReturn(handle, long).success()
            for url in [
                long + "a", "javascript:alert(1)", "com.example.app://back", "/back",
                "http://evil.example\\@localhost/",
                "http://user@localhost/", "http://localhost/\n",
            ] {
                #expect(throws: AppReturn.Defect.continueURL, "\(url.prefix(60))") {
                    try AppReturn(continueURL: url, state: nil, codeChallenge: nil)
                }
            }

            let resolved = try await resolved(service, "bob@example.com", subject: "78")
            let code = try await code(service, resolved)
            let change = try ProjectConfigChange(
                body: ["authorizedDomains": ["app.example.com"]],
                mask: "authorizedDomains"
            )
            _ = try await service.operations.updateProjectConfig(change, by: .owner).get()
            #expect(try await service.exchange(code, Self.verifier).denial == .sessionCode(.unusable))
            #expect(try await service.view(resolved.handle, nil).success().wayBack == nil)
            #expect(
                try await service.issueCode(resolved.handle, resolved.signedIn.tokens.idToken).denial
                    == .sessionCode(.unusable)
            )
        }
    }

    @Test func `a parameter of the app's page with one of Concord's names is replaced, however it is escaped`() {
        let page = "http://localhost/?concord%43ode=x&lang=en&%63oncordCod%65=y&concordCode=z&a%ZZ=1&a%FF=2&b%3Dc=3"
        #expect(
            redirection(to: page, adding: [("concordCode", "1&2")])
                == "http://localhost/?lang=en&a%ZZ=1&a%FF=2&b%3Dc=3&concordCode=1%262"
        )
        // A combining character after a delimiter.
        #expect(
            redirection(to: "http://localhost/?\u{301}&concordCode=\u{301}x#\u{301}", adding: [("concordCode", "1")])
                == "http://localhost/?%CC%81&concordCode=1#%CC%81"
        )
    }

    @Test func `states and challenges are bounded`() {
        func defect(_ state: String?, _ challenge: String?) -> AppReturn.Defect? {
            do throws(AppReturn.Defect) {
                _ = try AppReturn(continueURL: Self.page, state: state, codeChallenge: challenge)
                return nil
            } catch { return error }
        }
        let ok = Self.challenge
        #expect(defect(nil, nil) == nil && defect("~ a", ok) == nil)
        #expect(defect(String(repeating: "s", count: 512), ok) == nil)
        for state in ["", String(repeating: "s", count: 513), "é", "a\0", "a\n"] {
            #expect(defect(state, ok) == .state)
        }
        for challenge in ["", String(ok.dropLast()), ok + "A", ok.replacing("-", with: "+"), ok.dropLast() + "="] {
            #expect(defect(nil, String(challenge)) == .codeChallenge, "\(challenge)")
        }
        #expect(CodeVerifier(String(repeating: "a", count: 42)) == nil)
        #expect(CodeVerifier(String(repeating: "~", count: 128)) != nil)
        #expect(CodeVerifier(String(repeating: "a", count: 129)) == nil)
        #expect(CodeVerifier(String(repeating: "a", count: 42) + "+") == nil)
    }

    @Test func `the page to return to can be replaced while the conflict is live, and not after`() async throws {
        try await TestService.with { service in
            let account = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            let first = try await service.setReturn(handle, Self.page, state: "1").success()
            #expect(first.url.contains("concordConflict=open&state=1") && !first.givesCode)
            _ = try await service.setReturn(handle, "http://localhost/other", state: "2", Self.challenge).success()
            let version = try await service.view(handle, nil).success().version
            #expect(version == 1, "the conflict itself did not change")
            let proven = try await service.prove(handle, by: account).success()
            #expect(try await service.view(handle, nil).success().wayBack?.url.contains("=open&state=2") == true)
            _ = try await service.resolve(handle, proven.proofToken).success()
            #expect(
                try await service.setReturn(handle, Self.page, state: "3").denial == .conflict(.closed(.resolved))
            )
            #expect(try await service.view(handle, nil).success().wayBack?.url.contains("=resolved&state=2") == true)
            #expect(try await service.setReturn("forged", Self.page).denial == .conflict(.unknown))
        }
    }

    @Test func `every end of a conflict has its name, and the way back leaves with the conflict`() async throws {
        try await TestService.with { service in
            _ = try await service.signUp("ada@example.com")
            func name(_ handle: String) async throws -> String? {
                try await service.view(handle, nil).success().wayBack?.url
                    .firstMatch(of: #/concordConflict=(\w+)/#).map { String($0.1) }
            }
            let declined = try await service.openConflict(with: "ada@example.com", subject: "1")
            let expired = try await service.openConflict(with: "ada@example.com", subject: "2")
            for handle in [declined, expired] { _ = try await service.setReturn(handle, Self.page).success() }
            _ = try await service.decline(declined).success()
            #expect(try await name(declined) == "declined")
            service.clock.advance(seconds: 3601)
            #expect(try await name(expired) == "expired")
            #expect(try await service.database.count("SELECT count(*) FROM conflict_returns") == 2)
            var purge = Purge(
                store: service.operations.store,
                project: service.operations.project,
                effects: service.operations.effects,
                keepSeconds: 0,
                rowsMax: 100,
                databaseClock: { service.clock.now }
            )
            _ = try await purge.run()
            #expect(try await service.database.count("SELECT count(*) FROM conflict_returns") == 0)
        }
    }
}

extension TestService {
    fileprivate func setReturn(
        _ handle: String,
        _ url: String,
        state: String? = nil,
        _ challenge: String? = nil
    ) async throws -> Outcome<ConflictReturnView> {
        let destination = try AppReturn(continueURL: url, state: state, codeChallenge: challenge)
        return try await outcome(
            await operations.setReturn(destination, of: handle, ChangeRequest(tenant: .project))
        )
    }

    fileprivate func issueCode(_ handle: String, _ idToken: String) async throws -> Outcome<ConflictReturnView> {
        try await outcome(
            await operations.issueSessionCode(handle, idToken: idToken, ChangeRequest(tenant: .project))
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
