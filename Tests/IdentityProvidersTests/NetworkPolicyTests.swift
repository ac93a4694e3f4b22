import NIOCore
import Testing

@testable import IdentityProviders

struct NetworkPolicyTests {
    static let reaches: [(String, NetworkPolicy.Reach)] = [
        ("127.0.0.1", .loopback), ("127.255.255.255", .loopback), ("::1", .loopback), ("::ffff:127.0.0.1", .loopback),
        ("10.0.0.1", .special), ("172.16.0.1", .special), ("172.31.255.255", .special), ("192.168.1.1", .special),
        ("169.254.169.254", .special), ("100.64.0.1", .special), ("100.127.255.255", .special),
        ("198.18.0.1", .special),
        ("192.0.2.1", .special), ("198.51.100.1", .special), ("203.0.113.1", .special), ("192.0.0.1", .special),
        ("fe80::1", .special), ("fec0::1", .special), ("fc00::1", .special), ("fdff::1", .special),
        ("2001:db8::1", .special), ("2001::1", .special), ("3fff::1", .special), ("100::1", .special),
        ("::ffff:10.0.0.1", .special), ("64:ff9b::10.0.0.1", .special), ("64:ff9b:1::1", .special),
        ("2002:a00:1::1", .special), ("::10.0.0.1", .special),
        ("0.0.0.0", .nowhere), ("0.1.2.3", .nowhere), ("224.0.0.1", .nowhere), ("255.255.255.255", .nowhere),
        ("240.0.0.1", .nowhere), ("::", .nowhere), ("ff02::1", .nowhere), ("::ffff:0.0.0.0", .nowhere),
        ("8.8.8.8", .publicInternet), ("172.15.255.255", .publicInternet), ("172.32.0.1", .publicInternet),
        ("100.63.255.255", .publicInternet), ("100.128.0.1", .publicInternet), ("192.169.0.1", .publicInternet),
        ("2606:4700::1111", .publicInternet), ("2001:4860::8888", .publicInternet), ("2a00:1450::1", .publicInternet),
        ("::ffff:8.8.8.8", .publicInternet), ("64:ff9b::8.8.8.8", .publicInternet),
        ("2002:808:808::1", .publicInternet),
    ]

    @Test(arguments: reaches)
    func `an address has the reach that the IANA registries list`(address: String, reach: NetworkPolicy.Reach) throws {
        #expect(NetworkPolicy.Reach(of: try SocketAddress(ipAddress: address, port: 443)) == reach)
    }

    @Test
    func `a Unix socket is unreachable`() throws {
        #expect(NetworkPolicy.Reach(of: try SocketAddress(unixDomainSocketPath: "/run/socket")) == .nowhere)
    }

    @Test
    func `each policy allows the listed addresses`() throws {
        let strict = NetworkPolicy()
        let `private` = NetworkPolicy(allowsPrivateNetworks: true)
        let development = NetworkPolicy(allowsLoopback: true)
        let collector = NetworkPolicy(allowsPrivateNetworks: true, allowsLoopback: true, allowsPlainHTTP: true)
        let plain = NetworkPolicy(allowsPlainHTTP: true)
        // Address, TLS, then the answers of the policies.
        let table: [(String, Bool, Bool, Bool, Bool, Bool, Bool)] = [
            ("8.8.8.8", true, true, true, true, true, true), ("8.8.8.8", false, false, false, false, true, true),
            ("10.0.0.1", true, false, true, false, true, false), ("10.0.0.1", false, false, false, false, true, false),
            ("127.0.0.1", true, false, true, true, true, false), ("127.0.0.1", false, false, false, true, true, false),
            ("0.0.0.0", true, false, false, false, false, false),
            ("0.0.0.0", false, false, false, false, false, false),
        ]
        for (text, usesTLS, byStrict, byPrivate, byDevelopment, byCollector, byPlain) in table {
            let address = try SocketAddress(ipAddress: text, port: 443)
            #expect(strict.allows(address, overTLS: usesTLS) == byStrict, "\(text)")
            #expect(`private`.allows(address, overTLS: usesTLS) == byPrivate, "\(text)")
            #expect(development.allows(address, overTLS: usesTLS) == byDevelopment, "\(text)")
            #expect(collector.allows(address, overTLS: usesTLS) == byCollector, "\(text)")
            #expect(plain.allows(address, overTLS: usesTLS) == byPlain, "\(text)")
        }
    }

    @Test(
        arguments: [
            (["max-age=60"], 60), (["public, max-age=60"], 60), (["MAX-AGE = 60"], 60), (["max-age=\"60\""], 60),
            (["max-age=-5"], 0), (["no-store"], 0), (["max-age=60, no-cache"], 0), (["public", "max-age=60"], 60),
            (["max-age=soon"], nil), ([], nil), (["s-maxage=60"], nil), (["max-age=99999999999999999999"], nil),
        ] as [([String], Int64?)]
    )
    func `Cache-Control is read leniently`(values: [String], expected: Int64?) {
        #expect(HTTPDocument.maxAgeSeconds(cacheControl: values) == expected)
    }
}
