import AccountLinking
import Crypto
import JSON

extension KnownVerifier {
    static let apple = issuer(.apple)
}

extension KnownIssuer {
    /// `apple.com`: identity tokens of Sign in with Apple, from apps (audience: the bundle id) and the web (the
    /// services id). The name arrives beside the token.
    static let apple = KnownIssuer(
        provider: .apple,
        keySetURL: "https://appleid.apple.com/auth/keys",
        nonceRule: .hashed,
        server: AuthorizationServer(
            authorizationURL: "https://appleid.apple.com/auth/authorize",
            tokenURL: "https://appleid.apple.com/auth/token",
            scopes: ["name", "email"],
            // Apple sends names only this way.
            parameters: [("response_mode", "form_post")],
            // Apple always asks for authentication, and documents no parameter for it.
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

    /// Returns the name that the client received from Apple. It is not signed, so only the name is used (not its
    /// `email`), and unreadable text does not refuse the sign-in.
    private static func name(in user: String?) -> JSONValue? {
        guard let user, user.utf8.count <= 4096,
            let document = try? JSONValue(parsing: Array(user.utf8), depthMax: 4)
        else { return nil }
        return document["name"]
    }
}

extension AppleKey {
    /// The lifetime of a client secret, which is made for one request. Apple allows six months.
    static let secretSeconds: Int64 = 300

    /// Returns the client secret: a token that the client signs itself (Sign in with Apple REST API, "Creating a client
    /// secret"). `nil` if the key is invalid.
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

/// Revokes Apple's tokens, as apps must when an account is deleted (Sign in with Apple REST API, "Revoke tokens").
struct AppleRevocation: Sendable {
    let network: ProviderNetwork

    /// - Parameters:
    ///   - token: the token to revoke. A code is exchanged first, because Apple revokes only tokens.
    ///   - bundleID: the app that got it; `nil` for the services id.
    ///   - configuration: the project's registration of Apple.
    ///   - now: the instant of the request.
    /// - Returns: the reason of a refusal; `nil` if the token is revoked.
    /// - Throws: `ProviderUnavailable` if Apple gives no usable answer. The token may be revoked nevertheless.
    func revoke(
        _ token: RevocableToken,
        ofApp bundleID: String?,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> InvalidCredential? {
        var requests = network.requests(under: configuration, at: now)
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
            requests.configuration.clientIDs = [clientID]
            var credential = ProviderCredential(provider: .apple, authorizationCode: code)
            credential.flow = redirectURI.map { AuthorizationFlow(redirectURI: $0) }
            if let reason = try await KnownIssuer.apple.server.exchange(code, of: &credential, requests) {
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
        let answer = try await requests.answer(
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
