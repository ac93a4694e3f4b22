package import AccountLinking
import Postgres

/// One row of `users`, joined with the password's time, a linked provider, a sign-in method and a second factor. A user
/// has a row for each combination of these, at least one. `records` groups the rows of a user.
///
/// Arrays would avoid the repetition, but twelve aggregates cost the server a third of a lookup.
struct UserRow: RowDecodable {
    fileprivate let record: UserRecord
    /// The slot of the second factor, if there is one.
    fileprivate let slot: Int32?
    fileprivate let origin: UserOrigin

    private static let ids: [Column<UserRecord>] = [
        Column("tenant_id", { $0.tenant }, { $0.tenant = $1 }),
        Column("user_id", { $0.id }, { $0.id = $1 }),
    ]

    private static let version = Column<UserRecord>("version", { $0.version }, { $0.version = $1 })

    private static let profile: [Column<UserRecord>] = ProfileField.allCases.map { field in
        let path = field.path
        return Column(field.column, { $0.profile[keyPath: path] }, { $0.profile[keyPath: path] = $1 })
    }

    /// The columns that every write of an account sets.
    private static let content: [Column<UserRecord>] =
        [
            Column("session_epoch", { $0.sessionEpoch }, { $0.sessionEpoch = $1 }),
            Column("email", { $0.email?.address }, { $0.email = $1.map { AccountEmail(address: $0, proof: nil) } }),
            Column("email_proof", { $0.email?.proof }, { $0.email?.proof = $1 }),
            Column("email_proven_at", { $0.emailProvenAt }, { $0.emailProvenAt = $1 }),
            Column("initial_email", { $0.initialEmail }, { $0.initialEmail = $1 }),
            Column("phone_number", { $0.phoneNumber }, { $0.phoneNumber = $1 }),
            Column("unproven_phone_number", { $0.unprovenPhoneNumber }, { $0.unprovenPhoneNumber = $1 }),
        ] + profile + [
            Column("disabled", { $0.isDisabled }, { $0.isDisabled = $1 }),
            Column("uses_custom_tokens", { $0.usesCustomTokens }, { $0.usesCustomTokens = $1 }),
            Column("custom_attributes", { $0.customAttributes }, { $0.customAttributes = $1 }),
            Column("valid_since", { $0.validSince }, { $0.validSince = $1 }),
            Column("created_at", { $0.createdAt }, { $0.createdAt = $1 }),
        ]

    /// The times that `ActivityBuffer` writes later, and an insert at once.
    private static let times: [Column<UserRecord>] = [
        Column("last_login_at", { $0.lastLoginAt }, { $0.lastLoginAt = $1 }),
        Column("last_refresh_at", { $0.lastRefreshAt }, { $0.lastRefreshAt = $1 }),
    ]

    private static let sessionEnd = Column<UserRecord>(
        "session_ended_at",
        { $0.sessionEndedAt },
        { $0.sessionEndedAt = $1 }
    )

    /// All columns of `users`, in the order in which they are read.
    private static let all = ids + [version] + content + times + [sessionEnd]
    private static let columns = Columns(of: "users", all)
    private static let inserted = Columns(of: "users", ids + [version] + content + times)
    private static let updated = Columns(of: "users", content + [sessionEnd])
    /// The columns of a statement about many accounts of one tenant.
    private static let unnested = Columns(of: "users", ids.dropFirst() + [version] + content + times)

    /// The names of all columns, in their order.
    static var columnNames: [StaticString] { all.map(\.name) }

    private static let select: SQL = """
        SELECT \(columns.qualifiedNames),
            password_credentials.updated_at,
            \(LinkedProviderRow.names),
            \(SignInMethodRow.names),
            \(SecondFactorRow.names),
            \(UserOrigin.columns)

        """

