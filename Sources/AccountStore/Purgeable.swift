package import AccountLinking
package import Postgres

extension AccountStore {
    /// Kinds of rows that expire.
    package enum Purgeable: Sendable, Hashable, CaseIterable {
        /// Expired, in any state.
        case conflicts
        case codes
        /// Addresses that codes reserved for accounts.
        case reservedAddresses
        /// Short codes, and guesses at short codes that do not exist.
        case shortCodes
        /// Codes sent to numbers, in any state.
        case phoneVerifications
        /// Sign-ins that wait for a second factor, and factors being set up, in any state.
        case factorChallenges
        /// Counts of messages in windows that have ended.
        case messageCounts
        /// Expired messages, sent or not.
        case messages
        /// Sent messages, and messages that were never meant to be sent.
        case finishedMessages
        /// Sent or given up; also messages that wait for an endpoint that has long been disabled.
        case webhookMessages
        /// Expired counts of wrong passwords.
        case passwordAttempts
        /// Old counts of refused sign-ins.
        case signInRefusals
        /// Keys that are no longer published.
        case signingKeys
        /// Expired answers to repeatable requests.
        case storedResponses
        /// Methods whose suspension has expired.
        case quarantinedMethods
        /// Mails about conflicts that no longer count towards limits.
        case proofMails
        /// Abandoned sign-ins at providers.
        case providerFlows
        /// Uses of ID tokens that have expired.
        case usedIDTokens
        /// Aborted or undone merges. A completed merge stays forever, because it answers for a uid.
        case merges
        /// Events past their retention, from before the first month. Months are dropped as a whole
        /// (`maintainEventPartitions`). Webhooks of events have separate rows.
        case events
        /// Events past their retention whose month has no partition.
        case eventsOutsideMonths
        /// Changes that can no longer be undone.
        case journal
        /// Applied steps of audit plans that can no longer be undone, and plans without steps.
        case auditSteps
        case auditPlans

        /// Deletes at most `rowsMax` rows that ended before `cutoff`, as `SQL.deleteExpired`.
        func deletion(endedBefore cutoff: Timestamp, rowsMax: Int64) -> SQL {
            func ended(_ table: SQL, key: SQL, by end: SQL) -> SQL {
                SQL.deleteExpired(table, key: key, by: end, before: cutoff, rowsMax: rowsMax)
            }
            return switch self {
            case .conflicts: ended("conflicts", key: "tenant_id, user_id, conflict_id", by: "expires_at")
            case .codes: ended("one_time_codes", key: "tenant_id, code_hash", by: "expires_at")
            case .reservedAddresses: ended("identifiers", key: "tenant_id, kind, value", by: "reserved_until")
            case .shortCodes: ended("short_codes", key: "tenant_id, kind, email_key", by: "expires_at")
            case .phoneVerifications: ended("phone_verifications", key: "tenant_id, verification_id", by: "expires_at")
            case .factorChallenges:
                ended("factor_challenges", key: "tenant_id, user_id, challenge_id", by: "expires_at")
            case .messageCounts: ended("message_counts", key: "tenant_id, count_digest", by: "ends_at")
            case .messages: ended("outbox", key: "tenant_id, message_id", by: "expires_at")
            case .finishedMessages: OutboxRow.deleteFinished(before: cutoff, rowsMax: rowsMax)
            case .webhookMessages: WebhookMessageRow.deleteEnded(before: cutoff, rowsMax: rowsMax)
            case .passwordAttempts: PasswordAttemptRow.deleteForgotten(before: cutoff, rowsMax: rowsMax)
            case .signInRefusals: SignInRefusalRow.deleteOld(before: cutoff, rowsMax: rowsMax)
            case .signingKeys: ended("signing_keys", key: "key_id", by: "published_until")
            case .storedResponses: ended("kept_answers", key: "tenant_id, user_id, key_digest", by: "expires_at")
            case .quarantinedMethods: ended("quarantined_methods", key: "tenant_id, user_id, method", by: "expires_at")
            case .events: AccountEventRow.deleteOld(before: cutoff, rowsMax: rowsMax)
            case .eventsOutsideMonths: AccountEventRow.deleteOldOutsideMonths(before: cutoff, rowsMax: rowsMax)
            case .auditSteps: ended("audit_steps", key: "plan_id, step", by: "kept_until")
            case .auditPlans: AuditPlanRow.deleteOld(before: cutoff, rowsMax: rowsMax)
            case .providerFlows: ended("provider_flows", key: "tenant_id, state_digest", by: "expires_at")
            case .usedIDTokens: ended("used_id_tokens", key: "tenant_id, user_id, token_digest", by: "expires_at")
            case .merges: MergeRow.deleteOver(before: cutoff, rowsMax: rowsMax)
            case .journal: AccountJournalRow.deleteOld(before: cutoff, rowsMax: rowsMax)
            case .proofMails: ended("proof_mails", key: "tenant_id, user_id, place", by: "free_at")
            }
        }
    }

    /// Deletes at most `rowsMax` rows that ended before `cutoff`, oldest first. Skips rows that another transaction has
    /// locked.
    /// - Returns: number of deleted rows.
    package func purge(
        _ kind: Purgeable,
        endedBefore cutoff: Timestamp,
        rowsMax: Int
    ) async throws(PostgresError) -> Int {
        let batch = WriteBatch("purge", [kind.deletion(endedBefore: cutoff, rowsMax: Int64(rowsMax))])
        return try await client.write(batch).affectedRows(0)
    }

    /// A place in the order of all sessions.
    package struct SessionCursor: Sendable, Hashable {
        var tenant: String
        var user: String
        var session: [UInt8]

        /// The place before the first session: no user has an empty id.
        package static let beginning = SessionCursor(tenant: "", user: "", session: [])
    }

    /// Reads the next `rowsMax` sessions after `place`, and deletes those with an old epoch and those that `cutoffs`
    /// ended.
    ///
    /// An epoch never returns, so a session that has ended when it is read has still ended when it is deleted.
    /// - Returns: number of deleted sessions, and the next place: `beginning` after the last.
    package func purgeEndedSessions(
        from place: SessionCursor,
        rowsMax: Int,
        endedBy cutoffs: SessionCutoffs
    ) async throws(PostgresError) -> (deleted: Int, next: SessionCursor) {
        let page = try await client.read(SessionRow.page(after: place, rowsMax: Int64(rowsMax), endedBy: cutoffs))
        let next = page.count < rowsMax ? .beginning : page.last?.place ?? .beginning
        let ended = page.filter(\.isEnded).map(\.place)
        guard !ended.isEmpty else { return (0, next) }
        var batch = WriteBatch("purge-sessions")
        batch.append(SessionRow.deleteAllEnded(at: ended, endedBy: cutoffs))
        return (try await client.write(batch).affectedRows(0), next)
    }
}
