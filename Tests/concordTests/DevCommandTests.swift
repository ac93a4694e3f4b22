import Foundation
import FoundationNetworking
import Testing

/// The development server as a person runs it: killed, started again, stopped.
@Suite(.serialized) struct DevCommandTests {
    @Test func `what was answered survives kill -9, a pending credential included, and SIGTERM ends with 0`()
        async throws
    {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("concord-dev-\(UUID().uuidString.prefix(8))").path
        var server = try await DevServer.start(dataDirectory: directory)
        let ada = try await server.post(
            "/v1/accounts:signUp",
            ["email": "ada@example.com", "password": "correct horse"]
        )
        let conflict = try await server.post(
            "/v1/accounts:signInWithIdp",
            [
                "requestUri": "http://localhost", "returnIdpCredential": true,
                "postBody": #"providerId=twitter.com&id_token={"sub":"77","email":"ada@example.com"}"#,
            ]
        )
        #expect(conflict["needConfirmation"] as? Bool == true)
        let pendingToken = try #require(conflict["pendingToken"] as? String)
        #expect(server.stop(SIGKILL) == -SIGKILL)

        server = try await DevServer.start(dataDirectory: directory)
        let session = try await server.post(
            "/v1/accounts:signInWithPassword",
            ["email": "ada@example.com", "password": "correct horse"]
        )
        let linked = try await server.post(
            "/v1/accounts:signInWithIdp",
            [
                "requestUri": "http://localhost", "pendingToken": pendingToken,
                "idToken": session["idToken"] as? String ?? "",
            ]
        )
        #expect(linked["localId"] as? String == ada["localId"] as? String)
        #expect(linked["idToken"] != nil)
        #expect(server.stop(SIGTERM) == 0)

        server = try await DevServer.start(dataDirectory: directory)
        // Where the banner says that codes can be read, they can.
        let address = try #require(server.bannerLine("Codes"))
        let codes = try await URLSession.shared.data(from: try #require(URL(string: address))).0
        let listed = try JSONSerialization.jsonObject(with: codes) as? [String: Any]
        #expect(listed?["oobCodes"] is [Any])
        #expect(server.stop(SIGINT) == 0)
        try FileManager.default.removeItem(atPath: directory)
    }
}
