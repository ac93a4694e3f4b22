package import AccountLinking
package import Postgres

/// The number of sign-ins to one account that were refused on one day for one reason.
package struct SignInRefusals: Sendable, Hashable {
    package enum Reason: Sendable, Hashable {
        /// The row of the decision tables, such as `S4`.
        case rule(Rule)
        case wrongSecondFactor
        /// Too many wrong second factors were presented before.
        case lockedSecondFactor

        /// The stored name, which never changes.
        package var name: String {
            switch self {
            case .rule(let rule): rule.rawValue
            case .wrongSecondFactor: "wrong-second-factor"
            case .lockedSecondFactor: "locked-second-factor"
            }
        }
    }

    /// A name of `Reason`, or the name of a reason from another version.
    package let reason: String
    package let count: Int64
    package let firstAt: Timestamp
    package let lastAt: Timestamp
}

struct SignInRefusalRow: RowDecodable {
    let refusals: SignInRefusals

    init(row: inout RowDecoder) throws(PostgresError) {
        refusals = SignInRefusals(
            reason: try row.next(),
            count: try row.next(),
            firstAt: try row.next(),
            lastAt: try row.next()
        )
    }

    /// The newest first.
    static func of(_ user: UserID, tenant: TenantID, rowsMax: Int64) -> Query<SignInRefusalRow> {
        """
        SELECT reason, count, first_at, last_at FROM \(table: "sign_in_refusals")
        WHERE tenant_id = \(tenant) AND user_id = \(user)
        ORDER BY day DESC, reason LIMIT \(rowsMax)
        """
    }

    /// Adds many counts. Skips deleted accounts. In the order of the keys, so that two servers cannot deadlock.
    static func add(
        tenants: [String],
        users: [String],
        days: [Int32],
        reasons: [String],
        counts: [Int64],
        firstAt: [PostgresTimestamp],
        lastAt: [PostgresTimestamp]
    ) -> SQL {
        """
        INSERT INTO sign_in_refusals AS kept (tenant_id, user_id, day, reason, count, first_at, last_at)
        SELECT new.tenant_id, new.user_id, new.day, new.reason, new.count, new.first_at, new.last_at
        FROM unnest(\(tenants), \(users), \(days), \(reasons), \(counts), \(firstAt), \(lastAt))
            AS new (tenant_id, user_id, day, reason, count, first_at, last_at)
        JOIN users ON users.tenant_id = new.tenant_id AND users.user_id = new.user_id
        ORDER BY new.tenant_id, new.user_id, new.day, new.reason
        ON CONFLICT (tenant_id, user_id, day, reason) DO UPDATE SET
            count = kept.count + excluded.count,
            first_at = least(kept.first_at, excluded.first_at),
            last_at = greatest(kept.last_at, excluded.last_at)
        """
    }

    static func deleteOld(before cutoff: Timestamp, rowsMax: Int64) -> SQL {
        """
        DELETE FROM sign_in_refusals
        WHERE \(SQL.first(
            rowsMax,
            of: "sign_in_refusals",
            key: "tenant_id, user_id, day, reason",
            where: "day < \(cutoff.dayNumber)",
            by: "day"
        ))
        """
    }
}

extension AccountStore {
    /// The refused sign-ins to an account, newest first, at most `countMax` days and reasons. One round trip.
    package func signInRefusals(
        of user: UserID,
        tenant: TenantID,
        countMax: Int
    ) async throws(PostgresError) -> [SignInRefusals] {
        try await client.read(SignInRefusalRow.of(user, tenant: tenant, rowsMax: Int64(countMax))).map(\.refusals)
    }
}

extension Timestamp {
    /// Days since 1970 in UTC.
    package var dayNumber: Int32 { Int32(clamping: secondsSinceEpoch / 86_400) }

    /// The first moment of `dayNumber`.
    var startOfDay: Timestamp { Timestamp(microsecondsSinceEpoch: Int64(dayNumber) * 86_400_000_000) }
}
