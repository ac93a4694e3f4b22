package import AccountLinking
package import Postgres

/// A session for the list that its user sees. It holds nothing that can refresh the session.
package struct ListedSession: Sendable, Hashable {
    /// 16 random bytes. The refresh token also contains them, and a secret that is not listed.
    package let id: [UInt8]
    package let startedAt: Timestamp
    package let times: SessionTimes
    package let signInProvider: String
    /// `phone` or `totp`.
    package let secondFactor: String?
    /// `User-Agent` of the sign-in.
    package let device: String?
}

struct ListedSessionRow: RowDecodable {
    let session: ListedSession

    init(row: inout RowDecoder) throws(PostgresError) {
        let id = try row.next(Bytes.self)
        let start: Timestamp = try row.next()
        let lifetimeStart: Timestamp? = try row.next()
        let lastUsedAt: Timestamp? = try row.next()
        session = ListedSession(
            id: id,
            startedAt: start,
            times: SessionTimes(startedAt: lifetimeStart ?? start, lastUsedAt: lastUsedAt ?? start),
            signInProvider: try row.next(),
            secondFactor: try row.next(),
            device: try row.next()
        )
    }

    /// The sessions of an epoch, in the order of their ids.
    static func of(
        _ user: UserID,
        tenant: TenantID,
        epoch: Int64,
        after id: [UInt8],
        rowsMax: Int64
    ) -> Query<ListedSessionRow> {
        """
        SELECT session_id, coalesce(started_at, auth_time), lifetime_start, last_used_at, sign_in_provider, second_factor,
            device
        FROM \(table: "sessions")
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND session_id > \(id)
            AND session_epoch = \(epoch)
        ORDER BY session_id LIMIT \(rowsMax)
        """
    }
}

/// The newest sign-in of the latest epoch that has sessions, behind its key.
struct NewestSignInRow: RowDecodable {
    let sessionEpoch: Int64
    let provider: String

    init(row: inout RowDecoder) throws(PostgresError) {
        _ = try row.next(String.self)
        sessionEpoch = try row.next()
        provider = try row.next()
    }
}

extension AccountWrite.SideWrite {
    /// Deletes one session. `AccountWrite.raisesVersion` must be set, so that only one of many callers succeeds.
    package static func endSession(_ id: [UInt8], of user: UserID, tenant: TenantID) -> Self {
        Self([SessionRow.delete(id, of: user, tenant: tenant)], announcing: [.ofAccount(.sessionEnded)])
    }

    /// Deletes a session that another one continues, without a webhook. `AccountWrite.raisesVersion` must be set.
    package static func endContinuedSession(_ session: SessionRecord) -> Self {
        Self([SessionRow.delete(session.id, of: session.user, tenant: session.tenant)])
    }

    /// Deletes all sessions but one. `AccountWrite.raisesVersion` must be set.
    package static func endSessions(otherThan id: [UInt8], of user: UserID, tenant: TenantID) -> Self {
        Self([SessionRow.deleteOthers(than: id, of: user, tenant: tenant)], announcing: [.ofAccount(.sessionEnded)])
    }
}

extension AccountStore {
    /// The sessions of `user` in its current epoch, in the order of their ids, at most `countMax`, after `after`. One
    /// round trip.
    package func sessions(
        of user: UserRecord,
        after id: [UInt8],
        countMax: Int
    ) async throws(PostgresError) -> [ListedSession] {
        try await client.read(
            ListedSessionRow.of(
                user.id,
                tenant: user.tenant,
                epoch: user.sessionEpoch,
                after: id,
                rowsMax: Int64(countMax)
            )
        )
        .map(\.session)
    }
}
