import AccountLinking
import JSON

extension KnownVerifier {
    static let twitter = separate { Twitter(network: $0) }
}

/// `twitter.com`: OAuth 1.0a (RFC 5849; docs.x.com, "Log in with X"). Twitter returns the user of an access token, and
/// only to the app that it was issued to: a token of another app does not work with this project's key.
struct Twitter: IdentityProvider {
    let network: ProviderNetwork
    /// Returns a new value each time (RFC 5849 §3.3).
    var newNonce: @Sendable () -> String = {
        String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
    }

    func speaks(for provider: ProviderID) -> Bool { provider == .twitter }

    func authorization(
        for request: AuthorizationRequest,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> AuthorizationPreparation {
        guard let client = Self.client(of: configuration) else { return .invalid(.incompleteConfiguration) }
        // The answer contains nothing of the flow except the parameters of this address.
        let callback = PercentEncoding.adding([("state", request.state)], to: request.redirectURI)
        let requests = network.requests(under: configuration, at: now)
        let answer = try await requests.answer(
            to: signing(client, token: nil, at: now).authorizing(
                ProviderRequest(
                    .post,
                    configuration.address(.requestToken, usual: "https://api.twitter.com/oauth/request_token")
                ),
                with: [("oauth_callback", callback)]
            )
        )
        switch answer.status {
        case 400, 401: return .invalid(.clientRefused)
        case 403: return .invalid(.refusedByProvider)
        default: break
        }
        let form = try Self.form(answer)
        // A server that does not confirm the callback may send the browser elsewhere (RFC 5849 §2.1).
        guard form["oauth_callback_confirmed"] == "true", let token = Self.credentials(in: form) else {
            throw .malformedAnswer
        }
        let custom = request.customParameters.filter { name, _ in
            name != "oauth_token" && !(request.reauthenticates && name == "force_login")
                && !AuthorizationRequest.reservedParameters.contains(name)
        }
        // docs.x.com, "GET oauth/authenticate".
        let reauthentication = request.reauthenticates ? [("force_login", "true")] : []
        let page = configuration.address(.authorization, usual: "https://api.twitter.com/oauth/authenticate")
        return .prepared(
            PreparedAuthorization(
                address: PercentEncoding.adding(
                    [("oauth_token", token.identifier)] + reauthentication
                        + custom.sorted { $0.key < $1.key }.map { ($0.key, $0.value) },
                    to: page
                ),
                flow: AuthorizationFlow(
                    redirectURI: request.redirectURI,
                    requestToken: token.identifier,
                    requestTokenSecret: token.secret
                )
            )
        )
    }

    func verify(
        _ credential: ProviderCredential,
        configuration: ProviderConfiguration,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> CredentialVerification {
        let requests = network.requests(under: configuration, at: now)
        guard let client = Self.client(of: configuration) else { return .invalid(.incompleteConfiguration) }
        let token: OAuth1.Credentials
        var subject: String?
        if let flow = credential.flow {
            guard credential.deniedToken == nil else { return .invalid(.cancelledByUser) }
            switch try await exchange(credential, of: flow, client, requests) {
            case .invalid(let reason): return .invalid(reason)
            case .token(let exchanged, let owner): (token, subject) = (exchanged, owner)
            }
        } else {
            guard let text = credential.accessToken, let secret = credential.tokenSecret else {
                return .invalid(.missingCredential)
            }
            guard text.isAccessToken, secret.isAccessToken else { return .invalid(.malformed) }
            token = OAuth1.Credentials(identifier: text, secret: secret)
        }
        let profile = configuration.address(
            .profile,
            usual: "https://api.twitter.com/1.1/account/verify_credentials.json"
        )
        let options = [("include_email", "true"), ("include_entities", "false"), ("skip_status", "true")]
        let answer = try await requests.answer(
            to: signing(client, token: token, at: now).authorizing(
                ProviderRequest(.get, PercentEncoding.adding(options, to: profile))
            )
        )
        guard ![400, 401, 403].contains(answer.status) else { return .invalid(.refusedByProvider) }
        guard answer.isSuccess else { throw .unexpectedStatus }
        guard let profile = answer.json, let id = profile["id_str"]?.string.nonEmpty, subject == nil || subject == id
        else { throw .malformedAnswer }
        return Self.verification(
            of: credential.exchanged(for: ProviderTokens(accessToken: token.identifier, tokenSecret: token.secret)),
            profile: profile
        )
    }

    private enum Exchange {
        /// The access token, with its user's id if Twitter returned it.
        case token(OAuth1.Credentials, owner: String?)
        case invalid(InvalidCredential)
    }

    /// Exchanges the temporary credentials that the user authorized for an access token (RFC 5849 §2.3).
    private func exchange(
        _ credential: ProviderCredential,
        of flow: AuthorizationFlow,
        _ client: OAuth1.Credentials,
        _ requests: ProviderRequests
    ) async throws(ProviderUnavailable) -> Exchange {
        guard let identifier = flow.requestToken, let secret = flow.requestTokenSecret,
            credential.requestToken == identifier
        else { return .invalid(.unknownFlow) }
        guard let verifier = credential.verifier else { return .invalid(.missingCredential) }
        guard verifier.isAccessToken else { return .invalid(.malformed) }
        let temporary = OAuth1.Credentials(identifier: identifier, secret: secret)
        let answer = try await requests.answer(
            to: signing(client, token: temporary, at: requests.now).authorizing(
                ProviderRequest(
                    .post,
                    requests.configuration.address(.token, usual: "https://api.twitter.com/oauth/access_token")
                ),
                with: [("oauth_verifier", verifier)]
            )
        )
        guard ![400, 401, 403].contains(answer.status) else { return .invalid(.refusedByProvider) }
        let form = try Self.form(answer)
        guard let token = Self.credentials(in: form) else { throw .malformedAnswer }
        return .token(token, owner: form["user_id"].nonEmpty)
    }

    /// Returns the verdict for the user's profile. It has an address only if the app may request it.
    private static func verification(of credential: ProviderCredential, profile: JSONValue) -> CredentialVerification {
        let names = [
            "id_str": "sub", "name": "name", "screen_name": "screen_name", "profile_image_url_https": "picture",
            "email": "email",
        ]
        let claims = (profile.object ?? [:]).compactMap { name, value in names[name].map { ($0, value) } }
        return .verified(of: credential, claims: .object(Dictionary(claims) { $1 }), issuer: nil) { verified, _ in
            verified.rawUserInfo = profile.text
        }
    }

    private func signing(
        _ client: OAuth1.Credentials,
        token: OAuth1.Credentials?,
        at now: Timestamp
    ) -> OAuth1 {
        OAuth1(client: client, token: token, nonce: newNonce(), secondsSinceEpoch: now.secondsSinceEpoch)
    }

    private static func client(of configuration: ProviderConfiguration) -> OAuth1.Credentials? {
        guard let key = configuration.clientIDs.first.nonEmpty, let secret = configuration.clientSecret.nonEmpty else {
            return nil
        }
        return OAuth1.Credentials(identifier: key, secret: secret)
    }

    /// Reads the answer to a token request (RFC 5849 §2.1).
    private static func form(_ answer: ProviderAnswer) throws(ProviderUnavailable) -> [String: String] {
        guard answer.isSuccess else { throw .unexpectedStatus }
        return PercentEncoding.pairs(answer.body, plusIsSpace: true)
    }

    /// Returns `nil` also for texts longer than any token, because they are stored and sent back.
    private static func credentials(in form: [String: String]) -> OAuth1.Credentials? {
        guard let identifier = form["oauth_token"].nonEmpty, let secret = form["oauth_token_secret"].nonEmpty,
            identifier.utf8.count <= 1024, secret.utf8.count <= 1024
        else { return nil }
        return OAuth1.Credentials(identifier: identifier, secret: secret)
    }
}
