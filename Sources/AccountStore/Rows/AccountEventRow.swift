package import AccountLinking
package import JSON
package import Postgres

/// The result of a decision, written in the transaction that applies it. Holds no credential, address or number.
package struct AccountEvent: Sendable {
    /// The kinds of events, in the past tense. The set is closed.
    package enum Kind: String, Sendable, CaseIterable {
        /// A refusal of a caller who presented a provider's credential, a mailed link, a session or a proof.
        case refused
        case userCreated = "user-created"
        /// An import created or replaced the account.
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
        /// An app got a session of one of Concord's pages.
        case sessionHandedOver = "session-handed-over"
        /// One session, or all but one.
        case sessionEnded = "session-ended"
        case sessionsRevoked = "sessions-revoked"
        case userDeleted = "user-deleted"
        /// A merge of another account into this one is prepared.
        case mergePrepared = "merge-prepared"
        case mergeAborted = "merge-aborted"
        /// Another account was merged into this one.
        case accountsMerged = "accounts-merged"
        /// The account was merged into another.
        case mergedAway = "merged-away"
        case mergeUndone = "merge-undone"
        /// A repair from the plan of an audit.
        case accountRepaired = "account-repaired"
        /// A repair was undone.
        case repairUndone = "repair-undone"
    }

    package typealias ID = PostgresUUID

    /// Made before the transaction, so that a commit whose answer was lost can be looked up.
    package var id: ID
    package var occurredAt: Timestamp
    package var kind: Kind
    package var rule: Rule
    package var details: JSONValue?
    /// The questions to the rules, all under one version of the policy; empty if none is stored.
    package var decisions: [DecisionRecord]
    /// The version of the policy that decided. With it and without questions, the facts were left out (`FactSampling`).
    package var policyVersion: Int64?

    package init(
        id: ID,
        occurredAt: Timestamp,
        kind: Kind,
        rule: Rule,
        details: JSONValue? = nil,
        decisions: [DecisionRecord] = [],
        policyVersion: Int64? = nil
    ) {
        self.id = id
        self.occurredAt = occurredAt
        self.kind = kind
        self.rule = rule
        self.details = details
        self.decisions = decisions
        self.policyVersion = policyVersion ?? decisions.first?.policy.version
    }
}

/// An event, or a stored event by the properties that its columns are written from.
struct AccountEventRow {
    fileprivate let tenant: TenantID
    fileprivate let user: UserID
    fileprivate let event: AccountEvent

    // A kind of another version is read by name.
    fileprivate var kind: String { event.kind.rawValue }
    fileprivate var rule: String { event.rule.rawValue }
    fileprivate var decisions: JSONText? {
        guard !event.decisions.isEmpty else { return nil }
        var writer = JSONWriter()
        writer.array(event.decisions) { writer, decision in decision.write(to: &writer) }
        return JSONText(writer.text)
    }

    private static let summary: [Column<AccountEventRow>] = [
        Column("tenant_id", \.tenant), Column("user_id", \.user), Column("event_id", \.event.id),
        Column("occurred_at", \.event.occurredAt), Column("kind", \.kind), Column("rule", \.rule),
    ]
    private static let summaries = Columns(of: "account_events", summary)
    fileprivate static let columns = Columns(
        of: "account_events",
        summary + [
            Column("details", \.event.details), Column("policy_version", \.event.policyVersion),
            Column("decisions", \.decisions),
        ]
    )

    static func insert(_ event: AccountEvent, of user: UserID, tenant: TenantID) -> SQL {
        columns.insert(AccountEventRow(tenant: tenant, user: user, event: event), isShared: true)
    }

    /// Events without details and decisions, of many users.
    static func insertMany(_ events: [(AccountEvent, UserID)], tenant: TenantID) -> SQL {
        summaries.insertMany(
            events.map { AccountEventRow(tenant: tenant, user: $1, event: $0) },
            tenant: tenant
        )
    }

    static func withID(_ id: PostgresUUID, of user: UserID, tenant: TenantID) -> Query<PostgresUUID> {
        """
        SELECT event_id FROM \(table: "account_events")
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND event_id = \(id)
        """
    }

    /// Deletes old events from before the first month. Months are dropped as a whole (`EventMonth`).
    static func deleteOld(before cutoff: Timestamp, rowsMax: Int64) -> SQL {
        deleteOld("account_events_past", before: cutoff, rowsMax: rowsMax)
    }

    /// Deletes old events of months without partition.
    static func deleteOldOutsideMonths(before cutoff: Timestamp, rowsMax: Int64) -> SQL {
        deleteOld("account_events_default", before: cutoff, rowsMax: rowsMax)
    }

