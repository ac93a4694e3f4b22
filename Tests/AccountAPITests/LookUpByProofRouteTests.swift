import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// `/concord/v1/lookup` and the steps after it, over the wire.
struct LookUpByProofRouteTests {
    private static let path = "/concord/v1/lookup"

    private func post(
        _ api: TestAPI,
        _ step: String,
        _ body: JSONValue,
        headers: HTTPFields = [:]
    ) async throws -> TestAPI.Answer {
        let answer = try await api.send(.post, Self.path + step, Array(body.text.utf8), key: nil, headers: headers)
        let defects = try OpenAPIDocument().defects(of: answer, to: .post, at: Self.path + step)
        #expect(defects == [], "\(answer.text)")
        return answer
    }

    /// Asks for a mail, and returns it as it is sent.
    private func mail(_ api: TestAPI, to email: String) async throws -> Mail {
        api.service.clock.advance(seconds: 1)
        let answer = try await post(api, "", ["email": .string(email)])
        #expect(answer.status == 202 && answer.text == "{}", "\(answer.text)")
        let mails = try await api.service.operations.mailsWithUsableCodes(tenant: .project)
        return try #require(mails.last { $0.template == .code(.lookUp) && $0.to == email })
    }

    private func prove(_ api: TestAPI, by mail: Mail) async throws -> JSONValue {
        let answer = try await post(api, ":prove", ["linkSecret": .string(try #require(mail.code))])
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json
    }

    private func proof(_ api: TestAPI, of email: String) async throws -> String {
        try #require(try await prove(api, by: try await mail(api, to: email))["proofToken"]?.string)
    }

    private func problem(_ answer: TestAPI.Answer) -> String? {
        answer.json["type"]?.string?.replacing("urn:concord:problem:", with: "")
    }

    @Test(arguments: [ProjectSettings.developmentDefaults, protectedSettings])
    func `every address gets the same answer, bytes and headers, up to the limit and beyond it`(
        _ settings: JSONValue
    ) async throws {
        // The limits of production.
        let limited = settings.setting(.object([:]), at: ["concord", "mail"])
        try await TestAPI.with(settings: limited) { api in
            _ = try await api.signUp("ada@example.com")
            let disabled = try await api.signUp("eve@example.com")
            try await api.disable(disabled)
            let body = { (email: String) -> JSONValue in
                ["email": .string(email), "continueUrl": "http://localhost/welcome"]
            }
            for number in 1...7 {
                let known = try await post(api, "", body("ada@example.com"))
                #expect(known.status == (number <= 5 ? 202 : 429), "\(known.text)")
                for email in ["nobody@example.com", "eve@example.com"] {
                    let other = try await post(api, "", body(email))
                    #expect(other.status == known.status && other.text == known.text)
                    #expect(other.equalHeaders == known.equalHeaders)
                }
                guard number > 5 else { continue }
                #expect(problem(known) == "too-many-mails" && known.headers[.retryAfter] == "3600")
            }
        }
    }

    @Test func `the reader of the mail sees the methods, signs in, and gets the account that the address has`()
        async throws
    {
        try await TestAPI.with { api in
            let account = try await api.signUp("ada@example.com")
            try await api.service.prove("ada@example.com")
            try await api.service.link("google.com", subject: "g", to: "ada@example.com")
            try await api.service.link("oidc.gone", subject: "o", to: "ada@example.com")
            let mail = try await mail(api, to: "ada@example.com")
            #expect(mail.ways.map(\.method) == ["password", "google.com", "emailLink"])
            let code = try #require(mail.shortCode)
            let byCode = try await post(api, ":prove", ["email": "Ada@Example.com", "code": .string(code)])
            #expect(byCode.status == 200, "\(byCode.text)")
            let methods = byCode.json["methods"]?.array ?? []
            #expect(
                methods == [
                    ["method": "password", "works": true], ["method": "google.com", "works": true],
                    ["method": "oidc.gone", "works": false, "obstacle": "not-enabled"],
                    ["method": "emailLink", "works": true],
                ]
            )
            #expect(byCode.json["lastUsed"] == "password" && byCode.json["signsIn"] == true)
            #expect(byCode.json["offersPassword"] == false && byCode.json["suspended"] == nil)
            let proof = try #require(byCode.json["proofToken"])
            let session = try await post(
                api,
                ":continue",
                ["proofToken": proof, "way": "signIn", "returnDeviceToken": true]
            )
            #expect(session.status == 200 && session.json["localId"] == account["localId"], "\(session.text)")
            let device: JSONValue = [
                "email": "ada@example.com", "deviceToken": try #require(session.json["deviceToken"]),
            ]
            #expect(try await post(api, "", device).status == 200)
            #expect(session.json["refreshToken"]?.string != nil)
            let again = try await post(api, ":continue", ["proofToken": proof, "way": "signIn"])
            #expect(again.status == 400 && problem(again) == "code-unusable")
            let link = try await post(api, ":prove", ["linkSecret": .string(try #require(mail.code))])
            #expect(link.status == 400 && problem(link) == "code-unusable")
        }
    }

    @Test func `a mail scanner that opens every button, and reads the page, changes nothing`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let mail = try await mail(api, to: "ada@example.com")
            let before = try await api.service.user(owning: "ada@example.com")
            let links = mail.ways.map(\.link) + [try #require(mail.link)]
            #expect(links.count == 2)
            for _ in 1...10 {
                for link in links {
                    // The secret is behind the `#`, which no browser sends.
                    #expect(link.split(separator: "#")[0] == "http://127.0.0.1:9099/signin")
                    #expect(try await api.send(.get, "/signin", key: nil).status == 200)
                    _ = try await prove(api, by: mail)
                }
            }
            #expect(try await api.service.user(owning: "ada@example.com") == before)
            let proof = try #require(try await prove(api, by: mail)["proofToken"])
            #expect(try await post(api, ":continue", ["proofToken": proof, "way": "signIn"]).status == 200)
        }
    }

    @Test func `signing in to an unproven account suspends what the answer to the proof named`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            try await api.service.link("google.com", subject: "g", to: "ada@example.com")
            let proven = try await prove(api, by: try await mail(api, to: "ada@example.com"))
            // Neither a link nor a new password is offered, because both would suspend the working methods.
            let offered = proven["methods"]?.array?.compactMap { $0["method"]?.string }
            #expect(offered == ["password", "google.com"] && proven["offersPassword"] == false)
            let named = proven["suspended"]?.array?.compactMap { $0["method"]?.string }
            #expect(named == ["google.com", "password"])
            let body: JSONValue = ["proofToken": try #require(proven["proofToken"]), "way": "signIn"]
            let session = try await post(api, ":continue", body)
            let suspended = session.json["suspended"]?.array?.compactMap { $0["method"]?.string }
            #expect(session.status == 200 && suspended == named, "\(session.text)")
            // The next lookup lists them, with the time until which the owner can restore them.
            let next = try await prove(api, by: try await mail(api, to: "ada@example.com"))
            let methods = next["methods"]?.array ?? []
            #expect(methods.map { $0["method"]?.string } == ["emailLink", "google.com", "password"])
            #expect(methods.map { $0["works"]?.bool } == [true, false, false])
            #expect(methods.dropFirst().allSatisfy { $0["restorableUntil"]?.string != nil })
            #expect(next["offersPassword"] == true && next["lastUsed"] == "emailLink")
        }
    }

    @Test func `with sign-in links off the proof sets a password, and signing in is refused`() async throws {
        let settings = ProjectSettings.developmentDefaults
            .setting(["enabled": true, "passwordRequired": true], at: ["signIn", "email"])
        try await TestAPI.with(settings: settings) { api in
            _ = try await api.signUp("ada@example.com")
            let proven = try await prove(api, by: try await mail(api, to: "ada@example.com"))
            #expect(proven["signsIn"] == false)
            let proof = try #require(proven["proofToken"])
            let refused = try await post(api, ":continue", ["proofToken": proof, "way": "signIn"])
            #expect(refused.status == 400 && problem(refused) == "refused")
            let body: JSONValue = ["proofToken": proof, "way": "setPassword", "continueUrl": "http://localhost/x"]
            let code = try await post(api, ":continue", body)
            let oobCode = try #require(code.json["oobCode"]?.string, "\(code.text)")
            #expect(code.json["oobLink"]?.string?.contains("oobCode=\(oobCode)&") == true)
            #expect(try await api.reset(oobCode, to: "battery staple").status == 200)
            #expect(try await api.signIn("ada@example.com", password: "battery staple").status == 200)
        }
    }

    @Test func `an account with a second factor gets the pending sign-in`() async throws {
        try await TestAPI.with { api in
            _ = try await api.enrollApp(try await api.factorOwner("ada@example.com"))
            let proof = try await proof(api, of: "ada@example.com")
            let answer = try await post(api, ":continue", ["proofToken": .string(proof), "way": "signIn"])
            #expect(answer.status == 200 && answer.json["idToken"] == nil, "\(answer.text)")
            #expect(answer.json["mfaPendingCredential"]?.string != nil && answer.json["mfaInfo"]?.array?.count == 1)
        }
    }

    @Test func `a proof settles a conflict of its account, once, and no other`() async throws {
        try await TestAPI.with { api in
            for email in ["ada@example.com", "bob@example.com"] { _ = try await api.signUp(email) }
            func handle(_ email: String) async throws -> String {
                let credential = #"{"sub":"\#(email)","email":"\#(email)"}"#
                let answer = try await api.post(
                    "/v1/accounts:signInWithIdp",
                    [
                        "requestUri": "http://localhost", "returnIdpCredential": true, "returnSecureToken": true,
                        "postBody": .string("providerId=github.com&access_token=\(credential)"),
                    ]
                )
                return try #require(answer.json["pendingToken"]?.string, "\(answer.text)")
            }
            let (mine, other) = (try await handle("ada@example.com"), try await handle("bob@example.com"))
            let proof = JSONValue.string(try await proof(api, of: "ada@example.com"))
            func link(_ handle: String) async throws -> TestAPI.Answer {
                try await post(
                    api,
                    ":continue",
                    ["proofToken": proof, "way": "linkProvider", "pendingToken": .string(handle)]
                )
            }
            let foreign = try await link(other)
            #expect(foreign.status == 403 && problem(foreign) == "proof-required", "\(foreign.text)")
            let unknown = try await link("x")
            #expect(unknown.status == 404 && problem(unknown) == "conflict-unknown")
            let proven = try await link(mine)
            #expect(proven.status == 200 && proven.json["conflict"]?["state"] == "proven", "\(proven.text)")
            let again = try await link(mine)
            #expect(again.status == 400 && problem(again) == "code-unusable", "\(again.text)")
            let resolved = try await api.send(
                .post,
                "/concord/v1/conflict:resolve",
                Array(JSONValue.object(["proofToken": try #require(proven.json["proofToken"])]).text.utf8),
                key: nil,
                bearer: mine
            )
            #expect(resolved.status == 200, "\(resolved.text)")
            let linked = try await api.service.user(owning: "ada@example.com")?.linkedProviders.keys.map(\.rawValue)
            #expect(linked == ["github.com"])
        }
    }

    @Test func `malformed requests get one clear answer, and change nothing`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            for body in [
                [:], ["email": ""], ["email": "nobody"], ["email": 1],
                ["email": "ada@example.com", "continueUrl": "javascript:alert(1)"],
            ] as [JSONValue] {
                let answer = try await post(api, "", body)
                #expect(answer.status == 400 && problem(answer) == "malformed-request", "\(answer.text)")
            }
            let foreign = try await post(
                api,
                "",
                ["email": "ada@example.com", "continueUrl": "https://evil.example/"]
            )
            #expect(foreign.status == 400 && problem(foreign) == "refused", "\(foreign.text)")
            #expect(try await api.service.database.count("SELECT count(*) FROM one_time_codes") == 0)
            for body in [
                [:], ["code": "12345678"], ["email": "nobody", "code": "12345678"], ["linkSecret": ""],
                ["email": "ada@example.com", "code": "12345678", "linkSecret": "x"], ["linkSecret": 1],
            ] as [JSONValue] {
                let answer = try await post(api, ":prove", body)
                #expect(answer.status == 400 && problem(answer) == "malformed-request", "\(answer.text)")
            }
            for body in [
                [:], ["proofToken": "x"], ["proofToken": "x", "way": "fly"], ["way": "signIn"],
                ["proofToken": "x", "way": "linkProvider"],
            ] as [JSONValue] {
                let answer = try await post(api, ":continue", body)
                #expect(answer.status == 400 && problem(answer) == "malformed-request", "\(answer.text)")
            }
            for way in ["signIn", "setPassword"] {
                let answer = try await post(api, ":continue", ["proofToken": "x", "way": .string(way)])
                #expect(answer.status == 403 && problem(answer) == "proof-required", "\(answer.text)")
            }
            let unknown = try await post(api, ":prove", ["linkSecret": "x"])
            #expect(unknown.status == 400 && problem(unknown) == "code-unusable")
        }
    }

    @Test func `a short code of a lookup is none of the action page`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let code = try #require(try await mail(api, to: "ada@example.com").shortCode)
            let answer = try await api.post(
                "/concord/v1/shortCode:exchange",
                ["requestType": "LOOKUP", "email": "ada@example.com", "code": .string(code)],
                key: nil
            )
            #expect(answer.status == 400 && problem(answer) == "malformed-request")
        }
    }
}
