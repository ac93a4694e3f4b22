/// An error report of the server, or of libpq in its stead (then without an SQLSTATE).
///
/// A class, because failures are rare and what may hold one is passed around all the time.
final class ServerFailure: Sendable {
    let severity: String
    let sqlState: SQLState?
    let message: String
    let sourceFunction: String?
    let constraint: String?
    let table: String?
    let column: String?

    init(
        severity: String,
        sqlState: SQLState?,
        message: String,
        sourceFunction: String? = nil,
        constraint: String? = nil,
        table: String? = nil,
        column: String? = nil
    ) {
        self.severity = severity
        self.sqlState = sqlState
        self.message = message
        self.sourceFunction = sourceFunction
        self.constraint = constraint
        self.table = table
        self.column = column
    }

    /// Whether the session ends with this report.
    var endsSession: Bool { sqlState == nil || severity == "FATAL" || severity == "PANIC" }

    /// Whether the statement failed only because of how this connection had prepared it: forgetting what is prepared
    /// and sending it again helps.
    ///
    /// A result type that changed under a plan shares 0A000 with everything unsupported; the function that raised it
    /// tells them apart in every language (`plancache.c`).
    var isStalePreparation: Bool {
        switch sqlState {
        case SQLState.undefinedPreparedStatement, SQLState.duplicatePreparedStatement: true
        case SQLState.featureNotSupported: sourceFunction == "RevalidateCachedQuery"
        default: false
        }
    }

    /// Whether there are no transaction ids left, or no ids of groups of them. It shares 54000 with rows that are too long;
    /// the function that raised it tells them apart (`varsup.c`, `multixact.c`).
    private var isOutOfTransactionIDs: Bool {
        sqlState == .programLimitExceeded
            && ["GetNewTransactionId", "GetNewMultiXactId"].contains(sourceFunction)
    }

    /// Classes whose primary message names objects and rules but never quotes a value. Class 22 quotes values, P0 is
    /// whatever a function raises, and both stay out.
    private static let classesWithoutValues: Set<String> = [
        "08", "0A", "23", "25", "26", "28", "3D", "3F", "40", "42", "53", "54", "55", "57", "58", "XX",
    ]

    var error: PostgresError {
        guard let sqlState else { return PostgresError(.connectionLost, "connection to the server lost") }
        return PostgresError(
            .server(sqlState),
            Self.classesWithoutValues.contains(sqlState.errorClass) ? message : "server error \(sqlState)",
            constraint: constraint,
            table: table,
            column: column,
            isOutOfTransactionIDs: isOutOfTransactionIDs
        )
    }
}
