import AccountLinking
import Postgres

// What an audit reads: the same columns of many accounts at once, table by table. Values come as they are stored, because
// one that cannot be read is a finding and not an error.

/// Which rows of a table a statement is about, within a tenant.
enum AuditScope: Sendable {
    /// Those that lie in these blocks of the table's file, to its end where there is no last one.
    case blocks(Int64, before: Int64?)
    /// Those of some accounts.
    case ids([String])

    /// A condition on a table with a `user_id`.
    fileprivate var condition: SQL {
        switch self {
        case .blocks(let first, nil): "ctid >= \(Self.place(first))::tid"
        case .blocks(let first, let end?): "ctid >= \(Self.place(first))::tid AND ctid < \(Self.place(end))::tid"
        case .ids(let ids): "user_id = ANY(\(ids))"
        }
    }

    /// Before the first row of a block.
    private static func place(_ block: Int64) -> String { "(\(block),0)" }
}

/// One row of `users`, as far as audits look at it.
struct AuditedUserRow: RowDecodable {
    let id: String
    let version: Int64
    let sessionEpoch: Int64
    let email: String?
    let emailProof: String?
    let emailProvenAt: Timestamp?
    let hasInitialEmail: Bool
    let phoneNumber: String?
    let unprovenPhoneNumber: String?
    let isDisabled: Bool
    let usesCustomTokens: Bool
    let validSince: Timestamp
    let createdAt: Timestamp
    let lastLoginAt: Timestamp?

    init(row: inout RowDecoder) throws(PostgresError) {
        id = try row.next()
        version = try row.next()
        sessionEpoch = try row.next()
        email = try row.next()
        emailProof = try row.next()
        emailProvenAt = try row.optionalTimestamp()
        hasInitialEmail = try row.next()
        phoneNumber = try row.next()
        unprovenPhoneNumber = try row.next()
        isDisabled = try row.next()
        usesCustomTokens = try row.next()
        validSince = try row.timestamp()
        createdAt = try row.timestamp()
        lastLoginAt = try row.optionalTimestamp()
    }

    private static let select: SQL = """
        SELECT user_id, version, session_epoch, email, email_proof, email_proven_at, initial_email IS NOT NULL,
            phone_number, unproven_phone_number, disabled, uses_custom_tokens, valid_since, created_at, last_login_at
        FROM users
        """

    static func of(_ scope: AuditScope, tenant: String) -> Query<AuditedUserRow> {
        "\(select) WHERE tenant_id = \(tenant) AND \(scope.condition)"
    }

    /// The ids in so many of a hundred blocks of the table, taken at random.
    static func sample(percent: Double, tenant: String) -> Query<String?> {
        "SELECT user_id FROM users TABLESAMPLE SYSTEM (\(percent)::real) WHERE tenant_id = \(tenant)"
    }

    /// The next after an id, in the order of ids, of those that something happened to since `since`: they signed in, or an
    /// event of theirs was written.
    static func changed(
        since: Timestamp,
        after id: String,
        limit: Int64,
        tenant: String
    ) -> Query<AuditedUserRow> {
        """
        \(select) WHERE tenant_id = \(tenant) AND user_id > \(id)
            AND (last_login_at >= \(since.stored) OR created_at >= \(since.stored) OR EXISTS (
                SELECT FROM account_events
                WHERE account_events.tenant_id = users.tenant_id AND account_events.user_id = users.user_id
                    AND account_events.occurred_at >= \(since.stored)))
        ORDER BY user_id LIMIT \(limit)
        """
    }

    static func withIDs(_ ids: [String], tenant: String) -> Query<AuditedUserRow> {
        "\(of(.ids(ids), tenant: tenant).sql) ORDER BY user_id"
    }

    /// The tenants that have users or claims, in order.
    static let tenants: Query<String?> = """
        SELECT tenant_id FROM users UNION SELECT tenant_id FROM identifiers ORDER BY tenant_id
        """
}

struct AuditedPasswordRow: RowDecodable {
    let user: String
    let updatedAt: Timestamp
    /// As far as it says how the hash was made.
    let scheme: String

    init(row: inout RowDecoder) throws(PostgresError) {
        user = try row.next()
        updatedAt = try row.timestamp()
        scheme = try row.next()
    }

