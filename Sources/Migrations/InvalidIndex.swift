package import Postgres

/// An index that serves no query, although each write maintains it. An interrupted `CREATE INDEX CONCURRENTLY` or
/// `REINDEX CONCURRENTLY` leaves it behind.
package struct InvalidIndex: Sendable, Hashable {
    package let name: String
    package let table: String

    /// The invalid indexes of the schema, except those that are being built.
    static let all: Query<Self> = """
        SELECT c.relname::text, t.relname::text
        FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_class AS t ON t.oid = i.indrelid
            JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = current_schema() AND NOT i.indisvalid
            AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index AS p WHERE p.index_relid = i.indexrelid)
        ORDER BY 1
        """

    /// Reads the invalid indexes over a separate connection.
    /// - Throws: `PostgresError`.
    package static func load(_ configuration: PostgresConfiguration) async throws -> [Self] {
        try await PostgresConnection.withConnection(configuration) { try $0.query(all) }
    }

    /// The next step, if no interrupted migration left the index behind. `migrate up` rebuilds that one.
    package var nextStep: String {
        isCopy ? "Remove it: DROP INDEX CONCURRENTLY \(name)" : "Rebuild it: REINDEX INDEX CONCURRENTLY \(name)"
    }

    /// True if `REINDEX CONCURRENTLY` left it behind, beside the index of the schema.
    private var isCopy: Bool { name.contains("_ccnew") || name.contains("_ccold") }
}

extension InvalidIndex: RowDecodable {
    package init(row: inout RowDecoder) throws(PostgresError) {
        name = try row.next()
        table = try row.next()
    }
}

extension InvalidIndex: CustomStringConvertible {
    package var description: String { "index \(name) of \(table) is invalid: writes maintain it, and no query uses it" }
}