    /// `OFFSET 0` keeps each subquery, so that PostgreSQL looks up each user's rows by key. The planner would hash
    /// plain joins if it expects many users, as it does for a page whose limit is a parameter.
    ///
    /// - `key`: the condition that names the users again, begins with ` AND `. Citus needs it in each subquery to find
    ///   the shard: it does not derive it from the join.
    private static func joins(and key: SQL) -> SQL {
        """
        LEFT JOIN LATERAL (
            SELECT * FROM password_credentials AS own
            WHERE own.tenant_id = users.tenant_id AND own.user_id = users.user_id\(key) OFFSET 0
        ) AS password_credentials ON true
        LEFT JOIN LATERAL (
            SELECT * FROM linked_providers AS own
            WHERE own.tenant_id = users.tenant_id AND own.user_id = users.user_id\(key) OFFSET 0
        ) AS linked_providers ON true
        LEFT JOIN LATERAL (
            SELECT * FROM sign_in_methods AS own
            WHERE own.tenant_id = users.tenant_id AND own.user_id = users.user_id\(key) OFFSET 0
        ) AS sign_in_methods ON true
        LEFT JOIN LATERAL (
            SELECT * FROM second_factors AS own
            WHERE own.tenant_id = users.tenant_id AND own.user_id = users.user_id\(key) OFFSET 0
        ) AS second_factors ON true

        """
    }

    private static let joins = joins(and: "").asOnePiece

    static func withID(_ id: UserID, tenant: TenantID) -> Query<UserRow> {
        Query(
            """
            \(select) FROM \(table: "users") \(joins)
            WHERE users.tenant_id = \(tenant) AND users.user_id = \(id)
            """,
            onCitus: withIDOnCitus(id, tenant: tenant)
        )
    }

    private static func withIDOnCitus(_ id: UserID, tenant: TenantID) -> SQL {
        """
        \(select) FROM \(table: "users") \(joins(and: " AND own.user_id = \(id)"))
        WHERE users.tenant_id = \(tenant) AND users.user_id = \(id)
        """
    }

    /// The address of the account, as it is spelled there; NULL if it has none.
    static func address(of id: UserID, tenant: TenantID) -> Query<String?> {
        "SELECT email FROM \(table: "users") WHERE tenant_id = \(tenant) AND user_id = \(id)"
    }

    /// Like `withID`, as a lookup: one statement answers many callers at once.
    static func lookup(_ id: UserID, tenant: TenantID) -> Query<UserRow> {
        Query(keyColumn: 1, anyOf([id], tenant: tenant), onCitus: withIDOnCitus(id, tenant: tenant))
    }

    private static func anyOf(_ ids: [UserID], tenant: TenantID) -> SQL {
        """
        \(select) FROM \(table: "users") \(joins)
        WHERE users.tenant_id = \(tenant) AND users.user_id = ANY(\(ids))
        """
    }

    /// The same on Citus: asks only the shards of `ids`.
    private static func anyOfOnCitus(_ ids: [UserID], tenant: TenantID) -> SQL {
        """
        \(select) FROM \(table: "users") \(joins(and: " AND own.user_id = ANY(\(ids))"))
        WHERE users.tenant_id = \(tenant) AND users.user_id = ANY(\(ids))
        """
    }

    /// Users in no particular order. An unknown id has no row.
    static func withIDs(_ ids: [UserID], tenant: TenantID) -> Query<UserRow> {
        Query(anyOf(ids, tenant: tenant), onCitus: anyOfOnCitus(ids, tenant: tenant))
    }

    /// Like `withIDs`, for 1,000 ids. Looks up each id by key, because PostgreSQL may run `= ANY` as a scan of all
    /// users.
    static func withManyIDs(_ ids: [UserID], tenant: TenantID) -> Query<UserRow> {
        Query(
            """
            \(select) FROM unnest(\(ids)) AS wanted (user_id) JOIN LATERAL (
                SELECT own.tableoid, own.* FROM \(table: "users") AS own
                WHERE own.tenant_id = \(tenant) AND own.user_id = wanted.user_id OFFSET 0
            ) AS users ON true \(joins)
            """,
            onCitus: anyOfOnCitus(ids, tenant: tenant)
        )
    }

