/// Why a call failed.
///
/// Cases and raw values up to 18000 are those of FirebaseAuth. Cases from 18100 are Concord's own. Later versions may
/// add cases: handle unknown ones with `default`.
public enum AuthErrorCode: Int, Sendable, Codable, CaseIterable {
    /// The custom token is not valid.
    case invalidCustomToken = 17000
    /// The custom token belongs to another project.
    case customTokenMismatch = 17002
    /// The credential is wrong, malformed or expired.
    case invalidCredential = 17004
    /// The account is disabled.
    case userDisabled = 17005
    /// The project does not allow this sign-in method or operation.
    case operationNotAllowed = 17006
    /// Another account has the address.
    case emailAlreadyInUse = 17007
    /// The address is malformed, or is not the one that the link was sent to.
    case invalidEmail = 17008
    /// The password is wrong, or the account has none.
    case wrongPassword = 17009
    /// Too many attempts. Try again later.
    case tooManyRequests = 17010
    /// No account matches.
    case userNotFound = 17011
    /// An account may have the provider's address, which is not proven. See ``AuthError/conflict``.
    case accountExistsWithDifferentCredential = 17012
    /// The sign-in is too old for the operation. Reauthenticate, then repeat it.
    case requiresRecentLogin = 17014
    /// The account already has this provider.
    case providerAlreadyLinked = 17015
    /// The account does not have this provider.
    case noSuchProvider = 17016
    /// The ID token is malformed or revoked.
    case invalidUserToken = 17017
    /// No complete answer arrived before the deadline.
    case networkError = 17020
    /// The session ended. The client has signed out; sign in again.
    case userTokenExpired = 17021
    /// The API key is missing or unknown.
    case invalidAPIKey = 17023
    /// The credential belongs to another account than the one to reauthenticate.
    case userMismatch = 17024
    /// Another account has the credential. ``AuthError/updatedCredential`` signs in to it.
    case credentialAlreadyInUse = 17025
    /// The password is too weak. ``AuthError/message`` says why.
    case weakPassword = 17026
    /// The API key does not allow this app.
    case appNotAuthorized = 17028
    /// The mailed code has expired.
    case expiredActionCode = 17029
    /// The mailed code is unknown or used.
    case invalidActionCode = 17030
    /// The template of the mail is not valid.
    case invalidMessagePayload = 17031
    /// The sender of the mail is not valid.
    case invalidSender = 17032
    /// The recipient's address is not valid.
    case invalidRecipientEmail = 17033
    /// The address is missing.
    case missingEmail = 17034
    /// `iOSBundleID` is required with an App Store id.
    case missingIosBundleID = 17036
    /// `androidPackageName` is required.
    case missingAndroidPackageName = 17037
    /// The host of the URL is no authorized domain of the project.
    case unauthorizedDomain = 17038
    /// The continue URL is not valid.
    case invalidContinueURI = 17039
    /// The continue URL is missing.
    case missingContinueURI = 17040
    /// The phone number is missing.
    case missingPhoneNumber = 17041
    /// The phone number is malformed.
    case invalidPhoneNumber = 17042
    /// The code is missing.
    case missingVerificationCode = 17043
    /// The code is wrong.
    case invalidVerificationCode = 17044
    /// The verification ID is missing.
    case missingVerificationID = 17045
    /// The verification ID is unknown.
    case invalidVerificationID = 17046
    /// The server requires proof that the request comes from the app.
    case missingAppCredential = 17047
    /// The proof that the request comes from the app is not valid.
    case invalidAppCredential = 17048
    /// The code has expired. Request another.
    case sessionExpired = 17051
    /// The quota of the project is used up.
    case quotaExceeded = 17052
    /// The app has no APNs token.
    case missingAppToken = 17053
    /// The app does not forward push notifications to the client.
    case notificationNotForwarded = 17054
    /// The app could not be verified.
    case appNotVerified = 17055
    /// The reCAPTCHA token is not valid.
    case captchaCheckFailed = 17056
    /// Another web flow is open.
    case webContextAlreadyPresented = 17057
    /// The user closed the web flow.
    case webContextCancelled = 17058
    /// The user could not complete the app verification.
    case appVerificationUserInteractionFailure = 17059
    /// The client id is not valid.
    case invalidClientID = 17060
    /// The web flow could not load a page.
    case webNetworkRequestFailed = 17061
    /// The web flow failed.
    case webInternalError = 17062
    /// The user could not complete the web sign-in.
    case webSignInUserInteractionFailure = 17063
    /// The Game Center player is not signed in.
    case localPlayerNotAuthenticated = 17066
    /// No user is signed in, or the user of the operation signed out.
    case nullUser = 17067
    /// The provider id is unknown.
    case invalidProviderID = 17071
    /// The tenant is another one than the session's.
    case tenantIDMismatch = 17072
    /// Tenants do not support the operation.
    case unsupportedTenantOperation = 17073
    /// The provider rejected the credential.
    case rejectedCredential = 17075
    /// The app is not linked with GameKit.
    case gameKitNotLinked = 17076
    /// The account requires its second factor. ``AuthError/resolver`` completes the sign-in.
    case secondFactorRequired = 17078
    /// The pending sign-in is missing.
    case missingMultiFactorSession = 17081
    /// The second factor is not named.
    case missingMultiFactorInfo = 17082
    /// The pending sign-in is not valid.
    case invalidMultiFactorSession = 17083
    /// The account does not have this second factor.
    case multiFactorInfoNotFound = 17084
    /// Administrators alone may do this.
    case adminRestrictedOperation = 17085
    /// The address must be verified first.
    case unverifiedEmail = 17086
    /// The account already has this second factor.
    case secondFactorAlreadyEnrolled = 17087
    /// The account has as many second factors as it may have.
    case maximumSecondFactorCountExceeded = 17088
    /// The first factor does not go with a second one.
    case unsupportedFirstFactor = 17089
    /// The new address must be verified before it replaces the old one.
    case emailChangeNeedsVerification = 17090
    /// The request does not identify the app.
    case missingClientIdentifier = 17093
    /// The nonce does not match the one in the provider's ID token.
    case missingOrInvalidNonce = 17094
    /// A blocking function refused.
    case blockingCloudFunctionError = 17105
    /// reCAPTCHA is not enabled.
    case recaptchaNotEnabled = 17200
    /// The reCAPTCHA token is missing.
    case missingRecaptchaToken = 17201
    /// The reCAPTCHA token is not valid.
    case invalidRecaptchaToken = 17202
    /// The reCAPTCHA action is not valid.
    case invalidRecaptchaAction = 17203
    /// The client type is missing.
    case missingClientType = 17204
    /// The reCAPTCHA version is missing.
    case missingRecaptchaVersion = 17205
    /// The reCAPTCHA version is not valid.
    case invalidRecaptchaVersion = 17206
    /// The request type is not valid.
    case invalidReqType = 17207
    /// The app is not linked with the reCAPTCHA SDK.
    case recaptchaSDKNotLinked = 17208
    /// The reCAPTCHA site key is missing.
    case recaptchaSiteKeyMissing = 17209
    /// The reCAPTCHA action could not be created.
    case recaptchaActionCreationFailed = 17210
    /// The password does not meet the policy of the project.
    case passwordDoesNotMeetRequirements = 17211
    /// The link domain is not configured.
    case invalidHostingLinkDomain = 17214
    /// The Keychain refused. ``AuthError/underlying`` has its status.
    case keychainError = 17995
    /// The server answered an error that this version does not know: ``AuthError/serverCode``.
    case internalError = 17999
    /// The ID token cannot be read.
    case malformedJWT = 18000
    /// The task was cancelled. ``AuthError/underlying`` is a `CancellationError`. The request may have reached the
    /// server.
    case taskCancelled = 18100
    /// The answer is no answer of Concord: HTML, half a body, or members of other types.
    case invalidServerAnswer = 18101
    /// The server or a proxy before it cannot answer now. Try again later.
    case serverUnavailable = 18102
    /// The server's URL is neither `https` nor `http` to this machine.
    case insecureServer = 18103
    /// The answer has an ID token of another account, project or issuer. The client discarded it.
    case tokenOfAnotherAccount = 18104
    /// The session store cannot be read. ``SessionStore/discard()`` starts over.
    case storeUnreadable = 18105
    /// A newer version of the client wrote the session store. Update the app.
    case storeFutureFormat = 18106
    /// The session store cannot be written.
    case storeNotWritable = 18107
    /// A parameter is not valid. ``AuthError/message`` names it.
    case invalidArgument = 18108
    /// No conflict has this handle.
    case conflictUnknown = 18120
    /// The conflict was settled or declined before.
    case conflictClosed = 18121
    /// The conflict has expired. Sign in with the provider again.
    case conflictExpired = 18122
    /// Proof of account ownership is required.
    case proofRequired = 18123
    /// The code or the proof is wrong.
    case wrongProof = 18124
    /// The proof has expired. Request another.
    case proofExpired = 18125
    /// The account or the policy changed since the proof was requested. Request another.
    case proofStale = 18126
    /// The policy of the project does not allow this kind of proof.
    case proofNotOffered = 18127
    /// The code cannot be used. Start over.
    case codeUnusable = 18128
    /// Too many mails about the account were requested. ``AuthError/retryAfter`` says when to try again.
    case tooManyMails = 18129
    /// The account has no other working sign-in method.
    case lastSignInMethod = 18130
    /// The sign-in would create an account, and the app asked to decide first.
    case asksFirst = 18131
    /// The server refuses the request. ``AuthError/message`` says why.
    case refused = 18132
    /// The resource does not exist.
    case notFound = 18133
    /// The resource has changed since it was read. Read it again.
    case changedMeanwhile = 18134
    /// The idempotency key belongs to another request.
    case idempotencyKeyReused = 18135
    /// The merge needs choices.
    case choicesNeeded = 18140
    /// The accounts cannot be merged.
    case mergeRefused = 18141
    /// The state of the merge does not allow this.
    case mergeClosed = 18142
    /// Undoing the merge would overwrite later changes.
    case laterChanges = 18143
    /// Some users have no other working sign-in method.
    case usersLockedOut = 18144
}
