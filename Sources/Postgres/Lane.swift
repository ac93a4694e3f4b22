import Synchronization

/// The statements of one caller, which belong together, and the answer that it waits for.
final class Job: LaneJob {
    typealias Answer = Result<[ResultSet], PostgresError>

    let statements: [NamedStatement]
    /// The way to merge it with other jobs; `nil` if it is sent alone.
    let merging: Merging?
    /// The jobs that this one was merged from. Their callers wait; no caller waits for this one.
    let members: [Job]
    let reply = Reply<Answer>()

    init(_ statements: [NamedStatement], merging: Merging? = nil, members: [Job] = []) {
        self.statements = statements
        self.merging = merging
        self.members = members
    }

    var statementCount: Int { statements.count }

    func start() -> Bool { reply.start() }

    /// Gives the answer to the caller.
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

/// A lane as callers and the reactor share it. Its lock is never held during a wait.
final class Lane: Sendable {
    let kind: Conversation<Job, ResultSet>.Kind
    let name: PostgresLane
    let role: PostgresConfiguration.Role
    let state: Mutex<LaneState<Job>>
    let begin: NamedStatement
    let commit: NamedStatement
    /// Sent with each transaction if time limits cannot be set once per connection.
    private let settings: NamedStatement?
    private let settingsOnCitus: NamedStatement?
    /// The statements that every transaction sends, in addition to those of its callers.
    func ownStatements(on engine: DatabaseEngine) -> [NamedStatement] {
        [begin, commit] + (settings(on: engine).map { [$0] } ?? [])
    }

    func settings(on engine: DatabaseEngine) -> NamedStatement? { engine == .citus ? settingsOnCitus : settings }

    /// `PostgresConfiguration.mergesStatements`.
    let mergesStatements: Bool
    let catalog: StatementCatalog

    init(_ name: PostgresLane, _ configuration: PostgresConfiguration, _ catalog: StatementCatalog) {
        self.name = name
        self.catalog = catalog
        mergesStatements = configuration.mergesStatements
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
        let settingsName = isNamed ? name.settingsName : nil
        settings = configuration.transactionSettings(for: role, on: .postgres)
            .map { NamedStatement(sql: SQL(text: $0), name: settingsName) }
        settingsOnCitus = configuration.transactionSettings(for: role, on: .citus)
            .map { NamedStatement(sql: SQL(text: $0), name: settingsName) }
        state = Mutex(
            LaneState(
                limits: LaneState.Limits(
                    connections: name == .read ? configuration.readConnections : configuration.writeConnections,
                    queueMax: configuration.queueMax,
                    jobsPerBatchMax: name == .read ? configuration.statementsPerBatchMax : 1,
                    mergedJobsMax: name == .write && mergesStatements ? configuration.writesPerTransactionMax : 1,
                    statementsPerBatchMax: configuration.statementsPerBatchMax,
                    queueWait: configuration.queueWait,
                    answerWait: answerWait,
                    connectTimeout: configuration.connectTimeout,
                    reconnectDelayMin: configuration.reconnectDelayMin,
                    reconnectDelayMax: configuration.reconnectDelayMax,
                    idleTimeout: configuration.idleTimeout
                )
            )
        )
    }

    /// The error of a caller whose statement got no answer in time.
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

extension PostgresLane {
    fileprivate var settingsName: PreparedName {
        switch self {
        case .read: .readSettings
        case .write: .writeSettings
        }
    }
}
