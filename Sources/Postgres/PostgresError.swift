/// The failure of a statement, a transaction or a connection: the only error that this target throws.
///
/// `message` names operations, tables, columns and constraints, and never contains a bound or stored value. The
/// server's text is included only for error classes whose text cannot quote one.
package struct PostgresError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failures. Callers branch on them.
    package enum Code: Sendable, Hashable {
        /// The server refused the statement. Nothing of its transaction remains.
        case server(SQLState)
        /// The connection broke before the answer came, and nothing was committed. A retry is safe.
        case connectionLost
        /// `COMMIT` may have been sent and no answer came. Check if the write exists before a retry.
        case commitOutcomeUnknown
        /// There is no connection, and the last attempt to connect failed.
        case unavailable
        /// The queue is full.
        case queueFull
        /// No connection became free within the configured wait.
        case queueTimeout
        /// The server did not answer in time. The statement may still run. A write is reported as
        /// `commitOutcomeUnknown` instead.
        case statementTimeout
        /// The calling task was cancelled before anything was committed.
        case cancelled
        /// The client shuts down or has done so.
        case shutDown
        /// A result does not have the columns or types that the caller reads.
        case decoding
        /// A result has more rows than the configuration allows.
        case tooManyRows
        /// A parameter or a result value is larger than the configuration allows.
        case valueTooLarge
        /// The server answered `COMMIT` with a rollback.
        case rolledBack
        /// The connection string or another setting is invalid.
        case configuration
        /// An API of this target was used against its contract, or libpq ran out of memory.
        case misuse
    }

    private struct Content: Hashable {
        let code: Code
        let message: String
        let constraint: String?
        let table: String?
        let column: String?
        let isOutOfTransactionIDs: Bool
        let connectFailure: ConnectFailure?
    }

    /// A single reference keeps the error small: errors are rare, and results that may hold one are passed often.
    private final class Box: Sendable {
        let content: Content

        init(_ content: Content) {
            self.content = content
        }
    }

    private let box: Box

    package init(
        _ code: Code,
        _ message: String,
        constraint: String? = nil,
        table: String? = nil,
        column: String? = nil,
        isOutOfTransactionIDs: Bool = false,
        connectFailure: ConnectFailure? = nil
    ) {
        box = Box(
            Content(
                code: code,
                message: message,
                constraint: constraint,
                table: table,
                column: column,
                isOutOfTransactionIDs: isOutOfTransactionIDs,
                connectFailure: connectFailure
            )
        )
    }

    package var code: Code { box.content.code }
    /// For people: lower case, without values.
    package var message: String { box.content.message }
    /// The violated constraint, if the server named one.
    package var constraint: String? { box.content.constraint }
    /// The table concerned, if the server named one.
    package var table: String? { box.content.table }
    /// The column concerned, if the server named one or if its value cannot be decoded.
    package var column: String? { box.content.column }

    /// The parts of a failed connection attempt.
    package var connectFailure: ConnectFailure? { box.content.connectFailure }

    /// `true` if the server refuses all writes for now: a standby or read-only database, a full disk, or no transaction
    /// ids left.
    package var refusesWrites: Bool { box.content.isOutOfTransactionIDs || sqlState?.refusesWrites == true }

    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.box.content == rhs.box.content }

    package func hash(into hasher: inout Hasher) { hasher.combine(box.content) }

    /// The server's error code, if the server refused.
    package var sqlState: SQLState? {
        guard case .server(let state) = code else { return nil }
        return state
    }

    package var description: String {
        var text = "\(codeName): \(message)"
        if let constraint { text += " (constraint \(constraint))" }
        return text
    }

    /// A name from a closed set, usable as a metric label.
    package var codeName: String {
        switch code {
        case .server(let state): "server_\(state.rawValue)"
        case .connectionLost: "connection_lost"
        case .commitOutcomeUnknown: "commit_outcome_unknown"
        case .unavailable: "unavailable"
        case .queueFull: "queue_full"
        case .queueTimeout: "queue_timeout"
        case .statementTimeout: "statement_timeout"
        case .cancelled: "cancelled"
        case .shutDown: "shut_down"
        case .decoding: "decoding"
        case .tooManyRows: "too_many_rows"
        case .valueTooLarge: "value_too_large"
        case .rolledBack: "rolled_back"
        case .configuration: "configuration"
        case .misuse: "misuse"
        }
    }
}
