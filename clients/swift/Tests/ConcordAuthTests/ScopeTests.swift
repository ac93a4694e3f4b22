import Foundation
import Testing

@testable import ConcordAuth

/// Several servers and projects with one store.
@Suite struct ScopeTests {
    private func auth(_ rig: Rig, server: String) throws -> Auth {
        var configuration = try rig.auth().configuration
        configuration.server = try #require(URL(string: server))
        return try Auth(configuration: configuration) { _ in }
    }

    private func playServerWithDevices(_ rig: Rig) {
        rig.playServer()
        rig.transport.on(Rig.password) { request in
            guard case .object(var answer) = JSONValue.tokens("ada") else { return .json(200, .null) }
            answer["deviceToken"] = "device-of-\(request.url.host ?? "")".json
            return .json(200, .object(answer))
        }
    }

    @Test func aServerDoesNotGetTheDeviceTokenOfAnother() async throws {
        let rig = Rig()
        playServerWithDevices(rig)
        let servers = ["https://id.example.com", "https://other.example.com"]
        for _ in 0..<2 {
            for server in servers {
                try await auth(rig, server: server).signIn(withEmail: "ada@example.com", password: "correct horse")
            }
        }
        rig.transport.on("/concord/v1/lookup", 200, [:])
        rig.transport.on("/v1/accounts:createAuthUri", 200, [:])
        for server in servers {
            let auth = try auth(rig, server: server)
            _ = try await auth.lookup(email: "ada@example.com")
            _ = try await auth.fetchSignInMethods(forEmail: "ada@example.com")
        }
        let sent = rig.transport.requests.compactMap { request in
            request.json["deviceToken"]?.stringValue.map { [request.url.host ?? "", $0] }
        }
        #expect(sent.count == 6)
        for pair in sent { #expect(pair[1] == "device-of-\(pair[0])") }
    }

    @Test func aSignInToOneServerKeepsTheSessionAndThePageOfAnother() async throws {
        let rig = Rig()
        rig.playServer()
        let first = try rig.auth()
        try await first.signIn(withEmail: "ada@example.com", password: "correct horse")
        let redirect = PendingRedirect(
            scope: first.configuration.scope,
            operation: "link",
            eventID: "event",
            sessionSecret: Secret("secret"),
            providerID: "github.com",
            uid: "ada",
            startTime: first.configuration.now(),
            callback: nil
        )
        try first.storeRedirect(redirect)
        let second = try auth(rig, server: "https://other.example.com")
        #expect(second.currentUser == nil)
        try await second.signIn(withEmail: "bob@example.com", password: "correct horse")
        #expect(try rig.auth().currentUser?.uid == "ada")
        #expect(try auth(rig, server: "https://other.example.com").currentUser?.uid == "bob")
        try second.signOut()
        #expect(try rig.auth().currentUser?.uid == "ada")
        #expect(try first.keeper.read().redirect == redirect)
        #expect(second.currentUser == nil)
    }

    @Test func differentServersAndProjectsHaveDifferentFiles() throws {
        let places = [
            ("https://id.example.com", "a.b"), ("https://id.example.com", "ab"), ("https://id.example.com", "a/b"),
            ("https://other.example.com", "ab"), ("https://id.example.com:8443", "ab"),
            ("https://id.example.com/x", "ab"),
            ("https://id.example.com/a%7Cb", "c"), ("https://id.example.com/a", "b|c"),
        ]
        let files = try places.map { server, project in
            FileSessionStore.defaultFile(server: try #require(URL(string: server)), projectID: project)
        }
        #expect(Set(files).count == places.count)
        #expect(Set(files.map { $0.deletingLastPathComponent() }).count == 1)
        let server = try #require(URL(string: "https://ID.example.com/"))
        #expect(FileSessionStore.defaultFile(server: server, projectID: "ab") == files[1])
    }
}
