package import Postgres

/// The schema version of a database from its ledger, for a process that does not migrate it.
package struct SchemaState: Sendable, Hashable {
    /// Ascending by version; empty if no migration ever ran.
    package let applied: [AppliedMigration]

    /// The newest completely applied migration; 0 for none.
    package var version: Int { applied.last { $0.isFinished }?.version ?? 0 }

    /// The interrupted migration, if any. `migrate up` repairs it.
    package var interrupted: AppliedMigration? { applied.first { !$0.isFinished } }

    /// The readiness of the schema for a program that needs version `required`.
    package func readiness(required: Int) -> SchemaReadiness {
        if let interrupted {
            // An interrupted migration that this program does not need changes no object that it uses.
            let isAhead = interrupted.version > required && version >= required
            return isAhead
                ? .ahead(version: interrupted.version, required: required) : .interrupted(interrupted.fileName)
        }
        if version < required { return .behind(version: version, required: required) }
        return version > required ? .ahead(version: version, required: required) : .ready
    }

    /// Reads the ledger over a separate connection. Takes no lock.
    /// - Throws: `PostgresError`.
    package static func load(_ configuration: PostgresConfiguration) async throws -> Self {
        try await PostgresConnection.withConnection(configuration) { try Self($0) }
    }

    /// Reads the ledger over the shared connections of a running client, for repeated checks.
    package static func load(_ client: PostgresClient) async throws(PostgresError) -> Self {
        do {
            return Self(applied: try await client.read(AppliedMigration.ledger))
        } catch {
            guard error.sqlState == .undefinedTable else { throw error }
            return Self(applied: [])
        }
    }
}

extension SchemaState {
    init(_ connection: PostgresConnection) throws(PostgresError) {
        do {
            applied = try connection.query(AppliedMigration.ledger)
        } catch  where error.sqlState == .undefinedTable {
            applied = []
        }
    }
}

/// The readiness of a database to be served, with the next step if it is not ready.
package enum SchemaReadiness: Sendable, Hashable {
    case ready
    case behind(version: Int, required: Int)
    case ahead(version: Int, required: Int)
    case interrupted(String)

    /// Returns true if a server may use the database. A newer schema stays compatible, because old servers run beside
    /// new ones during an upgrade and a rollback (docs/guides/operations.md, *Migrations*; ADR 0075).
    package var canBeServed: Bool {
        switch self {
        case .ready, .ahead: true
        case .behind, .interrupted: false
        }
    }
}

extension SchemaReadiness: CustomStringConvertible {
    package var description: String {
        switch self {
        case .ready:
            "the schema is the one needed"
        case .behind(let version, let required):
            "the schema is at \(version), this Concord needs \(required); run `concord migrate up`"
        case .ahead(let version, let required):
            "the schema is at \(version), newer than the \(required) that this Concord was made for"
        case .interrupted(let file):
            "\(file) stopped halfway; run `concord migrate up`"
        }
    }
}
