package import AccountLinking
package import AccountStore
import Synchronization

/// Predicts the effect of a change of policy on every account and on recorded requests. Writes nothing to the database.
package struct PolicySimulation: Sendable {
    /// Progress and results of judging the accounts.
    package struct Progress: Sendable, Hashable {
        package var accounts: Int64 = 0
        /// Accounts with columns that cannot be decoded. They have no prediction.
        package var unreadable: Int64 = 0
        /// Accounts by effect.
        package var effects: [SimulatedEffect: Int64] = [:]
        /// A later run continues after it; `nil` before the first account, and once all accounts were read.
        package var place: AccountSnapshots.Place?

        package init() {}
    }

    /// Recorded questions that would be answered differently.
    package struct History: Sendable, Hashable {
        package var events: Int64 = 0
        package var questions: Int64 = 0
        /// Questions that only another version can parse.
        package var unreadable: Int64 = 0
        /// Questions that the policy in force answers differently than at the time. The proposal does not cause this.
        package var answeredOtherwiseNow: Int64 = 0
        /// Ordinary sign-ins that cannot be repeated, because their facts were left out (`FactSampling`). Their effects
        /// are among those on accounts.
        package var withoutFacts: Int64 = 0
        package var changes: [HistoryChange: HistoryCount] = [:]

        package init() {}
    }

    /// A group of answers that differ in the same way.
    package struct HistoryChange: Sendable, Hashable {
        /// `nil` for a request without a provider's credential.
        package var provider: ProviderID?
        package var ruleBefore: Rule
        package var before: SimulatedOutcome
        package var ruleAfter: Rule
        package var after: SimulatedOutcome
    }

    package struct HistoryCount: Sendable, Hashable {
        /// Limit of the accounts that are counted as distinct.
        package static let accountsMax = 20_000
        package static let examplesMax = 5

        package var questions: Int64 = 0
        private var hashes: Set<Int> = []
        package var examples: [Example] = []

        package struct Example: Sendable, Hashable {
            package var decision: DecisionID
            package var tenant: TenantID
            package var user: UserID
            package var occurredAt: Timestamp
        }

        package init() {}

        package var accounts: Int { hashes.count }

        mutating func count(_ event: StoredEvent) {
            questions += 1
            if hashes.count < Self.accountsMax {
                hashes.insert([event.tenant.rawValue, event.user.rawValue].hashValue)
            }
            guard examples.count < Self.examplesMax else { return }
            examples.append(
                Example(
                    decision: DecisionID(event.id),
                    tenant: event.tenant,
                    user: event.user,
                    occurredAt: event.occurredAt
                )
            )
        }
    }

    private let comparison: PolicyComparison
    /// Accounts between two reports without an effect.
    private let reportInterval: Int64

    package init(_ comparison: PolicyComparison, reportInterval: Int64 = 1000) {
        self.comparison = comparison
        self.reportInterval = reportInterval
    }

    /// Judges every account and reports the effects on it, in the order of the accounts; then the effects on accounts that
    /// come to share an address.
    ///
    /// - Parameters:
    ///   - snapshots: the accounts.
    ///   - tenant: one tenant; `nil` for all of them.
    ///   - start: where an earlier run ended. Its effects are not repeated, except those on shared addresses.
    ///   - now: conflicts that expired before it are dead.
    ///   - check: called several times a second while PostgreSQL sorts; throws to stop.
    ///   - onPrediction: called for each effect on an account.
    ///   - report: called after the effects on an account, and from time to time; throws to stop.
    /// - Returns: what this run read and found.
    /// - Throws: `PostgresError`, `TemporaryFileFailure`; the error of `check`, `onPrediction` or `report`.
    package func run(
        _ snapshots: AccountSnapshots,
        tenant: TenantID?,
        after start: AccountSnapshots.Place? = nil,
        at now: Timestamp,
        check: @escaping @Sendable () throws -> Void = {},
        onPrediction: @escaping @Sendable (Prediction) throws -> Void,
        report: @escaping @Sendable (Progress) throws -> Void
    ) async throws -> Progress {
        let joins = comparison.joinsAddresses
        return try await snapshots.read(
            .all,
            tenant: tenant,
            after: joins ? nil : start,
            extent: .judged,
            at: now,
            check: check
        ) { accounts in
            var memo = PolicyComparison.Memo()
            var shared = try SharedTraits(in: snapshots.temporaryFolder)
            var progress = Progress()
            while let snapshot = try accounts.next() {
                if joins {
                    for trait in AuditRule.addressTraits(of: snapshot) {
                        try shared.append(trait, rule: 0, of: snapshot)
                    }
                }
                if let start, !start.precedes(snapshot) { continue }
                progress.place = AccountSnapshots.Place(tenant: snapshot.tenant, userID: snapshot.id.rawValue)
                guard snapshot.account != nil else { continue }
                progress.accounts += 1
                if !snapshot.unreadable.isEmpty { progress.unreadable += 1 }
                let predictions = comparison.predictions(for: snapshot, &memo)
                for prediction in predictions {
                    try onPrediction(prediction)
                    progress.effects[prediction.effect, default: 0] += 1
                }
                if !predictions.isEmpty || progress.accounts.isMultiple(of: reportInterval) { try report(progress) }
            }
            progress.place = nil
            try shared.groups { group in
                // An account that names an address twice shares it with no other.
                guard Set(group.members.map(\.user)).count > 1 else { return }
                let predictions = comparison.predictions(
                    forAccountsNaming: group.key,
                    group.members,
                    tenant: group.tenant
                )
                for prediction in predictions {
                    try onPrediction(prediction)
                    progress.effects[prediction.effect, default: 0] += 1
                }
            }
            return progress
        }
    }

    /// Decides again all recorded questions since an instant, and returns those that would be answered differently.
    ///
    /// - `tenant`: one tenant; `nil` for all.
    /// - `report`: called after each page with the number of events read so far. Throws to stop.
    /// - Throws: `PostgresError`, and the errors of `report`.
    package func history(
        _ decisions: RecordedDecisions,
        since: Timestamp,
        tenant: TenantID?,
        report: @escaping @Sendable (Int64) throws -> Void
    ) async throws -> History {
        let history = Mutex(History())
        let withoutFacts = try await decisions.read(since: since, tenant: tenant) { events in
            let count = history.withLock { history in
                for event in events { history.add(event, comparison) }
                return history.events
            }
            try report(count)
        }
        return history.withLock { history in
            history.withoutFacts = withoutFacts
            return history
        }
    }
}

extension PolicySimulation.History {
    fileprivate mutating func add(_ event: StoredEvent, _ comparison: PolicyComparison) {
        events += 1
        for stored in event.decisions {
            questions += 1
            guard let version = event.policyVersion,
                let record = DecisionRecord(stored: stored, policyVersion: version)
            else {
                unreadable += 1
                continue
            }
            let before = record.question.answer(under: comparison.present.numbered(version))
            if before.rule != record.rule { answeredOtherwiseNow += 1 }
            let after = record.question.answer(under: comparison.proposed.numbered(version))
            guard before != after else { continue }
            let change = PolicySimulation.HistoryChange(
                provider: (record.question.presentedCredential ?? record.question.waitingCredential)?.identity.provider,
                ruleBefore: before.rule,
                before: before.outcome,
                ruleAfter: after.rule,
                after: after.outcome
            )
            changes[change, default: PolicySimulation.HistoryCount()].count(event)
        }
    }
}
