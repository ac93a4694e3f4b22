import Foundation

/// The answer of a route that signs in, links or reauthenticates.
struct SignInAnswer: Decodable, Sendable {
    struct Factor: Decodable, Sendable {
        let mfaEnrollmentId: String
        let displayName: String?
        let enrolledAt: String?
        let phoneInfo: String?
    }

    let kind: String?
    let localId: String?
    let idToken: String?
    let refreshToken: String?
    let expiresIn: LooseNumber?
    let isNewUser: Bool?
    let deviceToken: String?

    // A second factor is needed.
    let mfaPendingCredential: String?
    let mfaInfo: [Factor]?

    // Providers.
    let providerId: String?
    let email: String?
    let displayName: String?
    let screenName: String?
    let rawUserInfo: String?
    let oauthIdToken: String?
    let oauthAccessToken: String?
    let oauthTokenSecret: String?
    let pendingToken: String?
    let needConfirmation: Bool?
    let verifiedProvider: [String]?
    let errorMessage: String?
    let asksFirst: Bool?

    // Phone numbers.
    let phoneNumber: String?
    let temporaryProof: String?

    /// The provider's tokens, with the handle of the conflict if there is one.
    func credential(provider: String) -> AuthCredential? {
        let tokens = OAuthTokens(
            idToken: oauthIdToken.map(Secret.init),
            accessToken: oauthAccessToken.map(Secret.init),
            secret: oauthTokenSecret.map(Secret.init),
            pendingToken: pendingToken.map(Secret.init)
        )
        guard tokens != OAuthTokens() else { return nil }
        return AuthCredential(providerId ?? provider, .oauth(tokens))
    }

    /// The new user counts as new also where the answer says it by its kind alone.
    var saysNewUser: Bool { isNewUser ?? (kind == "identitytoolkit#SignupNewUserResponse") }
}

extension StoredUser.Factor {
    init(_ factor: SignInAnswer.Factor) {
        uid = factor.mfaEnrollmentId
        displayName = factor.displayName
        enrollmentDate = factor.enrolledAt.flatMap(HTTPDate.parseTimestamp)
        phoneNumber = factor.phoneInfo
    }
}
