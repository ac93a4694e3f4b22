import AccountTestSupport
import ConcordAuth
import Foundation
import JSON

/// `/__/auth/handler` as a browser plays it, for a person with an account at a made-up provider.
///
/// The page is a script. `HandlerTests` runs it in a browser; here its requests are sent without one.
struct HandlerPage: Sendable {
    let server: DevServer
    let email: String

    /// Opens pages for a client, and calls back by a port.
    var browser: LoopbackAuthentication {
        LoopbackAuthentication(timeout: 60) { url in try await open(url) }
    }

    private func open(_ url: URL) async throws {
        let query = Self.parameters(of: url)
        guard query["loopback"].flatMap({ UInt16($0) }) != nil else { throw Missing(what: "port in \(url)") }
        var members = [("authType", query["authType"]), ("eventId", query["eventId"])]
        if query["authType"] == "verifyApp" {
            members.append(("recaptchaToken", "made-up"))
        } else {
            members.append(("link", try await link(query)))
        }
        let callback = Self.address("\(server.url)/__/auth/callback", members)
        let port = query["loopback"] ?? ""
        // Other requests to the port get no answer of the page.
        _ = try await server.send("GET", "http://127.0.0.1:\(port)/favicon.ico")
        let answer = try await server.send(
            "GET",
            Self.address("http://127.0.0.1:\(port)/link", [("deep_link_id", callback)])
        )
        guard answer.status == 200 else { throw Missing(what: "receiver: \(answer.status)") }
    }

    /// The address to which the provider sends the browser.
    private func link(_ query: [String: String]) async throws -> String {
        let handler = "\(server.url)/__/auth/handler"
        let body: JSON.JSONValue = [
            "providerId": .string(query["providerId"] ?? ""), "continueUri": .string(handler),
            "sessionIdDigest": .string(query["sessionId"] ?? ""),
        ]
        let key = query["apiKey"] ?? ""
        let begun = try await server.send("POST", "/v1/accounts:createAuthUri?key=\(key)", body)
        let state = Self.parameters(of: try DevServer.url(try begun.json.text("authUri")))["state"]
        return Self.address(handler, [("state", state), ("access_token", DevServer.gitHubToken(email))])
    }

    private static func parameters(of url: URL) -> [String: String] {
        let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
    }

    private static func address(_ base: String, _ parameters: [(String, String?)]) -> String {
        let query = parameters.map { name, value in
            "\(name)=\((value ?? "").addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
        }
        return base + "?" + query.joined(separator: "&")
    }
}
