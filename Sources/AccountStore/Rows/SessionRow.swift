package import AccountLinking
package import JSON
import Postgres

/// A session: the server side of one refresh token. It ends when the user's epoch is raised, or when its row is
/// deleted. Only the time of its last use ever changes.
package struct SessionRecord: Sendable, Hashable {
    package var tenant: TenantID
    package var user: UserID
    /// 16 random bytes.
    package var id: [UInt8]
    /// SHA-256 of the refresh token's secret.
    package var secretHash: [UInt8]
    /// The user's epoch that the sign-in decision saw.
    package var epoch: Int64
    /// The time of the sign-in that started the session, at the provider if one was used. A refresh does not change it.
    package var authTime: Timestamp
    /// When the session began, if the sign-in was earlier.
    package var startedAt: Timestamp?
    /// `SessionTimes.startedAt`, if the session continues an earlier one.
    package var lifetimeStart: Timestamp?
    /// Written later, and up to a day too early; `nil` until the first refresh that counts.
    package var lastUsedAt: Timestamp?
    /// `User-Agent` of the sign-in. Only lists read it.
    package var device: String?
    /// `sign_in_provider` of the tokens: `password`, `anonymous`, `custom`, `phone` or a provider id.
    package var signInProvider: String
    package var secondFactor: SecondFactor?
    /// Claims that belong to the session and override the account's own.
    package var claims: JSONValue?
    /// OIDC claims or SAML attributes of this sign-in.
    package var signInAttributes: JSONValue?

    /// When the session began.
    package var start: Timestamp { startedAt ?? authTime }

    /// The times that the project's lifetimes are compared with.
    package var times: SessionTimes {
        SessionTimes(startedAt: lifetimeStart ?? start, lastUsedAt: lastUsedAt ?? start)
    }

    /// The factor that was proven in this session.
    package struct SecondFactor: Sendable, Hashable {
        /// `phone` or `totp`.
        package var kind: String
        package var enrollmentID: String

        package init(kind: String, enrollmentID: String) {
            self.kind = kind
            self.enrollmentID = enrollmentID
        }
    }

    package init(
        tenant: TenantID,
        user: UserID,
        id: [UInt8],
        secretHash: [UInt8],
        epoch: Int64,
        authTime: Timestamp,
        startedAt: Timestamp? = nil,
        signInProvider: String,
        secondFactor: SecondFactor? = nil,
        claims: JSONValue? = nil,
        signInAttributes: JSONValue? = nil
    ) {
        self.tenant = tenant
        self.user = user
        self.id = id
        self.secretHash = secretHash
        self.epoch = epoch
        self.authTime = authTime
        self.startedAt = startedAt
        self.signInProvider = signInProvider
        self.secondFactor = secondFactor
        self.claims = claims
        self.signInAttributes = signInAttributes
    }
}

struct SessionRow: RowDecodable {
    let record: SessionRecord

    private static let columns = Columns<SessionRecord>(
        of: "sessions",
        [
            Column("tenant_id", \.tenant), Column("user_id", \.user), Column("session_id", \.id),
            Column("secret_hash", \.secretHash), Column("session_epoch", \.epoch), Column("auth_time", \.authTime),
            Column("sign_in_provider", \.signInProvider), Column("second_factor", \.secondFactor?.kind),
            Column("second_factor_id", \.secondFactor?.enrollmentID), Column("session_claims", \.claims),
            Column("sign_in_attributes", \.signInAttributes), Column("started_at", \.startedAt),
            Column("lifetime_start", \.lifetimeStart), Column(read: "last_used_at", \.lastUsedAt),
            Column(written: "device", \.device), Column(written: "used_day") { $0.start.dayNumber },
        ]
    )

    init(row: inout RowDecoder) throws(PostgresError) {
        _ = try row.next(Bytes.self)
        var values = Self.columns.values(&row)
        var record = SessionRecord(
            tenant: try values(\.tenant),
            user: try values(\.user),
            id: try values(\.id),
            secretHash: try values(\.secretHash),
            epoch: try values(\.epoch),
            authTime: try values(\.authTime),
            signInProvider: try values(\.signInProvider)
        )
        if let kind = try values(\.secondFactor?.kind), let id = try values(\.secondFactor?.enrollmentID) {
            record.secondFactor = SessionRecord.SecondFactor(kind: kind, enrollmentID: id)
        }
        record.claims = try values(\.claims)
        record.signInAttributes = try values(\.signInAttributes)
        record.startedAt = try values(\.startedAt)
        record.lifetimeStart = try values(\.lifetimeStart)
        record.lastUsedAt = try values(\.lastUsedAt)
        self.record = record
    }

    /// The session `id` of `user`, as a lookup: one statement finds many. The key is the session's 16 bytes, then the
    /// user id.
    static func lookup(_ id: [UInt8], of user: UserID, tenant: TenantID) -> Query<SessionRow> {
        Query(
            keyColumn: 0,
            """
            SELECT keys.key, \(columns.names)
            FROM (SELECT * FROM \(table: "sessions") WHERE tenant_id = \(tenant)) AS sessions
            JOIN unnest(\([id + Array(user.rawValue.utf8)])) AS keys (key)
                ON user_id = convert_from(substr(key, 17), 'UTF8') AND session_id = substr(key, 1, 16)
            """,
            onCitus: """
                SELECT session_id, \(columns.names) FROM \(table: "sessions")
                WHERE tenant_id = \(tenant) AND user_id = \(user) AND session_id = \(id)
                """
        )
    }

