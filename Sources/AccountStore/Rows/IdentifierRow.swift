package import AccountLinking
package import Postgres

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

    /// As `owners`, with what is owned, for a thousand values at once.
    ///
    /// One by one: `= ANY` may be planned as all identifiers of the kind, each compared with every value.
    static func owned(kind: String, values: [String], tenant: TenantID) -> Query<OwnedIdentifierRow> {
        """
        SELECT owned.value, owned.user_id FROM unnest(\(values)) AS wanted (value) JOIN LATERAL (
            SELECT identifiers.value, identifiers.user_id FROM identifiers
            WHERE tenant_id = \(tenant.rawValue) AND kind = \(kind) AND identifiers.value = wanted.value OFFSET 0
        ) AS owned ON true
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

    /// The claims on identities of a provider after `place`, in the order of their keys.
    static func federated(after place: FederatedPlace, countMax: Int64, tenant: TenantID) -> Query<OwnedIdentifierRow> {
        Query(
            """
            SELECT value, user_id FROM identifiers
            WHERE tenant_id = \(tenant.rawValue) AND kind = 'federated'
                AND value > \(place.value) AND value < \(place.provider.rawValue + " ")
            ORDER BY value LIMIT \(countMax)
            """
        )
    }

    /// Raises 23505 when somebody, this user included, owns it already.
    static func claim(_ identifier: Identifier, for id: UserID, tenant: TenantID) -> SQL {
        """
        INSERT INTO identifiers (tenant_id, kind, value, user_id)
        VALUES \(row: "(\(tenant.rawValue), \(identifier.kind), \(identifier.value), \(id.rawValue))")
        """
    }

    /// As `claim`, of many, in an order of their own, so that two writers never wait for each other in a circle.
    static func claimMany(_ claims: [(Identifier, UserID)], tenant: TenantID) -> SQL {
        let claims = claims.sorted { ($0.0.kind, $0.0.value) < ($1.0.kind, $1.0.value) }
        return """
            INSERT INTO identifiers (tenant_id, kind, value, user_id)
            SELECT \(tenant.rawValue), new.*
            FROM unnest(\(claims.map(\.0.kind)), \(claims.map(\.0.value)), \(claims.map(\.1.rawValue))) AS new
            """
    }

    /// As `release`, of many.
    static func releaseMany(_ claims: [(Identifier, UserID)], tenant: TenantID) -> SQL {
        """
        DELETE FROM identifiers
        USING unnest(\(claims.map(\.0.kind)), \(claims.map(\.0.value)), \(claims.map(\.1.rawValue)))
            AS old (kind, value, user_id)
        WHERE identifiers.tenant_id = \(tenant.rawValue) AND identifiers.kind = old.kind
            AND identifiers.value = old.value AND identifiers.user_id = old.user_id
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

/// An identifier's key and its owner.
struct OwnedIdentifierRow: RowDecodable {
    let value: String
    let owner: UserID

    init(row: inout RowDecoder) throws(PostgresError) {
        value = try row.next(String.self)
        owner = try row.parsed("identifiers.user_id", UserID.init)
    }
}

/// A place in the order of all identities of a provider.
package struct FederatedPlace: Sendable, Hashable {
    let provider: ProviderID
    let value: String

    /// Before the first: no subject is empty.
    package static func beginning(of provider: ProviderID) -> FederatedPlace {
        FederatedPlace(provider: provider, value: provider.rawValue + "\u{1F}")
    }
}

extension AccountStore {
    /// The users that own the next `countMax` identities of a provider after `place`, and where to go on; `next` is `nil`
    /// after the last. Two round trips.
    package func users(
        linkedTo place: FederatedPlace,
        tenant: TenantID,
        countMax: Int
    ) async throws(PostgresError) -> (users: [UserRecord], next: FederatedPlace?) {
        let claims = try await client.read(
            IdentifierRow.federated(after: place, countMax: Int64(countMax), tenant: tenant)
        )
        let next =
            claims.count < countMax
            ? nil : claims.last.map { FederatedPlace(provider: place.provider, value: $0.value) }
        return (try await users(claims.map(\.owner), tenant: tenant), next)
    }
}
