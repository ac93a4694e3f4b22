import AccountLinking
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountOperations

struct SendVerificationCodeTests {
    private let number = "+16505553434"

    /// Development's settings, with some about messages.
    private func settings(_ sms: JSONValue) -> JSONValue {
        ProjectSettings.developmentDefaults.with("concord", ["sms": sms])
    }

    private func messages(_ api: TestAPI) async throws -> Int64? {
        let query: Query<Int64> = "SELECT count(*) FROM outbox WHERE kind = 'sms'"
        return try await api.service.database.rows(query).first
    }

    @Test func `unassigned numbers are refused with a reason`() async throws {
        try await TestAPI.with { api async throws in
            let malformed = [
                "", " ", "+", "6505553434", "+1", "+1650", "+0123456789", "+1 650 555 3434 ext. 5", "+1-800-FLOWERS",
                "+16505553434;", "++16505553434", "+1650555343\u{0664}", "tel:+16505553434", "+9991234567",
                "+15555550100", "+447700900123", "+" + String(repeating: "1", count: 100_000),
                "+888123456789012345678901234567890",
            ]
            for number in malformed {
                let answer = try await api.askForCode(number)
                let message = answer.errorMessage ?? ""
                #expect(message.hasPrefix("INVALID_PHONE_NUMBER : "), "\(number.prefix(40)): \(answer.text)")
                if number.count > 4 { #expect(!message.contains(number.prefix(8)), "quotes nothing") }
            }
            #expect(
                try await api.post("/v1/accounts:sendVerificationCode", ["recaptchaToken": "x"]).errorMessage
                    == "INVALID_PHONE_NUMBER : Invalid format."
            )
            #expect(try await api.askForCode("+1650").errorMessage == "INVALID_PHONE_NUMBER : TOO_SHORT")
            #expect(try await api.askForCode("+1650555343455").errorMessage == "INVALID_PHONE_NUMBER : TOO_LONG")
            #expect(try await messages(api) == 0)
        }
    }

    @Test func `all spellings of a number are one number`() async throws {
        try await TestAPI.with { api async throws in
            let account = try await api.signInByPhone("+44 (0) 20.7183-8750").json
            #expect(account["phoneNumber"] == "+442071838750")
            #expect(try await api.signInByPhone("+442071838750").json["localId"] == account["localId"])
        }
    }

    @Test(arguments: ["/v1/accounts:verifyIosClient", "/identitytoolkit/v3/relyingparty/verifyClient"])
    func `an iOS app that pushes do not reach uses a challenge`(path: String) async throws {
        try await TestAPI.with { api async throws in
            let push: JSONValue = ["appToken": "0a0b0c", "isSandbox": true]
            #expect(try await api.post(path, push).errorMessage == "INVALID_APP_CREDENTIAL")
            #expect(try await api.post(path, ["appToken": ""]).errorMessage == "MISSING_IOS_APP_TOKEN")
            #expect(try await api.post(path, ["appToken": 7]).status == 400)
            #expect(try await api.post(path, ["appToken": "0a", "isSandbox": 7]).status == 400)
            let receipt: [String: JSONValue] = ["iosReceipt": "r", "iosSecret": "s"]
            #expect(try await api.askForCode(number, with: receipt).errorMessage == "INVALID_APP_CREDENTIAL")
            #expect(try await messages(api) == 0)
            #expect(try await api.signInByPhone(number).json["phoneNumber"] == .string(number))
        }
    }

    @Test func `a message is sent only if the request proves its app`() async throws {
        try await TestAPI.with { api async throws in
            let forms: [([String: JSONValue], String)] = [
                ([:], "MISSING_APP_CREDENTIAL"),
                (["recaptchaToken": ""], "MISSING_APP_CREDENTIAL"),
                (["captchaResponse": "NO_RECAPTCHA", "clientType": "CLIENT_TYPE_IOS"], "MISSING_APP_CREDENTIAL"),
                (["iosReceipt": "r", "iosSecret": "s"], "INVALID_APP_CREDENTIAL"),
                (["iosReceipt": "r"], "INVALID_APP_CREDENTIAL"),
                (["playIntegrityToken": "t"], "APP_NOT_VERIFIED"),
                (["safetyNetToken": "t"], "APP_NOT_VERIFIED"),
                (["captchaResponse": "t", "clientType": "CLIENT_TYPE_WEB"], "INVALID_RECAPTCHA_TOKEN"),
                (["captchaResponse": "t", "clientType": 3, "recaptchaVersion": 1], "INVALID_RECAPTCHA_TOKEN"),
            ]
            for (form, message) in forms {
                #expect(try await api.askForCode(number, with: form).errorMessage == message, "\(form)")
            }
            let header = try #require(HTTPField.Name("X-Ios-Bundle-Identifier"))
            let fromIOS = try await api.send(
                .post,
                "/v1/accounts:sendVerificationCode",
                Array(#"{"phoneNumber":"+16505553434"}"#.utf8),
                headers: [header: "com.example.app"]
            )
            #expect(fromIOS.errorMessage == "MISSING_CLIENT_IDENTIFIER")
            #expect(try await messages(api) == 0)
            #expect(try await api.askForCode(number, with: ["recaptchaToken": "anything"]).status == 200)
            #expect(try await messages(api) == 1)
        }
    }

    @Test func `without a verifier apps are refused, unless the operator accepts that`() async throws {
        try await TestService.with { service async throws in
            func denial(_ apps: AppVerifiers, _ credential: AppCredential) async throws -> Denial? {
                var operations = service.operations
                operations.apps = apps
                let request = PhoneCodeRequest(number: number, credential: credential)
                switch try await outcome(await operations.sendPhoneCode(request, tenant: .project)) {
                case .success: return nil
                case .denied(let denial): return denial
                }
            }
            let production = AppVerifiers()
            #expect(try await denial(production, .none) == .phone(.missingAppCredential))
            #expect(try await denial(production, .recaptcha(token: "x")) == .phone(.captchaCheckFailed))
            struct Suspicious: AppVerifying {
                func isGenuine(_ request: AppRequest) async throws -> Bool { false }
            }
            let suspicious = AppVerifiers(recaptcha: Suspicious(), pushes: DevelopmentAppVerifier())
            #expect(try await denial(suspicious, .recaptcha(token: "x")) == .phone(.captchaCheckFailed))
            #expect(try await denial(suspicious, .push(receipt: "r", secret: "s")) == nil)
            #expect(try await denial(AppVerifiers(acceptsUnverified: true), .none) == nil)
        }
    }

    @Test func `a second request within the window gets another session for the same code, without a message`()
        async throws
    {
        try await TestAPI.with(settings: settings(["windowSeconds": 30])) { api async throws in
            let first = try await api.phoneCode(number)
            api.service.clock.advance(seconds: 29)
            let again = try await api.askForCode(number).json["sessionInfo"]?.string
            let second = try #require(again)
            #expect(second != first.sessionInfo)
            #expect(try await messages(api) == 1)
            // Wrong codes count for the code, whichever session brings them.
            #expect(try await api.signInByPhone(first.sessionInfo, first.wrong).errorMessage == "INVALID_CODE")
            #expect(try await api.signInByPhone(second, first.code).json["isNewUser"] == true)
            #expect(
                try await api.signInByPhone(first.sessionInfo, first.code).errorMessage == "INVALID_SESSION_INFO",
                "one code, one sign-in"
            )
            #expect(try await api.askForCode(number).status == 200)
            #expect(try await messages(api) == 2, "a used code is not shared")
            api.service.clock.advance(seconds: 30)
            #expect(try await api.askForCode(number).status == 200)
            #expect(try await messages(api) == 3, "the window is over")
        }
    }

