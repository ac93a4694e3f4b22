import NIOCore

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The networks that Concord may connect to.
///
/// Administrators register issuers, and documents of issuers name further URLs. Without a policy, both could make the
/// server send requests to internal services: metadata services, databases, admin ports.
package struct NetworkPolicy: Sendable, Hashable {
    /// True if addresses outside the public internet may be reached over HTTPS.
    package var allowsPrivateNetworks: Bool
    /// True if this machine may be reached, with or without TLS. Development only.
    package var allowsLoopback: Bool
    /// True if the allowed networks may be reached without TLS. For an address that the operator configures.
    package var allowsPlainHTTP: Bool

    package init(
        allowsPrivateNetworks: Bool = false,
        allowsLoopback: Bool = false,
        allowsPlainHTTP: Bool = false
    ) {
        self.allowsPrivateNetworks = allowsPrivateNetworks
        self.allowsLoopback = allowsLoopback
        self.allowsPlainHTTP = allowsPlainHTTP
    }

    /// Returns true if a connection to `address` may be opened.
    func allows(_ address: SocketAddress, overTLS usesTLS: Bool) -> Bool {
        switch Reach(of: address) {
        case .loopback: allowsLoopback || (allowsPrivateNetworks && usesTLS)
        case .special: allowsPrivateNetworks && (usesTLS || allowsPlainHTTP)
        case .publicInternet: usesTLS || allowsPlainHTTP
        case .nowhere: false
        }
    }

    /// The reach of an address by the IANA special-purpose address registries (RFC 6890).
    enum Reach: Sendable, Hashable {
        case loopback
        /// Private, shared, link-local, documentation, benchmarking: not globally reachable.
        case special
        case publicInternet
        /// Not the address of one host: unspecified, multicast, reserved, or not an internet address.
        case nowhere

        init(of address: SocketAddress) {
            var bytes = [UInt8](repeating: 0, count: 16)
            let text = address.ipAddress ?? ""
            if inet_pton(AF_INET, text, &bytes) == 1 {
                self.init(v4: Array(bytes[..<4]))
            } else if inet_pton(AF_INET6, text, &bytes) == 1 {
                self.init(v6: bytes)
            } else {
                self = .nowhere
            }
        }

        private init(v4 bytes: [UInt8]) {
            switch (bytes[0], bytes[1], bytes[2]) {
            case (127, _, _): self = .loopback
            case (0, _, _), (224...255, _, _): self = .nowhere
            case (10, _, _), (172, 16...31, _), (192, 168, _), (100, 64...127, _), (169, 254, _), (198, 18...19, _),
                (192, 0, 0), (192, 0, 2), (192, 88, 99), (198, 51, 100), (203, 0, 113):
                self = .special
            default: self = .publicInternet
            }
        }

        private init(v6 bytes: [UInt8]) {
            let isZero = { (range: Range<Int>) in bytes[range].allSatisfy { $0 == 0 } }
            // An IPv6 address that contains an IPv4 address has the reach of that address.
            let isMapped = isZero(0..<10) && bytes[10] == 0xFF && bytes[11] == 0xFF
            let isTranslated = bytes[..<12] == [0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]
            if isMapped || isTranslated {
                self.init(v4: Array(bytes[12...]))
            } else if bytes[0] == 0x20, bytes[1] == 0x02 {
                self.init(v4: Array(bytes[2..<6]))
            } else if isZero(0..<15) {
                self = bytes[15] == 1 ? .loopback : .nowhere
            } else if bytes[0] == 0xFF {
                self = .nowhere
            } else if bytes[0] & 0xE0 != 0x20 {
                // Only 2000::/3 is assigned. Unique-local, link-local and site-local addresses are outside of it.
                self = .special
            } else {
                let isProtocolBlock = bytes[0] == 0x20 && bytes[1] == 0x01 && bytes[2] < 0x02
                let isDocumentation =
                    bytes[..<4] == [0x20, 0x01, 0x0D, 0xB8]
                    || (bytes[0] == 0x3F && bytes[1] == 0xFF && bytes[2] & 0xF0 == 0)
                self = isProtocolBlock || isDocumentation ? .special : .publicInternet
            }
        }
    }
}

extension SocketAddress {
    /// The address that every resolver reads in `127.1`, `0x7f000001` or `2130706433` without a look-up (inet_aton(3)).
    init?(spelledOut host: String, port: Int) {
        var bytes = [UInt8](repeating: 0, count: 4)
        let isRead = bytes.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: in_addr.self) { inet_aton(host, $0.baseAddress) != 0 }
        }
        guard isRead else { return nil }
        try? self.init(ipAddress: bytes.map(String.init).joined(separator: "."), port: port)
    }
}
