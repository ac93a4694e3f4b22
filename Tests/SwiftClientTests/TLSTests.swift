import AccountOperations
import AccountStore
import AccountTestSupport
import ConcordAuth
import Foundation
import HTTPClient
import Subprocess
import Testing

extension SwiftClientTests {
    /// The client against `concord serve` over TLS, with the certificate of a private authority.
    @Suite struct TLSTests {
        private struct Server: Sendable {
            let url: String
            let certificate: String
            let folder: String

            static let project = "demo-shop"
            static let key = "AIza-test-key-of-the-project"

            func auth(_ transport: (any ConcordAuth.HTTPTransport)? = nil) throws -> Auth {
                try Auth(
                    configuration: AuthConfiguration(
                        server: try DevServer.url(url),
                        apiKey: Self.key,
                        projectID: Self.project,
                        sessions: InMemorySessionStore(),
                        transport: transport,
                        requestTimeout: 300
                    )
                )
            }
        }

        private static func run(_ body: @Sendable (Server) async throws -> Void) async throws {
            try await TestDatabase.with { database in
                let folder = FileManager.default.temporaryDirectory.appendingPathComponent("concord-tls-\(UUID())").path
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(atPath: folder) }
                let identity = try TLSIdentity()
                try identity.pem.write(toFile: folder + "/cert.pem", atomically: true, encoding: .utf8)
                try identity.keyPEM.write(toFile: folder + "/key.pem", atomically: true, encoding: .utf8)
                try await database.withClient { client in
                    _ = try await AccountStore(client: client).createProject(
                        ProjectRecord(
                            projectID: Server.project,
                            projectNumber: 424_242,
                            settings: ProjectSettings.developmentDefaults
                        ),
                        apiKey: Server.key
                    )
                }
                let settings = [
                    "CONCORD_DATABASE_URL=\(database.url)",
                    "CONCORD_KEYS_ENCRYPTION=1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "CONCORD_LISTEN_PORT=0",
                    "CONCORD_LISTEN_TLS_CERTIFICATE=\(folder)/cert.pem", "CONCORD_LISTEN_TLS_KEY=\(folder)/key.pem",
                    "CONCORD_LOG_FORMAT=text", "CONCORD_LIMITS_REQUEST_TIMEOUT=5m",
                ]
                try await RunningProgram.run(
                    .name("env"),
                    DevServerTrait.patience + settings + ["\(try RunningProgram.folder())/concord", "serve"],
                    recognizing: { line -> String? in
                        guard line.contains(" ready address=") else { return nil }
                        return line.split(separator: ":").last.map { String($0.prefix { $0.isNumber }) }
                    },
                    { port in
                        try await body(
                            Server(url: "https://127.0.0.1:\(port)", certificate: identity.pem, folder: folder)
                        )
                    }
                )
            }
        }

        /// A transport of an app that trusts a private authority.
        private struct PinnedTransport: ConcordAuth.HTTPTransport {
            let certificate: String

            func send(_ request: HTTPRequest) async throws -> HTTPResponse {
                var connection = HTTPClient.HTTPTransport.Connection()
                connection.trust = .only(Array(certificate.utf8))
                let response = try await HTTPClient.HTTPTransport.shared.response(
                    to: HTTPClient.HTTPTransport.Request(
                        request.method,
                        request.url.absoluteString,
                        fields: request.headers.map { ($0.key, $0.value) },
                        body: Array(request.body ?? Data()),
                        connection: connection,
                        responseBody: .collected(bytesMax: 1 << 20),
                        deadline: .now + .seconds(request.timeout)
                    )
                )
                return HTTPResponse(
                    status: response.status,
                    headers: Dictionary(response.fields.map { ($0.name, $0.value) }) { first, _ in first },
                    body: Data(response.body)
                )
            }
        }

        @Test func `an app that trusts the authority signs in, refreshes and deletes over TLS`() async throws {
            try await Self.run { server in
                let auth = try server.auth(PinnedTransport(certificate: server.certificate))
                let email = "ada@example.com"
                let user = try await auth.createUser(withEmail: email, password: DevServer.password).user
                let old = try await user.getIDToken()
                #expect(try await user.getIDToken(forcingRefresh: true) != old)
                let known = EmailAuthProvider.credential(withEmail: email, password: DevServer.password)
                #expect(try await user.reauthenticate(with: known).user.uid == user.uid)
                #expect(try await user.methods().methods.map(\.method) == ["password"])
                try await user.delete()
                #expect(auth.currentUser == nil)
            }
        }

        @Test func `a certificate that is not trusted is a network error that says why`() async throws {
            try await Self.run { server in
                let auth = try server.auth()
                let error = await #expect(throws: AuthError.self) {
                    try await auth.createUser(withEmail: "ada@example.com", password: DevServer.password)
                }
                #expect(error?.code == .networkError)
                #expect(error?.message.contains("no answer from 127.0.0.1: ") == true, "\(error as Any)")
                #expect(error?.message.localizedCaseInsensitiveContains("certificate") == true, "\(error as Any)")
                #expect(error?.message.contains(Server.key) == false)
            }
        }

        private static let reason: Comment = "needs a system that lets a user have a separate view of the file system"

        private static func canReplaceAuthorities() async -> Bool {
            let result = try? await Subprocess.run(
                .name("unshare"),
                arguments: ["--map-root-user", "--mount", "true"],
                output: .discarded,
                error: .discarded
            )
            return result?.terminationStatus == .exited(0)
        }

        /// Foundation on Linux reads the authorities of the system, and no other file. The app gets a view of the file
        /// system in which the private authority is one of them.
        @Test(.enabled(reason) { await canReplaceAuthorities() })
        func `URLSession accepts a certificate of the system's authorities`() async throws {
            try await Self.run { server in
                var app = ExampleApp(server: server.url, store: server.folder + "/store.json")
                app.project = Server.project
                app.key = Server.key
                let system = "/etc/ssl/certs/ca-certificates.crt"
                app.launcher = [
                    "unshare", "--map-root-user", "--mount", "sh", "-c",
                    #"mount --bind "$0" \#(system) && exec "$@""#, server.folder + "/cert.pem",
                ]
                let signUp = try await app.run("sign-up", "ada@example.com") { _ in .text(DevServer.password) }
                #expect(signUp.output.hasSuffix("ada@example.com signs in with password\n"), "\(signUp.output)")
                app.launcher = []
                let refused = try await app.run("sign-in", "ada@example.com") { _ in .text(DevServer.password) }
                #expect(refused.exitCode == 1)
                #expect(refused.output.contains("concord-example: networkError: no answer from 127.0.0.1: "))
            }
        }
    }
}