    init(row: inout RowDecoder) throws(PostgresError) {
        var record = UserRecord(
            tenant: .project,
            id: .nobody,
            sessionEpoch: 0,
            createdAt: Timestamp(secondsSinceEpoch: 0)
        )
        try Self.columns.read(&row, into: &record)
        record.passwordUpdatedAt = try row.next()
        try record.readLinkedProvider(&row)
        try record.readMethodProof(&row)
        slot = try record.readSecondFactor(&row)
        self.record = record
        origin = try UserOrigin(&row)
    }
}

extension [UserRow] {
    /// The users, in the order of their first rows.
    var records: [UserRecord] {
        guard count > 1 else { return map(\.record) }
        var records: [UserRecord] = []
        var places: [UserID: Int] = [:]
        var factors: [UserID: [Int32: SecondFactor]] = [:]
        for row in self {
            if let slot = row.slot { factors[row.record.id, default: [:]][slot] = row.record.secondFactors.first }
            guard let place = places[row.record.id] else {
                places[row.record.id] = records.count
                records.append(row.record)
                continue
            }
            records[place].linkedProviders.merge(row.record.linkedProviders) { first, _ in first }
            records[place].methodProofs.merge(row.record.methodProofs) { first, _ in first }
        }
        for (id, factors) in factors {
            guard let place = places[id] else { continue }
            records[place].secondFactors = factors.sorted { $0.key < $1.key }.map(\.value)
        }
        return records
    }
}

/// The source of a cached user: the start time of the PostgreSQL server and the OID of its table. After a failover the
/// start time differs. After a restore of the table, also into another database, the OID differs.
struct UserOrigin: Hashable, Sendable {
    private let serverStart: PostgresTimestamp
    private let table: Int64

    static let columns: SQL = "pg_postmaster_start_time(), users.tableoid::bigint"

    init(_ row: inout RowDecoder) throws(PostgresError) {
        serverStart = try row.next()
        table = try row.next()
    }

    init(serverStart: PostgresTimestamp, table: Int64) {
        self.serverStart = serverStart
        self.table = table
    }
}

/// A user as it was read, with its source. A class, so that the cache shares it without a copy.
final class CachedUser: Sendable {
    let record: UserRecord
    let origin: UserOrigin

    init(record: UserRecord, origin: UserOrigin) {
        self.record = record
        self.origin = origin
    }
}

extension [UserRow] {
    /// The only user.
    var known: CachedUser? {
        guard let row = first, let record = records.first else { return nil }
        return CachedUser(record: record, origin: row.origin)
    }
}

/// The version of a user, to validate a cached one, and the times that `ActivityBuffer` writes later.
///
/// Every change of a user or of its dependent rows raises the version in the same transaction. A new account under a
/// deleted account's id has another epoch. After a failover or a restore, PostgreSQL may assign a version again to
/// another change. Then `UserOrigin` differs.
struct UserVersionRow: RowDecodable {
    private let version: Int64
    private let sessionEpoch: Int64
    private let lastLoginAt: Timestamp?
    private let lastRefreshAt: Timestamp?
    private let origin: UserOrigin

    static func lookup(_ id: UserID, tenant: TenantID) -> Query<UserVersionRow> {
        Query(
            keyColumn: 0,
            """
            SELECT user_id, version, session_epoch, last_login_at, last_refresh_at, \(UserOrigin.columns) \
            FROM \(table: "users")
            WHERE tenant_id = \(tenant) AND user_id = ANY(\([id.rawValue]))
            """
        )
    }

    init(row: inout RowDecoder) throws(PostgresError) {
        _ = try row.next(String.self)
        version = try row.next()
        sessionEpoch = try row.next()
        lastLoginAt = try row.next()
        lastRefreshAt = try row.next()
        origin = try UserOrigin(&row)
    }

