import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// Sign-ups that wait for their mailbox, over the wire.
struct PendingSignUpRoutesTests {
    private static let path = "/concord/v1/signUp/pending"

    /// Addresses are protected, a password needs the mailbox first, and unproven addresses are confirmed.
    private static let settings = protectedSettings.with(
        "linkPolicy",
        ["preset": "strict", "unprovenAddress": "confirm"]
    ).with("concord", (protectedSettings["concord"] ?? [:]).with("signUp", ["requires": "mailbox"]))

    private static func with(
        _ settings: JSONValue = Self.settings,
        _ body: @Sendable (TestAPI) async throws -> Void
    ) async throws {
        try await TestAPI.with(settings: settings, body)
    }

    private func signUp(_ api: TestAPI, _ email: String) async throws -> Wire.Answer {
        try await api.post("/v1/accounts:signUp", ["email": .string(email), "password": "correct horse"])
    }

    private func signIn(
        _ api: TestAPI,
        _ email: String,
        subject: String,
        idToken: JSONValue? = nil
    ) async throws -> Wire.Answer {
        var body: [String: JSONValue] = [
            "requestUri": "http://localhost", "returnSecureToken": true,
            "postBody": .string(#"providerId=github.com&access_token={"sub":"\#(subject)","email":"\#(email)"}"#),
        ]
        body["idToken"] = idToken
        return try await api.post("/v1/accounts:signInWithIdp", .object(body))
    }

    private func post(
        _ api: TestAPI,
        _ what: String,
        _ body: JSONValue,
        _ handle: String?,
        idempotencyKey: String? = nil
    ) async throws -> Wire.Answer {
        var headers: HTTPFields = [:]
        headers[try #require(HTTPField.Name("Idempotency-Key"))] = idempotencyKey
        let answer = try await api.send(
            .post,
            Self.path + what,
            Array(body.text.utf8),
            key: nil,
            bearer: handle,
            headers: headers
        )
        #expect(try OpenAPIDocument().defects(of: answer, to: .post, at: Self.path + what) == [])
        return answer
    }

    private func expect(
        _ type: ProblemType,
        _ answer: Wire.Answer,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(
            answer.json["type"]?.string == "urn:concord:problem:\(type.rawValue)",
            "\(answer.text)",
            sourceLocation: sourceLocation
        )
    }

    /// The newest mail to `email` that continues a sign-up.
    /// - `handle`: of the sign-up; `nil` for any.
    private func mail(
        _ api: TestAPI,
        to email: String,
        of handle: String? = nil
    ) async throws -> (handle: String, secret: String, code: String?) {
        let messages = try await api.send(.get, "/inbox/messages", key: nil).json["messages"]?.array ?? []
        let found = messages.first { message in
            message["to"]?.string == email && message["type"] == "SIGN_UP_MAILBOX"
                && handle.map { message["text"]?.string?.contains($0) ?? false } ?? true
        }
        let mail = try #require(found, "no mail to \(email)")
        let text = try #require(mail["text"]?.string)
        let link = try #require(text.firstMatch(of: /\/signin#signUp=([\w-]+)&proof=([\w-]+)/))
        return (String(link.1), String(link.2), mail["code"]?.string)
    }

    private func mailCount(_ api: TestAPI, to email: String) async throws -> Int {
        let messages = try await api.send(.get, "/inbox/messages", key: nil).json["messages"]?.array ?? []
        return messages.count { $0["to"]?.string == email }
    }

    /// Creates an account with a proven address through the mail of a sign-up.
    private func register(_ api: TestAPI, _ email: String) async throws -> JSONValue {
        #expect(try await signUp(api, email).status == 400)
        let (handle, secret, _) = try await mail(api, to: email)
        let proven = try await post(api, ":prove", ["linkSecret": .string(secret)], handle)
        let created = try await post(
            api,
            ":create",
            ["proofToken": proven.json["proofToken"] ?? .null, "password": "correct horse"],
            handle
        )
        #expect(created.status == 200, "\(created.text)")
        return created.json
    }

    // MARK: Mailbox

    @Test func `a sign-up continues from its mail: the account has the address, proven, and the chosen password`()
        async throws
    {
        try await Self.with { api in
            let answer = try await signUp(api, "ann@example.com")
            #expect(answer.status == 400)
            #expect(
                answer.errorMessage
                    == "OPERATION_NOT_ALLOWED : Confirm the email address first. A mail is on its way."
            )
            #expect(try await api.service.user(owning: "ann@example.com") == nil)
            let (handle, secret, code) = try await mail(api, to: "ann@example.com")
            #expect(code == nil, "no client has the handle")

            let proven = try await post(api, ":prove", ["linkSecret": .string(secret)], handle)
            #expect(proven.status == 200 && proven.json["email"] == "ann@example.com", "\(proven.text)")
            #expect(proven.json["accountExists"] == false && proven.json["providerId"] == nil)
            let token = proven.json["proofToken"] ?? .null
            expect(.malformedRequest, try await post(api, ":create", ["proofToken": token], handle))
            let weak = try await post(api, ":create", ["proofToken": token, "password": "short"], handle)
            expect(.refused, weak)

            let body: JSONValue = ["proofToken": token, "password": "another horse", "displayName": "Ann"]
            let created = try await post(api, ":create", body, handle, idempotencyKey: "k")
            #expect(created.status == 200 && created.json["email"] == "ann@example.com", "\(created.text)")
            let again = try await post(api, ":create", body, handle, idempotencyKey: "k")
            #expect(again.status == 200 && again.text == created.text)
            expect(.codeUnusable, try await post(api, ":create", body, handle))
            expect(.codeUnusable, try await post(api, ":prove", ["linkSecret": .string(secret)], handle))

            let user = try #require(try await api.service.user(owning: "ann@example.com"))
            #expect(user.email?.isVerified == true && user.profile.displayName == "Ann")
            #expect(try await api.signIn("ann@example.com", password: "another horse").status == 200)
            let first = try await api.signIn("ann@example.com", password: "correct horse")
            #expect(first.errorMessage == "INVALID_LOGIN_CREDENTIALS", "the password of the request is not stored")
        }
    }

    @Test func `a sign-up answers a free and a used address with the same bytes and headers`() async throws {
        try await Self.with { api in
            _ = try await register(api, "used@example.com")
            let before = try await api.service.database.rowCounts()
            let used = try await signUp(api, "used@example.com")
            let between = try await api.service.database.rowCounts()
            let free = try await signUp(api, "free@example.com")
            let after = try await api.service.database.rowCounts()
            #expect(used.status == free.status && used.text == free.text)
            #expect(used.equalHeaders == free.equalHeaders)
            for (table, added) in [
                ("pending_sign_ups", 1), ("outbox", 2), ("users", 0), ("sessions", 0), ("account_events", 0),
            ] as [(String, Int64)] {
                let counts = [before, between, after].compactMap { $0[table] }
                let start = try #require(counts.first)
                #expect(counts == [start, start + added, start + 2 * added], "\(table)")
            }
            let sizes = try await api.service.database.count(
                "SELECT count(DISTINCT length(sealed_payload)) FROM outbox"
            )
            #expect(sizes == 2, "a withheld mail of a sign-up is as long as one that is sent, and so is a right door")
        }
    }

    // MARK: The way back

    /// The requests that mail a mailbox, with the page of the app to return to.
    private func requests(
        _ email: String,
        returningTo page: String,
        _ idToken: JSONValue
    ) -> [(path: String, body: JSONValue)] {
        let password: [String: JSONValue] = [
            "email": .string(email), "password": "correct horse", "continueUrl": .string(page),
        ]
        let provider: JSONValue = [
            "requestUri": "http://localhost", "continueUrl": .string(page),
            "postBody": .string(#"providerId=github.com&access_token={"sub":"\#(email)","email":"\#(email)"}"#),
        ]
        return [
            ("signUp", .object(password)), ("signUp", .object(password.merging(["idToken": idToken]) { $1 })),
            ("update", .object(password.merging(["idToken": idToken]) { $1 })), ("signInWithIdp", provider),
        ]
    }

    @Test func `the mail of a sign-up leads back to the page of the app, with and without an account`() async throws {
        try await Self.with { api in
            let (used, free) = ("used@example.com", "free@example.com")
            _ = try await register(api, used)
            let idToken = try await api.signUpAnonymously()["idToken"] ?? .null
            let page = "http://localhost/welcome?a=1&b=2"
            let back = "continueUrl=http%3A%2F%2Flocalhost%2Fwelcome%3Fa%3D1%26b%3D2"
            let count = requests(free, returningTo: page, idToken).count
            #expect(count == 4)
            for index in 0..<count {
                var answers: [Wire.Answer] = []
                for email in [used, free] {
                    api.service.clock.advance(seconds: 1)
                    let before = try await mailCount(api, to: email)
                    let (path, body) = requests(email, returningTo: page, idToken)[index]
                    answers.append(try await api.post("/v1/accounts:" + path, body))
                    let messages = try await api.send(.get, "/inbox/messages", key: nil).json["messages"]?.array ?? []
                    let mails = messages.filter { $0["to"]?.string == email }
                    #expect(mails.count == before + 1, "\(path) \(email)")
                    let text = mails.first?["text"]?.string ?? ""
                    #expect(text.contains("/signin#") && text.contains(back), "\(path) \(email): \(text)")
                }
                #expect(answers[0].status == answers[1].status)
            }
            let sizes: Query<Int64?> = "SELECT count(DISTINCT length(sealed_payload)) FROM outbox WHERE is_withheld"
            #expect(try await api.service.database.count(sizes) == 1, "withheld mails carry the page too")
        }
    }

    @Test(arguments: [
        ("https://evil.example/welcome", "UNAUTHORIZED_DOMAIN"), ("javascript:alert(1)", "INVALID_CONTINUE_URI"),
        ("http://localhost.evil.example/", "UNAUTHORIZED_DOMAIN"),
    ])
    func `a sign-up that names a page of no app is refused before anything is written`(
        page: String,
        code: String
    ) async throws {
        try await Self.with { api in
            _ = try await register(api, "used@example.com")
            let idToken = try await api.signUpAnonymously()["idToken"] ?? .null
            let before = try await api.service.database.rowCounts()
            for email in ["used@example.com", "free@example.com"] {
                for (path, body) in requests(email, returningTo: page, idToken) {
                    let answer = try await api.post("/v1/accounts:" + path, body)
                    #expect(answer.status == 400 && answer.errorMessage?.hasPrefix(code) == true, "\(answer.text)")
                }
            }
            #expect(try await api.service.database.rowCounts() == before)
        }
    }

    // MARK: Sessions

    @Test func `a session that adds a password to a new address gets the same answer, also by an update`() async throws
    {
        try await Self.with { api in
            _ = try await register(api, "used@example.com")
            let anonymous = try await api.signUpAnonymously()
            for method in ["signUp", "update"] {
                var answers: [Wire.Answer] = []
                for email in ["used@example.com", "free@example.com"] {
                    answers.append(
                        try await api.post(
                            "/v1/accounts:\(method)",
                            [
                                "idToken": anonymous["idToken"] ?? .null, "email": .string(email),
                                "password": "correct horse",
                            ]
                        )
                    )
                }
                #expect(answers[0].text == answers[1].text, "\(method)")
                #expect(answers[0].equalHeaders == answers[1].equalHeaders, "\(method)")
                #expect(answers[0].errorMessage?.hasPrefix("OPERATION_NOT_ALLOWED : Confirm") == true)
            }
            #expect(try await mailCount(api, to: "free@example.com") == 2)
        }
    }

    @Test func `mails of sign-ups are limited alike for free and used addresses`() async throws {
        let mail: JSONValue = ["perMailboxPerHour": 2]
        let concord = (Self.settings["concord"] ?? [:]).with("mail", mail)
        try await Self.with(Self.settings.with("concord", concord)) { api in
            _ = try await register(api, "used@example.com")
            api.service.clock.advance(seconds: 3600)
            var answers: [String: [String]] = [:]
            for email in ["used@example.com", "free@example.com"] {
                for _ in 1...3 { answers[email, default: []].append(try await signUp(api, email).text) }
            }
            #expect(answers["used@example.com"] == answers["free@example.com"])
            #expect(answers["free@example.com"]?.last?.contains("TOO_MANY_ATTEMPTS_TRY_LATER") == true)
        }
    }

    @Test func `without the settings everything is as before`() async throws {
        try await Self.with(protectedSettings) { api in
            #expect(try await signUp(api, "ann@example.com").status == 200)
            #expect(try await signUp(api, "ann@example.com").errorMessage == "EMAIL_EXISTS")
            #expect(try await signIn(api, "new@example.com", subject: "1").json["isNewUser"] == true)
            let conflict = try await signIn(api, "ann@example.com", subject: "2").json
            #expect(conflict["needConfirmation"] == true && conflict["verifiedProvider"] != nil)
        }
    }

    // MARK: Confirmation

    @Test func `an unproven address of a provider gets answers of the same form with and without an account`()
        async throws
    {
        try await Self.with { api in
            let owner = try await register(api, "used@example.com")
            var shapes: [[String]] = []
            var answers: [Wire.Answer] = []
            // Addresses of the same length, as a stranger compares them.
            for (email, subject) in [("used@example.com", "31"), ("free@example.com", "32")] {
                let answer = try await signIn(api, email, subject: subject)
                #expect(answer.status == 200 && answer.json["needConfirmation"] == true, "\(answer.text)")
                #expect(answer.json["verifiedProvider"] == nil && answer.json["idToken"] == nil)
                #expect(answer.json["localId"]?.string?.count == 28)
                #expect(answer.json["localId"] != owner["localId"])
                #expect(try await signIn(api, email, subject: subject).json["localId"] == answer.json["localId"])
                shapes.append((answer.json.object?.keys).map { $0.sorted() } ?? [])
                answers.append(answer)
            }
            #expect(shapes[0] == shapes[1])
            // By its length, the page of conflicts knows a handle that the sign-in page continues (`page.js`).
            #expect(answers.allSatisfy { $0.json["pendingToken"]?.string?.count == 43 })
            #expect(answers[0].text.utf8.count == answers[1].text.utf8.count)
            #expect(answers[0].equalHeaders == answers[1].equalHeaders)
            #expect(try await api.service.user(owning: "free@example.com") == nil)
        }
    }

    @Test func `the owner of a free mailbox confirms with the code and gets an account with the provider`() async throws
    {
        try await Self.with { api in
            let begun = try await signIn(api, "ann@example.com", subject: "41")
            let handle = try #require(begun.json["pendingToken"]?.string)
            let code = try #require(try await mail(api, to: "ann@example.com").code)
            expect(.wrongProof, try await post(api, ":prove", ["code": "00000000"], handle))
            let proven = try await post(api, ":prove", ["code": .string(code)], handle)
            #expect(proven.json["providerId"] == "github.com" && proven.json["accountExists"] == false)
            let token = proven.json["proofToken"] ?? .null
            expect(.refused, try await post(api, ":link", ["proofToken": token], handle))
            let created = try await post(api, ":create", ["proofToken": token], handle)
            #expect(created.status == 200, "\(created.text)")
            let signedIn = try await signIn(api, "ann@example.com", subject: "41")
            #expect(signedIn.json["localId"] == created.json["localId"])
            #expect(try await api.service.user(owning: "ann@example.com")?.email?.isVerified == true)
        }
    }

    @Test func `the owner of an account links the confirmed credential through a proven conflict`() async throws {
        try await Self.with { api in
            let owner = try await register(api, "ann@example.com")
            let begun = try await signIn(api, "ann@example.com", subject: "51")
            let handle = try #require(begun.json["pendingToken"]?.string)
            let secret = try await mail(api, to: "ann@example.com", of: handle).secret
            let proven = try await post(api, ":prove", ["linkSecret": .string(secret)], handle)
            #expect(proven.json["accountExists"] == true, "\(proven.text)")
            let token = proven.json["proofToken"] ?? .null
            expect(.refused, try await post(api, ":create", ["proofToken": token], handle))
            let linked = try await post(api, ":link", ["proofToken": token], handle, idempotencyKey: "k")
            #expect(linked.status == 200 && linked.json["conflict"]?["state"] == "proven", "\(linked.text)")
            #expect(linked.json["pendingToken"]?.string?.count != handle.count)
            let again = try await post(api, ":link", ["proofToken": token], handle, idempotencyKey: "k")
            #expect(again.text == linked.text)
            expect(.codeUnusable, try await post(api, ":link", ["proofToken": token], handle))
            let resolved = try await api.send(
                .post,
                "/concord/v1/conflict:resolve",
                Array(JSONValue.object(["proofToken": linked.json["proofToken"] ?? .null]).text.utf8),
                key: nil,
                bearer: linked.json["pendingToken"]?.string
            )
            #expect(resolved.status == 200 && resolved.json["localId"] == owner["localId"], "\(resolved.text)")
            #expect(try await api.signIn("ann@example.com").status == 200, "the address was proven: the password stays")
        }
    }

    @Test(arguments: [true, false])
    func `the routes of conflicts continue a confirmation, with and without an account`(hasAccount: Bool) async throws {
        try await Self.with { api in
            if hasAccount { _ = try await register(api, "ann@example.com") }
            let begun = try await signIn(api, "ann@example.com", subject: "81")
            let handle = try #require(begun.json["pendingToken"]?.string)
            func call(_ what: String, _ body: JSONValue? = nil) async throws -> Wire.Answer {
                let path = "/concord/v1/conflict" + what
                let answer = try await api.send(
                    body == nil ? .get : .post,
                    path,
                    body.map { Array($0.text.utf8) } ?? [],
                    key: nil,
                    bearer: handle
                )
                #expect(try OpenAPIDocument().defects(of: answer, to: body == nil ? .get : .post, at: path) == [])
                return answer
            }
            let view = try await call("")
            #expect(view.json["state"] == "open" && view.json["email"] == "a***@e***.com", "\(view.text)")
            #expect(view.json["signInMethods"] == nil)
            #expect(try await call("/proof", ["kind": "mailbox"]).status == 202)
            let code = try #require(try await mail(api, to: "ann@example.com", of: handle).code)
            let proven = try await call("/proof:complete", ["code": .string(code)])
            #expect(proven.json["conflict"]?["state"] == "proven", "\(proven.text)")
            let resolved = try await call(":resolve", ["proofToken": proven.json["proofToken"] ?? .null])
            #expect(resolved.status == 200, "\(resolved.text)")
            #expect(try await call("").json["state"] == "resolved")
            let signedIn = try await signIn(api, "ann@example.com", subject: "81")
            #expect(signedIn.json["localId"] == resolved.json["localId"])
        }
    }

    private func conflict(_ api: TestAPI, _ handle: String, _ what: String = "") async throws -> Wire.Answer {
        let path = "/concord/v1/conflict" + what
        let body: [UInt8] = what.isEmpty ? [] : Array("{}".utf8)
        let method: HTTPRequest.Method = what.isEmpty ? .get : .post
        let answer = try await api.send(method, path, body, key: nil, bearer: handle)
        #expect(try OpenAPIDocument().defects(of: answer, to: method, at: path) == [])
        return answer
    }

    @Test(arguments: [true, false])
    func `a declined confirmation is declined again, and nothing continues it, with and without an account`(
        hasAccount: Bool
    ) async throws {
        try await Self.with { api in
            if hasAccount { _ = try await register(api, "ann@example.com") }
            let begun = try await signIn(api, "ann@example.com", subject: "91")
            let handle = try #require(begun.json["pendingToken"]?.string)
            let (_, secret, code) = try await mail(api, to: "ann@example.com", of: handle)
            let proven = try await post(api, ":prove", ["linkSecret": .string(secret)], handle)
            let token = proven.json["proofToken"] ?? .null
            let declined = try await conflict(api, handle, ":decline")
            #expect(declined.status == 200 && declined.json["state"] == "declined", "\(declined.text)")
            #expect(declined.json["signInMethods"] == nil && declined.json["proof"] == nil)
            #expect(try await conflict(api, handle, ":decline").text == declined.text)
            #expect(try await conflict(api, handle).json["state"] == "declined")
            let digits = try #require(code)
            for answer in [["code": .string(digits)], ["linkSecret": .string(secret)]] as [JSONValue] {
                expect(.codeUnusable, try await post(api, ":prove", answer, handle))
            }
            for step in [":create", ":link"] {
                expect(.codeUnusable, try await post(api, step, ["proofToken": token], handle))
            }
            #expect(try await api.service.database.count("SELECT count(*) FROM linked_providers") == 0)
            expect(.conflictUnknown, try await conflict(api, handle + "x", ":decline"))
        }
    }

    @Test func `the view of a used confirmation has the state of its conflict`() async throws {
        try await Self.with { api in
            _ = try await register(api, "ann@example.com")
            let begun = try await signIn(api, "ann@example.com", subject: "92")
            let handle = try #require(begun.json["pendingToken"]?.string)
            let secret = try await mail(api, to: "ann@example.com", of: handle).secret
            let proven = try await post(api, ":prove", ["linkSecret": .string(secret)], handle)
            let linked = try await post(api, ":link", ["proofToken": proven.json["proofToken"] ?? .null], handle)
            #expect(try await conflict(api, handle).json["state"] == "proven", "nothing is linked yet")
            expect(.codeUnusable, try await conflict(api, handle, ":decline"))
            _ = try await api.send(
                .post,
                "/concord/v1/conflict:resolve",
                Array(JSONValue.object(["proofToken": linked.json["proofToken"] ?? .null]).text.utf8),
                key: nil,
                bearer: linked.json["pendingToken"]?.string
            )
            #expect(try await conflict(api, handle).json["state"] == "resolved")
        }
    }

    @Test func `a session links the waiting credential by its handle, once, as SDKs do`() async throws {
        try await Self.with { api in
            let owner = try await register(api, "ann@example.com")
            let begun = try await signIn(api, "ann@example.com", subject: "71")
            let body: JSONValue = [
                "requestUri": "http://localhost", "returnSecureToken": true, "idToken": owner["idToken"] ?? .null,
                "pendingToken": begun.json["pendingToken"] ?? .null,
            ]
            let linked = try await api.post("/v1/accounts:signInWithIdp", body)
            #expect(linked.status == 200 && linked.json["localId"] == owner["localId"], "\(linked.text)")
            let again = try await api.post("/v1/accounts:signInWithIdp", body)
            #expect(again.errorMessage?.hasPrefix("INVALID_PENDING_TOKEN") == true, "\(again.text)")
            #expect(try await signIn(api, "ann@example.com", subject: "71").json["localId"] == owner["localId"])
        }
    }

    @Test func `bad handles, tokens of other sign-ups, expiry and five wrong codes have one clear answer each`()
        async throws
    {
        try await Self.with { api in
            let handle = try #require(
                try await signIn(api, "ann@example.com", subject: "61").json["pendingToken"]?.string
            )
            let (_, secret, code) = try await mail(api, to: "ann@example.com")
            for bad in [nil, "", "x", handle + "x", String(repeating: "A", count: 5000)] as [String?] {
                expect(.codeUnusable, try await post(api, ":prove", ["code": "12345678"], bad))
            }
            expect(.malformedRequest, try await post(api, ":prove", [:], handle))
            expect(.malformedRequest, try await post(api, ":prove", ["code": "1", "linkSecret": "2"], handle))
            expect(.proofRequired, try await post(api, ":create", [:], handle))
            expect(.proofRequired, try await post(api, ":link", ["proofToken": "x"], handle))
            let other = try #require(
                try await signIn(api, "bob@example.com", subject: "62").json["pendingToken"]?.string
            )
            let bobs = try await mail(api, to: "bob@example.com")
            let token = try await post(api, ":prove", ["linkSecret": .string(bobs.secret)], other).json["proofToken"]
            expect(.proofRequired, try await post(api, ":create", ["proofToken": token ?? .null], handle))
            expect(.wrongProof, try await post(api, ":prove", ["linkSecret": .string(bobs.secret)], handle))

            for _ in 1...5 { expect(.wrongProof, try await post(api, ":prove", ["code": "1234"], handle)) }
            let digits = try #require(code)
            expect(.tooManyAttempts, try await post(api, ":prove", ["code": .string(digits)], handle))
            #expect(try await post(api, ":prove", ["linkSecret": .string(secret)], handle).status == 200)
            api.service.clock.advance(seconds: 3601)
            expect(.codeUnusable, try await post(api, ":prove", ["linkSecret": .string(secret)], handle))
        }
    }
}
