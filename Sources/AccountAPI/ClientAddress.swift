import Glibc

/// An IP address. An IPv4 address inside IPv6 (`::ffff:192.0.2.1`) is the IPv4 address.
package struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    /// 4 or 16 bytes, in network order.
    package let bytes: [UInt8]

    /// Parses dotted decimal or IPv6 text (RFC 4291, section 2.2), without a zone or brackets; `nil` otherwise.
    package init?(_ text: String) {
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

    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The key that limits are counted by: the address, or the /64 of an IPv6 address, the smallest network of one
    /// subscriber (RFC 6177 §2), as 16 hexadecimal digits. Limits and the hash queue read the /48 from it
    /// (`ClientSite`).
    var subscriber: String {
        guard bytes.count == 16 else { return description }
        return bytes.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// True if only the same machine reaches the address (RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3).
    package var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes == Array(repeating: 0, count: 15) + [1]
    }

    /// True for the unspecified address: a server that binds it listens on every address of its machine (RFC 1122,
    /// section 3.2.1.3; RFC 4291, section 2.5.2).
    package var isUnspecified: Bool { bytes.allSatisfy { $0 == 0 } }
}

extension APIRequest {
    /// The network that limits on the client are counted by; `nil` if its address is unknown.
    var subscriber: String? { clientAddress.flatMap { IPAddress($0)?.subscriber } }
}

/// A range of addresses in CIDR form (RFC 4632, section 3.1): `10.0.0.0/8`; a single address is a range of one.
package struct IPNetwork: Sendable, Hashable, CustomStringConvertible {
    package let address: IPAddress
    package let prefixLength: Int
    /// The network as it was written.
    package let description: String

    /// Parses a range; `nil` if the address or the length is not allowed, or if bits after the prefix are set.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(String(parts[0])) else { return nil }
        let bits = address.bytes.count * 8
        guard let prefixLength = parts.count == 1 ? bits : Self.length(parts[1]), prefixLength <= bits else {
            return nil
        }
        self.address = address
        self.prefixLength = prefixLength
        description = text
        guard address.bytes == masked(address.bytes) else { return nil }
    }

    /// Returns true if `address` is in the network; false for an address of the other family.
    package func contains(_ address: IPAddress) -> Bool {
        address.bytes.count == self.address.bytes.count && masked(address.bytes) == self.address.bytes
    }

    /// Parses decimal digits, and nothing else.
    private static func length(_ text: Substring) -> Int? {
        guard (1...3).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }

    private func masked(_ bytes: [UInt8]) -> [UInt8] {
        bytes.enumerated().map { index, byte in
            let kept = min(8, max(0, prefixLength - index * 8))
            return byte & UInt8(truncatingIfNeeded: 0xFF00 >> kept)
        }
    }
}

/// The address of the client: the peer, or, if the peer is a trusted proxy, the address that the proxy names.
///
/// Proxies append to `X-Forwarded-For`, so it is read from the end up to the first address that is not a trusted proxy.
/// The client can forge everything before that address.
///
/// - `forwardedFor`: the header's values, joined with commas; `nil` if there is no header.
func clientAddress(peer: IPAddress?, forwardedFor: String?, trusted: [IPNetwork]) -> IPAddress? {
    guard var address = peer else { return nil }
    var named = (forwardedFor ?? "").split(separator: ",")[...]
    while trusted.contains(where: { $0.contains(address) }), let last = named.popLast() {
        guard let next = IPAddress(forwarded: last) else { return address }
        address = next
    }
    return address
}

extension IPAddress {
    /// Parses an address as proxies write it: optionally with brackets and a port.
    fileprivate init?(forwarded text: Substring) {
        var text = String(text.filter { $0 != " " && $0 != "\t" })
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            text = String(text[..<end].dropFirst())
        } else if let colon = text.firstIndex(of: ":"), colon == text.lastIndex(of: ":") {
            text = String(text[..<colon])
        }
        self.init(text)
    }
}
