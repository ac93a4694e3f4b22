package import AccountLinking
package import Postgres

extension AccountStore {
    /// Kinds of rows that expire. The raw value is the kind's name in metrics and logs.
    package enum Purgeable: String, Sendable, Hashable, CaseIterable {
        /// Expired, in any state.
        case conflicts
        case codes
        /// Addresses that codes reserved for accounts.
        case reservedAddresses = "reserved_addresses"
        /// Short codes, and guesses at short codes that do not exist.
        case shortCodes = "short_codes"
        /// Codes sent to numbers, in any state.
        case phoneVerifications = "phone_verifications"
        /// Sign-ins that wait for a second factor, and factors being set up, in any state.
        case factorChallenges = "factor_challenges"
        /// Counts of messages in windows that have ended.
        case messageCounts = "message_counts"
        /// Expired messages, sent or not.
        case messages
        /// Sent messages, and messages that were never meant to be sent.
        case finishedMessages = "finished_messages"
        /// Sent or given up; also messages that wait for an endpoint that has long been disabled.
        case webhookMessages = "webhook_messages"
        /// Expired counts of wrong passwords.
        case passwordAttempts = "password_attempts"
        /// Expired counts of one network or device, and networks that are no longer known.
        case passwordSources = "password_sources"
        /// Old counts of refused sign-ins.
        case signInRefusals = "sign_in_refusals"
        /// Keys that are no longer published.
        case signingKeys = "signing_keys"
        /// Expired answers to repeatable requests.
        case storedResponses = "stored_responses"
        /// Methods whose suspension has expired.
        case quarantinedMethods = "quarantined_methods"
        /// Mails about conflicts that no longer count towards limits.
        case proofMails = "proof_mails"
        /// Abandoned sign-ins at providers.
        case providerFlows = "provider_flows"
        /// Codes that hand a session of the sign-in page over, used or not.
        case signInReturns = "sign_in_returns"
        /// Sign-ups whose mailbox was not proven in time, and those that continued.
        case pendingSignUps = "pending_sign_ups"
        /// Uses of ID tokens that have expired.
        case usedIDTokens = "used_id_tokens"
        /// Devices that were not used for long.
        case devices
        /// Aborted or undone merges. A completed merge stays forever, because it answers for a uid.
        case merges
        /// Events past their retention, from before the first month. Months are dropped as a whole
        /// (`maintainEventPartitions`). Webhooks of events have separate rows.
        case events
        /// Events past their retention whose month has no partition.
        case eventsOutsideMonths = "events_outside_months"
        /// Changes that can no longer be undone.
        case journal
        /// Applied steps of audit plans that can no longer be undone, and plans without steps.
        case auditSteps = "audit_steps"
        case auditPlans = "audit_plans"
        /// Sessions that were last used before a day.
        case sessions

        /// Deletes at most `rowsMax` rows that ended before `cutoff`, as `SQL.deleteExpired`.
        func deletion(endedBefore cutoff: Timestamp, rowsMax: Int64) -> SQL {
            switch rows {
            case .ending(let table, let key, let condition, let end):
                SQL.deleteExpired(
                    SQL(literal: table),
                    key: key,
                    where: condition,
                    by: end,
                    before: cutoff,
                    rowsMax: rowsMax
                )
            case .other(let delete, _): delete(cutoff, rowsMax)
            }
        }

        /// The end of the oldest row that ended before `cutoff`, by the index of the deletion.
        func oldest(endedBefore cutoff: Timestamp) -> Query<SingleValueRow<Timestamp>> {
            switch rows {
            case .ending(let table, _, let condition, let end):
                """
                SELECT \(end) FROM \(table: table) WHERE \(SQL.hasEnded(by: end, before: cutoff, where: condition))
                ORDER BY \(end) LIMIT 1
                """
            case .other(_, let oldest): oldest(cutoff)
            }
        }

        private enum Rows {
            /// Rows with a column, or an indexed expression, of their end.
            case ending(StaticString, key: SQL, where: SQL? = nil, by: SQL)
            case other(
                delete: (_ cutoff: Timestamp, _ rowsMax: Int64) -> SQL,
                oldest: (_ cutoff: Timestamp) -> Query<SingleValueRow<Timestamp>>
            )
        }

        private var rows: Rows {
            switch self {
            case .conflicts: .ending("conflicts", key: "tenant_id, user_id, conflict_id", by: "expires_at")
            case .codes: .ending("one_time_codes", key: "tenant_id, code_hash", by: "expires_at")
            case .reservedAddresses: .ending("identifiers", key: "tenant_id, kind, value", by: "reserved_until")
            case .shortCodes: .ending("short_codes", key: "tenant_id, kind, email_key", by: "expires_at")
            case .phoneVerifications:
                .ending("phone_verifications", key: "tenant_id, verification_id", by: "expires_at")
            case .factorChallenges:
                .ending("factor_challenges", key: "tenant_id, user_id, challenge_id", by: "expires_at")
            case .messageCounts: .ending("message_counts", key: "tenant_id, count_digest", by: "ends_at")
            case .messages: .ending("outbox", key: "tenant_id, message_id", by: "expires_at")
            case .finishedMessages:
                // Failed messages stay until they expire.
                .ending(
                    "outbox",
                    key: "tenant_id, message_id",
                    where: "state IN ('sent', 'withheld', 'discarded')",
                    by: "created_at"
                )
            case .passwordAttempts:
                .ending(
                    "password_attempts",
                    key: "tenant_id, address_digest",
                    by: "greatest(forgotten_at, known_until)"
                )
            case .passwordSources:
                .ending(
                    "password_sources",
                    key: "tenant_id, address_digest, source_digest",
                    by: "greatest(forgotten_at, known_until)"
                )
            case .signingKeys: .ending("signing_keys", key: "key_id", by: "published_until")
            case .storedResponses: .ending("kept_answers", key: "tenant_id, user_id, key_digest", by: "expires_at")
            case .quarantinedMethods:
                .ending("quarantined_methods", key: "tenant_id, user_id, method", by: "expires_at")
            case .auditSteps: .ending("audit_steps", key: "plan_id, step", by: "kept_until")
            case .providerFlows: .ending("provider_flows", key: "tenant_id, state_digest", by: "expires_at")
            case .signInReturns:
                .ending("sign_in_returns", key: "tenant_id, user_id, session_id", by: "code_ends_at")
            case .pendingSignUps: .ending("pending_sign_ups", key: "tenant_id, sign_up_digest", by: "expires_at")
            case .usedIDTokens: .ending("used_id_tokens", key: "tenant_id, user_id, token_digest", by: "expires_at")
            case .devices: .ending("devices", key: "tenant_id, user_id, device_id", by: "expires_at")
            case .merges:
                .ending("merges", key: "tenant_id, merge_id", where: "state IN ('aborted', 'undone')", by: "ended_at")
            case .journal:
                .ending("account_journal", key: "tenant_id, change_id, step, table_name, row_key", by: "kept_until")
            case .proofMails: .ending("proof_mails", key: "tenant_id, user_id, place", by: "free_at")
            case .webhookMessages:
                .other(delete: WebhookMessageRow.deleteEnded) { cutoff in
                    """
                    SELECT finished_at FROM \(table: "webhook_messages")
                    WHERE state <> 'pending' AND finished_at <= \(cutoff) ORDER BY finished_at LIMIT 1
                    """
                }
            case .signInRefusals:
                .other(delete: SignInRefusalRow.deleteOld) { cutoff in
                    """
                    SELECT to_timestamp(day::double precision * 86400) FROM \(table: "sign_in_refusals")
                    WHERE day < \(cutoff.dayNumber) ORDER BY day LIMIT 1
                    """
                }
            case .events:
                .other(delete: AccountEventRow.deleteOld) { cutoff in
                    """
                    SELECT occurred_at FROM \(table: "account_events_past")
                    WHERE event_id < \(AccountEvent.ID(firstAt: cutoff)) ORDER BY event_id LIMIT 1
                    """
                }
            case .eventsOutsideMonths:
                .other(delete: AccountEventRow.deleteOldOutsideMonths) { cutoff in
                    """
                    SELECT occurred_at FROM \(table: "account_events_default")
                    WHERE event_id < \(AccountEvent.ID(firstAt: cutoff)) ORDER BY event_id LIMIT 1
                    """
                }
            case .auditPlans:
                .other(delete: AuditPlanRow.deleteOld) { cutoff in
                    """
                    SELECT kept_until FROM \(table: "audit_plans")
                    WHERE kept_until <= \(cutoff) ORDER BY kept_until LIMIT 1
                    """
                }
            case .sessions:
                .other(delete: SessionRow.deleteUnused) { cutoff in
                    """
                    SELECT to_timestamp(used_day::double precision * 86400) FROM \(table: "sessions")
                    WHERE used_day < \(cutoff.dayNumber) ORDER BY used_day LIMIT 1
                    """
                }
            }
        }
    }

