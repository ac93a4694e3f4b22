package import AccountLinking
package import AccountStore
package import Postgres

/// Counts ended conflicts and deletes expired rows, in bounded batches.
///
/// A run goes on until nothing has expired, at the pace of `PurgePace`. It ends, because it deletes only what had
/// expired when it began. A kind of rows that fails, such as at a lock, stops no other kind: the next run tries it again.
/// Conflicts are the exception: they are deleted only once the ended ones are counted.
///
/// One server at a time has the duty to purge. If two purge at once nevertheless, each row is deleted once and each
/// conflict is counted once. Accounts, everything that belongs to them, and live sessions stay.
///
/// A row has expired once this process's clock and PostgreSQL's both say so. If they differ by more than
/// `ClockComparison.differenceSecondsMax`, a run deletes nothing: a clock that is a month ahead would delete what users
/// can still restore.
package struct Purge: Sendable {
    /// A part of a run that can fail by itself.
    package enum Work: Sendable, Hashable, CaseIterable {
        case countConflicts
        case delete(AccountStore.Purgeable)
        /// Gives sessions that an earlier version of Concord wrote the day by which unused sessions are found.
        case dateSessions
        /// Creates the next months of events, and drops those whose events are all past the retention.
        case eventMonths

        package static let allCases =
            [countConflicts] + AccountStore.Purgeable.allCases.map(delete) + [dateSessions, eventMonths]

        /// Its name in metrics and logs.
        package var name: String {
            switch self {
            case .countConflicts: "conflict_counts"
            case .delete(let kind): kind.rawValue
            case .dateSessions: "session_days"
            case .eventMonths: "event_months"
            }
        }
    }

    package struct Report: Sendable, Hashable {
        /// Deleted rows.
        package var rows: [AccountStore.Purgeable: Int] = [:]
        /// Partitions of events.
        package var months = AccountStore.EventMonthChanges()
        /// Work that failed and did not end.
        package var failures: [Work: PostgresError] = [:]
        /// True if another server has the duty: this run deleted nothing, or stopped.
        package var isElsewhere = false
        /// Measured before the first deletion.
        package let clocks: ClockComparison

        package var total: Int { rows.values.reduce(0, +) }
        /// True if every row is deleted that had expired when the run began.
        package var isComplete: Bool { clocks.disagreement == nil && !isElsewhere && failures.isEmpty }
    }

    /// Batches of one kind before the next kind's turn, so that no backlog delays other kinds.
    package static let batchesMax = 10
    /// The name of the duty.
    package static let duty = "purge"

    private let store: AccountStore
    private let project: ProjectCache
    private let effects: Effects
    private let keepSeconds: Int64
    private let rowsMax: Int
    private let metrics: OperationMetrics
    private let purgeMetrics: PurgeMetrics
    private let databaseClock: @Sendable () async throws -> Timestamp
    private let uptime: @Sendable () -> ContinuousClock.Instant
    private let rest: @Sendable (Duration) async throws -> Void
    private var duty: Duty?
    private var paces: [Work: PurgePace] = [:]

    /// - `keepSeconds`: retention of expired rows, so that their holders get the answer "expired".
    /// - `rowsMax`: rows in one batch.
    /// - `duty`: `nil` purges without asking whether another server does.
    /// - `databaseClock`: PostgreSQL's, unless a test replaces it.
    /// - `uptime`: measures batches.
    /// - `rest`: waits between full batches. Its error ends the run.
    package init(
        store: AccountStore,
        project: ProjectCache,
        effects: Effects,
        keepSeconds: Int64,
        rowsMax: Int,
        duty: Duty? = nil,
        metrics: OperationMetrics = OperationMetrics(),
        purgeMetrics: PurgeMetrics = PurgeMetrics(),
        databaseClock: (@Sendable () async throws -> Timestamp)? = nil,
        uptime: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        rest: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.store = store
        self.project = project
        self.effects = effects
        self.keepSeconds = keepSeconds
        self.rowsMax = rowsMax
        self.duty = duty
        self.metrics = metrics
        self.purgeMetrics = purgeMetrics
        self.databaseClock = databaseClock ?? { try await store.clock() }
        self.uptime = uptime
        self.rest = rest
    }

    /// Deletes nothing while the clocks disagree, or while another server has the duty.
    /// - Throws: a database error that is not the fault of one kind of rows. Earlier deletions stay.
    package mutating func run() async throws -> Report {
        let start = uptime()
        var report = Report(clocks: try await ClockComparison(effects, databaseClock))
        guard report.clocks.disagreement == nil else { return report }
        let now = report.clocks.earlier
        var left = Work.allCases
        while !left.isEmpty {
            var unfinished: [Work] = []
            for work in left {
                let elapsed = start.duration(to: uptime()).components.seconds
                guard try await duty?.hold(at: report.clocks.database.adding(seconds: elapsed)) != false else {
                    purgeMetrics.handOver()
                    report.isElsewhere = true
                    return report
                }
                if work == .delete(.conflicts) {
                    // Ended conflicts are counted before they are deleted.
                    if report.failures[.countConflicts] != nil {
                        await measureBacklog(of: work, at: now)
                        continue
                    }
                    if unfinished.contains(.countConflicts) {
                        unfinished.append(work)
                        continue
                    }
                }
                if try await turn(of: work, at: now, &report) { unfinished.append(work) }
            }
            left = unfinished
        }
        return report
    }

    /// Gives the duty back, so that another server purges at once.
    package mutating func release() async throws {
        try await duty?.release()
    }

    /// Runs at most `batchesMax` batches.
    /// - Returns: `true` if there may be more to do in this run.
    private mutating func turn(of work: Work, at now: Timestamp, _ report: inout Report) async throws -> Bool {
        var pace = paces[work] ?? PurgePace(rowsMax: rowsMax)
        defer { paces[work] = pace }
        for _ in 0..<Self.batchesMax {
            let start = uptime()
            do throws(PostgresError) {
                guard try await batch(of: work, rows: pace.rows, at: now, &report) else {
                    if case .delete = work { purgeMetrics.waits(0, work) }
                    return false
                }
            } catch {
                guard error.mayConcernOneKind else { throw error }
                pace.failed()
                report.failures[work] = error
                purgeMetrics.failed(work)
                await measureBacklog(of: work, at: now)
                return false
            }
            try await rest(pace.rest(after: start.duration(to: uptime())))
        }
        await measureBacklog(of: work, at: now)
        return true
    }

    /// - Returns: `true` if the batch was full, so that there may be more.
    private func batch(
        of work: Work,
        rows rowsMax: Int,
        at now: Timestamp,
        _ report: inout Report
    ) async throws(PostgresError) -> Bool {
        var done = 0
        switch work {
        case .countConflicts:
            let ended = try await store.countEndedConflicts(at: now, rowsMax: rowsMax)
            for conflict in ended { metrics.conflictEnded(conflict) }
            done = ended.count
        case .dateSessions:
            done = try await store.dateSessions(rowsMax: rowsMax)
        case .eventMonths:
            report.months = try await store.maintainEventPartitions(now: now, keepSince: cutoff(of: .events, at: now))
            return false
        case .delete(let kind):
            guard let cutoff = cutoff(of: kind, at: now) else { return false }
            done = try await store.purge(kind, endedBefore: cutoff, rowsMax: rowsMax)
            report.rows[kind, default: 0] += done
            purgeMetrics.changed(done, work)
            if kind == .sessions, done < rowsMax {
                done += try await store.moveUsedSessions(since: cutoff, rowsMax: rowsMax)
            }
            return done >= rowsMax
        }
        purgeMetrics.changed(done, work)
        return done >= rowsMax
    }

    /// Reports for how long the oldest row has waited. Without an answer the metric keeps its value.
    private func measureBacklog(of work: Work, at now: Timestamp) async {
        guard case .delete(let kind) = work, let cutoff = cutoff(of: kind, at: now),
            let oldest = try? await store.oldest(kind, endedBefore: cutoff)
        else { return }
        purgeMetrics.waits(max(0, cutoff.seconds(since: oldest)), work)
    }

    /// Rows that ended before are deleted; `nil` deletes none.
    private func cutoff(of kind: AccountStore.Purgeable, at now: Timestamp) -> Timestamp? {
        switch kind {
        // Holders still get the answer "expired", and a second use of a code still ends its session.
        case .conflicts, .signInReturns, .codes, .phoneVerifications, .factorChallenges, .messages, .finishedMessages,
            .webhookMessages, .merges:
            now.adding(seconds: -keepSeconds)
        // An expired row counts as absent. An unpublished signing key is only a risk.
        case .passwordAttempts, .passwordSources, .signingKeys, .storedResponses, .quarantinedMethods, .proofMails,
            .providerFlows, .pendingSignUps, .messageCounts, .shortCodes, .reservedAddresses, .journal, .auditSteps,
            .auditPlans, .usedIDTokens, .devices:
            now
        case .signInRefusals: now.adding(seconds: -Lifetimes.signInRefusalSeconds)
        case .events, .eventsOutsideMonths: project.settings.eventRetentionSeconds.map { now.adding(seconds: -$0) }
        // Sessions stay as long as other expired rows, so that raising a lifetime still saves them. A session that is
        // too old is not used again, so it is deleted one lifetime after its last use at the latest.
        case .sessions: project.settings.sessionLifetimes.sweepSeconds.map { now.adding(seconds: -$0 - keepSeconds) }
        }
    }
}

extension PostgresError {
    /// True if other statements may succeed nevertheless.
    fileprivate var mayConcernOneKind: Bool {
        switch code {
        case .server: !refusesWrites
        case .statementTimeout, .decoding, .tooManyRows, .connectionLost, .commitOutcomeUnknown: true
        case .unavailable, .queueFull, .queueTimeout, .cancelled, .shutDown, .valueTooLarge, .rolledBack,
            .configuration,
            .misuse:
            false
        }
    }
}
