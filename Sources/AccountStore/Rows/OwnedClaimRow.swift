import AccountLinking
import Postgres

/// The owner of a claim.
struct OwnedClaimRow: RowDecodable {
    let kind: String
    let value: String
    let user: String

    init(row: inout RowDecoder) throws(PostgresError) {
        kind = try row.next()
        value = try row.next()
        user = try row.next()
    }

    /// A claim by kind and value.
    typealias Key = AccountSnapshot.OrphanedIdentifier

    /// The claims with these keys, on Citus, which sends no array into a lateral join. May return claims that have the
    /// kind of one key and the value of another.
    static func onShards(_ keys: [Key], tenant: TenantID) -> Query<OwnedClaimRow> {
        """
        SELECT kind, value, user_id FROM identifiers
        WHERE tenant_id = \(tenant) AND kind = ANY(\(Set(keys.map(\.kind)).sorted()))
            AND value = ANY(\(keys.map(\.value))) AND reserved_until IS NULL
        """
    }

    /// The claims with these keys, of any account. Looks up each by key, like `IdentifierRow.owned`.
    static func on(_ keys: [Key], tenant: TenantID) -> Query<OwnedClaimRow> {
        Query(
            """
            SELECT owned.kind, owned.value, owned.user_id
            FROM unnest(\(keys.map(\.kind)), \(keys.map(\.value))) AS wanted (kind, value) JOIN LATERAL (
                SELECT identifiers.kind, identifiers.value, identifiers.user_id FROM identifiers
                WHERE tenant_id = \(tenant) AND identifiers.kind = wanted.kind AND identifiers.value = wanted.value
                    AND identifiers.reserved_until IS NULL OFFSET 0
            ) AS owned ON true
            """,
            onCitus: onShards(keys, tenant: tenant).sql
        )
    }
}

extension OwnedClaimRow.Key {
    init(_ identifier: Identifier) {
        self.init(kind: identifier.kind, value: identifier.value)
    }
}
