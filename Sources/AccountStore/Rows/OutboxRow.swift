package import AccountLinking
package import Postgres

/// A message to be sent. Its content is sealed.
package struct OutboxMessage: Sendable, Hashable {
    package typealias ID = PostgresUUID

    /// The channel of the message.
    package enum Kind: String, Sendable, CaseIterable {
        case mail
        case sms
        /// A silent push to an app.
        case push
    }

    /// The state of a message.
    package enum State: String, Sendable, CaseIterable {
        case pending
        case sent
        /// Sending failed finally. The content is stored until it expires, so that an operator can retry.
        case failed
        /// A decoy that was not to be sent, or a mail that turned out to have nothing to say. The worker that claimed it
        /// deleted its content.
        case withheld
        /// Withdrawn before it was sent, by an operator or by the undo of its subject. Its content is deleted.
        case discarded
    }

    /// The stored reason of a discarded message.
    package enum DiscardReason: String, Sendable {
        case `operator`
        case undone
    }

    package var tenant: TenantID
    package var id: PostgresUUID
    package var kind: Kind
    package var sealedPayload: [UInt8]
    package var createdAt: Timestamp
    /// The message is not sent from then on.
    package var expiresAt: Timestamp
    /// True if there is nothing to send. The message is written and claimed like any other, so that the request costs
    /// the same; the worker that claims it deletes it.
    package var isWithheld: Bool

    package init(
        tenant: TenantID,
        id: PostgresUUID,
        kind: Kind,
        sealedPayload: [UInt8],
        createdAt: Timestamp,
        expiresAt: Timestamp,
        isWithheld: Bool = false
    ) {
        self.tenant = tenant
        self.id = id
        self.kind = kind
        self.sealedPayload = sealedPayload
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.isWithheld = isWithheld
    }
}

/// A message that a worker has claimed. No other worker claims it before `leasedUntil`.
package struct ClaimedMessage: Sendable, Hashable {
    package let tenant: TenantID
    package let id: PostgresUUID
    package let sealedPayload: [UInt8]
    package let createdAt: Timestamp
    package let expiresAt: Timestamp
    /// Attempts begun, this one included.
    package let attempts: Int32
    /// Identifies the claim: each claim ends later than the one before.
    package let leasedUntil: Timestamp
    /// True if the message must be discarded.
    package let isWithheld: Bool
}

extension ClaimedMessage: RowDecodable {
    package init(row: inout RowDecoder) throws(PostgresError) {
        var values = OutboxRow.claimed.values(&row)
        tenant = try values(\.message.tenant)
        id = try values(\.message.id)
        sealedPayload = try values(\.message.sealedPayload)
        createdAt = try values(\.message.createdAt)
        expiresAt = try values(\.message.expiresAt)
        attempts = try values(\.attempts)
        leasedUntil = try values(\.nextAttemptAt)
        isWithheld = try values(\.message.isWithheld)
    }
}

/// The result of an attempt. A reason is 1 to 64 printable ASCII characters, without recipient or content.
package enum MessageAttempt: Sendable, Hashable {
    case delivered
    case retry(at: Timestamp, reason: String)
    case givenUp(reason: String)
    /// It expired before a worker claimed it. Its content is deleted.
    case expired
    /// The message was not to be sent. Its content is deleted.
    case withheld
    /// The worker found nothing to send. The content is deleted.
    case dropped
}

/// A message as operators see it. Its content is sealed.
package struct OutboxEntry: Sendable, Hashable {
    package let tenant: TenantID
    package let id: PostgresUUID
    package let kind: OutboxMessage.Kind
    package let state: OutboxMessage.State
    /// `nil` once it was sent or has expired.
    package let sealedPayload: [UInt8]?
    package let createdAt: Timestamp
    package let expiresAt: Timestamp
    package let attempts: Int32
    /// The time of the next attempt; while a worker has the message, the end of the claim.
    package let nextAttemptAt: Timestamp
    /// The failure of the last attempt.
    package let reason: String?
}

