import ConcordAuth
import Foundation
import HTTPClient
import JSON
import Testing

extension SwiftClientTests {
    /// Many callers at once on one session store, against `concord dev`.
    @Suite(.serialized, .devServer) struct ConcurrencyTests {
        /// The number of refreshes that the server answered, from its metrics.
        private static func refreshes(_ server: DevServer) async throws -> Int {
            let response = try await HTTPClient.HTTPTransport.shared.response(
                to: HTTPClient.HTTPTransport.Request(
                    "GET",
                    server.url + "/metrics",
                    responseBody: .collected(bytesMax: 1 << 22),
                    deadline: .now + .seconds(600)
                )
            )
            let name = #"concord_http_requests_total{route="POST /v1/token","#
            return String(decoding: response.body, as: UTF8.self).split(separator: "\n")
                .filter { $0.hasPrefix(name) }
                .compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
                .reduce(0, +)
        }

        @Test func `1,000 tasks that need a token cause one refresh`() async throws {
            try await DevServer.run { server in
                let first = try server.auth()
                let old = try await first.createUser(withEmail: server.address(), password: DevServer.password).user
                    .getIDToken()
                // The next launch, an hour later.
                let user = try #require(try server.auth(later: 3_600).currentUser)
                let before = try await Self.refreshes(server)
                let tokens = try await withThrowingTaskGroup(of: String.self) { group in
                    for _ in 0..<1_000 { group.addTask { try await user.getIDToken() } }
                    return try await group.reduce(into: Set()) { $0.insert($1) }
                }
                #expect(tokens.count == 1 && !tokens.contains(old))
                #expect(try await Self.refreshes(server) == before + 1)
            }
        }

        @Test func `64 sign-ins at once on one store leave one consistent session`() async throws {
            try await DevServer.run { server in
                let uids = try await withThrowingTaskGroup(of: String.self) { group in
                    for number in 0..<64 {
                        // Each client stands for another process with the same file.
                        let auth = try server.auth()
                        let token = DevServer.gitHubToken(server.address("user-\(number)"))
                        group.addTask {
                            let user = try await auth.signIn(with: GitHubAuthProvider.credential(withToken: token)).user
                            return "\(user.uid) \(user.email ?? "")"
                        }
                    }
                    return try await group.reduce(into: Set()) { $0.insert($1) }
                }
                // Each caller got the user of its sign-in.
                #expect(Set(uids.map { $0.split(separator: " ").first }).count == 64)
                #expect(Set(uids.map { $0.split(separator: " ").last }).count == 64)
                let user = try #require(try server.auth().storedUser())
                let email = try #require(user.email)
                #expect(uids.contains("\(user.uid) \(email)"))
                let result = try await user.getIDTokenResult(forcingRefresh: true)
                #expect(result.claims["sub"]?.stringValue == user.uid)
                try await user.reload()
                #expect(try await server.account(email)["localId"]?.string == user.uid)
            }
        }
    }
}
