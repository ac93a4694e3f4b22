import AccountOperations
import AccountStore
import AccountTestSupport
import Crypto
import CryptoExtras
import Foundation
import JSON
import NIOHTTP1
import Testing

/// A backend with a service account: it signs its requests with its key.
struct Administrator: Sendable {
    private let account: NewServiceAccount
    private let authorization: String

    static let project = "/v1/projects/\(TestService.projectID)"

    /// Registers a service account and gets its bearer token, as client libraries do (RFC 7523 §2.1).
    init(of servers: TwoServers) async throws {
        let account = try NewServiceAccount(name: "backend", projectID: TestService.projectID, effects: .system)
        let record = ServiceAccountRecord(
            keyID: account.keyID,
            email: account.email,
            publicKey: account.publicKey,
            createdAt: Effects.system.now()
        )
        try await servers.database.withClient { client in
            try await AccountStore(client: client).addServiceAccount(record)
        }
        let assertion = try Self.sign(["aud": .string(servers.first.url + AccountOperations.tokenPath)], as: account)
        let answer = try await servers.first.send(
            .POST,
            AccountOperations.tokenPath,
            [
                "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": .string(assertion),
            ],
            key: nil
        )
        self.account = account
        authorization = "Bearer \(try answer.string("access_token"))"
    }

    func send(
        _ method: HTTPMethod,
        _ path: String,
        _ body: JSONValue? = nil,
        headers: HTTPHeaders = [:],
        to server: ServeProcess
    ) async throws -> HTTPAnswer {
        try await server.send(method, path, body, key: nil, authorization: authorization, headers: headers)
    }

    func post(_ path: String, _ body: JSONValue, to server: ServeProcess) async throws -> HTTPAnswer {
        try await send(.POST, path, body, to: server)
    }

    /// A custom token for `uid`.
    func customToken(for uid: String) throws -> String {
        try Self.sign(
            [
                "aud": .string(ServiceAccountTokens.customTokenAudience), "sub": .string(account.email),
                "uid": .string(uid),
            ],
            as: account
        )
    }

    private static func sign(_ claims: [String: JSONValue], as account: NewServiceAccount) throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        let always: [String: JSONValue] = [
            "iss": .string(account.email), "iat": .integer(now), "exp": .integer(now + 600),
        ]
        let header: JSONValue = ["alg": "RS256", "typ": "JWT", "kid": .string(account.keyID)]
        let input = [header, JSONValue.object(claims.merging(always) { own, _ in own })]
            .map { Base64URL.encode(Array($0.text.utf8)) }.joined(separator: ".")
        let key = try _RSA.Signing.PrivateKey(pemRepresentation: account.privateKeyPEM)
        let signature = try key.signature(
            for: SHA256.hash(data: Array(input.utf8)),
            padding: .insecurePKCS1v1_5
        )
        return input + "." + Base64URL.encode(Array(signature.rawRepresentation))
    }
}
