import AccountTestSupport
import Foundation
import HTTPClient
import JSON
import NIOHTTP1
import Subprocess
import SystemPackage
import Testing

/// `concord dev`, the real program, on a database of the tests' own, and what an app does with it over HTTP.
struct DevServer: Sendable {
    let url: String
    let database: TestDatabase

    static func run(_ body: @Sendable (DevServer) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("concord-page-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try await RunningProgram.run(
                try RunningProgram.built("concord"),
                ["dev", "--port", "0", "--database-url", database.url, "--data-dir", folder],
                recognizing: { line in
                    let words = line.split(separator: " ")
                    return words.first == "URL" ? words.last.map(String.init) : nil
                },
                { url in
                    try await prepare(folder)
                    try await body(DevServer(url: url, database: database))
                }
            )
        }
    }

    /// Runs the command of `scripts/screenshots`, the variable `SCREENSHOTS_SETUP`, on the server's data.
    private static func prepare(_ folder: String) async throws {
        guard let command = ProcessInfo.processInfo.environment["SCREENSHOTS_SETUP"], !command.isEmpty else { return }
        let result = try await Subprocess.run(
            .path("/bin/bash"),
            arguments: ["-euo", "pipefail", "-c", ". '\(folder)/environment'; \(command)"],
            output: .discarded,
            error: .string(limit: 1 << 16)
        )
        #expect(result.terminationStatus == .exited(0), "\(command): \(result.standardError)")
    }

    func send(
        _ method: HTTPMethod,
        _ path: String,
        _ body: JSONValue? = nil,
        bearer: String? = nil
    ) async throws -> (status: Int, headers: HTTPHeaders, json: JSONValue) {
        try await HTTP.send(method, url + path, body, bearer: bearer)
    }

    /// A conflict: an account with `email` and a password, and a sign-in with GitHub that names the same address.
    func openConflict(_ email: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> OpenConflict {
        let account = try await send(
            .POST,
            "/v1/accounts:signUp?key=any",
            ["email": .string(email), "password": "correct horse"]
        ).json
        let handle = try await signIn(email)["pendingToken"]
        return OpenConflict(
            server: self,
            email: email,
            account: try #require(account["localId"]?.string, sourceLocation: sourceLocation),
            handle: try #require(handle?.string, sourceLocation: sourceLocation)
        )
    }

    /// A sign-in with the user of GitHub whose address is `email`.
    func signIn(_ email: String) async throws -> JSONValue {
        let credential: JSONValue = ["sub": .string("subject-of-\(email)"), "email": .string(email), "name": "Ada"]
        return try await send(
            .POST,
            "/v1/accounts:signInWithIdp?key=any",
            [
                "requestUri": "http://localhost", "returnIdpCredential": true, "returnSecureToken": true,
                "postBody": .string("providerId=github.com&access_token=\(credential.text)"),
            ]
        ).json
    }
}

struct OpenConflict: Sendable {
    let server: DevServer
    let email: String
    let account: String
    let handle: String

    /// The page that an app opens for its user.
    var page: String { "\(server.url)/conflict#\(handle)" }

    /// The conflict as the holder of the handle sees it, and the entity tag.
    func read() async throws -> (json: JSONValue, version: String?) {
        let answer = try await server.send(.GET, "/concord/v1/conflict", bearer: handle)
        return (answer.json, answer.headers.first(name: "ETag"))
    }

    func askForMail() async throws {
        let answer = try await server.send(
            .POST,
            "/concord/v1/conflict/proof",
            ["kind": "mailbox"],
            bearer: handle
        )
        #expect(answer.status == 202)
    }

    /// The newest mail to the account's owner.
    func mail(sourceLocation: SourceLocation = #_sourceLocation) async throws -> (code: String, link: String) {
        let path = "/emulator/v1/projects/demo-concord/conflictProofs"
        let mails = try await server.send(.GET, path).json["conflictProofs"]?.array ?? []
        let mail = try #require(mails.last { $0["email"]?.string == email }, sourceLocation: sourceLocation)
        return (
            try #require(mail["code"]?.string, sourceLocation: sourceLocation),
            try #require(mail["link"]?.string, sourceLocation: sourceLocation)
        )
    }

    /// Makes the conflict as old as if it had been opened hours ago.
    func age() async throws {
        try await server.database.execute(
            """
            UPDATE conflicts SET opened_at = now() - interval '2 hours', expires_at = now() - interval '1 hour'
            WHERE user_id = '\(account)'
            """
        )
    }
}

/// Requests without anything around them.
enum HTTP {
    /// - Throws: when no answer comes back, or none within the time in which a server that is not stuck gives one.
    static func send(
        _ method: HTTPMethod,
        _ url: String,
        _ body: JSONValue? = nil,
        bearer: String? = nil
    ) async throws -> (status: Int, headers: HTTPHeaders, json: JSONValue) {
        var fields: [(name: String, value: String)] = []
        if let bearer { fields.append(("Authorization", "Bearer \(bearer)")) }
        if body != nil { fields.append(("Content-Type", "application/json")) }
        let response = try await HTTPTransport.shared.response(
            to: HTTPTransport.Request(
                method.rawValue,
                url,
                fields: fields,
                body: body.map { Array($0.text.utf8) } ?? [],
                responseBody: .collected(bytesMax: 32 << 20),
                deadline: .now + .seconds(600)
            )
        )
        return (
            response.status,
            HTTPHeaders(response.fields.map { ($0.name, $0.value) }),
            (try? JSONValue(parsing: response.body)) ?? .null
        )
    }
}
