package import AccountLinking
package import AccountStore
import Synchronization

/// Predicts the effect of a change of policy on every account and on recorded requests. Writes nothing to the database.
package struct PolicySimulation: Sendable {
    /// Progress and results of judging the accounts.
    package struct Progress: Sendable, Hashable {
        package var reading = ScanProgress()
        package var accounts: Int64 = 0
        /// Accounts with columns that cannot be decoded. They have no prediction.
        package var unreadable: Int64 = 0
        /// Accounts by effect.
        package var effects: [SimulatedEffect: Int64] = [:]
        /// The place after which a later run continues; `nil` before the first page and after the last.
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

    package init(_ comparison: PolicyComparison) {
        self.comparison = comparison
    }

    /// Judges every account and reports each effect in the order of the accounts. Accounts that would share an address
    /// come last.
    ///
    /// - `tenant`: one tenant; `nil` for all.
    /// - `start`: the place where an earlier run ended. Effects before it are not reported again, except shared
    ///   addresses.
    /// - `now`: the time at which rows count as live or expired.
    /// - `onPrediction`: called for each effect on an account, never concurrently.
    /// - `report`: called after each page, never concurrently with `onPrediction`. Throws to stop.
    /// - Returns: the progress and results of this run.
    /// - Throws: `PostgresError`, `SpillFailure`, and the errors of `onPrediction` and `report`.
    package func run(
        _ snapshots: AccountSnapshots,
        tenant: TenantID?,
        after start: AccountSnapshots.Place? = nil,
        at now: Timestamp,
        onPrediction: @escaping @Sendable (Prediction) throws -> Void,
        report: @escaping @Sendable (Progress) throws -> Void
    ) async throws -> Progress {
        let joins = comparison.joinsAddresses
        let spill = Mutex<TraitSpill?>(try TraitSpill(in: snapshots.temporaryFolder))
        let progress = Mutex(Progress())
        try await snapshots.read(
            .all,
            tenant: tenant,
            after: joins ? nil : start,
            extent: .judged,
            withStrayClaims: false,
            at: now,
            reading: { reading in
                let now = progress.withLock { progress in
                    progress.reading = reading
                    return progress
                }
                try report(now)
            },
            work: { page in try Judged(page, comparison, after: start, gathers: joins) },
            take: { judged in
                try spill.withLock { try $0?.append(judged.traits) }
                for prediction in judged.predictions { try onPrediction(prediction) }
                let now = progress.withLock { progress in
                    for prediction in judged.predictions { progress.effects[prediction.effect, default: 0] += 1 }
                    progress.accounts += judged.accounts
                    progress.unreadable += judged.unreadable
                    if let end = judged.end { progress.place = end }
                    return progress
                }
                try report(now)
            }
        )
        progress.withLock { $0.place = nil }
        guard let spill = spill.withLock({ $0.take() }) else { return progress.withLock { $0 } }
        try await spill.groups { group in
            let shared = comparison.predictions(forAccountsNaming: group.key, group.members, tenant: group.tenant)
            // One account that names its address twice does not share it.
            guard Set(group.members.map(\.user)).count > 1 else { return }
            for prediction in shared {
                try onPrediction(prediction)
                progress.withLock { $0.effects[prediction.effect, default: 0] += 1 }
            }
        }
        return progress.withLock { $0 }
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
        try await decisions.read(since: since, tenant: tenant) { events in
            let count = history.withLock { history in
                for event in events { history.add(event, comparison) }
                return history.events
            }
            try report(count)
        }
        return history.withLock { $0 }
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

/// Effects on the accounts of one page.
private struct Judged: Sendable {
    var predictions: [Prediction] = []
    var traits = TraitBatch()
    var accounts: Int64 = 0
    var unreadable: Int64 = 0
    var end: AccountSnapshots.Place?

    init(
        _ page: AccountSnapshots.Page,
        _ comparison: PolicyComparison,
        after start: AccountSnapshots.Place?,
        gathers: Bool
    ) throws {
        end = page.end
        guard case .accounts(let snapshots) = page.content else { return }
        var memo = PolicyComparison.Memo()
        var addresses = TraitList()
        try snapshots.visit { snapshot in
            if gathers {
                addresses.removeAll()
                addresses.appendAddresses(of: snapshot)
                traits.append(addresses, of: snapshot)
            }
            guard snapshot.hasAccount, start.map({ $0.precedes(snapshot) }) ?? true else { return }
            accounts += 1
            if !snapshot.unreadable.isEmpty { unreadable += 1 }
            predictions += comparison.predictions(for: snapshot, &memo)
        }
    }
}
