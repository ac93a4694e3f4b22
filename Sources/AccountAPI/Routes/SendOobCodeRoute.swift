import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:sendOobCode`.
    static let sendOobCode = Route(
        .post,
        "/v1/accounts:sendOobCode",
        legacyName: "getOobConfirmationCode",
        access: .client,
        hidesAccounts: true,
        handle: send
    )

    /// The same route for administrators, with the project in the path.
    static let sendOobCodeAsAdministrator = Route(
        .post,
        "/v1/projects/{project}/accounts:sendOobCode",
        access: .administrator,
        handle: send
    )

    static let sendOobCodeOfTenant = Route(
        .post,
        "/v1/projects/{project}/tenants/{tenant}/accounts:sendOobCode",
        access: .administrator,
        handle: send
    )

    @Sendable
    private static func send(_ request: APIRequest) async throws -> APIResponse {
        let body = request.body
        guard let requestType = try OobRequestType(reading: body) else { throw APIError.code(.missingRequestType) }
        let returnsLink = try body.bool("returnOobLink") ?? false
        if returnsLink, request.caller != .administrator { throw APIError.code(.insufficientPermission) }
        let settings = try EmailCodeSettings(reading: body)
        if let denial = settings.denial(in: request.operations) { throw denial.apiError }
        if requestType == .emailSignIn, !request.operations.project.settings.policy.allowsEmailLinkSignIn {
            try await request.mailRightDoor(after: .link)
            throw APIError.code(.operationNotAllowed)
        }
        let result = try await request.operations
            .sendEmailCode(
                EmailCodeRequest(
                    action: try action(requestType, request),
                    settings: settings,
                    locale: request.locale,
                    isAdministrator: request.caller == .administrator,
                    returnsLink: returnsLink,
                    clientAddress: request.subscriber,
                    tenant: request.tenant
                )
            )
        var response = APIResponse.object { writer in
            writer.field("kind", "identitytoolkit#GetOobConfirmationCodeResponse")
            writer.field("email", result.email)
            writer.field("oobCode", result.returned?.code)
            writer.field("oobLink", result.returned?.link)
        }
        response.hidesAccount = true
        return response
    }

    private static func action(
        _ type: OobRequestType,
        _ request: APIRequest
    ) throws(APIError) -> EmailCodeRequest.Action {
        let body = request.body
        switch type {
        case .passwordReset: return .passwordReset(try body.requiredEmail())
        case .emailSignIn: return .emailSignIn(try body.requiredEmail())
        case .verifyEmail: return .verifyEmail(try subject(of: request, missingToken: .invalidIDToken))
        case .verifyAndChangeEmail:
            guard let text = try body.nonEmptyString("newEmail") else { throw .code(.missingNewEmail) }
            guard let newAddress = EmailAddress(text) else { throw .code(.invalidNewEmail) }
            return .verifyAndChangeEmail(
                try subject(of: request, missingToken: .missingIDToken),
                newAddress: newAddress
            )
        case .oldEmailAgree, .newEmailAccept, .recoverEmail, .revertSecondFactorAddition:
            throw .unimplemented("requestType \(type.rawValue)")
        }
    }

    /// The account of a session, or, for an administrator without one, the owner of an address.
    private static func subject(
        of request: APIRequest,
        missingToken: ErrorCode
    ) throws(APIError) -> EmailCodeRequest.Subject {
        if let idToken = try request.body.nonEmptyString("idToken") { return .session(idToken: idToken) }
        guard request.caller == .administrator else { throw .code(missingToken) }
        return .owner(of: try request.body.requiredEmail())
    }
}

extension RequestBody {
    fileprivate func requiredEmail() throws(APIError) -> EmailAddress {
        guard let text = try nonEmptyString("email") else { throw .code(.missingEmail) }
        guard let address = EmailAddress(text) else { throw .code(.invalidEmail) }
        return address
    }
}

/// `requestType`, by name or by number.
private enum OobRequestType: String, CaseIterable {
    case passwordReset = "PASSWORD_RESET"
    case oldEmailAgree = "OLD_EMAIL_AGREE"
    case newEmailAccept = "NEW_EMAIL_ACCEPT"
    case verifyEmail = "VERIFY_EMAIL"
    case recoverEmail = "RECOVER_EMAIL"
    case emailSignIn = "EMAIL_SIGNIN"
    case verifyAndChangeEmail = "VERIFY_AND_CHANGE_EMAIL"
    case revertSecondFactorAddition = "REVERT_SECOND_FACTOR_ADDITION"

    /// `nil` when absent or unspecified.
    init?(reading body: RequestBody) throws(APIError) {
        let names = ["OOB_REQ_TYPE_UNSPECIFIED"] + Self.allCases.map(\.rawValue)
        guard body.value("requestType") != .string(""), let name = try body.enumeration("requestType", names) else {
            return nil
        }
        self.init(rawValue: name)
    }
}

extension EmailCodeSettings {
    fileprivate init(reading body: RequestBody) throws(APIError) {
        self.init()
        continueURL = try body.nonEmptyString("continueUrl")
        handlesCodeInApp = try body.bool("canHandleCodeInApp") ?? false
        iOSBundleID = try body.nonEmptyString("iOSBundleId")
        iOSAppStoreID = try body.nonEmptyString("iOSAppStoreId")
        androidPackageName = try body.nonEmptyString("androidPackageName")
        installsAndroidApp = try body.bool("androidInstallApp") ?? false
        androidMinimumVersion = try body.nonEmptyString("androidMinimumVersion")
        dynamicLinkDomain = try body.nonEmptyString("dynamicLinkDomain")
        linkDomain = try body.nonEmptyString("linkDomain")
    }
}