    static func of(_ scope: AuditScope, tenant: String) -> Query<AuditedPasswordRow> {
        """
        SELECT user_id, updated_at, left(hash, 48) FROM password_credentials
        WHERE tenant_id = \(tenant) AND \(scope.condition)
        """
    }
}

struct AuditedProviderRow: RowDecodable {
    let user: String
    let provider: String
    let subject: String
    let issuer: String?
    let email: String?
    let linkedAt: Timestamp

    init(row: inout RowDecoder) throws(PostgresError) {
        user = try row.next()
        provider = try row.next()
        subject = try row.next()
        issuer = try row.next()
        email = try row.next()
        linkedAt = try row.timestamp()
    }

    static func of(_ scope: AuditScope, tenant: String) -> Query<AuditedProviderRow> {
        """
        SELECT user_id, provider_id, subject, issuer, email, linked_at FROM linked_providers
        WHERE tenant_id = \(tenant) AND \(scope.condition)
        """
    }
}

struct AuditedMethodRow: RowDecodable {
    let user: String
    let method: String
    let proof: String
    let provenAt: Timestamp

    init(row: inout RowDecoder) throws(PostgresError) {
        user = try row.next()
        method = try row.next()
        proof = try row.next()
        provenAt = try row.timestamp()
    }

    static func of(_ scope: AuditScope, tenant: String) -> Query<AuditedMethodRow> {
        """
        SELECT user_id, method, proof, proven_at FROM sign_in_methods
        WHERE tenant_id = \(tenant) AND \(scope.condition)
        """
    }
}

struct AuditedFactorRow: RowDecodable {
    let user: String
    let number: String?

    init(row: inout RowDecoder) throws(PostgresError) {
        user = try row.next()
        number = try row.next()
    }

    static func of(_ scope: AuditScope, tenant: String) -> Query<AuditedFactorRow> {
        "SELECT user_id, number FROM second_factors WHERE tenant_id = \(tenant) AND \(scope.condition)"
    }
}

/// One session, as those of one epoch that were begun in one way.
struct AuditedSessionsRow: RowDecodable {
    let user: String
    let sessions: AccountSnapshot.Sessions

    init(row: inout RowDecoder) throws(PostgresError) {
        user = try row.next()
        sessions = AccountSnapshot.Sessions(
            epoch: try row.next(),
            signInProvider: try row.next(),
            count: try row.next(),
            lastAuthTime: try row.timestamp()
        )
    }

    static func of(_ scope: AuditScope, tenant: String) -> Query<AuditedSessionsRow> {
        """
        SELECT user_id, session_epoch, sign_in_provider, 1::bigint, auth_time FROM sessions
        WHERE tenant_id = \(tenant) AND \(scope.condition)
        """
    }
}

/// One code, as those of its kind.
struct AuditedCodesRow: RowDecodable {
    let user: String
    let kind: String
    let count: Int64
    let waitingSince: Timestamp?
    let firstExpiry: Timestamp

    init(row: inout RowDecoder) throws(PostgresError) {
        user = try row.next()
        kind = try row.next()
        count = try row.next()
        waitingSince = try row.optionalTimestamp()
        firstExpiry = try row.timestamp()
    }

    static func of(_ scope: AuditScope, tenant: String) -> Query<AuditedCodesRow> {
        """
        SELECT user_id, kind, 1::bigint, CASE WHEN consumed_at IS NULL THEN created_at END, expires_at
        FROM one_time_codes WHERE tenant_id = \(tenant) AND user_id IS NOT NULL AND \(scope.condition)
        """
    }
}

/// One conflict, as those of its kind about its provider.
struct AuditedConflictsRow: RowDecodable {
    let user: String
    let kind: String
    let provider: String
    let count: Int64
    let liveCount: Int64
    let lastOpenedAt: Timestamp
    let firstExpiry: Timestamp

    init(row: inout RowDecoder) throws(PostgresError) {
        user = try row.next()
        kind = try row.next()
        provider = try row.next()
        count = try row.next()
        liveCount = try row.next()
        lastOpenedAt = try row.timestamp()
        firstExpiry = try row.timestamp()
    }

