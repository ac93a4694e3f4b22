import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    // Version 8 of the web SDK calls all of these at `v2alpha1`.

    /// `mfaEnrollment:start`: sends a code to a number, or makes a secret for an app.
    static let startFactorEnrollment = Route(
        .post,
        "/v2/accounts/mfaEnrollment:start",
        aliases: ["/v2alpha1/accounts/mfaEnrollment:start"],
        access: .client
    ) { request in
        let idToken = try request.requiredIDToken()
        if let info = try request.body.object("phoneEnrollmentInfo") {
            let code = try PhoneCodeRequest(request, reading: info)
            let sessionInfo = try await request.operations
                .startEnrollment(code, idToken: idToken, tenant: request.tenant)
            return .object { writer in
                writer.field("phoneSessionInfo") { $0.field("sessionInfo", sessionInfo) }
            }
        }
        guard try request.body.object("totpEnrollmentInfo") != nil else {
            throw SecondFactorDenial.unsupportedKind.apiError
        }
        let enrollment = try await request.operations
            .startTOTPEnrollment(idToken: idToken, tenant: request.tenant)
        return .object { writer in
            writer.field("totpSessionInfo") { writer in
                writer.field("sharedSecretKey", enrollment.sharedKey)
                writer.field("verificationCodeLength", Int64(enrollment.codeDigits))
                writer.field("hashingAlgorithm", "SHA1")
                writer.field("periodSec", enrollment.periodSeconds)
                writer.field("sessionInfo", enrollment.sessionInfo)
                writer.field("finalizeEnrollmentTime", RFC3339.text(enrollment.endsAt))
            }
        }
    }

    /// `mfaEnrollment:finalize`: enrolls the factor that the code proves.
    static let finishFactorEnrollment = Route(
        .post,
        "/v2/accounts/mfaEnrollment:finalize",
        aliases: ["/v2alpha1/accounts/mfaEnrollment:finalize"],
        access: .client
    ) { request in
        let body = request.body
        let idToken = try request.requiredIDToken()
        let name = try body.string("displayName", lengthMax: Profile.displayNameLengthMax)
        let shown: FinishEnrollment.Presented
        if let info = try body.object("phoneVerificationInfo") {
            let (sessionInfo, code) = try info.sessionAndCode("code")
            shown = .message(code: code, sessionInfo: sessionInfo)
        } else if let info = try body.object("totpVerificationInfo") {
            let (sessionInfo, code) = try info.sessionAndCode("verificationCode")
            shown = .totp(code: code, sessionInfo: sessionInfo)
        } else {
            throw SecondFactorDenial.unsupportedKind.apiError
        }
        let result = try await request.operations
            .finishEnrollment(
                FinishEnrollment(shown: shown, displayName: name == "" ? nil : name),
                idToken: idToken,
                tenant: request.tenant,
                locale: request.locale
            )
        return .object { writer in
            if let tokens = result.updated.tokens { writer.tokens(tokens) }
            writer.authInfo(result.factor)
        }
    }

    /// `mfaEnrollment:withdraw`: removes a second factor from the account.
    static let withdrawFactor = Route(
        .post,
        "/v2/accounts/mfaEnrollment:withdraw",
        aliases: ["/v2alpha1/accounts/mfaEnrollment:withdraw"],
        access: .client
    ) { request in
        let idToken = try request.requiredIDToken()
        guard let factor = try request.body.nonEmptyString("mfaEnrollmentId") else { throw APIError.missingFactor }
        let updated = try await request.operations
            .withdrawSecondFactor(factor, idToken: idToken, tenant: request.tenant)
        return .object { writer in if let tokens = updated.tokens { writer.tokens(tokens) } }
    }

    /// `mfaSignIn:start`: sends a code to a number that is a second factor.
    static let startFactorSignIn = Route(
        .post,
        "/v2/accounts/mfaSignIn:start",
        aliases: ["/v2alpha1/accounts/mfaSignIn:start"],
        access: .client
    ) { request in
        let body = request.body
        guard let pending = try body.nonEmptyString("mfaPendingCredential") else {
            throw APIError.code(.missingMFAPendingCredential, "Request does not have MFA pending credential.")
        }
        guard let factor = try body.nonEmptyString("mfaEnrollmentId") else { throw APIError.missingFactor }
        guard let info = try body.object("phoneSignInInfo") else { throw SecondFactorDenial.unsupportedKind.apiError }
        let sessionInfo = try await request.operations
            .sendSignInCode(
                PhoneCodeRequest(request, reading: info),
                to: factor,
                pendingCredential: pending,
                tenant: request.tenant
            )
        return .object { writer in
            writer.field("phoneResponseInfo") { $0.field("sessionInfo", sessionInfo) }
        }
    }

    /// `mfaSignIn:finalize`: signs in with both factors.
    static let finishFactorSignIn = Route(
        .post,
        "/v2/accounts/mfaSignIn:finalize",
        aliases: ["/v2alpha1/accounts/mfaSignIn:finalize"],
        access: .client
    ) { request in
        let body = request.body
        guard let pending = try body.nonEmptyString("mfaPendingCredential") else {
            throw APIError.code(.missingCredential, "Please set MFA Pending Credential.")
        }
        let shown: FinishSignIn.Presented
        if let info = try body.object("phoneVerificationInfo") {
            let (sessionInfo, code) = try info.sessionAndCode("code")
            shown = .message(code: code, sessionInfo: sessionInfo)
        } else if let info = try body.object("totpVerificationInfo") {
            guard let factor = try body.nonEmptyString("mfaEnrollmentId") else { throw APIError.missingFactor }
            guard let code = try info.nonEmptyString("verificationCode") else { throw APIError.code(.missingCode) }
            shown = .totp(code: code, factor: factor)
        } else {
            throw SecondFactorDenial.unsupportedKind.apiError
        }
        let deviceRequest = try request.deviceRequest()
        let result = try await request.operations
            .finishSignIn(FinishSignIn(pendingCredential: pending, shown: shown), tenant: request.tenant)
        let deviceToken = try await request.deviceToken(deviceRequest, of: result.signedIn)
        return .object(after: result.signedIn.decision) { writer in
            writer.tokens(result.signedIn.tokens)
            writer.field("deviceToken", deviceToken)
            writer.authInfo(result.factor)
        }
    }
}

