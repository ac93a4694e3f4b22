import HTTPTypes
import JSON

/// Every code of the compatible API; `docs/reference/errors.md` explains each.
enum ErrorCode: String, CaseIterable, Sendable {
    case adminOnlyOperation = "ADMIN_ONLY_OPERATION"
    case appNotVerified = "APP_NOT_VERIFIED"
    case captchaCheckFailed = "CAPTCHA_CHECK_FAILED"
    case claimsTooLarge = "CLAIMS_TOO_LARGE"
    case configurationExists = "CONFIGURATION_EXISTS"
    case configurationNotFound = "CONFIGURATION_NOT_FOUND"
    case credentialMismatch = "CREDENTIAL_MISMATCH"
    case credentialTooOldLoginAgain = "CREDENTIAL_TOO_OLD_LOGIN_AGAIN"
    case duplicateEmail = "DUPLICATE_EMAIL"
    case duplicateLocalID = "DUPLICATE_LOCAL_ID"
    case duplicateMFAEnrollmentID = "DUPLICATE_MFA_ENROLLMENT_ID"
    case duplicateRawID = "DUPLICATE_RAW_ID"
    case dynamicLinkNotActivated = "DYNAMIC_LINK_NOT_ACTIVATED"
    case emailExists = "EMAIL_EXISTS"
    case emailNotFound = "EMAIL_NOT_FOUND"
    case expiredOobCode = "EXPIRED_OOB_CODE"
    case federatedUserIDAlreadyLinked = "FEDERATED_USER_ID_ALREADY_LINKED"
    case forbiddenClaim = "FORBIDDEN_CLAIM"
    case insufficientPermission = "INSUFFICIENT_PERMISSION"
    case invalidAppCredential = "INVALID_APP_CREDENTIAL"
    case invalidAppID = "INVALID_APP_ID"
    case invalidCertHash = "INVALID_CERT_HASH"
    case invalidClaims = "INVALID_CLAIMS"
    case invalidCode = "INVALID_CODE"
    case invalidConfig = "INVALID_CONFIG"
    case invalidConfigID = "INVALID_CONFIG_ID"
    case invalidContinueURI = "INVALID_CONTINUE_URI"
    case invalidCredentialOrProviderID = "INVALID_CREDENTIAL_OR_PROVIDER_ID"
    case invalidCustomToken = "INVALID_CUSTOM_TOKEN"
    case invalidDuration = "INVALID_DURATION"
    case invalidDynamicLinkDomain = "INVALID_DYNAMIC_LINK_DOMAIN"
    case invalidEmail = "INVALID_EMAIL"
    case invalidGrant = "INVALID_GRANT"
    case invalidGrantType = "INVALID_GRANT_TYPE"
    case invalidHashAlgorithm = "INVALID_HASH_ALGORITHM"
    case invalidHostingLinkDomain = "INVALID_HOSTING_LINK_DOMAIN"
    case invalidIdentifier = "INVALID_IDENTIFIER"
    case invalidIdpResponse = "INVALID_IDP_RESPONSE"
    case invalidIDToken = "INVALID_ID_TOKEN"
    case invalidLoginCredentials = "INVALID_LOGIN_CREDENTIALS"
    case invalidMFAPendingCredential = "INVALID_MFA_PENDING_CREDENTIAL"
    case invalidMFAPhoneNumber = "INVALID_MFA_PHONE_NUMBER"
    case invalidNewEmail = "INVALID_NEW_EMAIL"
    case invalidOAuthClientID = "INVALID_OAUTH_CLIENT_ID"
    case invalidOobCode = "INVALID_OOB_CODE"
    case invalidPageSelection = "INVALID_PAGE_SELECTION"
    case invalidPassword = "INVALID_PASSWORD"
    case invalidPendingToken = "INVALID_PENDING_TOKEN"
    case invalidPhoneNumber = "INVALID_PHONE_NUMBER"
    case invalidProviderID = "INVALID_PROVIDER_ID"
    case invalidRecaptchaToken = "INVALID_RECAPTCHA_TOKEN"
    case invalidRefreshToken = "INVALID_REFRESH_TOKEN"
    case invalidRequestURI = "INVALID_REQUEST_URI"
    case invalidReqType = "INVALID_REQ_TYPE"
    case invalidSessionInfo = "INVALID_SESSION_INFO"
    case invalidTemporaryProof = "INVALID_TEMPORARY_PROOF"
    case invalidTestingPhoneNumber = "INVALID_TESTING_PHONE_NUMBER"
    case lastSignInMethod = "LAST_SIGN_IN_METHOD"
    case localIDListExceedsLimit = "LOCAL_ID_LIST_EXCEEDS_LIMIT"
    case mfaEnrollmentNotFound = "MFA_ENROLLMENT_NOT_FOUND"
    case missingAndroidPackageName = "MISSING_ANDROID_PACKAGE_NAME"
    case missingAppCredential = "MISSING_APP_CREDENTIAL"
    case missingClientIdentifier = "MISSING_CLIENT_IDENTIFIER"
    case missingCode = "MISSING_CODE"
    case missingConfigID = "MISSING_CONFIG_ID"
    case missingContinueURI = "MISSING_CONTINUE_URI"
    case missingCredential = "MISSING_CREDENTIAL"
    case missingCustomToken = "MISSING_CUSTOM_TOKEN"
    case missingEmail = "MISSING_EMAIL"
    case missingGrantType = "MISSING_GRANT_TYPE"
    case missingIdentifier = "MISSING_IDENTIFIER"
    case missingIDToken = "MISSING_ID_TOKEN"
    case missingIOSAppToken = "MISSING_IOS_APP_TOKEN"
    case missingIOSBundleID = "MISSING_IOS_BUNDLE_ID"
    case missingIssuer = "MISSING_ISSUER"
    case missingLocalID = "MISSING_LOCAL_ID"
    case missingMFAEnrollmentID = "MISSING_MFA_ENROLLMENT_ID"
    case missingMFAPendingCredential = "MISSING_MFA_PENDING_CREDENTIAL"
    case missingNewEmail = "MISSING_NEW_EMAIL"
    case missingOAuthClientID = "MISSING_OAUTH_CLIENT_ID"
    case missingOobCode = "MISSING_OOB_CODE"
    case missingOrInvalidNonce = "MISSING_OR_INVALID_NONCE"
    case missingPassword = "MISSING_PASSWORD"
    case missingPhoneNumber = "MISSING_PHONE_NUMBER"
    case missingProviderID = "MISSING_PROVIDER_ID"
    case missingRawID = "MISSING_RAW_ID"
    case missingRecaptchaToken = "MISSING_RECAPTCHA_TOKEN"
    case missingRefreshToken = "MISSING_REFRESH_TOKEN"
    case missingRequestURI = "MISSING_REQUEST_URI"
    case missingRequestType = "MISSING_REQ_TYPE"
    case missingSessionInfo = "MISSING_SESSION_INFO"
    case missingUserAccount = "MISSING_USER_ACCOUNT"
    case operationNotAllowed = "OPERATION_NOT_ALLOWED"
    case passwordDoesNotMeetRequirements = "PASSWORD_DOES_NOT_MEET_REQUIREMENTS"
    case passwordLoginDisabled = "PASSWORD_LOGIN_DISABLED"
    case phoneNumberExists = "PHONE_NUMBER_EXISTS"
    case projectNotFound = "PROJECT_NOT_FOUND"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case resetPasswordExceedLimit = "RESET_PASSWORD_EXCEED_LIMIT"
    case secondFactorExists = "SECOND_FACTOR_EXISTS"
    case secondFactorLimitExceeded = "SECOND_FACTOR_LIMIT_EXCEEDED"
    case sessionExpired = "SESSION_EXPIRED"
    case tenantIDMismatch = "TENANT_ID_MISMATCH"
    case tenantNotFound = "TENANT_NOT_FOUND"
    case tokenExpired = "TOKEN_EXPIRED"
    case tooManyAttemptsTryLater = "TOO_MANY_ATTEMPTS_TRY_LATER"
    case unauthorizedDomain = "UNAUTHORIZED_DOMAIN"
    case unexpectedParameter = "UNEXPECTED_PARAMETER"
    case unsupportedFirstFactor = "UNSUPPORTED_FIRST_FACTOR"
    case unsupportedSecondFactor = "UNSUPPORTED_SECOND_FACTOR"
    case unverifiedEmail = "UNVERIFIED_EMAIL"
    case userCancelled = "USER_CANCELLED"
    case userDisabled = "USER_DISABLED"
    case userMerged = "USER_MERGED"
    case userNotFound = "USER_NOT_FOUND"
    case weakPassword = "WEAK_PASSWORD"
}

