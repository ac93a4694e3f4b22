import AccountLinking
import Crypto
import JSON

extension KnownIssuer {
    /// `apple.com`: identity tokens of Sign in with Apple, from apps (audience: the bundle id) and the web (the services
    /// id). The name travels beside the token.
    static let apple = KnownIssuer(
        provider: .apple,
        keySetURL: "https://appleid.apple.com/auth/keys",
        nonceRule: .hashed,
        server: AuthorizationServer(
            authorizationURL: "https://appleid.apple.com/auth/authorize",
            tokenURL: "https://appleid.apple.com/auth/token",
            scopes: ["name", "email"],
            // Apple sends names no other way.
            parameters: [("response_mode", "form_post")],
            // Apple asks each time, and documents no parameter for it.
            reauthentication: [],
            clientSecret: { configuration, now in
                guard let clientID = configuration.clientIDs.first else { return nil }
                return configuration.appleKey?.clientSecret(of: clientID, at: now)
            }
        ),
        refine: takeName
    )

    @Sendable private static func takeName(
        _ verified: inout VerifiedCredential,
        _: StandardClaims,
        _ credential: ProviderCredential
    ) {
        guard let name = name(in: credential.appleUser) else { return }
        verified.firstName = StandardClaims.bounded(name["firstName"]?.string)
        verified.lastName = StandardClaims.bounded(name["lastName"]?.string)
        guard let full = StandardClaims.joined(verified.firstName, verified.lastName) else { return }
        verified.fullName = full
        verified.incoming.profile.displayName = full
    }

    /// The name the client says Apple gave it. Nothing signs it, so nothing but the name is taken from there (not its
    /// `email`), and a text that cannot be read is no reason to refuse the sign-in.
    private static func name(in user: String?) -> JSONValue? {
        guard let user, user.utf8.count <= 4096,
            let document = try? JSONValue(parsing: Array(user.utf8), depthMax: 4)
        else { return nil }
        return document["name"]
    }
}

extension AppleKey {
    /// How long a secret is good: for the request that it is made for. Apple allows six months.
    static let secretSeconds: Int64 = 300

    /// What a client shows instead of a secret: a token it signs itself (Sign in with Apple REST API, "Creating a client
    /// secret"). `nil` when the key is none.
    func clientSecret(of clientID: String, at now: Timestamp) -> String? {
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: privateKey) else { return nil }
        return try? key.signedToken(keyID: keyID) { writer in
            writer.field("iss", teamID)
            writer.field("iat", now.secondsSinceEpoch)
            writer.field("exp", now.secondsSinceEpoch + Self.secretSeconds)
            writer.field("aud", KnownIssuer.apple.issuer)
            writer.field("sub", clientID)
        }
    }
}

/// Takes back what Apple gave out, as apps have to when an account is deleted (Sign in with Apple REST API, "Revoke
/// tokens").
struct AppleRevocation: Sendable {
    let network: ProviderNetwork

    /// - Parameters:
    ///   - token: what to take back; a code is exchanged first, because Apple takes back tokens only.
    ///   - bundleID: the app that got it, where it was one; the services id otherwise.
    ///   - configuration: what the project registered about Apple.
    ///   - now: the instant of the request.
    /// - Returns: why not; `nil` when it is done.
    /// - Throws: `ProviderUnavailable` when Apple gives no usable answer; it may have been done.
    func revoke(
        _ token: RevocableToken,
        ofApp bundleID: String?,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> InvalidCredential? {
        var inquiry = network.inquiry(under: configuration, at: now)
        let clientID = bundleID.flatMap { configuration.appleBundleIDs.contains($0) ? $0 : nil }
        guard let clientID = clientID ?? configuration.clientIDs.first,
            let secret = configuration.appleKey?.clientSecret(of: clientID, at: now)
        else { return .incompleteConfiguration }
        let hint: String
        let text: String
        switch token {
        case .access(let access): (hint, text) = ("access_token", access)
        case .refresh(let refresh): (hint, text) = ("refresh_token", refresh)
        case .code(let code, let redirectURI):
            inquiry.configuration.clientIDs = [clientID]
            var credential = ProviderCredential(provider: .apple, authorizationCode: code)
            credential.flow = redirectURI.map { AuthorizationFlow(redirectURI: $0) }
            if let reason = try await KnownIssuer.apple.server.exchange(code, of: &credential, inquiry) {
                return reason
            }
            if let refresh = credential.refreshToken {
                (hint, text) = ("refresh_token", refresh)
            } else if let access = credential.accessToken {
                (hint, text) = ("access_token", access)
            } else {
                throw .malformedAnswer
            }
        }
        let answer = try await inquiry.answer(
            to: .form(
                [("client_id", clientID), ("client_secret", secret), ("token", text), ("token_type_hint", hint)],
                to: configuration.address(.revocation, usual: "https://appleid.apple.com/auth/revoke")
            )
        )
        if answer.isSuccess { return nil }
        switch answer.json?["error"]?.string {
        case nil: throw .unexpectedStatus
        case "invalid_client": return .clientRefused
        case .some: return .refusedByProvider
        }
    }
}
