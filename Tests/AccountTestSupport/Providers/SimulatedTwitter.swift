import Crypto
import Foundation
package import IdentityProviders
package import JSON
import NIOHTTP1
import Synchronization

/// Simulates Twitter's OAuth 1.0a. Checks every signature, accepts each nonce and temporary token once, and returns
/// addresses only if the app may request them.
package final class SimulatedTwitter: SimulatedProvider {
    package struct State: Sendable {
        /// The user in front of the browser.
        package var person = SimulatedPerson()
        package var consents = true
        /// The callback URL that the project's app registered.
        package var callback = SimulatedTwitter.callback
        /// True if the app may request addresses.
        package var tellsEmails = true

        fileprivate var temporary: [String: Temporary] = [:]
        fileprivate var tokens: [String: Token] = [:]
        fileprivate var nonces: Set<String> = []
        fileprivate var count = 0
    }

    fileprivate struct Temporary {
        var secret: String
        var callback: String
        var verifier: String?
        var person: SimulatedPerson?
    }

    fileprivate struct Token {
        var app: String
        var secret: String
        var person: SimulatedPerson
    }

    /// Apps by key; the project's is the first. Every secret has characters that must be encoded.
    package static let apps = ["key-of-ours": "secret/of+ours=", "key-of-another": "secret/of+another="]
    package static let key = "key-of-ours"
    package static let secret = "secret/of+ours="
    package static let callback = "http://localhost/__/auth/handler"

    private let state = Mutex(State())
    package let paths: [ProviderAddress: String] = [
        .requestToken: "/oauth/request_token", .authorization: "/oauth/authenticate", .token: "/oauth/access_token",
        .profile: "/1.1/account/verify_credentials.json",
    ]

    package init() {}

    package func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    /// Issues a token, as the client library of `app` would get it.
    package func issueToken(to app: String = key, for person: SimulatedPerson) -> (token: String, secret: String) {
        state.withLock { $0.issue(to: app, for: person) }
    }

    /// Revokes a token, as a user does in Twitter's settings.
    package func revoke(_ token: String) { state.withLock { $0.tokens[token] = nil } }

    package func reply(
        to request: LocalServer.Request,
        at address: ProviderAddress,
        base: String
    ) -> LocalServer.Reply {
        state.withLock { state in
            if address == .authorization { return state.page(request.query) }
            guard let signed = SignedRequest(request, base: base), let secret = Self.apps[signed.app],
                state.nonces.insert("\(signed["oauth_nonce"])/\(signed["oauth_timestamp"])").inserted
            else { return Self.refusal }
            switch address {
            case .requestToken: return state.requestToken(signed, secret)
            case .token: return state.accessToken(signed, secret)
            case .profile: return state.profile(signed, secret, request.query)
            default: return .text("", status: .notFound)
            }
        }
    }

    fileprivate static let refusal = LocalServer.Reply.json(
        ["errors": [["code": 32, "message": "Could not authenticate you."]]],
        status: .unauthorized
    )

    /// `verify_credentials.json`, with members that Concord does not read.
    package static func profile(of person: SimulatedPerson, tellsEmail: Bool = true) -> JSONValue {
        var profile: [String: JSONValue] = [
            "id": Int64(person.id).map { .integer($0) } ?? 0, "id_str": .string(person.id),
            "name": .string(person.name),
            "screen_name": .string(person.screenName), "location": "London", "followers_count": 42, "lang": .null,
            "profile_image_url": .string(person.picture.replacing("https:", with: "http:")),
            "profile_image_url_https": .string(person.picture), "entities": ["description": ["urls": []]],
        ]
        if tellsEmail { profile["email"] = person.email.map { .string($0) } ?? "" }
        return .object(profile)
    }
}

extension SimulatedTwitter.State {
    fileprivate mutating func issue(to app: String, for person: SimulatedPerson) -> (token: String, secret: String) {
        count += 1
        let token = "\(person.id)-\(count)"
        tokens[token] = SimulatedTwitter.Token(app: app, secret: "access+secret/\(count)=", person: person)
        return (token, "access+secret/\(count)=")
    }

    fileprivate mutating func requestToken(_ signed: SignedRequest, _ secret: String) -> LocalServer.Reply {
        let asked = signed["oauth_callback"]
        guard signed.method == .POST, signed["oauth_token"].isEmpty, signed.isSigned(with: secret, "") else {
            return SimulatedTwitter.refusal
        }
        guard asked.split(separator: "?").first.map(String.init) == callback else {
            return .json(["errors": [["code": 415, "message": "Callback URL not approved"]]], status: .forbidden)
        }
        count += 1
        temporary["request-\(count)"] = SimulatedTwitter.Temporary(
            secret: "request+secret/\(count)=",
            callback: asked
        )
        return .form([
            "oauth_token": "request-\(count)", "oauth_token_secret": "request+secret/\(count)=",
            "oauth_callback_confirmed": "true",
        ])
    }

