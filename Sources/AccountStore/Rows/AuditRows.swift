import AccountLinking
import Postgres

// What an audit reads: the same columns of many accounts at once, table by table, of which `AuditedTable.types` has the types.
// The first is the user's id, which is read before a row is. Values come as they are stored, because one that cannot be read
// is a finding and not an error, and texts stay where they came. What nearly all rows hold is NULL instead where its column
// holds something always: for PostgreSQL it is dearer to send a value than to compare it.

/// One row of `users`, as far as audits look at it.
struct AuditedUserRow {
    let version: Int64
    let sessionEpoch: Int64
    let email: PackedText?
    let emailProof: PackedText?
    let emailProvenAt: Timestamp?
    let phoneNumber: PackedText?
    let unprovenPhoneNumber: PackedText?
    let flags: Flags
    let validSince: Timestamp
    let createdAt: Timestamp
    let lastLoginAt: Timestamp?

    /// What few accounts are: none of them is NULL.
    struct Flags: OptionSet {
        static let hasInitialEmail = Flags(rawValue: 1)
        static let isDisabled = Flags(rawValue: 2)
        static let usesCustomTokens = Flags(rawValue: 4)

        let rawValue: Int32
    }

    init(_ columns: PackedColumns) throws(PostgresError) {
        var row = columns
        version = try row.int64()
        sessionEpoch = try row.int64()
        email = try row.optionalText()
        emailProof = try row.optionalText()
        emailProvenAt = try row.optionalTimestamp().map { Timestamp($0) }
        phoneNumber = try row.optionalText()
        unprovenPhoneNumber = try row.optionalText()
        flags = Flags(rawValue: try row.optionalInt32() ?? 0)
        validSince = Timestamp(try row.timestamp())
        createdAt = Timestamp(try row.timestamp())
        lastLoginAt = try row.optionalTimestamp().map { Timestamp($0) }
    }

    private static let select: SQL = """
        SELECT user_id, version, session_epoch, email, email_proof, email_proven_at, phone_number, unproven_phone_number,
            CASE WHEN initial_email IS NOT NULL OR disabled OR uses_custom_tokens
                THEN (initial_email IS NOT NULL)::int + 2 * disabled::int + 4 * uses_custom_tokens::int END,
            valid_since, created_at, last_login_at
        FROM users
        """

    static func of(_ scope: TableScope, tenant: String) -> SQL {
        "\(select) WHERE \(scope.condition(tenant: tenant))"
    }

    /// The next after an id, in the order of ids, of those that something happened to since `since`: they signed in, or an
    /// event of theirs was written.
    static func changed(
        since: Timestamp,
        after id: String,
        limit: Int64,
        tenant: String
    ) -> SQL {
        """
        \(select) WHERE tenant_id = \(tenant) AND user_id > \(id)
            AND (last_login_at >= \(since.stored) OR created_at >= \(since.stored) OR EXISTS (
                SELECT FROM account_events
                WHERE account_events.tenant_id = users.tenant_id AND account_events.user_id = users.user_id
                    AND account_events.occurred_at >= \(since.stored)))
        ORDER BY user_id LIMIT \(limit)
        """
    }

    static func withIDs(_ ids: [String], tenant: String) -> SQL {
        "\(of(.ids(ids), tenant: tenant)) ORDER BY user_id"
    }

    /// Whether a tenant is among `tenants`.
    static func hasTenant(_ tenant: String) -> Query<Bool> {
        Query(
            """
            SELECT EXISTS (SELECT FROM users WHERE tenant_id = \(tenant))
                OR EXISTS (SELECT FROM identifiers WHERE tenant_id = \(tenant))
            """
        )
    }

    /// The tenants that have users or claims, in order: from each to the next by the indexes, which costs as much as there are
    /// tenants, and not as there are rows.
    static let tenants: Query<String?> = """
        WITH RECURSIVE found AS (
            SELECT least((SELECT min(tenant_id) FROM users), (SELECT min(tenant_id) FROM identifiers)) AS tenant_id
            UNION ALL
            SELECT least(
                (SELECT min(tenant_id) FROM users WHERE tenant_id > found.tenant_id),
                (SELECT min(tenant_id) FROM identifiers WHERE tenant_id > found.tenant_id))
            FROM found WHERE found.tenant_id IS NOT NULL
        )
        SELECT tenant_id FROM found WHERE tenant_id IS NOT NULL ORDER BY tenant_id
        """
}

