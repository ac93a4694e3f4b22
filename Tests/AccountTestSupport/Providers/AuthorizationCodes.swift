import Crypto
import Foundation
import JSON
import NIOHTTP1

/// The authorization codes of a simulated provider (RFC 6749 §4.1, RFC 7636). Each is bound to client, redirect URI and
/// challenge, and is valid once.
struct AuthorizationCodes: Sendable {
    struct Grant: Sendable {
        var client: String
        var redirectURI: String
        var challenge: String?
        var scopes: Set<String>
        var person: SimulatedPerson
    }

    enum Refusal: Error {
        case unknownCode
        case wrongRedirectURI
        case wrongVerifier
    }

    private var grants: [String: Grant] = [:]
    private var count = 0

    /// The redirect of the consent page.
    mutating func page(
        _ query: [String: String],
        client: String,
        person: SimulatedPerson,
        consents: Bool
    ) -> LocalServer.Reply {
        guard query["client_id"] == client, query["response_type"] == "code", let redirectURI = query["redirect_uri"],
            let state = query["state"]
        else { return .text("This is no request for a code.", status: .badRequest) }
        let back = redirectURI + (redirectURI.contains("?") ? "&" : "?")
        guard consents else {
            return .redirect(to: back + PercentEncoding.form([("error", "access_denied"), ("state", state)]))
        }
        count += 1
        grants["code-\(count)"] = Grant(
            client: client,
            redirectURI: redirectURI,
            challenge: query["code_challenge"],
            scopes: Set((query["scope"] ?? "").split(separator: " ").map(String.init)),
            person: person
        )
        return .redirect(to: back + PercentEncoding.form([("code", "code-\(count)"), ("state", state)]))
    }

    /// Redeems the code in `form`. The code is used up even if another parameter is wrong.
    mutating func redeem(_ form: [String: String]) throws(Refusal) -> Grant {
        guard form["grant_type"] == "authorization_code", let code = form["code"],
            let grant = grants.removeValue(forKey: code)
        else { throw .unknownCode }
        guard form["redirect_uri"] == grant.redirectURI else { throw .wrongRedirectURI }
        let verifier = Data(SHA256.hash(data: Data((form["code_verifier"] ?? "").utf8))).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        guard grant.challenge == nil || grant.challenge == verifier else { throw .wrongVerifier }
        return grant
    }
}
