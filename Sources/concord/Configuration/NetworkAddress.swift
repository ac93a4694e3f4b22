import AccountAPI

extension ConfigurationForm where Value == IPNetwork {
    static let network = Self(
        allowed: "an IP address or a range such as 10.0.0.0/8",
        parse: { IPNetwork($0) },
        format: \.description
    )
}

/// An address to listen on: a name or an IP address, and a port.
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

/// Returns true if only this machine can reach a host that a server binds. Returns false for a name other than
/// `localhost`, because its address is not known.
func isLoopback(host: String) -> Bool {
    host == "localhost" || IPAddress(host)?.isLoopback == true
}

/// Returns true if a host that a server binds stands for every address of this machine, so that no client can use it.
func isEveryAddress(host: String) -> Bool {
    IPAddress(host)?.isUnspecified == true
}

extension ConfigurationForm where Value == HostAndPort {
    static let hostAndPort = Self(
        allowed: "an address and port such as 10.0.0.5:9097",
        parse: { HostAndPort($0) },
        format: { "\($0.host):\($0.port)" }
    )
    static let loopback = Self(
        allowed: "a loopback address and port such as 127.0.0.1:9098",
        parse: { text in HostAndPort(text).flatMap { isLoopback(host: $0.host) ? $0 : nil } },
        format: { "\($0.host):\($0.port)" }
    )
}
