import Testing

@testable import AccountLinking

/// Origins that codes and sessions of a project may be sent to.
struct AuthorizedDomainTests {
    private static let origins: [(name: String, origin: WebOrigin)] = [
        ("https app", WebOrigin(isSecure: true, host: "app.example.com", port: nil)),
        ("https app:8443", WebOrigin(isSecure: true, host: "app.example.com", port: 8443)),
        ("http app", WebOrigin(isSecure: false, host: "app.example.com", port: nil)),
        ("http app:443", WebOrigin(isSecure: false, host: "app.example.com", port: 443)),
        ("https sub.app", WebOrigin(isSecure: true, host: "sub.app.example.com", port: nil)),
        ("http localhost:3000", WebOrigin(isSecure: false, host: "localhost", port: 3000)),
        ("http 127.0.0.1:3000", WebOrigin(isSecure: false, host: "127.0.0.1", port: 3000)),
        ("http 1.127.0.0.1", WebOrigin(isSecure: false, host: "1.127.0.0.1", port: nil)),
    ]

    private static func authorized(
        _ domains: [String],
        requester: DestinationRequester = .operation,
        allowsLoopback: Bool = false,
        _ change: (inout LinkPolicy) -> Void = { _ in }
    ) -> [String] {
        var policy = LinkPolicy()
        change(&policy)
        let domains = domains.compactMap(AuthorizedDomain.init)
        return origins.filter { _, origin in
            policy.authorizes(origin, by: domains, requester: requester, allowsLoopback: allowsLoopback)
        }.map(\.name)
    }

    @Test func `without a domain no origin is authorized, under any policy`() {
        for requester in DestinationRequester.allCases {
            for allowsLoopback in [false, true] {
                let found = Self.authorized([], requester: requester, allowsLoopback: allowsLoopback) { policy in
                    policy.requiresHTTPSContinueURLs = false
                    policy.authorizesSubdomains = true
                }
                #expect(found == [])
            }
        }
    }

    @Test func `scheme, host and port are compared exactly`() {
        for requester in DestinationRequester.allCases {
            #expect(Self.authorized(["app.example.com"], requester: requester) == ["https app"])
            #expect(Self.authorized(["app.example.com:8443"], requester: requester) == ["https app:8443"])
            #expect(Self.authorized(["app.example.com:443"], requester: requester) == ["https app"])
            #expect(Self.authorized(["*.app.example.com"], requester: requester) == ["https sub.app"])
            #expect(Self.authorized(["*.app.example.com:8443"], requester: requester) == [])
            #expect(Self.authorized(["example.com"], requester: requester) == [])
            #expect(Self.authorized(["localhost", "127.0.0.1"], requester: requester) == [])
        }
    }

    @Test(
        arguments: [
            (["127.0.0.1"], [1, 8080, 65535]), (["127.0.0.1:8080"], [8080]), (["127.0.0.1:443", "127.0.0.1:1"], [1]),
            (["localhost"], []), (["*.0.0.1", "127.0.0.2", "app.example.com"], []), ([], []),
        ] as [([String], [Int])]
    )
    func `a native app gets a result on the ports that the project names for 127.0.0.1`(
        domains: [String],
        ports: [Int]
    ) {
        let parsed = domains.compactMap(AuthorizedDomain.init)
        let found = [-1, 0, 1, 8080, 65535, 65536].filter { LinkPolicy.authorizesLoopback(port: $0, by: parsed) }
        #expect(found == ports)
    }

    @Test func `in development only apps of this machine need no TLS`() {
        let domains = ["localhost", "127.0.0.1", "app.example.com"]
        #expect(
            Self.authorized(domains, allowsLoopback: true) == [
                "https app", "http localhost:3000", "http 127.0.0.1:3000",
            ]
        )
        #expect(Self.authorized(["localhost:4000"], allowsLoopback: true) == [])
        #expect(Self.authorized(["app.example.com"], allowsLoopback: true) == ["https app"], "not unless it is listed")
    }

    @Test func `a policy without required TLS accepts any port, or the listed one only`() {
        #expect(
            Self.authorized(["app.example.com"]) { $0.requiresHTTPSContinueURLs = false } == [
                "https app", "https app:8443", "http app", "http app:443",
            ]
        )
        #expect(
            Self.authorized(["app.example.com:443"]) { $0.requiresHTTPSContinueURLs = false } == [
                "https app", "http app:443",
            ]
        )
    }

    @Test func `a policy that accepts hosts below an authorized one does so for pages only, and not for IP addresses`()
    {
        func found(_ requester: DestinationRequester) -> [String] {
            Self.authorized(["app.example.com", "127.0.0.1"], requester: requester, allowsLoopback: true) {
                $0.authorizesSubdomains = true
            }
        }
        #expect(found(.page) == ["https app", "https sub.app", "http 127.0.0.1:3000"])
        #expect(found(.operation) == ["https app", "http 127.0.0.1:3000"])
    }

    @Test func `an entry is stored in one form`() {
        for (text, kept) in [
            ("App.Example.COM", "app.example.com"), ("*.Example.com:8443", "*.example.com:8443"),
            ("*.localhost", "*.localhost"), ("127.0.0.1:1", "127.0.0.1:1"), ("a.b:65535", "a.b:65535"),
        ] {
            #expect(AuthorizedDomain(text)?.text == kept)
        }
        for text in [
            "", ".", "a..b", "-a.b", "a_b.c", "a.b:", "a.b:0", "a.b:080", "a.b:65536", "a.b:x", "a.b/", "http://a.b",
            "[::1]",
            "*.com", "*.web.app", "*.1.2.3.4", "*a.b", "a.*", "a b", "é.example",
        ] {
            #expect(AuthorizedDomain(text) == nil, "\(text)")
        }
    }
}
