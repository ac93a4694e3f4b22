package import AccountLinking
package import JSON
package import Postgres

/// What came of a decision, written in the transaction that applied it. Holds no credential, address or number.
package struct AccountEvent: Sendable {
    /// What happened, in the past tense; a closed set.
    package enum Kind: String, Sendable, CaseIterable {
        /// A "no" to somebody who had shown something: a provider's credential, a mailed link, a session, a proof.
        case refused
        case userCreated = "user-created"
        /// Made, or replaced, by an import.
        case userImported = "user-imported"
        case signedIn = "signed-in"
        case methodLinked = "method-linked"
        case accountTakenOver = "account-taken-over"
        case conflictOpened = "conflict-opened"
        case conflictProofRequested = "conflict-proof-requested"
        case conflictProofFailed = "conflict-proof-failed"
        case conflictProven = "conflict-proven"
        case conflictResolved = "conflict-resolved"
        case conflictDeclined = "conflict-declined"
        case userUpdated = "user-updated"
        case secondFactorsChanged = "second-factors-changed"
        case methodRestored = "method-restored"
        case quarantineDiscarded = "quarantine-discarded"
        /// One of several, or all but one.
        case sessionEnded = "session-ended"
        case sessionsRevoked = "sessions-revoked"
        case userDeleted = "user-deleted"
        /// Another account is to become part of this one.
        case mergePrepared = "merge-prepared"
        case mergeAborted = "merge-aborted"
        /// Another account has become part of this one.
        case accountsMerged = "accounts-merged"
        /// The account has become part of another.
        case mergedAway = "merged-away"
        case mergeUndone = "merge-undone"
        /// As the plan of an audit says.
        case accountRepaired = "account-repaired"
        /// A repair was taken back.
        case repairUndone = "repair-undone"
    }

    package typealias ID = PostgresUUID

    /// Made before the transaction, so that a commit whose answer was lost can be looked up.
    package var id: ID
    package var occurredAt: Timestamp
    package var kind: Kind
    package var rule: Rule
    package var details: JSONValue?
    /// What the rules were asked, all under one version of the policy; empty where nothing is kept of it.
    package var decisions: [DecisionRecord]

    package init(
        id: ID,
        occurredAt: Timestamp,
        kind: Kind,
        rule: Rule,
        details: JSONValue? = nil,
        decisions: [DecisionRecord] = []
    ) {
        self.id = id
        self.occurredAt = occurredAt
        self.kind = kind
        self.rule = rule
        self.details = details
        self.decisions = decisions
    }
}

enum AccountEventRow {
    static func insert(_ event: AccountEvent, of user: UserID, tenant: TenantID) -> SQL {
        let values: SQL = """
            (\(tenant), \(user), \(event.id), \(event.occurredAt), \(event.kind),
            \(event.rule), \(event.details),
            \(event.decisions.first?.policy.version), \(decisionsText(event)))
            """
        return """
            INSERT INTO account_events (tenant_id, user_id, event_id, occurred_at, kind, rule, details, policy_version,
                decisions)
            VALUES \(row: values)
            """
    }

    /// Events without details and decisions, of many users.
    static func insertMany(_ events: [(AccountEvent, UserID)], tenant: TenantID) -> SQL {
        """
        INSERT INTO account_events (tenant_id, user_id, event_id, occurred_at, kind, rule)
        SELECT \(tenant), new.*
        FROM unnest(\(events.map(\.1)), \(events.map(\.0.id)), \(events.map(\.0.occurredAt)),
            \(events.map(\.0.kind)), \(events.map(\.0.rule))) AS new
        """
    }

    private static func decisionsText(_ event: AccountEvent) -> JSONText? {
        guard !event.decisions.isEmpty else { return nil }
        var writer = JSONWriter()
        writer.array(event.decisions) { writer, decision in decision.write(to: &writer) }
        return JSONText(writer.text)
    }

    static func withID(_ id: PostgresUUID, of user: UserID, tenant: TenantID) -> Query<PostgresUUID> {
        """
        SELECT event_id FROM \(table: "account_events")
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND event_id = \(id)
        """
    }

    static func deleteOld(before cutoff: Timestamp, rowsMax: Int64) -> SQL {
        """
        DELETE FROM account_events WHERE (tenant_id, user_id, event_id) IN (
            SELECT tenant_id, user_id, event_id FROM account_events
            WHERE event_id < \(AccountEvent.ID(firstAt: cutoff)) AND occurred_at <= \(cutoff)
            ORDER BY event_id LIMIT \(rowsMax) FOR UPDATE SKIP LOCKED
        )
        """
    }
}

