import AccountLinking
import AccountOperations
import IdentityProviders

extension Denial {
    /// The answer of compatible routes.
    var apiError: APIError {
        switch self {
        case .refusal(let refusal): refusal.apiError
        case .invalidIDToken: .code(.invalidIDToken)
        case .invalidRefreshToken: .code(.invalidRefreshToken)
        case .invalidPendingToken, .conflict, .versionMismatch: .code(.invalidPendingToken)
        case .reauthenticationRequired: .code(.credentialTooOldLoginAgain)
        // Only Concord's own routes have these denials, and answer them with problems.
        case .answeredBefore, .sessionCode, .pendingSignUp, .webhook, .merge: .unexpected
        case .idempotencyKeyReused: .invalidArgument("The Idempotency-Key belongs to another request.")
        case .providerNotRegistered: .code(.configurationNotFound)
        case .usersLockedOut: .code(.lastSignInMethod)
        case .invalidCredential(let reason): reason.apiError
        case .invalidContinueURI: .code(.invalidContinueURI)
        case .unauthorizedDomain: .code(.unauthorizedDomain, "Domain not allowlisted by project")
        case .parametersTooLong: .invalidArgument("The parameters of the provider's page are too long.")
        case .reservedParameter(let name):
            .invalidArgument("Concord sets the parameter \(name) itself: leave it out of customParameter.")
        case .emailCode(let denial): denial.apiError
        case .phone(let denial): denial.apiError
        case .tenantMismatch: .code(.tenantIDMismatch)
        case .invalidEmail: .code(.invalidEmail)
        case .invalidPhoneNumber: .code(.invalidPhoneNumber, "Invalid format.")
        case .secondFactor(let denial): denial.apiError
        case .claimsTooLarge: .code(.claimsTooLarge)
        case .invalidClaims: .code(.invalidClaims)
        case .forbiddenClaim(let name): .code(.forbiddenClaim, name)
        case .invalidCustomToken(let reason): .code(.invalidCustomToken, reason)
        case .credentialMismatch: .code(.credentialMismatch)
        case .missingIdentifier: .code(.missingIdentifier)
        case .passwordPolicy(let missing):
            .code(
                .passwordDoesNotMeetRequirements,
                "Missing password requirements: [\(missing.map(\.text).joined(separator: ", "))]"
            )
        case .passwordTooLong:
            .code(.weakPassword, "Password should be at most \(WeakPassword.lengthMax) characters")
        case .weakPassword(let lengthMin):
            .code(.weakPassword, "Password should be at least \(lengthMin) characters")
        case .commonPassword:
            .code(
                .weakPassword,
                "Password is too easy to guess. Choose a password that is neither common nor your email address."
            )
        case .limitReached(let row): row.apiError
        }
    }
}

extension LimitedResource {
    /// The text does not name the limit, because any caller reads it.
    fileprivate var apiError: APIError {
        let what =
            switch self {
            case .signUps: "new accounts"
            case .providerFlows, .conflicts: "sign-ins with a provider"
            }
        return .code(.tooManyAttemptsTryLater, "Too many \(what). Try again later.")
    }
}

extension InvalidCredential {
    /// The texts are for developers, and never quote what was sent.
    fileprivate var apiError: APIError {
        switch self {
        case .providerNotConfigured, .providerDisabled: .code(.operationNotAllowed, detail)
        case .unsupportedProvider: .code(.invalidProviderID, detail)
        case .cancelledByUser: .code(.userCancelled, detail)
        case .missingNonce, .nonceMismatch: .code(.missingOrInvalidNonce, detail)
        case .missingCredential: .code(.invalidCredentialOrProviderID, detail)
        case .incompleteConfiguration: .code(.operationNotAllowed, detail)
        case .unknownTenant: .invalidArgument(detail)
        case .unknownFlow, .clientRefused, .refusedByProvider, .unsupportedKind, .tooLarge, .malformed,
            .unacceptableType, .algorithmNotAllowed, .unknownKey, .badSignature, .wrongIssuer, .wrongAudience,
            .wrongAuthorizedParty, .expired, .livesTooLong, .staleSignIn, .usedBefore, .notYetValid, .missingSubject,
            .malformedClaim:
            .code(.invalidIdpResponse, detail)
        }
    }
}

