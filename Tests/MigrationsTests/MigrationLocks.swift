import Postgres

@testable import Migrations

/// Observes a migration in its transaction: which rows does it read or write, and what does it lock meanwhile?
struct MigrationLocks {
    /// The state of one table that existed before the migration.
    private struct Table: RowDecodable {
        let name: String
        let rowsRead: Int64
        let rowsWritten: Int64
        let file: Int64
        /// True if this session holds a lock on it that blocks writes.
        let isBlocked: Bool

        init(row: inout RowDecoder) throws(PostgresError) {
            name = try row.next()
            rowsRead = try row.next()
            rowsWritten = try row.next()
            file = try row.next()
            isBlocked = try row.next()
        }

        /// The counts are those of the session since it last reported them, so only differences mean something.
        static func all(existing: [Int64]) -> Query<Self> {
            """
            SELECT c.relname::text, coalesce(s.seq_tup_read, 0)::bigint,
                coalesce(s.n_tup_ins + s.n_tup_upd + s.n_tup_del, 0)::bigint,
                coalesce(pg_relation_filenode(c.oid), 0)::bigint,
                EXISTS (SELECT FROM pg_locks AS l WHERE l.pid = pg_backend_pid() AND l.relation = c.oid AND l.mode IN
                    ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))
            FROM pg_class AS c LEFT JOIN pg_stat_xact_user_tables AS s ON s.relid = c.oid
            WHERE c.oid::bigint = ANY(\(existing))
            ORDER BY c.oid
            """
        }
    }

    /// The tables of the schema.
    private static let tables: Query<Int64> = """
        SELECT oid::bigint FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') ORDER BY oid
        """

    /// Runs `file` in a transaction, which is rolled back, and returns what blocks requests on a large table.
    static func violations(of file: MigrationFile, in database: EmptyDatabase) async throws -> [String] {
        guard file.runsInTransaction else { return [] }
        return try await PostgresConnection.withConnection(database.configuration) { connection in
            let existing = try connection.query(tables)
            try connection.execute(script: "BEGIN")
            var before = byName(try connection.query(Table.all(existing: existing)))
            var found: [String] = []
            for statement in file.statements {
                try connection.execute(script: statement.text)
                let after = byName(try connection.query(Table.all(existing: existing)))
                found += violations(before, after).map { "line \(statement.line): \($0)" }
                before = after
            }
            try connection.execute(script: "ROLLBACK")
            return found
        }
    }

    private static func byName(_ tables: [Table]) -> [String: Table] {
        Dictionary(tables.map { ($0.name, $0) }) { first, _ in first }
    }

    private static func violations(_ before: [String: Table], _ after: [String: Table]) -> [String] {
        let blocked = after.values.filter(\.isBlocked).map(\.name).sorted()
        return after.values.sorted { $0.name < $1.name }.flatMap { table -> [String] in
            guard let old = before[table.name], !MigrationRules.smallTables.contains(table.name) else { return [] }
            var found: [String] = []
            if table.rowsRead > old.rowsRead, !blocked.isEmpty {
                found.append("reads \(table.name) while it blocks \(blocked.joined(separator: ", "))")
            }
            if table.rowsWritten > old.rowsWritten { found.append("writes rows of \(table.name)") }
            if table.file != old.file { found.append("rewrites \(table.name)") }
            return found
        }
    }
}