    static func of(_ scope: AuditScope, tenant: String, at now: Timestamp) -> Query<AuditedConflictsRow> {
        """
        SELECT user_id, kind, provider_id, 1::bigint,
            (state IN ('open', 'proven') AND expires_at > \(now.stored))::integer::bigint, opened_at, expires_at
        FROM conflicts WHERE tenant_id = \(tenant) AND \(scope.condition)
        """
    }
}

/// A row of `identifiers`.
struct AuditedClaimRow: RowDecodable {
    let kind: String
    let value: String
    let user: String

    init(row: inout RowDecoder) throws(PostgresError) {
        kind = try row.next()
        value = try row.next()
        user = try row.next()
    }

    /// The claims in some blocks of their table; those of some accounts cannot be found so.
    static func of(_ scope: AuditScope, tenant: String) -> Query<AuditedClaimRow> {
        "SELECT kind, value, user_id FROM identifiers WHERE tenant_id = \(tenant) AND \(scope.condition)"
    }

    /// The claims on `values` of a kind, whoever has them; one by one, as `IdentifierRow.owned`.
    static func on(_ values: [String], kind: String, tenant: String) -> Query<AuditedClaimRow> {
        """
        SELECT owned.kind, owned.value, owned.user_id FROM unnest(\(values)) AS wanted (value) JOIN LATERAL (
            SELECT identifiers.kind, identifiers.value, identifiers.user_id FROM identifiers
            WHERE tenant_id = \(tenant) AND kind = \(kind) AND identifiers.value = wanted.value OFFSET 0
        ) AS owned ON true
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
    ) -> Query<AuditedClaimRow> {
        """
        SELECT i.kind, i.value, i.user_id FROM identifiers AS i
        LEFT JOIN users AS u ON u.tenant_id = i.tenant_id AND u.user_id = i.user_id
        LEFT JOIN linked_providers AS l ON i.kind = 'federated' AND l.tenant_id = i.tenant_id
            AND l.user_id = i.user_id AND l.provider_id = split_part(i.value, E'\\x1F', 1)
        WHERE i.tenant_id = \(tenant) AND (\(ids == nil) OR i.user_id = ANY(\(ids ?? [])))
            AND (i.user_id, i.kind, i.value) > (\(place.user), \(place.kind), \(place.value)) AND CASE i.kind
            WHEN 'email' THEN lower(u.email COLLATE "C") IS DISTINCT FROM i.value
            WHEN 'phone' THEN u.phone_number IS DISTINCT FROM i.value
            ELSE l.provider_id || E'\\x1F' || l.subject IS DISTINCT FROM i.value END
        ORDER BY i.user_id, i.kind, i.value LIMIT \(limit)
        """
    }
}

/// The transactions of an audit, which can write nothing.
enum AuditTransaction {
    /// About how many accounts there are, without counting them; negative where nobody has looked yet.
    static let userEstimate: Query<Int64?> = "SELECT reltuples::bigint FROM pg_class WHERE oid = 'users'::regclass"
    /// How many blocks the tables have that audits read, in the order of `names`.
    static func blockCounts(_ names: [String]) -> Query<Int64?> {
        """
        SELECT pg_relation_size(table_name::regclass) / current_setting('block_size')::bigint
        FROM unnest(\(names)) WITH ORDINALITY AS audited (table_name, place) ORDER BY place
        """
    }

    static let begin: SQL = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    static let end: SQL = "COMMIT"
    static let exportSnapshot: Query<String?> = "SELECT pg_export_snapshot()"
    /// Whatever the statistics say of tables that were just filled (ADR 0031).
    static let goByIndexes: SQL = "SET LOCAL enable_seqscan = off"
    static let goByStatistics: SQL = "SET LOCAL enable_seqscan = on"

    /// Joins a transaction that is still open.
    /// - Throws: `.misuse` for what is no name of a snapshot.
    static func adopt(_ snapshot: String) throws(PostgresError) -> String {
        guard snapshot.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x46).contains($0) || $0 == 0x2D })
        else {
            throw PostgresError(.misuse, "not the name of a snapshot")
        }
        return "SET TRANSACTION SNAPSHOT '\(snapshot)'"
    }
}
