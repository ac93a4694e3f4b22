/// A proof of an identity: a password, a mailed link, a code, or tokens of a provider.
///
/// The providers create credentials: ``EmailAuthProvider``, ``PhoneAuthProvider``, ``GoogleAuthProvider``,
/// ``GitHubAuthProvider``, ``TwitterAuthProvider``, ``FacebookAuthProvider``, ``OAuthProvider``. An error can carry one
/// too: ``AuthError/updatedCredential``.
///
/// A credential is `Codable`, so that an app can store it. Protect the encoded value like a password. Descriptions do
/// not show secrets.
public struct AuthCredential: Sendable, Codable, Hashable {
    enum Kind: Sendable, Codable, Hashable {
        case password(email: String, password: Secret)
        /// A mailed link. Without an address, the client takes the one that it stored when the link was requested.
        case emailLink(email: String?, link: Secret)
        case phone(verificationID: Secret, code: Secret)
        /// A number that another account has, proven by this device (`temporaryProof`).
        case phoneProof(phoneNumber: String, proof: Secret)
        case oauth(OAuthTokens)
        /// The answer of a provider's page to this app.
        case redirect(requestURI: Secret, sessionID: Secret)
    }

    let kind: Kind
    /// The provider's id: `password`, `phone`, `google.com`, `oidc.acme` and so on.
    public let provider: String

    init(_ provider: String, _ kind: Kind) {
        self.provider = provider
        self.kind = kind
    }

    /// The provider's id token, if the credential has one.
    public var idToken: String? { tokens?.idToken?.text }
    /// The provider's access token, if the credential has one.
    public var accessToken: String? { tokens?.accessToken?.text }
    /// The secret of an OAuth 1.0a access token, if the credential has one.
    public var secret: String? { tokens?.secret?.text }

    /// The handle of the conflict that the server opened for the credential.
    var pendingToken: Secret? { tokens?.pendingToken }

    private var tokens: OAuthTokens? { if case .oauth(let tokens) = kind { tokens } else { nil } }

    /// The sign-in method: `password`, `emailLink`, or the provider's id.
    public var signInMethod: String {
        switch kind {
        case .emailLink: "emailLink"
        default: provider
        }
    }
}

extension AuthCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "AuthCredential(\(signInMethod))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// FirebaseAuth's name for a credential of a provider.
public typealias OAuthCredential = AuthCredential
/// FirebaseAuth's name for a credential of a phone number.
public typealias PhoneAuthCredential = AuthCredential

/// Tokens of a provider.
struct OAuthTokens: Sendable, Codable, Hashable {
    var idToken: Secret?
    var accessToken: Secret?
    var secret: Secret?
    var rawNonce: Secret?
    /// The handle under which the server keeps the credential. It replaces the tokens, which may be used up.
    var pendingToken: Secret?
    /// Apple's `user` parameter: the name, which Apple sends to the app alone, once.
    var fullName: String?

    /// `postBody` of `accounts:signInWithIdp`.
    func form(provider: String) -> String {
        let fields: [(String, String?)] = [
            ("providerId", provider), ("id_token", idToken?.text), ("access_token", accessToken?.text),
            ("oauth_token_secret", secret?.text), ("nonce", rawNonce?.text), ("user", fullName),
        ]
        return FormEncoding.text(fields.compactMap { name, value in value.map { (name, $0) } })
    }
}