    /// Deletes at most `rowsMax` rows that ended before `cutoff`, oldest first.
    /// - Returns: number of deleted rows.
    package func purge(
        _ kind: Purgeable,
        endedBefore cutoff: Timestamp,
        rowsMax: Int
    ) async throws(PostgresError) -> Int {
        let batch = WriteBatch(
            "purge",
            [SQL.findingRowsByKey, kind.deletion(endedBefore: cutoff, rowsMax: Int64(rowsMax))]
        )
        return try await client.write(batch).affectedRows(1)
    }

    /// The end of the oldest row that ended before `cutoff`; `nil` if there is none. One round trip.
    package func oldest(
        _ kind: Purgeable,
        endedBefore cutoff: Timestamp
    ) async throws(PostgresError) -> Timestamp? {
        try await client.read(kind.oldest(endedBefore: cutoff)).first?.value
    }

    /// Moves at most `rowsMax` sessions that were used on the day of `cutoff` or later to the day of their last use, so
    /// that the deletion of sessions that were last used before `cutoff` no longer meets them.
    /// - Returns: number of sessions that were moved.
    package func moveUsedSessions(since cutoff: Timestamp, rowsMax: Int) async throws(PostgresError) -> Int {
        let batch = WriteBatch(
            "purge-sessions",
            [SQL.findingRowsByKey, SessionRow.moveUsed(since: cutoff, rowsMax: Int64(rowsMax))]
        )
        return try await client.write(batch).affectedRows(1)
    }

    /// Dates at most `rowsMax` sessions that an earlier version of Concord wrote without their day.
    /// - Returns: number of sessions that were dated.
    package func dateSessions(rowsMax: Int) async throws(PostgresError) -> Int {
        let batch = WriteBatch(
            "purge-sessions",
            [SQL.findingRowsByKey, SessionRow.dateUndated(rowsMax: Int64(rowsMax))]
        )
        return try await client.write(batch).affectedRows(1)
    }
}
