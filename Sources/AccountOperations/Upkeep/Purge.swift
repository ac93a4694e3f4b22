package import AccountLinking
package import AccountStore

/// Counts the conflicts that have ended, and deletes what nothing will ask for any more, a bounded number of rows at a
/// time, until nothing is left.
///
/// After each full batch a run rests for as long as the batch took, so it takes at most half of one connection's time. A run
/// ends: it deletes what was over when it began.
///
/// Any number of servers may do so at once: what one of them is deleting the others skip. What stays for good: accounts
/// and all that belongs to them, and sessions that go on.
///
/// Something is over once it is so by this process's clock and by PostgreSQL's. If the two differ by more than
/// `ClockComparison.differenceSecondsMax`, a run deletes nothing: one server whose clock is a month ahead would delete for
/// all servers what people can still bring back.
package struct Purge: Sendable {
    /// What a run deleted.
    package struct Report: Sendable, Hashable {
        package var rows: [AccountStore.Purgeable: Int] = [:]
        package var sessions = 0
        /// Measured before anything was deleted.
        package let clocks: ClockComparison

        package var total: Int { sessions + rows.values.reduce(0, +) }
    }

    /// Batches of one kind before it is the turn of the next kind: a backlog of one kind holds up no other.
    package static let batchesMax = 10

    private let store: AccountStore
    private let project: ProjectCache
    private let effects: Effects
    private let keepSeconds: Int64
    private let rowsMax: Int
    private let metrics: OperationMetrics
    private let databaseClock: @Sendable () async throws -> Timestamp
    private let rest: @Sendable (Duration) async throws -> Void
    /// Where the walk through all sessions stands; it begins anew at the end.
    private var place = AccountStore.SessionCursor.beginning

    ///
    /// - `keepSeconds`: how long things stay after they expired, so that their holders are told so.
    /// - `rowsMax`: rows in one batch.
    /// - `databaseClock`: PostgreSQL's, unless a test moves it.
    /// - `rest`: waits between two batches, for as long as the first took; what it throws ends the run.
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

    /// Deletes all that is due; nothing while the clocks disagree.
    /// - Throws: what the database could not do; what was deleted before stays deleted.
    package mutating func run() async throws -> Report {
        var report = Report(clocks: try await ClockComparison(effects, databaseClock))
        guard report.clocks.disagreement == nil else { return report }
        let now = report.clocks.earlier
        // Before any of them is deleted.
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
        return report
    }

    /// Runs a batch, and rests where it was full.
    /// - Returns: what the batch returned: true if it was full, so that there may be more.
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

    /// Sessions that the project's lifetimes ended go as late as what expired, so that raising a lifetime is not too late.
    private func sessionCutoffs(at now: Timestamp) -> SessionCutoffs {
        let lifetimes = project.settings.sessionLifetimes
        return SessionCutoffs(
            startedBefore: lifetimes.absoluteSeconds.map { now.adding(seconds: -$0 - keepSeconds) },
            usedBefore: lifetimes.inactivitySeconds.map { now.adding(seconds: -$0 - keepSeconds) }
        )
    }

    /// What ended before then goes; `nil`: nothing does.
    private func cutoff(of kind: AccountStore.Purgeable, at now: Timestamp) -> Timestamp? {
        switch kind {
        // Somebody may still ask, and be told that it is over.
        case .conflicts, .codes, .phoneVerifications, .factorChallenges, .messages, .finishedMessages,
            .webhookMessages, .merges:
            now.adding(seconds: -keepSeconds)
        // A count that is forgotten counts no more, nor does a mail whose place is free; a key that is published no more is
        // only a risk; an answer that is over is told to nobody; a method that is gone is kept by nobody; a sign-in that
        // is over is like one that never began; a token that has ended is refused anyway; a short code that is over is like one
        // that was never sent; what can be undone no more is not there to be read; an address that is kept for nobody is free.
        case .passwordAttempts, .signingKeys, .storedResponses, .quarantinedMethods, .proofMails, .providerFlows,
            .messageCounts, .shortCodes, .reservedAddresses, .journal, .auditSteps, .auditPlans, .usedIDTokens:
            now
        case .signInRefusals: now.adding(seconds: -Lifetimes.signInRefusalSeconds)
        case .events: project.settings.eventRetentionSeconds.map { now.adding(seconds: -$0) }
        }
    }
}
