import AccountTestSupport
import Crypto
import Foundation
import JSON
import NIOHTTP1
import Synchronization
import Testing

@testable import Delivery

/// Pushes over HTTP/2 and TLS to a local server.
struct APNsSenderTests {
    private static let topic = "com.example.app"
    private static let device = String(repeating: "0a", count: 32)
    /// Longer than any test takes, also on a slow machine.
    private static let timeout = Duration.seconds(300)
    private static let now: Int64 = 1_790_000_000

    private func push(topic: String = Self.topic, usesSandbox: Bool = false) -> SilentPush {
        SilentPush(
            id: "123e4567-e89b-42d3-a456-426614174000",
            deviceToken: Self.device,
            topic: topic,
            usesSandbox: usesSandbox,
            payload: Array(#"{"aps":{"content-available":1}}"#.utf8),
            expiresAt: Self.now + 10
        )
    }

    /// Runs `body` with a sender, whose production and sandbox are both paths of one local server.
    private func with(
        _ apps: [String: APNsCredential],
        clients: [TLSIdentity] = [],
        answer: @escaping @Sendable (LocalServer.Request) -> LocalServer.Reply,
        _ body: (APNsSender, LocalServer) async throws -> Void
    ) async throws {
        let identity = try TLSIdentity()
        try await LocalServer.run(http2: identity, clients: clients) { request, _ in
            answer(request)
        } _: { server in
            let sender = APNsSender(
                apps: apps,
                hosts: APNsHosts(production: server.address(""), sandbox: server.address("/sandbox")),
                authorities: Array(identity.pem.utf8)
            )
            do {
                try await body(sender, server)
            } catch {
                await sender.shutDown()
                throw error
            }
            await sender.shutDown()
        }
    }

    @Test func `a push is a background push of its app, signed with its team's key`() async throws {
        let key = P256.Signing.PrivateKey()
        try await with([Self.topic: .key(id: "KEY1234567", team: "TEAM123456", key)]) { _ in
            .text("")
        } _: { sender, server in
            #expect(await sender.send(push(), at: Self.now, timeout: Self.timeout) == .delivered)
            #expect(
                await sender.send(push(usesSandbox: true), at: Self.now + 2399, timeout: Self.timeout) == .delivered
            )
            let requests = server.requests
            #expect(requests.map(\.target) == ["/3/device/", "/sandbox/3/device/"].map { $0 + Self.device })
            #expect(server.connectionCount == 1, "the connection is reused")
            for request in requests {
                #expect(request.isHTTP2 && request.method == .POST)
                let fields = [
                    "apns-id": "123e4567-e89b-42d3-a456-426614174000", "apns-topic": Self.topic,
                    "apns-push-type": "background", "apns-priority": "5", "apns-expiration": "\(Self.now + 10)",
                ]
                for (name, value) in fields { #expect(request.headers[name] == [value]) }
                #expect(request.body == push().payload)
            }
            let authorization = try #require(requests[0].headers.first(name: "authorization"))
            #expect(
                requests[1].headers.first(name: "authorization") == authorization,
                "Apple limits new tokens, so the token is reused"
            )
            #expect(authorization.hasPrefix("bearer "))
            let parts = authorization.dropFirst("bearer ".count).split(separator: ".").map(String.init)
            try #require(parts.count == 3)
            let texts = try parts.prefix(2).map { try JSONValue(parsing: try #require(Base64URL.decode($0))) }
            #expect(texts[0] == ["alg": "ES256", "kid": "KEY1234567", "typ": "JWT"])
            #expect(texts[1] == ["iss": "TEAM123456", "iat": .integer(Self.now)])
            let signature = try P256.Signing.ECDSASignature(
                rawRepresentation: try #require(Base64URL.decode(parts[2]))
            )
            #expect(key.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
        }
    }

    @Test func `a token is replaced after 40 minutes, or when Apple reports that it has expired`() async throws {
        let expired = Mutex(false)
        let key = P256.Signing.PrivateKey()
        let apps: [String: APNsCredential] = [
            Self.topic: .key(id: "K", team: "T", key), "com.example.other": .key(id: "K", team: "T", key),
        ]
        try await with(apps) { _ in
            expired.withLock { $0 } ? .json(["reason": "ExpiredProviderToken"], status: .forbidden) : .text("")
        } _: { sender, server in
            func send(_ topic: String, at seconds: Int64) async -> DeliveryOutcome {
                await sender.send(push(topic: topic), at: seconds, timeout: Self.timeout)
            }
            #expect(await send(Self.topic, at: Self.now) == .delivered)
            #expect(await send("com.example.other", at: Self.now) == .delivered)
            #expect(await send(Self.topic, at: Self.now + 2400) == .delivered)
            expired.withLock { $0 = true }
            #expect(await send(Self.topic, at: Self.now + 2401) == .deferred(reason: "ExpiredProviderToken"))
            expired.withLock { $0 = false }
            #expect(await send(Self.topic, at: Self.now + 2402) == .delivered)
            let tokens = server.requests.map { $0.headers.first(name: "authorization") }
            #expect(tokens[0] == tokens[1], "apps of one team share a token")
            #expect(tokens[2] != tokens[1] && tokens[3] == tokens[2] && tokens[4] != tokens[3])
        }
    }

    @Test func `an app with a certificate sends no token, and Apple refuses another certificate`() async throws {
        let own = try TLSIdentity()
        let other = try TLSIdentity()
        let apps: [String: APNsCredential] = [
            Self.topic: .certificate(Array((own.pem + "\n" + own.keyPEM).utf8)),
            "com.example.other": .certificate(Array((other.pem + "\n" + other.keyPEM).utf8)),
        ]
        try await with(apps, clients: [own]) { _ in
            .text("")
        } _: { sender, server in
            #expect(await sender.send(push(), at: Self.now, timeout: Self.timeout) == .delivered)
            #expect(server.requests[0].headers["authorization"] == [])
            let outcome = await sender.send(push(topic: "com.example.other"), at: Self.now, timeout: Self.timeout)
            #expect(outcome == .deferred(reason: "unreachable"))
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: [
        (200, "", DeliveryOutcome.delivered),
        (400, #"{"reason":"BadDeviceToken"}"#, .refused(reason: "BadDeviceToken")),
        (400, #"{"reason":"DeviceTokenNotForTopic"}"#, .refused(reason: "DeviceTokenNotForTopic")),
        (403, #"{"reason":"InvalidProviderToken"}"#, .unavailable(reason: "InvalidProviderToken")),
        // The client of the API chooses the sandbox, so this refusal must not stop other pushes.
        (403, #"{"reason":"BadCertificateEnvironment"}"#, .refused(reason: "BadCertificateEnvironment")),
        (410, #"{"reason":"Unregistered","timestamp":1}"#, .refused(reason: "Unregistered")),
        (413, "not JSON", .refused(reason: "status 413")), (404, #"{"reason":7}"#, .refused(reason: "status 404")),
        (400, #"{"reason":"<b>\u0000"}"#, .refused(reason: "status 400")),
        (400, #"{"reason":""}"#, .refused(reason: "status 400")),
        (429, #"{"reason":"TooManyRequests"}"#, .deferred(reason: "TooManyRequests")),
        (429, #"{"reason":"TooManyProviderTokenUpdates"}"#, .unavailable(reason: "TooManyProviderTokenUpdates")),
        (500, #"{"reason":"InternalServerError"}"#, .deferred(reason: "InternalServerError")),
        (503, #"{"reason":"Shutdown"}"#, .deferred(reason: "Shutdown")),
        (500, String(repeating: "x", count: 10_000), .deferred(reason: "unreachable")),
    ])
    func `each answer of Apple has its outcome`(status: Int, body: String, outcome: DeliveryOutcome) async throws {
        try await with([Self.topic: .key(id: "K", team: "T", P256.Signing.PrivateKey())]) { _ in
            .text(body, status: HTTPResponseStatus(statusCode: status))
        } _: { sender, _ in
            #expect(await sender.send(push(), at: Self.now, timeout: Self.timeout) == outcome)
        }
    }

    @Test func `after a timeout the next push uses another connection`() async throws {
        let key = P256.Signing.PrivateKey()
        try await with([Self.topic: .key(id: "K", team: "T", key)]) { request in
            LocalServer.Reply(stops: request.target.hasPrefix("/sandbox") ? .beforeHead : .never)
        } _: { sender, server in
            #expect(await sender.send(push(), at: Self.now, timeout: Self.timeout) == .delivered)
            #expect(server.connectionCount == 1)
            // A connection that was lost without notice behaves like this.
            let silent = await sender.send(push(usesSandbox: true), at: Self.now, timeout: .milliseconds(200))
            #expect(silent == .deferred(reason: "unreachable"))
            for _ in 1...2 {
                #expect(await sender.send(push(), at: Self.now, timeout: Self.timeout) == .delivered)
            }
            #expect(server.connectionCount == 2, "the old connection is not reused, the new one is")
        }
    }

    @Test func `a push to an unknown app is refused, and one to an unreachable service is deferred`() async throws {
        let sender = APNsSender(
            apps: [Self.topic: .key(id: "K", team: "T", P256.Signing.PrivateKey())],
            hosts: APNsHosts(production: "https://127.0.0.1:1", sandbox: "https://127.0.0.1:1")
        )
        #expect(
            await sender.send(push(topic: "com.example.unknown"), at: Self.now, timeout: Self.timeout)
                == .refused(reason: "unknown app")
        )
        #expect(await sender.send(push(), at: Self.now, timeout: Self.timeout) == .deferred(reason: "unreachable"))
        await sender.shutDown()
        #expect(await sender.send(push(), at: Self.now, timeout: Self.timeout) == .deferred(reason: "unreachable"))
    }
}
