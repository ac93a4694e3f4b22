/// Creates a role and its database, as `createuser` and `createdb` do. Both may exist already, and several programs may
/// create them at once.
package struct DatabaseCreation: Sendable {
    /// An object that the database needs.
    package struct Object: Sendable, Hashable {
        package let kind: String
        package let name: String
        /// `false` if it existed.
        package let isNew: Bool
    }

    private let role: String
    private let database: String
    private let password: String?

    /// - `configuration`: the connection string that will be used. `nil` if it does not name both user and database.
    package init?(for configuration: PostgresConfiguration) {
        func value(_ keyword: String) -> String? {
            let value = configuration.parameters.first { $0.keyword == keyword }?.value
            return value?.isEmpty == false ? value : nil
        }
        guard let role = value("user"), let database = value("dbname") else { return nil }
        self.role = role
        self.database = database
        password = value("password")
    }

    /// - `administrator`: a connection whose role may create roles and databases.
    /// - Returns: the role and the database. An existing role keeps its password.
    /// - Throws: `PostgresError`.
    package func run(as administrator: PostgresConfiguration) async throws -> [Object] {
        try await PostgresConnection.withConnection(administrator) { connection in
            [
                Object(kind: "role", name: role, isNew: try createRole(connection)),
                Object(kind: "database", name: database, isNew: try createDatabase(connection)),
            ]
        }
    }

    private func createRole(_ connection: PostgresConnection) throws -> Bool {
        let existing: Query<Int64> = "SELECT count(*) FROM pg_roles WHERE rolname = \(role)"
        guard try connection.query(existing) == [0] else { return false }
        // Only a superuser can keep the password out of the server's log.
        try? connection.execute(script: "SET log_statement = 'none'; SET log_min_error_statement = 'panic'")
        let login = password.map { " PASSWORD \(Self.literal($0))" } ?? ""
        guard try create("CREATE ROLE \(Self.identifier(role)) LOGIN\(login)", connection) else { return false }
        let superusers: Query<Int64> = "SELECT count(*) FROM pg_roles WHERE rolname = current_user AND rolsuper"
        guard try connection.query(superusers) == [0] else { return true }
        // The owner of a database must be a role that its creator can become.
        try? connection.execute(script: "GRANT \(Self.identifier(role)) TO CURRENT_USER")
        return true
    }

    private func createDatabase(_ connection: PostgresConnection) throws -> Bool {
        let existing: Query<Int64> = "SELECT count(*) FROM pg_database WHERE datname = \(database)"
        guard try connection.query(existing) == [0] else { return false }
        return try create(
            """
            CREATE DATABASE \(Self.identifier(database)) OWNER \(Self.identifier(role)) ENCODING 'UTF8' TEMPLATE template0
            """,
            connection
        )
    }

    /// Returns `false` if another program was faster.
    private func create(_ statement: String, _ connection: PostgresConnection) throws -> Bool {
        do {
            try connection.execute(script: statement)
            return true
        } catch  where [.duplicateObject, .duplicateDatabase, .uniqueViolation].contains(error.sqlState) {
            return false
        }
    }

    static func identifier(_ name: String) -> String { "\"\(doubled("\"", in: name))\"" }

    /// A string constant that means the same with any `standard_conforming_strings`.
    static func literal(_ text: String) -> String { "E'\(doubled("\\", in: doubled("'", in: text)))'" }

    private static func doubled(_ mark: Character, in text: String) -> String {
        text.split(separator: mark, omittingEmptySubsequences: false).joined(separator: "\(mark)\(mark)")
    }
}