    /// The cached user `known` with current times; `nil` if it must be read again.
    func updating(_ known: CachedUser) -> UserRecord? {
        var user = known.record
        guard user.version == version, user.sessionEpoch == sessionEpoch, known.origin == origin else {
            return nil
        }
        user.lastLoginAt = lastLoginAt
        user.lastRefreshAt = lastRefreshAt
        return user
    }
}

extension UserRow {
    static func insert(_ record: UserRecord) -> SQL {
        inserted.insert(record, isShared: true)
    }

    /// Replaces the row by `record` and raises the version.
    ///
    /// Raises 23502 if the row has another version or epoch. If the row was deleted, the statement changes nothing and
    /// raises nothing: `assertRaised` must follow.
    ///
    /// - `epoch`: the epoch that was read. A new account under the same id may repeat a version, but begins with a
    ///   random epoch.
    static func update(_ record: UserRecord, epoch: Int64) -> SQL {
        """
        UPDATE users SET
            \(SQL.guardVersion(record.version, and: "session_epoch = \(epoch)")),
            \(updated, from: record)
        WHERE tenant_id = \(record.tenant) AND user_id = \(record.id)
        """
    }

    /// Raises 22012 (division by zero) unless the user exists and holds `version`.
    static func assertVersion(_ version: Int64, of id: UserID, tenant: TenantID) -> SQL {
        """
        SELECT \(SQL.assertExists) FROM users
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND version = \(version)
        """
    }

    /// Raises 22012 (division by zero) unless `update` or `lock` raised the version of `record`. A new account under
    /// the same id has another epoch, and does not count.
    static func assertRaised(_ record: UserRecord) -> SQL {
        """
        SELECT \(SQL.assertExists) FROM users
        WHERE tenant_id = \(record.tenant) AND user_id = \(record.id)
            AND version = \(record.version + 1) AND session_epoch = \(record.sessionEpoch)
        """
    }

    /// Raises 22012 (division by zero) unless the row is as it was read. Locks the row against changes until the
    /// transaction ends.
    static func assertUnchanged(_ record: UserRecord) -> SQL {
        """
        SELECT \(SQL.assertExists) FROM (
            SELECT 1 FROM users
            WHERE tenant_id = \(record.tenant) AND user_id = \(record.id)
                AND version = \(record.version) AND session_epoch = \(record.sessionEpoch)
            FOR SHARE
        ) AS unchanged
        """
    }

    /// Locks the row of a user for this transaction.
    static func hold(_ id: String, tenant: TenantID) -> SQL {
        """
        SELECT 1 FROM \(table: "users") WHERE tenant_id = \(tenant) AND user_id = \(id) FOR UPDATE
        """
    }

    /// Locks the rows of several users for this transaction, one by one in the order of their ids, so that two
    /// transactions do not deadlock.
    static func hold(_ ids: [String], tenant: TenantID) -> [SQL] {
        ids.inOrderOfIDs.map { hold($0, tenant: tenant) }
    }

    /// Locks the row for this transaction by raising its version. Raises 23502 if the row has another version or epoch.
    /// `assertRaised` must follow, as after `update`.
    static func lock(_ user: UserRecord) -> SQL {
        """
        UPDATE users SET \(SQL.guardVersion(user.version, and: "session_epoch = \(user.sessionEpoch)"))
        WHERE tenant_id = \(user.tenant) AND user_id = \(user.id)
        """
    }

    /// Deletes the user and its dependent rows. Claims are deleted separately. Only after `lock`.
    static func delete(_ id: UserID, tenant: TenantID) -> SQL {
        "DELETE FROM users WHERE tenant_id = \(tenant) AND user_id = \(id)"
    }

