import AccountTestSupport
import ConcordAuth
import Foundation
import HTTPClient
import JSON
import Subprocess
import Testing

/// `concord dev`, the real program, which the tests of a suite share. Each test has a folder for session stores, and
/// addresses that no other test uses.
struct DevServer: Sendable {
    let url: String
    let folder: String

    static let project = "demo-concord"
    static let password = "correct horse"

    @TaskLocal fileprivate static var current: DevServer?

    /// Runs a test against the server of its suite.
    static func run(_ body: @Sendable (DevServer) async throws -> Void) async throws {
        guard let current else { throw Missing(what: "server: give the suite the trait `.devServer`") }
        try await body(
            DevServer(url: current.url, folder: current.folder + "/" + UUID().uuidString.prefix(8).lowercased())
        )
    }

    /// An address of the test.
    func address(_ name: String = "ada") -> String { "\(name)-\(folder.suffix(8))@example.com" }

    /// The file of a session store.
    func store(_ name: String) -> String { "\(folder)/\(name).json" }

    /// A client on the session store `name`. Another client on the same store is the app after a restart. `later` moves
    /// its clock, in seconds.
    func auth(_ name: String = "app", later: TimeInterval = 0) throws -> Auth {
        try Auth(
            configuration: AuthConfiguration(
                server: try Self.url(url),
                apiKey: "any",
                projectID: Self.project,
                sessions: FileSessionStore(file: URL(fileURLWithPath: store(name))),
                // A test machine may be slow and shared.
                requestTimeout: 300,
                now: { Date() + later }
            )
        )
    }

    static func url(_ text: String) throws -> URL {
        guard let url = URL(string: text) else { throw Missing(what: "a URL in \(text)") }
        return url
    }

    /// A made-up token of GitHub, as `concord dev` accepts it.
    static func gitHubToken(_ email: String, subject: String? = nil) -> String {
        let claims: JSON.JSONValue = [
            "sub": .string(subject ?? "subject-of-\(email)"), "email": .string(email), "name": "Ada",
        ]
        return claims.text
    }

    // MARK: Requests beside the client

    func send(
        _ method: String,
        _ path: String,
        _ body: JSON.JSONValue? = nil,
        bearer: String? = nil
    ) async throws -> (status: Int, json: JSON.JSONValue) {
        var fields: [(name: String, value: String)] = []
        if let bearer { fields.append(("Authorization", "Bearer \(bearer)")) }
        if body != nil { fields.append(("Content-Type", "application/json")) }
        let response = try await HTTPClient.HTTPTransport.shared.response(
            to: HTTPClient.HTTPTransport.Request(
                method,
                path.hasPrefix("http") ? path : url + path,
                fields: fields,
                body: body.map { Array($0.text.utf8) } ?? [],
                responseBody: .collected(bytesMax: 1 << 20),
                deadline: .now + .seconds(600)
            )
        )
        return (response.status, (try? JSON.JSONValue(parsing: response.body)) ?? .null)
    }

    /// Changes the configuration of the project.
    func configure(_ mask: String, _ value: JSON.JSONValue) async throws {
        let path = "/v2/projects/\(Self.project)/config?updateMask=\(mask)"
        let answer = try await send("PATCH", path, value, bearer: "owner")
        guard answer.status == 200 else { throw Missing(what: "the change of \(mask): \(answer.json.text)") }
    }

    /// The newest entry about `value` in a list of the routes for development.
    private func newest(_ list: String, _ name: String, _ value: String) async throws -> JSON.JSONValue {
        let entries = try await send("GET", "/emulator/v1/projects/\(Self.project)/\(list)").json[list]?.array ?? []
        guard let entry = entries.last(where: { $0[name]?.string == value }) else {
            throw Missing(what: "\(value) in \(list)")
        }
        return entry
    }

    /// The newest mailed link to `email`.
    func link(to email: String) async throws -> String {
        try await newest("oobCodes", "email", email).text("oobLink")
    }

    /// The code of the newest mail that proves a conflict.
    func conflictCode(of email: String) async throws -> String {
        try await newest("conflictProofs", "email", email).text("code")
    }

    /// The code of the newest text to `number`.
    func text(to number: String) async throws -> String {
        try await newest("verificationCodes", "phoneNumber", number).text("code")
    }

    /// The eight digits of the newest mail to `email`, from the inbox.
    func digits(to email: String) async throws -> String {
        let messages = try await send("GET", "/inbox/messages").json["messages"]?.array ?? []
        guard let code = messages.first(where: { $0["to"]?.string == email })?["code"]?.string else {
            throw Missing(what: "a mail to \(email)")
        }
        return code
    }

    /// The account as an administrator reads it.
    func account(_ email: String) async throws -> JSON.JSONValue {
        let body: JSON.JSONValue = ["email": [.string(email)]]
        let path = "/v1/projects/\(Self.project)/accounts:lookup"
        guard let account = try await send("POST", path, body, bearer: "owner").json["users"]?.array?.first else {
            throw Missing(what: "an account of \(email)")
        }
        return account
    }

    /// Creates an account with a password, by a client that forgets it.
    @discardableResult
    func signUp(_ email: String) async throws -> String {
        let auth = try auth("sign-up-\(UUID())")
        return try await auth.createUser(withEmail: email, password: Self.password).user.uid
    }

    /// Creates an account with a password and a proven address.
    @discardableResult
    func signUpProven(_ email: String) async throws -> String {
        let uid = try await signUp(email)
        let body: JSON.JSONValue = ["localId": .string(uid), "emailVerified": true]
        let answer = try await send("POST", "/v1/projects/\(Self.project)/accounts:update", body, bearer: "owner")
        guard answer.status == 200 else { throw Missing(what: "the change of \(email): \(answer.json.text)") }
        return uid
    }
}

/// Gives the tests of a suite one `concord dev`, and ends it after the last of them.
struct DevServerTrait: SuiteTrait, TestScoping {
    /// Settings of a server on a test machine, which may be slow and shared.
    static let patience = [
        "CONCORD_DATABASE_QUEUE_WAIT_TIMEOUT=60s", "CONCORD_DATABASE_READ_STATEMENT_TIMEOUT=2m",
        "CONCORD_DATABASE_WRITE_STATEMENT_TIMEOUT=2m", "CONCORD_DATABASE_LOCK_TIMEOUT=2m",
        "CONCORD_DATABASE_CONNECT_TIMEOUT=60s",
    ]

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("concord-client-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try await RunningProgram.run(
                .name("env"),
                Self.patience + [
                    "\(try RunningProgram.folder())/concord", "dev", "--port", "0", "--database-url", database.url,
                    "--data-dir", folder,
                ],
                recognizing: { line in
                    let words = line.split(separator: " ")
                    return words.first == "URL" ? words.last.map(String.init) : nil
                },
                { url in
                    try await DevServer.$current.withValue(DevServer(url: url, folder: folder)) { try await function() }
                }
            )
        }
    }
}

extension Trait where Self == DevServerTrait {
    /// A development server for the suite.
    static var devServer: Self { DevServerTrait() }
}

/// A value that a test cannot do without.
struct Missing: Error, CustomStringConvertible {
    let what: String

    var description: String { "There is no \(what)." }
}

extension JSON.JSONValue {
    /// The text of a member.
    func text(_ name: String) throws -> String {
        guard let text = self[name]?.string else { throw Missing(what: "`\(name)`") }
        return text
    }

    /// The ids of the providers of an account.
    var providers: [String] { (self["providerUserInfo"]?.array ?? []).compactMap { $0["providerId"]?.string }.sorted() }
}
