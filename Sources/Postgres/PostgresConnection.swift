import Glibc

/// A connection that blocks the calling thread: for migrations, tests and bulk work.
///
/// Not Sendable: `withConnection` runs its body on a new thread.
package final class PostgresConnection {
    private let connection: Connection
    private let rowsMax: Int
    private let mode: PostgresConfiguration.StatementMode
    private let preparedMax: Int
    /// The names of prepared statements.
    private var prepared: [StatementKey: String] = [:]
    /// Longest time of one statement before the connection is given up; `nil` for no limit.
    private let answerWait: Duration?
    /// `true` once the connection is unusable.
    private var isBroken = false
    /// `true` once a statement inside a transaction failed only because of how this connection had prepared it. The
    /// transaction is lost; on a new connection it may succeed.
    private(set) var hasStalePreparation = false
    /// `true` once a statement was refused because it would have written. Another connection may accept it.
    private var isReadOnly = false
    /// The engine, which a connection for a lane knows from the start; `nil` if no statement has needed it yet.
    private var knownEngine: DatabaseEngine?
    /// The engine that a connection for a lane found when it connected.
    var greetedEngine: DatabaseEngine { knownEngine ?? .postgres }
    /// `true` once a statement failed as it does when the server has become Citus meanwhile.
    private var isOutdated = false

    /// Called before each statement of a transaction's body: returns the reason not to send it.
    var interruption: (() -> PostgresError?)?

    /// Connects. Blocks until that has succeeded or failed.
    /// - Throws: `.unavailable`.
    package convenience init(_ configuration: PostgresConfiguration) throws(PostgresError) {
        try self.init(configuration, role: .unlimited, answerWait: nil)
    }

    init(
        _ configuration: PostgresConfiguration,
        role: PostgresConfiguration.Role,
        hosts: DatabaseHosts? = nil,
        answerWait: Duration?
    ) throws(PostgresError) {
        let deadline = currentInstant() + configuration.connectTimeout
        var parameters = configuration.connectionParameters(for: role)
        if let hosts, hosts.needLookUp { parameters = parameters.setting(try hosts.lookUp(until: deadline)) }
        connection = try Connection(connecting: parameters)
        rowsMax = configuration.rowsMax
        mode = configuration.statementMode
        preparedMax = configuration.preparedStatementsMax
        self.answerWait = answerWait
        // Without `hosts` libpq has looked up the names, however long that took.
        try finishConnecting(until: hosts == nil ? currentInstant() + configuration.connectTimeout : deadline)
        // `unlimited` connections have PostgreSQL's own settings.
        if role != .unlimited { knownEngine = try DatabaseEngine(greeted: try runUnnamed(DatabaseEngine.greeting)) }
    }

    /// Connects on a new thread, runs `body` there, and closes the connection.
    ///
    /// `body` is synchronous and may block. Cancelling the calling task does not interrupt it.
    @discardableResult
    package static func withConnection<Output: Sendable>(
        _ configuration: PostgresConfiguration,
        _ body: @escaping @Sendable (PostgresConnection) throws -> Output
    ) async throws -> Output {
        try await runOnNewThread {
            Result { try body(PostgresConnection(configuration)) }
        }.get()
    }

    /// Returns the rows of `query`.
    /// - Throws: `.server`, `.connectionLost`, `.statementTimeout`, `.decoding`, `.tooManyRows`.
    package func query<Row>(_ query: Query<Row>) throws(PostgresError) -> [Row] {
        if let reason = interruption?() { throw reason }
        return try run(query.sql).decode(rowsMax: rowsMax)
    }

    /// Returns the number of rows that `statement` inserted, changed, deleted or returned.
    @discardableResult
    package func execute(_ statement: SQL) throws(PostgresError) -> Int {
        if let reason = interruption?() { throw reason }
        return try run(statement).affectedRows
    }

    /// Runs a text of several statements, without parameters. Outside a transaction they are one transaction.
    package func execute(script: String) throws(PostgresError) {
        if let reason = interruption?() { throw reason }
        try settle(try runScript(script))
    }

    /// Runs `body` in a transaction: commits when it returns, rolls back when it throws. Never runs it again.
    /// - Throws: the error of `body`; `.commitOutcomeUnknown` if the connection is lost while committing; `.rolledBack`
    ///   if the server answers the commit with a rollback, because a statement had failed and `body` returned all the
    ///   same.
    package func transaction<Output>(
        _ body: (inout Transaction) throws(PostgresError) -> Output
    ) throws(PostgresError) -> Output {
        try transaction(settings: nil, body)
    }

    func transaction<Output>(
        settings: String?,
        _ body: (inout Transaction) throws(PostgresError) -> Output
    ) throws(PostgresError) -> Output {
        try run("BEGIN")
        let output: Output
        do {
            if let settings { try run(SQL(text: settings)) }
            var transaction = Transaction(connection: self)
            output = try body(&transaction)
        } catch {
            if !isBroken { _ = try? run("ROLLBACK") }
            throw error
        }
        try commit()
        return output
    }

    private func commit() throws(PostgresError) {
        let tag: String
        do {
            tag = try run("COMMIT").commandTag
        } catch {
            guard error.sqlState == nil || isBroken else { throw error }
            throw PostgresError(.commitOutcomeUnknown, "connection lost while committing")
        }
        guard tag == "COMMIT" else {
            throw PostgresError(.rolledBack, "transaction was rolled back because a statement in it had failed")
        }
    }

    /// `true` if another transaction can start on this connection.
    var isReusable: Bool {
        !isBroken && !hasStalePreparation && !isReadOnly && !isOutdated && connection.isBetweenTransactions
    }

    /// Prevents further transactions on this connection.
    func retire() {
        isBroken = true
    }

    func cancelHandle() -> CancelHandle? { connection.cancelHandle() }

    // MARK: Parts of statements that take no parameters

    func identifier(_ name: String) throws(PostgresError) -> String {
        guard let identifier = connection.identifier(name) else { throw PostgresError(.misuse, "not a name") }
        return identifier
    }

    /// A clause that sets a role's password. The server and its log see the verifier, not the password.
    func passwordClause(_ password: String, role: String) throws(PostgresError) -> String {
        guard let verifier = connection.passwordVerifier(password, role: role),
            let literal = connection.literal(verifier)
        else { throw PostgresError(.misuse, "not a password") }
        return "PASSWORD \(literal)"
    }

    // MARK: Copies (`CopyReader`)

    /// Time between two calls of `check` during a wait for rows.
    private static var checkInterval: Duration { .milliseconds(100) }

    /// Sends `query` as `COPY … TO STDOUT`.
    func beginCopy(_ query: SQL) throws(PostgresError) {
        let text = try query.textWithLiterals(connection.literal)
        try checked(connection.send(script: "COPY (\(text)) TO STDOUT (FORMAT binary)"))
        try flush(until: nil)
    }

    /// Blocks until the server begins to send rows, or refuses to.
    func waitForCopy(_ check: () throws -> Void) throws {
        while connection.isWaiting { try waitForMore(check) }
        guard let start = try nextResult(until: nil) else {
            throw broken(.connectionLost, "connection to the server lost")
        }
        guard start.outcome != .copy else { return }
        while try nextResult(until: nil) != nil {}
        try settle(.failure(start.failure()))
    }

    /// Blocks until `row` is the next message. Returns false if there is none.
    func nextCopyMessage(into row: inout CopiedRow, _ check: () throws -> Void) throws -> Bool {
        while true {
            switch connection.nextCopyMessage(into: &row) {
            case .message: return true
            case .over:
                try settle(try results())
                return false
            case .pending: try waitForMore(check)
            }
        }
    }

    func cancelCopy() {
        isBroken = true
        connection.cancelHandle()?.cancel()
    }

    private func waitForMore(_ check: () throws -> Void) throws {
        while try !waits(for: Int16(POLLIN), until: currentInstant() + Self.checkInterval) { try check() }
        try checked(connection.consumeInput())
    }

    // MARK: One statement

    /// Sends `statement` and waits for its answer. Prepares it first where that is allowed, and again if the server has
    /// forgotten it or a table has changed.
    @discardableResult
    private func run(_ statement: SQL) throws(PostgresError) -> ResultSet {
        var statement = statement
        if let form = statement.onCitus {
            let engine = if let knownEngine { knownEngine } else { try engine() }
            knownEngine = engine
            if engine == .citus { statement = form }
        }
        guard mode == .named, !statement.parameters.isEmpty else { return try runUnnamed(statement) }
        let key = StatementKey(statement)
        let wasPrepared = prepared[key] != nil
        let name = try prepare(key)
        try checked(connection.sendPrepared(name: name, statement))
        let answer = try results()
        guard wasPrepared, case .failure(let failure) = answer, failure.isStalePreparation else {
            return try settle(answer)
        }
        guard connection.isBetweenTransactions else {
            hasStalePreparation = true
            return try settle(answer)
        }
        try settle(try runScript("DEALLOCATE ALL"))
        prepared.removeAll()
        try checked(connection.sendPrepared(name: try prepare(key), statement))
        return try settle(try results())
    }

    @discardableResult
    private func runUnnamed(_ statement: SQL) throws(PostgresError) -> ResultSet {
        try checked(connection.sendUnnamed(statement))
        return try settle(try results())
    }

    /// Returns the name under which `key` is prepared.
    private func prepare(_ key: StatementKey) throws(PostgresError) -> String {
        if let name = prepared[key] { return name }
        if prepared.count >= preparedMax {
            try settle(try runScript("DEALLOCATE ALL"))
            prepared.removeAll()
        }
        let name = "s\(prepared.count)"
        try checked(connection.sendPrepare(name: name, text: key.text, types: key.types))
        try settle(try results())
        prepared[key] = name
        return name
    }

    private func runScript(_ script: String) throws(PostgresError) -> Answer {
        try checked(connection.send(script: script))
        return try results()
    }

    // MARK: Waiting

    private enum Answer {
        case success(ResultSet)
        case failure(ServerFailure)
    }

    @discardableResult
    private func settle(_ answer: Answer) throws(PostgresError) -> ResultSet {
        switch answer {
        case .success(let result): return result
        case .failure(let failure):
            if failure.sqlState == .readOnlyTransaction { isReadOnly = true }
            if knownEngine != .citus, failure.suggestsNewEngine { isOutdated = true }
            if failure.endsSession { throw broken(.connectionLost, "the server ended the connection") }
            throw failure.error
        }
    }

    /// Returns the last result of what was sent, or the first failure.
    private func results() throws(PostgresError) -> Answer {
        let deadline = answerWait.map { currentInstant() + $0 }
        try flush(until: deadline)
        var answer: Answer?
        while let result = try nextResult(until: deadline) {
            if case .failure = answer { continue }
            switch result.outcome {
            case .rows, .command: answer = .success(result)
            case .failure, .skipped, .synced: answer = .failure(result.failure())
            case .copy: throw broken(.misuse, "COPY cannot be run")
            }
        }
        guard let answer else { throw broken(.connectionLost, "connection to the server lost") }
        return answer
    }

    private func flush(until deadline: Instant?) throws(PostgresError) {
        while true {
            switch connection.flush() {
            case .done: return
            case .failed: throw broken(.connectionLost, "connection to the server lost")
            case .pending:
                try wait(for: Int16(POLLIN | POLLOUT), until: deadline)
                try checked(connection.consumeInput())
            }
        }
    }

    private func nextResult(until deadline: Instant?) throws(PostgresError) -> ResultSet? {
        while connection.isWaiting {
            try wait(for: Int16(POLLIN), until: deadline)
            // Results that arrived before the connection broke can still be read.
            guard connection.consumeInput() else { break }
        }
        return connection.nextResult()
    }

    private func finishConnecting(until deadline: Instant) throws(PostgresError) {
        var progress = Connection.Progress.waitsForWrite
        while true {
            switch progress {
            case .connected:
                try checked(connection.makeNonBlocking())
                return
            case .failed:
                throw connection.connectFailure()
            case .waitsForRead, .waitsForWrite:
                guard try waits(for: progress == .waitsForRead ? Int16(POLLIN) : Int16(POLLOUT), until: deadline) else {
                    throw connection.connectTimeout()
                }
            }
            progress = connection.continueConnecting()
        }
    }

    private func wait(for events: Int16, until deadline: Instant?) throws(PostgresError) {
        guard try waits(for: events, until: deadline) else {
            throw broken(.statementTimeout, "server did not answer in time")
        }
    }

    /// Returns `true` if one of `events` came before `deadline`.
    private func waits(for events: Int16, until deadline: Instant?) throws(PostgresError) -> Bool {
        while true {
            var descriptor = pollfd(fd: connection.socket, events: events, revents: 0)
            let milliseconds = deadline.map { currentInstant().millisecondsRoundedUp(until: $0) } ?? -1
            let count = poll(&descriptor, 1, milliseconds)
            if count > 0 { return true }
            if count == 0 { return false }
            guard errno == EINTR else { throw broken(.connectionLost, "connection to the server lost") }
        }
    }

    private func checked(_ succeeded: Bool) throws(PostgresError) {
        guard succeeded else { throw broken(.connectionLost, "connection to the server lost") }
    }

    private func broken(_ code: PostgresError.Code, _ message: String) -> PostgresError {
        isBroken = true
        return PostgresError(code, message)
    }
}

extension Instant {
    /// Milliseconds from this instant until `deadline`, rounded up so that a wait never ends early; zero if it has
    /// passed.
    func millisecondsRoundedUp(until deadline: Instant) -> Int32 {
        let (seconds, attoseconds) = duration(to: deadline).components
        let milliseconds = seconds.multipliedReportingOverflow(by: 1000)
        guard !milliseconds.overflow else { return seconds < 0 ? 0 : .max }
        let rounded = milliseconds.partialValue + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int32(clamping: max(0, rounded))
    }
}
