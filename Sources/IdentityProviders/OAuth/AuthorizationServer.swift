import AccountLinking
import Crypto
import FoundationEssentials
import JSON

/// A provider's authorization server (RFC 6749): the values in which it differs from others.
struct AuthorizationServer: Sendable {
    /// The method of client authentication (RFC 6749 §2.3.1).
    enum ClientAuthentication: Sendable {
        /// In the `Authorization` field.
        case basic
        /// In the form.
        case form
    }

    let authorizationURL: String
    let tokenURL: String
    /// The scopes that a sign-in needs.
    let scopes: [String]
    var responseType = "code"
    /// Further parameters of the consent page.
    var parameters: [(name: String, value: String)] = []
    /// The parameters that make the consent page require a new authentication (OpenID Connect Core 1.0 §3.1.2.1). With
    /// `max_age` the ID token contains its time.
    var reauthentication: [(name: String, value: String)] = [("prompt", "login"), ("max_age", "0")]
    var authentication = ClientAuthentication.form
    /// The redirect address for codes that an SDK requested without one; `nil` for none.
    var nativeRedirectURI: String?
    /// If `true`, codes are bound to a verifier (RFC 7636).
    var usesCodeVerifiers = true
    /// If `true`, ID tokens are bound to a nonce.
    var usesNonces = true
    /// Returns the client's secret at an instant; `nil` if the project registered none.
    var clientSecret: @Sendable (ProviderConfiguration, Timestamp) -> String? = { configuration, _ in
        configuration.clientSecret
    }

    /// Returns the consent page's address for `request`.
    func authorization(
        for request: AuthorizationRequest,
        configuration: ProviderConfiguration
    ) -> AuthorizationPreparation {
        guard let clientID = configuration.clientIDs.first else { return .invalid(.incompleteConfiguration) }
        let scopes = scopes + request.scopes.filter { !self.scopes.contains($0) }
        var query: [(name: String, value: String)] = [
            ("response_type", responseType), ("client_id", clientID), ("redirect_uri", request.redirectURI),
            ("scope", scopes.joined(separator: " ")), ("state", request.state),
        ]
        if usesNonces { query.append(("nonce", request.nonce)) }
        if usesCodeVerifiers {
            let challenge = Base64URL.encode(Array(SHA256.hash(data: Array(request.codeVerifier.utf8))))
            query += [("code_challenge", challenge), ("code_challenge_method", "S256")]
        }
        if let hint = request.loginHint { query.append(("login_hint", hint)) }
        query += parameters
        if request.reauthenticates { query += reauthentication }
        let custom = request.customParameters.filter { name, _ in
            !AuthorizationRequest.reservedParameters.contains(name) && !query.contains { $0.name == name }
        }
        query += custom.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        let page = configuration.address(.authorization, usual: authorizationURL)
        return .prepared(
            PreparedAuthorization(
                address: PercentEncoding.adding(query, to: page),
                flow: AuthorizationFlow(
                    redirectURI: request.redirectURI,
                    nonce: usesNonces ? request.nonce : nil,
                    codeVerifier: usesCodeVerifiers ? request.codeVerifier : nil
                )
            )
        )
    }

    /// Exchanges the code of `credential` for the provider's tokens (RFC 6749 §4.1.3). A code can be exchanged once.
    /// - Returns: the reason why the code is refused; `nil` if the credential has the tokens.
    /// - Throws: `ProviderUnavailable` if the provider gives no usable answer.
    func exchange(
        _ code: String,
        of credential: inout ProviderCredential,
        _ requests: ProviderRequests
    ) async throws(ProviderUnavailable) -> InvalidCredential? {
        let configuration = requests.configuration
        guard let clientID = configuration.clientIDs.first, let secret = clientSecret(configuration, requests.now)
        else {
            return .incompleteConfiguration
        }
        var form: [(name: String, value: String)] = [("grant_type", "authorization_code"), ("code", code)]
        // A code without its flow is exchanged without an address: an app's SDK requested it without one. A stolen code
        // of a flow is refused this way, because flows always request codes with an address (§4.1.3).
        if let address = credential.flow.map(\.redirectURI) ?? nativeRedirectURI {
            form.append(("redirect_uri", address))
        }
        if let verifier = credential.flow?.codeVerifier { form.append(("code_verifier", verifier)) }
        var fields: [ProviderRequest.Field] = []
        switch authentication {
        case .form: form += [("client_id", clientID), ("client_secret", secret)]
        case .basic: fields.append(.basicAuthorization(clientID, secret))
        }
        let address = configuration.address(.token, usual: tokenURL)
        switch try Self.read(await requests.answer(to: .form(form, to: address, fields: fields))) {
        case .invalid(let reason): return reason
        case .tokens(let tokens): credential = credential.exchanged(for: tokens)
        }
        return nil
    }

    private enum Exchange {
        case tokens(ProviderTokens)
        case invalid(InvalidCredential)
    }

    /// Reads the answer of a token endpoint (RFC 6749 §5). Some providers report errors with a success status, and some
    /// successes have no token.
    private static func read(_ answer: ProviderAnswer) throws(ProviderUnavailable) -> Exchange {
        guard let json = answer.json else {
            throw answer.isSuccess ? .malformedAnswer : .unexpectedStatus
        }
        switch json["error"]?.string ?? (json["error"] == nil ? nil : "") {
        case nil: break
        case "invalid_client", "unauthorized_client", "incorrect_client_credentials":
            return .invalid(.clientRefused)
        default:
            guard answer.status < 500 else { throw .unexpectedStatus }
            return .invalid(.refusedByProvider)
        }
        guard answer.isSuccess else { throw .unexpectedStatus }
        let tokens = ProviderTokens(
            idToken: json["id_token"]?.string.nonEmpty,
            accessToken: json["access_token"]?.string.nonEmpty,
            refreshToken: json["refresh_token"]?.string.nonEmpty,
            expiresInSeconds: json["expires_in"]?.integer ?? json["expires_in"]?.string.flatMap { Int64($0) }
        )
        guard tokens.accessToken != nil || tokens.idToken != nil else { throw .malformedAnswer }
        return .tokens(tokens)
    }
}

extension ProviderRequest.Field {
    /// RFC 6749 §2.3.1: both halves form-encoded, then RFC 7617.
    static func basicAuthorization(_ id: String, _ secret: String) -> Self {
        let pair = PercentEncoding.encode(id) + ":" + PercentEncoding.encode(secret)
        return Self(name: "authorization", value: "Basic " + Data(pair.utf8).base64EncodedString())
    }

    /// RFC 6750 §2.1.
    static func bearer(_ token: String) -> Self { Self(name: "authorization", value: "Bearer " + token) }
}
