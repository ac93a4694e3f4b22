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
        let login = try password.map { " " + (try connection.passwordClause($0, role: role)) } ?? ""
        let name = try connection.identifier(role)
        guard try create("CREATE ROLE \(name) LOGIN\(login)", connection) else { return false }
        let superusers: Query<Int64> = "SELECT count(*) FROM pg_roles WHERE rolname = current_user AND rolsuper"
        guard try connection.query(superusers) == [0] else { return true }
        // The owner of a database must be a role that its creator can become. If this is refused, CREATE DATABASE says
        // so.
        try? connection.execute(script: "GRANT \(name) TO CURRENT_USER")
        return true
    }

    private func createDatabase(_ connection: PostgresConnection) throws -> Bool {
        let existing: Query<Int64> = "SELECT count(*) FROM pg_database WHERE datname = \(database)"
        guard try connection.query(existing) == [0] else { return false }
        let (name, owner) = (try connection.identifier(database), try connection.identifier(role))
        return try create("CREATE DATABASE \(name) OWNER \(owner) ENCODING 'UTF8' TEMPLATE template0", connection)
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
}
