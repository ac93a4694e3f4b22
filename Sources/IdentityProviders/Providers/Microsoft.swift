import AccountLinking
import JSON

extension KnownVerifier {
    static let microsoft = issuer(.microsoft)
}

extension KnownIssuer {
    /// `microsoft.com`: personal accounts and accounts of every Entra tenant. Each tenant is an issuer; the custom
    /// parameter `tenant` names one (learn.microsoft.com, "ID token claims reference").
    static let microsoft = microsoft(of: "common") { _ in true }

    private static func microsoft(
        of tenant: String,
        accepts: @escaping @Sendable (_ tenantID: String) -> Bool
    ) -> KnownIssuer {
        let base = "https://login.microsoftonline.com/"
        return KnownIssuer(
            provider: .microsoft,
            keySetURL: base + "common/discovery/v2.0/keys",
            tenants: TenantIssuers(prefix: base, suffix: "/v2.0", accepts: accepts),
            nonceRule: .hashedOrPlain,
            server: AuthorizationServer(
                authorizationURL: base + tenant + "/oauth2/v2.0/authorize",
                tokenURL: base + tenant + "/oauth2/v2.0/token",
                scopes: ["openid", "email", "profile", "User.Read"],
                reauthentication: [("prompt", "login")]
            ),
            ofTenant: microsoftTenant,
            subject: microsoftSubject,
            refine: refineMicrosoft
        )
    }

    /// The tenant of all personal accounts.
    private static let personal = "9188040d-6c67-4c5b-b112-36a304b66dad"

    /// Returns the issuer of a tenant, which is named by its id, by one of its domains, or as `common`, `organizations`
    /// or `consumers`.
    @Sendable private static func microsoftTenant(_ name: String) -> KnownIssuer? {
        let name = name.lowercased()
        let isName = name.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        }
        guard isName, (1...253).contains(name.utf8.count), name.first != ".", name.first != "-" else { return nil }
        return microsoft(of: name) { id in
            switch name {
            case "consumers": id == personal
            case "organizations": id != personal
            default: !TenantIssuers.isGUID(name) || id.lowercased() == name
            }
        }
    }

    /// Returns the user's id in Microsoft Graph, which is the same for every app (ADR 0036): `oid`, of which personal
    /// accounts use the last 16 digits. `sub` differs for each app.
    @Sendable private static func microsoftSubject(_ claims: JSONValue) -> String? {
        // Fake tokens have no tenant.
        guard let tenant = claims["tid"]?.string else { return claims["sub"]?.string }
        guard let object = claims["oid"]?.string?.lowercased(), TenantIssuers.isGUID(object) else { return nil }
        guard tenant == personal, object.hasPrefix("00000000-0000-0000-") else { return object }
        return String(object.filter { $0 != "-" }.suffix(16))
    }

    /// A tenant's administrator can write any address into `email`. `xms_edov` is true if the tenant owns the address's
    /// domain; it counts if an operator's policy trusts the tenant.
    @Sendable private static func refineMicrosoft(
        _ verified: inout VerifiedCredential,
        _ standard: StandardClaims,
        _: ProviderCredential
    ) {
        guard standard.claims["tid"] != nil, case .present(let address, let flag, _) = verified.incoming.email,
            flag != .isFalse
        else { return }
        let ownership = VerifiedFlag(
            standard.claims["xms_edov"].map { [.bool(true), .string("true"), .string("1"), .integer(1)].contains($0) }
        )
        verified.incoming.email = .present(address, flag: ownership, hostedDomain: nil)
    }
}
