import Synchronization

/// What one caller wants done in a lane: statements that belong together, and the answer that the caller waits for.
final class Job: LaneJob {
    typealias Answer = Result<[ResultSet], PostgresError>

    let statements: [NamedStatement]
    /// The column of the answer that holds the key, for a job that may be merged with others like it.
    let keyColumn: Int?
    /// What it has in common with those that can be one with it; `nil` for a job that stands alone.
    let joinKey: JoinKey?
    /// `WriteBatch.order`.
    let order: [UInt8]
    /// Those that are answered together by this one; nobody waits for this one itself then.
    let members: [Job]
    let reply = Reply<Answer>()

    /// `isShared`: whether it may be one with others that differ in their rows and keys only; a lookup may.
    init(_ statements: [NamedStatement], keyColumn: Int? = nil, isShared: Bool = false, order: [UInt8] = []) {
        self.statements = statements
        self.keyColumn = keyColumn
        self.order = order
        joinKey = isShared || keyColumn != nil ? JoinKey(statements) : nil
        members = []
    }

    /// All of `members` in one.
    init(_ statements: [NamedStatement], of members: [Job]) {
        self.statements = statements
        keyColumn = members[0].keyColumn
        order = members[0].order
        joinKey = nil
        self.members = members
    }

    var statementCount: Int { statements.count }

    func start() -> Bool { reply.start() }

    func joins(_ other: Job) -> Bool {
        guard let joinKey else { return false }
        return joinKey == other.joinKey
    }

    /// Gives the answer to whoever waits for it.
    func finish(_ answer: Answer) {
        guard !members.isEmpty else {
            reply.finish { _ in answer }
            return
        }
        for (member, answer) in distribute(answer) { member.finish(answer) }
    }

    func fail(_ error: PostgresError) {
        finish(.failure(error))
    }
}

/// A lane as callers and the reactor share it: its state behind a lock that is never held while something waits.
final class Lane: Sendable {
    let kind: Conversation<Job, ResultSet>.Kind
    let name: PostgresLane
    let role: PostgresConfiguration.Role
    let state: Mutex<LaneState<Job>>
    let begin: NamedStatement
    let commit: NamedStatement
    /// Sent with each transaction where limits of time cannot be set once per connection.
    let settings: NamedStatement?
    let catalog: StatementCatalog

    init(_ name: PostgresLane, _ configuration: PostgresConfiguration, _ catalog: StatementCatalog) {
        self.name = name
        self.catalog = catalog
        let answerWait: Duration
        switch name {
        case .read:
            kind = .reads
            role = .read
            answerWait = configuration.readStatementTimeout + configuration.answerGrace
        case .write:
            kind = .writes
            role = .write
            answerWait = configuration.writeStatementTimeout + configuration.answerGrace
        }
        let isNamed = configuration.statementMode == .named
        begin = NamedStatement(sql: "BEGIN", name: isNamed ? .begin : nil)
        commit = NamedStatement(sql: "COMMIT", name: isNamed ? .commit : nil)
        settings = configuration.transactionSettings(for: role)
            .map { NamedStatement(sql: SQL(text: $0), name: nil) }
        state = Mutex(
            LaneState(
                limits: LaneState.Limits(
                    connections: name == .read ? configuration.readConnections : configuration.writeConnections,
                    queueMax: configuration.queueMax,
                    jobsPerBatchMax: name == .read ? configuration.statementsPerBatchMax : 1,
                    sharersMax: name == .read ? 1 : configuration.writesPerTransactionMax,
                    statementsPerBatchMax: configuration.statementsPerBatchMax,
                    queueWait: configuration.queueWait,
                    answerWait: answerWait,
                    connectTimeout: configuration.connectTimeout,
                    reconnectDelayMin: configuration.reconnectDelayMin,
                    reconnectDelayMax: configuration.reconnectDelayMax
                )
            )
        )
    }

    /// The error of a caller that has waited long enough for an answer to what was sent.
    var noAnswer: PostgresError {
        switch kind {
        case .reads: PostgresError(.statementTimeout, "server did not answer in time")
        case .writes: PostgresError(.commitOutcomeUnknown, "server did not answer the transaction in time")
        }
    }

    /// The error of a caller whose task was cancelled.
    func cancelled(isStarted: Bool) -> PostgresError {
        kind == .writes && isStarted
            ? PostgresError(.commitOutcomeUnknown, "cancelled after the transaction was sent")
            : PostgresError(.cancelled, "task was cancelled")
    }
}