extension OutboxEntry: RowDecodable {
    package init(row: inout RowDecoder) throws(PostgresError) {
        var values = OutboxRow.entry.values(&row)
        tenant = try values(\.message.tenant)
        id = try values(\.message.id)
        kind = try values(\.message.kind)
        state = try values(\.state)
        sealedPayload = try values.optional(\.message.sealedPayload)
        createdAt = try values(\.message.createdAt)
        expiresAt = try values(\.message.expiresAt)
        attempts = try values(\.attempts)
        nextAttemptAt = try values(\.nextAttemptAt)
        reason = try values(\.reason)
    }
}

/// The messages that an operator wants to discard.
package enum OutboxSelection: Sendable {
    /// Waiting and failed messages with these ids.
    case named([PostgresUUID])
    /// The waiting messages of one kind or of all, written at or before a time.
    case pending(OutboxMessage.Kind?, writtenUntil: Timestamp)
}

/// The number of messages of a selection that can be discarded.
package struct DiscardableMessages: Sendable, Hashable, RowDecodable {
    /// Messages that no worker has claimed.
    package let unclaimed: Int64
    /// Messages that a worker is sending.
    package let claimed: Int64

    package static let nothing = Self(unclaimed: 0, claimed: 0)

    private init(unclaimed: Int64, claimed: Int64) {
        self.unclaimed = unclaimed
        self.claimed = claimed
    }

    package init(row: inout RowDecoder) throws(PostgresError) {
        unclaimed = try row.next()
        claimed = try row.next()
    }
}

/// The waiting messages of one kind.
package struct WaitingMessages: Sendable, Hashable {
    package let count: Int64
    /// When the oldest was written; `nil` if none waits.
    package let oldest: Timestamp?
}

extension WaitingMessages: RowDecodable {
    package init(row: inout RowDecoder) throws(PostgresError) {
        count = try row.next()
        oldest = try row.next()
    }
}

/// A message that waits to be sent, still sealed.
package struct WaitingMessage: Sendable, Hashable {
    package let id: PostgresUUID
    package let sealedPayload: [UInt8]
    package let createdAt: Timestamp
}

extension WaitingMessage: RowDecodable {
    package init(row: inout RowDecoder) throws(PostgresError) {
        var values = OutboxRow.waiting.values(&row)
        id = try values(\.message.id)
        sealedPayload = try values(\.message.sealedPayload)
        createdAt = try values(\.message.createdAt)
    }
}

/// A message on its way out, as it is inserted, and the properties that its columns are read by.
struct OutboxRow {
    fileprivate let message: OutboxMessage
    fileprivate var state: OutboxMessage.State { .pending }
    fileprivate var attempts: Int32 { 0 }
    fileprivate var nextAttemptAt: Timestamp { message.createdAt }
    fileprivate var reason: String? { nil }

    private static let tenant = Column<OutboxRow>("tenant_id", \.message.tenant)
    private static let id = Column<OutboxRow>("message_id", \.message.id)
    private static let kind = Column<OutboxRow>("kind", \.message.kind)
    private static let state = Column<OutboxRow>("state", \.state)
    private static let payload = Column<OutboxRow>("sealed_payload", \.message.sealedPayload)
    private static let createdAt = Column<OutboxRow>("created_at", \.message.createdAt)
    private static let expiresAt = Column<OutboxRow>("expires_at", \.message.expiresAt)
    private static let attempts = Column<OutboxRow>("attempts", \.attempts)
    private static let nextAttemptAt = Column<OutboxRow>("next_attempt_at", \.nextAttemptAt)
    private static let isWithheld = Column<OutboxRow>("is_withheld", \.message.isWithheld)
    private static let reason = Column<OutboxRow>("reason", \.reason)

    private static let inserted = Columns(
        of: "outbox",
        [tenant, id, kind, payload, createdAt, expiresAt, nextAttemptAt, isWithheld]
    )
    fileprivate static let waiting = Columns(of: "outbox", [id, payload, createdAt])
    fileprivate static let claimed = Columns(
        of: "outbox",
        [tenant, id, payload, createdAt, expiresAt, attempts, nextAttemptAt, isWithheld]
    )
    fileprivate static let entry = Columns(
        of: "outbox",
        [tenant, id, kind, state, payload, createdAt, expiresAt, attempts, nextAttemptAt, reason]
    )

