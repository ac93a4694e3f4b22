import AccountLinking
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// Second factors over HTTP: enrolled, asked for, withdrawn.
struct SecondFactorTests {
    private let number = "+16505553434"
    private let pendingInvalid = "INVALID_MFA_PENDING_CREDENTIAL"

    private func count(_ sql: Query<Int64>, _ api: TestAPI) async throws -> Int64? {
        try await api.service.database.rows(sql).first
    }

    // MARK: Enrolling

    @Test func `an authenticator app can be enrolled, is required, and is named in the token`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.factorOwner()
            let (app, sessionInfo, started) = try await api.startApp(owner)
            let info = try #require(started.json["totpSessionInfo"])
            #expect(info["sharedSecretKey"]?.string?.utf8.count == 32)
            #expect(info["hashingAlgorithm"] == "SHA1" && info["periodSec"] == 30)
            #expect(info["verificationCodeLength"] == 6)
            #expect(info["finalizeEnrollmentTime"] == "2025-06-15T15:21:40.250Z")

            let finished = try await api.finishApp(owner, sessionInfo, api.code(of: app), name: "my app")
            #expect(finished.status == 200, "\(finished.text)")
            #expect(finished.json["totpAuthInfo"] == [:])
            let token = try payload(of: finished.json["idToken"]?.string)["firebase"]
            #expect(token?["sign_in_second_factor"] == "totp" && token?["sign_in_provider"] == "password")
            let found = try await api.post("/v1/accounts:lookup", ["idToken": finished.json["idToken"] ?? .null])
            let listed = try #require(found.json["users"]?.array?.first?["mfaInfo"]?.array)
            #expect(listed.count == 1 && listed[0]["totpInfo"] == [:] && listed[0]["phoneInfo"] == nil)
            #expect(listed[0]["displayName"] == "my app" && listed[0]["enrolledAt"] == "2025-06-15T15:06:40.250Z")
            #expect(listed[0]["mfaEnrollmentId"]?.string?.utf8.count == 28)
            #expect(token?["second_factor_identifier"] == listed[0]["mfaEnrollmentId"])

            #expect(try await api.refresh(owner.refreshToken).errorMessage == "TOKEN_EXPIRED")
            #expect(try await api.refresh(finished.json["refreshToken"]?.string).status == 200)

