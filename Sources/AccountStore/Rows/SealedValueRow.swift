package import Postgres

/// Reads and replaces sealed values of any column.
struct SealedValueRow: RowDecodable {
    let texts: [String]
    let sealed: [UInt8]?

    init(row: inout RowDecoder) throws(PostgresError) {
        texts = try row.next()
        sealed = try row.next()
    }

    /// Reads the next `rowsMax` rows after `place`, in the order of their keys, each with its value unless that begins
    /// with `prefix`. The work does not depend on the number of such values.
    static func page(
        _ column: SealedColumn,
        after place: [String]?,
        rowsMax: Int64,
        unlessPrefixed prefix: [UInt8]
    ) -> Query<SealedValueRow> {
        let names = list(column.key.map { "t.\($0.name)" })
        let isOlder: SQL = "substring(\(column.value) FROM 1 FOR \(Int32(prefix.count))) <> \(prefix)"
        let texts = list(column.key.map(\.asText) + column.parts)
        var statement: SQL = """
            SELECT ARRAY[\(texts)], CASE WHEN \(isOlder) THEN \(column.value) END
            FROM \(column.table) AS t
            """
        if let place {
            let values = zip(column.key, place).map { part, text in part.value("\(text)") }
            statement.append("\nWHERE (\(names)) > (\(list(values)))")
        }
        statement.append("\nORDER BY \(names) LIMIT \(rowsMax)")
        return Query(statement)
    }

    /// Replaces each value that is still the old one. Never waits: leaves the rows that another transaction has locked.
    static func replace(_ column: SealedColumn, _ values: [ResealedValue]) -> SQL {
        let names = column.key.map(\.name)
        let keys = column.key.indices.map { place in values.map { $0.key[place] } }
        let isGiven = all(column.key.map { "t.\($0.name) = \($0.value("given.\($0.name)"))" })
        let isHeld = all(names.map { "t.\($0) = held.\($0)" })
        let given: SQL = """
            unnest(\(list(keys.map { "\($0)" })), \(values.map(\.old)), \(values.map(\.new)))
                AS given (\(list(names)), old, new)
            """
        return SQL(
            """
            WITH held AS MATERIALIZED (
                SELECT \(list(names.map { "t.\($0)" })), given.old, given.new
                FROM \(given)
                JOIN \(column.table) AS t ON \(isGiven)
                WHERE \(column.value) = given.old FOR UPDATE OF t SKIP LOCKED
            )
            UPDATE \(column.table) AS t SET \(column.assignment("held.new"))
            FROM held WHERE \(isHeld) AND \(column.value) = held.old
            """,
            // Citus locks no rows of several shards: it waits for a row that another transaction holds.
            onCitus: """
                UPDATE \(column.table) AS t SET \(column.assignment("given.new"))
                FROM \(given)
                WHERE \(isGiven) AND \(column.value) = given.old
                """
        )
    }

    private static func list(_ items: [SQL]) -> SQL { joined(items, by: ", ") }

    private static func all(_ conditions: [SQL]) -> SQL { joined(conditions, by: " AND ") }

    private static func joined(_ items: [SQL], by separator: SQL) -> SQL {
        var joined = items.first ?? ""
        for item in items.dropFirst() {
            joined.append(separator)
            joined.append(item)
        }
        return joined
    }
}

struct SealedCountRow: RowDecodable {
    let prefix: [UInt8]
    let count: Int64

    init(row: inout RowDecoder) throws(PostgresError) {
        prefix = try row.next()
        count = try row.next()
    }

    /// Counts the values of a column by the bytes that name their key.
    static func byPrefix(_ column: SealedColumn) -> Query<SealedCountRow> {
        """
        SELECT CASE WHEN length(v.sealed) > 1 THEN substring(v.sealed FROM 1 FOR 2 + get_byte(v.sealed, 1)) ELSE '' END,
            count(*)
        FROM (SELECT \(column.value) AS sealed FROM \(column.table) AS t) AS v
        WHERE v.sealed IS NOT NULL GROUP BY 1 ORDER BY 1
        """
    }
}

extension AccountStore {
    /// Counts all sealed values in one snapshot, on a connection without time limits.
    /// - Throws: `PostgresError`.
    package func sealedCounts() async throws -> [SealedCount] {
        try await PostgresConnection.withConnection(client.configuration) { connection in
            try connection.execute(SnapshotTransaction.begin)
            try connection.execute(script: SnapshotTransaction.withoutTimeouts)
            var counts: [SealedCount] = []
            for column in SealedColumn.allCases {
                counts += try connection.query(SealedCountRow.byPrefix(column))
                    .map { SealedCount(column: column, prefix: $0.prefix, count: $0.count) }
            }
            try connection.execute(SnapshotTransaction.end)
            return counts
        }
    }

    /// The next `rowsMax` rows after the key `place`, each with its value unless that begins with `prefix`. One round
    /// trip.
    package func sealedRows(
        _ column: SealedColumn,
        after place: [String]?,
        rowsMax: Int,
        unlessPrefixed prefix: [UInt8]
    ) async throws(PostgresError) -> [SealedRow] {
        let page = SealedValueRow.page(column, after: place, rowsMax: Int64(rowsMax), unlessPrefixed: prefix)
        let keyCount = column.key.count
        return try await client.read(page).map { row in
            SealedRow(
                key: Array(row.texts.prefix(keyCount)),
                parts: Array(row.texts.dropFirst(keyCount)),
                sealed: row.sealed
            )
        }
    }

    /// Replaces sealed values in one transaction, and leaves those that have changed, or that another transaction is
    /// changing. Versions of accounts stay, because the secrets stay.
    /// - Returns: number of replaced values.
    package func reseal(_ column: SealedColumn, _ values: [ResealedValue]) async throws(PostgresError) -> Int {
        try await client.write(WriteBatch("reseal", [SealedValueRow.replace(column, values)])).affectedRows(0)
    }
}
