package import AccountLinking
package import JSON
package import Postgres

/// An event to be sent to one endpoint.
package struct WebhookMessageRecord: Sendable, Hashable {
    package let position: Int64
    package let endpoint: PostgresUUID
    package let tenant: TenantID
    package let user: UserID
    /// The same for every endpoint and attempt.
    package let id: PostgresUUID
    package let kind: WebhookEvent.Kind
    package let occurredAt: Timestamp
    package let conflict: [UInt8]?
    /// `nil` for an announcement about a merge, sessions or several methods.
    package let method: SignInMethod?
    /// The members of `methods.changed`: a JSON object.
    package let methodChanges: JSONValue?
    package let merge: MergedUser?
    package let rule: String
    /// Attempts begun so far.
    package let attempts: Int32
    /// The status of the previous attempt.
    package let lastStatus: Int32?

    /// A merge and its absorbed account. The message belongs to the survivor.
    package struct MergedUser: Sendable, Hashable {
        package let merge: PostgresUUID
        package let user: UserID
    }
}

/// A claimed message, with the endpoint's URL and secrets.
package struct ClaimedWebhookMessage: Sendable, RowDecodable {
    package let message: WebhookMessageRecord
    package let url: String
    package let sealedSecret: [UInt8]
    /// `nil` unless the secret was replaced recently.
    package let sealedOlderSecret: [UInt8]?

    package init(row: inout RowDecoder) throws(PostgresError) {
        message = try WebhookMessageRow(row: &row).record
        url = try row.next()
        sealedSecret = try row.next()
        sealedOlderSecret = try row.next()
    }
}

/// The result of an attempt.
package enum WebhookAttempt: Sendable, Hashable {
    case delivered
    /// The receiver got the message and refused its subject.
    case vetoed
    case retry(at: Timestamp)
    case givenUp

    /// The status by which a receiver refuses (RFC 9110 §15.5.10).
    package static let vetoStatus = 409
}

/// Maximum number of messages that are sent to each endpoint at once. Each endpoint has separate places, so that a
/// hanging receiver delays no other.
package struct WebhookSlots: Sendable, Hashable {
    package var max: Int64
    /// For an endpoint whose last attempt failed.
    package var failingMax: Int64
    /// By endpoint.
    package var taken: [PostgresUUID: Int64]

    package init(max: Int64, failingMax: Int64, taken: [PostgresUUID: Int64] = [:]) {
        self.max = max
        self.failingMax = failingMax
        self.taken = taken
    }
}

struct WebhookMessageRow: RowDecodable {
    let record: WebhookMessageRecord

    private static let endpoint: [Column<WebhookMessageRecord>] = [
        Column("endpoint_id", \.endpoint), Column("tenant_id", \.tenant), Column("user_id", \.user),
        Column("message_id", \.id), Column("type", \.kind), Column("occurred_at", \.occurredAt),
    ]
    private static let subject: [Column<WebhookMessageRecord>] = [
        Column("conflict_id", \.conflict), Column("method", \.method), Column("method_changes", \.methodChanges),
    ]
    private static let merge: [Column<WebhookMessageRecord>] = [
        Column("merge_id", \.merge?.merge), Column("merged_user_id", \.merge?.user),
    ]
    private static let rule = Column<WebhookMessageRecord>("rule", \.rule)

