import Crypto
import Foundation
package import IdentityProviders
package import JSON
import NIOHTTP1
import Synchronization

/// Simulates Facebook Login and the parts of Graph that identify a token's user. Requires a proof of the app's secret
/// with every user's token, an option of apps.
package final class SimulatedFacebook: SimulatedProvider {
    package struct State: Sendable {
        /// The user in front of the browser.
        package var person = SimulatedPerson()
        package var consents = true

        fileprivate var codes = AuthorizationCodes()
        fileprivate var tokens: [String: Token] = [:]
    }

    fileprivate struct Token {
        var app: String
        var kind: String
        var isValid = true
        var person: SimulatedPerson
    }

    package static let app = "138483919580948"
    package static let secret = "0123456789abcdef"

    private let state = Mutex(State())
    package let paths: [ProviderAddress: String] = [
        .authorization: "/dialog/oauth", .token: "/oauth/access_token", .tokenInfo: "/debug_token", .profile: "/me",
    ]

    package init() {}

    package func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    /// Issues a token, as the client library of `app` would get it. `kind` is one of `USER`, `PAGE`, `APP`.
    package func issueToken(to app: String = app, for person: SimulatedPerson, kind: String = "USER") -> String {
        state.withLock { $0.issue(to: app, for: person, kind: kind) }
    }

    /// Revokes a token, as a user does in Facebook's settings.
    package func revoke(_ token: String) { state.withLock { $0.tokens[token]?.isValid = false } }

    package func reply(
        to request: LocalServer.Request,
        at address: ProviderAddress,
        base: String
    ) -> LocalServer.Reply {
        state.withLock { state in
            switch address {
            case .authorization:
                state.codes.page(request.query, client: Self.app, person: state.person, consents: state.consents)
            case .token: state.exchange(request.form)
            case .tokenInfo: state.check(request)
            case .profile: state.profile(request)
            default: .text("", status: .notFound)
            }
        }
    }

    fileprivate static func refusal(_ code: Int64, _ message: String) -> LocalServer.Reply {
        .json(
            [
                "error": [
                    "message": .string(message), "type": "OAuthException", "code": .integer(code), "fbtrace_id": "A1b2",
                ]
            ],
            status: .badRequest
        )
    }

    /// `GET /me` with every granted field.
    package static func profile(of person: SimulatedPerson) -> JSONValue {
        var profile: [String: JSONValue] = [
            "id": .string(person.id), "name": .string(person.name), "first_name": "Ada", "last_name": "Lovelace",
            "picture": ["data": ["height": 50, "is_silhouette": false, "url": .string(person.picture), "width": 50]],
        ]
        if let email = person.email { profile["email"] = .string(email) }
        return .object(profile)
    }

    package static func tokenInfo(
        of person: SimulatedPerson,
        app: String = app,
        kind: String = "USER",
        isValid: Bool = true
    ) -> JSONValue {
        [
            "data": [
                "app_id": .string(app), "type": .string(kind), "application": "Ours", "expires_at": 1_900_000_000,
                "is_valid": .bool(isValid), "scopes": ["email", "public_profile"], "user_id": .string(person.id),
            ]
        ]
    }
}

extension SimulatedFacebook.State {
    fileprivate mutating func issue(to app: String, for person: SimulatedPerson, kind: String = "USER") -> String {
        let token = "EAAB\(tokens.count)"
        tokens[token] = SimulatedFacebook.Token(app: app, kind: kind, person: person)
        return token
    }

    fileprivate mutating func exchange(_ form: [String: String]) -> LocalServer.Reply {
        guard form["client_id"] == SimulatedFacebook.app, form["client_secret"] == SimulatedFacebook.secret else {
            return SimulatedFacebook.refusal(1, "Error validating client secret.")
        }
        do {
            let grant = try codes.redeem(form)
            let token = issue(to: grant.client, for: grant.person)
            return .json(["access_token": .string(token), "token_type": "bearer", "expires_in": 5_183_944])
        } catch {
            return SimulatedFacebook.refusal(100, "This authorization code has been used.")
        }
    }

    fileprivate func check(_ request: LocalServer.Request) -> LocalServer.Reply {
        let app = "Bearer \(SimulatedFacebook.app)|\(SimulatedFacebook.secret)"
        guard request.headers.first(name: "authorization") == app else {
            return SimulatedFacebook.refusal(190, "Invalid OAuth access token signature.")
        }
        guard let token = tokens[request.query["input_token"] ?? ""] else {
            return .json(["data": ["error": ["code": 190, "message": "Malformed"], "is_valid": false, "scopes": []]])
        }
        guard token.app == SimulatedFacebook.app else {
            return SimulatedFacebook.refusal(100, "(#100) The App_id in the input_token did not match the Viewing App")
        }
        return .json(SimulatedFacebook.tokenInfo(of: token.person, kind: token.kind, isValid: token.isValid))
    }

    fileprivate func profile(_ request: LocalServer.Request) -> LocalServer.Reply {
        let field = request.headers.first(name: "authorization") ?? ""
        let text = String(field.dropFirst("Bearer ".count))
        guard field.hasPrefix("Bearer "), let token = tokens[text], token.isValid else {
            return SimulatedFacebook.refusal(190, "Error validating access token")
        }
        let key = SymmetricKey(data: Data(SimulatedFacebook.secret.utf8))
        let proof = HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
            .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        guard request.query["appsecret_proof"] == proof else {
            return SimulatedFacebook.refusal(100, "Invalid appsecret_proof provided in the API argument")
        }
        let fields = Set((request.query["fields"] ?? "").split(separator: ",").map(String.init))
        let profile = (SimulatedFacebook.profile(of: token.person).object ?? [:]).filter { fields.contains($0.key) }
        return .json(.object(profile))
    }
}
