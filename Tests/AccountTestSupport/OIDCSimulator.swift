package import Crypto
import Foundation
package import JSON
import NIOHTTP1
import Synchronization

/// A simulated OpenID Connect provider on this machine. Its users consent to everything.
///
/// It validates requests as strictly as a good provider, and on demand it misbehaves like a bad one. `complaints` lists
/// the requests that it refused, with reasons.
package final class OIDCSimulator: Sendable {
    package enum Endpoint: String, Sendable, CaseIterable {
        case authorization, token, profile, tokenInfo, keySet, discovery, revocation

        fileprivate var path: String {
            switch self {
            case .discovery: "/.well-known/openid-configuration"
            default: "/" + rawValue
            }
        }
    }

    /// The client's authentication at the token endpoint.
    package enum ClientAuthentication: Sendable {
        case form
        case basic
        /// A JWT signed by the client, as Apple requires.
        case signed(P256.Signing.PublicKey, keyID: String, teamID: String)

        /// The same method with a key that no client has.
        package var refusingEverybody: Self {
            switch self {
            case .form, .basic: self
            case .signed(_, let keyID, let teamID):
                .signed(P256.Signing.PrivateKey().publicKey, keyID: keyID, teamID: teamID)
            }
        }
    }

    /// Failure of an endpoint.
    package enum Fault: Sendable {
        /// Works, after a delay.
        case slow(Duration)
        /// Never replies.
        case hanging
        /// Closes the connection.
        case nothing
        case status(Int)
        case html
        /// Replies with 5 MB.
        case large
    }

    /// A forged signature of ID tokens.
    package enum Forgery: Sendable, CaseIterable {
        case unsigned
        /// HMAC with the public key as secret.
        case publicKeyAsSecret
        /// Another key, under the provider's key id.
        case strangersKey
        /// Another key, under an unknown key id.
        case unknownKey
    }

    /// Behavior of the provider. Tests change it with `change`.
    package struct Character: Sendable {
        /// The provider's issuer; its base URL by default.
        package var issuer: String?
        package var clientID = "client-1"
        package var clientSecret = "secret-1"
        package var authentication = ClientAuthentication.form
        /// True if codes and ID tokens must be bound to a flow by PKCE and nonce.
        package var expectsVerifiers = true
        package var expectsNonces = true
        /// RFC 9207: true if answers contain `iss`; `otherName` replaces its value.
        package var namesItself = false
        package var otherName: String?
        /// Claims about the user in ID tokens and profiles.
        package var user: [String: JSONValue] = ["sub": "subject-1", "email": "ada@gmail.com", "email_verified": true]
        /// Additional claims in profiles.
        package var profile: [String: JSONValue] = [:]
        /// False claims in ID tokens. JSON `null` removes a claim.
        package var lies: [String: JSONValue] = [:]
        package var forgery: Forgery?
        /// False members of the answers about access tokens.
        package var tokenInfo: [String: JSONValue] = [:]
        /// Additional or replaced members of the discovery document.
        package var metadata: [String: JSONValue] = [:]
        /// True if every code and token is revoked.
        package var hasRevokedEverything = false
        package var faults: [Endpoint: Fault] = [:]
        package var keys: [ProviderKey] = [ProviderKey.p256("key-1")]

        package init() {}
    }

    /// The URL to which the browser returns after the consent page.
    package struct Callback: Sendable {
        package var requestURI: String
        /// The form that was posted, if any.
        package var postBody: String?

        package init(requestURI: String, postBody: String? = nil) {
            self.requestURI = requestURI
            self.postBody = postBody
        }
    }

    /// The consent page refused the request.
    package struct Refused: Error, Sendable {
        package var reason: String
    }

    private struct Grant: Sendable {
        var redirectURI: String
        var challenge: String?
        var nonce: String?
    }

    private struct State: Sendable {
        var character: Character
        var port = 0
        var count = 0
        var codes: [String: Grant] = [:]
        var accessTokens: Set<String> = []
        var requests: [Endpoint: Int] = [:]
        var complaints: [String] = []
        var revoked: [String] = []
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> Int64

    private init(_ character: Character, now: @escaping @Sendable () -> Int64) {
        self.state = Mutex(State(character: character))
        self.now = now
    }

    /// Runs `body` with a provider whose clock is `now`, in seconds since 1970.
    package static func run<Output>(
        _ character: Character = Character(),
        now: @autoclosure @escaping @Sendable () -> Int64,
        _ body: (OIDCSimulator) async throws -> Output
    ) async throws -> Output {
        let simulator = OIDCSimulator(character, now: now)
        return try await LocalServer.run { request, _ in
            simulator.answer(request)
        } _: { server in
            simulator.state.withLock { $0.port = server.port }
            return try await body(simulator)
        }
    }

    package var character: Character { state.withLock { $0.character } }

    package func change(_ body: @Sendable (inout Character) -> Void) { state.withLock { body(&$0.character) } }

    package func address(_ endpoint: Endpoint) -> String { base + endpoint.path }

    /// The provider's base URL, which is also its default issuer.
    package var base: String { state.withLock { "http://127.0.0.1:\($0.port)" } }

    package var issuer: String { state.withLock { $0.character.issuer } ?? base }

    package var subject: String { state.withLock { $0.character.user["sub"]?.string ?? "" } }

    /// Signature algorithm of the ID tokens.
    package var algorithm: String { state.withLock { $0.character.keys.last?.algorithm ?? "" } }

    /// The provider's endpoints, by their names in registrations.
    package var addresses: [String: String] {
        let named: [Endpoint] = [.authorization, .token, .profile, .tokenInfo, .keySet, .revocation]
        return Dictionary(uniqueKeysWithValues: named.map { ($0.rawValue, address($0)) })
    }

    package func requests(_ endpoint: Endpoint) -> Int { state.withLock { $0.requests[endpoint] ?? 0 } }

    /// Refused requests, with reasons.
    package var complaints: [String] { state.withLock { $0.complaints } }

    /// Revoked tokens, in order.
    package var revoked: [String] { state.withLock { $0.revoked } }

    // MARK: the consent page

    /// Opens the consent page at `address` as a browser would, and accepts or declines.
    package func consent(to address: String, says yes: Bool = true) throws -> Callback {
        let query = address.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        return try authorize(PercentEncoding.pairs(Array(query.utf8), plusIsSpace: true), says: yes)
    }

    private func authorize(_ query: [String: String], says yes: Bool) throws -> Callback {
        let name = issuer
        return try state.withLock { state in
            let character = state.character
            func check(_ holds: Bool, _ reason: String) throws {
                guard !holds else { return }
                state.complaints.append(reason)
                throw Refused(reason: reason)
            }
            let type = query["response_type"]
            try check(query["client_id"] == character.clientID, "authorization: unknown client")
            try check(type == "code" || type == "id_token", "authorization: response type")
            try check(query["redirect_uri"]?.contains("://") == true, "authorization: redirect")
            try check(query["state"]?.isEmpty == false, "authorization: no state")
            try check(query["scope"]?.isEmpty == false, "authorization: no scope")
            try check(
                (query["nonce"] != nil) == character.expectsNonces || (type == "id_token" && query["nonce"] != nil),
                "authorization: nonce"
            )
            let isBound = query["code_challenge"]?.count == 43 && query["code_challenge_method"] == "S256"
            try check(isBound == (character.expectsVerifiers && type == "code"), "authorization: challenge")

            var answer: [(name: String, value: String)] = [("state", query["state"] ?? "")]
            if character.namesItself { answer.append(("iss", character.otherName ?? name)) }
            let grant = Grant(
                redirectURI: query["redirect_uri"] ?? "",
                challenge: query["code_challenge"],
                nonce: query["nonce"]
            )
            if !yes {
                answer.append(("error", "access_denied"))
            } else if type == "code" {
                state.count += 1
                let code = "code-\(state.count)"
                state.codes[code] = grant
                answer.append(("code", code))
            } else {
                answer.append(("id_token", try Self.idToken(for: grant, of: character, named: name, at: now())))
            }
            let form = PercentEncoding.form(answer)
            if query["response_mode"] == "form_post" {
                return Callback(requestURI: grant.redirectURI, postBody: form)
            }
            return Callback(requestURI: grant.redirectURI + (type == "code" ? "?" : "#") + form)
        }
    }

    // MARK: the other endpoints

    private func answer(_ request: LocalServer.Request) -> LocalServer.Reply {
        guard let endpoint = Endpoint.allCases.first(where: { $0.path == request.path }) else {
            return LocalServer.Reply(status: .notFound)
        }
        let fault = state.withLock { state in
            state.requests[endpoint, default: 0] += 1
            return state.character.faults[endpoint]
        }
        switch fault {
        case .hanging: return LocalServer.Reply(stops: .beforeHead)
        case .nothing: return LocalServer.Reply(stops: .byClosing)
        case .status(let status): return .text("sorry", status: HTTPResponseStatus(statusCode: status))
        case .html:
            return LocalServer.Reply(headers: [("content-type", "text/html")], body: Array("<html>".utf8))
        case .large: return LocalServer.Reply(body: [UInt8](repeating: 0x20, count: 5_000_000))
        case .slow(let duration):
            var answer = work(endpoint, request)
            answer.delay = duration
            return answer
        case nil: return work(endpoint, request)
        }
    }

    private func work(_ endpoint: Endpoint, _ request: LocalServer.Request) -> LocalServer.Reply {
        switch endpoint {
        case .authorization: consentPage(request)
        case .token: exchange(request)
        case .profile: profile(request)
        case .tokenInfo: tokenInfo(request)
        case .keySet: keySet()
        case .discovery: .json(.object(discovery()))
        case .revocation: revoke(request)
        }
    }

    private func consentPage(_ request: LocalServer.Request) -> LocalServer.Reply {
        do {
            let callback = try authorize(request.query, says: true)
            guard let form = callback.postBody else {
                return LocalServer.Reply(status: .found, headers: [("location", callback.requestURI)])
            }
            let fields = PercentEncoding.pairs(Array(form.utf8), plusIsSpace: true)
                .map { "<input name='\($0)' value='\($1)'>" }.joined()
            let page =
                "<form method=post action='\(callback.requestURI)'>\(fields)</form><script>document.forms[0].submit()"
            return LocalServer.Reply(headers: [("content-type", "text/html")], body: Array(page.utf8))
        } catch {
            return LocalServer.Reply(status: .badRequest, body: Array("\(error)".utf8))
        }
    }

    private func refuse(_ error: String, because reason: String, status: Int = 400) -> LocalServer.Reply {
        state.withLock { $0.complaints.append(reason) }
        return .json(["error": .string(error)], status: HTTPResponseStatus(statusCode: status))
    }

    private func exchange(_ request: LocalServer.Request) -> LocalServer.Reply {
        let form = request.form
        guard request.method == .POST, form["grant_type"] == "authorization_code" else {
            return refuse("invalid_request", because: "token: no exchange of a code")
        }
        guard isClient(form, request.headers) else {
            return refuse("invalid_client", because: "token: client", status: 401)
        }
        let (character, grant) = state.withLock { state in
            (state.character, state.codes.removeValue(forKey: form["code"] ?? ""))
        }
        guard let grant, !character.hasRevokedEverything else {
            return refuse("invalid_grant", because: "token: code unknown, used or revoked")
        }
        guard form["redirect_uri"] ?? "" == grant.redirectURI else {
            return refuse("invalid_grant", because: "token: redirect")
        }
        let verifier = form["code_verifier"].map { Base64URL.encode(Array(SHA256.hash(data: Array($0.utf8)))) }
        guard verifier == grant.challenge else { return refuse("invalid_grant", because: "token: verifier") }
        guard let idToken = try? Self.idToken(for: grant, of: character, named: issuer, at: now()) else {
            return LocalServer.Reply(status: .internalServerError)
        }
        let token = state.withLock { state in
            state.count += 1
            state.accessTokens.insert("access-\(state.count)")
            return "\(state.count)"
        }
        return .json([
            "access_token": .string("access-" + token), "refresh_token": .string("refresh-" + token),
            "id_token": .string(idToken), "token_type": "Bearer", "expires_in": 3599,
        ])
    }

    /// Issues an access token, as if a client had got it without Concord.
    package func issueAccessToken() -> String {
        state.withLock { state in
            state.count += 1
            state.accessTokens.insert("access-\(state.count)")
            return "access-\(state.count)"
        }
    }

    /// Issues an authorization code, as if an app had got it without Concord. The code has no redirect URI unless
    /// `redirectURI` is given.
    package func issueCode(redirectURI: String = "", nonce: String? = nil) -> String {
        state.withLock { state in
            state.count += 1
            state.codes["code-\(state.count)"] = Grant(redirectURI: redirectURI, nonce: nonce)
            return "code-\(state.count)"
        }
    }

    private func isClient(_ form: [String: String], _ headers: HTTPHeaders) -> Bool {
        let character = state.withLock { $0.character }
        switch character.authentication {
        case .form:
            return form["client_id"] == character.clientID && form["client_secret"] == character.clientSecret
                && !headers.contains(name: "authorization")
        case .basic:
            guard form["client_secret"] == nil, let field = headers.first(name: "authorization"),
                field.hasPrefix("Basic "),
                let pair = Data(base64Encoded: String(field.dropFirst("Basic ".count)))
            else { return false }
            let halves = String(decoding: pair, as: UTF8.self).split(separator: ":").map {
                PercentEncoding.decode(Array($0.utf8)[...], plusIsSpace: true)
            }
            return halves == [character.clientID, character.clientSecret]
        case .signed(let key, let keyID, let teamID):
            let parts = (form["client_secret"] ?? "").split(separator: ".")
            guard form["client_id"] == character.clientID, parts.count == 3,
                let header = Base64URL.decode(parts[0]).flatMap({ try? JSONValue(parsing: $0) }),
                let claims = Base64URL.decode(parts[1]).flatMap({ try? JSONValue(parsing: $0) }),
                let signature = Base64URL.decode(parts[2]).flatMap({
                    try? P256.Signing.ECDSASignature(rawRepresentation: $0)
                }),
                let issued = claims["iat"]?.integer, let expires = claims["exp"]?.integer
            else { return false }
            return header == ["alg": "ES256", "kid": .string(keyID), "typ": "JWT"]
                && key.isValidSignature(signature, for: SHA256.hash(data: Array("\(parts[0]).\(parts[1])".utf8)))
                && claims["iss"] == .string(teamID) && claims["sub"] == .string(character.clientID)
                && claims["aud"] == .string(issuer) && issued <= now() + 300 && now() < expires
                && expires - issued <= 15_777_000
        }
    }

    private func holds(_ token: String?) -> Bool {
        state.withLock { !$0.character.hasRevokedEverything && $0.accessTokens.contains(token ?? "") }
    }

    private func profile(_ request: LocalServer.Request) -> LocalServer.Reply {
        guard let field = request.headers.first(name: "authorization"), field.hasPrefix("Bearer "),
            holds(String(field.dropFirst("Bearer ".count)))
        else { return refuse("invalid_token", because: "profile: token", status: 401) }
        let character = state.withLock { $0.character }
        return .json(.object(character.user.merging(character.profile) { $1 }))
    }

    private func tokenInfo(_ request: LocalServer.Request) -> LocalServer.Reply {
        guard request.method == .POST, holds(request.form["access_token"]) else {
            return refuse("invalid_token", because: "token info: token")
        }
        let character = state.withLock { $0.character }
        let truth: [String: JSONValue] = [
            "aud": .string(character.clientID), "sub": character.user["sub"] ?? .null, "expires_in": "3599",
        ]
        return .json(.object(truth.merging(character.tokenInfo) { $1 }))
    }

    private func keySet() -> LocalServer.Reply {
        let keys = state.withLock { $0.character.keys }
        guard let members = try? keys.map({ JSONValue.object(try $0.jwk()) }) else {
            return LocalServer.Reply(status: .internalServerError)
        }
        return .json(["keys": .array(members)])
    }

    private func discovery() -> [String: JSONValue] {
        let name = issuer
        let character = state.withLock { $0.character }
        let methods: JSONValue =
            switch character.authentication {
            case .form, .signed: ["client_secret_post"]
            case .basic: ["client_secret_basic"]
            }
        let document: [String: JSONValue] = [
            "issuer": .string(name), "jwks_uri": .string(address(.keySet)),
            "authorization_endpoint": .string(address(.authorization)),
            "token_endpoint": .string(address(.token)), "userinfo_endpoint": .string(address(.profile)),
            "id_token_signing_alg_values_supported": .array(character.keys.map { .string($0.algorithm) }),
            "token_endpoint_auth_methods_supported": methods,
            "authorization_response_iss_parameter_supported": .bool(character.namesItself),
        ]
        return document.merging(character.metadata) { $1 }.filter { $0.value != .null }
    }

    private func revoke(_ request: LocalServer.Request) -> LocalServer.Reply {
        let form = request.form
        guard request.method == .POST, isClient(form, request.headers) else {
            return refuse("invalid_client", because: "revocation: client")
        }
        state.withLock { $0.revoked.append("\(form["token_type_hint"] ?? "") \(form["token"] ?? "")") }
        return LocalServer.Reply()
    }

    // MARK: tokens

    private static func idToken(
        for grant: Grant,
        of character: Character,
        named issuer: String,
        at now: Int64
    ) throws -> String {
        var claims = character.user
        claims["iss"] = .string(issuer)
        claims["aud"] = .string(character.clientID)
        claims["iat"] = .integer(now)
        claims["exp"] = .integer(now + 3600)
        if character.expectsNonces, let nonce = grant.nonce { claims["nonce"] = .string(nonce) }
        claims = claims.merging(character.lies) { $1 }.filter { $0.value != .null }

        guard let key = character.keys.last else { throw Refused(reason: "no key") }
        switch character.forgery {
        case nil: return try key.token(claims)
        case .unsigned: return CompactToken.unsigned(claims)
        case .publicKeyAsSecret:
            let header: JSONValue = ["alg": "HS256", "typ": "JWT", "kid": key.id.map(JSONValue.string) ?? .null]
            let input = CompactToken.signingInput(header: header, claims: .object(claims))
            let secret = SymmetricKey(data: Array(JSONValue.object(try key.jwk()).text.utf8))
            let code = HMAC<SHA256>.authenticationCode(for: Array(input.utf8), using: secret)
            return input + "." + Base64URL.encode(Array(code))
        case .strangersKey: return try ProviderKey.key(key.id, for: key.algorithm).token(claims)
        case .unknownKey: return try ProviderKey.key("nobody's", for: key.algorithm).token(claims)
        }
    }
}
