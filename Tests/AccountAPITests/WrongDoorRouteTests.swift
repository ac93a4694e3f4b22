import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import OpenTelemetry
import Postgres
import Spans
import Testing
import Tracing

@testable import AccountAPI

/// Wrong doors as an unmodified SDK meets them: the answers, and the mails that follow.
struct WrongDoorRouteTests {
    private static let path = "/v1/accounts:"

    /// Addresses are protected, and sign-in links are off.
    private static let settings = protectedSettings.setting(.bool(true), at: ["signIn", "email", "passwordRequired"])

    /// Accounts of Ada, with Google alone, and of Eve, with a password.
    private static func with(
        _ settings: JSONValue = Self.settings,
        _ body: @Sendable (TestAPI) async throws -> Void
    ) async throws {
        try await TestAPI.with(settings: settings) { api in
            let claims = #"{"sub":"ada","email":"ada@gmail.com","email_verified":true}"#
            let ada = try await api.post(
                path + "signInWithIdp",
                [
                    "requestUri": "http://localhost", "returnSecureToken": true,
                    "postBody": .string("providerId=google.com&id_token=\(claims)"),
                ]
            )
            #expect(ada.status == 200 && ada.json["idToken"] != nil, "\(ada.text)")
            if settings["signIn"]?["email"]?["enabled"] == true { _ = try await api.signUp("eve@gmail.com") }
            try await body(api)
        }
    }

    private func password(_ api: TestAPI, _ email: String) async throws -> TestAPI.Answer {
        let body: JSONValue = ["email": .string(email), "password": "wrong horse", "returnSecureToken": true]
        return try await api.post(Self.path + "signInWithPassword", body)
    }

    private func link(_ api: TestAPI, _ email: JSONValue) async throws -> TestAPI.Answer {
        try await api.post(
            Self.path + "sendOobCode",
            ["requestType": "EMAIL_SIGNIN", "email": email, "continueUrl": "http://localhost/"]
        )
    }

    private func signUp(_ api: TestAPI, _ email: String) async throws -> TestAPI.Answer {
        try await api.post(Self.path + "signUp", ["email": .string(email), "password": "correct horse"])
    }

    /// The mails in the inbox, by type and recipient.
    private func mails(_ api: TestAPI) async throws -> [String] {
        let messages = try await api.send(.get, "/inbox/messages", key: nil).json["messages"]?.array ?? []
        return messages.compactMap { message in
            message["type"]?.string.flatMap { type in message["to"]?.string.map { "\(type) \($0)" } }
        }.sorted()
    }

    @Test func `a wrong password gets the same bytes and headers for every address, and the rows of one form`()
        async throws
    {
        try await Self.with { api in
            // The second round meets the window of the first.
            for round in 1...2 {
                var answers: [TestAPI.Answer] = []
                for email in ["ada@gmail.com", "eve@gmail.com", "bob@gmail.com"] {
                    let before = try await api.service.database.rowCounts()
                    answers.append(try await password(api, email))
                    let after = try await api.service.database.rowCounts()
                    for table in ["outbox", "one_time_codes", "short_codes"] {
                        let added = (after[table] ?? 0) - (before[table] ?? 0)
                        #expect(added == (round == 1 ? 1 : 0), "\(email) \(table)")
                    }
                }
                #expect(answers[0].status == 400 && answers[0].errorMessage == "INVALID_LOGIN_CREDENTIALS")
                #expect(answers.allSatisfy { $0.text == answers[0].text && $0.equalHeaders == answers[0].equalHeaders })
            }
            #expect(try await mails(api) == ["WRONG_DOOR ada@gmail.com"])
        }
    }

    @Test(arguments: WrongDoorKnock.allCases)
    func `each address gets the same answer after the same calls of the database`(_ knock: WrongDoorKnock) async throws
    {
        let recorded = RecordedSpans()
        try await TestAPI.with(
            settings: knock.settings,
            callers: DevelopmentCallers(),
            spans: recorded.spans
        ) { api in
            let addresses = try await api.importWrongDoorAccounts() + (knock.isForAccounts ? [] : ["nobody@gmail.com"])
            // The second round meets the window of the first.
            for round in 1...2 {
                var answers: [TestAPI.Answer] = []
                var calls: [[String]] = []
                for email in addresses {
                    _ = recorded.take()
                    let answer = try await recorded.spans.trace("request", .server) { _ in
                        try await knock.send(email, over: api)
                    }
                    answers.append(answer)
                    calls.append(
                        recorded.take().filter { $0.kind == .client }.map { call in
                            let size = call.attributes.get("db.operation.batch.size")
                            return size.map { "\(call.name) \($0)" } ?? call.name
                        }.sorted()
                    )
                }
                let texts = zip(addresses, answers).map { $1.text.replacing($0, with: "EMAIL") }
                #expect(Set(texts).count == 1 && Set(answers.map(\.status)).count == 1, "\(texts)")
                #expect(answers.allSatisfy { $0.equalHeaders == answers[0].equalHeaders })
                #expect(!calls[0].isEmpty && Set(calls).count == 1, "round \(round): \(calls)")
                let issues = calls[0].count { $0.hasPrefix("code-issue") }
                #expect(issues == knock.codes(inRound: round), "round \(round): \(calls[0])")
            }
        }
    }

