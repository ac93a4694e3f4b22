import AccountLinking
import Crypto
import JSON

extension KnownVerifier {
    static let facebook = issuer(.facebook)
}

extension KnownIssuer {
    /// `facebook.com`: classic Login with access tokens for an app-scoped user of Graph, and Limited Login with ID
    /// tokens for its iOS SDK. Both use the same user id.
    static let facebook = KnownIssuer(
        provider: .facebook,
        keySetURL: "https://limited.facebook.com/.well-known/oauth/openid/jwks/",
        nonceRule: .hashed,
        server: AuthorizationServer(
            authorizationURL: "https://www.facebook.com/dialog/oauth",
            tokenURL: "https://graph.facebook.com/oauth/access_token",
            scopes: ["public_profile", "email"],
            // developers.facebook.com, "Re-authentication".
            reauthentication: [("auth_type", "reauthenticate")],
            usesNonces: false
        ),
        accessTokens: FacebookAccessTokens()
    )
}

/// Access tokens of Facebook Login, from its SDKs and `FacebookAuthProvider.credential(accessToken)`.
private struct FacebookAccessTokens: AccessTokenVerifying {
    func verify(
        _ credential: ProviderCredential,
        _ requests: ProviderRequests
    ) async throws(ProviderUnavailable) -> CredentialVerification {
        let configuration = requests.configuration
        guard let token = credential.accessToken else { return .invalid(.missingCredential) }
        guard token.isAccessToken else { return .invalid(.malformed) }
        // The token becomes part of an address.
        guard PercentEncoding.encode(token).utf8.count <= 1536 else { return .invalid(.tooLarge) }
        guard let app = configuration.clientIDs.first.nonEmpty, let secret = configuration.clientSecret.nonEmpty else {
            return .invalid(.incompleteConfiguration)
        }
        let owner: String
        switch try await check(token, app: app, secret: secret, requests) {
        case .invalid(let reason): return .invalid(reason)
        case .issued(let user): owner = user
        }
        let answer = try await requests.answer(
            to: ProviderRequest(
                .get,
                PercentEncoding.adding(
                    [
                        ("fields", "id,name,first_name,last_name,email,picture"),
                        ("appsecret_proof", Self.proof(of: token, under: secret)),
                    ],
                    to: configuration.address(.profile, usual: "https://graph.facebook.com/me")
                ),
                fields: [.bearer(token)]
            )
        )
        guard answer.status != 400, answer.status != 401 else { return .invalid(.refusedByProvider) }
        guard answer.isSuccess else { throw .unexpectedStatus }
        guard let profile = answer.json, profile["id"] == .string(owner) else { throw .malformedAnswer }
        return verification(of: credential, subject: owner, profile: profile)
    }

    private enum Check {
        /// The token was issued to this project's app, for the user with this id.
        case issued(String)
        case invalid(InvalidCredential)
    }

    /// Checks that `token` is valid and was issued to this project's app for a user (developers.facebook.com,
    /// "debug_token").
    ///
    /// The app's credentials are sent in a field, because intermediaries log addresses.
    private func check(
        _ token: String,
        app: String,
        secret: String,
        _ requests: ProviderRequests
    ) async throws(ProviderUnavailable) -> Check {
        let answer = try await requests.answer(
            to: ProviderRequest(
                .get,
                PercentEncoding.adding(
                    [("input_token", token)],
                    to: requests.configuration.address(.tokenInfo, usual: "https://graph.facebook.com/debug_token")
                ),
                fields: [.bearer(app + "|" + secret)]
            )
        )
        if answer.status == 400 || answer.status == 401 {
            // 100: "The App_id in the input_token did not match the Viewing App".
            let isForAnother = answer.json?["error"]?["code"] == .integer(100)
            return .invalid(isForAnother ? .wrongAudience : .clientRefused)
        }
        guard answer.isSuccess else { throw .unexpectedStatus }
        guard let data = answer.json?["data"], data.object != nil else { throw .malformedAnswer }
        guard data["is_valid"] == .bool(true) else { return .invalid(.refusedByProvider) }
        guard data["app_id"] == .string(app) else { return .invalid(.wrongAudience) }
        guard data["type"] == .string("USER") else { return .invalid(.unacceptableType) }
        guard let user = data["user_id"]?.string.nonEmpty else { throw .malformedAnswer }
        return .issued(user)
    }

    /// Returns the result. Facebook gives an address only if it was confirmed once; it may have changed since.
    private func verification(
        of credential: ProviderCredential,
        subject: String,
        profile: JSONValue
    ) -> CredentialVerification {
        var claims: [String: JSONValue] = ["sub": .string(subject)]
        let names = [("name", "name"), ("first_name", "given_name"), ("last_name", "family_name"), ("email", "email")]
        for (name, claim) in names { claims[claim] = profile[name] }
        claims["picture"] = profile["picture"]?["data"]?["url"]
        return .verified(of: credential, claims: .object(claims), issuer: KnownIssuer.facebook.issuer) { verified, _ in
            verified.rawUserInfo = profile.text
        }
    }

    /// Returns the proof that the sender of `token` has the app's secret (developers.facebook.com, "Secure Graph API
    /// calls").
    private static func proof(of token: String, under secret: String) -> String {
        let key = SymmetricKey(data: Array(secret.utf8))
        return Hexadecimal.encode(Array(HMAC<SHA256>.authenticationCode(for: Array(token.utf8), using: key)))
    }
}
