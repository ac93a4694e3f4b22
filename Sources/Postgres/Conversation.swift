/// The statements that one connection has sent and the answers that it expects, without the connection. Each result
/// goes in; its consequence for a caller comes out.
///
/// PostgreSQL treats everything up to a Sync as one transaction, except explicit transactions. If a statement fails,
/// the server skips all others up to the next Sync, and rolls back those before. So a write is answered only at its own
/// Sync.
struct Conversation<Job: LaneJob, Answer: Sendable>: Sendable {
    enum Kind: Sendable {
        /// Statements that change nothing. They are answered at once, and sent again if another statement's failure or
        /// a lost connection took their answer.
        case reads
        /// `BEGIN`, statements, `COMMIT`.
        case writes
    }

    /// A message that was sent and gets one result.
    enum Step: Sendable, Hashable {
        case prepare(statement: Int, exchange: Int)
        /// Time limits that are sent with each transaction; for the whole batch if `exchange` is `nil`.
        case settings(exchange: Int?)
        case begin(exchange: Int)
        case statement(exchange: Int, isLast: Bool)
        case commit(exchange: Int)
        /// Ends `exchange`, or the whole batch.
        case sync(exchange: Int?)
        /// Restores the session's state after a failure.
        case cleanUp
    }

    enum Event: Sendable {
        case completed(Answer, tag: String?)
        case failed(ServerFailure)
        /// Skipped because a statement failed since the last Sync.
        case skipped
        case synced
    }

    enum Effect: Sendable {
        case none
        case answer(Job, [Answer])
        case fail(Job, PostgresError)
        case sendAgain(QueuedJob<Job>)
        /// The server ended the session or sent an unexpected answer: apply what `lost` returns and drop the
        /// connection.
        case broken
    }

    private struct Exchange: Sendable {
        let queued: QueuedJob<Job>
        var answers: [Answer] = []
        var failure: ServerFailure?
        var isCommitted = false
        /// `true` if a statement began or ended a transaction, so that the commit covers something else than intended.
        var hasOwnTransactions = false
        var isSettled = false
    }

    /// The number of times that a job is sent at most.
    static var sendCountMax: Int { 3 }

    private let kind: Kind
    private var exchanges: [Exchange]
    private var steps: [Step] = []
    private var position = 0
    /// The step at which the server ended the session.
    private var endedAt: Step?
    /// Numbers of the statements that the server has confirmed as prepared.
    private(set) var prepared: [Int] = []
    /// `true` if the server does not have a statement prepared as expected.
    private(set) var hasStalePreparation = false

    init(_ kind: Kind, _ jobs: [QueuedJob<Job>]) {
        self.kind = kind
        exchanges = jobs.map { Exchange(queued: $0) }
        steps.reserveCapacity(jobs.count * 2 + 1)
    }

    /// Records that `step` was sent.
    mutating func expect(_ step: Step) {
        steps.append(step)
    }

    /// `true` if everything has been answered.
    var isFinished: Bool { position == steps.count }

    /// The jobs whose callers still wait.
    var unsettled: [Job] {
        exchanges.filter { !$0.isSettled }.map(\.queued.job)
    }

    mutating func receive(_ event: Event) -> Effect {
        guard position < steps.count else { return .broken }
        let step = steps[position]
        if case .failed(let failure) = event, failure.endsSession {
            endedAt = failure.sqlState == nil ? nil : step
            return .broken
        }
        // If the connection breaks, libpq reports success without a command tag for the current statement. The server
        // never does. As an answer it would mean no rows.
        if case (.statement, .completed(_, tag: "")) = (step, event) { return .broken }
        position += 1
        switch (step, event) {
        case (.sync(let exchange), .synced):
            return synced(exchange)
        case (.sync, _), (_, .synced), (.cleanUp, .failed), (.cleanUp, .skipped):
            return .broken
        case (.cleanUp, .completed):
            return .none
        case (.settings(exchange: nil), .failed(let failure)):
            // The statements behind it are skipped and sent again, each on its own.
            if failure.isStalePreparation { hasStalePreparation = true }
            return .none
        case (.prepare(_, let exchange), .failed(let failure)), (.settings(let exchange?), .failed(let failure)),
            (.begin(let exchange), .failed(let failure)), (.statement(let exchange, _), .failed(let failure)),
            (.commit(let exchange), .failed(let failure)):
            return failed(exchange, failure)
        case (.prepare(_, let exchange), .skipped), (.statement(let exchange, _), .skipped):
            return kind == .reads ? skipped(exchange) : .none
        case (.settings, .skipped), (.begin, .skipped), (.commit, .skipped):
            return .none
        case (.prepare(let statement, _), .completed):
            prepared.append(statement)
            return .none
        case (.settings, .completed), (.begin, .completed):
            return .none
        case (.statement(let exchange, let isLast), .completed(let answer, let tag)):
            exchanges[exchange].answers.append(answer)
            switch tag {
            case "BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK": exchanges[exchange].hasOwnTransactions = true
            default: break
            }
            guard kind == .reads, isLast else { return .none }
            return settle(exchange, .answer(exchanges[exchange].queued.job, exchanges[exchange].answers))
        case (.commit(let exchange), .completed(_, let tag)):
            // The server answers COMMIT with ROLLBACK if something in the transaction failed.
            exchanges[exchange].isCommitted = tag == "COMMIT"
            return .none
        }
    }

