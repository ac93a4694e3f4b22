import JSON

/// The names of the issuers of a provider that has a separate issuer for each tenant.
struct TenantIssuers: Sendable {
    /// The issuer before and after the tenant's id, a GUID, which tokens name in `tid`.
    let prefix: String
    let suffix: String
    /// Returns true if users of the tenant may sign in.
    var accepts: @Sendable (_ tenantID: String) -> Bool = { _ in true }

    /// Returns the issuer of the tenant that `claims` name; `nil` if they name no accepted tenant.
    func issuer(of claims: JSONValue) -> String? {
        guard let id = claims["tid"]?.string, Self.isGUID(id), accepts(id) else { return nil }
        return prefix + id + suffix
    }

    /// Returns true if `issuer` belongs to an accepted tenant.
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
