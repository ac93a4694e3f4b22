import Glibc

/// An IP address. An IPv4 address inside IPv6 (`::ffff:192.0.2.1`) is the IPv4 address.
struct IPAddress: Sendable, Hashable {
    /// 4 or 16 bytes, in network order.
    let bytes: [UInt8]

    /// Parses dotted decimal or IPv6 text (RFC 4291, section 2.2), without a zone or brackets; `nil` otherwise.
    init?(_ text: String) {
        var four: [UInt8] = Array(repeating: 0, count: 4)
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = four
            return
        }
        var sixteen: [UInt8] = Array(repeating: 0, count: 16)
        guard inet_pton(AF_INET6, text, &sixteen) == 1 else { return nil }
        let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]
        bytes = sixteen.starts(with: mapped) ? Array(sixteen.suffix(4)) : sixteen
    }

    /// Reached only from the same machine (RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3).
    var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes == Array(repeating: 0, count: 15) + [1]
    }
}

/// A range of addresses in CIDR form (RFC 4632, section 3.1): `10.0.0.0/8`; a single address is a range of one.
struct IPNetwork: Sendable, Hashable, CustomStringConvertible {
    let address: IPAddress
    let prefixLength: Int
    /// As it was written.
    let description: String

    /// `nil` when the address or the length is not allowed, or when bits after the prefix are set.
    init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(String(parts[0])) else { return nil }
        let bits = address.bytes.count * 8
        guard let prefixLength = parts.count == 1 ? bits : decimal(parts[1]), prefixLength <= bits else { return nil }
        self.address = address
        self.prefixLength = prefixLength
        description = text
        guard address.bytes == masked(address.bytes) else { return nil }
    }

    /// Whether `address` lies inside; never for an address of the other family.
    func contains(_ address: IPAddress) -> Bool {
        address.bytes.count == self.address.bytes.count && masked(address.bytes) == self.address.bytes
    }

    private func masked(_ bytes: [UInt8]) -> [UInt8] {
        bytes.enumerated().map { index, byte in
            let kept = min(8, max(0, prefixLength - index * 8))
            return byte & UInt8(truncatingIfNeeded: 0xFF00 >> kept)
        }
    }
}

extension ConfigurationForm where Value == IPNetwork {
    static let network = Self(
        allowed: "an IP address or a range such as 10.0.0.0/8",
        parse: { IPNetwork($0) },
        format: \.description
    )
}

/// Where to listen: a name or an address, and a port.
struct HostAndPort: Sendable, Hashable {
    let host: String
    /// 1 to 65535.
    let port: Int

    /// Parses `127.0.0.1:9098` or `[::1]:9098`; `nil` otherwise.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = decimal(text[text.index(after: colon)...]),
            (1...65535).contains(port)
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.host = String(host)
        self.port = port
    }
}

/// Whether a host that a server binds can be reached only from this machine. A name other than `localhost` cannot be
/// known to be one, so it is not.
func isLoopback(host: String) -> Bool {
    host == "localhost" || IPAddress(host)?.isLoopback == true
}

extension ConfigurationForm where Value == HostAndPort {
    static let loopback = Self(
        allowed: "a loopback address and port such as 127.0.0.1:9098",
        parse: { text in HostAndPort(text).flatMap { isLoopback(host: $0.host) ? $0 : nil } },
        format: { "\($0.host):\($0.port)" }
    )
}
