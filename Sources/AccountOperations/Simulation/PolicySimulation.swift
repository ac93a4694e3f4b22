package import AccountLinking
package import AccountStore
import Synchronization

/// Tells what a change of policy would do: to every account, and to what was asked in the past. Writes nothing to the
/// database.
package struct PolicySimulation: Sendable {
    /// How far the accounts are judged.
    package struct Progress: Sendable, Hashable {
        package var reading = ScanProgress()
        package var accounts: Int64 = 0
        /// Those of them that hold values which cannot be read: nothing is said of them.
        package var unreadable: Int64 = 0
        /// Accounts by what becomes of them.
        package var effects: [SimulatedEffect: Int64] = [:]
        /// After this a later run goes on; `nil` before the first page, and once all accounts were read.
        package var place: AccountSnapshots.Place?

        package init() {}
    }

    /// What would be answered otherwise of what was asked.
    package struct History: Sendable, Hashable {
        package var events: Int64 = 0
        package var questions: Int64 = 0
        /// Questions that only another version knows.
        package var unreadable: Int64 = 0
        /// Questions that the policy in force answers in another way than was answered then: no matter of the proposal.
        package var answeredOtherwiseNow: Int64 = 0
        package var changes: [HistoryChange: HistoryCount] = [:]

        package init() {}
    }

    /// Answers that differ in the same way.
    package struct HistoryChange: Sendable, Hashable {
        /// `nil` where nobody came with a provider's credential.
        package var provider: ProviderID?
        package var ruleBefore: Rule
        package var before: SimulatedOutcome
        package var ruleAfter: Rule
        package var after: SimulatedOutcome
    }

    package struct HistoryCount: Sendable, Hashable {
        /// Accounts that are told apart, at most; more are as many.
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

    /// Judges every account, and tells of each what becomes of it, in the order of the accounts; last of those that come
    /// to share an address.
    ///
    /// - Parameters:
    ///   - snapshots: what reads the accounts.
    ///   - tenant: one tenant; all of them where it is `nil`.
    ///   - start: where an earlier run ended: what it told is not told again, except of shared addresses.
    ///   - now: what is still alive is judged by it.
    ///   - onPrediction: called for each effect on an account, never twice at once.
    ///   - report: called after each page, never beside `onPrediction`; throws to stop.
    /// - Returns: what was looked at and found, in this run.
    /// - Throws: `PostgresError`, `SpillFailure`; what `onPrediction` and `report` throw.
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
            // One account that names its address twice shares it with nobody.
            guard Set(group.members.map(\.user)).count > 1 else { return }
            for prediction in shared {
                try onPrediction(prediction)
                progress.withLock { $0.effects[prediction.effect, default: 0] += 1 }
            }
        }
        return progress.withLock { $0 }
    }

    /// Asks everything again that was asked since some instant.
    ///
    /// - Parameters:
    ///   - decisions: what reads them.
    ///   - since: when the first was taken at the earliest.
    ///   - tenant: one tenant; all of them where it is `nil`.
    ///   - report: called after each page with how many events were read; throws to stop.
    /// - Returns: what would be answered otherwise.
    /// - Throws: `PostgresError`; what `report` throws.
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
            let before = record.question.answer(under: comparison.present)
            if before.rule != record.rule { answeredOtherwiseNow += 1 }
            let after = record.question.answer(under: comparison.proposed)
            guard before != after else { continue }
            let change = PolicySimulation.HistoryChange(
                provider: record.question.presentedCredential?.identity.provider,
                ruleBefore: before.rule,
                before: before.outcome,
                ruleAfter: after.rule,
                after: after.outcome
            )
            changes[change, default: PolicySimulation.HistoryCount()].count(event)
        }
    }
}

/// What becomes of the accounts of one page.
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
