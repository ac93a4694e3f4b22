import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// Concord's own routes for the sign-in methods of the caller's account: the methods, which of them work, and which can
/// be removed.
@Suite struct AccountMethodsRoutesTests {
    private static let path = "/concord/v1/account/methods"

    private func read(_ api: TestAPI, _ session: JSONValue?) async throws -> Wire.Answer {
        let answer = try await api.send(.get, Self.path, key: nil, bearer: session?["idToken"]?.string)
        #expect(try OpenAPIDocument().defects(of: answer, to: .get, at: Self.path) == [])
        return answer
    }

    private func remove(
        _ method: String,
        _ api: TestAPI,
        _ session: JSONValue?,
        ifMatch: String? = nil
    ) async throws -> Wire.Answer {
        var headers: HTTPFields = [:]
        headers[.ifMatch] = ifMatch
        let answer = try await api.send(
            .delete,
            "\(Self.path)/\(method)",
            key: nil,
            bearer: session?["idToken"]?.string,
            headers: headers
        )
        #expect(try OpenAPIDocument().defects(of: answer, to: .delete, at: Self.path + "/{method}") == [])
        return answer
    }

    private func expect(
        _ problem: ProblemType,
        _ answer: Wire.Answer,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        expectProblem(answer, sourceLocation: sourceLocation)
        #expect(answer.problem == problem, "\(answer.text)", sourceLocation: sourceLocation)
    }

    private func standings(_ answer: Wire.Answer) -> [String] {
        (answer.json["methods"]?.array ?? []).map { method in
            let obstacle = method["works"] == true ? "works" : method["obstacle"]?.string ?? "?"
            return "\(method["method"]?.string ?? "?") \(method["proof"]?.string ?? "?") \(obstacle)"
        }
    }

    @Test func `every method is listed with its proof and status, and all but the last working one can be removed`()
        async throws
    {
        try await TestAPI.withAdministrator { api in
            let user = try await api.signUp("ada@example.com")
            try await api.linkGitHub(to: user, subject: "g1")
            let first = try await read(api, user)
            #expect(first.status == 200 && first.headers[.cacheControl] == "no-store")
            #expect(standings(first) == ["password sign-up works", "github.com provider-credential works"])
            #expect(first.json["methods"]?.array?.allSatisfy { $0["proveTime"]?.string != nil } == true)
            let tag = try #require(first.headers[.eTag])

            expect(.versionMismatch, try await remove("github.com", api, user, ifMatch: #""999""#))
            expect(.versionMismatch, try await remove("github.com", api, user, ifMatch: "x"))
            expect(.malformedRequest, try await remove("no%20method", api, user))
            let unlinked = try await remove("github.com", api, user, ifMatch: tag)
            #expect(unlinked.status == 200 && standings(unlinked) == ["password sign-up works"])
            let newTag = try #require(unlinked.headers[.eTag])
            #expect(newTag != tag)
            #expect(try await read(api, user).headers[.eTag] == newTag)
            expect(.versionMismatch, try await remove("github.com", api, user, ifMatch: tag))

            // What is not there is gone already.
            for absent in ["github.com", "phone", "emailLink", "oidc.never"] {
                let answer = try await remove(absent, api, user, ifMatch: newTag)
                #expect(answer.status == 200 && answer.headers[.eTag] == newTag, "\(answer.text)")
            }
            expect(.lastSignInMethod, try await remove("password", api, user))
            // The compatible route lets it go, as production does.
            let compatible = try await api.post(
                "/v1/accounts:update",
                ["idToken": user["idToken"] ?? .null, "deleteProvider": ["password"]]
            )
            #expect(compatible.status == 200, "\(compatible.text)")
            #expect(standings(try await read(api, user)) == [])
        }
    }

    @Test func `a disabled method does not count, and the last working method stays`() async throws {
        try await TestAPI.withAdministrator { api in
            let user = try await api.signUp("ada@example.com")
            try await api.linkGitHub(to: user, subject: "g1")
            _ = try await api.admin(
                "accounts:update",
                ["localId": user["localId"] ?? .null, "phoneNumber": "+16505550101"]
            )
            let configured = try await api.send(
                .patch,
                "/admin/v2/projects/\(TestService.projectID)/config"
                    + "?updateMask=signIn.email.enabled,signIn.phoneNumber.enabled",
                Array("{}".utf8),
                key: nil,
                bearer: "owner"
            )
            #expect(configured.status == 200, "\(configured.text)")
            #expect(
                standings(try await read(api, user)) == [
                    "password sign-up not-enabled", "phone administrator not-enabled",
                    "github.com provider-credential works",
                ]
            )
            expect(.lastSignInMethod, try await remove("github.com", api, user))
            #expect(standings(try await remove("phone", api, user)).count == 2)
            #expect(standings(try await remove("password", api, user)) == ["github.com provider-credential works"])
        }
    }

    @Test func `a request needs a live session, and removing a method needs a recent one`() async throws {
        try await TestAPI.withAdministrator { api in
            let user = try await api.signUp("ada@example.com")
            try await api.linkGitHub(to: user, subject: "g1")
            expect(.invalidSession, try await read(api, nil))
            expect(.invalidSession, try await remove("password", api, nil))
            expect(.invalidSession, try await read(api, ["idToken": "forged"]))
            expect(.invalidSession, try await remove("password", api, ["idToken": user["refreshToken"] ?? .null]))

            api.service.clock.advance(seconds: 301)
            let stale = try await remove("github.com", api, user)
            expect(.insufficientUserAuthentication, stale)
            #expect(stale.json["maxAge"] == 300 && stale.json["methods"] == ["password", "github.com"])
            #expect(
                stale.headers[.wwwAuthenticate] == #"Bearer error="insufficient_user_authentication", max_age="300""#
            )
            #expect(standings(try await read(api, user)).count == 2, "reading wants no recent sign-in")
            let again = try await api.post(
                "/v1/accounts:signInWithPassword",
                ["email": "ada@example.com", "password": .string(TestService.password)]
            )
            #expect(try await remove("github.com", api, again.json).status == 200)

            let ended = try await api.signUp("eve@example.com")
            try await api.endSessions(ended)
            expect(.invalidSession, try await read(api, ended))
            expect(.invalidSession, try await remove("password", api, ended))
            let disabled = try await api.signUp("bob@example.com")
            try await api.disable(disabled)
            expect(.userDisabled, try await read(api, disabled))
            expect(.userDisabled, try await remove("password", api, disabled))
        }
    }

