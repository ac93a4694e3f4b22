/// An open transaction on a leased connection, passed to the body of `PostgresClient.transaction` and
/// `PostgresConnection.transaction`. It cannot be stored, copied or used after the body.
package struct Transaction: ~Copyable {
    private let connection: PostgresConnection

    init(connection: PostgresConnection) {
        self.connection = connection
    }

    /// Returns the rows of `query`.
    package mutating func fetch<Row>(_ query: Query<Row>) throws(PostgresError) -> [Row] {
        try connection.query(query)
    }

    /// Returns the number of rows that `statement` inserted, changed or deleted.
    @discardableResult
    package mutating func execute(_ statement: SQL) throws(PostgresError) -> Int {
        try connection.execute(statement)
    }

    /// Runs a text of several statements, such as a migration file, without parameters. It must not end the
    /// transaction.
    package mutating func execute(script: String) throws(PostgresError) {
        try connection.execute(script: script)
    }
}
