import AccountLinking
import JSON

extension KnownVerifier {
    static let google = issuer(.google)
}

extension KnownIssuer {
    /// `google.com`: ID tokens of Google Sign-In (developers.google.com/identity, "Validating an ID token").
    static let google = KnownIssuer(
        provider: .google,
        keySetURL: "https://www.googleapis.com/oauth2/v3/certs",
        checksEveryAuthorizedParty: false,
        nonceRule: .optional,
        server: AuthorizationServer(
            authorizationURL: "https://accounts.google.com/o/oauth2/v2/auth",
            tokenURL: "https://oauth2.googleapis.com/token",
            scopes: ["openid", "email", "profile"],
            // Google has no prompt of that name and shows an error (developers.google.com/identity, "prompt").
            reauthentication: [("max_age", "0")],
            nativeRedirectURI: ""
        ),
        refine: refineGoogle,
        accessTokens: GoogleAccessTokens()
    )

    @Sendable private static func refineGoogle(
        _ verified: inout VerifiedCredential,
        _ standard: StandardClaims,
        _: ProviderCredential
    ) {
        let claims = standard.claims
        let subject = verified.incoming.identity.subject
        verified.incoming.email = standard.email(hostedDomain: claims["hd"]?.string.nonEmpty)
        verified.federatedID = "https://accounts.google.com/" + subject
        verified.rawUserInfo = rawUserInfo(subject: subject, claims: claims, email: verified.incoming.email)
    }

    /// Returns the profile under the keys of Google's own answer. The scopes are inferred from the claims.
    private static func rawUserInfo(subject: String, claims: JSONValue, email: EmailAssertion) -> String {
        var scopes = ["openid", "https://www.googleapis.com/auth/userinfo.profile"]
        var isVerified: Bool?
        if case .present(_, let flag, _) = email {
            scopes.append("https://www.googleapis.com/auth/userinfo.email")
            isVerified = flag == .isTrue
        }
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("granted_scopes", scopes.joined(separator: " "))
            writer.field("id", subject)
            writer.field("name", claims["name"]?.string)
            writer.field("given_name", claims["given_name"]?.string)
            writer.field("family_name", claims["family_name"]?.string)
            writer.field("verified_email", isVerified)
            writer.field("locale", claims["locale"]?.string)
            writer.field("email", claims["email"]?.string)
            writer.field("picture", claims["picture"]?.string)
            writer.field("hd", claims["hd"]?.string)
        }
        return writer.text
    }
}

/// Google's access tokens, from its web client library and `GoogleAuthProvider.credential(null, accessToken)`.
private struct GoogleAccessTokens: AccessTokenVerifying {
    func verify(
        _ credential: ProviderCredential,
        _ requests: ProviderRequests
    ) async throws(ProviderUnavailable) -> CredentialVerification {
        let configuration = requests.configuration
        guard let token = credential.accessToken else { return .invalid(.missingCredential) }
        // developers.google.com/identity/protocols/oauth2, "tokeninfo": `aud` is the client that the token was issued
        // to. Sent in a form, because intermediaries log addresses.
        let info = try await requests.answer(
            to: .form(
                [("access_token", token)],
                to: configuration.address(.tokenInfo, usual: "https://oauth2.googleapis.com/tokeninfo")
            )
        )
        guard info.status != 400, info.status != 401 else { return .invalid(.refusedByProvider) }
        guard info.isSuccess else { throw .unexpectedStatus }
        guard let tokenInfo = info.json else { throw .malformedAnswer }
        guard let audience = tokenInfo["aud"]?.string, configuration.audiences.contains(audience) else {
            return .invalid(.wrongAudience)
        }
        let profile = try await requests.answer(
            to: ProviderRequest(
                .get,
                configuration.address(.profile, usual: "https://openidconnect.googleapis.com/v1/userinfo"),
                fields: [.bearer(token)]
            )
        )
        guard profile.status != 401 else { return .invalid(.refusedByProvider) }
        guard profile.isSuccess else { throw .unexpectedStatus }
        guard let claims = profile.json else { throw .malformedAnswer }
        guard claims["sub"] == tokenInfo["sub"] else { return .invalid(.missingSubject) }
        return KnownIssuer.google.verification(of: credential, claims: claims)
    }
}