    /// The newest `countMax` messages that wait to be sent, the newest first.
    static func newest(_ kind: OutboxMessage.Kind, countMax: Int64, tenant: TenantID) -> Query<WaitingMessage> {
        """
        \(waiting.select)
        WHERE tenant_id = \(tenant) AND kind = \(kind) AND state = 'pending'
            AND NOT is_withheld
        ORDER BY created_at DESC, message_id DESC LIMIT \(countMax)
        """
    }

    /// The number of waiting messages, up to `countMax`, and the time of the oldest.
    static func waiting(_ kind: OutboxMessage.Kind, countMax: Int64) -> Query<WaitingMessages> {
        """
        SELECT count(*), min(created_at) FROM (
            SELECT created_at FROM \(table: "outbox")
            WHERE state = 'pending' AND kind = \(kind) AND NOT is_withheld
            ORDER BY created_at LIMIT \(countMax)
        ) AS waiting
        """
    }

    /// Claims at most `countMax` due messages until `until`.
    static func claim(_ kind: OutboxMessage.Kind, at now: Timestamp, until: Timestamp, countMax: Int64) -> SQL {
        """
        WITH due AS (
            SELECT tenant_id, message_id FROM outbox
            WHERE state = 'pending' AND kind = \(kind) AND next_attempt_at <= \(now)
            ORDER BY next_attempt_at LIMIT \(countMax) FOR UPDATE SKIP LOCKED
        )
        UPDATE outbox AS m SET attempts = m.attempts + 1, next_attempt_at = \(until)
        FROM due WHERE m.tenant_id = due.tenant_id AND m.message_id = due.message_id
        RETURNING \(claimed.names(of: "m"))
        """
    }

    /// Marks a message as sent and deletes its content, also if another worker has claimed it since.
    static func markSent(_ message: ClaimedMessage) -> SQL {
        """
        UPDATE outbox SET state = 'sent', sealed_payload = NULL, reason = NULL
        WHERE tenant_id = \(message.tenant) AND message_id = \(message.id) AND state = 'pending'
        """
    }

    /// Discards a message that was not to be sent.
    static func discard(_ message: ClaimedMessage) -> SQL {
        """
        UPDATE outbox SET state = 'withheld', sealed_payload = NULL, reason = NULL
        WHERE tenant_id = \(message.tenant) AND message_id = \(message.id) AND state = 'pending'
            AND is_withheld
        """
    }

    /// Discards a message that has nothing to say, unless another worker has claimed it since.
    static func drop(_ message: ClaimedMessage) -> SQL {
        """
        UPDATE outbox SET state = 'withheld', sealed_payload = NULL, reason = NULL
        WHERE tenant_id = \(message.tenant) AND message_id = \(message.id) AND state = 'pending'
            AND next_attempt_at = \(message.leasedUntil)
        """
    }

    /// Postpones a message, unless another worker has claimed it since.
    static func postpone(_ message: ClaimedMessage, until: Timestamp, reason: String) -> SQL {
        """
        UPDATE outbox SET next_attempt_at = \(until), postponed_until = \(until), reason = \(reason)
        WHERE tenant_id = \(message.tenant) AND message_id = \(message.id) AND state = 'pending'
            AND next_attempt_at = \(message.leasedUntil)
        """
    }

    /// Marks a message as failed, unless another worker has claimed it since.
    static func giveUp(_ message: ClaimedMessage, reason: String, keepsContent: Bool) -> SQL {
        """
        UPDATE outbox SET state = 'failed', reason = \(reason),
            sealed_payload = CASE WHEN \(keepsContent) THEN sealed_payload END
        WHERE tenant_id = \(message.tenant) AND message_id = \(message.id) AND state = 'pending'
            AND next_attempt_at = \(message.leasedUntil)
        """
    }

