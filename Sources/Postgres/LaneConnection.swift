/// The results of one read from a connection. They are collected so that the lane's lock is taken once and callers are
/// woken together. Woken one by one, each would find its thread asleep again.
struct Delivery {
    private(set) var sentAgain: [QueuedJob<Job>] = []
    private(set) var answered = 0
    var hasProgress = false
    private var settled: [(job: Job, answer: Job.Answer)] = []

    mutating func carryOut(_ effect: Conversation<Job, ResultSet>.Effect) {
        switch effect {
        case .none, .broken:
            break
        case .answer(let job, let results):
            answered += job.parts.count
            settled.append((job, .success(results)))
        case .fail(let job, let error) where !job.members.isEmpty && error.sqlState != nil:
            // One member failed and nothing was applied. The others are sent again to get their own answers.
            sentAgain += job.members.map { QueuedJob(job: $0, deadline: currentInstant(), sendCount: 1) }
        case .fail(let job, let error):
            settled.append((job, .failure(error)))
        case .sendAgain(let queued):
            sentAgain.append(queued)
        }
    }

    func wakeCallers() {
        for (job, answer) in settled { job.finish(answer) }
    }
}

/// One connection of a lane: a `Connection` in pipeline mode with its conversation.
final class LaneConnection {
    enum Outcome: Hashable {
        /// All answers have arrived: the connection is free.
        case finished
        /// Answers are outstanding.
        case waits
        /// There was nothing to answer.
        case idle
        /// The connection is unusable.
        case broken
    }

    private let connection: Connection
    private(set) var isConnecting = true
    /// Known once it is connected.
    private(set) var engine = DatabaseEngine.postgres
    /// The conversation that asks for the engine, before the connection counts as connected.
    private var greeting: Conversation<Job, ResultSet>?
    private var greetingFailure: PostgresError?
    /// `true` if a statement failed as it does when the server has become Citus meanwhile.
    private(set) var isOutdated = false
    let madeAt = currentInstant()
    /// `true` if a statement was refused on this connection because it would have written.
    private(set) var isReadOnly = false
    private(set) var conversation: Conversation<Job, ResultSet>?
    /// Numbers of the statements prepared on this connection.
    private var prepared: Set<Int> = []
    /// The events that epoll watches for.
    var watchedMask: UInt32 = 0

    init(_ parameters: [ConnectionParameter]) throws(PostgresError) {
        connection = try Connection(connecting: parameters)
    }

    var socket: Int32 { connection.socket }

    /// Continues until the connection is open and its engine is known.
    func continueConnecting() -> Connection.Progress {
        guard greeting == nil else { return continueGreeting() }
        let progress = connection.continueConnecting()
        guard progress == .connected else { return progress }
        guard connection.makeNonBlocking(), connection.enterPipelineMode() else { return .failed }
        var sending = Sending(connection: connection, conversation: Conversation(.reads, []), known: [])
        sending.send(NamedStatement(sql: DatabaseEngine.greeting, name: nil), as: .cleanUp)
        sending.sync(exchange: nil)
        greeting = sending.conversation
        guard sending.isAccepted else { return .failed }
        return flushGreeting()
    }

    private func flushGreeting() -> Connection.Progress {
        switch connection.flush() {
        case .done: .waitsForRead
        case .pending: .waitsForWrite
        case .failed: .failed
        }
    }

    private func continueGreeting() -> Connection.Progress {
        guard connection.consumeInput() else { return .failed }
        var hasEnded = false
        while greeting?.isFinished == false, !connection.isWaiting {
            guard let result = connection.nextResult() else {
                guard connection.isAlive, !hasEnded else { return .failed }
                hasEnded = true
                continue
            }
            hasEnded = false
            switch result.outcome {
            case .rows:
                do throws(PostgresError) {
                    engine = try DatabaseEngine(greeted: result)
                } catch {
                    greetingFailure = error
                }
            case .failure: greetingFailure = PostgresError(.unavailable, result.failure().error.message)
            case .command, .copy, .skipped, .synced: break
            }
            if case .broken = greeting?.receive(event(of: result)) ?? .broken { return .failed }
        }
        guard greetingFailure == nil, connection.isAlive else { return .failed }
        guard greeting?.isFinished == true else { return flushGreeting() }
        greeting = nil
        isConnecting = false
        return .connected
    }

    func connectFailure() -> PostgresError { greetingFailure ?? connection.connectFailure() }

    func flush() -> Connection.FlushState { connection.flush() }

    // MARK: Sending

