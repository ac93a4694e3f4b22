import AccountTestSupport
import ConcordAuth
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// `concord dev`, the real program, on a database of the tests, with clients of it.
struct DevServer: Sendable {
    let url: URL

    static func run(_ body: @Sendable (DevServer) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("concord-client-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try await RunningProgram.run(
                try RunningProgram.built("concord"),
                ["dev", "--port", "0", "--database-url", database.url, "--data-dir", folder],
                recognizing: { line in
                    let words = line.split(separator: " ")
                    return words.first == "URL" ? words.last.map(String.init) : nil
                },
                { url in try await body(DevServer(url: #require(URL(string: url)))) }
            )
        }
    }

    /// A process of an app. Processes with one store are one device.
    func auth(_ store: any SessionStore = InMemorySessionStore()) throws(AuthError) -> Auth {
        try Auth(
            configuration: AuthConfiguration(
                server: url,
                apiKey: "any",
                projectID: "demo-concord",
                appID: "1:42:ios:ab",
                bundleID: "com.example.app",
                sessions: store
            )
        )
    }

    /// Sends a request as an administrator.
    @discardableResult
    func send(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
        let response = try await URLSessionTransport()
            .send(
                HTTPRequest(
                    method: method,
                    url: #require(URL(string: url.absoluteString + path)),
                    headers: ["Authorization": "Bearer owner", "Content-Type": "application/json"],
                    body: body.map { try JSONEncoder().encode($0) },
                    timeout: 60
                )
            )
        #expect(response.status == 200, "\(method) \(path)")
        return try JSONDecoder().decode(JSONValue.self, from: response.body)
    }

    /// The newest code that proves a conflict.
    func conflictCode() async throws -> String {
        let proofs = try await send("GET", "/emulator/v1/projects/demo-concord/conflictProofs")
        return try #require(proofs["conflictProofs"]?.arrayValue?.last?["code"]?.stringValue)
    }

    /// The code in the mail to an address, as soon as the mail is there.
    func mailedCode(to email: String) async throws -> String {
        while true {
            let mails = try await send("GET", "/inbox/messages")["messages"]?.arrayValue ?? []
            if let code = mails.first(where: { $0["to"]?.stringValue == email && $0["code"] != nil })?["code"] {
                return try #require(code.stringValue)
            }
            try await Task.sleep(nanoseconds: 50_000_000)
        }
    }
}

/// A credential of a provider that names an address, as `concord dev` accepts it.
func credential(_ provider: AuthProviderID, subject: String, email: String) -> AuthCredential {
    OAuthProvider.credential(providerID: provider, idToken: #"{"sub":"\#(subject)","email":"\#(email)"}"#)
}

/// Expects an error of this code.
@discardableResult
func expect(
    _ code: AuthErrorCode,
    _ operation: () async throws(AuthError) -> some Any,
    sourceLocation: SourceLocation = #_sourceLocation
) async -> AuthError? {
    do throws(AuthError) {
        _ = try await operation()
        Issue.record("no error instead of \(code)", sourceLocation: sourceLocation)
        return nil
    } catch {
        #expect(error.code == code, sourceLocation: sourceLocation)
        return error
    }
}
