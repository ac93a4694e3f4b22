import AccountTestSupport
import Foundation
import NIOHTTP1
import Testing

@testable import HTTPClient

/// Requests over real sockets, to servers in this process.
struct HTTPTransportTests {
    /// Longer than any test takes, also on a slow machine.
    private static let patience = Duration.seconds(300)

    private func send(
        _ url: String,
        _ method: String = "GET",
        fields: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        reading: HTTPTransport.ResponseBody = .collected(bytesMax: 1000),
        at destination: HTTPTransport.Destination = .named,
        over connection: HTTPTransport.Connection = .init(),
        by transport: HTTPTransport = .shared,
        within time: Duration = Self.patience
    ) async throws -> HTTPTransport.Response {
        var request = HTTPTransport.Request(
            method,
            url,
            fields: fields,
            body: body,
            connection: connection,
            responseBody: reading,
            deadline: .now + time
        )
        request.destination = destination
        return try await transport.response(to: request)
    }

    private func waitForRequests(_ count: Int, at server: LocalServer) async throws {
        while server.requests.count < count { try await Task.sleep(for: .milliseconds(5)) }
    }

    // MARK: Requests

    @Test func `a request has the given path, fields and body, and no other fields`() async throws {
        let body = [UInt8](repeating: 0x61, count: 2_000_000)
        try await LocalServer.run { _, _ in
            .text("yes", headers: [("X-A", " 1 "), ("x-a", "2")])
        } _: { server async throws in
            let address = server.address("/a/../b%20?c=%2F")
            let response = try await send(address, "POST", fields: [("x-empty", ""), ("x-full", "v")], body: body)
            #expect(response.status == 200 && response.body == Array("yes".utf8))
            #expect(response.values(of: "x-a") == ["1", "2"])
            _ = try await send(server.address("/"))
            _ = try await send(server.address("/"), "DELETE")
            _ = try await send(server.address("/"), "POST")
            let requests = server.requests
            #expect(requests.map(\.method) == [.POST, .GET, .DELETE, .POST])
            #expect(requests[0].target == "/a/../b%20?c=%2F" && requests[0].body == body)
            #expect(
                requests.map { $0.headers.map(\.name).sorted() } == [
                    ["Content-Length", "Host", "x-empty", "x-full"], ["Host"], ["Host"], ["Content-Length", "Host"],
                ]
            )
        }
    }

    @Test(arguments: [
        ("GET", "x", "a\r\nx-more: b"), ("GET", "x", "a\u{0}"), ("GET", "x y", "a"), ("GET", "", "a"),
        ("GET", "x:", "a"), ("GET / HTTP/1.1\r\n", "x", "a"), ("", "x", "a"),
    ])
    func `a method or field that would change the rest of the request is not sent`(
        method: String,
        name: String,
        value: String
    ) async throws {
        try await LocalServer.run { _, _ in
            .text("")
        } _: { server async throws in
            await #expect(throws: HTTPTransport.Failure.invalidRequest) {
                try await send(server.address("/"), method, fields: [(name, value)])
            }
            #expect(server.targets == [])
        }
    }

    @Test(arguments: ["", "ftp://127.0.0.1/", "file:///etc/passwd", "http://a b/", "gopher://127.0.0.1:1/"])
    func `only HTTP URLs are requested`(url: String) async throws {
        await #expect(throws: HTTPTransport.Failure.invalidRequest) { try await send(url) }
    }

    @Test func `redirects are not followed`() async throws {
        try await LocalServer.run { _, _ in
            .redirect(to: "/b")
        } _: { server async throws in
            let response = try await send(server.address("/a"))
            #expect(response.status == 302 && response.values(of: "location") == ["/b"])
            #expect(server.targets == ["/a"])
        }
    }

    @Test func `a pinned address is used instead of the host and port of the URL`() async throws {
        try await LocalServer.run { _, _ in
            .text("")
        } _: { server async throws in
            let pinned = HTTPTransport.Destination.address("127.0.0.1", port: server.port)
            // The first name does not exist, and no process uses port 1.
            for host in ["issuer.test:1", "127.0.0.2", "[::1]:1", "localhost:1"] {
                #expect(try await send("http://\(host)/", at: pinned).status == 200)
            }
            #expect(server.hosts == ["issuer.test:1", "127.0.0.2", "[::1]:1", "localhost:1"])
        }
    }

    @Test func `a request reaches a Unix socket`() async throws {
        // A socket's path has at most 107 bytes.
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("concord-\(UUID()).sock").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await LocalServer.run(socketPath: path) { _, _ in
            .text("yes")
        } _: { server async throws in
            let response = try await send("http://localhost/x", at: .unixSocket(path: path))
            #expect(response.body == Array("yes".utf8))
            #expect(server.targets == ["/x"] && server.hosts == ["localhost"])
        }
    }

    // MARK: Limits

    @Test func `a body up to its limit is accepted, a larger one is refused`() async throws {
        try await LocalServer.run { request, _ in
            LocalServer.Reply(body: [UInt8](repeating: 0x20, count: request.target == "/fits" ? 1000 : 1001))
        } _: { server async throws in
            #expect(try await send(server.address("/fits")).body.count == 1000)
            await #expect(throws: HTTPTransport.Failure.responseTooLarge) { try await send(server.address("/over")) }
        }
    }

    @Test func `a head beyond 64 KiB is refused`() async throws {
        try await LocalServer.run { _, _ in
            .text("", headers: (1...14).map { ("x-\($0)", String(repeating: "a", count: 5000)) })
        } _: { server async throws in
            await #expect(throws: HTTPTransport.Failure.responseTooLarge) { try await send(server.address("/")) }
        }
    }

    @Test func `a body that is not wanted is not waited for`() async throws {
        try await LocalServer.run { _, _ in
            LocalServer.Reply(status: .notFound, body: [UInt8](repeating: 0x20, count: 5_000_000), stops: .insideBody)
        } _: { server async throws in
            for reading in [HTTPTransport.ResponseBody.ignored, .collected(bytesMax: 1000, statuses: 200...299)] {
                let response = try await send(server.address("/"), reading: reading)
                #expect(response.status == 404 && response.body == [])
            }
        }
    }

    @Test(arguments: [LocalServer.Reply.Stop.beforeHead, .insideBody])
    func `a response that is not complete at the deadline has timed out`(stop: LocalServer.Reply.Stop) async throws {
        try await LocalServer.run { _, _ in
            LocalServer.Reply(body: [UInt8](repeating: 0x20, count: 100), stops: stop)
        } _: { server async throws in
            await #expect(throws: HTTPTransport.Failure.timedOut) {
                try await send(server.address("/"), within: .milliseconds(200))
            }
            await #expect(throws: HTTPTransport.Failure.timedOut) { try await send(server.address("/"), within: .zero) }
        }
    }

    @Test func `a cancelled request ends, also if it is cancelled before it begins`() async throws {
        try await LocalServer.run { _, _ in
            LocalServer.Reply(stops: .beforeHead)
        } _: { server async throws in
            let address = server.address("/")
            let waiting = Task { try await send(address) }
            try await waitForRequests(1, at: server)
            waiting.cancel()
            await #expect(throws: HTTPTransport.Failure.cancelled) { try await waiting.value }
            let late = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await send(address)
            }
            await #expect(throws: HTTPTransport.Failure.cancelled) { try await late.value }
        }
    }

    @Test func `the beginning of a body is enough, if the caller wants no more`() async throws {
        try await LocalServer.run { request, _ in
            .text(String(repeating: "x", count: request.target == "/long" ? 1_000_000 : 7))
        } _: { server async throws in
            for (path, count) in [("/long", 100), ("/short", 7)] {
                let response = try await send(server.address(path), reading: .beginning(bytesMax: 100))
                #expect(response.status == 200 && response.body.count == count)
            }
            let other = try await send(server.address("/long"), reading: .beginning(bytesMax: 9, statuses: 400...499))
            #expect(other.status == 200 && other.body.isEmpty)
        }
    }

    @Test func `many requests run concurrently, and those beyond the limit are refused`() async throws {
        try await LocalServer.run { request, _ in
            var reply = LocalServer.Reply.text("yes")
            reply.delay = .milliseconds(300)
            if request.target == "/never" { reply.stops = .beforeHead }
            return reply
        } _: { server async throws in
            let address = server.address("/")
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<200 { group.addTask { try await send(address).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == Array(repeating: 200, count: 200))

            let small = HTTPTransport(transfersMax: 2)
            let never = server.address("/never")
            let waiting = (1...2).map { _ in Task { try await send(never, by: small) } }
            try await waitForRequests(202, at: server)
            await #expect(throws: HTTPTransport.Failure.tooManyRequests) { try await send(address, by: small) }
            waiting[0].cancel()
            await #expect(throws: HTTPTransport.Failure.cancelled) { try await waiting[0].value }
            #expect(try await send(address, by: small).status == 200)
            small.limit(transfersMax: 1)
            await #expect(throws: HTTPTransport.Failure.tooManyRequests) { try await send(address, by: small) }
            small.limit(transfersMax: 2)
            #expect(try await send(address, by: small).status == 200)
            small.shutDown()
            await #expect(throws: HTTPTransport.Failure.closed) { try await waiting[1].value }
            await #expect(throws: HTTPTransport.Failure.closed) { try await send(address, by: small) }
        }
    }

    @Test func `a failed connection has a reason in words`() async throws {
        // A system port that no process uses.
        await #expect(throws: HTTPTransport.Failure.unreachable(reason: "connection refused")) {
            try await send("http://127.0.0.1:1/")
        }
        try await LocalServer.run { _, _ in
            LocalServer.Reply(stops: .byClosing)
        } _: { server async throws in
            let failure = await #expect(throws: HTTPTransport.Failure.self) { try await send(server.address("/")) }
            guard case .unreachable(let reason)? = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
            #expect(!reason.isEmpty)
        }
    }

    // MARK: TLS and HTTP/2

    private func connection(
        trusting trust: HTTPTransport.Trust,
        isReused: Bool = false,
        identity: TLSIdentity? = nil
    ) -> HTTPTransport.Connection {
        var connection = HTTPTransport.Connection()
        connection.version = .http2
        connection.trust = trust
        connection.isReused = isReused
        connection.identity = identity.map { Array(($0.pem + "\n" + $0.keyPEM).utf8) } ?? []
        return connection
    }

    private func isInsecure(_ result: Result<HTTPTransport.Response, any Error>) -> Bool {
        if case .failure(HTTPTransport.Failure.insecure) = result { true } else { false }
    }

    private func result(
        _ url: String,
        at destination: HTTPTransport.Destination = .named,
        over connection: HTTPTransport.Connection
    ) async -> Result<HTTPTransport.Response, any Error> {
        do {
            return .success(try await send(url, at: destination, over: connection))
        } catch {
            return .failure(error)
        }
    }

    @Test func `a certificate must be of a trusted authority and name the host of the URL`() async throws {
        let identity = try TLSIdentity()
        let other = try TLSIdentity()
        let own = Array(identity.pem.utf8)
        try await LocalServer.run(http2: identity) { _, _ in
            .text("")
        } _: { server async throws in
            let address = server.address("/")
            for trust in [HTTPTransport.Trust.system(additional: own), .only(own), .anything] {
                #expect(try await send(address, over: connection(trusting: trust)).status == 200)
            }
            for trust in [HTTPTransport.Trust.system(additional: []), .only(Array(other.pem.utf8))] {
                #expect(isInsecure(await result(address, over: connection(trusting: trust))), "\(trust)")
            }
            let wrongName = await result(
                server.address("/", host: "issuer.test"),
                at: .address("127.0.0.1", port: server.port),
                over: connection(trusting: .only(own))
            )
            #expect(isInsecure(wrongName))
            #expect(server.requests.count == 3)
        }
    }

    @Test func `a client shows its certificate`() async throws {
        let identity = try TLSIdentity()
        let client = try TLSIdentity()
        let own = HTTPTransport.Trust.only(Array(identity.pem.utf8))
        try await LocalServer.run(http2: identity, clients: [client]) { _, _ in
            .text("")
        } _: { server async throws in
            let address = server.address("/")
            #expect(try await send(address, over: connection(trusting: own, identity: client)).status == 200)
            for stranger in [nil, try TLSIdentity()] {
                await #expect(throws: HTTPTransport.Failure.self) {
                    try await send(address, over: connection(trusting: own, identity: stranger))
                }
            }
            #expect(server.requests.count == 1)
        }
    }

    @Test func `HTTP2 requests share a connection if they may, and otherwise have one each`() async throws {
        let identity = try TLSIdentity()
        let own = HTTPTransport.Trust.only(Array(identity.pem.utf8))
        try await LocalServer.run(http2: identity) { _, _ in
            var reply = LocalServer.Reply.text("yes")
            reply.delay = .milliseconds(50)
            return reply
        } _: { server async throws in
            let address = server.address("/")
            let transport = HTTPTransport()
            let reused = connection(trusting: own, isReused: true)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 { group.addTask { _ = try await send(address, over: reused, by: transport) } }
                try await group.waitForAll()
            }
            #expect(server.requests.count == 20 && server.requests.allSatisfy { $0.isHTTP2 })
            #expect(server.connectionCount == 1)
            for _ in 1...2 { _ = try await send(address, over: connection(trusting: own), by: transport) }
            #expect(server.connectionCount == 3)
            transport.shutDown()
            _ = try await send(address, over: reused, by: HTTPTransport())
            #expect(server.connectionCount == 4, "transports share no connections")
        }
    }

    @Test func `a request that waits for the connection of another ends at its own deadline`() async throws {
        let server = try SilentServer()
        let transport = HTTPTransport()
        let reused = connection(trusting: .anything, isReused: true)
        let first = Task { try await send(server.address, over: reused, by: transport) }
        await #expect(throws: HTTPTransport.Failure.timedOut) {
            try await send(server.address, over: reused, by: transport, within: .milliseconds(200))
        }
        first.cancel()
        await #expect(throws: HTTPTransport.Failure.cancelled) { try await first.value }
    }
}

/// A listener whose connections the system opens and no program reads: no handshake ends.
private final class SilentServer: Sendable {
    let address: String
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let outcome = withUnsafeMutablePointer(to: &place) { [descriptor] place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
                bind(descriptor, place, length) | listen(descriptor, 8) | getsockname(descriptor, place, &length)
            }
        }
        try #require(outcome == 0)
        address = "https://127.0.0.1:\(UInt16(bigEndian: place.sin_port))/"
    }

    deinit {
        close(descriptor)
    }
}
