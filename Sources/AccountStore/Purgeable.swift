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
        case keptAnswers
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

        fileprivate func deletion(endedBefore cutoff: Timestamp, rowsMax: Int64) -> SQL {
            switch self {
            case .conflicts: ConflictRow.deleteExpired(before: cutoff, rowsMax: rowsMax)
            case .codes: EmailCodeRow.deleteExpired(before: cutoff, rowsMax: rowsMax)
            case .reservedAddresses: IdentifierRow.deleteReserved(before: cutoff, rowsMax: rowsMax)
            case .shortCodes: ShortCodeRow.deleteExpired(before: cutoff, rowsMax: rowsMax)
            case .phoneVerifications: PhoneVerificationRow.deleteExpired(before: cutoff, rowsMax: rowsMax)
            case .factorChallenges: FactorChallengeRow.deleteExpired(before: cutoff, rowsMax: rowsMax)
            case .messageCounts: MessageCountRow.deleteOver(before: cutoff, rowsMax: rowsMax)
            case .messages: OutboxRow.deleteExpired(before: cutoff, rowsMax: rowsMax)
            case .finishedMessages: OutboxRow.deleteFinished(before: cutoff, rowsMax: rowsMax)
            case .webhookMessages: WebhookMessageRow.deleteEnded(before: cutoff, rowsMax: rowsMax)
            case .passwordAttempts: PasswordAttemptRow.deleteForgotten(before: cutoff, rowsMax: rowsMax)
            case .signInRefusals: SignInRefusalRow.deleteOld(before: cutoff, rowsMax: rowsMax)
            case .signingKeys: SigningKeyRow.deleteRetired(before: cutoff, rowsMax: rowsMax)
            case .keptAnswers: KeptAnswerRow.deleteExpired(before: cutoff, rowsMax: rowsMax)
            case .quarantinedMethods: QuarantinedMethodRow.deleteExpired(before: cutoff, rowsMax: rowsMax)
            case .events: AccountEventRow.deleteOld(before: cutoff, rowsMax: rowsMax)
            case .auditSteps: AuditStepRow.deleteOld(before: cutoff, rowsMax: rowsMax)
            case .auditPlans: AuditPlanRow.deleteOld(before: cutoff, rowsMax: rowsMax)
            case .providerFlows: ProviderFlowRow.deleteExpired(before: cutoff, rowsMax: rowsMax)
            case .usedIDTokens: UsedIDTokenRow.deleteExpired(before: cutoff, rowsMax: rowsMax)
            case .merges: MergeRow.deleteOver(before: cutoff, rowsMax: rowsMax)
            case .journal: AccountJournalRow.deleteOld(before: cutoff, rowsMax: rowsMax)
            case .proofMails: ProofMailRow.deleteFree(before: cutoff, rowsMax: rowsMax)
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
        var batch = WriteBatch("purge")
        batch.append(kind.deletion(endedBefore: cutoff, rowsMax: Int64(rowsMax)))
        return try await client.write(batch).affectedRows(0)
    }

    /// A place in the order of all sessions.
    package struct SessionPlace: Sendable, Hashable {
        var tenant: String
        var user: String
        var session: [UInt8]

        /// Before the first: no user has an empty id.
        package static let beginning = SessionPlace(tenant: "", user: "", session: [])
    }

    /// Looks at the next `rowsMax` sessions after `place` and deletes those whose epoch is over, or that `cutoffs` ended.
    ///
    /// An epoch never comes back, so what is over when it is looked at is still over when it is deleted.
    /// - Returns: how many, and where to go on: `beginning` after the last.
    package func purgeEndedSessions(
        from place: SessionPlace,
        rowsMax: Int,
        endedBy cutoffs: SessionCutoffs
    ) async throws(PostgresError) -> (deleted: Int, next: SessionPlace) {
        let page = try await client.read(SessionRow.page(after: place, rowsMax: Int64(rowsMax), endedBy: cutoffs))
        let next = page.count < rowsMax ? .beginning : page.last?.place ?? .beginning
        let ended = page.filter(\.isEnded).map(\.place)
        guard !ended.isEmpty else { return (0, next) }
        var batch = WriteBatch("purge-sessions")
        batch.append(SessionRow.deleteAllEnded(at: ended, endedBy: cutoffs))
        return (try await client.write(batch).affectedRows(0), next)
    }
}
