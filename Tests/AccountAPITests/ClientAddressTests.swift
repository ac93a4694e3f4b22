import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import NIOCore
import NIOHTTP1
import Synchronization
import Testing

@testable import AccountAPI
@testable import HTTPServer

struct NetworkAddressTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.0.0.0/8", "::ffff:10.1.2.3", true),
        ("192.0.2.128/25", "192.0.2.200", true), ("192.0.2.128/25", "192.0.2.127", false),
        ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false), ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "2001:db8::1", false),
        ("2001:db8::/33", "2001:db8:7fff::1", true), ("2001:db8::/33", "2001:db8:8000::1", false),
        ("::/0", "::1", true),
    ])
    func `a range contains the addresses of its prefix`(range: String, address: String, expected: Bool) throws {
        let network = try #require(IPNetwork(range))
        #expect(network.contains(try #require(IPAddress(address))) == expected)
    }
}

struct ClientAddressTests {
    private static let proxies = ["10.0.0.0/8", "2001:db8::1"].compactMap { IPNetwork($0) }

    @Test(
        arguments: [
            // Only listed proxies are trusted.
            ("203.0.113.9", "198.51.100.1", "203.0.113.9"),
            ("203.0.113.9", nil, "203.0.113.9"),
            ("10.0.0.1", nil, "10.0.0.1"),
            ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
            // What stands before the first that is no proxy may be invented.
            ("10.0.0.1", "1.2.3.4, 198.51.100.1", "198.51.100.1"),
            ("10.0.0.1", "1.2.3.4, 198.51.100.1,10.9.9.9", "198.51.100.1"),
            ("10.0.0.1", "10.0.0.2,10.0.0.3", "10.0.0.2"),
            ("10.0.0.1", "198.51.100.1, nonsense", "10.0.0.1"),
            ("10.0.0.1", ",", "10.0.0.1"),
            ("10.0.0.1", "198.51.100.1:4711", "198.51.100.1"),
            ("2001:db8::1", "[2001:db8::7]:443", "2001:db8::7"),
            ("::ffff:10.0.0.1", "2001:db8::7", "2001:db8::7"),
        ] as [(String, String?, String)]
    )
    func `only a trusted proxy can name the client`(
        peer: String,
        forwardedFor: String?,
        expected: String
    ) {
        let address = clientAddress(
            peer: IPAddress(peer),
            forwardedFor: forwardedFor,
            trusted: Self.proxies
        )
        #expect(address?.description == expected)
    }

    @Test func `the address of an unknown peer stays unknown`() {
        #expect(clientAddress(peer: nil, forwardedFor: "198.51.100.1", trusted: Self.proxies) == nil)
    }

    @Test(arguments: [(["127.0.0.1"], "198.51.100.1"), ([], "127.0.0.1")] as [([String], String)])
    func `failed passwords are logged with the client's address`(trusted: [String], expected: String) async throws {
        try await TestService.with { service in
            let handle = ServiceHandle()
            handle.state = .ready(service.operations, checkDatabase: { nil })
            _ = try await outcome(
                await service.operations
                    .signUp(.password(try #require(.init("ann@example.com")), "correct horse"), tenant: .project)
            )
            let log = RecordedLog()
            let api = API(
                service: handle,
                callers: RegisteredCallers(),
                development: nil,
                jsonDepthMax: 64,
                trustedProxies: trusted.compactMap { IPNetwork($0) },
                logger: log.logger
            )
            let request = ServerRequest(
                method: .post,
                target: "/v1/accounts:signInWithPassword?key=\(TestService.apiKey)",
                headers: ["Content-Type": "application/json", "X-Forwarded-For": "1.2.3.4, 198.51.100.1"],
                body: .complete(ByteBuffer(string: #"{"email":"ann@example.com","password":"x"}"#)),
                peer: try SocketAddress(ipAddress: "127.0.0.1", port: 1)
            )
            let responder = api.responder()
            for _ in 0..<11 { _ = await responder.respond(to: request) }
            let lines = log.lines.filter { $0.contains("too many attempts") }
            #expect(lines.count == 1)
            #expect(lines.first?.contains("\"client.address\": \(expected)") == true, "\(lines)")
        }
    }

    /// Stores the addresses that it receives.
    private final class Judge: AppVerifying {
        let addresses = Mutex<[String?]>([])

        func isGenuine(_ request: AppRequest) async throws -> Bool {
            addresses.withLock { $0.append(request.clientAddress) }
            return true
        }
    }

    @Test func `app verification gets the full address, and limits count the network`() async throws {
        let settings = ProjectSettings.developmentDefaults
            .with("concord", ["sms": ["windowSeconds": 0, "perAddressPerHour": 2]])
        try await TestService.with(settings: settings) { service in
            let judge = Judge()
            var operations = service.operations
            operations.apps = AppVerifiers(recaptcha: judge)
            let handle = ServiceHandle()
            handle.state = .ready(operations, checkDatabase: { nil })
            let responder = API(
                service: handle,
                callers: RegisteredCallers(),
                development: nil,
                jsonDepthMax: 64,
                trustedProxies: [],
                logger: RecordedLog().logger
            ).responder()
            let peers = ["2001:db8:1:2::7", "2001:db8:1:2::8", "2001:db8:1:2::9", "2001:db8:1:3::7"]
            var statuses: [Int] = []
            for (number, peer) in peers.enumerated() {
                let body = #"{"phoneNumber":"+1650555343\#(number)","recaptchaToken":"t"}"#
                let answer = await responder.respond(
                    to: ServerRequest(
                        method: .post,
                        target: "/v1/accounts:sendVerificationCode?key=\(TestService.apiKey)",
                        headers: ["Content-Type": "application/json"],
                        body: .complete(ByteBuffer(string: body)),
                        peer: try SocketAddress(ipAddress: peer, port: 1)
                    )
                )
                statuses.append(answer.status.code)
            }
            #expect(judge.addresses.withLock { $0 } == peers)
            #expect(statuses == [200, 200, 400, 200])
        }
    }
}
