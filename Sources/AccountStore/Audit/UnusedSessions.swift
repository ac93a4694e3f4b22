package import AccountLinking
package import Postgres

/// The number of unused sessions, and of their accounts.
package struct UnusedSessions: Sendable, Hashable, RowDecodable {
    package let sessions: Int64
    package let accounts: Int64

    package static let zero = UnusedSessions(sessions: 0, accounts: 0)

    package init(sessions: Int64, accounts: Int64) {
        self.sessions = sessions
        self.accounts = accounts
    }

    package init(row: inout RowDecoder) throws(PostgresError) {
        sessions = try row.next()
        accounts = try row.next()
    }

    /// Returns the sessions that `proposed` ends at `now` because they are unused, and that `present` does not end. One
    /// statement, which reads the sessions by their day. None is sent if `proposed` does not limit inactivity more.
    ///
    /// Sessions beyond a limit on their age are not counted: no index finds them.
    ///
    /// - `tenant`: `nil` for all tenants.
    /// - `configuration`: of the primary or a standby.
    /// - `applicationName`: the name of the connection in the database.
    /// - Throws: `PostgresError`.
    package static func ended(
        by proposed: SessionLifetimes,
        butNotBy present: SessionLifetimes,
        at now: Timestamp,
        tenant: TenantID?,
        _ configuration: PostgresConfiguration,
        applicationName: String
    ) async throws -> UnusedSessions {
        guard let limit = proposed.inactivitySeconds, proposed.limitsInactivityMore(than: present) else { return .zero }
        var configuration = configuration
        configuration.applicationName = applicationName
        let query = SessionRow.countUnused(
            since: now.adding(seconds: -limit),
            usedAfter: present.inactivitySeconds.map { now.adding(seconds: -$0) },
            begunAfter: present.absoluteSeconds.map { now.adding(seconds: -$0) },
            tenant: tenant?.rawValue
        )
        return try await PostgresConnection.withConnection(configuration) { connection in
            try connection.execute(SnapshotTransaction.begin)
            try connection.execute(script: SnapshotTransaction.withoutTimeouts)
            let found = try connection.query(query).first
            _ = try connection.execute(SnapshotTransaction.end)
            return found ?? .zero
        }
    }
}
