import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Synchronization
import Testing

@testable import AccountAPI

/// Bad input of lookups, devices and returns to apps: one clear answer each, and no row that is half-done.
struct WaysInBadInputTests {
    private static let lookUp = "/concord/v1/lookup"
    private static let issue = "/concord/v1/signIn/return:issueCode"

    /// The tables that a lookup by mail writes.
    private static let ofLookUp: Set = ["outbox", "one_time_codes", "short_codes"]

    /// Requires that `body` changes no row of any table but those of `names`.
    private func expectUnchanged(
        _ api: TestAPI,
        except names: Set<String> = [],
        _ comment: Comment,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () async throws -> Void
    ) async throws {
        let before = try await api.service.database.rowDigests()
        try await body()
        let after = try await api.service.database.rowDigests()
        let changed = Set(after.filter { before[$0.key] != $0.value }.keys).subtracting(names)
        #expect(changed.isEmpty, comment, sourceLocation: sourceLocation)
    }

    private func requestLookUp(_ api: TestAPI, _ body: JSONValue) async throws -> TestAPI.Answer {
        try await api.post(Self.lookUp, body, key: nil)
    }

    /// Asks for a mail, and returns it as it is sent.
    private func mail(_ api: TestAPI, to email: String) async throws -> Mail {
        api.service.clock.advance(seconds: 1)
        #expect(try await requestLookUp(api, ["email": .string(email)]).status == 202)
        let mails = try await api.service.operations.mailsWithUsableCodes(tenant: .project)
        return try #require(mails.last { $0.template == .code(.lookUp) && $0.to == email })
    }

    private func signIn(_ api: TestAPI, _ email: String) async throws -> JSONValue {
        let answer = try await api.post(
            "/v1/accounts:signInWithPassword",
            ["email": .string(email), "password": .string(TestService.password), "returnDeviceToken": true]
        )
        #expect(answer.status == 200 && answer.json["deviceToken"] != nil, "\(answer.text)")
        return answer.json
    }

    /// The token of a device that its owner has revoked.
    private func revokedToken(_ api: TestAPI, _ email: String) async throws -> JSONValue {
        let session = try await signIn(api, email)
        let bearer = session["idToken"]?.string
        let listed = try await api.send(.get, "/concord/v1/account/sessions", key: nil, bearer: bearer)
        let id = try #require(listed.json["devices"]?.array?.first?["deviceId"]?.string, "\(listed.text)")
        let revoked = try await api.send(.delete, "/concord/v1/account/devices/\(id)", key: nil, bearer: bearer)
        #expect(revoked.json == ["revoked": true], "\(revoked.text)")
        // Only a later sign-in makes a device known again.
        api.service.clock.advance(seconds: 1)
        return session["deviceToken"] ?? .null
    }

    // MARK: Device tokens

    @Test func `a device token of another account or project, or of a revoked device, has the effects of none`()
        async throws
    {
        let ofOtherProject = Mutex(JSONValue.null)
        try await TestAPI.with(settings: protectedSettings) { other in
            _ = try await other.signUp("ada@example.com")
            let token = try await signIn(other, "ada@example.com")["deviceToken"] ?? .null
            ofOtherProject.withLock { $0 = token }
        }
        try await TestAPI.with(settings: protectedSettings) { api in
            for email in ["ada@example.com", "eve@example.com"] { _ = try await api.signUp(email) }
            let tokens: [(String, JSONValue)] = [
                ("no token", .null), ("another project", ofOtherProject.withLock { $0 }),
                ("another account", try await signIn(api, "eve@example.com")["deviceToken"] ?? .null),
                ("a revoked device", try await revokedToken(api, "ada@example.com")),
            ]
            // The device that the account knows stays as it is.
            let known = try await signIn(api, "ada@example.com")["deviceToken"] ?? .null
            let asked: JSONValue = [
                "identifier": "ada@example.com", "continueUri": "http://localhost/", "sessionId": "s1",
            ]
            let mailed: JSONValue = ["email": "ada@example.com", "continueUrl": "http://localhost/"]
            let plain = (
                asked: try await api.post("/v1/accounts:createAuthUri", asked),
                mailed: try await requestLookUp(api, mailed)
            )
            #expect(plain.asked.status == 200 && plain.asked.json["allProviders"] == nil, "\(plain.asked.text)")
            #expect(plain.mailed.status == 202, "\(plain.mailed.text)")
            for (name, token) in tokens {
                func with(_ body: JSONValue) -> JSONValue { token == .null ? body : body.with("deviceToken", token) }
                try await expectUnchanged(api, "createAuthUri: \(name)") {
                    let answer = try await api.post("/v1/accounts:createAuthUri", with(asked))
                    #expect(answer.status == 200 && answer.text == plain.asked.text, "\(name): \(answer.text)")
                    #expect(answer.equalHeaders == plain.asked.equalHeaders, "\(name)")
                }
                let before = try await api.service.database.rowCounts()
                try await expectUnchanged(api, except: Self.ofLookUp, "lookup: \(name)") {
                    let answer = try await requestLookUp(api, with(mailed))
                    #expect(answer.status == 202 && answer.text == plain.mailed.text, "\(name): \(answer.text)")
                    #expect(answer.equalHeaders == plain.mailed.equalHeaders, "\(name)")
                }
                let after = try await api.service.database.rowCounts()
                let added = after.merging(before) { $0 - $1 }.filter { $0.value != 0 }
                #expect(added == ["outbox": 1, "one_time_codes": 1], "\(name)")
            }
            let answer = try await requestLookUp(api, mailed.with("deviceToken", known))
            #expect(answer.status == 200 && answer.json["methods"]?.array?.count == 1, "\(answer.text)")
        }
    }