extension RequestBody {
    /// `codeName`: the name of the code in this message.
    fileprivate func sessionAndCode(_ codeName: String) throws(APIError) -> (sessionInfo: String, code: String) {
        guard let sessionInfo = try nonEmptyString("sessionInfo") else { throw .code(.missingSessionInfo) }
        guard let code = try nonEmptyString(codeName) else { throw .code(.missingCode) }
        return (sessionInfo, code)
    }
}

extension APIError {
    fileprivate static var missingFactor: APIError {
        .code(.missingMFAEnrollmentID, "No second factor identifier is provided.")
    }
}

extension JSONWriter {
    /// The second factor that was used. The name of the key shows its kind.
    fileprivate mutating func authInfo(_ factor: SecondFactor) {
        switch factor.method {
        case .phone(let number):
            field("phoneAuthInfo") { $0.field("phoneNumber", number.rawValue) }
        case .totp: field("totpAuthInfo") { _ in }
        }
    }
}

extension FactorDescription {
    /// An item of `mfaInfo` or `mfa.enrollments`, as an administrator sends it.
    init(reading body: RequestBody) throws(APIError) {
        let method: FactorDescription.Method
        if let number = try body.nonEmptyString("phoneInfo") {
            method = .phone(number)
        } else if try body.object("totpInfo") != nil {
            method = .totp
        } else {
            throw SecondFactorDenial.invalidPhoneNumber.apiError
        }
        var id: SecondFactorID?
        if let text = try body.nonEmptyString("mfaEnrollmentId") {
            guard let given = SecondFactorID(text) else {
                throw .invalidValue(at: "mfaEnrollmentId", expected: "1 to 128 characters")
            }
            id = given
        }
        let name = try body.string("displayName", lengthMax: Profile.displayNameLengthMax)
        self.init(id: id, method: method, displayName: name == "" ? nil : name)
    }
}