/// An answer that is not a success, in Google's envelope (docs/reference/protocol.md, "Error envelope").
///
/// No other file has HTTP status codes.
struct APIError: Error, Sendable {
    let status: HTTPResponse.Status
    /// The code that `message` begins with; `nil` if it has none.
    let code: ErrorCode?
    /// `CODE`, or `CODE : explanation for developers`.
    let message: String
    let reason: String
    /// The message of the inner item, if it differs.
    let itemMessage: String?
    /// The body that replaces the envelope.
    private let ownBody: [UInt8]?

    private init(
        _ status: HTTPResponse.Status,
        _ message: String,
        code: ErrorCode? = nil,
        reason: String,
        itemMessage: String? = nil,
        ownBody: [UInt8]? = nil
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.reason = reason
        self.itemMessage = itemMessage
        self.ownBody = ownBody
    }

    /// A documented refusal: 400, unless the code has another status.
    static func code(_ code: ErrorCode, _ explanation: String? = nil) -> APIError {
        let message = explanation.map { "\(code.rawValue) : \($0)" } ?? code.rawValue
        switch code {
        case .projectNotFound, .tenantNotFound, .configurationNotFound:
            return APIError(.notFound, message, code: code, reason: "notFound")
        case .configurationExists:
            return APIError(.conflict, message, code: code, reason: "alreadyExists")
        default:
            return APIError(.badRequest, message, code: code, reason: "invalid")
        }
    }

