/// Why a statement, a transaction or a connection did not do what was asked: the only error this target throws.
///
/// `message` names operations, tables, columns and constraints, and never holds a value that was bound or stored: the
/// server's own text is passed on only for error classes whose text cannot quote one.
package struct PostgresError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What callers branch on.
    package enum Code: Sendable, Hashable {
        /// The server refused the statement; nothing of its transaction remains.
        case server(SQLState)
        /// The connection broke before the answer came, and nothing was committed: safe to try again.
        case connectionLost
        /// `COMMIT` may have been sent and no answer came. Look for what was written before trying again.
        case commitOutcomeUnknown
        /// No connection stands and the last attempt to make one failed.
        case unavailable
        /// As many callers wait already as the configuration allows.
        case queueFull
        /// No connection became free within the configured wait.
        case queueTimeout
        /// The server did not answer in time. The statement may still run; a write is reported as
        /// `commitOutcomeUnknown` instead.
        case statementTimeout
        /// The calling task was cancelled before anything was committed.
        case cancelled
        /// The client is shutting down or has done so.
        case shutDown
        /// A result did not have the columns or the types that the caller reads.
        case decoding
        /// A result has more rows than the configuration allows.
        case tooManyRows
        /// A parameter or a result value is larger than the configuration allows.
        case valueTooLarge
        /// `COMMIT` was answered with a rollback.
        case rolledBack
        /// The connection string or another setting cannot be used.
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

    /// Behind one reference, because errors are rare and what may hold one is passed around all the time.
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
    /// For people; lower case, without values.
    package var message: String { box.content.message }
    /// The violated constraint, when the server named one.
    package var constraint: String? { box.content.constraint }
    /// The table the error is about, when the server named one.
    package var table: String? { box.content.table }
    /// The column the error is about, when the server named one, or when its value is what cannot be read.
    package var column: String? { box.content.column }

    /// The parts of a connection's failure, for one that was tried and not made.
    package var connectFailure: ConnectFailure? { box.content.connectFailure }

    /// Whether the server takes no writes for now, whatever they are: a standby or a read-only database, a full disk, no
    /// transaction ids left.
    package var refusesWrites: Bool { box.content.isOutOfTransactionIDs || sqlState?.refusesWrites == true }

    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.box.content == rhs.box.content }

    package func hash(into hasher: inout Hasher) { hasher.combine(box.content) }

    /// The server's error code, if it was the server that refused.
    package var sqlState: SQLState? {
        guard case .server(let state) = code else { return nil }
        return state
    }

    package var description: String {
        var text = "\(codeName): \(message)"
        if let constraint { text += " (constraint \(constraint))" }
        return text
    }

    /// A closed set of names, fit for a metric label.
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
