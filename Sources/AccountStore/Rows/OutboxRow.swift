package import AccountLinking
package import Postgres

/// A message on its way out. Its content is sealed.
package struct OutboxMessage: Sendable, Hashable {
    /// The way out.
    package enum Kind: String, Sendable, CaseIterable {
        case mail
    }

    package var tenant: TenantID
    package var id: PostgresUUID
    package var kind: Kind
    /// `nil`: there is nothing to send; the row is written so that the request costs the same.
    package var sealedPayload: [UInt8]?
    package var createdAt: Timestamp
    /// Not worth sending any more from then on.
    package var expiresAt: Timestamp

    package init(
        tenant: TenantID,
        id: PostgresUUID,
        kind: Kind,
        sealedPayload: [UInt8]?,
        createdAt: Timestamp,
        expiresAt: Timestamp
    ) {
        self.tenant = tenant
        self.id = id
        self.kind = kind
        self.sealedPayload = sealedPayload
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// A message that waits to be sent.
struct OutboxRow: RowDecodable {
    let id: PostgresUUID
    let sealedPayload: [UInt8]

    init(row: inout RowDecoder) throws(PostgresError) {
        id = try row.next(PostgresUUID.self)
        sealedPayload = try row.next(Bytes.self)
    }

    /// The newest `countMax` messages that wait, the newest first.
    static func newest(_ kind: OutboxMessage.Kind, countMax: Int64, tenant: TenantID) -> Query<OutboxRow> {
        Query(
            """
            SELECT message_id, sealed_payload FROM outbox
            WHERE tenant_id = \(tenant.rawValue) AND kind = \(kind.rawValue) AND state = 'pending'
            ORDER BY created_at DESC, message_id DESC LIMIT \(countMax)
            """
        )
    }

    /// How many messages wait, counted up to `countMax`.
    static func waitingCount(_ kind: OutboxMessage.Kind, countMax: Int64) -> Query<CountRow> {
        Query(
            """
            SELECT count(*) FROM (
                SELECT 1 FROM outbox WHERE state = 'pending' AND kind = \(kind.rawValue) LIMIT \(countMax)
            ) AS waiting
            """
        )
    }

    static func deleteExpired(before cutoff: Timestamp, rowsMax: Int64) -> SQL {
        """
        DELETE FROM outbox WHERE (tenant_id, message_id) IN (
            SELECT tenant_id, message_id FROM outbox WHERE expires_at <= \(cutoff.stored)
            ORDER BY expires_at LIMIT \(rowsMax) FOR UPDATE SKIP LOCKED
        )
        """
    }

    /// Those that are pending no more and were written before `cutoff`.
    static func deleteFinished(before cutoff: Timestamp, rowsMax: Int64) -> SQL {
        """
        DELETE FROM outbox WHERE (tenant_id, message_id) IN (
            SELECT tenant_id, message_id FROM outbox WHERE state <> 'pending' AND created_at <= \(cutoff.stored)
            ORDER BY created_at LIMIT \(rowsMax) FOR UPDATE SKIP LOCKED
        )
        """
    }

    static func insert(_ message: OutboxMessage) -> SQL {
        let state = message.sealedPayload == nil ? "withheld" : "pending"
        return """
            INSERT INTO outbox (tenant_id, message_id, kind, sealed_payload, created_at, expires_at, state,
                next_attempt_at)
            VALUES (\(message.tenant.rawValue), \(message.id), \(message.kind.rawValue), \(message.sealedPayload),
                \(message.createdAt.stored), \(message.expiresAt.stored), \(state), \(message.createdAt.stored))
            """
    }
}

extension AccountWrite.Companion {
    /// Writes a message into the outbox.
    package static func enqueue(_ message: OutboxMessage) -> Self {
        Self([OutboxRow.insert(message)])
    }
}

/// A number of rows.
struct CountRow: RowDecodable {
    let count: Int64

    init(row: inout RowDecoder) throws(PostgresError) {
        count = try row.next(Int64.self)
    }
}

extension AccountStore {
    /// How many messages of all tenants wait to be sent, counted up to `countMax`. One round trip.
    package func waitingMessageCount(
        _ kind: OutboxMessage.Kind,
        countMax: Int64
    ) async throws(PostgresError) -> Int64 {
        try await client.read(OutboxRow.waitingCount(kind, countMax: countMax)).first?.count ?? 0
    }

    /// The newest `countMax` messages that wait to be sent, still sealed, the oldest first. One round trip.
    package func waitingMessages(
        _ kind: OutboxMessage.Kind,
        countMax: Int64,
        tenant: TenantID
    ) async throws(PostgresError) -> [(id: PostgresUUID, sealedPayload: [UInt8])] {
        try await client.read(OutboxRow.newest(kind, countMax: countMax, tenant: tenant)).reversed()
            .map { ($0.id, $0.sealedPayload) }
    }
}