    private static let columns = Columns(
        of: "webhook_messages",
        [Column("position", \.position)] + endpoint + subject + merge + [
            rule, Column("attempts", \.attempts), Column("last_status", \.lastStatus),
        ]
    )
    private static let aboutAccount = Columns(of: "webhook_messages", endpoint + subject + [rule])
    private static let aboutMerge = Columns(of: "webhook_messages", endpoint + merge + [rule])

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        var merged: WebhookMessageRecord.MergedUser?
        if let merge = try values(\.merge?.merge), let user = try values(\.merge?.user) {
            merged = WebhookMessageRecord.MergedUser(merge: merge, user: user)
        }
        record = WebhookMessageRecord(
            position: try values(\.position),
            endpoint: try values(\.endpoint),
            tenant: try values(\.tenant),
            user: try values(\.user),
            id: try values(\.id),
            kind: try values(\.kind),
            occurredAt: try values(\.occurredAt),
            conflict: try values(\.conflict),
            method: try values(\.method),
            methodChanges: try values(\.methodChanges),
            merge: merged,
            rule: try values(\.rule),
            attempts: try values(\.attempts),
            lastStatus: try values(\.lastStatus)
        )
    }

    /// Inserts messages about a merge even if this server has read no endpoint, because every receiver must be able to
    /// refuse.
    static func insertMergeEvent(
        _ kind: WebhookEvent.Kind,
        of merge: MergeRecord,
        id: PostgresUUID,
        by event: AccountEvent
    ) -> SQL {
        """
        INSERT INTO webhook_messages (\(aboutMerge.names), next_attempt_at)
        SELECT endpoint_id, \(merge.tenant), \(merge.survivor), \(id), \(kind),
            \(event.occurredAt), \(merge.id), \(merge.absorbed), \(event.rule),
            \(event.occurredAt)
        FROM webhook_endpoints WHERE disabled_at IS NULL
        """
    }

    /// The answers of receivers to a prepared merge.
    static func answers(to merge: PostgresUUID) -> Query<MergeAnswersRow> {
        """
        SELECT count(*) FILTER (WHERE state <> 'delivered'), count(*) FILTER (
            WHERE last_status = \(Int32(WebhookAttempt.vetoStatus)))
        FROM \(table: "webhook_messages")
        WHERE merge_id = \(merge) AND type = \(WebhookEvent.Kind.mergePrepared)
        """
    }

    /// Inserts one row for each enabled endpoint.
    ///
    /// - A method that was linked is `.methodRestored` if its very identity, or its number, is the account's already
    ///   and still suspended.
    /// - A conflict that joined another was not opened: nothing is inserted.
    static func insert(
        _ announcement: WebhookEvent,
        id: PostgresUUID,
        rule: Rule,
        of user: UserID,
        tenant: TenantID,
        at now: Timestamp
    ) -> SQL {
        // Joins, and no subqueries: Citus runs a join of the endpoints, which every node has, and one user's shard.
        var type: SQL = "\(announcement.kind)"
        var subject: SQL = ""
        var condition: SQL = ""
        switch announcement.kind {
        case .methodLinked:
            type = "CASE WHEN q.method IS NULL THEN \(announcement.kind) ELSE \(WebhookEvent.Kind.methodRestored) END"
            subject = """

                CROSS JOIN users AS u
                LEFT JOIN linked_providers AS l
                    ON l.tenant_id = u.tenant_id AND l.user_id = u.user_id AND l.provider_id = \(announcement.method)
                LEFT JOIN quarantined_methods AS q
                    ON q.tenant_id = u.tenant_id AND q.user_id = u.user_id AND q.method = \(announcement.method)
                    AND q.expires_at > \(now)
                    AND q.subject = CASE WHEN q.method = 'phone' THEN u.phone_number ELSE l.subject END
                """
            condition = " AND u.tenant_id = \(tenant) AND u.user_id = \(user)"
        case .conflictOpened:
            subject = " CROSS JOIN conflicts AS c"
            condition = """
                 AND c.tenant_id = \(tenant) AND c.user_id = \(user)
                    AND c.conflict_id = \(announcement.conflict)
                """
        case .conflictProven, .conflictResolved, .conflictDeclined, .methodUnlinked, .methodQuarantined,
            .methodRestored, .methodsChanged, .mergePrepared, .mergeCommitted, .mergeAborted, .mergeUndone,
            .sessionEnded, .sessionsRevoked:
            break
        }
        return """
            INSERT INTO webhook_messages (\(aboutAccount.names), next_attempt_at)
            SELECT e.endpoint_id, \(tenant), \(user), \(id), \(type), \(now),
                \(announcement.conflict), \(announcement.method), \(announcement.changes),
                \(rule), \(now)
            FROM webhook_endpoints AS e\(subject)
            WHERE e.disabled_at IS NULL\(condition)
            """
    }

    /// Claims due messages until `until`: for each endpoint as many as `places` has free, and for each user and
    /// endpoint only the first that waits.
    static func claim(at now: Timestamp, until: Timestamp, places: WebhookSlots) -> SQL {
        // A join with the rows would read the whole table, because PostgreSQL expects many rows from a computed limit.
        """
        UPDATE webhook_messages AS m SET attempts = m.attempts + 1, next_attempt_at = \(until)
        FROM webhook_endpoints AS e
        WHERE e.endpoint_id = m.endpoint_id AND m.position = ANY (ARRAY(
            SELECT next.position FROM webhook_endpoints AS open
            LEFT JOIN unnest(\(Array(places.taken.keys)), \(Array(places.taken.values))) AS taken (endpoint_id, places)
                ON taken.endpoint_id = open.endpoint_id
            CROSS JOIN LATERAL (
                SELECT due.position FROM webhook_messages AS due
                WHERE due.endpoint_id = open.endpoint_id AND due.state = 'pending'
                    AND due.next_attempt_at <= \(now)
                    AND NOT EXISTS (SELECT 1 FROM webhook_messages AS earlier
                        WHERE earlier.endpoint_id = due.endpoint_id AND earlier.tenant_id = due.tenant_id
                            AND earlier.user_id = due.user_id AND earlier.state = 'pending'
                            AND earlier.position < due.position)
                ORDER BY due.next_attempt_at
                LIMIT greatest(0, CASE WHEN open.failing_since IS NULL THEN \(places.max) ELSE \(places.failingMax) END
                    - coalesce(taken.places, 0))
                FOR UPDATE OF due SKIP LOCKED
            ) AS next
            WHERE open.disabled_at IS NULL
        ))
        RETURNING \(columns.names(of: "m")), e.url, e.sealed_secret,
            CASE WHEN e.older_secret_until > \(now) THEN e.sealed_older_secret END
        """
    }

    /// Ends an attempt, unless another has begun since.
    static func finish(
        _ message: WebhookMessageRecord,
        _ attempt: WebhookAttempt,
        status: Int32?,
        at now: Timestamp
    ) -> SQL {
        let state: String
        var next: Timestamp = now
        var finishedAt: Timestamp? = now
        switch attempt {
        case .delivered, .vetoed: state = "delivered"
        case .givenUp: state = "failed"
        case .retry(let at):
            state = "pending"
            next = at
            finishedAt = nil
        }
        return """
            UPDATE webhook_messages SET state = \(state), next_attempt_at = \(next), last_status = \(status),
                finished_at = \(finishedAt)
            WHERE position = \(message.position) AND attempts = \(message.attempts) AND state = 'pending'
            """
    }

    /// The failed messages, the newest first.
    static func failed(of endpoint: PostgresUUID, countMax: Int64) -> Query<WebhookMessageRow> {
        """
        SELECT \(columns.names(of: "m")) FROM \(table: "webhook_messages") AS m
        WHERE m.endpoint_id = \(endpoint) AND m.state = 'failed' ORDER BY m.position DESC LIMIT \(countMax)
        """
    }

    /// The number of waiting messages, up to `countMax`.
    static func waitingCount(countMax: Int64) -> Query<Int64> {
        """
        SELECT count(*) FROM (SELECT 1 FROM \(table: "webhook_messages") WHERE state = 'pending' \
        LIMIT \(countMax)) AS waiting
        """
    }

    /// Deletes messages that ended before `cutoff`, or that wait for an endpoint that was disabled before then.
    static func deleteEnded(before cutoff: Timestamp, rowsMax: Int64) -> SQL {
        """
        DELETE FROM webhook_messages
        WHERE \(SQL.first(
            rowsMax,
            of: "webhook_messages",
            key: "position",
            where: """
                (state <> 'pending' AND finished_at <= \(cutoff) OR state = 'pending' AND endpoint_id IN (
                    SELECT e.endpoint_id FROM webhook_endpoints AS e WHERE e.disabled_at <= \(cutoff)
                ))
                """,
            by: "position"
        ))
        """
    }
}