    /// The newest sign-in of the latest epoch of an account, as a lookup: one statement answers many callers at once.
    static func newestSignIn(of user: UserID, tenant: TenantID) -> Query<NewestSignInRow> {
        Query(
            keyColumn: 0,
            """
            SELECT keys.key, session_epoch, sign_in_provider
            FROM (SELECT \(tenant)::text AS id) AS project
            CROSS JOIN unnest(\([user.rawValue])) AS keys (key)
            CROSS JOIN LATERAL (
                SELECT session_epoch, sign_in_provider FROM \(table: "sessions")
                WHERE tenant_id = project.id AND user_id = keys.key
                ORDER BY session_epoch DESC, auth_time DESC LIMIT 1
            ) AS newest
            """,
            onCitus: """
                SELECT user_id, session_epoch, sign_in_provider FROM \(table: "sessions")
                WHERE tenant_id = \(tenant) AND user_id = \(user)
                ORDER BY session_epoch DESC, auth_time DESC LIMIT 1
                """
        )
    }

    /// Raises 23503 if the user was deleted.
    static func insert(_ session: SessionRecord) -> SQL {
        columns.insert(session, isShared: true)
    }

    /// Deletes the sessions of earlier epochs.
    static func deleteEnded(of user: UserID, tenant: TenantID, epoch: Int64) -> SQL {
        """
        DELETE FROM sessions
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND session_epoch <> \(epoch)
        """
    }

    static func deleteAll(of users: [UserID], tenant: TenantID) -> SQL {
        """
        DELETE FROM sessions WHERE tenant_id = \(tenant) AND user_id = ANY(\(users))
        """
    }

    static func delete(_ id: [UInt8], of user: UserID, tenant: TenantID) -> SQL {
        """
        DELETE FROM sessions
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND session_id = \(id)
        """
    }

    static func deleteOthers(than id: [UInt8], of user: UserID, tenant: TenantID) -> SQL {
        """
        DELETE FROM sessions
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND session_id <> \(id)
        """
    }

    /// Writes many uses in one statement. Times never move backwards. Skips deleted sessions.
    static func touch(tenants: [String], users: [String], sessions: [[UInt8]], usedAt: [PostgresTimestamp]) -> SQL {
        """
        UPDATE sessions SET last_used_at = greatest(sessions.last_used_at, used.used_at)
        FROM unnest(\(tenants), \(users), \(sessions), \(usedAt)) AS used (tenant_id, user_id, session_id, used_at)
        WHERE sessions.tenant_id = used.tenant_id AND sessions.user_id = used.user_id
            AND sessions.session_id = used.session_id
        """
    }

    /// The last use of a session: `SessionTimes.lastUsedAt` in SQL.
    private static let lastUse: SQL = "coalesce(last_used_at, started_at, auth_time)"
    /// The day of the last use, as `Timestamp.dayNumber`.
    private static let lastDay: SQL = "floor(extract(epoch FROM \(lastUse)) / 86400)::integer"

    /// Deletes at most `rowsMax` sessions that were last used before the day of `cutoff`.
    ///
    /// `used_day` is a day on which the session was used, not always the last: a use moves no entry of its index. The
    /// last use itself is compared, so a session that was used since stays.
    static func deleteUnused(since cutoff: Timestamp, rowsMax: Int64) -> SQL {
        """
        DELETE FROM sessions WHERE \(isDue(by: cutoff, rowsMax: rowsMax)) AND \(lastUse) < \(cutoff.startOfDay)
        """
    }

    /// Sets the day of at most `rowsMax` sessions that the deletion met and that were used since.
    static func moveUsed(since cutoff: Timestamp, rowsMax: Int64) -> SQL {
        """
        UPDATE sessions SET used_day = \(lastDay)
        WHERE \(isDue(by: cutoff, rowsMax: rowsMax)) AND \(lastUse) >= \(cutoff.startOfDay)
        """
    }

    /// Sets the day of at most `rowsMax` sessions that have none.
    static func dateUndated(rowsMax: Int64) -> SQL {
        """
        UPDATE sessions SET used_day = \(lastDay)
        WHERE \(SQL.first(rowsMax, of: "sessions", key: key, where: "used_day IS NULL", by: "used_day"))
        """
    }

    /// The number of sessions that were last used at `end` or earlier, and after `start`, and of their accounts.
    ///
    /// - `start`: `nil` for all that were last used at `end` or earlier.
    /// - `beginning`: leaves out those whose lifetime began then or earlier; `nil` for none.
    /// - `tenant`: one tenant; `nil` for all.
    static func countUnused(
        since end: Timestamp,
        usedAfter start: Timestamp?,
        begunAfter beginning: Timestamp?,
        tenant: String?
    ) -> Query<UnusedSessions> {
        """
        SELECT coalesce(sum(sessions), 0)::bigint, count(*) FROM (
            SELECT count(*) AS sessions FROM \(table: "sessions")
            WHERE (used_day <= \(end.dayNumber) OR used_day IS NULL) AND \(lastUse) <= \(end)
                AND (\(lastUse) > \(start)) IS NOT FALSE
                AND (coalesce(lifetime_start, started_at, auth_time) > \(beginning)) IS NOT FALSE
                AND (\(tenant == nil) OR tenant_id = \(tenant ?? ""))
            GROUP BY tenant_id, user_id
        ) AS accounts
        """
    }

    private static let key: SQL = "tenant_id, user_id, session_id"

    private static func isDue(by cutoff: Timestamp, rowsMax: Int64) -> SQL {
        SQL.first(rowsMax, of: "sessions", key: key, where: "used_day < \(cutoff.dayNumber)", by: "used_day")
    }
}
