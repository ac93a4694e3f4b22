/// An entry of the project's `authorizedDomains`, a host that codes and sessions may be sent to: `app.example.com` or
/// `app.example.com:8443`. With the prefix `*.`, every host below it.
package struct AuthorizedDomain: Sendable, Hashable {
    /// A host name or an IPv4 address, in lower case.
    package let host: String
    /// True if the entry covers every host below `host`, at any depth, but not `host` itself.
    package let isWildcard: Bool
    /// The required port; `nil` for the default of `https`.
    package let port: Int?

    /// - Returns: `nil` if `text` is not such an entry, or is a wildcard over hosts of many owners.
    package init?(_ text: String) {
        var rest = text.lowercased()[...]
        self.isWildcard = rest.hasPrefix(Self.wildcard)
        if isWildcard { rest = rest.dropFirst(Self.wildcard.count) }
        if let colon = rest.firstIndex(of: ":") {
            guard let port = Self.port(rest[rest.index(after: colon)...]) else { return nil }
            self.port = port
            rest = rest[..<colon]
        } else {
            self.port = nil
        }
        self.host = String(rest)
        guard Self.isHostName(host), !isWildcard || Self.mayBeWildcard(host) else { return nil }
    }

    private static let wildcard = "*."

    /// The entry in the form of the configuration.
    package var text: String { (isWildcard ? Self.wildcard : "") + host + (port.map { ":\($0)" } ?? "") }

    /// Returns true if the entry covers `host`. `withSubdomains`: without a wildcard it covers hosts below it as well.
    package func covers(_ host: String, withSubdomains: Bool) -> Bool {
        if host == self.host { return !isWildcard }
        return (isWildcard || withSubdomains) && !Self.isIPv4(self.host) && host.hasSuffix("." + self.host)
    }

    /// Parses one to five digits without a leading zero, as browsers write ports.
    private static func port(_ text: Substring) -> Int? {
        guard (1...5).contains(text.utf8.count), text.first != "0",
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int(text).flatMap { $0 <= 65_535 ? $0 : nil }
    }

    /// False for top-level domains and shared hosts, where names are free for all.
    private static func mayBeWildcard(_ host: String) -> Bool {
        if host == "localhost" { return true }
        return host.contains(".") && !isIPv4(host) && !SharedHosts.all.contains(host)
    }

    /// Browsers treat a host whose last label is a number as an IPv4 address (WHATWG URL, "ends in a number").
    private static func isIPv4(_ host: String) -> Bool {
        host.split(separator: ".").last?.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            == true
    }

    /// RFC 1123 §2.1: labels of lower-case letters, digits and inner hyphens.
    package static func isHostName(_ text: String) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        return text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
            let hyphen = UInt8(ascii: "-")
            return (1...63).contains(label.count) && label.first != hyphen && label.last != hyphen
                && label.allSatisfy { byte in
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == hyphen
                }
        }
    }
}
