package import AccountLinking
package import Postgres
import Synchronization

/// An endpoint that receives events.
package struct WebhookEndpointRecord: Sendable, Hashable {
    package typealias ID = PostgresUUID

    /// The reason why sending stopped.
    package enum DisabledReason: String, Sendable {
        /// The endpoint answered 410.
        case gone
        case failing
    }

    package let id: PostgresUUID
    package let url: String
    package let createdAt: Timestamp
    /// The time since which every attempt has failed; `nil` if the last one succeeded.
    package let failingSince: Timestamp?
    package let disabledReason: DisabledReason?
    package let waitingCount: Int64
    package let failedCount: Int64
    /// Raised by every change but counts and `failingSince`.
    package let version: Int64
}

struct WebhookEndpointRow: RowDecodable {
    let record: WebhookEndpointRecord

    init(row: inout RowDecoder) throws(PostgresError) {
        record = WebhookEndpointRecord(
            id: try row.next(),
            url: try row.next(),
            createdAt: try row.next(),
            failingSince: try row.next(),
            disabledReason: try row.next(),
            waitingCount: try row.next(),
            failedCount: try row.next(),
            version: try row.next()
        )
    }

    /// Messages are counted up to this.
    private static let countMax: Int64 = 10_000

    static let all: Query<WebhookEndpointRow> = "\(select) ORDER BY created_at, endpoint_id"

    static func withID(_ id: PostgresUUID) -> Query<WebhookEndpointRow> { "\(select) WHERE endpoint_id = \(id)" }

    private static let select: SQL = """
        SELECT endpoint_id, url, created_at, failing_since, disabled_reason,
            (SELECT count(*) FROM (SELECT 1 FROM \(table: "webhook_messages") AS m
                WHERE m.endpoint_id = e.endpoint_id AND state = 'pending' LIMIT \(countMax)) AS waiting),
            (SELECT count(*) FROM (SELECT 1 FROM webhook_messages AS m
                WHERE m.endpoint_id = e.endpoint_id AND state = 'failed' LIMIT \(countMax)) AS failed),
            version
        FROM \(table: "webhook_endpoints") AS e
        """

    /// The sealed secrets that sign at `now`.
    static func secrets(of id: PostgresUUID, at now: Timestamp) -> Query<WebhookSecretsRow> {
        """
        SELECT sealed_secret, CASE WHEN older_secret_until > \(now) THEN sealed_older_secret END
        FROM \(table: "webhook_endpoints") WHERE endpoint_id = \(id)
        """
    }

    static let enabledCount: Query<Int64> = """
        SELECT count(*) FROM \(table: "webhook_endpoints") WHERE disabled_at IS NULL
        """

    /// Takes the first free slot. Inserts nothing if all are taken. Raises 23505 if another request took the slot
    /// first.
    static func insert(_ id: PostgresUUID, url: String, sealedSecret: [UInt8], at now: Timestamp) -> SQL {
        """
        INSERT INTO webhook_endpoints (endpoint_id, slot, url, sealed_secret, created_at)
        SELECT \(id), slot, \(url), \(sealedSecret), \(now) FROM generate_series(1, 10) AS slot
        WHERE NOT EXISTS (SELECT 1 FROM webhook_endpoints AS taken WHERE taken.slot = slot.slot)
        ORDER BY slot LIMIT 1
        """
    }

    /// `version`: the required version, here and below.
    static func delete(_ id: PostgresUUID, version: Int64?) -> SQL {
        """
        DELETE FROM webhook_endpoints
        WHERE endpoint_id = \(id) AND (\(version)::bigint IS NULL OR version = \(version))
        """
    }

    /// The previous secret signs until `until`.
    static func replaceSecret(of id: PostgresUUID, version: Int64?, by sealedSecret: [UInt8], until: Timestamp) -> SQL {
        """
        UPDATE webhook_endpoints SET sealed_older_secret = sealed_secret, older_secret_until = \(until),
            sealed_secret = \(sealedSecret), version = version + 1
        WHERE endpoint_id = \(id) AND (\(version)::bigint IS NULL OR version = \(version))
        """
    }

    static func enable(_ id: PostgresUUID, version: Int64?) -> SQL {
        """
        UPDATE webhook_endpoints SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL,
            version = version + 1
        WHERE endpoint_id = \(id) AND (\(version)::bigint IS NULL OR version = \(version))
        """
    }

    static func noteSuccess(of id: PostgresUUID) -> SQL {
        "UPDATE webhook_endpoints SET failing_since = NULL WHERE endpoint_id = \(id) AND failing_since IS NOT NULL"
    }

    static func noteFailure(of id: PostgresUUID, at now: Timestamp) -> SQL {
        """
        UPDATE webhook_endpoints SET failing_since = \(now)
        WHERE endpoint_id = \(id) AND failing_since IS NULL
        """
    }

