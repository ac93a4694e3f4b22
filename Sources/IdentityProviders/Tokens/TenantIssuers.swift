import JSON

/// How the issuers of a provider are named of which every tenant has one of its own.
struct TenantIssuers: Sendable {
    /// Between these stands the tenant's id, a GUID, which tokens name in `tid`.
    let prefix: String
    let suffix: String
    /// Whose users may come, by the ids of their tenants.
    var accepts: @Sendable (_ tenantID: String) -> Bool = { _ in true }

    /// The issuer of whatever tenant `claims` name; `nil` when they name none that may come.
    func issuer(of claims: JSONValue) -> String? {
        guard let id = claims["tid"]?.string, Self.isGUID(id), accepts(id) else { return nil }
        return prefix + id + suffix
    }

    /// Whether `issuer` is that of a tenant that may come.
    func contains(_ issuer: String) -> Bool {
        guard issuer.hasPrefix(prefix), issuer.hasSuffix(suffix) else { return false }
        let id = issuer.dropFirst(prefix.count).dropLast(suffix.count)
        return Self.isGUID(id) && accepts(String(id))
    }

    /// RFC 9562 §4.
    static func isGUID(_ text: some StringProtocol) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.count) == [8, 4, 4, 4, 12]
            && parts.joined().allSatisfy { $0.isASCII && $0.isHexDigit }
    }
}
