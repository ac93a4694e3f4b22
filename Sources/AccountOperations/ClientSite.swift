/// The site that a client's network belongs to: the /48 of an IPv6 client, which one customer may be given (RFC 6177 §2) and
/// split into 65,536 networks. An IPv4 address belongs to none.
struct ClientSite: Sendable, Hashable {
    /// 12 hexadecimal digits.
    let name: String

    /// Limit of a site, as a multiple of the limit of one network.
    static let limitFactor: Int64 = 10

    /// - `network`: as limits count: an IPv4 address, or the 16 hexadecimal digits of the /64 of an IPv6 address; `nil` for an
    ///   IPv4 address.
    init?(ofNetwork network: String) {
        guard network.utf8.count == 16, network.allSatisfy(\.isHexDigit) else { return nil }
        name = String(network.prefix(12))
    }
}