    /// The canonical name of the status; absent for documented refusals with 400.
    var canonicalStatus: String? {
        switch status {
        case .badRequest: code == nil ? "INVALID_ARGUMENT" : nil
        case .contentTooLarge: "INVALID_ARGUMENT"
        case .unauthorized: "UNAUTHENTICATED"
        case .forbidden: "PERMISSION_DENIED"
        case .notFound: "NOT_FOUND"
        case .conflict: "ALREADY_EXISTS"
        case .notImplemented: "UNIMPLEMENTED"
        case .serviceUnavailable: "UNAVAILABLE"
        default: "INTERNAL"
        }
    }

    /// True if the caller tried too often.
    var isThrottled: Bool { code == .tooManyAttemptsTryLater || code == .resetPasswordExceedLimit }

    /// PostgreSQL cannot store it.
    static let containsNUL = malformedJSON("Strings must not contain U+0000.")

    static func malformedJSON(_ explanation: String) -> APIError {
        APIError(.badRequest, "Invalid JSON payload received. \(explanation)", reason: "parseError")
    }

    ///
    /// `field`: the declared name of the field, never a value that was sent.
    static func invalidValue(at field: String, expected type: String) -> APIError {
        APIError(.badRequest, "Invalid value at '\(field)' (\(type))", reason: "badRequest")
    }

    /// A request with one or several mistakes, which `explanation` names.
    static func invalidArgument(_ explanation: String) -> APIError {
        APIError(.badRequest, "INVALID_ARGUMENT : \(explanation)", reason: "badRequest")
    }

    static let notForBrowsers = APIError(
        .forbidden,
        "The administrators' listener accepts requests from programs on its host only.",
        reason: "forbidden"
    )

    static let foreignPage = APIError(
        .forbidden,
        "In development, administrators' and emulator routes accept web pages from this machine only (http://localhost).",
        reason: "foreignPage"
    )

    static let bodyTooLarge = APIError(
        .contentTooLarge,
        "Request payload size exceeds the limit.",
        reason: "badRequest"
    )

    static let missingAPIKey = APIError(.forbidden, "The request is missing a valid API key.", reason: "forbidden")