struct AuditedPasswordRow {
    let updatedAt: Timestamp
    /// How the hash was made, as far as it says so; `nil` for today's way.
    let otherScheme: PackedText?

    init(_ columns: PackedColumns) throws(PostgresError) {
        var row = columns
        updatedAt = Timestamp(try row.timestamp())
        otherScheme = try row.optionalText()
    }

    static func of(_ scope: TableScope, tenant: String) -> SQL {
        // By what lies between texts: a comparison in "C" is half as dear as `starts_with`.
        """
        SELECT user_id, updated_at, CASE WHEN hash COLLATE "C" < \(AuditRule.currentPasswordScheme)
                OR hash COLLATE "C" >= \(AuditRule.currentPasswordScheme + "\u{10FFFF}") THEN left(hash, 48) END
        FROM password_credentials
        WHERE \(scope.condition(tenant: tenant))
        """
    }
}

struct AuditedProviderRow {
    let provider: PackedText
    let subject: PackedText
    let issuer: PackedText?
    let email: PackedText?
    let linkedAt: Timestamp

    init(_ columns: PackedColumns) throws(PostgresError) {
        var row = columns
        provider = try row.text()
        subject = try row.text()
        issuer = try row.optionalText()
        email = try row.optionalText()
        linkedAt = Timestamp(try row.timestamp())
    }

    static func of(_ scope: TableScope, tenant: String) -> SQL {
        """
        SELECT user_id, provider_id, subject, issuer, email, linked_at FROM linked_providers
        WHERE \(scope.condition(tenant: tenant))
        """
    }
}

struct AuditedMethodRow {
    let method: PackedText
    /// `nil` for a provider's credential.
    let proof: PackedText?
    let provenAt: Timestamp

    init(_ columns: PackedColumns) throws(PostgresError) {
        var row = columns
        method = try row.text()
        proof = try row.optionalText()
        provenAt = Timestamp(try row.timestamp())
    }

    static func of(_ scope: TableScope, tenant: String) -> SQL {
        """
        SELECT user_id, method, nullif(proof, \(UserRecord.Proof.providerCredential.rawValue)), proven_at
        FROM sign_in_methods
        WHERE \(scope.condition(tenant: tenant))
        """
    }
}

struct AuditedFactorRow {
    let number: PackedText?

    init(_ columns: PackedColumns) throws(PostgresError) {
        var row = columns
        number = try row.optionalText()
    }

    static func of(_ scope: TableScope, tenant: String) -> SQL {
        "SELECT user_id, number FROM second_factors WHERE \(scope.condition(tenant: tenant))"
    }
}

struct AuditedSessionRow {
    let epoch: Int64
    let signInProvider: PackedText
    let lastAuthTime: Timestamp

    init(_ columns: PackedColumns) throws(PostgresError) {
        var row = columns
        epoch = try row.int64()
        signInProvider = try row.text()
        lastAuthTime = Timestamp(try row.timestamp())
    }

    static func of(_ scope: TableScope, tenant: String) -> SQL {
        """
        SELECT user_id, session_epoch, sign_in_provider, auth_time FROM sessions
        WHERE \(scope.condition(tenant: tenant))
        """
    }
}

struct AuditedCodeRow {
    let kind: PackedText
    /// When it was made, unless it was used.
    let waitingSince: Timestamp?
    let expiresAt: Timestamp

    init(_ columns: PackedColumns) throws(PostgresError) {
        var row = columns
        kind = try row.text()
        waitingSince = try row.optionalTimestamp().map { Timestamp($0) }
        expiresAt = Timestamp(try row.timestamp())
    }

    static func of(_ scope: TableScope, tenant: String) -> SQL {
        """
        SELECT user_id, kind, CASE WHEN consumed_at IS NULL THEN created_at END, expires_at
        FROM one_time_codes WHERE \(scope.condition(tenant: tenant)) AND user_id IS NOT NULL
        """
    }
}