    /// `failingBefore`: only if it has failed since before then.
    static func disable(
        _ id: PostgresUUID,
        _ reason: WebhookEndpointRecord.DisabledReason,
        failingBefore: Timestamp,
        at now: Timestamp
    ) -> SQL {
        """
        UPDATE webhook_endpoints SET disabled_at = \(now), disabled_reason = \(reason),
            version = version + 1
        WHERE endpoint_id = \(id) AND disabled_at IS NULL AND failing_since <= \(failingBefore)
        """
    }
}

struct WebhookSecretsRow: RowDecodable {
    let sealed: [[UInt8]]

    init(row: inout RowDecoder) throws(PostgresError) {
        let (secret, older): ([UInt8], [UInt8]?) = (try row.next(), try row.next())
        sealed = [secret, older].compactMap(\.self)
    }
}

extension AccountStore {
    /// Every endpoint, the oldest first.
    package func webhookEndpoints() async throws(PostgresError) -> [WebhookEndpointRecord] {
        try await client.read(WebhookEndpointRow.all).map(\.record)
    }

    /// An endpoint; `nil` if there is none with the id.
    package func webhookEndpoint(_ id: PostgresUUID) async throws(PostgresError) -> WebhookEndpointRecord? {
        try await client.read(WebhookEndpointRow.withID(id)).first?.record
    }

    /// The sealed secrets that sign events to an endpoint at `now`; `nil` if there is none with the id.
    package func webhookSecrets(of id: PostgresUUID, at now: Timestamp) async throws(PostgresError) -> [[UInt8]]? {
        try await client.read(WebhookEndpointRow.secrets(of: id, at: now)).first?.sealed
    }

    /// Reads and remembers if any endpoint is enabled. Without one, and before this read, no event is written.
    package func refreshWebhooks() async throws(PostgresError) {
        let count = try await client.read(WebhookEndpointRow.enabledCount).first ?? 0
        webhooks.isOn.store(count > 0, ordering: .relaxed)
    }

    /// True if events are written for an endpoint.
    package var hasWebhooks: Bool { webhooks.isOn.load(ordering: .relaxed) }

    /// The result of a change of an endpoint.
    package enum WebhookChange: Sendable, Hashable {
        case applied
        /// There is no such endpoint with the required version, or no free slot.
        case nothing
        /// Another request took the slot, or a side write was stopped. Try again.
        case factsMoved
    }

    /// Adds an endpoint. It gets events from the moment when every server has read it.
    package func addWebhookEndpoint(
        _ id: PostgresUUID,
        url: String,
        sealedSecret: [UInt8],
        at now: Timestamp,
        sideWrites: [AccountWrite.SideWrite] = []
    ) async throws(PostgresError) -> WebhookChange {
        try await changeWebhooks(
            WebhookEndpointRow.insert(id, url: url, sealedSecret: sealedSecret, at: now),
            sideWrites
        )
    }

    /// Deletes an endpoint and its waiting messages.
    ///
    /// `version`: the required version, here and in the other changes; `nil` for any.
    package func deleteWebhookEndpoint(
        _ id: PostgresUUID,
        version: Int64?,
        sideWrites: [AccountWrite.SideWrite] = []
    ) async throws(PostgresError) -> WebhookChange {
        try await changeWebhooks(WebhookEndpointRow.delete(id, version: version), sideWrites)
    }

    /// Replaces the secret of an endpoint. The previous one also signs until `until`.
    package func replaceWebhookSecret(
        of id: PostgresUUID,
        version: Int64?,
        by sealedSecret: [UInt8],
        until: Timestamp,
        sideWrites: [AccountWrite.SideWrite] = []
    ) async throws(PostgresError) -> WebhookChange {
        try await changeWebhooks(
            WebhookEndpointRow.replaceSecret(of: id, version: version, by: sealedSecret, until: until),
            sideWrites
        )
    }

    /// Enables an endpoint again.
    package func enableWebhookEndpoint(
        _ id: PostgresUUID,
        version: Int64?,
        sideWrites: [AccountWrite.SideWrite] = []
    ) async throws(PostgresError) -> WebhookChange {
        try await changeWebhooks(WebhookEndpointRow.enable(id, version: version), sideWrites)
    }

    /// Side writes are written only with a change: all of it or nothing.
    private func changeWebhooks(
        _ statement: SQL,
        _ sideWrites: [AccountWrite.SideWrite]
    ) async throws(PostgresError) -> WebhookChange {
        let change: WebhookChange
        do {
            change = try await client.transaction("webhook-endpoint") { tx throws(PostgresError) in
                guard try tx.execute(statement) == 1 else { return .nothing }
                for statement in sideWrites.flatMap(\.statements) { try tx.execute(statement) }
                return .applied
            }
        } catch {
            guard error.saysFactsMoved else { throw error }
            return .factsMoved
        }
        // If this fails, the server reads the endpoint a moment later, like all others.
        try? await refreshWebhooks()
        return change
    }
}
