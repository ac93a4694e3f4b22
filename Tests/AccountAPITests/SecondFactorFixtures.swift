import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Testing

@testable import AccountOperations

/// A user with a proven address, and the secrets of their authenticator app.
struct FactorOwner {
    let email: String
    let id: UserID
    var idToken: String
    var refreshToken: String
    /// The enrolled authenticator app.
    var app: TOTP?
    var enrollmentID: String?
}

extension TestAPI {
    static let enrollmentPath = "/v2/accounts/mfaEnrollment:"
    static let factorSignInPath = "/v2/accounts/mfaSignIn:"

    /// An account with a password and a proven address, just signed in.
    func factorOwner(_ email: String = "ada@example.com") async throws -> FactorOwner {
        let signedUp = try await signUp(email)
        let id = try #require(signedUp["localId"]?.string.flatMap(UserID.init))
        try await service.edit(id) { $0.prove(.administrator) }
        return FactorOwner(
            email: email,
            id: id,
            idToken: try #require(signedUp["idToken"]?.string),
            refreshToken: try #require(signedUp["refreshToken"]?.string)
        )
    }

    func startApp(_ owner: FactorOwner) async throws -> (app: TOTP, sessionInfo: String, answer: Answer) {
        let answer = try await post(
            Self.enrollmentPath + "start",
            ["idToken": .string(owner.idToken), "totpEnrollmentInfo": [:]]
        )
        let info = answer.json["totpSessionInfo"]
        return (
            TOTP(secret: Base32.decoded(info?["sharedSecretKey"]?.string ?? "")), info?["sessionInfo"]?.string ?? "",
            answer
        )
    }

    func finishApp(
        _ owner: FactorOwner,
        _ sessionInfo: String,
        _ code: String,
        name: String? = nil
    ) async throws -> Answer {
        var body: [String: JSONValue] = [
            "idToken": .string(owner.idToken),
            "totpVerificationInfo": ["sessionInfo": .string(sessionInfo), "verificationCode": .string(code)],
        ]
        body["displayName"] = name.map(JSONValue.string)
        return try await post(Self.enrollmentPath + "finalize", .object(body))
    }

    /// The code that the app shows now; the clock stands still between two calls.
    func code(of app: TOTP, stepsFromNow: Int64 = 0) -> String {
        app.code(ofStep: TOTP.step(at: service.clock.now) + stepsFromNow)
    }

    /// Enrols an app, and moves the clock to its next step.
    func enrollApp(_ owner: FactorOwner, name: String? = "my app") async throws -> FactorOwner {
        let (app, sessionInfo, _) = try await startApp(owner)
        let answer = try await finishApp(owner, sessionInfo, code(of: app), name: name)
        #expect(answer.status == 200, "\(answer.text)")
        service.clock.advance(seconds: TOTP.periodSeconds)
        var enrolled = try taking(answer, owner)
        enrolled.app = app
        enrolled.enrollmentID = try await service.user(owner.id)?.secondFactors.last?.id.rawValue
        return enrolled
    }

    func askForEnrollmentCode(_ owner: FactorOwner, _ number: String) async throws -> Answer {
        try await post(
            Self.enrollmentPath + "start",
            [
                "idToken": .string(owner.idToken),
                "phoneEnrollmentInfo": ["phoneNumber": .string(number), "recaptchaToken": "app"],
            ]
        )
    }

    /// The code of the message that an answer's session is for.
    func sentCode(_ answer: Answer, _ member: String) async throws -> PhoneCode {
        #expect(answer.status == 200, "\(answer.text)")
        let sessionInfo = try #require(answer.json[member]?["sessionInfo"]?.string)
        let listed = try await listedMessages().first { $0["sessionInfo"] == .string(sessionInfo) }
        return PhoneCode(sessionInfo: sessionInfo, code: try #require(listed?["code"]?.string))
    }

    func finishNumber(_ owner: FactorOwner, _ sent: PhoneCode) async throws -> Answer {
        try await post(
            Self.enrollmentPath + "finalize",
            [
                "idToken": .string(owner.idToken), "displayName": "my phone",
                "phoneVerificationInfo": ["sessionInfo": .string(sent.sessionInfo), "code": .string(sent.code)],
            ]
        )
    }

    func enrollNumber(_ owner: FactorOwner, _ number: String) async throws -> FactorOwner {
        let sent = try await sentCode(askForEnrollmentCode(owner, number), "phoneSessionInfo")
        let answer = try await finishNumber(owner, sent)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json["phoneAuthInfo"] == ["phoneNumber": .string(number)])
        return try taking(answer, owner)
    }

    func taking(_ answer: Answer, _ owner: FactorOwner) throws -> FactorOwner {
        var owner = owner
        owner.idToken = try #require(answer.json["idToken"]?.string)
        owner.refreshToken = try #require(answer.json["refreshToken"]?.string)
        return owner
    }

    func withdraw(_ enrollmentID: String, _ idToken: String) async throws -> Answer {
        try await post(
            Self.enrollmentPath + "withdraw",
            ["idToken": .string(idToken), "mfaEnrollmentId": .string(enrollmentID)]
        )
    }

    /// Signs in with the password; the answer holds what the second step takes.
    func firstStep(_ owner: FactorOwner, pendingToken: String? = nil) async throws -> Answer {
        var body: [String: JSONValue] = ["email": .string(owner.email), "password": .string(TestService.password)]
        body["pendingToken"] = pendingToken.map(JSONValue.string)
        return try await post("/v1/accounts:signInWithPassword", .object(body))
    }

    func pendingCredential(_ owner: FactorOwner) async throws -> String {
        let answer = try await firstStep(owner)
        #expect(answer.status == 200 && answer.json["idToken"] == nil, "\(answer.text)")
        return try #require(answer.json["mfaPendingCredential"]?.string)
    }

    func secondStep(_ pending: String, _ enrollmentID: String?, _ code: String) async throws -> Answer {
        var body: [String: JSONValue] = [
            "mfaPendingCredential": .string(pending), "totpVerificationInfo": ["verificationCode": .string(code)],
        ]
        body["mfaEnrollmentId"] = enrollmentID.map(JSONValue.string)
        return try await post(Self.factorSignInPath + "finalize", .object(body))
    }

    func askForSecondStepCode(_ pending: String, _ enrollmentID: String) async throws -> Answer {
        try await post(
            Self.factorSignInPath + "start",
            [
                "mfaPendingCredential": .string(pending), "mfaEnrollmentId": .string(enrollmentID),
                "phoneSignInInfo": ["recaptchaToken": "app"],
            ]
        )
    }

    func secondStep(_ pending: String, _ sent: PhoneCode) async throws -> Answer {
        try await post(
            Self.factorSignInPath + "finalize",
            [
                "mfaPendingCredential": .string(pending),
                "phoneVerificationInfo": ["sessionInfo": .string(sent.sessionInfo), "code": .string(sent.code)],
            ]
        )
    }
}
