package import AccountLinking
package import AccountStore

/// Counts ended conflicts and deletes expired rows, in bounded batches.
///
/// After each full batch a run rests for as long as the batch took, so it takes at most half of one connection's time.
/// It ends, because it deletes only what had expired when it began.
///
/// Any number of servers may purge at once; each skips rows that another is deleting. Accounts, everything that belongs
/// to them, and live sessions stay.
///
/// A row has expired once this process's clock and PostgreSQL's both say so. If they differ by more than
/// `ClockComparison.differenceSecondsMax`, a run deletes nothing: a clock that is a month ahead would delete what users
/// can still restore.
package struct Purge: Sendable {
    package struct Report: Sendable, Hashable {
        package var rows: [AccountStore.Purgeable: Int] = [:]
        package var sessions = 0
        /// Partitions of events.
        package var months = AccountStore.EventMonthChanges()
        /// Measured before the first deletion.
        package let clocks: ClockComparison

        package var total: Int { sessions + rows.values.reduce(0, +) }
    }

    /// Batches of one kind before the next kind's turn, so that no backlog delays other kinds.
    package static let batchesMax = 10

    private let store: AccountStore
    private let project: ProjectCache
    private let effects: Effects
    private let keepSeconds: Int64
    private let rowsMax: Int
    private let metrics: OperationMetrics
    private let databaseClock: @Sendable () async throws -> Timestamp
    private let rest: @Sendable (Duration) async throws -> Void
    /// Position of the scan of all sessions, which restarts at the end.
    private var place = AccountStore.SessionCursor.beginning

    /// - `keepSeconds`: retention of expired rows, so that their holders get the answer "expired".
    /// - `rowsMax`: rows in one batch.
    /// - `databaseClock`: PostgreSQL's, unless a test replaces it.
    /// - `rest`: waits as long as the last batch took. Its error ends the run.
    package init(
        store: AccountStore,
        project: ProjectCache,
        effects: Effects,
        keepSeconds: Int64,
        rowsMax: Int,
        metrics: OperationMetrics = OperationMetrics(),
        databaseClock: (@Sendable () async throws -> Timestamp)? = nil,
        rest: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.store = store
        self.project = project
        self.effects = effects
        self.keepSeconds = keepSeconds
        self.rowsMax = rowsMax
        self.metrics = metrics
        self.databaseClock = databaseClock ?? { try await store.clock() }
        self.rest = rest
    }

    /// Deletes nothing while the clocks disagree.
    /// - Throws: a database error. Earlier deletions stay.
    package mutating func run() async throws -> Report {
        var report = Report(clocks: try await ClockComparison(effects, databaseClock))
        guard report.clocks.disagreement == nil else { return report }
        let now = report.clocks.earlier
        while try await resting({ try await countEndedConflicts(at: now) == rowsMax }) {}
        var kinds = AccountStore.Purgeable.allCases
        while !kinds.isEmpty {
            var unfinished: [AccountStore.Purgeable] = []
            for kind in kinds {
                guard let cutoff = cutoff(of: kind, at: now) else { continue }
                var isFull = true
                for _ in 0..<Self.batchesMax where isFull {
                    isFull = try await resting {
                        let deleted = try await store.purge(kind, endedBefore: cutoff, rowsMax: rowsMax)
                        report.rows[kind, default: 0] += deleted
                        return deleted == rowsMax
                    }
                }
                if isFull { unfinished.append(kind) }
            }
            kinds = unfinished
        }
        for _ in 0..<Self.batchesMax {
            let (deleted, next) = try await store.purgeEndedSessions(
                from: place,
                rowsMax: rowsMax,
                endedBy: sessionCutoffs(at: now)
            )
            report.sessions += deleted
            place = next
            if next == .beginning { break }
        }
        // A month is dropped once all its events are past the retention.
        report.months = try await store.maintainEventPartitions(now: now, keepSince: cutoff(of: .events, at: now))
        return report
    }

    /// Runs a batch, and rests if it was full.
    /// - Returns: `true` if there may be more.
    private func resting(_ batch: () async throws -> Bool) async throws -> Bool {
        let start = ContinuousClock.now
        guard try await batch() else { return false }
        try await rest(start.duration(to: .now))
        return true
    }

    private func countEndedConflicts(at now: Timestamp) async throws -> Int {
        let ended = try await store.countEndedConflicts(at: now, rowsMax: rowsMax)
        for conflict in ended { metrics.conflictEnded(conflict) }
        return ended.count
    }

    /// Sessions are deleted as late as other expired rows, so that raising a lifetime still saves them.
    private func sessionCutoffs(at now: Timestamp) -> SessionCutoffs {
        let lifetimes = project.settings.sessionLifetimes
        return SessionCutoffs(
            startedBefore: lifetimes.absoluteSeconds.map { now.adding(seconds: -$0 - keepSeconds) },
            usedBefore: lifetimes.inactivitySeconds.map { now.adding(seconds: -$0 - keepSeconds) }
        )
    }

    /// Rows that ended before are deleted; `nil` deletes none.
    private func cutoff(of kind: AccountStore.Purgeable, at now: Timestamp) -> Timestamp? {
        switch kind {
        // Holders still get the answer "expired".
        case .conflicts, .codes, .phoneVerifications, .factorChallenges, .messages, .finishedMessages,
            .webhookMessages, .merges:
            now.adding(seconds: -keepSeconds)
        // An expired row counts as absent. An unpublished signing key is only a risk.
        case .passwordAttempts, .signingKeys, .storedResponses, .quarantinedMethods, .proofMails, .providerFlows,
            .messageCounts, .shortCodes, .reservedAddresses, .journal, .auditSteps, .auditPlans, .usedIDTokens:
            now
        case .signInRefusals: now.adding(seconds: -Lifetimes.signInRefusalSeconds)
        case .events, .eventsOutsideMonths: project.settings.eventRetentionSeconds.map { now.adding(seconds: -$0) }
        }
    }
}
