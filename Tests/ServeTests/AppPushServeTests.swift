import AccountOperations
import AccountTestSupport
import Crypto
import Foundation
import JSON
import NIOHTTP1
import Postgres
import Testing

/// An app for iOS against the real program: it is pushed to, shows what it was pushed, and gets a code to its phone.
@Suite(.serialized) struct AppPushServeTests {
    private static let bundleID = "com.example.app"
    private static let number = "+16505553434"

    private func send(_ path: String, _ body: JSONValue, to server: ServeProcess) async throws -> HTTPAnswer {
        try await server.send(.POST, path, body, headers: ["X-Ios-Bundle-Identifier": Self.bundleID])
    }

    /// Asks to be pushed to until a push has come: on a machine that is very slow one may be too late to be sent.
    private func pushed(_ server: ServeProcess, by apple: LocalServer) async throws -> JSONValue {
        var device: UInt8 = 0
        while true {
            let token = Hexadecimal.encode(Array(repeating: device, count: 32))
            let answer = try await send(
                "/v1/accounts:verifyIosClient",
                ["appToken": .string(token), "isSandbox": true],
                to: server
            )
            #expect(try answer.string("suggestedTimeout") == "10")
            let receipt = try answer.string("receipt")
            for _ in 1...600 {
                for push in apple.requests.compactMap({ $0.json["com.google.firebase.auth"] })
                where push["receipt"]?.string == receipt {
                    return push
                }
                try await Task.sleep(for: .milliseconds(20))
            }
            device += 1
        }
    }

    @Test func `an app that got a push signs in with the code from the message`() async throws {
        let identity = try TLSIdentity()
        let folder = FileManager.default.temporaryDirectory.appending(path: "concord-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ name: String, _ text: String) throws -> String {
            let file = folder.appending(path: name)
            try Data(text.utf8).write(to: file)
            return file.path
        }
        let authorities = try file("authorities.pem", identity.pem)
        let key = try file("AuthKey.p8", P256.Signing.PrivateKey().pemRepresentation)
        let secret = "whsec_" + Data(repeating: 7, count: 32).base64EncodedString()
        try await LocalServer.run(http2: identity) { _, _ in
            .text("")
        } _: { apple in
            try await LocalServer.run { _, _ in
                .text("")
            } _: { gateway in
                try await TestDatabase.with { database in
                    try await database.makeProject()
                    let settings = [
                        "CONCORD_APNS_KEY_FILE": key, "CONCORD_APNS_KEY_ID": "KEY1234567",
                        "CONCORD_APNS_TEAM_ID": "TEAM123456", "CONCORD_APNS_BUNDLE_IDS": Self.bundleID,
                        "CONCORD_APNS_PRODUCTION_URL": "https://127.0.0.1:1",
                        "CONCORD_APNS_SANDBOX_URL": apple.address(""),
                        "CONCORD_APNS_CERTIFICATE_AUTHORITIES": authorities, "CONCORD_APNS_TIMEOUT": "8s",
                        "CONCORD_SMS_WEBHOOK_URL": gateway.address("/sms"), "CONCORD_SMS_WEBHOOK_SECRET": secret,
                        "CONCORD_SMS_TIMEOUT": "60s",
                    ]
                    try await ServeProcess.run(database: database.url, settings) { server in
                        let path = "/v1/accounts:sendVerificationCode"
                        let bare = try await send(path, ["phoneNumber": .string(Self.number)], to: server)
                        #expect(bare.code == "MISSING_CLIENT_IDENTIFIER")
                        let push = try await pushed(server, by: apple)
                        let made: JSONValue = [
                            "phoneNumber": .string(Self.number), "iosReceipt": push["receipt"] ?? .null,
                            "iosSecret": "made up",
                        ]
                        #expect(try await send(path, made, to: server).code == "INVALID_APP_CREDENTIAL")
                        let right: JSONValue = [
                            "phoneNumber": .string(Self.number), "iosReceipt": push["receipt"] ?? .null,
                            "iosSecret": push["secret"] ?? .null,
                        ]
                        let session = try await send(path, right, to: server).string("sessionInfo")
                        // The code leaves through the gateway that is configured.
                        while gateway.requests.isEmpty { try await Task.sleep(for: .milliseconds(20)) }
                        let code = try #require(gateway.requests.first?.json["data"]?["code"])
                        let signedIn = try await send(
                            "/v1/accounts:signInWithPhoneNumber",
                            ["sessionInfo": .string(session), "code": code],
                            to: server
                        ).success()
                        #expect(signedIn["phoneNumber"] == .string(Self.number))
                        let pushedSecret = try #require(push["secret"]?.string)
                        for hidden in [pushedSecret, secret, Self.number] { #expect(!server.log.text.contains(hidden)) }
                        #expect(server.log.lines(of: "error") == [])
                    }
                }
            }
        }
    }
}
