import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import Foundation
import HTTPTypes
import JSON
import Testing

@testable import Postgres

struct SendOobCodeTests {
    private let path = "/v1/accounts:sendOobCode"
    private let adminPath = "/v1/projects/\(TestService.projectID)/accounts:sendOobCode"

    @Test func `a reset is answered with the address in lower case`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("Ada@Example.com")
            let answer = try await api.post(path, ["requestType": "PASSWORD_RESET", "email": "ADA@example.com"])
            #expect(
                answer.json
                    == ["kind": "identitytoolkit#GetOobConfirmationCodeResponse", "email": "ada@example.com"]
            )
            let listed = try await api.listedCode("PASSWORD_RESET")
            #expect(listed.code.utf8.count == 54)
            #expect(
                listed.link
                    == "http://127.0.0.1:9099/emulator/action?mode=resetPassword&oobCode=\(listed.code)"
                    + "&apiKey=\(TestService.apiKey)&lang=en"
            )
        }
    }

    @Test func `the legacy name, numbers for types and snake case are understood`() async throws {
        try await TestAPI.with { api in
            let legacy = "/www.googleapis.com/identitytoolkit/v3/relyingparty/getOobConfirmationCode"
            let answer = try await api.post(
                legacy,
                ["request_type": 6, "email": "new@example.com", "continue_url": "http://localhost/a"]
            )
            #expect(answer.status == 200)
            #expect(try await api.listedCode("EMAIL_SIGNIN").email == "new@example.com")
            let inText: JSONValue = [
                "requestType": "6", "email": "other@example.com", "continueUrl": "http://localhost/a",
            ]
            #expect(try await api.post(path, inText).status == 200, "a number may stand in a text")
            for none in ["0", ""] as [JSONValue] {
                #expect(try await api.post(path, ["requestType": none]).errorMessage == "MISSING_REQ_TYPE")
            }
            for unknown in [9, "9", -1] as [JSONValue] {
                let answer = try await api.post(path, ["requestType": unknown])
                #expect(answer.errorMessage?.hasPrefix("Invalid value at 'requestType'") == true, "\(unknown)")
            }
        }
    }

    @Test func `missing fields are reported in the documented order`() async throws {
        try await TestAPI.with { api in
            func message(_ body: JSONValue) async throws -> String? {
                try await api.post(path, body).errorMessage
            }
            #expect(try await message([:]) == "MISSING_REQ_TYPE")
            #expect(try await message(["requestType": "OOB_REQ_TYPE_UNSPECIFIED"]) == "MISSING_REQ_TYPE")
            #expect(try await message(["requestType": "NONSENSE"])?.hasPrefix("Invalid value at 'requestType'") == true)
            #expect(
                try await message(["requestType": "PASSWORD_RESET", "returnOobLink": true]) == "INSUFFICIENT_PERMISSION"
            )
            for type in ["PASSWORD_RESET", "EMAIL_SIGNIN"] {
                #expect(try await message(["requestType": .string(type)]) == "MISSING_EMAIL")
                #expect(try await message(["requestType": .string(type), "email": ""]) == "MISSING_EMAIL")
                #expect(try await message(["requestType": .string(type), "email": "no"]) == "INVALID_EMAIL")
            }
            #expect(
                try await message(["requestType": "PASSWORD_RESET", "email": "no@example.com"]) == "EMAIL_NOT_FOUND"
            )
            #expect(try await message(["requestType": "VERIFY_EMAIL"]) == "INVALID_ID_TOKEN")
            #expect(try await message(["requestType": "VERIFY_EMAIL", "idToken": "x"]) == "INVALID_ID_TOKEN")
            #expect(try await message(["requestType": "VERIFY_AND_CHANGE_EMAIL"]) == "MISSING_NEW_EMAIL")
            #expect(
                try await message(["requestType": "VERIFY_AND_CHANGE_EMAIL", "newEmail": "no"]) == "INVALID_NEW_EMAIL"
            )
            #expect(
                try await message(["requestType": "VERIFY_AND_CHANGE_EMAIL", "newEmail": "a@example.com"])
                    == "MISSING_ID_TOKEN"
            )
            let unimplemented = try await api.post(path, ["requestType": "RECOVER_EMAIL"])
            #expect(unimplemented.status == 501)

            let anonymous = try await api.post("/v1/accounts:signUp", [:]).json["idToken"] ?? .null
            #expect(try await message(["requestType": "VERIFY_EMAIL", "idToken": anonymous]) == "MISSING_EMAIL")
        }
    }

    @Test func `a sign-in link is refused if the project does not allow links`() async throws {
        let settings = ProjectSettings.developmentDefaults.with(
            "signIn",
            ["email": ["enabled": true, "passwordRequired": true]]
        )
        try await TestAPI.with(settings: settings) { api in
            let answer = try await api.post(path, ["requestType": "EMAIL_SIGNIN"])
            #expect(answer.errorMessage == "OPERATION_NOT_ALLOWED")
            let followed = try await api.post("/v1/accounts:signInWithEmailLink", [:])
            #expect(followed.errorMessage == "OPERATION_NOT_ALLOWED")
        }
    }

    /// Settings, and the expected answers.
    private let refusedSettings: [(JSONValue, String)] = [
        (["continueUrl": "not a url"], "INVALID_CONTINUE_URI : Invalid value for 'continueUrl'."),
        (["continueUrl": "/path"], "INVALID_CONTINUE_URI : Invalid value for 'continueUrl'."),
        (["continueUrl": "javascript:alert(1)//localhost"], "INVALID_CONTINUE_URI : Invalid value for 'continueUrl'."),
        (
            ["continueUrl": #"http://evil.example\@localhost/"#],
            "INVALID_CONTINUE_URI : Invalid value for 'continueUrl'."
        ),
        (["continueUrl": "http://localhost@evil.example/"], "INVALID_CONTINUE_URI : Invalid value for 'continueUrl'."),
        (["continueUrl": "http://evil.example/"], "UNAUTHORIZED_DOMAIN : Domain not allowlisted by project"),
        (["continueUrl": "http://sub.localhost/"], "UNAUTHORIZED_DOMAIN : Domain not allowlisted by project"),
        (["canHandleCodeInApp": true], "MISSING_CONTINUE_URI"),
        (["iOSBundleId": "com.example.app"], "MISSING_CONTINUE_URI"),
        (["continueUrl": "http://localhost", "androidInstallApp": true], "MISSING_ANDROID_PACKAGE_NAME"),
        (["continueUrl": "http://localhost", "androidMinimumVersion": "12"], "MISSING_ANDROID_PACKAGE_NAME"),
        (["continueUrl": "http://localhost", "iOSAppStoreId": "123"], "MISSING_IOS_BUNDLE_ID"),
        (["continueUrl": "http://localhost", "dynamicLinkDomain": "x.example"], "INVALID_DYNAMIC_LINK_DOMAIN"),
        (
            ["continueUrl": "http://localhost", "linkDomain": "x.example"],
            "INVALID_HOSTING_LINK_DOMAIN : The provided hosting link domain is not configured in Firebase Hosting or is "
                + "not owned by the current project. This cannot be a default hosting domain (web.app or "
                + "firebaseapp.com)."
        ),
    ]

    @Test func `invalid or unauthorized link settings are refused`() async throws {
        try await TestAPI.with { api in
            for (settings, message) in refusedSettings {
                let answer = try await api.post(path, settings.with("requestType", "EMAIL_SIGNIN"))
                #expect(answer.status == 400)
                #expect(answer.errorMessage == message)
            }
        }
    }

    @Test func `the link contains the continue URL unchanged`() async throws {
        let domains: JSONValue = ["localhost", "app.example.com"]
        try await TestAPI.with(settings: ProjectSettings.developmentDefaults.with("authorizedDomains", domains)) {
            api in
            for url in [
                "http://localhost:8080/finish?uid=1&b=%2F#end", "https://app.example.com",
                "HTTPS://APP.Example.com/ä",
            ] {
                api.service.clock.advance(seconds: 1)
                let answer = try await api.post(
                    path,
                    ["requestType": "EMAIL_SIGNIN", "email": "a@example.com", "continueUrl": .string(url)]
                )
                #expect(answer.status == 200, "\(answer.text)")
                let link = try await api.listedCode("EMAIL_SIGNIN").link
                let encoded = try #require(link.split(separator: "&continueUrl=").last)
                #expect(String(encoded).removingPercentEncoding == url)
            }
        }
    }

    @Test func `a link for an app is on the project's first link domain, unless the request names another`()
        async throws
    {
        let settings = ProjectSettings.developmentDefaults.with(
            "concord",
            ["linkDomains": ["app.example.com", "other.example.com"]]
        )
        try await TestAPI.with(settings: settings) { api in
            func link(_ more: JSONValue) async throws -> String {
                api.service.clock.advance(seconds: 1)
                var body = more.with("requestType", "EMAIL_SIGNIN").with("email", "a@example.com")
                body = body.with("continueUrl", "http://localhost/")
                #expect(try await api.post(path, body).status == 200)
                return try await api.listedCode("EMAIL_SIGNIN").link
            }
            #expect(try await link([:]).hasPrefix("http://127.0.0.1:9099/emulator/action?mode=signIn&oobCode="))
            let first = try await link(["canHandleCodeInApp": true, "iOSBundleId": "com.example.app"])
            let page = "link=http%3A%2F%2F127.0.0.1%3A9099%2Femulator%2Faction%3Fmode%3DsignIn%26oobCode%3D"
            #expect(first.hasPrefix("https://app.example.com/__/auth/links?\(page)"))
            #expect(first.hasSuffix("&ibi=com.example.app"))
            let other = try await link(["canHandleCodeInApp": true, "linkDomain": "other.example.com"])
            #expect(other.hasPrefix("https://other.example.com/__/auth/links?\(page)"))
        }
    }

    @Test func `the link has the requested language, or the default if that is invalid`() async throws {
        try await TestAPI.with { api in
            for (asked, used) in [("pt-BR", "pt-BR"), ("&x=1", "en")] {
                api.service.clock.advance(seconds: 1)
                let body: JSONValue = ["requestType": "EMAIL_SIGNIN", "email": "a@example.com"]
                let header = try #require(HTTPField.Name("X-Firebase-Locale"))
                let answer = try await api.send(.post, path, Array(body.text.utf8), headers: [header: asked])
                #expect(answer.status == 200)
                #expect(try await api.listedCode("EMAIL_SIGNIN").link.contains("&lang=\(used)"))
            }
        }
    }

    @Test func `an administrator gets the link and nothing is mailed`() async throws {
        try await TestAPI.with(settings: protectedSettings, callers: DevelopmentCallers()) { api in
            _ = try await api.signUp("ada@example.com")
            let types: [JSONValue] = ["PASSWORD_RESET", "EMAIL_SIGNIN", "VERIFY_EMAIL"]
            var codes: [JSONValue] = []
            for type in types {
                let answer = try await api.post(
                    adminPath,
                    ["requestType": type, "email": "ada@example.com", "returnOobLink": true],
                    key: nil,
                    bearer: "owner"
                )
                let code = try #require(answer.json["oobCode"]?.string)
                #expect(answer.json["oobLink"]?.string?.contains("oobCode=\(code)&") == true)
                #expect(answer.json["email"] == "ada@example.com")
                #expect(try await api.reset(code).json["requestType"] == type)
                codes.append(.string(code))
            }
            #expect(try await api.service.database.count("SELECT count(*) FROM outbox") == 0)
            // Test suites look for them there.
            let listed = try await api.listedCodes()
            #expect(listed.map { $0["requestType"] } == types)
            #expect(listed.map { $0["oobCode"] } == codes)
            #expect(try await api.reset(codes[0].string ?? "", to: "another horse").status == 200)
            let remaining = try await api.listedCodes()
            #expect(!remaining.contains { $0["oobCode"] == codes[0] })

            // Administrators get the true answer even if other callers do not.
            @Sendable func message(_ body: JSONValue) async throws -> String? {
                try await api.post(adminPath, body, key: nil, bearer: "owner").errorMessage
            }
            #expect(try await message(["requestType": "VERIFY_EMAIL", "returnOobLink": true]) == "MISSING_EMAIL")
            #expect(
                try await message(["requestType": "VERIFY_EMAIL", "email": "no@example.com"]) == "USER_NOT_FOUND"
            )
            _ = try await api.signUp("bob@example.com")
            #expect(
                try await message([
                    "requestType": "VERIFY_AND_CHANGE_EMAIL", "email": "ada@example.com",
                    "newEmail": "bob@example.com",
                ]) == "EMAIL_EXISTS"
            )
            let other = try await api.post(
                "/v1/projects/other-project/accounts:sendOobCode",
                ["requestType": "EMAIL_SIGNIN"],
                key: nil,
                bearer: "owner"
            )
            #expect(other.status == 404)
            let tenant = try await api.post(
                "/v1/projects/\(TestService.projectID)/tenants/t1/accounts:sendOobCode",
                ["requestType": "EMAIL_SIGNIN"],
                key: nil,
                bearer: "owner"
            )
            #expect(tenant.errorMessage == "TENANT_NOT_FOUND")
        }
    }

    @Test func `if addresses are protected, an administrator gets no reset link for an unknown address`() async throws {
        let mailed: JSONValue = ["requestType": "PASSWORD_RESET", "email": "No@example.com"]
        let requests: [JSONValue] = [mailed, mailed.with("returnOobLink", true)]
        let expected: JSONValue = [
            "kind": "identitytoolkit#GetOobConfirmationCodeResponse", "email": "no@example.com",
        ]
        try await TestAPI.withAdministrator(settings: protectedSettings) { api in
            for request in requests {
                let answer = try await api.admin("accounts:sendOobCode", request)
                #expect(answer.status == 200)
                #expect(answer.json == expected)
            }
            #expect(try await api.listedCodes().isEmpty)
            let usable = try await api.service.database.count(
                "SELECT count(*) FROM one_time_codes WHERE consumed_at IS NULL"
            )
            #expect(usable == 0)
        }
        try await TestAPI.withAdministrator { api in
            for request in requests {
                let answer = try await api.admin("accounts:sendOobCode", request)
                #expect(answer.errorMessage == "EMAIL_NOT_FOUND")
            }
        }
    }

    @Test func `if addresses are protected, a reset for an unknown address has the same response and rows`()
        async throws
    {
        try await TestAPI.with(settings: protectedSettings) { api in
            _ = try await api.signUp("ada@example.com")
            func ask(_ email: String) async throws -> TestAPI.Answer {
                let body: JSONValue = ["requestType": "PASSWORD_RESET", "email": .string(email)]
                let requestID = try #require(HTTPField.Name("X-Request-Id"))
                return try await api.send(.post, path, Array(body.text.utf8), headers: [requestID: "a-1"])
            }
            let known = try await ask("ada@example.com")
            let unknown = try await ask("eve@example.com")
            #expect(known.status == 200)
            #expect(unknown.status == 200)
            #expect(known.text.replacingOccurrences(of: "ada@", with: "eve@") == unknown.text)
            #expect(known.headers == unknown.headers)

            let database = api.service.database
            #expect(try await database.count("SELECT count(*) FROM one_time_codes") == 2)
            #expect(try await database.count("SELECT count(*) FROM outbox") == 2)
            #expect(try await database.count("SELECT count(*) FROM outbox WHERE state = 'pending'") == 2)
            #expect(try await database.count("SELECT count(*) FROM outbox WHERE is_withheld") == 1)
            #expect(try await database.count("SELECT count(DISTINCT length(sealed_payload)) FROM outbox") == 1)
            #expect(
                try await database.count("SELECT count(*) FROM one_time_codes WHERE consumed_at IS NULL") == 1
            )
            #expect(try await api.listedCodes().count == 1)
        }
    }

    @Test
    func `if addresses are protected, a change to a taken address has the same response, and its owner is notified`()
        async throws
    {
        try await TestAPI.with(settings: protectedSettings) { api in
            _ = try await api.signUp("ada@example.com")
            let mallory = try await api.signUp("mallory@example.com")
            func ask(_ newEmail: String) async throws -> TestAPI.Answer {
                try await api.post(
                    path,
                    [
                        "requestType": "VERIFY_AND_CHANGE_EMAIL", "idToken": mallory["idToken"] ?? .null,
                        "newEmail": .string(newEmail),
                    ]
                )
            }
            let free = try await ask("free@example.com")
            let used = try await ask("ada@example.com")
            #expect(free.status == 200)
            #expect(free.text == used.text)
            #expect(try await api.listedCodes().count == 1)
            // Two messages wait: the code for the free address, the warning for the owner of the other.
            let database = api.service.database
            #expect(try await database.count("SELECT count(*) FROM outbox WHERE state = 'pending'") == 2)
            let notices = try await api.service.operations.store
                .waitingMessages(.mail, countMax: 10, tenant: .project)
            #expect(notices.count == 2)
        }
    }

    @Test
    func `if addresses are not protected, a change to a taken address is refused, and to the own address accepted`()
        async throws
    {
        try await TestAPI.with { api in
            _ = try await api.signUp("ada@example.com")
            let bob = try await api.signUp("bob@example.com")
            func ask(_ newEmail: String) async throws -> TestAPI.Answer {
                try await api.post(
                    path,
                    [
                        "requestType": "VERIFY_AND_CHANGE_EMAIL", "idToken": bob["idToken"] ?? .null,
                        "newEmail": .string(newEmail),
                    ]
                )
            }
            #expect(try await ask("ada@example.com").errorMessage == "EMAIL_EXISTS")
            #expect(try await ask("BOB@example.com").status == 200)
            api.service.clock.advance(seconds: 1)
            let listed = try await ask("New@example.com")
            #expect(listed.json["email"] == "bob@example.com")
            #expect(try await api.listedCode("VERIFY_AND_CHANGE_EMAIL").newEmail == "new@example.com")
            api.service.clock.advance(seconds: 301)
            #expect(try await ask("late@example.com").errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
        }
    }

    /// Spellings of one address: an account's, and a stranger's, whose mail may arrive in another mailbox.
    private static let spellings: [(account: String, stranger: String)] = [
        ("victim@example.com", "VICTIM@Example.COM"),
        ("Victim@Example.com", "victim@example.com"),
        ("jos\u{E9}@example.com", "jose\u{301}@example.com"),
        ("jose\u{301}@example.com", "JOS\u{C9}@example.com"),
    ]

    /// The recipients of the mails that wait, as bytes: two normal forms of one text are equal strings.
    private func recipients(_ api: TestAPI) async throws -> [[UInt8]] {
        let operations = api.service.operations
        let mails = try await operations.mailsWithUsableCodes(tenant: .project)
        return try await (mails + operations.notices(tenant: .project)).map { Array($0.to.utf8) }
    }

    @Test(arguments: spellings, [false, true])
    func `a mail requested with another spelling of an address is sent to the account's spelling`(
        spelling: (account: String, stranger: String),
        isProtected: Bool
    ) async throws {
        try await TestAPI.with(settings: settings(protectsEmails: isProtected)) { api in
            _ = try await api.signUp(spelling.account)
            for type in ["PASSWORD_RESET", "EMAIL_SIGNIN"] {
                api.service.clock.advance(seconds: 1)
                let body: JSONValue = ["requestType": .string(type), "email": .string(spelling.stranger)]
                let answer = try await api.post(path, body)
                #expect(answer.status == 200)
                // The account's spelling would show that there is an account.
                let answered = try #require(answer.json["email"]?.string)
                #expect(answered.utf8.elementsEqual(spelling.stranger.lowercased().utf8))
            }
            #expect(try await recipients(api) == Array(repeating: Array(spelling.account.utf8), count: 2))
        }
    }

    @Test(arguments: spellings)
    func `a change to another spelling of an account's address is mailed to the account's spelling`(
        spelling: (account: String, stranger: String)
    ) async throws {
        try await TestAPI.with(settings: protectedSettings) { api in
            let victim = try await api.signUp(spelling.account)
            let mallory = try await api.signUp("mallory@example.com")
            for session in [victim, mallory] {
                let body: JSONValue = [
                    "requestType": "VERIFY_AND_CHANGE_EMAIL", "idToken": session["idToken"] ?? .null,
                    "newEmail": .string(spelling.stranger),
                ]
                #expect(try await api.post(path, body).status == 200)
            }
            // The code that proves the victim's address, and the warning that another person wants it.
            #expect(try await recipients(api) == Array(repeating: Array(spelling.account.utf8), count: 2))
        }
    }

    @Test(arguments: spellings)
    func `a sign-in link mailed to another spelling before the account existed is refused`(
        spelling: (account: String, stranger: String)
    ) async throws {
        try await TestAPI.with { api in
            let early = try await api.code("EMAIL_SIGNIN", for: spelling.stranger)
            #expect(try await recipients(api) == [Array(spelling.stranger.utf8)])
            _ = try await api.signUp(spelling.account)
            try await api.service.prove(spelling.account)
            #expect(try await api.follow(early, as: spelling.stranger).errorMessage == "INVALID_OOB_CODE")
            let own = try await api.code("EMAIL_SIGNIN", for: spelling.stranger)
            #expect(try await api.follow(own, as: spelling.stranger).status == 200)
        }
    }

    @Test func `no table contains a code or a link in the clear`() async throws {
        try await TestAPI.with { api in
            let ada = try await api.signUp("ada@example.com")
            _ = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            _ = try await api.code("EMAIL_SIGNIN", for: "ada@example.com")
            _ = try await api.code("VERIFY_EMAIL", session: ada["idToken"]?.string)
            _ = try await api.code(
                "VERIFY_AND_CHANGE_EMAIL",
                session: ada["idToken"]?.string,
                newEmail: "new@example.com"
            )
            try await api.service.replaceAddress("ada@example.com", by: "other@example.com")
            let codes = try await api.listedCodes().compactMap { $0["oobCode"]?.string }
            #expect(codes.count == 5)

            let tables: [String] = try await api.service.database.rows(
                "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
            )
            var dump = ""
            for table in tables {
                let query = Query<String>("SELECT entry::text FROM \(SQL(text: table)) AS entry")
                dump += try await api.service.database.rows(query).joined(separator: "\n")
            }
            #expect(dump.contains("ada@example.com"))
            for code in codes {
                let bytes = try #require(Base64URL.decode(code))
                for clear in [code, Hexadecimal.encode(Array(code.utf8)), Hexadecimal.encode(bytes)] {
                    #expect(!dump.contains(clear))
                }
            }
            for clear in ["oobCode", "/emulator/action"] {
                #expect(!dump.contains(clear) && !dump.contains(Hexadecimal.encode(Array(clear.utf8))))
            }
        }
    }
}
