import AccountAPI
import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

/// Numbers that the project has made up, with codes that do not change.
struct FictionalNumberTests {
    private let number = "+16505553434"
    private let code = "654321"

    /// Every limit as low as it can be, so that nothing but being fictional lets a second request through.
    private static func settings(_ numbers: JSONValue) -> JSONValue {
        [
            "signIn": ["phoneNumber": ["enabled": true, "testPhoneNumbers": numbers]],
            "concord": [
                "sms": [
                    "perNumberPerHour": 1, "perAddressPerMinute": 1, "perProjectPerMinute": 1, "windowSeconds": 600,
                ]
            ],
        ]
    }

    private func count(_ sql: Query<Int64>, _ api: TestAPI) async throws -> Int64? {
        try await api.service.database.rows(sql).first
    }

    private func withFictional(_ body: @escaping @Sendable (TestAPI) async throws -> Void) async throws {
        let settings = Self.settings([number: .string(code)])
        try await TestAPI.with(settings: settings, callers: DevelopmentCallers(), body)
    }

    @Test func `a fictional number signs in with its code, without app verification, message or count`()
        async throws
    {
        try await withFictional { api async throws in
            var sessions: [String] = []
            for _ in 1...20 {
                let answer = try await api.askForCode(number, with: [:])
                sessions.append(try #require(answer.json["sessionInfo"]?.string))
            }
            #expect(Set(sessions).count == 20)
            var ids: Set<JSONValue> = []
            for session in sessions {
                ids.insert(try await api.signInByPhone(session, code).json["localId"] ?? .null)
            }
            #expect(ids.count == 1 && ids != [.null])
            #expect(try await count("SELECT count(*) FROM outbox", api) == 0)
            #expect(try await count("SELECT count(*) FROM message_counts", api) == 0)
            #expect(try await api.listedMessages().isEmpty)
        }
    }

    /// Test suites look for the code of every session there.
    @Test func `development lists and shows the session of a fictional number, and counts it nowhere`() async throws {
        try await TestAPI.with(
            settings: Self.settings([number: .string(code)]),
            callers: DevelopmentCallers(),
            developmentNumbers: DevelopmentNumbers()
        ) { api async throws in
            let sent = [try await api.phoneCode(number), try await api.phoneCode("+1 650-555-3434")]
            #expect(sent.map(\.code) == [code, code] && sent[0].sessionInfo != sent[1].sessionInfo)
            let shown = try await api.send(.get, "/inbox/messages", key: nil).json["messages"]?.array ?? []
            #expect(shown.count == 2 && shown.allSatisfy { $0["text"]?.string?.contains(code) == true })
            #expect(try await count("SELECT count(*) FROM message_counts", api) == 0)
            #expect(try await api.signInByPhone(sent[0].sessionInfo, sent[0].code).status == 200)
            #expect(try await api.listedMessages().map { $0["sessionInfo"]?.string } == [sent[1].sessionInfo])
        }
    }

    @Test(arguments: ["+15555551000", "+1 555-555-0100", "+1 (555) 010-0199", "+11235550123"])
    func `a number reserved for examples gets a code in development only`(_ example: String) async throws {
        for developmentNumbers in [DevelopmentNumbers(), nil] {
            try await TestAPI.with(developmentNumbers: developmentNumbers) { api async throws in
                guard developmentNumbers != nil else {
                    let answer = try await api.askForCode(example)
                    #expect(answer.errorMessage?.hasPrefix("INVALID_PHONE_NUMBER") == true, "\(answer.text)")
                    return
                }
                let signedIn = try await api.signInByPhone(example)
                let digits = example.filter { $0.isNumber || $0 == "+" }
                #expect(signedIn.json["phoneNumber"]?.string == digits, "\(signedIn.text)")
                for other in ["+1555555100", "+155555510000", "+11235550223", "5555551000"] {
                    let answer = try await api.askForCode(other)
                    #expect(answer.errorMessage?.hasPrefix("INVALID_PHONE_NUMBER") == true, "\(other): \(answer.text)")
                }
            }
        }
    }

    @Test func `an SDK request with verification disabled works for a fictional number, not for a real one`()
        async throws
    {
        try await withFictional { api async throws in
            let header = try #require(HTTPField.Name("X-Ios-Bundle-Identifier"))
            func ask(_ number: String, _ more: [String: JSONValue] = [:], iOS: Bool = false) async throws -> String? {
                let body = JSONValue.object(more.merging(["phoneNumber": .string(number)]) { first, _ in first })
                let answer = try await api.send(
                    .post,
                    "/v1/accounts:sendVerificationCode",
                    Array(body.text.utf8),
                    headers: iOS ? [header: "com.example.app"] : [:]
                )
                return answer.errorMessage
            }
            #expect(try await ask(number, iOS: true) == nil)
            #expect(try await ask("+1 650-555-3434", ["recaptchaToken": "NO_RECAPTCHA"]) == nil)
            #expect(try await ask(number, ["clientType": "CLIENT_TYPE_ANDROID"]) == nil)
            #expect(try await ask("+14155550100", iOS: true) == "MISSING_CLIENT_IDENTIFIER")
            #expect(try await ask("+14155550100") == "MISSING_APP_CREDENTIAL")
            #expect(try await count("SELECT count(*) FROM outbox", api) == 0)
        }
    }

    @Test func `a fictional number needs its configured code, once for each session`() async throws {
        try await withFictional { api async throws in
            let session = try #require(try await api.askForCode(number, with: [:]).json["sessionInfo"]?.string)
            #expect(try await api.signInByPhone(session, "123456").errorMessage == "INVALID_CODE")
            #expect(try await api.signInByPhone(session, code).status == 200)
            #expect(try await api.signInByPhone(session, code).errorMessage == "INVALID_SESSION_INFO")
            let guessed = try #require(try await api.askForCode(number, with: [:]).json["sessionInfo"]?.string)
            for _ in 1...5 { _ = try await api.signInByPhone(guessed, "123456") }
            #expect(try await api.signInByPhone(guessed, code).errorMessage == "TOO_MANY_ATTEMPTS_TRY_LATER")
            let late = try #require(try await api.askForCode(number, with: [:]).json["sessionInfo"]?.string)
            api.service.clock.advance(seconds: 600)
            #expect(try await api.signInByPhone(late, code).errorMessage == "SESSION_EXPIRED")
        }
    }

    @Test func `a sign-in with a fictional number creates an ordinary user with ordinary tokens`() async throws {
        try await withFictional { api async throws in
            let session = try #require(try await api.askForCode(number, with: [:]).json["sessionInfo"]?.string)
            let account = try await api.signInByPhone(session, code).json
            let fictional = try payload(of: account["idToken"]?.string)
            let sent = try await api.phoneCode("+14155550100")
            let real = try payload(of: try await api.signInByPhone(sent.sessionInfo, sent.code).json["idToken"]?.string)
            #expect(fictional.object?.keys.sorted() == real.object?.keys.sorted())
            #expect(fictional["firebase"]?["sign_in_provider"] == real["firebase"]?["sign_in_provider"])
            #expect(fictional["phone_number"] == .string(number))
            let claims = try await api.post(
                "/v1/accounts:update",
                ["localId": account["localId"] ?? .null, "customAttributes": #"{"tester":true}"#],
                bearer: "owner"
            )
            #expect(claims.status == 200)
            let refreshed = try await api.refresh(account["refreshToken"]?.string)
            #expect(try payload(of: refreshed.json["id_token"]?.string)["tester"] == true)
        }
    }

    @Test func `numbers and codes can be changed and removed at any time, and accounts stay`() async throws {
        try await withFictional { api async throws in
            func configure(_ numbers: JSONValue) async throws {
                let answer = try await api.send(
                    .patch,
                    "/admin/v2/projects/\(TestService.projectID)/config?updateMask=signIn.phoneNumber.testPhoneNumbers",
                    Array(JSONValue.object(["signIn": ["phoneNumber": ["testPhoneNumbers": numbers]]]).text.utf8),
                    bearer: "owner"
                )
                #expect(answer.status == 200, "\(answer.text)")
            }
            func session() async throws -> String {
                try #require(try await api.askForCode(number, with: [:]).json["sessionInfo"]?.string)
            }
            let account = try await api.signInByPhone(try await session(), code).json
            let before = try await session()
            try await configure([number: "111111"])
            #expect(try await api.signInByPhone(before, code).errorMessage == "INVALID_CODE")
            #expect(try await api.signInByPhone(before, "111111").json["localId"] == account["localId"])
            let removed = try await session()
            try await configure([:])
            #expect(try await api.signInByPhone(removed, "111111").errorMessage == "INVALID_SESSION_INFO")
            #expect(try await api.askForCode(number, with: [:]).errorMessage == "MISSING_APP_CREDENTIAL")
            let id = try #require(account["localId"]?.string.flatMap(UserID.init))
            #expect(try await api.service.user(id)?.phoneNumber?.rawValue == number)
            // A number that is real by now, and an account's.
            let answer = try await api.send(
                .patch,
                "/admin/v2/projects/\(TestService.projectID)/config?updateMask=signIn.phoneNumber.testPhoneNumbers",
                Array(#"{"signIn":{"phoneNumber":{"testPhoneNumbers":{"+16505553434":"111111"}}}}"#.utf8),
                bearer: "owner"
            )
            #expect(answer.errorMessage?.hasPrefix("INVALID_TESTING_PHONE_NUMBER : ") == true)
        }
    }

    @Test func `a fictional number may be an unassigned one, if it is well formed`() async throws {
        try await TestAPI.with(settings: Self.settings(["+15555550100": "000000"])) { api async throws in
            let session = try #require(
                try await api.askForCode("+1 555-555-0100", with: [:]).json["sessionInfo"]?.string
            )
            #expect(try await api.signInByPhone(session, "000000").json["phoneNumber"] == "+15555550100")
            #expect(try await api.askForCode("+15555550101").errorMessage == "INVALID_PHONE_NUMBER : Invalid format.")
        }
    }

    @Test func `real numbers' codes and conflicts about fictional numbers work as usual`() async throws {
        try await TestAPI.with(
            settings: Self.settings([number: .string(code)]).with(
                "signIn",
                [
                    "phoneNumber": ["enabled": true, "testPhoneNumbers": [number: .string(code)]],
                    "anonymous": ["enabled": true],
                ]
            )
        ) { api async throws in
            func session() async throws -> String {
                try #require(try await api.askForCode(number, with: [:]).json["sessionInfo"]?.string)
            }
            let owner = try await api.signInByPhone(try await session(), code).json
            let other = try await api.signUpAnonymously()
            let conflict = try await api.signInByPhone(try await session(), code, idToken: other["idToken"])
            #expect(conflict.json["temporaryProof"] != nil && conflict.json["idToken"] == nil)
            // What instant verification gives a client: a proof instead of a code.
            #expect(try await api.redeem(conflict.json, number).json["localId"] == owner["localId"])
        }
    }
}