    /// An anonymous user has no sign-in method and is asked for none; every other user gets the methods of their
    /// account.
    @Test func `every user gets the methods for a new sign-in`() async throws {
        try await TestAPI.withAdministrator { api in
            let anonymous = try await api.signUpAnonymously()
            let ofBackend = try await api.post("/v1/accounts:signInWithCustomToken", ["token": #"{"uid":"u-1"}"#]).json
            _ = try await api.admin("accounts:update", ["localId": "u-1", "phoneNumber": "+16505550102"])
            try await api.linkGitHub(to: ofBackend, subject: "g2")

            try await api.create(["localId": "u-2", "email": "link@example.com"])
            let code = try await api.code("EMAIL_SIGNIN", for: "link@example.com")
            let ofLink = try await api.follow(code, as: "link@example.com").json
            try await api.linkGitHub(to: ofLink, subject: "g3")

            api.service.clock.advance(seconds: 301)
            let unchanged = try await remove("github.com", api, anonymous)
            #expect(unchanged.status == 200 && unchanged.json["methods"] == [])
            let backend = try await remove("phone", api, ofBackend)
            expect(.insufficientUserAuthentication, backend)
            #expect(backend.json["methods"] == ["phone", "github.com", "custom"], "\(backend.text)")
            let link = try await remove("github.com", api, ofLink)
            expect(.insufficientUserAuthentication, link)
            #expect(link.json["methods"] == ["emailLink", "github.com"], "\(link.text)")
        }
    }
}

/// A provider is not disabled over the heads of those it would lock out.
@Suite struct DisableProviderRouteTests {
    private static let described = "/concord/v1/providers/{provider}:disable"

    private func disable(
        _ provider: String,
        _ api: TestAPI,
        _ body: JSONValue = [:],
        bearer: String? = "owner"
    ) async throws -> Wire.Answer {
        let answer = try await api.send(
            .post,
            "/concord/v1/providers/\(provider):disable",
            Array(body.text.utf8),
            key: nil,
            bearer: bearer
        )
        #expect(try OpenAPIDocument().defects(of: answer, to: .post, at: Self.described) == [])
        return answer
    }

    private func register(_ provider: String, _ api: TestAPI) async throws {
        let answer = try await api.send(
            .post,
            "/v2/projects/\(TestService.projectID)/defaultSupportedIdpConfigs?idpId=\(provider)",
            Array(#"{"enabled":true,"clientId":"c"}"#.utf8),
            key: nil,
            bearer: "owner"
        )
        #expect(answer.status == 200, "\(answer.text)")
    }

    @Test func `disabling a provider that locks users out is refused with their number, unless it is forced`()
        async throws
    {
        try await TestAPI.withAdministrator { api in
            try await register("github.com", api)
            // Two with nothing else, one with a password, one disabled, and one of another provider.
            for subject in ["1", "2"] { try await api.signInWithGitHub(subject) }
            try await api.linkGitHub(to: try await api.signUp("ada@example.com"), subject: "3")
            try await api.disable(try await api.signInWithGitHub("4"))
            _ = try await api.signUp("bob@example.com")

            let refused = try await disable("github.com", api)
            expectProblem(refused)
            #expect(refused.problem == .usersLockedOut && refused.status == 409)
            #expect(refused.json["lockedOutUsers"] == 2 && refused.json["isExact"] == true, "\(refused.text)")
            #expect(try await api.signInWithGitHub("1")["localId"] != nil, "nothing has changed")

            let forced = try await disable("github.com", api, ["force": true])
            #expect(forced.status == 200 && forced.json["enabled"] == false && forced.json["lockedOutUsers"] == 2)
            let signIn = try await api.postGitHub("1")
            #expect(signIn.errorMessage?.hasPrefix("OPERATION_NOT_ALLOWED") == true, "\(signIn.text)")
            // Who is locked out already is not locked out by it.
            #expect(try await disable("github.com", api).json["lockedOutUsers"] == 0)
        }
    }

    @Test func `a provider that locks out no user is disabled at once, after every page of users is checked`()
        async throws
    {
        try await TestAPI.withAdministrator { api in
            try await register("github.com", api)
            try await api.service.database.execute(
                """
                INSERT INTO users (user_id, session_epoch, email, valid_since, created_at)
                    SELECT 'user-' || n, n, 'user' || n || '@example.com', now(), now()
                    FROM generate_series(1, 1001) AS n;
                INSERT INTO linked_providers (user_id, provider_id, subject, linked_at, updated_at)
                    SELECT 'user-' || n, 'github.com', n::text, now(), now() FROM generate_series(1, 1001) AS n;
                INSERT INTO identifiers (kind, value, user_id)
                    SELECT 'federated', 'github.com' || chr(31) || n, 'user-' || n FROM generate_series(1, 1001) AS n;
                """
            )
            #expect(try await disable("github.com", api).json["lockedOutUsers"] == 1001)
            try await api.service.database.execute(
                """
                INSERT INTO password_credentials (user_id, hash, updated_at)
                    SELECT 'user-' || n, 'hash', now() FROM generate_series(1, 1001) AS n;
                """
            )
            let done = try await disable("github.com", api)
            #expect(done.status == 200 && done.json["lockedOutUsers"] == 0 && done.json["isExact"] == true)
        }
    }

    @Test func `if there is not enough time to check all users, the response says so`() async throws {
        try await TestAPI.withAdministrator { api in
            try await register("github.com", api)
            try await api.service.database.execute(
                """
                INSERT INTO users (user_id, session_epoch, email, valid_since, created_at)
                    SELECT 'user-' || n, n, 'user' || n || '@example.com', now(), now()
                    FROM generate_series(1, 20001) AS n;
                INSERT INTO password_credentials (user_id, hash, updated_at)
                    SELECT 'user-' || n, 'hash', now() FROM generate_series(1, 20001) AS n;
                INSERT INTO identifiers (kind, value, user_id)
                    SELECT 'federated', 'github.com' || chr(31) || n, 'user-' || n FROM generate_series(1, 20001) AS n;
                """
            )
            #expect(AccountOperations.usersExaminedMax == 20_000)
            let refused = try await disable("github.com", api)
            #expect(refused.problem == .usersLockedOut && refused.json["lockedOutUsers"] == 0, "\(refused.text)")
            #expect(refused.json["isExact"] == false)
            #expect(try await disable("github.com", api, ["force": true]).status == 200)
        }
    }

    @Test func `disabling needs an administrator, a registered provider and a Boolean`() async throws {
        try await TestAPI.withAdministrator { api in
            try await register("github.com", api)
            for bearer in [nil, "forged", try await api.signUp("ada@example.com")["idToken"]?.string] {
                let answer = try await disable("github.com", api, ["force": true], bearer: bearer)
                expectProblem(answer)
                #expect(answer.problem == .invalidSession, "\(answer.text)")
            }
            for unknown in ["twitter.com", "nobody", "%20", "password"] {
                let answer = try await disable(unknown, api)
                expectProblem(answer)
                #expect(answer.problem == .noSuchRoute, "\(answer.text)")
            }
            #expect(try await disable("github.com", api, ["force": "perhaps"]).problem == .malformedRequest)
        }
    }
}

extension TestAPI {
    /// Signs in with a user of GitHub who has no address, or links them to a session.
    func postGitHub(_ subject: String, idToken: JSONValue? = nil) async throws -> Answer {
        var body: [String: JSONValue] = [
            "requestUri": "http://localhost", "returnSecureToken": true,
            "postBody": .string(#"providerId=github.com&access_token={"sub":"\#(subject)"}"#),
        ]
        body["idToken"] = idToken
        return try await post("/v1/accounts:signInWithIdp", .object(body))
    }

    @discardableResult
    func signInWithGitHub(_ subject: String) async throws -> JSONValue {
        let answer = try await postGitHub(subject)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json
    }

    func linkGitHub(to session: JSONValue, subject: String) async throws {
        let answer = try await postGitHub(subject, idToken: session["idToken"])
        #expect(answer.status == 200 && answer.json["errorMessage"] == nil, "\(answer.text)")
    }
}
