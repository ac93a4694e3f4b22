import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:sendVerificationCode`: sends a code to a number.
    static let sendVerificationCode = Route(
        .post,
        "/v1/accounts:sendVerificationCode",
        legacyName: "sendVerificationCode",
        access: .client,
        hidesAccounts: true
    ) { request in
        let code = try PhoneCodeRequest(request, reading: request.body)
        let sessionInfo = try await request.operations.sendPhoneCode(code, tenant: request.tenant)
        return .hidingAccount(.object { writer in writer.field("sessionInfo", sessionInfo) })
    }
}

extension PhoneCodeRequest {
    /// `body`: the body of the request, or the part of it about the number.
    init(_ request: APIRequest, reading body: RequestBody) throws(APIError) {
        self.init(
            number: try body.nonEmptyString("phoneNumber"),
            credential: try AppCredential(reading: body),
            iOSBundleID: request.iOSBundleID,
            apiKey: request.apiKey,
            locale: request.locale,
            clientAddress: request.clientAddress,
            subscriber: request.subscriber
        )
    }
}

extension AppCredential {
    /// The first of the forms that was sent (docs/guides/phone.md, "Who may ask").
    init(reading body: RequestBody) throws(APIError) {
        let receipt = try body.nonEmptyString("iosReceipt")
        let secret = try body.nonEmptyString("iosSecret")
        let assessment = try body.nonEmptyString("captchaResponse")
        if receipt != nil || secret != nil {
            self = .push(receipt: receipt ?? "", secret: secret ?? "")
        } else if let token = try body.nonEmptyString("recaptchaToken") {
            self = .recaptcha(token: token)
        } else if let token = try body.nonEmptyString("playIntegrityToken") {
            self = .playIntegrity(token: token)
        } else if let assessment, assessment == Self.noAssessment {
            self = .unassessed
        } else if let assessment {
            self = .assessment(
                token: assessment,
                // Android sends a number here, which Concord does not use.
                clientType: body.value("clientType")?.string,
                version: body.value("recaptchaVersion")?.string
            )
        } else if try body.nonEmptyString("safetyNetToken") != nil {
            self = .safetyNet
        } else {
            self = .none
        }
    }

    /// The text that iOS sends if it could not get a token.
    private static let noAssessment = "NO_RECAPTCHA"
}
