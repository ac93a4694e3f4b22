package import AccountLinking
import JSON

/// Accepts unsigned tokens, so that apps and tests can sign in without a provider: plain JSON such as
/// `{"sub":"1","email":"a@example.com"}`, or a token with `alg` `none`.
///
/// Development only: only `concord dev` constructs it. Without it such tokens reach the real verifiers, which refuse
/// them. It never handles signed tokens.
package struct FakeProvider: Sendable {
    /// Providers that development enables without configuration (docs/reference/differences.md).
    package static let providers = Set(KnownProvider.all.filter(\.signsIn).map(\.id))

    /// The path of the consent page of all fake providers, on the host to which the browser returns.
    package static let pagePath = "/emulator/auth/provider"

    package init() {}

    /// Returns the consent page where the user chooses an identity; `nil` for a provider that must be registered.
    func authorization(for request: AuthorizationRequest, at provider: ProviderID) -> PreparedAuthorization? {
        guard Self.providers.contains(provider) else { return nil }
        // `https:`, nothing, the host.
        let origin = request.redirectURI.split(separator: "/", omittingEmptySubsequences: false).prefix(3)
            .joined(separator: "/")
        var query = [("provider", provider.rawValue), ("redirect_uri", request.redirectURI), ("state", request.state)]
        if request.reauthenticates { query.append(("prompt", "login")) }
        if let hint = request.loginHint { query.append(("login_hint", hint)) }
        return PreparedAuthorization(
            address: origin + Self.pagePath + "?" + PercentEncoding.form(query.map { (name: $0, value: $1) }),
            flow: AuthorizationFlow(redirectURI: request.redirectURI)
        )
    }

    /// Returns the verdict on a fake token; `nil` if the credential has none and needs real verification.
    ///
    /// The token may replace the ID token or, for providers without one, the access token. A token for an `oidc.*`
    /// provider must name the registered issuer and client, because a project may have several.
    func verification(
        of credential: ProviderCredential,
        configuration: ProviderConfiguration?
    ) -> CredentialVerification? {
        let claims: JSONValue
        switch Self.fakeClaims(in: credential.idToken ?? credential.accessToken) {
        case .none: return nil
        case .invalid(let reason): return .invalid(reason)
        case .claims(let found): claims = found
        }
        if credential.provider.isOpenIDConnect {
            guard let configuration, let issuer = configuration.issuer.nonEmpty else {
                return .invalid(.providerNotConfigured)
            }
            guard claims["iss"] == .string(issuer) else { return .invalid(.wrongIssuer) }
            let named = claims["aud"]?.array ?? [claims["aud"] ?? .null]
            guard named.contains(where: { $0.string.map(configuration.audiences.contains) ?? false }) else {
                return .invalid(.wrongAudience)
            }
            if let reason = Self.nonceViolation(by: claims, of: credential, usual: .hashedOrPlain) {
                return .invalid(reason)
            }
            return OpenIDConnect.verification(of: credential, claims: claims, issuer: issuer)
        }
        guard Self.providers.contains(credential.provider) else { return nil }
        let completed = Self.completed(credential)
        if let known = KnownIssuer.all.first(where: { $0.provider == credential.provider }) {
            if let reason = Self.nonceViolation(by: claims, of: credential, usual: known.nonceRule) {
                return .invalid(reason)
            }
            return Self.verification(by: known, of: completed, claims: claims)
        }
        // Other providers have no ID tokens and so no issuer.
        return .verified(of: completed, claims: claims, issuer: nil) { _, _ in }
    }

    /// Returns the credential with an access token, as the provider would have sent one.
    ///
    /// SDKs rebuild a credential from the answer, and for GitHub, Facebook and Twitter from its access token alone
    /// (`GithubAuthProvider.credentialFromError`), for Twitter also from its secret. The fake token itself replaces a
    /// missing access token, so that the rebuilt credential signs in as well. Twitter has no ID tokens.
    private static func completed(_ credential: ProviderCredential) -> ProviderCredential {
        var completed = credential
        completed.accessToken = credential.accessToken ?? credential.idToken
        if credential.provider == .twitter {
            completed.idToken = nil
            completed.tokenSecret = credential.tokenSecret ?? madeUpSecret
        }
        return completed
    }

    private static let madeUpSecret = "made-up"

    /// Returns the verdict of `known`, with a locale in Google's `rawUserInfo`, as the emulator has one for every user.
    /// The account gets no language from it.
    private static func verification(
        by known: KnownIssuer,
        of credential: ProviderCredential,
        claims: JSONValue
    ) -> CredentialVerification {
        let verdict = known.verification(of: credential, claims: claims)
        guard known.provider == .google, claims["locale"] == nil, case .verified(var verified) = verdict,
            case .object(var members) = claims
        else { return verdict }
        members["locale"] = .string("en")
        guard case .verified(let located) = known.verification(of: credential, claims: .object(members)) else {
            return verdict
        }
        verified.rawUserInfo = located.rawUserInfo
        return .verified(verified)
    }

    /// Returns the reason to refuse an ID token that is neither fake nor well formed, where a fake one would be
    /// accepted; `nil` if its form is valid.
    func objection(to credential: ProviderCredential) -> InvalidCredential? {
        guard Self.providers.contains(credential.provider), let token = credential.idToken,
            case .invalid(let reason) = JSONWebToken.parse(token)
        else { return nil }
        return reason
    }

    /// Checks the nonce of a fake token that has one, like that of a real token.
    private static func nonceViolation(
        by claims: JSONValue,
        of credential: ProviderCredential,
        usual rule: IDTokenRequirements.NonceRule
    ) -> InvalidCredential? {
        claims["nonce"] == nil ? nil : credential.nonceRule(usual: rule).violation(by: claims, of: credential)
    }

    private enum Finding {
        case none
        case claims(JSONValue)
        case invalid(InvalidCredential)
    }

    private static func fakeClaims(in token: String?) -> Finding {
        guard let token else { return .none }
        if token.hasPrefix("{") {
            guard token.utf8.count <= JSONWebToken.bytesMax else { return .invalid(.tooLarge) }
            guard let claims = try? JSONValue(parsing: Array(token.utf8), depthMax: 16) else {
                return .invalid(.malformed)
            }
            return .claims(claims)
        }
        switch JSONWebToken.parse(token) {
        case .token(let parsed) where parsed.algorithmName == "none" && parsed.signature.isEmpty:
            return .claims(parsed.claims)
        case .token, .invalid: return .none
        }
    }
}
