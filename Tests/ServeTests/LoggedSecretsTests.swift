import AccountTestSupport
import Testing

/// The secrets that the log of `concord serve` never holds.
@Suite struct LoggedSecretsTests {
    @Test func `no secret of the configuration is logged, at any level`() async throws {
        let secrets = [
            "CONCORD_RECAPTCHA_SECRET": "secret-of-the-challenge", "CONCORD_MAIL_PASSWORD": "secret-of-the-relay",
            "CONCORD_SMS_WEBHOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ]
        let settings = [
            "CONCORD_LOG_LEVEL": "trace", "CONCORD_RECAPTCHA_SITE_KEY": "site", "CONCORD_MAIL_HOST": "127.0.0.1",
            "CONCORD_MAIL_USER": "relay", "CONCORD_MAIL_FROM": "Concord <no-reply@example.com>",
            "CONCORD_SMS_WEBHOOK_URL": "https://sms.example.com/send",
        ]
        let log = try await TestDatabase.with { database in
            try await database.makeProject()
            return try await ServeProcess.run(database: database.url, settings.merging(secrets) { $1 }) { server in
                _ = try await server.signUp("ada@example.com", password: TwoServers.password).success()
                return server.log
            }
        }
        // What would print everything that it runs.
        #expect(!log.lines(of: "debug").isEmpty || !log.lines(of: "trace").isEmpty)
        #expect(log.text.contains("graceful"))
        let encryptionKey = ServeProcess.keyEncryptionKeyBytes.prefix(8).map(String.init).joined(separator: ", ")
        let encoded = ServeProcess.keyEncryptionKey.dropFirst(2)
        for secret in secrets.values + [encryptionKey, String(encoded), TwoServers.password] {
            #expect(!log.text.contains(secret))
        }
    }
}