    /// Writes many sign-in and refresh times in one statement. Times never move backwards. Skips deleted users, and new
    /// accounts under their ids.
    ///
    /// - `epochs`: the epochs at the time of use. Skips a user whose epoch rose by more than
    ///   `ActivityBuffer.epochRiseMax`.
    static func touch(
        tenants: [String],
        ids: [String],
        epochs: [Int64],
        signedInAt: [PostgresTimestamp?],
        refreshedAt: [PostgresTimestamp]
    ) -> SQL {
        """
        UPDATE users SET
            last_login_at = greatest(users.last_login_at, touched.signed_in_at),
            last_refresh_at = greatest(users.last_refresh_at, touched.refreshed_at)
        FROM unnest(\(tenants), \(ids), \(epochs), \(signedInAt), \(refreshedAt))
            AS touched (tenant_id, user_id, session_epoch, signed_in_at, refreshed_at)
        WHERE users.tenant_id = touched.tenant_id AND users.user_id = touched.user_id
            AND users.session_epoch - touched.session_epoch BETWEEN 0 AND \(ActivityBuffer.epochRiseMax)
        """
    }
}

extension UserRow {
    /// Like `insert`, for many users.
    static func insertMany(_ records: [UserRecord], tenant: TenantID) -> SQL {
        inserted.insertMany(records, tenant: tenant)
    }

    /// Like `update`, for many users. Also sets the time of the last sign-in if it is later. `assertAllRaised` must
    /// follow.
    ///
    /// - `epochs`: the epochs that were read, in the order of `records`.
    static func updateMany(_ records: [UserRecord], epochs: [Int64], tenant: TenantID) -> SQL {
        """
        UPDATE users SET
            version = CASE WHEN users.version = new.version AND users.session_epoch = new.epoch_before
                THEN users.version + 1 END,
            \(replaced),
            last_login_at = greatest(users.last_login_at, new.last_login_at)
        FROM unnest(\(unnested.arrays(records)), \(epochs)) AS new (\(unnested.names), epoch_before)
        WHERE users.tenant_id = \(tenant) AND users.user_id = new.user_id
        """
    }

    /// Like `assertRaised`, for many users.
    static func assertAllRaised(_ records: [UserRecord], tenant: TenantID) -> SQL {
        """
        SELECT 1 / (count(*) = \(Int64(records.count)))::integer
        FROM users JOIN unnest(\(records.map(\.id)), \(records.map(\.version)), \(records.map(\.sessionEpoch)))
            AS old (user_id, version, session_epoch)
            ON users.user_id = old.user_id AND users.version = old.version + 1
                AND users.session_epoch = old.session_epoch
        WHERE users.tenant_id = \(tenant)
        """
    }

    private static let replaced = Columns(of: "users", content).assignments(from: "new")
}

extension UserRow {
    /// Users after `id`, in the order of their ids.
    static func after(_ id: UserID?, limit: Int64, tenant: TenantID) -> Query<UserRow> {
        // Every id is after the empty text, because no id is empty.
        let place = id?.rawValue ?? ""
        return Query(
            """
            \(select) FROM (
                SELECT tableoid, * FROM \(table: "users") WHERE tenant_id = \(tenant) AND user_id > \(place)
                ORDER BY user_id LIMIT \(limit)
            ) AS users \(joins)
            ORDER BY users.user_id
            """,
            // Citus finds the page first, then joins within each shard.
            onCitus: """
                \(select) FROM \(table: "users") \(joins)
                WHERE users.tenant_id = \(tenant) AND users.user_id IN (
                    SELECT user_id FROM users WHERE tenant_id = \(tenant) AND user_id > \(place)
                    ORDER BY user_id LIMIT \(limit)
                )
                ORDER BY users.user_id
                """
        )
    }

