/// The /48 of an IPv6 client's network. One customer may get a whole /48 (RFC 6177 §2) and split it into 65,536
/// networks. IPv4 addresses have no site.
struct ClientSite: Sendable, Hashable {
    /// 12 hexadecimal digits.
    let name: String

    /// Limit of a site, as a multiple of the limit of one network.
    static let limitFactor: Int64 = 10

    /// - `network`: in the form that limits count: an IPv4 address, or the 16 hexadecimal digits of an IPv6 /64. The
    ///   result is `nil` for an IPv4 address.
    init?(ofNetwork network: String) {
        guard network.utf8.count == 16, network.allSatisfy(\.isHexDigit) else { return nil }
        name = String(network.prefix(12))
    }
}