    /// Sends `batch`. Returns `false` if the connection is unusable; `lost` then returns the consequences for the jobs.
    func send(_ batch: LaneBatch<Job>, _ lane: Lane) -> Bool {
        var batch = batch
        if !batch.isSeparate, lane.mergesStatements, engine == .postgres {
            batch.jobs = Job.merging(batch.jobs, lane.catalog)
        }
        var sending = Sending(
            connection: connection,
            conversation: Conversation(lane.kind, batch.jobs),
            known: prepared
        )
        switch lane.kind {
        case .reads:
            if !batch.isSeparate, let settings = lane.settings(on: engine) {
                sending.prepare([settings], exchange: 0)
                sending.send(settings, as: .settings(exchange: nil))
            }
            for (index, queued) in batch.jobs.enumerated() {
                if batch.isSeparate, let settings = lane.settings(on: engine) {
                    sending.prepare([settings], exchange: index)
                    sending.send(settings, as: .settings(exchange: index))
                }
                sending.send(queued.job.statements, exchange: index)
                if batch.isSeparate { sending.sync(exchange: index) }
            }
            if !batch.isSeparate { sending.sync(exchange: nil) }
        case .writes:
            for (index, queued) in batch.jobs.enumerated() {
                let settings = lane.settings(on: engine)
                // Preparing a statement locks its tables. If the limits come with the transaction, they come first.
                let callers = settings == nil ? queued.job.statements : []
                sending.prepare(lane.ownStatements(on: engine) + callers, exchange: index)
                sending.send(lane.begin, as: .begin(exchange: index))
                if let settings { sending.send(settings, as: .settings(exchange: index)) }
                sending.send(queued.job.statements, exchange: index)
                sending.send(lane.commit, as: .commit(exchange: index))
                sending.sync(exchange: index)
            }
        }
        conversation = sending.conversation
        return sending.isAccepted
    }

    // MARK: Receiving

    /// Reads what has arrived.
    func receive(into delivery: inout Delivery, _ lane: Lane) -> Outcome {
        // Results that arrived before the connection broke can still be read.
        let isAlive = connection.consumeInput()
        guard conversation != nil else { return isAlive ? .idle : .broken }
        var hasEnded = false
        while conversation?.isFinished == false, !connection.isWaiting {
            guard let result = connection.nextResult() else {
                // `nil` ends the results of one statement. A second `nil` means that libpq expects nothing while the
                // conversation does.
                guard connection.isAlive, !hasEnded else { return .broken }
                hasEnded = true
                continue
            }
            hasEnded = false
            delivery.hasProgress = true
            let effect = conversation?.receive(event(of: result)) ?? .broken
            if case .broken = effect { return .broken }
            delivery.carryOut(effect)
        }
        guard isAlive, connection.isAlive else { return .broken }
        return conversation?.isFinished == true ? finishConversation() : .waits
    }

    private func event(of result: ResultSet) -> Conversation<Job, ResultSet>.Event {
        switch result.outcome {
        case .rows: .completed(result, tag: nil)
        case .command: .completed(result, tag: result.commandTag)
        // COPY is not supported. It has no SQLSTATE, so it ends the connection.
        case .failure, .copy: .failed(failure(of: result))
        case .skipped: .skipped
        case .synced: .synced
        }
    }

    private func failure(of result: ResultSet) -> ServerFailure {
        let failure = result.failure()
        if failure.sqlState == .readOnlyTransaction { isReadOnly = true }
        if engine == .postgres, failure.suggestsNewEngine { isOutdated = true }
        return failure
    }

    private func finishConversation() -> Outcome {
        guard let finished = conversation else { return .broken }
        prepared.formUnion(finished.prepared)
        conversation = nil
        var cleanUp: [NamedStatement] = []
        if !connection.isBetweenTransactions { cleanUp.append(NamedStatement(sql: "ROLLBACK", name: nil)) }
        if finished.hasStalePreparation {
            prepared = []
            cleanUp.append(NamedStatement(sql: "DEALLOCATE ALL", name: nil))
        }
        guard !cleanUp.isEmpty else { return .finished }
        var sending = Sending(connection: connection, conversation: Conversation(.reads, []), known: [])
        for statement in cleanUp { sending.send(statement, as: .cleanUp) }
        sending.sync(exchange: nil)
        conversation = sending.conversation
        return sending.isAccepted ? .waits : .broken
    }

    /// Reports the consequences for the jobs that still wait, after the connection was given up.
    func lost(into delivery: inout Delivery) {
        for effect in conversation?.lost() ?? [] { delivery.carryOut(effect) }
        conversation = nil
    }
}

/// Sends statements and records the answers that they will get.
private struct Sending {
    let connection: Connection
    var conversation: Conversation<Job, ResultSet>
    /// Numbers of statements that need no preparation.
    var known: Set<Int>
    /// `true` while libpq has accepted everything.
    private(set) var isAccepted = true

    mutating func send(_ statements: [NamedStatement], exchange: Int) {
        prepare(statements, exchange: exchange)
        for (index, statement) in statements.enumerated() {
            send(statement, as: .statement(exchange: exchange, isLast: index == statements.count - 1))
        }
    }

    mutating func send(_ statement: NamedStatement, as step: Conversation<Job, ResultSet>.Step) {
        let isSent =
            if let name = statement.name {
                connection.sendPrepared(name: name.text, statement.sql)
            } else {
                connection.sendUnnamed(statement.sql)
            }
        note(isSent, step)
    }

    /// Prepares those of `statements` that have a name and are not prepared yet.
    mutating func prepare(_ statements: [NamedStatement], exchange: Int) {
        for statement in statements {
            guard let name = statement.name, known.insert(name.number).inserted else { continue }
            let isSent = connection.sendPrepare(
                name: name.text,
                text: statement.sql.text,
                types: statement.sql.types
            )
            note(isSent, .prepare(statement: name.number, exchange: exchange))
        }
    }

    mutating func sync(exchange: Int?) {
        note(connection.sendSync(), .sync(exchange: exchange))
    }

    private mutating func note(_ isSent: Bool, _ step: Conversation<Job, ResultSet>.Step) {
        conversation.expect(step)
        isAccepted = isAccepted && isSent
    }
}
