import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import Foundation
import JSON
import JWTKit
import Testing

/// Backends with a registered key: what they sign is accepted, and nothing else is.
struct ServiceAccountTests {
    private struct Registered {
        let account: NewServiceAccount
        let service: TestService

        /// A JWT over `claims`, signed by the account's key or by another.
        func sign(_ claims: JSONValue, keyID: String? = nil, with pem: String? = nil) async throws -> String {
            let keys = JWTKeyCollection()
            let key = try Insecure.RSA.PrivateKey(pem: pem ?? account.privateKeyPEM)
            await keys.add(rsa: key, digestAlgorithm: .sha256, kid: JWKIdentifier(string: keyID ?? account.keyID))
            return try await keys.sign(
                AnyPayload(value: claims),
                kid: JWKIdentifier(string: keyID ?? account.keyID)
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
        /// Signed here, read elsewhere.
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
            try await service.operations.store.addServiceAccount(
                ServiceAccountRecord(
                    keyID: account.keyID,
                    email: account.email,
                    publicKey: account.publicKey,
                    createdAt: service.clock.now
                )
            )
            try await body(Registered(account: account, service: service))
        }
    }

    private func verify(_ token: String, _ registered: Registered) async throws -> Outcome<CustomToken> {
        let verifier = ServiceAccountTokens(
            store: registered.service.operations.store,
            projectID: TestService.projectID
        )
        return try await verifier.verify(token, at: registered.service.clock.now)
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

    @Test func `what is not signed, not for us, or not of now is refused`() async throws {
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

    @Test func `an assertion earns a bearer token, until the key is taken away`() async throws {
        try await withRegistered { registered in
            let operations = registered.service.operations
            let issued = try #require(
                try await operations.issueAccessToken(
                    assertion: try await registered.sign(registered.assertion()),
                    publicURL: "https://id.example.com"
                )
            )
            #expect(issued.expiresInSeconds == 3600)
            #expect(try await operations.isServiceAccount(accessToken: issued.token))
            guard case .denied(.invalidIDToken) = try await operations.lookUp(idToken: issued.token, tenant: .project)
            else {
                Issue.record("a bearer token is no ID token")
                return
            }
            #expect(try await operations.store.removeServiceAccount(keyID: registered.account.keyID))
            #expect(try await operations.isServiceAccount(accessToken: issued.token) == false)
        }
    }

    @Test func `an assertion as Google's own libraries write it earns a bearer token`() async throws {
        try await withRegistered { registered in
            let issued = try await registered.service.operations.issueAccessToken(
                assertion: try await registered.sign(
                    registered.assertion(["aud": "https://oauth2.googleapis.com/token"])
                ),
                publicURL: "https://id.example.com"
            )
            #expect(issued != nil)
        }
    }

    @Test func `a bearer token expires, and an ID token is none`() async throws {
        try await withRegistered { registered in
            let operations = registered.service.operations
            let issued = try #require(
                try await operations.issueAccessToken(
                    assertion: try await registered.sign(registered.assertion()),
                    publicURL: nil
                )
            )
            registered.service.clock.advance(seconds: 3600)
            #expect(try await operations.isServiceAccount(accessToken: issued.token) == false)
            guard case .success(let signedIn) = try await operations.signUp(.anonymous, tenant: .project) else {
                Issue.record("no sign-up")
                return
            }
            #expect(try await operations.isServiceAccount(accessToken: signedIn.tokens.idToken) == false)
        }
    }

    @Test func `an assertion for another server earns nothing`() async throws {
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
