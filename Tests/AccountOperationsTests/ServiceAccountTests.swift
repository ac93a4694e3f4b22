import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import Foundation
import JSON
import JWTKit
import Testing

/// Backends with a registered key: only tokens that they signed are accepted.
struct ServiceAccountTests {
    private struct Registered {
        let account: NewServiceAccount
        let service: TestService

        /// A JWT with `claims`, signed by the account's key or by `pem`.
        func sign(_ claims: JSONValue, keyID: String? = nil, with pem: String? = nil) async throws -> String {
            try await sign(claims, naming: JWKIdentifier(string: keyID ?? account.keyID), with: pem)
        }

        /// The same without a key id in the header, like the Admin SDKs for Node, Java and Go.
        func signNamingNoKey(_ claims: JSONValue, with pem: String? = nil) async throws -> String {
            let token = try await sign(claims, naming: nil, with: pem)
            let header = try JSONValue(parsing: try #require(Base64URL.decode(token.prefix { $0 != "." })))
            #expect(header == ["alg": "RS256", "typ": "JWT"])
            return token
        }

        private func sign(_ claims: JSONValue, naming keyID: JWKIdentifier?, with pem: String?) async throws -> String {
            let keys = JWTKeyCollection()
            let key = try Insecure.RSA.PrivateKey(pem: pem ?? account.privateKeyPEM)
            await keys.add(rsa: key, digestAlgorithm: .sha256, kid: keyID)
            return try await keys.sign(AnyPayload(value: claims), kid: keyID)
        }

        /// Registers another key of the same name, with a later time.
        func another(after seconds: Int64) async throws -> NewServiceAccount {
            let account = try NewServiceAccount(
                name: "backend",
                projectID: TestService.projectID,
                effects: service.operations.effects
            )
            try await register(account, after: seconds)
            return account
        }

        func register(_ account: NewServiceAccount, after seconds: Int64 = 0) async throws {
            try await service.operations.store.addServiceAccount(
                ServiceAccountRecord(
                    keyID: account.keyID,
                    email: account.email,
                    publicKey: account.publicKey,
                    createdAt: service.clock.now.adding(seconds: seconds)
                )
            )
        }

        var now: Int64 { service.clock.now.secondsSinceEpoch }

        func customToken(_ changes: [String: JSONValue] = [:]) -> JSONValue {
            var claims: [String: JSONValue] = [
                "iss": .string(account.email), "sub": .string(account.email),
                "aud": .string(ServiceAccountTokens.customTokenAudience), "iat": .integer(now),
                "exp": .integer(now + 3600), "uid": "chosen",
            ]
            claims.merge(changes) { _, new in new }
            return .object(claims)
        }

        func assertion(_ changes: [String: JSONValue] = [:]) -> JSONValue {
            var claims: [String: JSONValue] = [
                "iss": .string(account.email), "aud": "https://id.example.com/oauth2/token", "iat": .integer(now),
                "exp": .integer(now + 3600), "scope": "https://www.googleapis.com/auth/identitytoolkit",
            ]
            claims.merge(changes) { _, new in new }
            return .object(claims)
        }
    }

    private struct AnyPayload: JWTPayload {
        let value: JSONValue

        init(value: JSONValue) { self.value = value }
        /// Never decoded: the type only signs.
        init(from decoder: any Decoder) throws {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "only signed"))
        }

