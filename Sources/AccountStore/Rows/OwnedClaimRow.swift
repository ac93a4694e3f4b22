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

    /// The claims on `identifiers`, of any account. Looks up each by key, like `IdentifierRow.owned`.
    static func on(_ identifiers: [Identifier], tenant: TenantID) -> Query<OwnedClaimRow> {
        """
        SELECT owned.kind, owned.value, owned.user_id
        FROM unnest(\(identifiers.map(\.kind)), \(identifiers.map(\.value))) AS wanted (kind, value) JOIN LATERAL (
            SELECT identifiers.kind, identifiers.value, identifiers.user_id FROM identifiers
            WHERE tenant_id = \(tenant) AND identifiers.kind = wanted.kind AND identifiers.value = wanted.value
                AND identifiers.reserved_until IS NULL OFFSET 0
        ) AS owned ON true
        """
    }
}
