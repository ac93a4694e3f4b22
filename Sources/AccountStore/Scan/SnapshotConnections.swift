import Postgres

/// Connections that see the database as of one instant, and can write nothing. One thread uses them all.
struct SnapshotConnections {
    /// For short reads.
    let main: PostgresConnection
    /// One for each table, because a copy occupies its connection.
    let forTables: [PostgresConnection]

    /// - Parameters:
    ///   - configuration: the database. PostgreSQL lists the connections under its `applicationName`.
    ///   - tables: number of tables that are read at the same time.
    ///   - wholly: true if all of their rows are read.
    /// - Throws: `PostgresError`.
    init(_ configuration: PostgresConfiguration, tables: Int, wholly: Bool) throws(PostgresError) {
        main = try PostgresConnection(configuration)
        try main.execute(SnapshotTransaction.begin)
        try main.execute(script: SnapshotTransaction.withoutTimeouts)
        try main.execute(SnapshotTransaction.goByIndexes)
        let snapshot = try main.query(SnapshotTransaction.exportSnapshot).first.flatMap(\.self) ?? ""
        var forTables: [PostgresConnection] = []
        for _ in 0..<tables {
            let connection = try PostgresConnection(configuration)
            try connection.execute(SnapshotTransaction.begin)
            try connection.execute(script: SnapshotTransaction.withoutTimeouts)
            try connection.execute(script: try SnapshotTransaction.adopt(snapshot))
            try connection.execute(script: SnapshotTransaction.sortTables)
            if wholly { try connection.execute(script: SnapshotTransaction.readWholeTables) }
            forTables.append(connection)
        }
        self.forTables = forTables
    }

    /// Calls `body` on a new thread. When it returns, the connections are closed and the snapshot is released.
    static func with<Output: Sendable>(
        _ configuration: PostgresConfiguration,
        tables: Int,
        wholly: Bool = true,
        _ body: @escaping @Sendable (SnapshotConnections) throws -> Output
    ) async throws -> Output {
        try await runOnNewThread {
            Result { try body(SnapshotConnections(configuration, tables: tables, wholly: wholly)) }
        }.get()
    }

    /// About how many accounts there are, without counting them.
    static func estimatedUserCount(_ configuration: PostgresConfiguration) async throws -> Int64 {
        try await PostgresConnection.withConnection(configuration) { connection in
            max(0, try connection.query(SnapshotTransaction.userEstimate).first.flatMap(\.self) ?? 0)
        }
    }
}
