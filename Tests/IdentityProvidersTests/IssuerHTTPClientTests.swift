import AccountLinking
import AccountTestSupport
import Glibc
import JSON
import Logging
import NIOCore
import NIOHTTP1
import NameResolution
import Synchronization
import Testing

@testable import IdentityProviders

/// Fetching over a real socket, from a server in this process.
struct IssuerHTTPClientTests {
    private let client = IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true))

    private func fetch(
        _ address: String,
        by client: IssuerHTTPClient? = nil,
        within time: Duration = .seconds(120)
    ) async throws -> HTTPDocument {
        try await (client ?? self.client).document(at: address, deadline: .now + time)
    }

    private func resolving(
        _ policy: NetworkPolicy = NetworkPolicy(),
        _ lookUp: @escaping HostResolver.LookUp
    ) -> IssuerHTTPClient {
        IssuerHTTPClient(policy: policy, resolver: HostResolver(threadCount: 1, lookUp: lookUp))
    }

    @Test
    func `a document is returned with its maximum age`() async throws {
        try await LocalServer.run { _, _ in
            .text("{}", headers: [("cache-control", "public, Max-Age=77, must-revalidate")])
        } _: { server in
            let document = try await fetch(server.address("/keys?a=b"))
            #expect(document == HTTPDocument(body: Array("{}".utf8), maxAgeSeconds: 77))
            #expect(server.targets == ["/keys?a=b"])
        }
    }

    @Test
    func `an answer of up to 256 KiB is accepted, a larger one is refused`() async throws {
        let size = 256 * 1024
        try await LocalServer.run { request, _ in
            let path = request.target
            let count = path == "/fits" ? size : path == "/over" ? size + 1 : 5_000_000
            return LocalServer.Reply(body: [UInt8](repeating: 0x20, count: count))
        } _: { server in
            let document = try await fetch(server.address("/fits"))
            #expect(document.body.count == size)
            for path in ["/over", "/huge"] {
                await #expect(throws: ProviderUnavailable.answerTooLarge) { try await fetch(server.address(path)) }
            }
        }
    }

    @Test(arguments: [LocalServer.Reply.Stop.beforeHead, .insideBody])
    func `a fetch without an answer in time has timed out`(stop: LocalServer.Reply.Stop) async throws {
        try await LocalServer.run { _, _ in
            LocalServer.Reply(body: [UInt8](repeating: 0x20, count: 1000), stops: stop)
        } _: { server in
            await #expect(throws: ProviderUnavailable.timedOut) {
                try await fetch(server.address("/"), within: .milliseconds(200))
            }
        }
    }

    @Test
    func `up to two redirects within the origin are followed`() async throws {
        try await LocalServer.run { request, server in
            switch request.target {
            case "/a": .redirect(to: "/b?x=1", status: .movedPermanently)
            case "/b?x=1": .redirect(to: server.address("/c"), status: .temporaryRedirect)
            case "/c": .text("{}")
            case "/loop": .redirect(to: "loop")
            default: .redirect(to: "/a")
            }
        } _: { server in
            let document = try await fetch(server.address("/a"))
            #expect(document.body == Array("{}".utf8))
            #expect(server.targets == ["/a", "/b?x=1", "/c"])
            for path in ["/loop", "/three"] {
                await #expect(throws: ProviderUnavailable.redirected) { try await fetch(server.address(path)) }
            }
        }
    }

    // MARK: Posting

    private func post(
        _ address: String,
        by client: IssuerHTTPClient? = nil,
        within time: Duration = .seconds(120)
    ) async throws -> Int {
        try await (client ?? self.client).post(
            Array("{}".utf8),
            fields: [("content-type", "application/json")],
            to: address,
            deadline: .now + time
        )
    }

    @Test(arguments: [200, 204, 302, 308, 410, 500])
    func `a post returns every status, and follows no redirect`(status: Int) async throws {
        try await LocalServer.run { _, _ in
            LocalServer.Reply(status: HTTPResponseStatus(statusCode: status), headers: [("location", "/elsewhere")])
        } _: { server async throws in
            #expect(try await post(server.address("/hooks?a=b")) == status)
            #expect(server.targets == ["/hooks?a=b"])
        }
    }

    @Test func `a post does not wait for the body of the answer`() async throws {
        try await LocalServer.run { _, _ in
            LocalServer.Reply(body: [UInt8](repeating: 0x20, count: 5_000_000), stops: .insideBody)
        } _: { server async throws in
            #expect(try await post(server.address("/")) == 200)
        }
    }

    @Test func `a post without an answer in time has timed out`() async throws {
        try await LocalServer.run { _, _ in
            LocalServer.Reply(stops: .beforeHead)
        } _: { server in
            await #expect(throws: ProviderUnavailable.timedOut) {
                try await post(server.address("/"), within: .milliseconds(200))
            }
        }
    }

    @Test func `the network policy of a fetch applies to a post`() async throws {
        try await LocalServer.run { _, _ in
            .text("{}")
        } _: { server in
            let strict = IssuerHTTPClient(policy: NetworkPolicy())
            let port = server.port
            await #expect(throws: ProviderUnavailable.addressNotAllowed) {
                try await post(server.address("/"), by: strict)
            }
            for host in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[::ffff:10.0.0.1]"] {
                await #expect(throws: ProviderUnavailable.networkNotAllowed) {
                    try await post("https://\(host):\(port)/", by: strict)
                }
            }
            // A public name that resolves to a private address.
            let rebound = resolving { _ in ["192.168.0.1"] }
            await #expect(throws: ProviderUnavailable.networkNotAllowed) {
                try await post("https://receiver.example.com/", by: rebound)
            }
            #expect(server.targets == [])
        }
    }

    @Test(
        arguments: [
            "http://localhost:1/", "https://127.0.0.1/", "//localhost/", "http://127.0.0.1:1/",
            "https://issuer.example/",
        ]
    )
    func `redirects out of the origin are not followed`(location: String) async throws {
        try await LocalServer.run { _, _ in
            .redirect(to: location)
        } _: { server in
            await #expect(throws: ProviderUnavailable.redirected) { try await fetch(server.address("/")) }
            #expect(server.targets == ["/"])
        }
    }

    @Test(arguments: [400, 401, 403, 404, 429, 500, 503, 204, 304])
    func `a status other than success is an error`(code: Int) async throws {
        try await LocalServer.run { _, _ in
            LocalServer.Reply(status: .init(statusCode: code))
        } _: { server in
            await #expect(throws: ProviderUnavailable.unexpectedStatus) { try await fetch(server.address("/")) }
        }
    }

    @Test
    func `an address without a listener is unreachable`() async throws {
        // A system port that no process uses: another test may already use a port that was just freed.
        await #expect(throws: ProviderUnavailable.unreachable) { try await fetch("http://127.0.0.1:1/") }
    }

    @Test(
        arguments: [
            "", "issuer.example", "/path", "ftp://issuer.example/", "file:///etc/passwd", "https://", "https:///path",
            "https://user:secret@issuer.example/", "https://user@issuer.example/", "unix:///run/socket",
            "http+unix://%2Frun%2Fsocket/", "https://issuer.example:0/", "https://issuer.example:99999/",
            "https://" + String(repeating: "a", count: 2100) + "/",
        ]
    )
    func `a text that is not an https or http URL is not fetched`(address: String) async throws {
        await #expect(throws: ProviderUnavailable.addressNotAllowed) { try await fetch(address) }
    }

    @Test
    func `plain HTTP reaches only this machine, and only in development`() async throws {
        try await LocalServer.run { _, _ in
            .text("{}")
        } _: { server in
            let production = IssuerHTTPClient(policy: NetworkPolicy(allowsPrivateNetworks: true))
            await #expect(throws: ProviderUnavailable.addressNotAllowed) {
                try await fetch(server.address("/"), by: production)
            }
            for literal in ["93.184.215.14", "10.0.0.1", "[2606:2800:21f::1]"] {
                await #expect(throws: ProviderUnavailable.networkNotAllowed) { try await fetch("http://\(literal)/") }
            }
            #expect(server.targets == [])
        }
    }

    @Test
    func `names that resolve to private networks are refused`() async throws {
        for address in ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1", "::ffff:192.168.0.1"] {
            let client = resolving { _ in [address] }
            await #expect(throws: ProviderUnavailable.networkNotAllowed) {
                try await fetch("https://issuer.example/", by: client)
            }
            let literal = address.contains(":") ? "[\(address)]" : address
            await #expect(throws: ProviderUnavailable.networkNotAllowed) {
                try await fetch("https://\(literal)/", by: client)
            }
        }
    }

    @Test
    func `the connection uses the resolved address that the policy has checked`() async throws {
        // "issuer.test" does not exist: an answer proves that only this resolver was used.
        try await LocalServer.run { _, _ in
            .text("{}")
        } _: { server in
            let client = resolving(NetworkPolicy(allowsLoopback: true)) { host throws(HostResolver.HostNotFound) in
                guard host == "issuer.test" else { throw HostResolver.HostNotFound(reason: "unknown") }
                return ["127.0.0.1"]
            }
            let address = server.address("/", host: "issuer.test")
            let document = try await fetch(address, by: client)
            #expect(document.body == Array("{}".utf8))
            #expect(server.hosts == ["issuer.test:\(server.port)"])
        }
    }

    @Test
    func `the text check accepts plain HTTP only for this machine`() {
        let development = IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true))
        for address in [
            "http://127.0.0.1:8080/x", "http://127.1.2.3/", "http://[::1]:8080/", "http://localhost/",
            "http://LocalHost:1/",
            "https://example.com/x",
        ] { #expect(development.allows(address), "\(address)") }
        for address in [
            "http://example.com/x", "http://localhost.example.com/", "http://10.0.0.1/", "http://[fe80::1]/",
            "http://93.184.216.34/", "ftp://127.0.0.1/", "",
        ] { #expect(!development.allows(address), "\(address)") }
        let production = IssuerHTTPClient(policy: NetworkPolicy(allowsPrivateNetworks: true))
        #expect(production.allows("https://10.0.0.1/") && !production.allows("http://127.0.0.1/"))
    }

    @Test
    func `the text check refuses addresses that the policy forbids`() {
        let strict = IssuerHTTPClient(policy: NetworkPolicy())
        let neighbours = [
            "127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "[fd00::1]", "localhost",
            "LocalHost",
            // The forms that inet_aton(3) accepts, and with it every resolver.
            "127.1", "127.0.1", "0x7f000001", "0x7F.0.0.1", "2130706433", "017700000001", "0177.0.0.1", "10.1",
            "0xa9fea9fe", "2852039166", "192.168.257",
        ]
        for host in neighbours + ["0.0.0.0", "224.0.0.1", "[::]", "0", "0x0", "4294967295"] {
            #expect(!strict.allows("https://\(host)/h"), "\(host)")
        }
        for host in [
            "93.184.216.34", "[2606:2800:21f::1]", "example.com", "localhost.example.com", "1572395042", "93.12113954",
            "127.1.example.com", "0x7f000001.example.com", "127.0.0.256.example",
        ] {
            #expect(strict.allows("https://\(host)/h"), "\(host)")
        }
        let `private` = IssuerHTTPClient(policy: NetworkPolicy(allowsPrivateNetworks: true))
        for host in neighbours {
            #expect(`private`.allows("https://\(host)/h") && !`private`.allows("http://\(host)/h"), "\(host)")
        }
        #expect(!`private`.allows("https://0.0.0.0/"))
    }

    @Test
    func `a name that does not resolve is unreachable, one that takes too long has timed out`() async throws {
        let unknown = resolving { _ throws(HostResolver.HostNotFound) in
            throw HostResolver.HostNotFound(reason: "unknown")
        }
        await #expect(throws: ProviderUnavailable.unreachable) {
            try await fetch("https://issuer.example/", by: unknown)
        }
        let isReleased = Atomic(false)
        let slow = resolving { _ in
            while !isReleased.load(ordering: .acquiring) { usleep(1000) }
            return ["127.0.0.1"]
        }
        defer { isReleased.store(true, ordering: .releasing) }
        await #expect(throws: ProviderUnavailable.timedOut) {
            try await fetch("https://issuer.example/", by: slow, within: .milliseconds(100))
        }
    }

    // MARK: From the socket to the verdict

    /// Returns the verdict of a registry about a valid token of a local issuer, which serves `documents`.
    private func verdict(
        refreshTimeout: Duration = .seconds(120),
        _ documents: @escaping @Sendable (_ path: String, _ discovery: String, _ keys: String) -> LocalServer.Reply
    ) async throws -> Result<CredentialVerification, ProviderUnavailable> {
        let key = ProviderKey.p256("key-1")
        let keys = JSONValue.object(["keys": [.object(try key.jwk())]]).text
        var verdict = Result<CredentialVerification, ProviderUnavailable>.failure(.unreachable)
        try await LocalServer.run { request, server in
            let discovery: JSONValue = [
                "issuer": .string(server.address("")), "jwks_uri": .string(server.address("/keys")),
                "id_token_signing_alg_values_supported": ["ES256"],
            ]
            return documents(request.target, discovery.text, keys)
        } _: { server in
            var limits = JWKSCache.Limits()
            limits.refreshTimeout = refreshTimeout
            let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
            let registry = ProviderRegistry(
                keys: JWKSCache(http: client, limits: limits, logger: logger),
                network: ProviderNetwork(http: client)
            )
            let scene = try Scene(Scene.openIDConnect, key: key)
            var configuration = scene.configuration
            configuration.issuer = server.address("")
            let token = try key.token(scene.claims(["iss": .string(server.address(""))]))
            let credential = ProviderCredential(provider: scene.provider, idToken: token)
            do throws(ProviderUnavailable) {
                verdict = .success(
                    try await registry.verify(credential, configuration: configuration, at: Scene.now)
                )
            } catch {
                verdict = .failure(error)
            }
        }
        return verdict
    }

    @Test
    func `discovery, keys and token of a local issuer are accepted`() async throws {
        let verdict = try await verdict { path, discovery, keys in .text(path == "/keys" ? keys : discovery) }
        #expect(try verdict.get().verified?.incoming.identity.subject == "subject-1")
    }

    @Test
    func `an issuer that answers with a page or half a document is unavailable`() async throws {
        for text in ["<!doctype html><title>Sign in</title>", "", "{\"keys\":[", "\u{FEFF}"] {
            let asKeys = try await verdict { path, discovery, _ in .text(path == "/keys" ? text : discovery) }
            #expect(throws: ProviderUnavailable.malformedAnswer) { try asKeys.get() }
            let asDiscovery = try await verdict { _, _, _ in .text(text) }
            #expect(throws: ProviderUnavailable.malformedAnswer) { try asDiscovery.get() }
        }
    }

    @Test
    func `discovery and keys share one time limit`() async throws {
        let verdict = try await verdict(refreshTimeout: .milliseconds(300)) { path, discovery, _ in
            path == "/keys" ? LocalServer.Reply(stops: .beforeHead) : .text(discovery)
        }
        #expect(throws: ProviderUnavailable.timedOut) { try verdict.get() }
    }

    @Test
    func `a key set outside the allowed networks is not fetched`() async throws {
        let verdict = try await verdict { _, discovery, _ in
            .text(
                #"{"jwks_uri":"https://169.254.169.254/keys","#
                    + discovery.dropFirst().replacing(#""jwks_uri":"#, with: #""unused":"#)
            )
        }
        #expect(throws: ProviderUnavailable.networkNotAllowed) { try verdict.get() }
    }
}
