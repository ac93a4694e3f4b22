package import AccountLinking
import Postgres

/// A key that at most one user of a tenant owns: a row of `identifiers`.
package enum Identifier: Sendable, Hashable {
    case email(EmailAddress)
    case phone(PhoneNumber)
    case federated(ProviderIdentity)

    var kind: String {
        switch self {
        case .email: "email"
        case .phone: "phone"
        case .federated: "federated"
        }
    }

    /// The stored key. U+001F cannot occur in a provider id or a subject, so the two never run together.
    var value: String {
        switch self {
        case .email(let address): address.canonical
        case .phone(let number): number.rawValue
        case .federated(let identity): identity.provider.rawValue + "\u{1F}" + identity.subject
        }
    }
}

/// Who owns an identifier.
struct IdentifierRow: RowDecodable {
    let owner: UserID

    init(row: inout RowDecoder) throws(PostgresError) {
        _ = try row.next(String.self)
        owner = try row.parsed("identifiers.user_id", UserID.init)
    }

    static func owner(of identifier: Identifier, tenant: TenantID) -> Query<IdentifierRow> {
        Query(keyColumn: 0, owners(kind: identifier.kind, values: [identifier.value], tenant: tenant).sql)
    }

    /// The owners of several identifiers of one kind, in no particular order, each as often as it owns one.
    static func owners(kind: String, values: [String], tenant: TenantID) -> Query<IdentifierRow> {
        """
        SELECT value, user_id FROM identifiers
        WHERE tenant_id = \(tenant.rawValue) AND kind = \(kind) AND value = ANY(\(values))
        """
    }

    /// One claim on an identity of `provider`, if there is any. Keys sort by byte, and U+0020 follows U+001F.
    static func anyFederated(of provider: ProviderID, tenant: TenantID) -> Query<IdentifierRow> {
        Query(
            """
            SELECT value, user_id FROM identifiers
            WHERE tenant_id = \(tenant.rawValue) AND kind = 'federated'
                AND value >= \(provider.rawValue + "\u{1F}") AND value < \(provider.rawValue + " ")
            LIMIT 1
            """
        )
    }

    /// Raises 23505 when somebody, this user included, owns it already.
    static func claim(_ identifier: Identifier, for id: UserID, tenant: TenantID) -> SQL {
        """
        INSERT INTO identifiers (tenant_id, kind, value, user_id)
        VALUES (\(tenant.rawValue), \(identifier.kind), \(identifier.value), \(id.rawValue))
        """
    }

    /// Frees what deleted accounts claimed.
    static func releaseOrphans(tenant: TenantID) -> SQL {
        """
        DELETE FROM identifiers WHERE tenant_id = \(tenant.rawValue) AND NOT EXISTS (
            SELECT FROM users
            WHERE users.tenant_id = identifiers.tenant_id AND users.user_id = identifiers.user_id
        )
        """
    }

    static func release(_ identifier: Identifier, of id: UserID, tenant: TenantID) -> SQL {
        """
        DELETE FROM identifiers
        WHERE tenant_id = \(tenant.rawValue) AND kind = \(identifier.kind) AND value = \(identifier.value)
            AND user_id = \(id.rawValue)
        """
    }
}
