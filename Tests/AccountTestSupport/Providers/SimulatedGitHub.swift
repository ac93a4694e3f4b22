import Foundation
package import IdentityProviders
package import JSON
import NIOHTTP1
import Synchronization

/// Simulates GitHub's OAuth 2.0 and the parts of its API that identify a token's user. Reports errors with a success
/// status, as GitHub does.
package final class SimulatedGitHub: SimulatedProvider {
    package struct State: Sendable {
        /// The user in front of the browser.
        package var person = SimulatedPerson()
        package var consents = true

        fileprivate var codes = AuthorizationCodes()
        fileprivate var tokens: [String: Token] = [:]
    }

    fileprivate struct Token {
        var client: String
        var scopes: Set<String>
        var person: SimulatedPerson
    }

    package static let client = "Iv1.ours"
    package static let secret = "secret-of-ours"

    private let state = Mutex(State())
    package let paths: [ProviderAddress: String] = [
        .authorization: "/login/oauth/authorize", .token: "/login/oauth/access_token",
        .tokenInfo: "/applications/Iv1.ours/token", .profile: "/user", .emails: "/user/emails",
    ]

    package init() {}

    package func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    /// Issues a token, as `client` would get it.
    package func issueToken(
        to client: String = client,
        for person: SimulatedPerson,
        scopes: Set<String> = ["user:email"]
    ) -> String {
        state.withLock { $0.issue(to: client, for: person, scopes: scopes) }
    }

    /// Revokes a token, as a user does in GitHub's settings.
    package func revoke(_ token: String) { state.withLock { $0.tokens[token] = nil } }

    package func reply(
        to request: LocalServer.Request,
        at address: ProviderAddress,
        base: String
    ) -> LocalServer.Reply {
        state.withLock { state in
            switch address {
            case .authorization:
                return state.codes.page(
                    request.query,
                    client: Self.client,
                    person: state.person,
                    consents: state.consents
                )
            case .token: return state.exchange(request)
            case .tokenInfo: return state.check(request)
            case .profile, .emails:
                let field = request.headers.first(name: "authorization") ?? ""
                guard field.hasPrefix("Bearer "), let token = state.tokens[String(field.dropFirst(7))],
                    request.headers.first(name: "user-agent") != nil
                else { return .json(["message": "Bad credentials"], status: .unauthorized) }
                if address == .profile { return .json(Self.profile(of: token.person)) }
                guard token.scopes.contains("user:email") else {
                    return .json(["message": "Not Found"], status: .notFound)
                }
                return .json(Self.emails(of: token.person))
            default: return .text("", status: .notFound)
            }
        }
    }

    /// `GET /user`, with members that Concord does not read.
    package static func profile(of person: SimulatedPerson) -> JSONValue {
        [
            "id": Int64(person.id).map { .integer($0) } ?? 0, "login": .string(person.screenName),
            "name": .string(person.name), "avatar_url": .string(person.picture), "node_id": "MDQ6VXNlcjc1ODg4OTI=",
            "email": "public@example.com", "followers": 42, "bio": .null,
        ]
    }

    private static func emails(of person: SimulatedPerson) -> JSONValue {
        var emails: [JSONValue] = [
            ["email": "other@example.com", "primary": false, "verified": true, "visibility": .null]
        ]
        if let email = person.email {
            emails.append([
                "email": .string(email), "primary": true, "verified": .bool(person.emailIsVerified),
                "visibility": "private",
            ])
        }
        return .array(emails)
    }
}

extension SimulatedGitHub.State {
    fileprivate mutating func issue(to client: String, for person: SimulatedPerson, scopes: Set<String>) -> String {
        let token = "gho_\(tokens.count)"
        tokens[token] = SimulatedGitHub.Token(client: client, scopes: scopes, person: person)
        return token
    }

    fileprivate mutating func exchange(_ request: LocalServer.Request) -> LocalServer.Reply {
        func refusal(_ error: String) -> LocalServer.Reply {
            .json(["error": .string(error), "error_description": "See the documentation.", "error_uri": "https://docs"])
        }
        let form = request.form
        guard request.headers.first(name: "accept") == "application/json" else {
            return .form(["error": "the answer would be a form"])
        }
        guard form["client_id"] == SimulatedGitHub.client, form["client_secret"] == SimulatedGitHub.secret else {
            return refusal("incorrect_client_credentials")
        }
        do {
            let grant = try codes.redeem(form)
            let token = issue(to: grant.client, for: grant.person, scopes: grant.scopes)
            return .json(["access_token": .string(token), "scope": "user:email", "token_type": "bearer"])
        } catch .wrongRedirectURI {
            return refusal("redirect_uri_mismatch")
        } catch {
            return refusal("bad_verification_code")
        }
    }

    /// Check a token: an app sees only its own tokens.
    fileprivate func check(_ request: LocalServer.Request) -> LocalServer.Reply {
        let pair = Data("\(SimulatedGitHub.client):\(SimulatedGitHub.secret)".utf8).base64EncodedString()
        guard request.headers.first(name: "authorization") == "Basic \(pair)" else {
            return .json(["message": "Bad credentials"], status: .unauthorized)
        }
        guard request.method == .POST, let text = request.json["access_token"]?.string else {
            return .json(["message": "Validation Failed"], status: .unprocessableEntity)
        }
        guard let token = tokens[text], token.client == SimulatedGitHub.client else {
            return .json(["message": "Not Found"], status: .notFound)
        }
        return .json(SimulatedGitHub.tokenInfo(of: token.person))
    }
}

extension SimulatedGitHub {
    package static func tokenInfo(of person: SimulatedPerson, client: String = client) -> JSONValue {
        [
            "id": 1, "app": ["client_id": .string(client), "name": "Ours"],
            "user": ["id": Int64(person.id).map { .integer($0) } ?? 0, "login": .string(person.screenName)],
        ]
    }
}