        func encode(to encoder: any Encoder) throws { try Node(value).encode(to: encoder) }
        func verify(using algorithm: some JWTAlgorithm) throws {}
    }

    private struct Node: Encodable {
        let value: JSONValue

        init(_ value: JSONValue) { self.value = value }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch value {
            case .null: try container.encodeNil()
            case .bool(let value): try container.encode(value)
            case .integer(let value): try container.encode(value)
            case .double(let value): try container.encode(value)
            case .string(let value): try container.encode(value)
            case .array(let values): try container.encode(values.map(Node.init))
            case .object(let members): try container.encode(members.mapValues(Node.init))
            }
        }
    }

    private func withRegistered(_ body: (Registered) async throws -> Void) async throws {
        try await TestService.with { service in
            let account = try NewServiceAccount(
                name: "backend",
                projectID: TestService.projectID,
                effects: service.operations.effects
            )
            let registered = Registered(account: account, service: service)
            try await registered.register(account)
            try await body(registered)
        }
    }

    private func verify(_ token: String, _ registered: Registered) async throws -> Outcome<CustomToken> {
        let verifier = ServiceAccountTokens(
            store: registered.service.operations.store,
            projectID: TestService.projectID
        )
        return try await outcome(await verifier.verify(token, at: registered.service.clock.now))
    }

    @Test func `a custom token of a registered account signs in`() async throws {
        try await withRegistered { registered in
            let token = try await registered.sign(registered.customToken(["claims": ["tier": "gold"]]))
            let outcome = try await verify(token, registered)
            guard case .success(let verified) = outcome else {
                Issue.record("refused: \(outcome)")
                return
            }
            #expect(verified.user.rawValue == "chosen")
            #expect(verified.claims == ["tier": "gold"])
        }
    }

    @Test func `a token without a key id is verified with the issuer's keys`() async throws {
        try await withRegistered { registered in
            let second = try await registered.another(after: 1)
            for pem in [registered.account.privateKeyPEM, second.privateKeyPEM] {
                let token = try await registered.signNamingNoKey(registered.customToken(), with: pem)
                let outcome = try await verify(token, registered)
                guard case .success = outcome else {
                    Issue.record("refused: \(outcome)")
                    continue
                }
                let assertion = try await registered.signNamingNoKey(registered.assertion(), with: pem)
                let issued = try await registered.service.operations.issueAccessToken(
                    assertion: assertion,
                    publicURL: "https://id.example.com"
                )
                #expect(issued != nil)
            }
        }
    }

    @Test func `a token without a key id must be signed by one of the issuer's keys`() async throws {
        try await withRegistered { registered in
            let stranger = try NewServiceAccount(
                name: "backend",
                projectID: TestService.projectID,
                effects: registered.service.operations.effects
            )
            let tokens: [(String, Denial)] = [
                (
                    try await registered.signNamingNoKey(registered.customToken(), with: stranger.privateKeyPEM),
                    .invalidCustomToken(reason: "Invalid signature")
                ),
                (
                    try await registered.signNamingNoKey(registered.customToken(["iss": "somebody@example.com"])),
                    .invalidCustomToken(reason: "The key is not registered")
                ),
                (
                    try await registered.signNamingNoKey(registered.customToken(["iss": .null])),
                    .invalidCustomToken(reason: "The key is not registered")
                ),
                (
                    try await registered.signNamingNoKey(registered.customToken(["sub": "somebody@example.com"])),
                    .invalidCustomToken(reason: "The issuer is not the account whose key signed")
                ),
                (
                    try await registered.signNamingNoKey(
                        registered.customToken(["iss": "backend@other.iam.gserviceaccount.com"])
                    ),
                    .credentialMismatch
                ),
            ]
            for (token, denial) in tokens { #expect(try await verify(token, registered).denial == denial) }
        }
    }

    @Test func `without a key id the ten newest keys of a name are tried, with one any key`() async throws {
        try await withRegistered { registered in
            let token = try await registered.signNamingNoKey(registered.customToken())
            for seconds in 1...9 { _ = try await registered.another(after: Int64(seconds)) }
            #expect(try await verify(token, registered).denial == nil)
            _ = try await registered.another(after: 10)
            #expect(try await verify(token, registered).denial == .invalidCustomToken(reason: "Invalid signature"))
            #expect(try await verify(try await registered.sign(registered.customToken()), registered).denial == nil)
        }
    }

    @Test func `an unsigned, foreign or expired token is refused`() async throws {
        try await withRegistered { registered in
            let now = registered.now
            let wrong: [[String: JSONValue]] = [
                ["aud": "other"], ["iss": "somebody@example.com"], ["sub": "somebody@example.com"],
                ["exp": .integer(now - 1), "iat": .integer(now - 3000)], ["exp": .integer(now + 3601)],
                ["iat": .integer(now + 600), "exp": .integer(now + 700)], ["exp": "soon"],
            ]
            for changes in wrong {
                let token = try await registered.sign(registered.customToken(changes))
                let outcome = try await verify(token, registered)
                guard case .denied(.invalidCustomToken) = outcome else {
                    Issue.record("accepted with \(changes)")
                    continue
                }
            }
            let good = try await registered.sign(registered.customToken())
            let parts = good.split(separator: ".").map(String.init)
            let header: JSONValue = ["alg": "none", "kid": .string(registered.account.keyID)]
            let other = try NewServiceAccount(
                name: "other",
                projectID: TestService.projectID,
                effects: registered.service.operations.effects
            )
            let forged = [
                "\(Base64URL.encode(header.text.utf8)).\(parts[1]).",
                "\(parts[0]).\(parts[1]).\(Base64URL.encode([UInt8](repeating: 1, count: 256)))",
                "\(parts[0]).\(parts[1].dropLast(4)).\(parts[2])", "{\"uid\":\"chosen\"}",
                try await registered.sign(registered.customToken(), with: other.privateKeyPEM),
            ]
            for token in forged {
                guard case .denied(.invalidCustomToken) = try await verify(token, registered) else {
                    Issue.record("a forged token was accepted")
                    continue
                }
            }
        }
    }

    @Test func `an account of another project is a mismatch`() async throws {
        try await withRegistered { registered in
            let token = try await registered.sign(
                registered.customToken(["iss": "backend@other.iam.gserviceaccount.com"]),
                keyID: "unknown-key"
            )
            guard case .denied(.credentialMismatch) = try await verify(token, registered) else {
                Issue.record("not a mismatch")
                return
            }
        }
    }

    @Test func `an assertion gets a bearer token, which is valid until the key is removed`() async throws {
        try await withRegistered { registered in
            let operations = registered.service.operations
            let issued = try #require(
                try await operations.issueAccessToken(
                    assertion: try await registered.sign(registered.assertion()),
                    publicURL: "https://id.example.com"
                )
            )
            #expect(issued.expiresInSeconds == 3600)
            #expect(
                try await operations.serviceAccount(accessToken: issued.token)
                    == .serviceAccount(email: registered.account.email, keyID: registered.account.keyID)
            )
            guard
                case .denied(.invalidIDToken) = try await outcome(
                    await operations.lookUp(idToken: issued.token, tenant: .project)
                )
            else {
                Issue.record("a bearer token is no ID token")
                return
            }
            #expect(try await operations.store.removeServiceAccount(keyID: registered.account.keyID))
            #expect(try await operations.serviceAccount(accessToken: issued.token) == nil)
        }
    }

    @Test func `an assertion in the form of Google's libraries gets a bearer token`() async throws {
        try await withRegistered { registered in
            for audience in ["https://oauth2.googleapis.com/token", "https://www.googleapis.com/oauth2/v4/token"] {
                let issued = try await registered.service.operations.issueAccessToken(
                    assertion: try await registered.sign(registered.assertion(["aud": .string(audience)])),
                    publicURL: "https://id.example.com"
                )
                #expect(issued != nil, "\(audience)")
            }
        }
    }

    @Test func `a bearer token expires, and an ID token is no bearer token`() async throws {
        try await withRegistered { registered in
            let operations = registered.service.operations
            let issued = try #require(
                try await operations.issueAccessToken(
                    assertion: try await registered.sign(registered.assertion()),
                    publicURL: nil
                )
            )
            registered.service.clock.advance(seconds: 3600)
            #expect(try await operations.serviceAccount(accessToken: issued.token) == nil)
            guard case .success(let signedIn) = try await outcome(await operations.signUp(.anonymous, tenant: .project))
            else {
                Issue.record("no sign-up")
                return
            }
            #expect(try await operations.serviceAccount(accessToken: signedIn.tokens.idToken) == nil)
        }
    }

    @Test func `an assertion for another server is refused`() async throws {
        try await withRegistered { registered in
            let operations = registered.service.operations
            let token = try await registered.sign(
                registered.assertion(["aud": "https://evil.example.com/oauth2/token"])
            )
            #expect(
                try await operations.issueAccessToken(assertion: token, publicURL: "https://id.example.com") == nil
            )
            // A custom token is no assertion.
            let custom = try await registered.sign(registered.customToken())
            #expect(try await operations.issueAccessToken(assertion: custom, publicURL: nil) == nil)
        }
    }
}
