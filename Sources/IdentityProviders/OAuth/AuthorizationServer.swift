import AccountLinking
import Crypto
import FoundationEssentials
import JSON

/// A provider's authorization server (RFC 6749): the values in which it differs from its like.
struct AuthorizationServer: Sendable {
    /// How the client shows that it is the registered one (RFC 6749 §2.3.1).
    enum ClientAuthentication: Sendable {
        /// In the `Authorization` field.
        case basic
        /// In the form.
        case form
    }

    let authorizationURL: String
    let tokenURL: String
    /// Without these there is no sign-in.
    let scopes: [String]
    var responseType = "code"
    /// What the consent page is told besides.
    var parameters: [(name: String, value: String)] = []
    /// What tells the consent page that the user has to sign in anew (OpenID Connect Core 1.0 §3.1.2.1). `max_age` makes
    /// the provider say in the ID token when that was.
    var reauthentication: [(name: String, value: String)] = [("prompt", "login"), ("max_age", "0")]
    var authentication = ClientAuthentication.form
    /// What stands in the place of an address for codes that were asked for without one; `nil`: nothing does.
    var nativeRedirectURI: String?
    /// Whether codes are bound to a verifier (RFC 7636).
    var usesCodeVerifiers = true
    /// Whether an ID token will be bound to a nonce.
    var usesNonces = true
    /// The secret of the client at an instant; `nil` where the project registered none.
    var clientSecret: @Sendable (ProviderConfiguration, Timestamp) -> String? = { configuration, _ in
        configuration.clientSecret
    }

    /// The consent page's address for `request`.
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

    /// Replaces the code of `credential` with the tokens that the provider exchanges it for (RFC 6749 §4.1.3). A code is
    /// good once, and so is this.
    /// - Returns: the reason why the code is refused; `nil` if the credential has the tokens.
    /// - Throws: `ProviderUnavailable` when the provider gives no usable answer.
    func exchange(
        _ code: String,
        of credential: inout ProviderCredential,
        _ inquiry: ProviderInquiry
    ) async throws(ProviderUnavailable) -> InvalidCredential? {
        let configuration = inquiry.configuration
        guard let clientID = configuration.clientIDs.first, let secret = clientSecret(configuration, inquiry.now) else {
            return .incompleteConfiguration
        }
        var form: [(name: String, value: String)] = [("grant_type", "authorization_code"), ("code", code)]
        // One that comes without its flow is exchanged without an address: an app's own SDK asked for it without one, and a
        // code that was asked for with one, as every flow's is, is refused so (§4.1.3), whoever has stolen it.
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
        switch try Self.read(await inquiry.answer(to: .form(form, to: address, fields: fields))) {
        case .invalid(let reason): return reason
        case .tokens(let tokens): credential = credential.exchanged(for: tokens)
        }
        return nil
    }

    private enum Exchange {
        case tokens(ProviderTokens)
        case invalid(InvalidCredential)
    }

    /// Reads the answer of a token endpoint (RFC 6749 §5). Some providers tell of errors with a success, some successes
    /// lack a token.
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