    /// The consent page.
    fileprivate mutating func page(_ query: [String: String]) -> LocalServer.Reply {
        guard let token = query["oauth_token"], let known = temporary[token], known.verifier == nil else {
            return .text("Whoa there! The request token for this page is invalid.", status: .forbidden)
        }
        let back = known.callback + (known.callback.contains("?") ? "&" : "?")
        guard consents else {
            temporary[token] = nil
            return .redirect(to: back + "denied=\(token)")
        }
        count += 1
        temporary[token]?.verifier = "verifier-\(count)"
        temporary[token]?.person = person
        return .redirect(to: back + "oauth_token=\(token)&oauth_verifier=verifier-\(count)")
    }

    fileprivate mutating func accessToken(_ signed: SignedRequest, _ secret: String) -> LocalServer.Reply {
        guard let known = temporary[signed["oauth_token"]], signed.isSigned(with: secret, known.secret),
            signed.method == .POST
        else { return SimulatedTwitter.refusal }
        // Only one guess is allowed.
        temporary[signed["oauth_token"]] = nil
        guard let person = known.person, known.verifier == signed["oauth_verifier"] else {
            return SimulatedTwitter.refusal
        }
        let issued = issue(to: signed.app, for: person)
        return .form([
            "oauth_token": issued.token, "oauth_token_secret": issued.secret, "user_id": person.id,
            "screen_name": person.screenName,
        ])
    }

    fileprivate func profile(_ signed: SignedRequest, _ secret: String, _ query: [String: String]) -> LocalServer.Reply
    {
        guard let token = tokens[signed["oauth_token"]], token.app == signed.app, signed.method == .GET,
            signed.isSigned(with: secret, token.secret)
        else {
            return .json(["errors": [["code": 89, "message": "Invalid or expired token."]]], status: .unauthorized)
        }
        let tellsEmail = tellsEmails && query["include_email"] == "true"
        return .json(SimulatedTwitter.profile(of: token.person, tellsEmail: tellsEmail))
    }
}

/// A request with an `Authorization` field of RFC 5849 §3.5.1. Implemented independently of the code under test.
private struct SignedRequest {
    let method: HTTPMethod
    private let address: String
    private let query: [String: String]
    private let fields: [String: String]

    init?(_ request: LocalServer.Request, base: String) {
        guard let field = request.headers.first(name: "authorization"), field.hasPrefix("OAuth ") else { return nil }
        var fields: [String: String] = [:]
        for part in field.dropFirst("OAuth ".count).split(separator: ",") {
            let halves = part.split(separator: "=", maxSplits: 1)
            guard halves.count == 2, halves[1].hasPrefix("\""), halves[1].hasSuffix("\""),
                let value = halves[1].dropFirst().dropLast().removingPercentEncoding
            else { return nil }
            let name = halves[0].trimmingCharacters(in: .whitespaces)
            guard fields.updateValue(value, forKey: name) == nil else { return nil }
        }
        guard fields["oauth_signature_method"] == "HMAC-SHA1", fields["oauth_version"] ?? "1.0" == "1.0",
            fields["oauth_nonce"]?.isEmpty == false, fields["oauth_timestamp"].flatMap({ UInt64($0) }) != nil
        else { return nil }
        self.method = request.method
        self.address = base + request.path
        self.query = request.query
        self.fields = fields
    }

    var app: String { self["oauth_consumer_key"] }

    subscript(name: String) -> String { fields[name] ?? "" }

    /// Returns true if the signature matches the secrets of app and token.
    func isSigned(with secret: String, _ tokenSecret: String) -> Bool {
        var parameters = fields.merging(query) { $1 }
        let signature = parameters.removeValue(forKey: "oauth_signature")
        let normalized = parameters.map { (Self.encode($0.key), Self.encode($0.value)) }.sorted { $0 < $1 }
            .map { "\($0)=\($1)" }.joined(separator: "&")
        let text = "\(method.rawValue)&\(Self.encode(address))&\(Self.encode(normalized))"
        let key = SymmetricKey(data: Data("\(Self.encode(secret))&\(Self.encode(tokenSecret))".utf8))
        let code = HMAC<Insecure.SHA1>.authenticationCode(for: Data(text.utf8), using: key)
        return signature == Data(code).base64EncodedString()
    }

    private static func encode(_ text: String) -> String {
        let plain = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
        return text.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
    }
}

extension LocalServer.Reply {
    package static func form(_ parameters: [String: String]) -> Self {
        .text(PercentEncoding.form(parameters.map { ($0.key, $0.value) }))
    }
}