    /// Returns the consequences for the jobs that still wait, after the connection was lost.
    mutating func lost() -> [Effect] {
        exchanges.indices.filter { !exchanges[$0].isSettled }.map { index in
            settle(index, effectOfLoss(index))
        }
    }

    // MARK: Meaning

    private mutating func failed(_ index: Int, _ failure: ServerFailure) -> Effect {
        exchanges[index].failure = exchanges[index].failure ?? failure
        if failure.isStalePreparation { hasStalePreparation = true }
        return kind == .reads ? settleFailure(index, failure) : .none
    }

    private mutating func settleFailure(_ index: Int, _ failure: ServerFailure) -> Effect {
        guard !exchanges[index].isSettled else { return .none }
        let queued = exchanges[index].queued
        if failure.isStalePreparation, queued.sendCount < Self.sendCountMax { return settle(index, .sendAgain(queued)) }
        return settle(index, .fail(queued.job, failure.error))
    }

    private mutating func skipped(_ index: Int) -> Effect {
        guard !exchanges[index].isSettled else { return .none }
        return settle(index, repeatOrFail(exchanges[index].queued))
    }

    private mutating func synced(_ index: Int?) -> Effect {
        guard kind == .writes, let index else { return .none }
        if let failure = exchanges[index].failure { return settleFailure(index, failure) }
        let exchange = exchanges[index]
        if exchange.hasOwnTransactions {
            let error = PostgresError(.misuse, "a batch must not begin or end a transaction")
            return settle(index, .fail(exchange.queued.job, error))
        }
        guard exchange.isCommitted else {
            let error = PostgresError(.rolledBack, "the server answered the commit with a rollback")
            return settle(index, .fail(exchange.queued.job, error))
        }
        return settle(index, .answer(exchange.queued.job, exchange.answers))
    }

    private func effectOfLoss(_ index: Int) -> Effect {
        let exchange = exchanges[index]
        switch kind {
        case .reads:
            return repeatOrFail(exchange.queued)
        case .writes:
            // A failed exchange is rolled back even if the rest of the conversation did not happen.
            if let failure = exchange.failure { return .fail(exchange.queued.job, failure.error) }
            // The server answers in order. If it ended the session in answer to a step before COMMIT, it never saw
            // COMMIT.
            if let endedAt, !endedAt.mayFollowCommit(of: index) {
                return .fail(exchange.queued.job, PostgresError(.connectionLost, "the server ended the connection"))
            }
            let error = PostgresError(.commitOutcomeUnknown, "connection lost after the transaction was sent")
            return .fail(exchange.queued.job, error)
        }
    }

    private func repeatOrFail(_ queued: QueuedJob<Job>) -> Effect {
        guard queued.sendCount < Self.sendCountMax else {
            return .fail(queued.job, PostgresError(.connectionLost, "connection to the server lost"))
        }
        return .sendAgain(queued)
    }

    private mutating func settle(_ index: Int, _ effect: Effect) -> Effect {
        exchanges[index].isSettled = true
        return effect
    }
}

extension Conversation.Step {
    /// Returns `true` if the server may have run the commit of `exchange` when it reaches this step.
    fileprivate func mayFollowCommit(of exchange: Int) -> Bool {
        switch self {
        case .prepare(_, let own), .settings(let own?), .begin(let own), .statement(let own, _): own > exchange
        case .commit(let own), .sync(let own?): own >= exchange
        case .settings(nil), .sync(nil), .cleanUp: true
        }
    }
}
