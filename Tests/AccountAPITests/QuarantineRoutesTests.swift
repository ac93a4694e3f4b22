import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// Sign-in methods that a takeover or a reset suspends: the compatible API shows them as removed. Their owner is
/// notified, and can restore them by proving them, for a while.
@Suite struct QuarantineRoutesTests {
    private static let path = "/concord/v1/account/quarantine"
    private static let restorePath = path + "/password:restore"
    private static let email = "ada@gmail.com"
    private static let old = "the old password"
    private static let days: Int64 = 86_400

    private func read(_ api: TestAPI, _ session: JSONValue?) async throws -> Wire.Answer {
        let answer = try await api.send(.get, Self.path, key: nil, bearer: session?["idToken"]?.string)
        #expect(try OpenAPIDocument().defects(of: answer, to: .get, at: Self.path) == [])
        return answer
    }

    private func names(_ api: TestAPI, _ session: JSONValue) async throws -> [String] {
        let answer = try await read(api, session)
        #expect(answer.status == 200, "\(answer.text)")
        return (answer.json["methods"]?.array ?? []).compactMap { $0["method"]?.string }
    }

    private func restore(
        _ api: TestAPI,
        _ session: JSONValue?,
        _ body: JSONValue = ["password": .string(Self.old)],
        headers: HTTPFields = [:]
    ) async throws -> Wire.Answer {
        let answer = try await api.send(
            .post,
            Self.restorePath,
            Array(body.text.utf8),
            key: nil,
            bearer: session?["idToken"]?.string,
            headers: headers
        )
        #expect(try OpenAPIDocument().defects(of: answer, to: .post, at: Self.restorePath) == [])
        return answer
    }

    private func discard(
        _ method: String,
        _ api: TestAPI,
        _ session: JSONValue?,
        headers: HTTPFields = [:]
    ) async throws -> Wire.Answer {
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

    /// The owner of the address signs in with Google to an account that another person created with a password.
    private func comeByGoogle(_ api: TestAPI, email: String = email) async throws -> JSONValue {
        let claims = #"{"sub":"google-ada","email":"\#(email)","email_verified":true}"#
        let answer = try await api.post(
            "/v1/accounts:signInWithIdp",
            [
                "requestUri": "http://localhost", "returnSecureToken": true,
                "postBody": .string("providerId=google.com&id_token=" + claims),
            ]
        )
        #expect(answer.status == 200 && answer.json["errorMessage"] == nil, "\(answer.text)")
        return answer.json
    }

    /// An account with a password, GitHub and a number, that its owner then comes to by Google.
    private func takenOver(_ api: TestAPI) async throws -> JSONValue {
        let first = try await api.signUp(Self.email, password: Self.old)
        try await api.linkGitHub(to: first, subject: "gh-1")
        let numbered = try await api.admin(
            "accounts:update",
            ["localId": first["localId"] ?? .null, "phoneNumber": "+16505550101"]
        )
        #expect(numbered.status == 200, "\(numbered.text)")
        let owner = try await comeByGoogle(api)
        #expect(owner["localId"] == first["localId"])
        return owner
    }

    private func signInMethods(_ api: TestAPI) async throws -> [String] {
        try #require(try await api.service.user(owning: Self.email)).account.signInMethods.map(\.name)
    }

    @Test func `a takeover suspends methods, the compatible API shows them as removed, and the owner is notified`()
        async throws
    {
        try await TestAPI.withAdministrator { api in
            let owner = try await takenOver(api)
            #expect(try await signInMethods(api) == ["google.com"])
            #expect(try await api.signIn(Self.email, password: Self.old).errorMessage == "INVALID_PASSWORD")
            let lookup = try await api.post("/v1/accounts:lookup", ["idToken": owner["idToken"] ?? .null])
            let shown = try #require(lookup.json["users"]?.array?.first)
            #expect(shown["passwordHash"] == nil && shown["phoneNumber"] == nil)
            #expect(shown["providerUserInfo"]?.array?.compactMap { $0["providerId"]?.string } == ["google.com"])
            // The identity belongs to no account, so its holder gets a new one.
            #expect(try await api.signInWithGitHub("gh-1")["localId"] != owner["localId"])

            let answer = try await read(api, owner)
            #expect(answer.status == 200 && answer.headers[.cacheControl] == "no-store")
            let methods = answer.json["methods"]?.array ?? []
            #expect(methods.compactMap { $0["method"]?.string } == ["github.com", "password", "phone"])
            for method in methods {
                #expect(
                    Set(try #require(method.object).keys)
                        == ["method", "reason", "decision", "quarantineTime", "expireTime"]
                )
                #expect(method["reason"] == "address-proven")
            }
            let now = api.service.clock.now
            #expect(methods[0]["quarantineTime"]?.string == RFC3339.text(now))
            #expect(methods[0]["expireTime"]?.string == RFC3339.text(now.adding(seconds: 30 * Self.days)))
            let id = try #require(methods[0]["decision"]?.string)
            let decision = try await api.send(.get, "/concord/v1/decisions/\(id)", key: nil, bearer: "owner")
            #expect(decision.json["rule"] == "I9", "\(decision.text)")

            let listed = try await api.send(
                .get,
                "/emulator/v1/projects/\(TestService.projectID)/notices",
                bearer: "owner"
            )
            // The suspended password came to a wrong door.
            let reports = (listed.json["notices"]?.array ?? []).filter { $0["kind"] != "WRONG_DOOR" }
            #expect(
                reports == [
                    [
                        "kind": "METHODS_QUARANTINED", "email": .string(Self.email), "locale": "en",
                        "methods": ["password", "phone", "github.com"], "reason": "address-proven",
                        "until": .string(RFC3339.text(now.adding(seconds: 30 * Self.days))),
                    ]
                ]
            )
            let contents = try await api.service.database.rows(
                "SELECT encode(sealed_payload, 'escape') FROM outbox" as Query<String?>
            )
            #expect(contents.allSatisfy { $0?.contains("gmail") == false }, "what is mailed is sealed")
        }
    }