    /// Holds for a message that no worker has at `now`: it was never claimed, was released, or its claim has ended.
    ///
    /// A claim is over only if PostgreSQL's clock says so too: the clock of an operator's machine may be ahead.
    ///
    /// A program of the version before gives messages back without `postponed_until`: these count as claimed until they
    /// are due, which errs on the safe side.
    private static func isUnclaimed(at now: Timestamp) -> SQL {
        """
        (state = 'failed' OR attempts = 0 OR next_attempt_at <= least(\(now), statement_timestamp())
            OR next_attempt_at IS NOT DISTINCT FROM postponed_until)
        """
    }

    /// Withdraws a message and deletes its content, unless it was sent or a worker has claimed it.
    ///
    /// If a worker is claiming the message, waits for it and judges the result.
    static func discard(
        _ id: PostgresUUID,
        tenant: TenantID,
        because reason: OutboxMessage.DiscardReason,
        at now: Timestamp
    )
        -> SQL
    {
        """
        UPDATE outbox SET state = 'discarded', sealed_payload = NULL, reason = \(reason)
        WHERE tenant_id = \(tenant) AND message_id = \(id) AND state IN ('pending', 'failed')
            AND sealed_payload IS NOT NULL AND \(isUnclaimed(at: now))
        """
    }

    /// Holds for selected messages that still have a content. Decoys, which are not to be sent, are hidden from
    /// operators.
    private static func isSelected(_ selection: OutboxSelection) -> SQL {
        switch selection {
        case .named(let ids):
            return """
                state IN ('pending', 'failed') AND sealed_payload IS NOT NULL AND NOT is_withheld
                    AND message_id = ANY (\(ids))
                """
        case .pending(let kind, let cutoff):
            let kinds = (kind.map { [$0] } ?? OutboxMessage.Kind.allCases).map(\.rawValue)
            return """
                state = 'pending' AND NOT is_withheld AND kind = ANY (\(kinds)) AND created_at <= \(cutoff)
                """
        }
    }

    /// The oldest `countMax` selected messages that no worker has, the oldest first.
    static func discardable(_ selection: OutboxSelection, at now: Timestamp, countMax: Int64) -> Query<OutboxEntry> {
        """
        \(entry.select) WHERE \(isSelected(selection)) AND \(isUnclaimed(at: now))
        ORDER BY created_at, message_id LIMIT \(countMax)
        """
    }

    /// The number of selected messages that no worker has, and of those that one has.
    static func countDiscardable(_ selection: OutboxSelection, at now: Timestamp) -> Query<DiscardableMessages> {
        """
        SELECT count(*) FILTER (WHERE \(isUnclaimed(at: now))), count(*) FILTER (WHERE NOT \(isUnclaimed(at: now)))
        FROM \(table: "outbox") WHERE \(isSelected(selection))
        """
    }

    /// Withdraws at most `countMax` selected messages, the oldest first. Skips messages that another transaction holds:
    /// it is claiming or discarding them.
    static func discard(_ selection: OutboxSelection, at now: Timestamp, countMax: Int64) -> SQL {
        """
        WITH unclaimed AS (
            SELECT tenant_id, message_id FROM outbox WHERE \(isSelected(selection)) AND \(isUnclaimed(at: now))
            ORDER BY created_at LIMIT \(countMax) FOR UPDATE SKIP LOCKED
        )
        UPDATE outbox AS m SET state = 'discarded', sealed_payload = NULL,
            reason = \(OutboxMessage.DiscardReason.operator)
        FROM unclaimed WHERE m.tenant_id = unclaimed.tenant_id AND m.message_id = unclaimed.message_id
        """
    }

    /// The state of one message.
    static func state(of id: PostgresUUID, tenant: TenantID) -> Query<SingleValueRow<OutboxMessage.State>> {
        Query("SELECT state FROM \(table: "outbox") WHERE tenant_id = \(tenant) AND message_id = \(id)")
    }

