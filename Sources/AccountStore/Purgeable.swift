package import AccountLinking
package import Postgres

extension AccountStore {
    /// Kinds of rows that come to an end by themselves.
    package enum Purgeable: Sendable, Hashable, CaseIterable {
        /// Past their lifetime, in whatever state.
        case conflicts
        case codes
        /// Addresses that the codes kept for accounts.
        case reservedAddresses
        /// Short codes beside them, and guesses at some that there are not.
        case shortCodes
        /// Codes sent to numbers, in whatever state.
        case phoneVerifications
        /// Sign-ins that wait for a second factor, and factors being set up, in whatever state.
        case factorChallenges
        /// Counts of messages whose window is over.
        case messageCounts
        /// Not worth sending any more, sent or not.
        case messages
        /// Sent, or never meant to be.
        case finishedMessages
        /// Sent or given up; and what waits for a webhook endpoint that has been off for long.
        case webhookMessages
        /// Counts of wrong passwords that are forgotten.
        case passwordAttempts
        /// Counts of refused sign-ins, of days that are long past.
        case signInRefusals
        /// Published no more.
        case signingKeys
        /// Kept for no repeated request any more.
        case storedResponses
        /// Methods whose time to come back is over.
        case quarantinedMethods
        /// Mails about conflicts that count no more.
        case proofMails
        /// Sign-ins that nobody came back from.
        case providerFlows
        /// ID tokens that their providers' keys vouch for no more.
        case usedIDTokens
        /// Aborted or undone. One that was done answers for a uid, for good.
        case merges
        /// Kept no longer. What webhooks tell of them stands in rows of its own.
        case events
        /// What can be undone no more.
        case journal
        /// Steps of audits' plans that were applied, and the plans that have none left: they can be undone no more.
        case auditSteps
        case auditPlans

        /// Deletes at most `rowsMax` rows that ended before `cutoff`, the oldest first. Rows that another transaction holds are
        /// left for later.
        func deletion(endedBefore cutoff: Timestamp, rowsMax: Int64) -> SQL {
            func ended(_ table: SQL, key: SQL, by end: SQL) -> SQL {
                """
                DELETE FROM \(table) WHERE (\(key)) IN (
                    SELECT \(key) FROM \(table) WHERE \(end) <= \(cutoff)
                    ORDER BY \(end) LIMIT \(rowsMax) FOR UPDATE SKIP LOCKED
                )
                """
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

    /// Deletes at most `rowsMax` rows that ended before `cutoff`, the oldest first. Rows that somebody else holds are
    /// left for later.
    /// - Returns: how many.
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

        /// Before the first: no user has an empty id.
        package static let beginning = SessionCursor(tenant: "", user: "", session: [])
    }

    /// Looks at the next `rowsMax` sessions after `place` and deletes those whose epoch is over, or that `cutoffs` ended.
    ///
    /// An epoch never comes back, so what is over when it is looked at is still over when it is deleted.
    /// - Returns: how many, and where to go on: `beginning` after the last.
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