    @Test func `a link where links are off gets the same answer for every address, and for none`() async throws {
        try await Self.with { api in
            let answers = [
                try await link(api, "ada@gmail.com"), try await link(api, "bob@gmail.com"),
                try await link(api, "nonsense"), try await link(api, .null),
            ]
            #expect(answers[0].status == 400 && answers[0].errorMessage == "OPERATION_NOT_ALLOWED")
            #expect(answers.allSatisfy { $0.text == answers[0].text && $0.equalHeaders == answers[0].equalHeaders })
            #expect(try await mails(api) == ["WRONG_DOOR ada@gmail.com"])
        }
    }

    @Test func `a sign-up with a used address stays EMAIL_EXISTS, and its owner is mailed`() async throws {
        try await Self.with { api in
            for _ in 1...2 {
                let answer = try await signUp(api, "ada@gmail.com")
                #expect(answer.status == 400 && answer.errorMessage == "EMAIL_EXISTS", "\(answer.text)")
            }
            #expect(try await signUp(api, "bob@gmail.com").status == 200)
            #expect(try await mails(api) == ["WRONG_DOOR ada@gmail.com"])
        }
    }

    @Test func `a reset stays 200 for every address, and its code still sets a password`() async throws {
        try await Self.with { api in
            let known = try await api.post(
                Self.path + "sendOobCode",
                ["requestType": "PASSWORD_RESET", "email": "ada@gmail.com"]
            )
            let other = try await api.post(
                Self.path + "sendOobCode",
                ["requestType": "PASSWORD_RESET", "email": "bob@gmail.com"]
            )
            #expect(known.status == 200 && known.json["email"] == "ada@gmail.com", "\(known.text)")
            #expect(other.text.replacing("bob@", with: "ada@") == known.text)
            #expect(other.equalHeaders == known.equalHeaders)
            let messages = try await api.send(.get, "/inbox/messages", key: nil).json["messages"]?.array ?? []
            let text = try #require(messages.first { $0["type"] == "PASSWORD_RESET" }?["text"]?.string)
            #expect(text.contains("Continue with Google:\n  http"), "\(text)")
            let code = try await api.listedCode("PASSWORD_RESET")
            #expect(try await api.reset(code.code, to: "battery staple").status == 200)
            #expect(try await api.signIn("ada@gmail.com", password: "battery staple").status == 200)
        }
    }

    @Test func `the mails carry no code that an unmodified test suite would find`() async throws {
        try await Self.with { api async throws in
            #expect(try await password(api, "ada@gmail.com").status == 400)
            #expect(try await api.listedCodes().isEmpty)
            #expect(try await mails(api) == ["WRONG_DOOR ada@gmail.com"])
        }
    }

    @Test func `where passwords are off, a password gets the same answer, and the owner of any account a mail`()
        async throws
    {
        let off = protectedSettings.setting(.bool(false), at: ["signIn", "email", "enabled"])
        try await Self.with(off) { api in
            let known = try await password(api, "ada@gmail.com")
            let other = try await password(api, "bob@gmail.com")
            #expect(known.status == 400 && known.errorMessage == "PASSWORD_LOGIN_DISABLED", "\(known.text)")
            #expect(known.text == other.text && known.equalHeaders == other.equalHeaders)
            #expect(try await mails(api) == ["WRONG_DOOR ada@gmail.com"])
        }
    }

    @Test func `an administrator who asks for a link where links are off causes no mail`() async throws {
        try await TestAPI.with(settings: Self.settings, callers: DevelopmentCallers()) { api in
            let addresses = try await api.importWrongDoorAccounts()
            let body: JSONValue = [
                "requestType": "EMAIL_SIGNIN", "email": .string(addresses[0]), "continueUrl": "http://localhost/",
            ]
            let answer = try await api.admin("accounts:sendOobCode", body)
            #expect(answer.status == 400 && answer.errorMessage == "OPERATION_NOT_ALLOWED", "\(answer.text)")
            #expect(try await api.service.database.count("SELECT count(*) FROM outbox") == 0)
        }
    }

