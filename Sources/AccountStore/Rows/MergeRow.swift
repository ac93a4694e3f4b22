package import AccountLinking
import JSON
package import Postgres

/// A merge of two accounts: prepared, committed, aborted or undone.
package struct MergeRecord: Sendable, Hashable {
    package typealias ID = PostgresUUID

    package let tenant: TenantID
    package let id: PostgresUUID
    package let survivor: UserID
    package let absorbed: UserID
    package let state: MergeState
    package let choices: [MergeField: MergeSide]
    package let requestedBy: MergeRequesterKind
    /// The administrator's reason, 1 to 500 characters.
    package let reason: String?
    /// The versions of the accounts when the merge was prepared.
    package let survivorVersion: Int64
    package let absorbedVersion: Int64
    package let preparedAt: Timestamp
    package let deadlineAt: Timestamp
    /// When the merge was committed or aborted.
    package let endedAt: Timestamp?
    package let abortReason: MergeAbortReason?
    package let undoUntil: Timestamp?
    package let undoneAt: Timestamp?

    /// A prepared merge.
    package init(
        tenant: TenantID,
        id: PostgresUUID,
        survivor: UserRecord,
        absorbed: UserRecord,
        choices: [MergeField: MergeSide],
        requestedBy: MergeRequesterKind,
        reason: String?,
        preparedAt: Timestamp,
        deadlineAt: Timestamp
    ) {
        self.tenant = tenant
        self.id = id
        self.survivor = survivor.id
        self.absorbed = absorbed.id
        self.state = .prepared
        self.choices = choices
        self.requestedBy = requestedBy
        self.reason = reason
        self.survivorVersion = survivor.version
        self.absorbedVersion = absorbed.version
        self.preparedAt = preparedAt
        self.deadlineAt = deadlineAt
        self.endedAt = nil
        self.abortReason = nil
        self.undoUntil = nil
        self.undoneAt = nil
    }

    fileprivate init(row: inout RowDecoder) throws(PostgresError) {
        var values = MergeRow.columns.values(&row)
        tenant = try values(\.tenant)
        id = try values(\.id)
        survivor = try values(\.survivor)
        absorbed = try values(\.absorbed)
        state = try values(\.state)
        var choices: [MergeField: MergeSide] = [:]
        for (name, side) in try values(\.storedChoices)?.object ?? [:] {
            guard let field = MergeField(name: name), let side = side.string.flatMap(MergeSide.init(rawValue:)) else {
                throw .unreadable("merges.choices")
            }
            choices[field] = side
        }
        self.choices = choices
        requestedBy = try values(\.requestedBy)
        reason = try values(\.reason)
        survivorVersion = try values(\.survivorVersion)
        absorbedVersion = try values(\.absorbedVersion)
        preparedAt = try values(\.preparedAt)
        deadlineAt = try values(\.deadlineAt)
        endedAt = try values(\.endedAt)
        abortReason = try values(\.abortReason)
        undoUntil = try values(\.undoUntil)
        undoneAt = try values(\.undoneAt)
    }

    fileprivate var storedChoices: JSONValue? {
        let fields = choices.map { ($0.key.name, JSONValue.string($0.value.rawValue)) }
        return .object(Dictionary(uniqueKeysWithValues: fields))
    }
}

struct MergeRow: RowDecodable {
    let record: MergeRecord

    init(row: inout RowDecoder) throws(PostgresError) {
        record = try MergeRecord(row: &row)
    }

    fileprivate static let columns = Columns<MergeRecord>(
        of: "merges",
        [
            Column("tenant_id", \.tenant), Column("merge_id", \.id), Column("survivor_id", \.survivor),
            Column("absorbed_id", \.absorbed), Column(read: "state", \.state), Column("choices", \.storedChoices),
            Column("asked_by", \.requestedBy), Column("reason", \.reason),
            Column("survivor_version", \.survivorVersion), Column("absorbed_version", \.absorbedVersion),
            Column("prepared_at", \.preparedAt), Column("deadline_at", \.deadlineAt),
            Column(read: "ended_at", \.endedAt), Column(read: "abort_reason", \.abortReason),
            Column(read: "undo_until", \.undoUntil), Column(read: "undone_at", \.undoneAt),
        ]
    )

    static func withID(_ id: PostgresUUID, tenant: TenantID) -> Query<MergeRow> {
        Query("\(columns.select) WHERE tenant_id = \(tenant) AND merge_id = \(id)")
    }

    /// The merges of an account, as survivor or absorbed, the newest first.
    static func of(_ user: UserID, tenant: TenantID, rowsMax: Int64) -> Query<MergeRow> {
        """
        \(columns.select) WHERE tenant_id = \(tenant)
            AND (survivor_id = \(user) OR absorbed_id = \(user))
        ORDER BY prepared_at DESC, merge_id DESC LIMIT \(rowsMax)
        """
    }

    /// The prepared merges of one of the accounts, as survivor or absorbed.
    static func live(_ users: [UserID], tenant: TenantID) -> Query<MergeRow> {
        """
        \(columns.select) WHERE tenant_id = \(tenant) AND state = 'prepared'
            AND (survivor_id = ANY(\(users)) OR absorbed_id = ANY(\(users)))
        """
    }