struct AuditedConflictRow {
    let kind: PackedText
    let provider: PackedText
    /// Whether it can still be settled.
    let isLive: Bool
    /// Whether it was settled by linking.
    let isResolved: Bool
    let openedAt: Timestamp
    let expiresAt: Timestamp

    init(_ columns: PackedColumns) throws(PostgresError) {
        var row = columns
        kind = try row.text()
        provider = try row.text()
        isLive = try row.bool()
        isResolved = try row.bool()
        openedAt = Timestamp(try row.timestamp())
        expiresAt = Timestamp(try row.timestamp())
    }

    static func of(_ scope: TableScope, tenant: String, at now: Timestamp) -> SQL {
        """
        SELECT user_id, kind, provider_id, state IN ('open', 'proven') AND expires_at > \(now.stored),
            state = 'resolved', opened_at, expires_at
        FROM conflicts WHERE \(scope.condition(tenant: tenant))
        """
    }
}

/// A row of `identifiers`, as those of accounts are read.
struct AuditedClaimRow {
    /// `nil` for a provider's identity, unless it is a stray one.
    private let otherKind: PackedText?
    let value: PackedText

    init(_ columns: PackedColumns) throws(PostgresError) {
        var row = columns
        otherKind = try row.optionalText()
        value = try row.text()
    }

    /// As `Identifier.kind`.
    var kind: String { otherKind?.string ?? Self.identityKind }

    func isOf(kind: String) -> Bool {
        guard let otherKind else { return kind == Self.identityKind }
        return otherKind == kind
    }

    private static let identityKind = "federated"

    /// The claims in some blocks of their table; those of some accounts cannot be found so. A reserved address is none: its
    /// account does not show it.
    static func of(_ scope: TableScope, tenant: String) -> SQL {
        """
        SELECT user_id, nullif(kind, \(identityKind)), value FROM identifiers
        WHERE \(scope.condition(tenant: tenant)) AND reserved_until IS NULL
        """
    }

    /// The claims whose account is not there, or does not plainly show what they are on: addresses in another spelling
    /// are among them. The next `limit` after a claim, in the order of users, kinds and keys; no user has an empty id. Reads
    /// whole tables each time.
    static func stray(
        tenant: String,
        of ids: [String]?,
        after place: (user: String, kind: String, value: String),
        limit: Int64
    ) -> SQL {
        """
        SELECT i.user_id, i.kind, i.value FROM identifiers AS i
        LEFT JOIN users AS u ON u.tenant_id = i.tenant_id AND u.user_id = i.user_id
        LEFT JOIN linked_providers AS l ON i.kind = 'federated' AND l.tenant_id = i.tenant_id
            AND l.user_id = i.user_id AND l.provider_id = split_part(i.value, E'\\x1F', 1)
        WHERE i.tenant_id = \(tenant) AND i.reserved_until IS NULL AND (\(ids == nil) OR i.user_id = ANY(\(ids ?? [])))
            AND (i.user_id, i.kind, i.value) > (\(place.user), \(place.kind), \(place.value)) AND CASE i.kind
            WHEN 'email' THEN lower(u.email COLLATE "C") IS DISTINCT FROM i.value
            WHEN 'phone' THEN u.phone_number IS DISTINCT FROM i.value
            ELSE l.provider_id || E'\\x1F' || l.subject IS DISTINCT FROM i.value END
        ORDER BY i.user_id, i.kind, i.value LIMIT \(limit)
        """
    }
}

/// Who has a claim.
struct OwnedClaimRow: RowDecodable {
    let value: String
    let user: String

    init(row: inout RowDecoder) throws(PostgresError) {
        value = try row.next()
        user = try row.next()
    }

    /// The claims on `values` of a kind, whoever has them; one by one, as `IdentifierRow.owned`.
    static func on(_ values: [String], kind: String, tenant: String) -> Query<OwnedClaimRow> {
        """
        SELECT owned.value, owned.user_id FROM unnest(\(values)) AS wanted (value) JOIN LATERAL (
            SELECT identifiers.value, identifiers.user_id FROM identifiers
            WHERE tenant_id = \(tenant) AND kind = \(kind) AND identifiers.value = wanted.value
                AND identifiers.reserved_until IS NULL OFFSET 0
        ) AS owned ON true
        """
    }
}