    static let invalidAPIKey = APIError(
        .badRequest,
        "API key not valid. Please pass a valid API key.",
        reason: "badRequest"
    )

    static let missingCredentials = APIError(
        .unauthorized,
        "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other "
            + "valid authentication credential.",
        reason: "required",
        itemMessage: "Login Required."
    )

    static let invalidCredentials = APIError(
        .unauthorized,
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
            + "authentication credential.",
        reason: "authError",
        itemMessage: "Invalid Credentials"
    )

    static let onlyAdministratorsNameAProject = code(
        .insufficientPermission,
        "Only authenticated requests can specify target_project_id."
    )

    static let notFound = APIError(.notFound, "The requested URL was not found on this server.", reason: "notFound")

    static func unimplemented(_ what: String) -> APIError {
        APIError(.notImplemented, "\(what) is not implemented.", reason: "notImplemented")
    }

    static let unavailable = APIError(
        .serviceUnavailable,
        "The service is currently unavailable.",
        reason: "backendError"
    )

    /// A failure of the development action page, in the form of that page.
    static func actionPage(_ body: [UInt8]) -> APIError {
        APIError(.badRequest, "action failed", reason: "invalid", ownBody: body)
    }

    static let unexpected = APIError(.internalServerError, "INTERNAL_ERROR", reason: "internalError")

    var body: [UInt8] {
        ownBody ?? envelope
    }

    private var envelope: [UInt8] {
        JSONWriter.object { writer in
            writer.field("error") { writer in
                writer.field("code", Int64(status.code))
                writer.field("message", message)
                writer.field("errors", objects: [itemMessage ?? message]) { writer, itemMessage in
                    writer.field("message", itemMessage)
                    writer.field("domain", "global")
                    writer.field("reason", reason)
                    if status == .unauthorized {
                        writer.field("location", "Authorization")
                        writer.field("locationType", "header")
                    }
                }
                writer.field("status", canonicalStatus)
            }
        }
    }
}

extension APIError {
    /// The status of a problem document.
    static func status(of type: ProblemType) -> HTTPResponse.Status {
        switch type {
        case .codeUnusable, .invalidPolicy, .malformedRequest, .refused: .badRequest
        case .insufficientUserAuthentication, .invalidSession: .unauthorized
        case .foreignPage, .proofNotOffered, .proofRequired, .wrongProof, .userDisabled, .providerDisabled,
            .secondFactorRequired:
            .forbidden
        case .conflictUnknown, .noSuchRoute: .notFound
        case .choicesNeeded, .conflictClosed, .identityInUse, .laterChanges, .lastSignInMethod, .mergeClosed,
            .mergeRefused, .proofStale, .providerAlreadyLinked, .usersLockedOut:
            .conflict
        case .conflictExpired, .proofExpired: .gone
        case .versionMismatch: .preconditionFailed
        case .requestTooLarge: .contentTooLarge
        case .idempotencyKeyReused: .unprocessableContent
        case .tooManyAttempts, .tooManyMails: .tooManyRequests
        case .internalError: .internalServerError
        case .unavailable: .serviceUnavailable
        }
    }
}

extension ProblemType {
    /// The problem type for a failure that has no problem type on Concord's routes.
    init(_ error: APIError) {
        switch error.code {
        case .invalidIDToken, .invalidRefreshToken, .tokenExpired, .userNotFound, .tenantIDMismatch:
            self = .invalidSession
        case .userDisabled:
            self = .userDisabled
        case .tooManyAttemptsTryLater:
            self = .tooManyAttempts
        case .lastSignInMethod:
            self = .lastSignInMethod
        case .configurationNotFound:
            self = .noSuchRoute
        case .some:
            self = .refused
        case nil:
            switch error.status {
            case .notFound, .notImplemented: self = .noSuchRoute
            case .contentTooLarge: self = .requestTooLarge
            case .serviceUnavailable: self = .unavailable
            case .internalServerError: self = .internalError
            case .forbidden where error.reason == APIError.foreignPage.reason: self = .foreignPage
            case .unauthorized, .forbidden: self = .invalidSession
            default: self = .malformedRequest
            }
        }
    }
}
