package import AccountLinking
package import Postgres

/// A claim on an identifier.
struct IdentifierRow: RowDecodable {
    /// The key of the identifier among those of its kind.
    let value: String
    /// The account that has the identifier, or that an address is reserved for.
    let holder: UserID
    /// The end of the reservation; `nil` if the holder has the identifier.
    let reservedUntil: Timestamp?

    /// The account that has the identifier; `nil` for an address that is reserved.
    var owner: UserID? { reservedUntil == nil ? holder : nil }

    /// A claim that is written.
    private struct Claim {
        let tenant: TenantID
        let identifier: Identifier
        let holder: UserID
        var reservedUntil: Timestamp?
    }

    private static let columns = Columns<Claim>(
        of: "identifiers",
        key: [
            Column(written: "tenant_id", \.tenant), Column(written: "kind", \.identifier.kind),
            Column("value", \.identifier.value),
        ],
        [Column("user_id", \.holder), Column(read: "reserved_until", \.reservedUntil)]
    )

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        value = try values(\.identifier.value)
        holder = try values(\.holder)
        reservedUntil = try values(\.reservedUntil)
    }

    static func owner(of identifier: Identifier, tenant: TenantID) -> Query<IdentifierRow> {
        Query(keyColumn: 0, owners(kind: identifier.kind, values: [identifier.value], tenant: tenant).sql)
    }

    /// The claims on several identifiers of one kind, in no particular order.
    static func owners(kind: String, values: [String], tenant: TenantID) -> Query<IdentifierRow> {
        """
        \(columns.select)
        WHERE tenant_id = \(tenant) AND kind = \(kind) AND value = ANY(\(values))
        """
    }

    /// Like `owners`, for 1,000 values. Looks up each by key, because PostgreSQL may run `= ANY` as a scan of all
    /// identifiers of the kind.
    static func owned(kind: String, values: [String], tenant: TenantID) -> Query<IdentifierRow> {
        Query(
            """
            SELECT \(columns.names(of: "owned")) FROM unnest(\(values)) AS wanted (value) JOIN LATERAL (
                SELECT \(columns.qualifiedNames) FROM \(table: "identifiers")
                WHERE tenant_id = \(tenant) AND kind = \(kind) AND identifiers.value = wanted.value OFFSET 0
            ) AS owned ON true
            """,
            onCitus: owners(kind: kind, values: values, tenant: tenant).sql
        )
    }

    /// One claim on an identity of `provider`, if there is any. Keys sort by byte, and U+0020 follows U+001F.
    static func anyFederated(of provider: ProviderID, tenant: TenantID) -> Query<IdentifierRow> {
        """
        \(columns.select)
        WHERE tenant_id = \(tenant) AND kind = 'federated'
            AND value >= \(provider.rawValue + "\u{1F}") AND value < \(provider.rawValue + " ")
        LIMIT 1
        """
    }

    /// The claims on identities of a provider after `place`, in the order of their keys.
    static func federated(after place: FederatedCursor, countMax: Int64, tenant: TenantID) -> Query<IdentifierRow> {
        """
        \(columns.select)
        WHERE tenant_id = \(tenant) AND kind = 'federated'
            AND value > \(place.value) AND value < \(place.provider.rawValue + " ")
        ORDER BY value LIMIT \(countMax)
        """
    }

    /// Raises 23505 if an account, this one included, already owns it.
    static func claim(_ identifier: Identifier, for id: UserID, tenant: TenantID) -> SQL {
        columns.insert(Claim(tenant: tenant, identifier: identifier, holder: id), isShared: true)
    }

    /// Inserts many claims, like `claim`. They are sorted, so that two writers cannot deadlock.
    static func claimMany(_ claims: [(Identifier, UserID)], tenant: TenantID) -> SQL {
        columns.insertMany(
            claims.sorted { ($0.0.kind, $0.0.value) < ($1.0.kind, $1.0.value) }
                .map { Claim(tenant: tenant, identifier: $0, holder: $1) },
            tenant: tenant
        )
    }

    /// Releases many claims, like `release`.
    static func releaseMany(_ claims: [(Identifier, UserID)], tenant: TenantID) -> SQL {
        """
        DELETE FROM identifiers
        USING unnest(\(claims.map(\.0.kind)), \(claims.map(\.0.value)), \(claims.map(\.1)))
            AS old (kind, value, user_id)
        WHERE identifiers.tenant_id = \(tenant) AND identifiers.kind = old.kind
            AND identifiers.value = old.value AND identifiers.user_id = old.user_id
        """
    }

    /// Releases the claims of deleted accounts.
    static func releaseOrphans(tenant: TenantID) -> SQL {
        """
        DELETE FROM identifiers WHERE tenant_id = \(tenant)
            AND user_id NOT IN (SELECT user_id FROM users WHERE tenant_id = \(tenant))
        """
    }

    /// Reserves `address` for `id` until `end`, if no account has it. A reservation of the same account is extended, an
    /// expired one is replaced, and one of another account stays. Each end is later than the one before: `clear`
    /// recognises it by that.
    static func reserve(
        _ address: EmailAddress,
        for id: UserID,
        until end: Timestamp,
        at now: Timestamp,
        tenant: TenantID
    ) -> SQL {
        // Citus accepts only immutable functions here. The sum of a `timestamptz` and an interval depends on the
        // session's time zone; the sum in a given zone does not.
        let later: SQL =
            "(identifiers.reserved_until AT TIME ZONE 'UTC' + interval '1 microsecond') AT TIME ZONE 'UTC'"
        return """
            INSERT INTO identifiers (\(columns.writtenNames), reserved_until)
            VALUES (\(tenant), 'email', \(address.canonical), \(id), \(end))
            ON CONFLICT (tenant_id, kind, value) DO UPDATE SET user_id = excluded.user_id,
                reserved_until = greatest(excluded.reserved_until, \(later))
            WHERE identifiers.user_id = excluded.user_id AND identifiers.reserved_until IS NOT NULL
                OR identifiers.reserved_until <= \(now)
            """
    }

    /// Releases a reserved address if the reservation is as it was read. Otherwise a following claim raises 23505.
    static func clear(_ reserved: ReservedAddress, tenant: TenantID) -> SQL {
        """
        DELETE FROM identifiers
        WHERE tenant_id = \(tenant) AND kind = 'email' AND value = \(reserved.address.canonical)
            AND user_id = \(reserved.holder) AND reserved_until = \(reserved.until)
        """
    }

    /// Releases an address that is reserved for an account, with any end.
    static func clearAny(_ key: String, of holder: UserID, tenant: TenantID) -> SQL {
        """
        DELETE FROM identifiers
        WHERE tenant_id = \(tenant) AND kind = 'email' AND value = \(key)
            AND user_id = \(holder) AND reserved_until IS NOT NULL
        """
    }

    static func release(_ identifier: Identifier, of id: UserID, tenant: TenantID) -> SQL {
        """
        DELETE FROM identifiers
        WHERE tenant_id = \(tenant) AND kind = \(identifier.kind) AND value = \(identifier.value)
            AND user_id = \(id)
        """
    }
}

/// A place in the order of all identities of a provider.
package struct FederatedCursor: Sendable, Hashable {
    let provider: ProviderID
    let value: String

    /// The place before the first identity, because no subject is empty.
    package static func beginning(of provider: ProviderID) -> FederatedCursor {
        FederatedCursor(provider: provider, value: provider.rawValue + "\u{1F}")
    }
}

extension AccountStore {
    /// The users that own the next `countMax` identities of a provider after `place`, and the next place, which is
    /// `nil` after the last. Two round trips.
    package func users(
        linkedTo place: FederatedCursor,
        tenant: TenantID,
        countMax: Int
    ) async throws(PostgresError) -> (users: [UserRecord], next: FederatedCursor?) {
        let claims = try await client.read(
            IdentifierRow.federated(after: place, countMax: Int64(countMax), tenant: tenant)
        )
        let next =
            claims.count < countMax
            ? nil : claims.last.map { FederatedCursor(provider: place.provider, value: $0.value) }
        return (try await users(claims.map(\.holder), tenant: tenant), next)
    }
}