    /// The ids of a page of all users. An index has them in order for `UserOrder.isIndexed`; otherwise PostgreSQL sorts
    /// all users.
    static func idPage(
        by order: UserOrder,
        limit: Int64,
        offset: Int64,
        tenant: TenantID
    ) -> Query<SingleValueRow<UserID>> {
        """
        SELECT user_id FROM \(table: "users") WHERE \(order.key == .createdAt ? byCreation : "tenant_id") = \(tenant)
        ORDER BY \(order.clause) LIMIT \(limit) OFFSET \(offset)
        """
    }

    /// The tenant, as the index `users_by_creation` begins. No other statement says so, so no lookup uses that index.
    private static let byCreation: SQL = "tenant_id || ''"

    /// The number of users, at most `countMax`. Users of one time lie near each other, so PostgreSQL reads few pages to
    /// see which are deleted.
    static func count(upTo countMax: Int64, tenant: TenantID) -> Query<Int64?> {
        """
        SELECT count(*) FROM (
            SELECT 1 FROM \(table: "users") WHERE \(byCreation) = \(tenant)
            ORDER BY created_at, user_id LIMIT \(countMax)
        ) AS counted
        """
    }

    /// Deletes every account of the tenant, with one event each. Crosses users, which a distributed database would not
    /// do.
    ///
    /// An event's id begins with its time, so that the event lies in its month, and ends with a hash of the user's id.
    /// Citus refuses `gen_random_uuid()` in a write.
    static func deleteAll(tenant: TenantID, at now: Timestamp) -> SQL {
        """
        WITH deleted AS (DELETE FROM users WHERE tenant_id = \(tenant) RETURNING tenant_id, user_id)
        INSERT INTO account_events (tenant_id, user_id, event_id, occurred_at, kind, rule)
        SELECT tenant_id, user_id,
            (left(\(AccountEvent.ID(firstAt: now))::text, 14) || '7' || substr(md5(user_id), 1, 3)
                || '8' || substr(md5(user_id), 4, 15))::uuid,
            \(now), \(AccountEvent.Kind.userDeleted), \(Rule.accountDeleted)
        FROM deleted
        """
    }

    /// Sets the time of the last sign-in, also to an earlier one.
    static func setLastLogin(_ instant: Timestamp, of id: UserID, tenant: TenantID) -> SQL {
        """
        UPDATE users SET last_login_at = \(instant)
        WHERE tenant_id = \(tenant) AND user_id = \(id)
        """
    }
}

extension AccountWrite.SideWrite {
    /// Sets the time of the last sign-in at once. Otherwise `ActivityBuffer` writes it later.
    package static func lastLogin(_ instant: Timestamp, of id: UserID, tenant: TenantID) -> Self {
        Self([UserRow.setLastLogin(instant, of: id, tenant: tenant)])
    }

    /// Undoes the whole write if the account is not as it was read. For writes that do not change the account itself.
    ///
    /// Ending the sessions raises the version. If it commits before this write, the write is undone. Otherwise it also
    /// ends what this write added.
    package static func requireUnchanged(_ user: UserRecord) -> Self {
        Self([UserRow.assertUnchanged(user)])
    }
}

extension UserOrder {
    /// True if an index has all accounts in this order, so that a page costs the same at every number of accounts.
    package var isIndexed: Bool {
        switch key {
        case .id, .createdAt: true
        case .displayName, .lastLoginAt, .email: false
        }
    }

    fileprivate var clause: SQL {
        switch (key, isDescending) {
        case (.id, false): "user_id"
        case (.id, true): "user_id DESC"
        case (.displayName, false): "display_name, user_id"
        case (.displayName, true): "display_name DESC NULLS LAST, user_id"
        case (.createdAt, false): "created_at, user_id"
        case (.createdAt, true): "created_at DESC, user_id DESC"
        case (.lastLoginAt, false): "last_login_at, user_id"
        case (.lastLoginAt, true): "last_login_at DESC NULLS LAST, user_id"
        case (.email, false): "email, user_id"
        case (.email, true): "email DESC NULLS LAST, user_id"
        }
    }
}