            api.service.clock.advance(seconds: 30)
            let first = try await api.firstStep(owner)
            #expect(first.json["idToken"] == nil && first.json["refreshToken"] == nil, "\(first.text)")
            #expect(first.json["localId"] == .string(owner.id.rawValue) && first.json["registered"] == true)
            #expect(first.json["mfaInfo"]?.array?.map { $0["mfaEnrollmentId"] } == [listed[0]["mfaEnrollmentId"]])
            let pending = try #require(first.json["mfaPendingCredential"]?.string)
            let id = try #require(listed[0]["mfaEnrollmentId"]?.string)
            let second = try await api.secondStep(pending, id, api.code(of: app))
            #expect(second.status == 200, "\(second.text)")
            let entered = try payload(of: second.json["idToken"]?.string)
            #expect(entered["firebase"]?["sign_in_second_factor"] == "totp")
            #expect(entered["firebase"]?["second_factor_identifier"] == .string(id))
            #expect(
                entered["firebase"]?["sign_in_provider"] == "password" && entered["sub"]?.string == owner.id.rawValue
            )
            #expect(try await count("SELECT count(*) FROM sessions", api) == 2)
            let refreshed = try await api.refresh(second.json["refreshToken"]?.string)
            let kept = try payload(of: refreshed.json["id_token"]?.string)["firebase"]
            #expect(kept?["sign_in_second_factor"] == "totp", "the factor belongs to the session")
        }
    }

    @Test func `a number can be enrolled, is required without being shown, and is named in the token`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollNumber(api.factorOwner(), number)
            let enrolled = try payload(of: owner.idToken)["firebase"]
            #expect(enrolled?["sign_in_second_factor"] == "phone")
            let found = try await api.post("/v1/accounts:lookup", ["idToken": .string(owner.idToken)])
            let user = try #require(found.json["users"]?.array?.first)
            #expect(user["mfaInfo"]?.array?.first?["phoneInfo"] == .string(number))
            #expect(user["mfaInfo"]?.array?.first?["unobfuscatedPhoneInfo"] == nil)
            #expect(user["phoneNumber"] == nil, "a second factor is no way in")

            let first = try await api.firstStep(owner)
            let hint = try #require(first.json["mfaInfo"]?.array?.first)
            #expect(hint["phoneInfo"] == "+*******3434" && hint["displayName"] == "my phone")
            #expect(!first.text.contains("650555"), "the number is masked")
            let pending = try #require(first.json["mfaPendingCredential"]?.string)
            let id = try #require(hint["mfaEnrollmentId"]?.string)
            let sent = try await api.sentCode(api.askForSecondStepCode(pending, id), "phoneResponseInfo")
            let second = try await api.secondStep(pending, sent)
            #expect(second.json["phoneAuthInfo"] == ["phoneNumber": .string(number)], "\(second.text)")
            let entered = try payload(of: second.json["idToken"]?.string)["firebase"]
            #expect(entered?["sign_in_second_factor"] == "phone" && entered?["second_factor_identifier"] == .string(id))
            // Neither is good again.
            #expect(try await api.secondStep(pending, sent).errorMessage == pendingInvalid)
            let next = try await api.pendingCredential(owner)
            #expect(try await api.secondStep(next, sent).errorMessage == "INVALID_SESSION_INFO")
        }
    }

    @Test func `a project without second factors requires none, before any other check`() async throws {
        try await TestAPI.with(settings: ["signIn": ["email": ["enabled": true]]]) { api async throws in
            let owner = try await api.factorOwner()
            #expect(
                try await api.startApp(owner).answer.errorMessage
                    == "OPERATION_NOT_ALLOWED : TOTP based MFA not enabled."
            )
            #expect(
                try await api.askForEnrollmentCode(owner, "nonsense").errorMessage
                    == "OPERATION_NOT_ALLOWED : SMS based MFA not enabled."
            )
            #expect(
                try await api.finishApp(owner, "x", "123456").errorMessage
                    == "OPERATION_NOT_ALLOWED : TOTP based MFA not enabled."
            )
            // Enrolled while it was on.
            try await api.service.edit(owner.id) { $0.secondFactors = [try? Self.phoneFactor()].compactMap(\.self) }
            #expect(try await api.firstStep(owner).json["idToken"] != nil)
        }
    }

    private static func phoneFactor(_ name: String = "factor", _ number: String = "+16505550000") throws -> SecondFactor
    {
        SecondFactor(
            id: try #require(SecondFactorID(name)),
            method: .phone(try #require(PhoneNumber(number))),
            displayName: nil,
            enrolledAt: Timestamp(secondsSinceEpoch: 1)
        )
    }

    @Test func `a refused enrollment has a reason`() async throws {
        try await TestAPI.with { api async throws in
            let unverified = try await api.signUp("unverified@example.com")
            let anonymous = try await api.signUpAnonymously()
            let byPhone = try await api.signInByPhone("+16505551111").json
            let first = "UNSUPPORTED_FIRST_FACTOR : MFA is not available for the given first factor."
            for (answer, expected) in [
                (unverified, "UNVERIFIED_EMAIL : An account with second factors needs a verified email."),
                (anonymous, first), (byPhone, first),
            ] {
                let body: JSONValue = ["idToken": answer["idToken"] ?? .null, "totpEnrollmentInfo": [:]]
                #expect(try await api.post(TestAPI.enrollmentPath + "start", body).errorMessage == expected)
                let number: JSONValue = ["phoneNumber": .string(number), "recaptchaToken": "app"]
                let sms: JSONValue = ["idToken": answer["idToken"] ?? .null, "phoneEnrollmentInfo": number]
                #expect(try await api.post(TestAPI.enrollmentPath + "start", sms).errorMessage == expected)
            }
            let owner = try await api.factorOwner()
            #expect(
                try await api.askForEnrollmentCode(owner, "12").errorMessage?.hasPrefix("INVALID_PHONE_NUMBER") == true
            )
            api.service.clock.advance(seconds: 301)
            #expect(try await api.startApp(owner).answer.errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
            #expect(try await api.askForEnrollmentCode(owner, number).errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
        }
    }

    @Test func `a session that expires between the two steps enrols nothing`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.factorOwner()
            let (app, sessionInfo, _) = try await api.startApp(owner)
            api.service.clock.advance(seconds: 301)
            let answer = try await api.finishApp(owner, sessionInfo, api.code(of: app))
            #expect(answer.errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
            #expect(try await count("SELECT count(*) FROM second_factors", api) == 0)
        }
    }

    @Test func `enrolling a factor does not make a session more recent`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.factorOwner()
            api.service.clock.advance(seconds: 200)
            let enrolled = try await api.enrollApp(owner)
            api.service.clock.advance(seconds: 200)
            let answer = try await api.withdraw(enrolled.enrollmentID ?? "", enrolled.idToken)
            #expect(answer.errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN", "\(answer.text)")
        }
    }

    @Test func `an account has at most five factors, and each number once`() async throws {
        try await TestAPI.with { api async throws in
            var owner = try await api.enrollNumber(api.factorOwner(), number)
            #expect(
                try await api.askForEnrollmentCode(owner, "+1 650 555 3434").errorMessage
                    == "SECOND_FACTOR_EXISTS : Phone number already enrolled as second factor for this account."
            )
            for index in 1..<SecondFactor.countMax { owner = try await api.enrollApp(owner, name: "app \(index)") }
            #expect(try await api.startApp(owner).answer.errorMessage == "SECOND_FACTOR_LIMIT_EXCEEDED")
            #expect(
                try await api.askForEnrollmentCode(owner, "+16505551212").errorMessage == "SECOND_FACTOR_LIMIT_EXCEEDED"
            )
            #expect(try await api.service.user(owner.id)?.secondFactors.map(\.displayName).last == "app 4")
            #expect(try await count("SELECT count(DISTINCT slot) FROM second_factors", api) == 5)
        }
    }

    @Test func `a pending enrolment works only for its user and purpose`() async throws {
        try await TestAPI.with { api async throws in
            let ada = try await api.factorOwner()
            let eve = try await api.factorOwner("eve@example.com")
            let (app, sessionInfo, _) = try await api.startApp(ada)
            let code = api.code(of: app)
            #expect(try await api.finishApp(eve, sessionInfo, code).errorMessage == "INVALID_SESSION_INFO")
            #expect(try await api.secondStep(sessionInfo, "x", code).errorMessage == pendingInvalid)
            let sent = try await api.sentCode(api.askForEnrollmentCode(ada, number), "phoneSessionInfo")
            #expect(try await api.finishNumber(eve, sent).errorMessage == "INVALID_SESSION_INFO")
            #expect(try await api.signInByPhone(sent.sessionInfo, sent.code).errorMessage == "INVALID_SESSION_INFO")
            let other = try await api.phoneCode("+16505550199")
            #expect(try await api.finishNumber(ada, other).errorMessage == "INVALID_SESSION_INFO")

            let guarded = try await api.enrollApp(ada)
            let pending = try await api.pendingCredential(guarded)
            #expect(try await api.finishApp(guarded, pending, code).errorMessage == "INVALID_SESSION_INFO")
            #expect(try await api.finishApp(guarded, sessionInfo, code).errorMessage == "INVALID_SESSION_INFO")
            let numbered = try await api.enrollNumber(eve, "+16505551212")
            let eves = try await api.pendingCredential(numbered)
            let factor = try #require(try await api.service.user(eve.id)?.secondFactors.first?.id.rawValue)
            let message = try await api.sentCode(api.askForSecondStepCode(eves, factor), "phoneResponseInfo")
            #expect(try await api.secondStep(pending, message).errorMessage == "INVALID_SESSION_INFO")
            #expect(try await api.askForSecondStepCode(pending, factor).errorMessage == "MFA_ENROLLMENT_NOT_FOUND")
            #expect(try await api.secondStep(eves, message).status == 200)
        }
    }

    @Test func `five wrong codes end an enrolment`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.factorOwner()
            let (app, sessionInfo, _) = try await api.startApp(owner)
            let wrong = api.code(of: app, stepsFromNow: 9)
            for _ in 0..<5 {
                #expect(try await api.finishApp(owner, sessionInfo, wrong).errorMessage == "INVALID_CODE")
            }
            let right = try await api.finishApp(owner, sessionInfo, api.code(of: app))
            #expect(right.errorMessage == "TOO_MANY_ATTEMPTS_TRY_LATER")
            api.service.clock.advance(seconds: 1)
            let (next, nextInfo, _) = try await api.startApp(owner)
            #expect(try await api.finishApp(owner, nextInfo, api.code(of: next)).status == 200)
        }
    }

    @Test func `an enrolment expires`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.factorOwner()
            let (app, sessionInfo, _) = try await api.startApp(owner)
            api.service.clock.advance(seconds: 901)
            let again = try api.taking(try await api.firstStep(owner), owner)
            let answer = try await api.finishApp(again, sessionInfo, api.code(of: app))
            #expect(answer.errorMessage == "SESSION_EXPIRED")
        }
    }

    // MARK: Signing in

    @Test func `each code of the app works once, within a step of now, and never an older one`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollApp(api.factorOwner())
            let app = try #require(owner.app)
            for (skew, expected) in [(-2, 400), (2, 400), (1, 200), (1, 400), (0, 400), (-1, 400)] as [(Int64, Int)] {
                let pending = try await api.pendingCredential(owner)
                let answer = try await api.secondStep(
                    pending,
                    owner.enrollmentID,
                    api.code(of: app, stepsFromNow: skew)
                )
                #expect(answer.status == expected, "\(skew): \(answer.text)")
                if expected == 400 { #expect(answer.errorMessage == "INVALID_CODE") }
            }
            api.service.clock.advance(seconds: 60)
            let pending = try await api.pendingCredential(owner)
            #expect(
                try await api.secondStep(pending, owner.enrollmentID, api.code(of: app, stepsFromNow: -1)).status == 400
            )
            #expect(try await api.secondStep(pending, owner.enrollmentID, api.code(of: app)).status == 200)
        }
    }

    @Test func `the code that enrolled an app does not sign in`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.factorOwner()
            let (app, sessionInfo, _) = try await api.startApp(owner)
            let code = api.code(of: app)
            #expect(try await api.finishApp(owner, sessionInfo, code).status == 200)
            let id = try #require(try await api.service.user(owner.id)?.secondFactors.first?.id.rawValue)
            let pending = try await api.pendingCredential(owner)
            #expect(try await api.secondStep(pending, id, code).errorMessage == "INVALID_CODE")
        }
    }

    @Test func `the project sets the accepted clock skew`() async throws {
        let mfa: JSONValue = [
            "state": "MANDATORY",
            "providerConfigs": [["state": "ENABLED", "totpProviderConfig": ["adjacentIntervals": 0]]],
        ]
        try await TestAPI.with(settings: ["signIn": ["email": ["enabled": true]], "mfa": mfa]) { api async throws in
            let owner = try await api.enrollApp(api.factorOwner())
            let app = try #require(owner.app)
            let pending = try await api.pendingCredential(owner)
            for skew in [-1, 1] as [Int64] {
                let answer = try await api.secondStep(
                    pending,
                    owner.enrollmentID,
                    api.code(of: app, stepsFromNow: skew)
                )
                #expect(answer.errorMessage == "INVALID_CODE")
            }
            #expect(try await api.secondStep(pending, owner.enrollmentID, api.code(of: app)).status == 200)
        }
    }

    @Test func `a pending credential works once, expires after 15 minutes and ends with the sessions`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollApp(api.factorOwner())
            let app = try #require(owner.app)
            let used = try await api.pendingCredential(owner)
            #expect(try await api.secondStep(used, owner.enrollmentID, api.code(of: app)).status == 200)
            api.service.clock.advance(seconds: 30)
            #expect(
                try await api.secondStep(used, owner.enrollmentID, api.code(of: app)).errorMessage == pendingInvalid
            )

            let old = try await api.pendingCredential(owner)
            api.service.clock.advance(seconds: 900)
            #expect(try await api.secondStep(old, owner.enrollmentID, api.code(of: app)).errorMessage == pendingInvalid)

            let ended = try await api.pendingCredential(owner)
            try await api.endSessions(["localId": .string(owner.id.rawValue)])
            #expect(
                try await api.secondStep(ended, owner.enrollmentID, api.code(of: app)).errorMessage == pendingInvalid
            )

            let disabled = try await api.pendingCredential(owner)
            try await api.disable(["localId": .string(owner.id.rawValue)])
            #expect(
                try await api.secondStep(disabled, owner.enrollmentID, api.code(of: app)).errorMessage
                    == "USER_DISABLED"
            )
            #expect(try await api.firstStep(owner).errorMessage == "USER_DISABLED")
            for nonsense in ["nonsense", "AAAA", String(repeating: "A", count: 100)] {
                #expect(try await api.secondStep(nonsense, owner.enrollmentID, "123456").errorMessage == pendingInvalid)
                #expect(try await api.askForSecondStepCode(nonsense, "x").errorMessage == pendingInvalid)
            }
        }
    }

    @Test func `five wrong codes end a pending credential, and ten in a row delay further attempts`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollApp(api.factorOwner())
            let app = try #require(owner.app)
            let wrong = api.code(of: app, stepsFromNow: 9)
            for _ in 0..<2 {
                let pending = try await api.pendingCredential(owner)
                for _ in 0..<5 {
                    let answer = try await api.secondStep(pending, owner.enrollmentID, wrong)
                    #expect(answer.errorMessage == "INVALID_CODE")
                }
                let right = try await api.secondStep(pending, owner.enrollmentID, api.code(of: app))
                #expect(right.errorMessage == "TOO_MANY_ATTEMPTS_TRY_LATER")
            }
            let next = try await api.pendingCredential(owner)
            let held = try await api.secondStep(next, owner.enrollmentID, api.code(of: app))
            #expect(held.errorMessage == "TOO_MANY_ATTEMPTS_TRY_LATER")
            api.service.clock.advance(seconds: 61)
            #expect(try await api.secondStep(next, owner.enrollmentID, api.code(of: app)).status == 200)
            #expect(try await count("SELECT count(*) FROM password_attempts", api) == 0)
        }
    }

    @Test func `incomplete requests name the missing field`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollApp(api.factorOwner())
            let pending = JSONValue.string(try await api.pendingCredential(owner))
            let token = JSONValue.string(owner.idToken)
            let code: JSONValue = ["verificationCode": "123456"]
            let unsupported = "INVALID_ARGUMENT : MFA provider not supported!"
            let missingID = "MISSING_MFA_ENROLLMENT_ID : No second factor identifier is provided."
            for (path, body, expected) in [
                ("mfaEnrollment:start", [:], "MISSING_ID_TOKEN"),
                ("mfaEnrollment:finalize", [:], "MISSING_ID_TOKEN"),
                ("mfaEnrollment:withdraw", [:], "MISSING_ID_TOKEN"),
                ("mfaEnrollment:start", ["idToken": token], unsupported),
                ("mfaEnrollment:finalize", ["idToken": token], unsupported),
                ("mfaEnrollment:finalize", ["idToken": token, "totpVerificationInfo": code], "MISSING_SESSION_INFO"),
                (
                    "mfaEnrollment:finalize",
                    ["idToken": token, "phoneVerificationInfo": ["sessionInfo": "x"]], "MISSING_CODE"
                ),
                ("mfaEnrollment:withdraw", ["idToken": token], missingID),
                ("mfaEnrollment:withdraw", ["idToken": token, "mfaEnrollmentId": "x"], "MFA_ENROLLMENT_NOT_FOUND"),
                (
                    "mfaSignIn:start", [:],
                    "MISSING_MFA_PENDING_CREDENTIAL : Request does not have MFA pending credential."
                ),
                ("mfaSignIn:start", ["mfaPendingCredential": pending], missingID),
                ("mfaSignIn:start", ["mfaPendingCredential": pending, "mfaEnrollmentId": "x"], unsupported),
                (
                    "mfaSignIn:start",
                    [
                        "mfaPendingCredential": pending, "mfaEnrollmentId": .string(owner.enrollmentID ?? ""),
                        "phoneSignInInfo": ["recaptchaToken": "app"],
                    ], unsupported
                ),
                ("mfaSignIn:finalize", [:], "MISSING_CREDENTIAL : Please set MFA Pending Credential."),
                ("mfaSignIn:finalize", ["mfaPendingCredential": pending], unsupported),
                ("mfaSignIn:finalize", ["mfaPendingCredential": pending, "totpVerificationInfo": code], missingID),
                (
                    "mfaSignIn:finalize",
                    ["mfaPendingCredential": pending, "mfaEnrollmentId": "x", "totpVerificationInfo": code],
                    "MFA_ENROLLMENT_NOT_FOUND"
                ),
                (
                    "mfaSignIn:finalize",
                    ["mfaPendingCredential": pending, "mfaEnrollmentId": "x", "totpVerificationInfo": [:]],
                    "MISSING_CODE"
                ),
                (
                    "mfaSignIn:finalize",
                    ["mfaPendingCredential": pending, "phoneVerificationInfo": ["sessionInfo": "x", "code": "1"]],
                    "INVALID_SESSION_INFO"
                ),
            ] as [(String, JSONValue, String)] {
                let answer = try await api.post("/v2/accounts/" + path, body)
                #expect(answer.errorMessage == expected, "\(path) \(body.text)")
            }
        }
    }

    // MARK: Every first factor

    @Test func `a mailed link requires the second factor too, and is used when it is requested`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollApp(api.factorOwner())
            let app = try #require(owner.app)
            let link = try await api.code("EMAIL_SIGNIN", for: owner.email)
            let version = try await api.service.user(owner.id)?.version
            let first = try await api.follow(link, as: owner.email)
            #expect(first.status == 200 && first.json["idToken"] == nil && first.json["isNewUser"] == false)
            #expect(try await api.service.user(owner.id)?.version == version, "nothing is written before the factor")
            #expect(try await api.follow(link, as: owner.email).errorMessage == "INVALID_OOB_CODE")
            let pending = try #require(first.json["mfaPendingCredential"]?.string)
            let second = try await api.secondStep(pending, owner.enrollmentID, api.code(of: app))
            #expect(second.status == 200, "\(second.text)")
            #expect(try payload(of: second.json["idToken"]?.string)["firebase"]?["sign_in_provider"] == "password")
            #expect(try await api.service.user(owner.id)?.account.hasEmailLink == true)
        }
    }

    private func idp(_ provider: String, _ claims: JSONValue, idToken: String? = nil) -> JSONValue {
        var body: [String: JSONValue] = [
            "requestUri": "http://localhost", "returnIdpCredential": true,
            "postBody": .string("providerId=\(provider)&id_token=\(claims.text)"),
        ]
        body["idToken"] = idToken.map(JSONValue.string)
        return .object(body)
    }

    @Test func `I13: a link by a trusted provider waits for the second factor`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollApp(api.factorOwner("ada@gmail.com"))
            let app = try #require(owner.app)
            let claims: JSONValue = ["sub": "google-ada", "email": "ada@gmail.com", "email_verified": true]
            let first = try await api.post("/v1/accounts:signInWithIdp", idp("google.com", claims))
            #expect(first.status == 200 && first.json["idToken"] == nil, "\(first.text)")
            #expect(first.json["providerId"] == "google.com" && first.json["localId"] == .string(owner.id.rawValue))
            #expect(try await api.service.user(owner.id)?.linkedProviders.isEmpty == true)
            let pending = try #require(first.json["mfaPendingCredential"]?.string)
            let wrong = try await api.secondStep(pending, owner.enrollmentID, api.code(of: app, stepsFromNow: 9))
            #expect(wrong.errorMessage == "INVALID_CODE")
            #expect(try await api.service.user(owner.id)?.linkedProviders.isEmpty == true)
            let second = try await api.secondStep(pending, owner.enrollmentID, api.code(of: app))
            #expect(second.status == 200, "\(second.text)")
            #expect(try payload(of: second.json["idToken"]?.string)["firebase"]?["sign_in_provider"] == "google.com")
            #expect(try await api.service.user(owner.id)?.linkedProviders.count == 1)
        }
    }

    @Test func `a second factor makes an old token no more recent, and a used token creates no new session`()
        async throws
    {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollApp(api.factorOwner("ada@gmail.com"))
            let app = try #require(owner.app)
            func now() -> Int64 { api.service.clock.now.secondsSinceEpoch }
            func token(_ name: String, issued: Int64) -> JSONValue {
                [
                    "sub": "google-ada", "email": "ada@gmail.com", "email_verified": true, "jti": .string(name),
                    "iat": .integer(issued), "exp": .integer(issued + 3600),
                ]
            }
            func signIn(_ token: JSONValue, createsUsers: Bool = true) async throws -> TestAPI.Answer {
                let body = idp("google.com", token).setting(.bool(createsUsers), at: ["autoCreate"])
                let first = try await api.post("/v1/accounts:signInWithIdp", body)
                guard let pending = first.json["mfaPendingCredential"]?.string else { return first }
                api.service.clock.advance(seconds: TOTP.periodSeconds)
                return try await api.secondStep(pending, owner.enrollmentID, api.code(of: app))
            }
            api.service.clock.advance(seconds: 7200)
            let issued = now() - 3000
            let old = try await signIn(token("old", issued: issued))
            #expect(old.status == 200, "\(old.text)")
            #expect(try payload(of: old.json["idToken"]?.string)["auth_time"] == .integer(issued))
            let refused = try await api.withdraw(
                try #require(owner.enrollmentID),
                try #require(old.json["idToken"]?.string)
            )
            #expect(refused.errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN", "\(refused.text)")

            let again = try await signIn(token("old", issued: issued), createsUsers: false)
            #expect(again.errorMessage?.hasPrefix("INVALID_IDP_RESPONSE") == true, "\(again.text)")
            // Two that began with one token: the second factor of one finishes.
            let anew = token("anew", issued: now())
            let body = idp("google.com", anew).setting(false, at: ["autoCreate"])
            let waiting = try await api.post("/v1/accounts:signInWithIdp", body)
            let pending = try #require(waiting.json["mfaPendingCredential"]?.string)
            #expect(try await signIn(anew, createsUsers: false).status == 200)
            api.service.clock.advance(seconds: TOTP.periodSeconds)
            let late = try await api.secondStep(pending, owner.enrollmentID, api.code(of: app))
            #expect(late.errorMessage?.hasPrefix("INVALID_IDP_RESPONSE") == true, "\(late.text)")
            #expect(try await api.service.database.count("SELECT count(*) FROM used_id_tokens") == 2)
        }
    }

    @Test func `I9, M3: a takeover waits for the second factor, and keeps it`() async throws {
        try await TestAPI.with { api async throws in
            for (name, usesLink) in [("ada@gmail.com", false), ("bob@gmail.com", true)] {
                let owner = try await api.enrollApp(api.factorOwner(name))
                let app = try #require(owner.app)
                try await api.service.edit(owner.id) { $0.prove(nil) }
                let first: TestAPI.Answer
                if usesLink {
                    first = try await api.follow(api.code("EMAIL_SIGNIN", for: name), as: name)
                } else {
                    let claims: JSONValue = ["sub": .string(name), "email": .string(name), "email_verified": true]
                    first = try await api.post("/v1/accounts:signInWithIdp", idp("google.com", claims))
                }
                let pending = try #require(first.json["mfaPendingCredential"]?.string)
                #expect(try await api.service.user(owner.id)?.account.hasPassword == true)
                let second = try await api.secondStep(pending, owner.enrollmentID, api.code(of: app))
                #expect(second.status == 200, "\(second.text)")
                let after = try #require(try await api.service.user(owner.id))
                #expect(!after.account.hasPassword && after.account.isEmailVerified && after.secondFactors.count == 1)
                #expect(try await api.refresh(second.json["refreshToken"]?.string).status == 200)
            }
        }
    }

    @Test func `L6: a session with the factor links at once, and another session must present it`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollApp(api.factorOwner())
            let app = try #require(owner.app)
            let claims: JSONValue = ["sub": "gh", "email": "other@example.com"]
            let linked = try await api.post(
                "/v1/accounts:signInWithIdp",
                idp("github.com", claims, idToken: owner.idToken)
            )
            #expect(linked.json["idToken"] != nil, "\(linked.text)")
            #expect(try payload(of: linked.json["idToken"]?.string)["firebase"]?["sign_in_second_factor"] == "totp")

            let custom: JSONValue = ["token": .string(#"{"uid":"\#(owner.id.rawValue)"}"#)]
            let byBackend = try await api.post("/v1/accounts:signInWithCustomToken", custom)
            let session = try #require(byBackend.json["idToken"]?.string, "custom tokens ask for nothing")
            let face: JSONValue = ["sub": "fb"]
            let asked = try await api.post("/v1/accounts:signInWithIdp", idp("facebook.com", face, idToken: session))
            let pending = try #require(asked.json["mfaPendingCredential"]?.string)
            #expect(try await api.service.user(owner.id)?.linkedProviders.count == 1)
            #expect(try await api.secondStep(pending, owner.enrollmentID, api.code(of: app)).status == 200)
            #expect(try await api.service.user(owner.id)?.linkedProviders.count == 2)
            // A session that showed one factor alone takes none off.
            #expect(
                try await api.withdraw(owner.enrollmentID ?? "", session).errorMessage
                    == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN"
            )
        }
    }

    @Test func `a link that waits for the second factor ends with the session that requested it`()
        async throws
    {
        for endsIt in [true, false] {
            try await TestAPI.with { api async throws in
                let owner = try await api.enrollApp(api.factorOwner())
                let app = try #require(owner.app)
                let custom: JSONValue = ["token": .string(#"{"uid":"\#(owner.id.rawValue)"}"#)]
                func signIn() async throws -> String {
                    let answer = try await api.post("/v1/accounts:signInWithCustomToken", custom)
                    return try #require(answer.json["idToken"]?.string, "\(answer.text)")
                }
                let (session, other) = (try await signIn(), try await signIn())
                let asked = try await api.post(
                    "/v1/accounts:signInWithIdp",
                    idp("facebook.com", ["sub": "fb"], idToken: session)
                )
                let pending = try #require(asked.json["mfaPendingCredential"]?.string, "\(asked.text)")
                let ended = try #require(
                    try payload(of: endsIt ? session : other)["concord"]?["session"]?.string
                )
                let path = "/concord/v1/account/sessions/\(ended)"
                #expect(try await api.send(.delete, path, key: nil, bearer: owner.idToken).json == ["ended": true])
                let answer = try await api.secondStep(pending, owner.enrollmentID, api.code(of: app))
                let expected = endsIt ? pendingInvalid : nil
                #expect(answer.errorMessage == expected, "\(answer.text)")
                #expect(try await api.service.user(owner.id)?.linkedProviders.count == (endsIt ? 0 : 1))
            }
        }
    }

    @Test func `a conflict is resolved by a sign-in only after both factors`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollApp(api.factorOwner("ada@gmail.com"))
            let app = try #require(owner.app)
            let claims: JSONValue = ["sub": "gh", "email": "ada@gmail.com"]
            let conflict = try await api.post("/v1/accounts:signInWithIdp", idp("github.com", claims))
            #expect(conflict.json["needConfirmation"] == true, "\(conflict.text)")
            let handle = try #require(conflict.json["pendingToken"]?.string)
            let first = try await api.firstStep(owner, pendingToken: handle)
            #expect(first.json["linkedProviderId"] == nil)
            let pending = try #require(first.json["mfaPendingCredential"]?.string)
            #expect(try await api.service.user(owner.id)?.linkedProviders.isEmpty == true)
            #expect(try await count("SELECT count(*) FROM conflicts WHERE state = 'open'", api) == 1)
            #expect(try await api.secondStep(pending, owner.enrollmentID, api.code(of: app)).status == 200)
            #expect(try await api.service.user(owner.id)?.linkedProviders.count == 1)
            #expect(try await count("SELECT count(*) FROM conflicts WHERE state = 'open'", api) == 0)
        }
    }

    @Test func `a conflict that expires before the second factor is refused, and not retried`()
        async throws
    {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollApp(api.factorOwner("ada@gmail.com"))
            let app = try #require(owner.app)
            try await api.service.link("github.com", subject: "gh", to: "ada@gmail.com")
            // L1: another account tries to link the identity.
            let other = try await api.signUp("other@example.com")
            let claims: JSONValue = ["sub": "gh", "email": "ada@gmail.com"]
            let link = idp("github.com", claims, idToken: other["idToken"]?.string)
            let conflict = try await api.post("/v1/accounts:signInWithIdp", link)
            let handle = try #require(conflict.json["pendingToken"], "\(conflict.text)")
            api.service.clock.advance(seconds: 3500)
            let first = try await api.post(
                "/v1/accounts:signInWithIdp",
                ["requestUri": "http://localhost", "pendingToken": handle]
            )
            let pending = try #require(first.json["mfaPendingCredential"]?.string, "\(first.text)")
            api.service.clock.advance(seconds: 200)
            let late = try await api.secondStep(pending, owner.enrollmentID, api.code(of: app))
            #expect(late.status == 400 && late.errorMessage == "INVALID_PENDING_TOKEN", "\(late.text)")
            #expect(try await count("SELECT count(*) FROM conflicts WHERE state = 'open'", api) == 1)
        }
    }

    @Test func `a phone number cannot be the first factor of an account with a second factor`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.factorOwner()
            let linked = try await api.signInByPhone("+16505551111", idToken: .string(owner.idToken))
            let guarded = try await api.enrollNumber(try api.taking(linked, owner).signedInByPassword(api), number)
            _ = guarded
            let refused = "UNSUPPORTED_FIRST_FACTOR"
            #expect(try await api.askForCode("+16505551111").errorMessage?.hasPrefix(refused) == true)
        }
    }

    @Test func `a password reset does not bypass the factor, and the old password does not work`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollApp(api.factorOwner())
            let code = try await api.code("PASSWORD_RESET", for: owner.email)
            let reset: JSONValue = ["oobCode": .string(code), "newPassword": .string(TestService.password)]
            #expect(try await api.post("/v1/accounts:resetPassword", reset).status == 200)
            _ = try await api.pendingCredential(owner)
            let replace: JSONValue = [
                "email": .string(owner.email), "oldPassword": .string(TestService.password),
                "newPassword": "another one",
            ]
            #expect(
                try await api.post("/v1/accounts:resetPassword", replace).errorMessage
                    == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN"
            )
        }
    }

    // MARK: Withdrawing

    @Test func `a recent session that presented the factor can remove it, and it is no longer required`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollApp(api.factorOwner())
            let id = try #require(owner.enrollmentID)
            api.service.clock.advance(seconds: 301)
            #expect(try await api.withdraw(id, owner.idToken).errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
            let pending = try await api.pendingCredential(owner)
            let fresh = try api.taking(
                try await api.secondStep(pending, id, api.code(of: try #require(owner.app))),
                owner
            )
            let answer = try await api.withdraw(id, fresh.idToken)
            #expect(answer.status == 200 && answer.json["expiresIn"] == "3600", "\(answer.text)")
            let token = try payload(of: answer.json["idToken"]?.string)["firebase"]
            #expect(token?["sign_in_second_factor"] == nil)
            #expect(try await api.refresh(fresh.refreshToken).errorMessage == "TOKEN_EXPIRED")
            #expect(try await api.refresh(answer.json["refreshToken"]?.string).status == 200)
            #expect(try await api.firstStep(owner).json["idToken"] != nil)
            #expect(try await count("SELECT count(*) FROM second_factors", api) == 0)
        }
    }

    @Test(arguments: [true, false])
    func `linking a provider does not make an old session more recent`(needsRecentSignIn: Bool) async throws {
        let settings = ProjectSettings.developmentDefaults
            .setting(.bool(needsRecentSignIn), at: ["linkPolicy", "linkingNeedsRecentSignIn"])
        try await TestAPI.with(settings: settings) { api async throws in
            let owner = try await api.enrollApp(api.factorOwner())
            let id = try #require(owner.enrollmentID)
            api.service.clock.advance(seconds: needsRecentSignIn ? 200 : 301)
            let linked = try await api.post(
                "/v1/accounts:signInWithIdp",
                [
                    "requestUri": "http://localhost", "returnSecureToken": true, "idToken": .string(owner.idToken),
                    "postBody": #"providerId=github.com&access_token={"sub":"thief","email":"thief@example.com"}"#,
                ]
            )
            #expect(linked.status == 200, "\(linked.text)")
            let token = try #require(linked.json["idToken"]?.string)
            let before = try payload(of: owner.idToken)
            let after = try payload(of: token)
            #expect(after["auth_time"] == before["auth_time"] && after["iat"] != before["iat"])
            #expect(after["firebase"]?["sign_in_second_factor"] == "totp")
            api.service.clock.advance(seconds: 200)
            #expect(try await api.withdraw(id, token).errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN")
            let refreshed = try await api.refresh(linked.json["refreshToken"]?.string).json["id_token"]?.string
            #expect(
                try await api.withdraw(id, try #require(refreshed)).errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN"
            )
            #expect(try await count("SELECT count(*) FROM second_factors", api) == 1)
        }
    }

    // MARK: Secrets

    @Test func `no table holds a secret or a pending credential in the clear`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollApp(api.factorOwner())
            let pending = try await api.pendingCredential(owner)
            let secret = try #require(owner.app).secret
            let found: Query<Int64> = """
                SELECT count(*) FROM second_factors JOIN factor_challenges USING (tenant_id, user_id)
                WHERE position(\(secret) IN sealed_secret) > 0 OR position(\(secret) IN sealed_content) > 0
                    OR position(\(Array("password".utf8)) IN sealed_content) > 0
                    OR position(\(Array(pending.utf8)) IN sealed_content) > 0
                """
            #expect(try await count(found, api) == 0)
        }
    }
}

extension FactorOwner {
    /// The same, by a session whose sign-in a second factor can follow.
    fileprivate func signedInByPassword(_ api: TestAPI) async throws -> FactorOwner {
        try api.taking(try await api.firstStep(self), self)
    }
}
