import AccountTestSupport
import HTTPTypes
import JSON
import Logging
import Postgres
import Testing

@testable import AccountAPI

/// Logs are read by people who may not know who signs in.
struct LogTests {
    @Test func `no log line contains an address, a password or a token`() async throws {
        try await TestAPI.with { api in
            let password = "a-password-to-look-for"
            let account = try await api.signUp("secret.person@example.com", password: password)
            let secrets = [
                "secret.person", "SECRET.PERSON", password, "wrong-password",
                try #require(account["refreshToken"]?.string),
                try #require(account["idToken"]?.string?.split(separator: ".").last.map { String($0) }),
                TestService.apiKey, "6505550123",
            ]
            let body: JSONValue = [
                "email": "secret.person@example.com", "password": "wrong-password", "grantType": "refresh_token",
                "idToken": account["idToken"] ?? .null, "refreshToken": account["refreshToken"] ?? .null,
                "phoneNumber": "+16505550123", "recaptchaToken": "app",
            ]
            for route in API.routes {
                for path in route.concretePaths {
                    _ = try await api.wire.send(route.method, path, Array(body.text.utf8))
                    _ = try await api.wire.send(route.method, path, Array(body.text.utf8.dropLast()))
                    _ = try await api.wire.send(route.method, path, Array(body.text.utf8), bearer: secrets[4])
                    _ = try await api.wire.send(.put, path + "/secret.person@example.com", Array(body.text.utf8))
                }
            }
            api.service.client.shutDown()
            for route in API.routes {
                let path = try #require(route.concretePaths.first)
                _ = try await api.wire.send(route.method, path, Array(body.text.utf8))
            }
            #expect(api.log.entries.contains { $0.message == RequestLog.message.description })
            for line in api.log.lines {
                for secret in secrets { #expect(!line.contains(secret), "\(line)") }
            }
        }
    }

    @Test func `the test detects a logged line`() {
        let log = RecordedLog()
        log.logger.trace("message", metadata: ["key": "value"])
        #expect(log.lines.count == 1)
        #expect(log.lines.first?.contains("message") == true && log.lines.first?.contains("value") == true)
    }
}