    /// Releases claimed messages that were not tried, as if they had not been claimed.
    static func release(
        tenants: [String],
        ids: [PostgresUUID],
        leasedUntil: [PostgresTimestamp],
        until: Timestamp,
        reason: String?
    ) -> SQL {
        """
        UPDATE outbox AS m SET attempts = m.attempts - 1, next_attempt_at = \(until),
            postponed_until = \(until), reason = coalesce(\(reason), m.reason)
        FROM unnest(\(tenants), \(ids), \(leasedUntil)) AS taken (tenant_id, message_id, leased_until)
        WHERE m.tenant_id = taken.tenant_id AND m.message_id = taken.message_id AND m.state = 'pending'
            AND m.next_attempt_at = taken.leased_until
        """
    }

    /// The oldest `countMax` messages in a state, oldest first, without decoys.
    static func entries(_ state: OutboxMessage.State, countMax: Int64) -> Query<OutboxEntry> {
        """
        \(entry.select) WHERE state = \(state) AND NOT is_withheld
        ORDER BY created_at, message_id LIMIT \(countMax)
        """
    }

    /// The message with an id, of any tenant.
    static func entry(_ id: PostgresUUID) -> Query<OutboxEntry> {
        "\(entry.select) WHERE message_id = \(id) AND NOT is_withheld"
    }

    /// Makes failed messages due again, unless they have expired: at most `countMax` of `ids`, or of all failed
    /// messages.
    static func retry(_ ids: [PostgresUUID]?, at now: Timestamp, countMax: Int64) -> SQL {
        """
        WITH given_up AS (
            SELECT tenant_id, message_id FROM outbox
            WHERE state = 'failed' AND sealed_payload IS NOT NULL AND expires_at > \(now) AND NOT is_withheld
                AND (\(ids == nil) OR message_id = ANY (\(ids ?? [])))
            ORDER BY created_at LIMIT \(countMax) FOR UPDATE SKIP LOCKED
        )
        UPDATE outbox AS m SET state = 'pending', attempts = 0, next_attempt_at = \(now)
        FROM given_up WHERE m.tenant_id = given_up.tenant_id AND m.message_id = given_up.message_id
        """
    }

    static func insert(_ message: OutboxMessage) -> SQL {
        inserted.insert(OutboxRow(message: message))
    }
}

extension AccountWrite.SideWrite {
    /// Writes a message into the outbox.
    package static func enqueue(_ message: OutboxMessage) -> Self {
        Self([OutboxRow.insert(message)])
    }

    /// Withdraws a message, unless it was sent or a worker has claimed it.
    package static func withdraw(
        _ message: PostgresUUID,
        tenant: TenantID,
        because reason: OutboxMessage.DiscardReason,
        at now: Timestamp
    ) -> Self {
        Self([OutboxRow.discard(message, tenant: tenant, because: reason, at: now)])
    }
}

extension AccountStore {
    /// The number of waiting messages of all tenants, up to `countMax`. One round trip.
    package func waitingMessages(
        _ kind: OutboxMessage.Kind,
        countMax: Int64
    ) async throws(PostgresError) -> WaitingMessages {
        try await client.read(OutboxRow.waiting(kind, countMax: countMax)).first
            ?? WaitingMessages(count: 0, oldest: nil)
    }

    /// The newest `countMax` messages that wait to be sent, still sealed, the oldest first. One round trip.
    package func waitingMessages(
        _ kind: OutboxMessage.Kind,
        countMax: Int64,
        tenant: TenantID
    ) async throws(PostgresError) -> [WaitingMessage] {
        try await client.read(OutboxRow.newest(kind, countMax: countMax, tenant: tenant)).reversed()
    }

    /// Claims due messages until `until`, the longest due first. Includes expired messages, which must be ended.
    package func claimMessages(
        _ kind: OutboxMessage.Kind,
        at now: Timestamp,
        until: Timestamp,
        countMax: Int
    ) async throws(PostgresError) -> [ClaimedMessage] {
        let statement = OutboxRow.claim(kind, at: now, until: until, countMax: Int64(countMax))
        return try await client.write(WriteBatch("outbox-claim", [statement])).rows(0)
    }