    /// The prepared merges, the oldest first.
    static func waiting(rowsMax: Int64) -> Query<MergeRow> {
        Query("\(columns.select) WHERE state = 'prepared' ORDER BY prepared_at LIMIT \(rowsMax)")
    }

    /// The ids whose accounts were absorbed.
    static func tombstones(among ids: [UserID], tenant: TenantID) -> Query<SingleValueRow<UserID>> {
        """
        SELECT absorbed_id FROM \(table: "merges")
        WHERE tenant_id = \(tenant) AND absorbed_id = ANY(\(ids)) AND state = 'committed'
        """
    }

    /// The account that now has the data of `id`, through all later merges.
    static func current(_ id: UserID, tenant: TenantID) -> Query<SingleValueRow<UserID>> {
        """
        WITH RECURSIVE path (user_id, step) AS (
            SELECT survivor_id, 1 FROM merges
            WHERE tenant_id = \(tenant) AND absorbed_id = \(id) AND state = 'committed'
            UNION ALL
            SELECT m.survivor_id, path.step + 1 FROM path JOIN merges AS m
                ON m.tenant_id = \(tenant) AND m.absorbed_id = path.user_id AND m.state = 'committed'
            WHERE path.step < 1000
        )
        SELECT user_id FROM path ORDER BY step DESC LIMIT 1
        """
    }

    static func insert(_ merge: MergeRecord) -> SQL {
        columns.insert(merge)
    }

    /// Raises 22012 (division by zero) if one of the accounts is in another prepared merge. Lock the rows of both
    /// first.
    static func assertAlone(_ merge: MergeRecord) -> SQL {
        let users = [merge.survivor.rawValue, merge.absorbed.rawValue]
        return """
            SELECT 1 / (count(*) = 1)::integer FROM merges
            WHERE tenant_id = \(merge.tenant) AND state = 'prepared'
                AND (survivor_id = ANY(\(users)) OR absorbed_id = ANY(\(users)))
            """
    }

    /// Raises 22012 (division by zero) if an account of one of these ids was merged into another. Must follow the
    /// insert of the new row. A merge in progress holds the old row, so either this sees the merge or the insert finds
    /// the id taken.
    static func assertNoTombstone(of ids: [UserID], tenant: TenantID) -> SQL {
        """
        SELECT 1 / (count(*) = 0)::integer FROM merges
        WHERE tenant_id = \(tenant) AND state = 'committed' AND absorbed_id = ANY(\(keys: ids))
        """
    }

    /// Raises 23502 if the merge is no longer prepared.
    static func commit(_ merge: MergeRecord, at now: Timestamp, undoUntil: Timestamp) -> SQL {
        """
        UPDATE merges SET state = CASE WHEN state = 'prepared' THEN 'committed' END, ended_at = \(now),
            undo_until = \(undoUntil)
        WHERE tenant_id = \(merge.tenant) AND merge_id = \(merge.id)
        """
    }

    /// Raises 23502 if the merge is no longer prepared.
    static func abort(_ merge: MergeRecord, _ reason: MergeAbortReason, at now: Timestamp) -> SQL {
        """
        UPDATE merges SET state = CASE WHEN state = 'prepared' THEN 'aborted' END, ended_at = \(now),
            abort_reason = \(reason)
        WHERE tenant_id = \(merge.tenant) AND merge_id = \(merge.id)
        """
    }

    /// Raises 23502 if the merge is not committed.
    static func undo(_ merge: MergeRecord, at now: Timestamp) -> SQL {
        """
        UPDATE merges SET state = CASE WHEN state = 'committed' THEN 'undone' END, undone_at = \(now)
        WHERE tenant_id = \(merge.tenant) AND merge_id = \(merge.id)
        """
    }

    static func deleteAll(tenant: TenantID) -> SQL {
        "DELETE FROM merges WHERE tenant_id = \(tenant)"
    }
}

extension AccountStore {
    /// A merge; `nil` if there is none. One round trip.
    package func merge(_ id: PostgresUUID, tenant: TenantID) async throws(PostgresError) -> MergeRecord? {
        try await client.read(MergeRow.withID(id, tenant: tenant)).first?.record
    }

    /// The newest `countMax` merges in which an account stays or goes, and the account that it is now, where it is
    /// another. One round trip.
    package func merges(
        of user: UserID,
        tenant: TenantID,
        countMax: Int
    ) async throws(PostgresError) -> (merges: [MergeRecord], current: UserID?) {
        let (merges, current) = try await client.read(
            MergeRow.of(user, tenant: tenant, rowsMax: Int64(countMax)),
            MergeRow.current(user, tenant: tenant)
        )
        return (merges.map(\.record), current.first?.value)
    }

    /// A prepared merge of one of the accounts.
    package func liveMerge(of users: [UserID], tenant: TenantID) async throws(PostgresError) -> MergeRecord? {
        try await client.read(MergeRow.live(users, tenant: tenant)).first?.record
    }

    /// The oldest `countMax` prepared merges.
    package func waitingMerges(countMax: Int) async throws(PostgresError) -> [MergeRecord] {
        try await client.read(MergeRow.waiting(rowsMax: Int64(countMax))).map(\.record)
    }

    /// Returns true if the account of `id` was absorbed.
    package func isMergedAway(_ id: UserID, tenant: TenantID) async throws(PostgresError) -> Bool {
        try await !client.read(MergeRow.tombstones(among: [id], tenant: tenant)).isEmpty
    }
}