extension AccountEvent.ID {
    /// An id begins with its time, in milliseconds (RFC 9562 §5.7), so that what is old stands first in the index by id.
    init(firstAt instant: Timestamp) {
        self.init(high: UInt64(max(0, instant.millisecondsSinceEpoch)) << 16, low: 0)
    }
}

/// An event as it is read back, to be explained.
package struct StoredEvent: Sendable, Hashable {
    package let tenant: TenantID
    package let user: UserID
    package let id: AccountEvent.ID
    package let occurredAt: Timestamp
    /// A name of `AccountEvent.Kind`, or one that only another version knows.
    package let kind: String
    package let rule: String
    /// Of repairs: the plan, its step and the rule of the audit.
    package let details: JSONValue?
    package let policyVersion: Int64?
    /// What is kept of the questions, whether or not this version can read it.
    package let decisions: [JSONValue]

    /// The questions, as far as this version knows them.
    package var records: [DecisionRecord] {
        guard let policyVersion else { return [] }
        return decisions.compactMap { DecisionRecord(stored: $0, policyVersion: policyVersion) }
    }
}

struct StoredEventRow: RowDecodable {
    let event: StoredEvent

    init(row: inout RowDecoder) throws(PostgresError) {
        let tenant: TenantID = try row.next()
        let user: UserID = try row.next()
        let id = try row.next(PostgresUUID.self)
        let occurredAt: Timestamp = try row.next()
        let kind = try row.next(String.self)
        let rule = try row.next(String.self)
        let details: JSONValue? = try row.next()
        let policyVersion = try row.next(Int64?.self)
        event = StoredEvent(
            tenant: tenant,
            user: user,
            id: id,
            occurredAt: occurredAt,
            kind: kind,
            rule: rule,
            details: details,
            policyVersion: policyVersion,
            decisions: (try row.next() as JSONValue?)?.array ?? []
        )
    }

    private static let select: SQL = """
        SELECT tenant_id, user_id, event_id, occurred_at, kind, rule, details, policy_version, decisions \
        FROM \(table: "account_events")
        """

    static func withID(_ id: PostgresUUID) -> Query<StoredEventRow> {
        """
        \(select) WHERE event_id = \(id) LIMIT 1
        """
    }

    /// Those of all accounts that keep a question, after one of them, in the order of their ids.
    static func withQuestions(after id: PostgresUUID, tenant: String?, limit: Int64) -> Query<StoredEventRow> {
        """
        \(select) WHERE event_id > \(id) AND decisions IS NOT NULL
            AND (\(tenant == nil) OR tenant_id = \(tenant ?? ""))
        ORDER BY event_id LIMIT \(limit)
        """
    }

    /// The newest first; with `before`, those that are older than that one.
    static func of(_ user: UserID, tenant: TenantID, before: PostgresUUID?, rowsMax: Int64) -> Query<StoredEventRow> {
        """
        \(select) WHERE tenant_id = \(tenant) AND user_id = \(user)
            AND event_id < \(before ?? PostgresUUID(high: .max, low: .max))
        ORDER BY event_id DESC LIMIT \(rowsMax)
        """
    }
}

extension AccountStore {
    /// An event by its id alone; `nil` when there is none. One round trip.
    package func event(_ id: AccountEvent.ID) async throws(PostgresError) -> StoredEvent? {
        try await client.read(StoredEventRow.withID(id)).first?.event
    }

    /// What happened to an account, the newest first, at most `countMax` of it; with `before`, what is older than that
    /// event. Also of an account that is gone. One round trip.
    package func events(
        of user: UserID,
        tenant: TenantID,
        before: AccountEvent.ID?,
        countMax: Int
    ) async throws(PostgresError) -> [StoredEvent] {
        try await client.read(StoredEventRow.of(user, tenant: tenant, before: before, rowsMax: Int64(countMax)))
            .map(\.event)
    }

    /// Keeps an event that changed nothing: a "no".
    package func keep(_ event: AccountEvent, of user: UserID, tenant: TenantID) async throws(PostgresError) {
        try await client.write(WriteBatch("event", [AccountEventRow.insert(event, of: user, tenant: tenant)]))
    }
}