    @Test func `the window has bounds, and a project that switches the mails off discards those that wait`()
        async throws
    {
        let path = "/v2/projects/\(TestService.projectID)/config?updateMask=concord.wrongDoor"
        try await TestAPI.with(settings: Self.settings, callers: DevelopmentCallers()) { api in
            func change(_ settings: JSONValue) async throws -> TestAPI.Answer {
                let body: JSONValue = ["concord": ["wrongDoor": settings]]
                return try await api.send(.patch, path, Array(body.text.utf8), key: nil, bearer: "owner")
            }
            for seconds in [-1, 0, 59, 31_622_401] as [Int64] {
                let answer = try await change(["windowSeconds": .integer(seconds)])
                #expect(answer.status == 400, "\(seconds) \(answer.text)")
                #expect(answer.errorMessage?.contains("concord.wrongDoor.windowSeconds") == true, "\(answer.text)")
            }
            for seconds in [60, 31_622_400] as [Int64] {
                #expect(try await change(["windowSeconds": .integer(seconds)]).status == 200)
            }
            let addresses = try await api.importWrongDoorAccounts()
            #expect(try await password(api, addresses[0]).status == 400)
            #expect(try await mails(api) == ["WRONG_DOOR \(addresses[0])"])
            #expect(try await change(["enabled": false]).status == 200)
            #expect(try await mails(api).isEmpty)
            for email in addresses { #expect(try await password(api, email).status == 400) }
            #expect(try await api.service.database.count("SELECT count(*) FROM outbox") == 1)
        }
    }

    @Test func `the mail is in the language of the request`() async throws {
        try await Self.with { api in
            let body: JSONValue = ["email": "ada@gmail.com", "password": "wrong horse"]
            var headers: HTTPFields = [:]
            headers[try #require(HTTPField.Name("X-Firebase-Locale"))] = "th"
            let bytes = Array(body.text.utf8)
            let answer = try await api.send(.post, Self.path + "signInWithPassword", bytes, headers: headers)
            #expect(answer.status == 400)
            let messages = try await api.send(.get, "/inbox/messages", key: nil).json["messages"]?.array ?? []
            #expect(messages.map { $0["language"] } == ["th"])
        }
    }
}

/// A request that is refused, or a reset, about which the owner of the address is mailed.
enum WrongDoorKnock: String, Sendable, CaseIterable {
    case password
    case passwordWherePasswordsAreOff
    case linkWhereLinksAreOff
    case signUp
    case signUpThatNeedsTheMailbox
    case reset

    var settings: JSONValue {
        // The limits of production.
        let limited = protectedSettings.setting(.object([:]), at: ["concord", "mail"])
        return switch self {
        case .password, .signUp, .reset: limited
        case .passwordWherePasswordsAreOff: limited.setting(.bool(false), at: ["signIn", "email", "enabled"])
        case .linkWhereLinksAreOff: limited.setting(.bool(true), at: ["signIn", "email", "passwordRequired"])
        case .signUpThatNeedsTheMailbox: limited.setting("mailbox", at: ["concord", "signUp", "requires"])
        }
    }

    /// The answer reveals the account.
    var isForAccounts: Bool { self == .signUp }

    /// Number of stored codes. In the second round, `concord.wrongDoor.windowSeconds` has begun.
    func codes(inRound round: Int) -> Int {
        switch self {
        case .password, .passwordWherePasswordsAreOff, .linkWhereLinksAreOff, .signUp: round == 1 ? 1 : 0
        case .reset: 1
        // That of the sign-up, and that of the right door.
        case .signUpThatNeedsTheMailbox: 2
        }
    }

    func send(_ email: String, over api: TestAPI) async throws -> TestAPI.Answer {
        var body: [String: JSONValue] = ["email": .string(email)]
        var path = "/v1/accounts:"
        switch self {
        case .password, .passwordWherePasswordsAreOff:
            path += "signInWithPassword"
            body["password"] = "wrong horse"
        case .linkWhereLinksAreOff:
            path += "sendOobCode"
            body["requestType"] = "EMAIL_SIGNIN"
            body["continueUrl"] = "http://localhost/"
        case .signUp, .signUpThatNeedsTheMailbox:
            path += "signUp"
            body["password"] = "correct horse"
        case .reset:
            path += "sendOobCode"
            body["requestType"] = "PASSWORD_RESET"
        }
        return try await api.post(path, .object(body))
    }
}

extension TestAPI {
    /// Creates an account for each set of methods, and returns their addresses. The first has a provider alone.
    fileprivate func importWrongDoorAccounts() async throws -> [String] {
        // The hash of `password`, which takes no time.
        let password: [String: JSONValue] = [
            "passwordHash": "sgq3SqJUn34ToOiGy0RxzC5w/NLOgHXA7mSDq7phMvM=", "salt": "TmFDbA==",
        ]
        func provider(_ name: String, _ id: String) -> [String: JSONValue] {
            ["providerUserInfo": [["providerId": .string(id), "rawId": .string(name)]]]
        }
        let rows: [(name: String, fields: [String: JSONValue])] = [
            ("google", provider("google", "google.com").merging(["emailVerified": true]) { $1 }),
            ("github", provider("github", "github.com")),
            ("passwd", password),
            ("proven", password.merging(["emailVerified": true]) { $1 }),
            ("two-of", password.merging(provider("two-of", "google.com")) { $1 }),
            ("locked", password.merging(["disabled": true]) { $1 }),
            ("phoned", ["phoneNumber": "+16505553434"]),
            ("nodoor", [:]),
        ]
        let accounts: [JSONValue] = rows.map { row in
            let name: JSONValue = .string(row.name)
            return .object(row.fields.merging(["localId": name, "email": .string(row.name + "@gmail.com")]) { $1 })
        }
        let answer = try await admin(
            "accounts:batchCreate",
            ["hashAlgorithm": "SHA256", "rounds": 1, "users": .array(accounts)]
        )
        #expect(answer.status == 200 && answer.json["error"] == nil, "\(answer.text)")
        return rows.map { $0.name + "@gmail.com" }
    }
}