extension Refusal {
    var apiError: APIError {
        switch self {
        case .operationNotAllowed: .code(.operationNotAllowed)
        case .signUpDisabled, .anonymousSignUpDisabled, .selfDeletionDisabled: .code(.adminOnlyOperation)
        case .mailboxUnproven:
            .code(.operationNotAllowed, "Confirm the email address first. A mail is on its way.")
        case .userDisabled: .code(.userDisabled)
        case .userNotFound: .code(.userNotFound)
        case .accountMerged:
            .code(.userMerged, "The account was merged into another account: GET /concord/v1/merges?uid=UID")
        case .emailNotFound: .code(.emailNotFound)
        case .invalidPassword: .code(.invalidPassword)
        case .invalidLoginCredentials: .code(.invalidLoginCredentials)
        case .emailExists: .code(.emailExists)
        case .phoneNumberExists: .code(.phoneNumberExists)
        case .unsupportedFirstFactor:
            .code(
                .unsupportedFirstFactor,
                "A phone number cannot be set as a first factor on an SMS based MFA user."
            )
        case .firstFactorNotEligible:
            .code(.unsupportedFirstFactor, "MFA is not available for the given first factor.")
        case .unverifiedEmail: .code(.unverifiedEmail, "An account with second factors needs a verified email.")
        case .secondFactorExists:
            .code(.secondFactorExists, "Phone number already enrolled as second factor for this account.")
        case .secondFactorLimitExceeded: .code(.secondFactorLimitExceeded)
        case .secondFactorNotFound: .code(.mfaEnrollmentNotFound)
        case .messageFactorsDisabled: .code(.operationNotAllowed, "SMS based MFA not enabled.")
        case .totpFactorsDisabled: .code(.operationNotAllowed, "TOTP based MFA not enabled.")
        case .invalidPendingSignIn: .code(.invalidMFAPendingCredential)
        case .messageRegionNotAllowed:
            .code(.operationNotAllowed, "SMS unable to be sent until this region enabled by the app developer.")
        case .federatedIdentityAlreadyLinked: .code(.federatedUserIDAlreadyLinked)
        case .duplicateLocalID: .code(.duplicateLocalID)
        case .credentialTooOld: .code(.credentialTooOldLoginAgain)
        case .emailChangeNeedsVerification:
            .code(.operationNotAllowed, "Please verify the new email before changing email.")
        case .tokenExpired: .code(.tokenExpired)
        case .lastSignInMethod: .code(.lastSignInMethod)
        // Only Concord's own routes have this refusal, and answer it with a problem.
        case .methodNotQuarantined: .unexpected
        case .tooManyAttempts:
            .code(
                .tooManyAttemptsTryLater,
                "Access to this account has been temporarily disabled due to many failed login attempts. You can "
                    + "immediately restore it by resetting your password or you can try again later."
            )
        case .invalidEmailCode: .code(.invalidOobCode)
        }
    }
}

extension PhoneDenial {
    var apiError: APIError {
        switch self {
        case .invalidNumber(let defect): .code(.invalidPhoneNumber, defect.explanation)
        case .missingAppCredential: .code(.missingAppCredential)
        case .missingClientIdentifier: .code(.missingClientIdentifier)
        case .invalidAppCredential: .code(.invalidAppCredential)
        case .captchaCheckFailed: .code(.captchaCheckFailed)
        case .invalidRecaptchaToken: .code(.invalidRecaptchaToken)
        case .missingRecaptchaToken: .code(.missingRecaptchaToken)
        case .appNotVerified: .code(.appNotVerified)
        case .tooManyMessages, .tooManyAttempts: .code(.tooManyAttemptsTryLater)
        case .quotaExceeded: .code(.quotaExceeded)
        case .invalidSession: .code(.invalidSessionInfo)
        case .sessionExpired: .code(.sessionExpired)
        case .invalidCode: .code(.invalidCode)
        case .invalidTemporaryProof: .code(.invalidTemporaryProof)
        }
    }
}

extension SecondFactorDenial {
    var apiError: APIError {
        switch self {
        case .invalidPendingCredential: .code(.invalidMFAPendingCredential)
        case .tooManyAttempts: .code(.tooManyAttemptsTryLater)
        case .unsupportedKind: .invalidArgument("MFA provider not supported!")
        case .invalidPhoneNumber: .code(.invalidMFAPhoneNumber, "Invalid format.")
        case .duplicateID: .code(.duplicateMFAEnrollmentID)
        case .notForAdministrators:
            .code(.unsupportedSecondFactor, "Only the user can enroll an authenticator app.")
        }
    }
}

extension PhoneNumberDefect {
    /// The explanation in the words that clients parse.
    fileprivate var explanation: String {
        switch self {
        case .tooShort: "TOO_SHORT"
        case .tooLong: "TOO_LONG"
        case .malformed, .unknownCountryCode, .unassigned: "Invalid format."
        }
    }
}

extension EmailCodeDenial {
    var apiError: APIError {
        switch self {
        case .invalidContinueURL: .code(.invalidContinueURI, "Invalid value for 'continueUrl'.")
        case .missingContinueURL: .code(.missingContinueURI)
        case .unauthorizedDomain: .code(.unauthorizedDomain, "Domain not allowlisted by project")
        case .missingAndroidPackageName: .code(.missingAndroidPackageName)
        case .missingIOSBundleID: .code(.missingIOSBundleID)
        case .invalidDynamicLinkDomain: .code(.invalidDynamicLinkDomain)
        case .invalidHostingLinkDomain:
            .code(
                .invalidHostingLinkDomain,
                "The provided hosting link domain is not configured in Firebase Hosting or is not owned by the current "
                    + "project. This cannot be a default hosting domain (web.app or firebaseapp.com)."
            )
        case .missingEmail: .code(.missingEmail)
        case .missingCode: .code(.missingOobCode)
        case .tooManyMails(let isForReset):
            .code(isForReset ? .resetPasswordExceedLimit : .tooManyAttemptsTryLater)
        case .quotaExceeded: .code(.quotaExceeded)
        case .expired: .code(.expiredOobCode)
        case .wrongAddress: .code(.invalidEmail, "The email provided does not match the sign-in email address.")
        case .wrongCode: .code(.invalidCode)
        case .tooManyAttempts: .code(.tooManyAttemptsTryLater)
        }
    }
}
