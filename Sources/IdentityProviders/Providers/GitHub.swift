import AccountLinking
import JSON

extension KnownVerifier {
    static let gitHub = separate { GitHub(network: $0) }
}

/// `github.com`: OAuth 2.0 without ID tokens (docs.github.com, "Authorizing OAuth apps"). GitHub returns the user of an
/// access token, and returns to its own app alone if the token was issued to it.
struct GitHub: IdentityProvider {
    let network: ProviderNetwork

    private static let server = AuthorizationServer(
        authorizationURL: "https://github.com/login/oauth/authorize",
        tokenURL: "https://github.com/login/oauth/access_token",
        scopes: ["user:email"],
        // GitHub documents no parameter for it.
        reauthentication: [],
        usesNonces: false
    )

    func speaks(for provider: ProviderID) -> Bool { provider == .gitHub }

    func authorization(
        for request: AuthorizationRequest,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> AuthorizationPreparation {
        // Without the secret the flow could not be finished.
        guard configuration.clientSecret.nonEmpty != nil else { return .invalid(.incompleteConfiguration) }
        return Self.server.authorization(for: request, configuration: configuration)
    }

    func verify(
        _ credential: ProviderCredential,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> CredentialVerification {
        let requests = network.requests(under: configuration, at: now)
        var credential = credential
        // The token's user, if GitHub has already returned it.
        var owner: JSONValue?
        if let code = credential.authorizationCode {
            if let reason = try await Self.server.exchange(code, of: &credential, requests) { return .invalid(reason) }
        } else if let token = credential.accessToken, credential.flow == nil {
            guard token.isAccessToken else { return .invalid(.malformed) }
            switch try await check(token, requests) {
            case .invalid(let reason): return .invalid(reason)
            case .issued(let id): owner = id
            }
        } else {
            return .invalid(.missingCredential)
        }
        guard let token = credential.accessToken, token.isAccessToken else { throw .malformedAnswer }
        return try await verification(of: credential, token: token, owner: owner, requests)
    }

    private enum Check {
        /// The token was issued to this project's app, for the user with this id.
        case issued(JSONValue)
        case invalid(InvalidCredential)
    }

    /// Checks that `token` was issued to this project's app (docs.github.com, "Check a token").
    private func check(
        _ token: String,
        _ requests: ProviderRequests
    ) async throws(ProviderUnavailable) -> Check {
        let configuration = requests.configuration
        guard let client = configuration.clientIDs.first.nonEmpty, let secret = configuration.clientSecret.nonEmpty
        else { return .invalid(.incompleteConfiguration) }
        let answer = try await requests.answer(
            to: ProviderRequest(
                .post,
                configuration.address(
                    .tokenInfo,
                    usual: "https://api.github.com/applications/\(PercentEncoding.encode(client))/token"
                ),
                fields: [.basicAuthorization(client, secret), .init(name: "content-type", value: "application/json")],
                body: JSONWriter.object { $0.field("access_token", token) }
            )
        )
        switch answer.status {
        case 401: return .invalid(.clientRefused)
        // GitHub answers alike for tokens of other apps and for invented ones.
        case 404, 422: return .invalid(.refusedByProvider)
        default: break
        }
        guard answer.isSuccess else { throw .unexpectedStatus }
        guard let id = answer.json?["user"]?["id"] else { throw .malformedAnswer }
        guard answer.json?["app"]?["client_id"] == .string(client) else { return .invalid(.wrongAudience) }
        return .issued(id)
    }

    private func verification(
        of credential: ProviderCredential,
        token: String,
        owner: JSONValue?,
        _ requests: ProviderRequests
    ) async throws(ProviderUnavailable) -> CredentialVerification {
        let profileAddress = requests.configuration.address(.profile, usual: "https://api.github.com/user")
        let answer = try await ask(profileAddress, token, requests)
        guard answer.status != 401 else { return .invalid(.refusedByProvider) }
        guard answer.isSuccess else { throw .unexpectedStatus }
        guard let profile = answer.json, let id = profile["id"]?.integer, owner ?? .integer(id) == .integer(id) else {
            throw .malformedAnswer
        }
        var claims: [String: JSONValue] = ["sub": .string(String(id))]
        for (name, claim) in [
            ("name", "name"), ("login", "screen_name"), ("avatar_url", "picture"), ("email", "email"),
        ] {
            claims[claim] = profile[name]
        }
        let emailsAddress = requests.configuration.address(.emails, usual: "https://api.github.com/user/emails")
        if let primary = try await primaryEmail(at: emailsAddress, token, requests) {
            claims["email"] = primary["email"]
            claims["email_verified"] = primary["verified"]
        }
        return .verified(of: credential, claims: .object(claims), issuer: nil) { verified, _ in
            verified.rawUserInfo = profile.text
        }
    }

    /// Returns the user's primary address (docs.github.com, "List email addresses for the authenticated user"); `nil`
    /// if the token may not read it (403 or 404). The public address of the profile is used then.
    private func primaryEmail(
        at address: String,
        _ token: String,
        _ requests: ProviderRequests
    ) async throws(ProviderUnavailable) -> JSONValue? {
        let answer = try await ask(address, token, requests)
        guard answer.status != 403, answer.status != 404 else { return nil }
        guard answer.isSuccess else { throw .unexpectedStatus }
        guard let emails = answer.jsonArray else { throw .malformedAnswer }
        return emails.first { $0["primary"] == .bool(true) }
    }

    private func ask(
        _ address: String,
        _ token: String,
        _ requests: ProviderRequests
    ) async throws(ProviderUnavailable) -> ProviderAnswer {
        try await requests.answer(
            to: ProviderRequest(
                .get,
                address,
                fields: [.bearer(token), .init(name: "accept", value: "application/vnd.github+json")]
            )
        )
    }
}
