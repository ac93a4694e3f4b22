package import AccountLinking
package import Postgres

/// A limit and the key that is counted against it.
package struct CountedLimit: Sendable, Hashable {
    package let limit: MessageLimit
    /// SHA-256 of both.
    let digest: [UInt8]

    package init(_ limit: MessageLimit, digest: [UInt8]) {
        self.limit = limit
        self.digest = digest
    }
}

/// The number of messages sent, or of rows made by anonymous callers, within a window.
enum MessageCountRow {
    /// The digests of the limits that are reached at `now`.
    static func reached(_ limits: [CountedLimit], tenant: TenantID, at now: Timestamp) -> Query<[UInt8]> {
        Query("SELECT count_digest FROM \(table: "message_counts") WHERE \(isReached(limits, tenant: tenant, at: now))")
    }

    /// Raises 22012 (division by zero) if one of `limits` is reached.
    static func assertNoneReached(_ limits: [CountedLimit], tenant: TenantID, at now: Timestamp) -> SQL {
        """
        SELECT \(SQL.assertNone) FROM message_counts WHERE \(isReached(limits, tenant: tenant, at: now))
        """
    }

    private static func isReached(_ limits: [CountedLimit], tenant: TenantID, at now: Timestamp) -> SQL {
        """
        tenant_id = \(tenant) AND count_digest = ANY(\(limits.map(\.digest)))
            AND ends_at > \(now)
            AND messages >= (\(limits.map(\.limit.countMax)))[
                array_position(\(limits.map(\.digest)), count_digest)
            ]
        """
    }

    /// Raises 23502 (NULL in `messages`) if the limit is reached.
    static func count(_ counted: CountedLimit, tenant: TenantID, at now: Timestamp) -> SQL {
        let endsAt = now.adding(seconds: counted.limit.windowSeconds)
        return """
            INSERT INTO message_counts AS counted (tenant_id, count_digest, messages, ends_at)
            VALUES (\(tenant), \(counted.digest), 1, \(endsAt))
            ON CONFLICT (tenant_id, count_digest) DO UPDATE SET
                messages = CASE WHEN counted.ends_at <= \(now) THEN 1
                    WHEN counted.messages < \(counted.limit.countMax) THEN counted.messages + 1 END,
                ends_at = CASE WHEN counted.ends_at <= \(now) THEN excluded.ends_at ELSE counted.ends_at END
            """
    }
}

extension [CountedLimit] {
    /// The limits with one of `digests`.
    func limits(named digests: [[UInt8]]) -> [MessageLimit] {
        filter { digests.contains($0.digest) }.map(\.limit)
    }
}

extension AccountWrite.SideWrite {
    /// Counts the account that the write creates against all of `limits`. A reached limit stops the write.
    ///
    /// The write can still be batched with others: they lock the counts in one order, and share no other rows.
    package static func count(_ limits: [CountedLimit], tenant: TenantID, at now: Timestamp) -> Self {
        Self(
            limits.map { MessageCountRow.count($0, tenant: tenant, at: now) },
            standsAlone: true,
            order: limits.first?.digest ?? []
        )
    }
}

extension AccountStore {
    /// The limits that are reached at `now`. One round trip.
    package func reached(
        _ limits: [CountedLimit],
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> [MessageLimit] {
        limits.limits(named: try await client.read(MessageCountRow.reached(limits, tenant: tenant, at: now)))
    }

    /// Counts an action in advance, against all of `limits` or none.
    ///
    /// - Returns: `.factsMoved` if a limit is reached.
    package func count(
        _ limits: [CountedLimit],
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> Applied {
        if limits.isEmpty { return .applied }
        var batch = WriteBatch("message-count")
        batch.append(limits.map { MessageCountRow.count($0, tenant: tenant, at: now) })
        return try await applying(batch)
    }

    /// Writes a message into the outbox and counts it, in one transaction.
    ///
    /// - Returns: `.factsMoved` if a limit is reached.
    package func enqueue(
        _ message: OutboxMessage,
        counting limits: [CountedLimit],
        at now: Timestamp
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("outbox-enqueue")
        batch.append(OutboxRow.insert(message))
        batch.append(limits.map { MessageCountRow.count($0, tenant: message.tenant, at: now) })
        return try await applying(batch)
    }
}
