package import Postgres

/// A table and the place that it gets on Citus.
package struct DistributionTable: Sendable, Hashable {
    package let name: String
    /// The place in words: `by user_id`, `on every node` or `in one shard`.
    package let place: String
    /// The statement that moves the table there.
    package let statement: String

    package init(name: String, place: String, statement: String) {
        self.name = name
        self.place = place
        self.statement = statement
    }
}

/// The places of tables on Citus, and the tables that still have none.
package struct DistributionState: Sendable, Hashable {
    /// The tables that have their place.
    package let done: [DistributionTable]
    /// The tables that are only on the coordinator.
    package let pending: [DistributionTable]
    /// Tables that are stored elsewhere than Concord needs them, each with the place found.
    package let misplaced: [Misplaced]

    package struct Misplaced: Sendable, Hashable {
        package let table: DistributionTable
        package let found: String
    }

    /// `found`: the place of each table that is not only on the coordinator.
    package init(of tables: [DistributionTable], found: [PlacedTable]) {
        let places = Dictionary(found.map { ($0.name, $0.place) }, uniquingKeysWith: { first, _ in first })
        done = tables.filter { places[$0.name] == $0.place }
        pending = tables.filter { places[$0.name] == nil }
        misplaced = tables.compactMap { table in
            guard let found = places[table.name], found != table.place else { return nil }
            return Misplaced(table: table, found: found)
        }
    }

    /// True if every table has its place.
    package var isComplete: Bool { pending.isEmpty && misplaced.isEmpty }

    /// The problem and the next step, in one line; `nil` if every table has its place.
    package var problem: String? {
        if let first = misplaced.first {
            return "table \(first.table.name) is stored \(first.found) on Citus; it must be stored \(first.table.place)"
        }
        guard let first = pending.first else { return nil }
        let tables = pending.count == 1 ? "\(first.name) is" : "\(first.name) and \(pending.count - 1) more are"
        return "table \(tables) not distributed on Citus; run `concord migrate distribute`"
    }
}

/// A row of Citus' catalogue: a table that is not only on the coordinator.
package struct PlacedTable: Sendable, RowDecodable {
    package let name: String
    package let place: String

    package init(name: String, place: String) {
        self.name = name
        self.place = place
    }

    package init(row: inout RowDecoder) throws(PostgresError) {
        name = try row.next()
        place = try row.next()
    }

    /// Fails with 42P01 if the database has no extension `citus`. Tables that Citus only watches on the coordinator are
    /// no rows.
    package static let all: Query<Self> = """
        SELECT c.relname::text, CASE
            WHEN p.partmethod = 'h' THEN 'by ' || pg_catalog.column_to_column_name(p.logicalrelid, p.partkey)
            WHEN p.repmodel = 't' THEN 'on every node'
            ELSE 'in one shard' END
        FROM pg_catalog.pg_dist_partition p JOIN pg_catalog.pg_class c ON c.oid = p.logicalrelid
        WHERE c.relnamespace = current_schema()::regnamespace
            AND (p.partmethod = 'h' OR p.repmodel = 't' OR p.colocationid <> 0)
        ORDER BY c.relname
        """
}

extension DistributionState {
    /// Returns the state over a client's connections; `nil` on plain PostgreSQL, without a statement.
    package static func load(
        _ client: PostgresClient,
        of tables: [DistributionTable]
    ) async throws(PostgresError) -> Self? {
        guard client.engine == .citus else { return nil }
        return Self(of: tables, found: try await client.read(PlacedTable.all))
    }

    /// Returns the state over a separate connection; `nil` on plain PostgreSQL.
    package static func load(
        _ configuration: PostgresConfiguration,
        of tables: [DistributionTable]
    ) async throws -> Self? {
        try await PostgresConnection.withConnection(configuration) { connection in
            guard try connection.engine() == .citus else { return nil }
            return Self(of: tables, found: try connection.query(PlacedTable.all))
        }
    }
}