    @Test func `a message has at most ten sessions`() async throws {
        try await TestAPI.with(settings: settings(["windowSeconds": 30])) { api async throws in
            for _ in 1...10 { #expect(try await api.askForCode(number).status == 200) }
            #expect(try await api.askForCode(number).errorMessage == "TOO_MANY_ATTEMPTS_TRY_LATER")
            #expect(try await messages(api) == 1)
            api.service.clock.advance(seconds: 30)
            #expect(try await api.askForCode(number).status == 200)
        }
    }

    @Test func `a message is in the language that the client requests`() async throws {
        try await TestAPI.with { api async throws in
            let header = try #require(HTTPField.Name("X-Firebase-Locale"))
            func text(_ locale: String?) async throws -> String {
                let answer = try await api.send(
                    .post,
                    "/v1/accounts:sendVerificationCode",
                    Array(#"{"phoneNumber":"+16505553434","recaptchaToken":"x"}"#.utf8),
                    headers: locale.map { [header: $0] } ?? [:]
                )
                let session = answer.json["sessionInfo"]?.string
                let message = try await api.service.operations.messagesWithUsableCodes(tenant: .project)
                    .first { $0.sessionInfo == session }
                let found = try #require(message)
                return found.text.replacing(found.code, with: "…")
            }
            #expect(try await text(nil) == "… is your verification code for demo-test.")
            #expect(try await text("th") == "… คือรหัสยืนยันของคุณสำหรับ demo-test")
            for taiwan in ["zh-TW", "zh-Hant-HK", "ZH-tw"] {
                #expect(try await text(taiwan) == "… 是您在 demo-test 的驗證碼。")
            }
            for other in ["xx", "not a tag", "zh-CN"] {
                #expect(try await text(other) == "… is your verification code for demo-test.")
            }
        }
        let thai: JSONValue = ["defaultLocale": "th", "sendSms": ["smsTemplate": ["content": "%APP_NAME%: no code"]]]
        try await TestAPI.with(settings: ProjectSettings.developmentDefaults.with("notification", thai)) {
            api async throws in
            _ = try await api.phoneCode(number)
            let messages = try await api.service.operations.messagesWithUsableCodes(tenant: .project)
            #expect(messages.first?.text.hasSuffix("คือรหัสยืนยันของคุณสำหรับ demo-test") == true)
        }
    }

    @Test func `region rules apply to messages, but not to fictional numbers`() async throws {
        let development = ProjectSettings.developmentDefaults
        let fictional: JSONValue = [
            "phoneNumber": ["enabled": true, "testPhoneNumbers": ["+442071838750": "123456"]]
        ]
        for regions: JSONValue in [
            ["allowlistOnly": ["allowedRegions": ["US", "DE"]]], ["allowByDefault": ["disallowedRegions": ["GB"]]],
        ] {
            let settings = development.with("smsRegionConfig", regions).with("signIn", fictional)
            try await TestAPI.with(settings: settings) { api async throws in
                #expect(
                    try await api.askForCode("+442071838751").errorMessage
                        == "OPERATION_NOT_ALLOWED : SMS unable to be sent until this region enabled by the app developer."
                )
                #expect(try await api.askForCode("+442071838750", with: [:]).status == 200)
                #expect(try await api.askForCode(number).status == 200)
            }
        }
        let none: JSONValue = ["allowlistOnly": ["allowedRegions": []]]
        try await TestAPI.with(settings: development.with("smsRegionConfig", none)) { api async throws in
            #expect(try await api.askForCode(number).errorMessage?.hasPrefix("OPERATION_NOT_ALLOWED : ") == true)
        }
    }
}
