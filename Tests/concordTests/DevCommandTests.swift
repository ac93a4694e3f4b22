import AccountTestSupport
import Foundation
import FoundationNetworking
import JSON
import Testing

@testable import concord

/// The development server as a person runs it: killed, started again, stopped.
@Suite(.serialized) struct DevCommandTests {
    @Test func `answered writes survive kill -9, with pending credentials, and SIGTERM ends with 0`()
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

        let errors = directory + "/errors.log"
        #expect(FileManager.default.createFile(atPath: errors, contents: nil))
        server = try await DevServer.start(dataDirectory: directory, errors: FileHandle(forWritingAtPath: errors))
        // Each mail and each text message has a line, with the place of the mail or the code.
        _ = try await server.post(
            "/v1/accounts:sendOobCode",
            ["requestType": "PASSWORD_RESET", "email": "ada@example.com"]
        )
        _ = try await server.post(
            "/v1/accounts:sendVerificationCode",
            ["phoneNumber": "+16505550142", "recaptchaToken": "any"]
        )
        var printed = ""
        // The bound only keeps a failure from hanging.
        for _ in 0..<1200 where !printed.contains("\nsms  ") || !printed.contains("\nmail  ") {
            try await Task.sleep(for: .milliseconds(50))
            printed = "\n" + (try String(contentsOfFile: errors, encoding: .utf8))
        }
        #expect(printed.contains("\nmail  PASSWORD_RESET  to ada@example.com  \(server.url)/inbox#"), "\(printed)")
        #expect(printed.contains(#/\nsms  VERIFICATION_CODE  to \+16505550142  code \d{6}\n/#), "\(printed)")
        #expect(!printed.contains("\u{1B}"), "no terminal, no colour")
        // Where the banner says that codes can be read, they can.
        let address = try #require(server.bannerLine("Codes"))
        let codes = try await URLSession.shared.data(from: try #require(URL(string: address))).0
        let listed = try JSONSerialization.jsonObject(with: codes) as? [String: Any]
        #expect(listed?["oobCodes"] is [Any])
        // And what it says of the operators' commands is so, of one that needs the key too.
        let words = try #require(server.bannerLine("Commands")).split(separator: " ")
        let grace = try await server.post(
            "/v1/accounts:signUp",
            ["email": "grace@example.com", "password": "correct horse"]
        )
        let made = try await server.post(
            "/v1/accounts:signInWithIdp",
            ["requestUri": "http://localhost", "postBody": "id_token={\"sub\":\"1\"}&providerId=google.com"]
        )
        let ids = try [ada, grace, made].map { try #require($0["localId"] as? String) }
        let found = try server.shell(
            """
            \(words[0]) \(words[1])
            concord account find grace@example.com && concord account merge \(ids[0]) \(ids[1]) --dry-run
            concord account show \(ids[2]); concord audit run --rule user-without-sign-in-method
            """
        )
        #expect(found.hasPrefix("\(ids[1])  g…@example.com  password\n"), "\(found)")
        #expect(found.contains("to be chosen"), "\(found)")
        // What development takes without a registration works.
        #expect(found.contains("google.com: works"), "\(found)")
        #expect(!found.contains("user-without-sign-in-method"), "\(found)")
        #expect(server.stop(SIGINT) == 0)
        try FileManager.default.removeItem(atPath: directory)
    }

    /// A user of Firebase may have its emulator at the port, and a forgotten server may use the data directory.
    @Test func `a port or data directory in use is reported with the option to change it`() async throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("concord-dev-\(UUID().uuidString.prefix(8))").path
        let other = directory + "-other"
        defer { for path in [directory, other] { try? FileManager.default.removeItem(atPath: path) } }
        let server = try await DevServer.start(dataDirectory: directory)
        let port = try #require(server.url.split(separator: ":").last)
        let samePort = try DevServer.failure(["--port", String(port), "--data-dir", other])
        #expect(samePort.status == 78, "\(samePort)")
        #expect(
            samePort.error.contains("cannot listen at 127.0.0.1:\(port): Address already in use.")
                && samePort.error.contains(
                    "Another `concord dev` listens there: stop it, or choose another port: --port\n"
                ),
            "\(samePort)"
        )
        let sameDirectory = try DevServer.failure(["--port", "0", "--data-dir", directory])
        #expect(sameDirectory.status == 78, "\(sameDirectory)")
        #expect(
            sameDirectory.error.contains("is in use by process")
                && sameDirectory.error.contains("or choose another directory: --data-dir\n"),
            "\(sameDirectory)"
        )
        #expect(server.stop(SIGTERM) == 0)
    }

    @Test func `the program at a port is recognized by its answer`() async throws {
        let firebase: JSONValue = [
            "authEmulator": ["ready": true, "docs": "https://firebase.google.com/docs/emulator-suite"]
        ]
        #expect(PortOccupant(root: firebase) == .firebaseEmulator)
        #expect(PortOccupant(root: ["authEmulator": ["ready": true]]) == .concordDev)
        #expect(PortOccupant(root: ["error": ["code": 404]]) == nil)
        // Nothing listens at the port, or what listens speaks no HTTP.
        #expect(await PortOccupant.find(at: "http://127.0.0.1:1") == .unknown)
    }
}