    // MARK: Codes

    @Test func `a code tried at other addresses proves nothing there, and stays valid at its own`() async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            for email in ["ada@example.com", "eve@example.com"] { _ = try await api.signUp(email) }
            let ofEve = try await mail(api, to: "eve@example.com")
            let code = JSONValue.string(try #require(try await mail(api, to: "ada@example.com").shortCode))
            func guess(_ path: String, _ more: JSONValue, _ email: String) async throws -> TestAPI.Answer {
                try await api.post(path, more.with("email", .string(email)).with("code", code), key: nil)
            }
            // Wrong codes are counted for each address.
            try await expectUnchanged(api, except: ["short_codes"], "guesses") {
                for number in 1...7 {
                    var answers: [TestAPI.Answer] = []
                    for email in ["eve@example.com", "nobody@example.com"] {
                        answers.append(try await guess(Self.lookUp + ":prove", [:], email))
                    }
                    #expect(answers[0].status == (number <= 5 ? 403 : 429), "\(answers[0].text)")
                    #expect(answers[1].status == answers[0].status && answers[1].text == answers[0].text)
                    #expect(answers[1].equalHeaders == answers[0].equalHeaders)
                }
                for type in ["PASSWORD_RESET", "EMAIL_SIGNIN", "VERIFY_EMAIL", "VERIFY_AND_CHANGE_EMAIL"] {
                    for email in ["ada@example.com", "eve@example.com", "nobody@example.com"] {
                        let answer = try await guess(
                            "/concord/v1/shortCode:exchange",
                            ["requestType": .string(type)],
                            email
                        )
                        #expect(answer.status == 403 && answer.json["oobCode"] == nil, "\(answer.text)")
                    }
                }
            }
            let own = try await guess(Self.lookUp + ":prove", [:], "ada@example.com")
            #expect(own.status == 200 && own.json["email"] == "ada@example.com", "\(own.text)")
            // The guesses ended Eve's digits, and not her buttons.
            let link: JSONValue = ["linkSecret": .string(try #require(ofEve.code))]
            #expect(try await api.post(Self.lookUp + ":prove", link, key: nil).status == 200)
        }
    }

    // MARK: Scanners

    /// The URLs of this service in the mails of the inbox, and the types of those mails.
    private func links(_ api: TestAPI) async throws -> (urls: Set<String>, types: Set<String>) {
        let messages = try await api.send(.get, "/inbox/messages", key: nil).json["messages"]?.array ?? []
        let texts = messages.compactMap { $0["text"]?.string }
        let urls = texts.flatMap { $0.matches(of: /http:\/\/127\.0\.0\.1:9099([^\s]*)/).map { String($0.1) } }
        return (Set(urls), Set(messages.compactMap { $0["type"]?.string }))
    }

    /// Causes a mail of each type that a client can cause in one project.
    private func causeMails(_ api: TestAPI) async throws {
        let ada = try await api.signUp("ada@example.com")
        try await api.service.prove("ada@example.com")
        _ = try await mail(api, to: "ada@example.com")
        for type in ["PASSWORD_RESET", "EMAIL_SIGNIN"] { _ = try await api.code(type, for: "ada@example.com") }
        let linked: JSONValue = [
            "requestUri": "http://localhost", "postBody": #"providerId=github.com&access_token={"sub":"ada"}"#,
            "idToken": ada["idToken"] ?? .null,
        ]
        #expect(try await api.post("/v1/accounts:signInWithIdp", linked).status == 200)
        let eve = try await api.signUp("eve@example.com")
        _ = try await api.code("VERIFY_EMAIL", session: eve["idToken"]?.string)
        _ = try await api.code("VERIFY_AND_CHANGE_EMAIL", session: eve["idToken"]?.string, newEmail: "n@example.com")
        try await api.service.replaceAddress("eve@example.com", by: "new@example.com")
        let google: JSONValue = [
            "requestUri": "http://localhost",
            "postBody": #"providerId=google.com&id_token={"sub":"b","email":"bob@gmail.com","email_verified":true}"#,
        ]
        #expect(try await api.post("/v1/accounts:signInWithIdp", google).status == 200)
        #expect(try await api.signIn("bob@gmail.com", password: "wrong horse").status == 400)
        let unproven: JSONValue = [
            "requestUri": "http://localhost", "returnIdpCredential": true,
            "postBody": #"providerId=github.com&access_token={"sub":"c","email":"cy@example.com"}"#,
        ]
        let waiting = try await api.post("/v1/accounts:signInWithIdp", unproven)
        let handle = try #require(waiting.json["pendingToken"]?.string, "\(waiting.text)")
        let path = "/concord/v1/conflict/proof"
        let proof = Array(JSONValue.object(["kind": "mailbox"]).text.utf8)
        #expect(try await api.send(.post, path, proof, key: nil, bearer: handle).status == 202)
    }

    @Test func `a mail scanner that opens every link of every mail changes nothing, and uses no code up`()
        async throws
    {
        let settings = protectedSettings.setting("confirm", at: ["linkPolicy", "unprovenAddress"])
        try await TestAPI.with(settings: settings) { api in
            try await causeMails(api)
            let (urls, types) = try await links(api)
            #expect(
                types.isSuperset(of: [
                    "LOOKUP", "PASSWORD_RESET", "EMAIL_SIGNIN", "REVERT_SIGN_IN_METHOD_CHANGE", "VERIFY_EMAIL",
                    "VERIFY_AND_CHANGE_EMAIL", "RECOVER_EMAIL", "WRONG_DOOR", "SIGN_UP_MAILBOX",
                ]),
                "\(types.sorted())"
            )
            #expect(urls.count > types.count, "\(urls)")
            try await expectUnchanged(api, "a scanner") {
                for _ in 1...3 {
                    for url in urls {
                        // Browsers send nothing behind the `#`.
                        let path = String(url.prefix { $0 != "#" })
                        let answer = try await api.send(.get, path, key: nil)
                        #expect(answer.status < 500, "\(path): \(answer.text)")
                    }
                }
            }
            let secrets = urls.compactMap { url -> String? in
                url.firstMatch(of: /#lookup=([\w-]+)/).map { String($0.output.1) }
            }
            let secret = try #require(secrets.first)
            let proven = try await api.post(Self.lookUp + ":prove", ["linkSecret": .string(secret)], key: nil)
            #expect(proven.status == 200, "\(proven.text)")
            let reset = try await api.listedCode("PASSWORD_RESET").code
            #expect(try await api.reset(reset, to: "battery staple").status == 200)
        }
    }

    // MARK: Pages outside the authorized domains

    @Test(arguments: [
        ("https://evil.example/", "refused"), ("https://localhost.evil.example/", "refused"),
        ("https://evil.example/#localhost", "refused"), ("https://evil.example/?localhost", "refused"),
        ("https://localhost@evil.example/", "malformed-request"), ("//evil.example/", "malformed-request"),
        ("http://localhost:80@evil.example/", "malformed-request"), ("javascript:evil()", "malformed-request"),
        ("https://evil.example\\@localhost/", "malformed-request"), ("data:text/html,evil", "malformed-request"),
    ])
    func `a page outside the authorized domains gets one clear answer, and nothing is half-done`(
        _ page: String,
        _ problem: String
    ) async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            let session = try await api.signUp("ada@example.com")
            let secret = JSONValue.string(try #require(try await mail(api, to: "ada@example.com").code))
            let proven = try await api.post(Self.lookUp + ":prove", ["linkSecret": secret], key: nil)
            let proof = try #require(proven.json["proofToken"], "\(proven.text)")
            let steps: [(path: String, body: JSONValue)] = [
                (Self.lookUp, ["email": "ada@example.com"]), (Self.lookUp, ["email": "nobody@example.com"]),
                (Self.lookUp + ":continue", ["proofToken": proof, "way": "setPassword"]),
                (
                    Self.issue,
                    [
                        "refreshToken": session["refreshToken"] ?? .null, "state": "xyz",
                        "codeChallenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
                    ]
                ),
            ]
            try await expectUnchanged(api, "\(page)") {
                for step in steps {
                    let answer = try await api.post(step.path, step.body.with("continueUrl", .string(page)), key: nil)
                    #expect(answer.status == 400, "\(step.path): \(answer.text)")
                    #expect(answer.json["type"]?.string == "urn:concord:problem:" + problem, "\(answer.text)")
                    #expect(!answer.text.contains("evil"), "\(answer.text)")
                }
            }
            // The refusals use neither the address's mails nor the proof nor the session up.
            for step in steps {
                let body = step.body.with("continueUrl", "http://localhost/welcome")
                let answer = try await api.post(step.path, body, key: nil)
                #expect((200...202).contains(answer.status), "\(step.path): \(answer.text)")
            }
        }
    }
}