    private static func deleteOld(_ partition: SQL, before cutoff: Timestamp, rowsMax: Int64) -> SQL {
        """
        DELETE FROM \(partition)
        WHERE \(SQL.first(
            rowsMax,
            of: partition,
            key: "tenant_id, user_id, event_id",
            where: "event_id < \(AccountEvent.ID(firstAt: cutoff)) AND occurred_at <= \(cutoff)",
            by: "event_id"
        ))
        """
    }
}

extension AccountEvent.ID {
    /// An id begins with its time in milliseconds (RFC 9562 §5.7), so that the index by id is in the order of time.
    init(firstAt instant: Timestamp) {
        self.init(high: UInt64(max(0, instant.millisecondsSinceEpoch)) << 16, low: 0)
    }
}

/// A stored event, as explanations and lists read it.
package struct StoredEvent: Sendable, Hashable {
    package let tenant: TenantID
    package let user: UserID
    package let id: AccountEvent.ID
    package let occurredAt: Timestamp
    /// A name of `AccountEvent.Kind`, or the name of a kind from another version.
    package let kind: String
    package let rule: String
    /// The plan, its step and the audit rule of a repair; the provider and the second factor of a sign-in without facts.
    package let details: JSONValue?
    package let policyVersion: Int64?
    /// The stored questions, also those that this version cannot read.
    package let decisions: [JSONValue]

    /// True for an ordinary sign-in whose facts were left out (`FactSampling`).
    package var omitsFacts: Bool { policyVersion != nil && decisions.isEmpty }

    /// The questions that this version can read.
    package var records: [DecisionRecord] {
        guard let policyVersion else { return [] }
        return decisions.compactMap { DecisionRecord(stored: $0, policyVersion: policyVersion) }
    }
}

struct StoredEventRow: RowDecodable {
    let event: StoredEvent

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = AccountEventRow.columns.values(&row)
        let decisions = try values(\.decisions)
        let questions = decisions.flatMap(JSONValue.reading)
        guard decisions == nil || questions != nil else { throw .unreadable("account_events.decisions") }
        event = StoredEvent(
            tenant: try values(\.tenant),
            user: try values(\.user),
            id: try values(\.event.id),
            occurredAt: try values(\.event.occurredAt),
            kind: try values(\.kind),
            rule: try values(\.rule),
            details: try values(\.event.details),
            policyVersion: try values(\.event.policyVersion),
            decisions: questions?.array ?? []
        )
    }

    private static let select = AccountEventRow.columns.select

    static func withID(_ id: PostgresUUID) -> Query<StoredEventRow> {
        """
        \(select) WHERE event_id = \(id) LIMIT 1
        """
    }

    /// The events of all accounts that store a question, after `id`, in the order of their ids.
    static func withQuestions(after id: PostgresUUID, tenant: String?, limit: Int64) -> Query<StoredEventRow> {
        """
        \(select) WHERE event_id > \(id) AND decisions IS NOT NULL
            AND (\(tenant == nil) OR tenant_id = \(tenant ?? ""))
        ORDER BY event_id LIMIT \(limit)
        """
    }

    /// The number of ordinary sign-ins after `id` whose facts were left out (`FactSampling`).
    static func countWithoutFacts(after id: PostgresUUID, since: Timestamp, tenant: String?) -> Query<Int64> {
        """
        SELECT count(*) FROM \(table: "account_events")
        WHERE event_id > \(id) AND occurred_at >= \(since) AND decisions IS NULL AND policy_version IS NOT NULL
            AND (\(tenant == nil) OR tenant_id = \(tenant ?? ""))
        """
    }

    /// The events of an account, newest first. `before` limits them to older events.
    static func of(_ user: UserID, tenant: TenantID, before: PostgresUUID?, rowsMax: Int64) -> Query<StoredEventRow> {
        """
        \(select) WHERE tenant_id = \(tenant) AND user_id = \(user)
            AND event_id < \(before ?? PostgresUUID(high: .max, low: .max))
        ORDER BY event_id DESC LIMIT \(rowsMax)
        """
    }
}

extension AccountStore {
    /// The event with an id; `nil` if there is none. One round trip.
    package func event(_ id: AccountEvent.ID) async throws(PostgresError) -> StoredEvent? {
        try await client.read(StoredEventRow.withID(id)).first?.event
    }

    /// The newest `countMax` events of an account, also of a deleted one, newest first. `before` limits them to older
    /// events. One round trip.
    package func events(
        of user: UserID,
        tenant: TenantID,
        before: AccountEvent.ID?,
        countMax: Int
    ) async throws(PostgresError) -> [StoredEvent] {
        try await client.read(StoredEventRow.of(user, tenant: tenant, before: before, rowsMax: Int64(countMax)))
            .map(\.event)
    }

    /// Stores the event of a refusal, which changed nothing else.
    package func keep(_ event: AccountEvent, of user: UserID, tenant: TenantID) async throws(PostgresError) {
        try await client.write(WriteBatch("event", [AccountEventRow.insert(event, of: user, tenant: tenant)]))
    }
}