/// The numbers of receivers that have not approved, and of those that have refused.
struct MergeAnswersRow: RowDecodable {
    let waitingCount: Int64
    let vetoCount: Int64

    init(row: inout RowDecoder) throws(PostgresError) {
        waitingCount = try row.next()
        vetoCount = try row.next()
    }
}

extension AccountStore {
    /// Claims due messages until `until`, as far as places are free.
    ///
    /// For each user and endpoint it claims only the first that waits, so that messages arrive in order.
    package func claimWebhookMessages(
        at now: Timestamp,
        until: Timestamp,
        places: WebhookSlots
    ) async throws(PostgresError) -> [ClaimedWebhookMessage] {
        let batch = WriteBatch("webhook-claim", [WebhookMessageRow.claim(at: now, until: until, places: places)])
        return try await client.write(batch).rows(0)
    }

    /// Stores the result of an attempt, for the message and for its endpoint.
    ///
    /// `status`: of the answer, if any. `failingSecondsMax`: an endpoint that has failed for longer is disabled.
    /// `isGone`: true to disable it at once.
    package func finishWebhookAttempt(
        _ message: WebhookMessageRecord,
        _ attempt: WebhookAttempt,
        status: Int?,
        isGone: Bool,
        failingSecondsMax: Int64,
        at now: Timestamp
    ) async throws(PostgresError) {
        var batch = WriteBatch("webhook-finish")
        batch.append(WebhookMessageRow.finish(message, attempt, status: status.map { Int32($0) }, at: now))
        let endpoint = message.endpoint
        if attempt == .delivered || attempt == .vetoed {
            batch.append(WebhookEndpointRow.noteSuccess(of: endpoint))
        } else {
            batch.append(WebhookEndpointRow.noteFailure(of: endpoint, at: now))
            batch.append(
                WebhookEndpointRow.disable(
                    endpoint,
                    isGone ? .gone : .failing,
                    failingBefore: isGone ? now : now.adding(seconds: -failingSecondsMax),
                    at: now
                )
            )
        }
        try await client.write(batch)
    }

    /// The newest `countMax` failed messages to an endpoint.
    package func failedWebhookMessages(
        to endpoint: PostgresUUID,
        countMax: Int
    ) async throws(PostgresError) -> [WebhookMessageRecord] {
        try await client.read(WebhookMessageRow.failed(of: endpoint, countMax: Int64(countMax))).map(\.record)
    }

    /// The number of waiting messages, up to `countMax`.
    package func waitingWebhookCount(countMax: Int64) async throws(PostgresError) -> Int64 {
        try await client.read(WebhookMessageRow.waitingCount(countMax: countMax)).first ?? 0
    }
}