    @Test func `any client restores a suspended provider by linking it again`() async throws {
        try await TestAPI.withAdministrator { api in
            let owner = try await takenOver(api)
            try await api.linkGitHub(to: owner, subject: "gh-1")
            #expect(try await signInMethods(api) == ["github.com", "google.com"])
            #expect(try await names(api, owner) == ["password", "phone"])
            #expect(try await api.signInWithGitHub("gh-1")["localId"] == owner["localId"])
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test func `a suspended password is restored once with the password, and sessions stay`() async throws {
        try await TestAPI.withAdministrator { api in
            let owner = try await takenOver(api)
            let tag = try #require(try await read(api, owner).headers[.eTag])
            expect(.versionMismatch, try await restore(api, owner, headers: [.ifMatch: #""999""#]))
            expect(.malformedRequest, try await restore(api, owner, [:]))
            expect(.malformedRequest, try await restore(api, owner, ["password": 7]))
            expect(.wrongProof, try await restore(api, owner, ["password": "not that one"]))
            let back = try await restore(api, owner, headers: [.ifMatch: tag])
            #expect(back.status == 200, "\(back.text)")
            #expect(
                back.json["methods"]?.array?.compactMap { $0["method"]?.string } == ["password", "google.com"]
            )
            let again = try await api.signIn(Self.email, password: Self.old)
            #expect(again.json["localId"] == owner["localId"], "\(again.text)")
            #expect(try await names(api, owner) == ["github.com", "phone"], "the session that asked lives on")
            expect(.noSuchRoute, try await restore(api, owner))
            let events: [String?] = try await api.service.database.rows(
                "SELECT kind || ' ' || rule FROM account_events WHERE rule LIKE 'B%' ORDER BY rule"
            )
            #expect(events == ["refused B2", "refused B6", "method-restored B7"])
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test func `a new password discards the suspended one`() async throws {
        try await TestAPI.withAdministrator { api in
            let owner = try await takenOver(api)
            let set = try await api.post(
                "/v1/accounts:update",
                ["idToken": owner["idToken"] ?? .null, "password": "an entirely new one", "returnSecureToken": true]
            )
            #expect(set.status == 200, "\(set.text)")
            #expect(try await names(api, set.json) == ["github.com", "phone"])
            expect(.noSuchRoute, try await restore(api, set.json))
            #expect(try await api.signIn(Self.email, password: Self.old).errorMessage == "INVALID_PASSWORD")
        }
    }

    @Test func `a reset suspends providers and number, and reports it`() async throws {
        try await TestAPI.withAdministrator { api in
            let first = try await api.signUp(Self.email, password: Self.old)
            try await api.linkGitHub(to: first, subject: "gh-1")
            _ = try await api.admin(
                "accounts:update",
                ["localId": first["localId"] ?? .null, "phoneNumber": "+16505550101"]
            )
            let code = try await api.code("PASSWORD_RESET", for: Self.email)
            #expect(try await api.reset(code, to: "a new password").status == 200)
            let session = try await api.signIn(Self.email, password: "a new password").json
            let methods = try await read(api, session).json["methods"]?.array ?? []
            #expect(methods.compactMap { $0["method"]?.string } == ["github.com", "phone"])
            #expect(methods.allSatisfy { $0["reason"] == "password-reset" })
            // The password that was replaced is not kept.
            #expect(
                try await api.service.database.count(
                    "SELECT count(*) FROM quarantined_methods WHERE password_hash IS NOT NULL"
                ) == 0
            )
        }
    }

    @Test func `a mailed link suspends all other methods, as a provider does`() async throws {
        try await TestAPI.withAdministrator { api in
            _ = try await api.signUp(Self.email, password: Self.old)
            let code = try await api.code("EMAIL_SIGNIN", for: Self.email)
            let owner = try await api.follow(code, as: Self.email).json
            #expect(try await names(api, owner) == ["password"])
            // Taken over once more: the link goes, and is followed anew whenever its owner likes.
            try await api.service.change(Self.email) { user in
                user.email?.proof = nil
                user.emailProvenAt = nil
            }
            let again = try await comeByGoogle(api)
            #expect(try await signInMethods(api) == ["google.com"])
            #expect(try await names(api, again) == ["password"])
        }
    }

    @Test func `after the retention nothing is restored, and with a retention of 0 nothing is stored`() async throws {
        try await TestAPI.withAdministrator { api in
            let owner = try await takenOver(api)
            api.service.clock.advance(seconds: 30 * Self.days)
            let session = try await comeByGoogle(api)
            #expect(session["localId"] == owner["localId"])
            #expect(try await names(api, session) == [])
            expect(.noSuchRoute, try await restore(api, session))
            expect(.noSuchRoute, try await discard("github.com", api, session))
        }
        try await TestAPI.withAdministrator { api in
            let off = try await api.send(
                .patch,
                "/admin/v2/projects/\(TestService.projectID)/config?updateMask=concord.quarantineSeconds",
                Array(#"{"concord":{"quarantineSeconds":"0"}}"#.utf8),
                key: nil,
                bearer: "owner"
            )
            #expect(off.status == 200, "\(off.text)")
            let owner = try await takenOver(api)
            #expect(try await names(api, owner) == [])
            #expect(try await api.service.database.count("SELECT count(*) FROM quarantined_methods") == 0)
            #expect(try await api.service.database.count("SELECT count(*) FROM outbox") == 0)
        }
    }

    @Test func `a method that its owner discards is deleted, and raises the version`() async throws {
        try await TestAPI.withAdministrator { api in
            let owner = try await takenOver(api)
            let tag = try #require(try await read(api, owner).headers[.eTag])
            expect(.malformedRequest, try await discard("no%20method", api, owner))
            expect(.noSuchRoute, try await discard("facebook.com", api, owner))
            expect(.noSuchRoute, try await discard("google.com", api, owner))
            expect(.versionMismatch, try await discard("password", api, owner, headers: [.ifMatch: #""999""#]))
            let left = try await discard("password", api, owner, headers: [.ifMatch: tag])
            #expect(left.json["methods"]?.array?.compactMap { $0["method"]?.string } == ["github.com", "phone"])
            let newTag = try #require(left.headers[.eTag])
            #expect(newTag != tag)
            #expect(try await read(api, owner).headers[.eTag] == newTag)
            expect(.versionMismatch, try await discard("phone", api, owner, headers: [.ifMatch: tag]))
            expect(.noSuchRoute, try await restore(api, owner))
            let hashes = "SELECT count(*) FROM quarantined_methods WHERE password_hash IS NOT NULL" as Query<Int64?>
            #expect(try await api.service.database.count(hashes) == 0)
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test func `a repeated request is applied once and gets the same response`() async throws {
        try await TestAPI.withAdministrator { api in
            let owner = try await takenOver(api)
            let key = HTTPField.Name("Idempotency-Key").map { [$0: "again"] as HTTPFields } ?? [:]
            let first = try await restore(api, owner, headers: key)
            let second = try await restore(api, owner, headers: key)
            #expect(first.status == 200 && second.status == 200 && first.text == second.text)
            expect(.idempotencyKeyReused, try await restore(api, owner, ["password": "another"], headers: key))
            let other = HTTPField.Name("Idempotency-Key").map { [$0: "other"] as HTTPFields } ?? [:]
            let gone = try await discard("phone", api, owner, headers: other)
            #expect(gone.status == 200)
            #expect(try await discard("phone", api, owner, headers: other).text == gone.text)
        }
    }

    @Test func `only a live and recent session restores a method`() async throws {
        try await TestAPI.withAdministrator { api in
            let owner = try await takenOver(api)
            expect(.invalidSession, try await read(api, nil))
            expect(.invalidSession, try await restore(api, nil))
            expect(.invalidSession, try await discard("phone", api, nil))
            expect(.invalidSession, try await restore(api, ["idToken": "forged"]))
            api.service.clock.advance(seconds: 301)
            for answer in [try await restore(api, owner), try await discard("phone", api, owner)] {
                expect(.insufficientUserAuthentication, answer)
                #expect(answer.json["maxAge"] == 300 && answer.json["methods"]?.array?.contains("google.com") == true)
            }
            #expect(try await names(api, owner).count == 3, "reading wants no recent sign-in")
            try await api.endSessions(owner)
            expect(.invalidSession, try await restore(api, owner))
            expect(.invalidSession, try await discard("phone", api, owner))
        }
    }

    @Test func `guesses at a suspended password count like those at a sign-in`() async throws {
        try await TestAPI.withAdministrator { api in
            let owner = try await takenOver(api)
            var problems: [ProblemType?] = []
            for number in 0..<12 {
                problems.append(try await restore(api, owner, ["password": .string("guess \(number)")]).problem)
            }
            #expect(problems.first == .wrongProof && problems.last == .tooManyAttempts, "\(problems)")
            expect(.tooManyAttempts, try await restore(api, owner))
            #expect(try await signInMethods(api) == ["google.com"])
        }
    }

    @Test func `if passwords are disabled, a suspended password is not restored`() async throws {
        try await TestAPI.withAdministrator { api in
            let owner = try await takenOver(api)
            _ = try await api.send(
                .patch,
                "/admin/v2/projects/\(TestService.projectID)/config?updateMask=signIn.email.enabled",
                Array(#"{"signIn":{"email":{"enabled":false}}}"#.utf8),
                key: nil,
                bearer: "owner"
            )
            expect(.refused, try await restore(api, owner))
            #expect(try await names(api, owner).count == 3)
        }
    }
}
