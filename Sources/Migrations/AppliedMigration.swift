package import Postgres

/// One row of the ledger, `schema_migrations`.
package struct AppliedMigration: Sendable, Hashable {
    package let version: Int
    package let name: String
    /// SHA-256 of the up file when it was applied, in lower-case hexadecimal.
    package let checksum: String
    /// The time of the record by the database's clock: RFC 3339, UTC, whole seconds. `nil` if a migration outside a
    /// transaction was interrupted, in either direction.
    package let appliedAt: String?
    /// Duration in milliseconds; `nil` as above.
    package let durationMilliseconds: Int64?
    /// The version of Concord that applied it.
    package let toolVersion: String

    /// False for an interrupted migration.
    package var isFinished: Bool { appliedAt != nil }

    /// The name of its up file, such as `0007_sessions.up.sql`.
    package var fileName: String { "\(MigrationFileName.fourDigits(version))_\(name).up.sql" }
}

extension AppliedMigration: RowDecodable {
    /// The order of the columns is the order of decoding.
    static let columns: SQL = """
        version, name, checksum, to_char(applied_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), duration_ms, \
        tool_version
        """

    /// - Throws: `.decoding` if the columns of the ledger are not those of this version of Concord.
    package init(row: inout RowDecoder) throws(PostgresError) {
        version = Int(try row.next(Int32.self))
        name = try row.next()
        checksum = try row.next()
        appliedAt = try row.next()
        durationMilliseconds = try row.next()
        toolVersion = try row.next()
    }

    /// The whole ledger, ascending. Fails with 42P01 if no migration ever ran.
    package static var ledger: Query<Self> { "SELECT \(columns) FROM schema_migrations ORDER BY version" }

    /// Creates the ledger if it does not exist.
    static let createLedger: SQL = """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            version      integer     PRIMARY KEY CHECK (version BETWEEN 1 AND 9999),
            name         text        NOT NULL,
            checksum     text        NOT NULL CHECK (checksum ~ '^[0-9a-f]{64}$'),
            applied_at   timestamptz,
            duration_ms  bigint,
            tool_version text        NOT NULL,
            CHECK ((applied_at IS NULL) = (duration_ms IS NULL))
        )
        """

    /// Records a migration in its transaction. Fails with 23505 if it is already recorded.
    static func recordApplied(_ file: MigrationFile, milliseconds: Int64, toolVersion: String) -> SQL {
        """
        INSERT INTO schema_migrations (version, name, checksum, applied_at, duration_ms, tool_version)
        VALUES (\(Int32(file.fileName.version)), \(file.fileName.name), \(file.checksum), clock_timestamp(), \
        \(milliseconds), \(toolVersion))
        """
    }

    /// Records the start of a migration outside a transaction.
    static func recordBegun(_ file: MigrationFile, toolVersion: String) -> SQL {
        """
        INSERT INTO schema_migrations (version, name, checksum, tool_version)
        VALUES (\(Int32(file.fileName.version)), \(file.fileName.name), \(file.checksum), \(toolVersion))
        """
    }

    /// Records the end of a migration after `recordBegun`.
    static func recordFinished(version: Int, milliseconds: Int64) -> SQL {
        """
        UPDATE schema_migrations SET applied_at = clock_timestamp(), duration_ms = \(milliseconds) \
        WHERE version = \(Int32(version))
        """
    }

    /// Records that the undo of a migration outside a transaction has started.
    static func recordLeaving(version: Int) -> SQL {
        "UPDATE schema_migrations SET applied_at = NULL, duration_ms = NULL WHERE version = \(Int32(version))"
    }

    static func forget(version: Int) -> SQL {
        "DELETE FROM schema_migrations WHERE version = \(Int32(version))"
    }
}