    /// Stores the result of an attempt. If another worker has claimed the message since, only a delivery counts.
    package func finish(_ message: ClaimedMessage, _ attempt: MessageAttempt) async throws(PostgresError) {
        var batch = WriteBatch("outbox-finish")
        switch attempt {
        case .delivered: batch.append(OutboxRow.markSent(message))
        case .retry(let time, let reason): batch.append(OutboxRow.postpone(message, until: time, reason: reason))
        case .givenUp(let reason): batch.append(OutboxRow.giveUp(message, reason: reason, keepsContent: true))
        case .expired: batch.append(OutboxRow.giveUp(message, reason: "expired", keepsContent: false))
        case .withheld: batch.append(OutboxRow.discard(message))
        case .dropped: batch.append(OutboxRow.drop(message))
        }
        try await client.write(batch)
    }

    /// Releases claimed messages that were not tried. Any worker can claim them from `until` on. No attempt is counted.
    ///
    /// - `reason`: stored with the messages; `nil` leaves the stored one.
    package func release(_ messages: [ClaimedMessage], until: Timestamp, reason: String?) async throws(PostgresError) {
        let statement = OutboxRow.release(
            tenants: messages.map(\.tenant.rawValue),
            ids: messages.map(\.id),
            leasedUntil: messages.map(\.leasedUntil.stored),
            until: until,
            reason: reason
        )
        try await client.write(WriteBatch("outbox-release", [statement]))
    }

    /// The oldest `countMax` messages of all tenants in a state, the oldest first.
    package func outboxEntries(
        _ state: OutboxMessage.State,
        countMax: Int
    ) async throws(PostgresError) -> [OutboxEntry] {
        try await client.read(OutboxRow.entries(state, countMax: Int64(countMax)))
    }

    /// The message with an id, of any tenant; `nil` if there is none.
    package func outboxEntry(_ id: PostgresUUID) async throws(PostgresError) -> OutboxEntry? {
        try await client.read(OutboxRow.entry(id)).first
    }

    /// Makes failed messages due again, unless they have expired: at most `countMax` of `ids`, or of all failed
    /// messages if `ids` is `nil`.
    /// - Returns: the number of messages.
    package func retryMessages(
        _ ids: [PostgresUUID]?,
        at now: Timestamp,
        countMax: Int
    ) async throws(PostgresError) -> Int {
        let batch = WriteBatch("outbox-retry", [OutboxRow.retry(ids, at: now, countMax: Int64(countMax))])
        return try await client.write(batch).affectedRows(0)
    }

    /// The oldest `countMax` messages of a selection that no worker has, the oldest first.
    package func discardableMessages(
        _ selection: OutboxSelection,
        at now: Timestamp,
        countMax: Int
    ) async throws(PostgresError) -> [OutboxEntry] {
        try await client.read(OutboxRow.discardable(selection, at: now, countMax: Int64(countMax)))
    }

    /// The number of messages of a selection that no worker has at `now`, and of those that one has.
    package func countDiscardable(
        _ selection: OutboxSelection,
        at now: Timestamp
    ) async throws(PostgresError) -> DiscardableMessages? {
        try await client.read(OutboxRow.countDiscardable(selection, at: now)).first
    }

    /// Withdraws at most `countMax` messages of a selection that no worker has, and deletes their content.
    ///
    /// If a worker claims a message at the same time, one of the two wins: a message is sent or discarded, never both.
    /// - Returns: the number of messages.
    package func discardMessages(
        _ selection: OutboxSelection,
        at now: Timestamp,
        countMax: Int
    ) async throws(PostgresError) -> Int {
        let batch = WriteBatch("outbox-discard", [OutboxRow.discard(selection, at: now, countMax: Int64(countMax))])
        return try await client.write(batch).affectedRows(0)
    }

    /// The state of a message; `nil` if it does not exist.
    package func messageState(
        _ id: PostgresUUID,
        tenant: TenantID
    ) async throws(PostgresError) -> OutboxMessage.State? {
        try await client.read(OutboxRow.state(of: id, tenant: tenant)).first?.value
    }
}
