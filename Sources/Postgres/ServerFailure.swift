/// An error report of the server, or of libpq (then without an SQLSTATE).
///
/// A class, because failures are rare and results that may hold one are passed often.
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

    /// `true` if the session ends with this report.
    var endsSession: Bool { sqlState == nil || severity == "FATAL" || severity == "PANIC" }

    /// `true` if the statement failed only because of how this connection had prepared it. Preparing and sending it
    /// again helps.
    ///
    /// A result type that changed under a plan shares 0A000 with all unsupported features. The function that raised it
    /// distinguishes them in every language (`plancache.c`).
    var isStalePreparation: Bool {
        switch sqlState {
        case SQLState.undefinedPreparedStatement, SQLState.duplicatePreparedStatement: true
        case SQLState.featureNotSupported: sourceFunction == "RevalidateCachedQuery"
        default: false
        }
    }

    /// `true` if there are no transaction ids or multixact ids left. The code 54000 also means rows that are too long;
    /// the function that raised it distinguishes them (`varsup.c`, `multixact.c`).
    private var isOutOfTransactionIDs: Bool {
        sqlState == .programLimitExceeded
            && ["GetNewTransactionId", "GetNewMultiXactId"].contains(sourceFunction)
    }

    /// Classes whose primary message names objects and rules but never quotes a value. Class 22 quotes values, and P0
    /// holds the text of functions, so both are left out.
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
