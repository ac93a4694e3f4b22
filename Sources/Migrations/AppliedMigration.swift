package import Postgres

/// One row of the ledger, `schema_migrations`.
package struct AppliedMigration: Sendable, Hashable {
    package let version: Int
    package let name: String
    /// SHA-256 of the up file's bytes at the time, lower case hexadecimal.
    package let checksum: String
    /// When it was recorded, by the database's clock, as RFC 3339 in UTC with whole seconds; `nil` when a migration
    /// outside a transaction was begun, in either direction, and its end was never recorded.
    package let appliedAt: String?
    /// Milliseconds the file took; `nil` as above.
    package let durationMilliseconds: Int64?
    /// The version of Concord that ran it.
    package let toolVersion: String

    package init(
        version: Int,
        name: String,
        checksum: String,
        appliedAt: String?,
        durationMilliseconds: Int64?,
        toolVersion: String
    ) {
        self.version = version
        self.name = name
        self.checksum = checksum
        self.appliedAt = appliedAt
        self.durationMilliseconds = durationMilliseconds
        self.toolVersion = toolVersion
    }

    /// False for a migration that stopped halfway.
    package var isFinished: Bool { appliedAt != nil }

    /// The up file it came from, such as `0007_sessions.up.sql`.
    package var fileName: String { "\(MigrationFileName.fourDigits(version))_\(name).up.sql" }
}

extension AppliedMigration: RowDecodable {
    /// Column order is the decoding order.
    static let columns: SQL = """
        version, name, checksum, to_char(applied_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), duration_ms, \
        tool_version
        """

    /// - Throws: `.decoding` when the ledger has other columns than this version of Concord made.
    package init(row: inout RowDecoder) throws(PostgresError) {
        version = Int(try row.next(Int32.self))
        name = try row.next()
        checksum = try row.next()
        appliedAt = try row.next()
        durationMilliseconds = try row.next()
        toolVersion = try row.next()
    }

    /// The whole ledger, ascending. Fails with 42P01 where no migration ever ran.
    package static var ledger: Query<Self> { "SELECT \(columns) FROM schema_migrations ORDER BY version" }

    /// Makes the ledger where there is none.
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

    /// Records a migration together with its own transaction. Fails with 23505 where it is recorded already.
    static func recordApplied(_ file: MigrationFile, milliseconds: Int64, toolVersion: String) -> SQL {
        """
        INSERT INTO schema_migrations (version, name, checksum, applied_at, duration_ms, tool_version)
        VALUES (\(Int32(file.fileName.version)), \(file.fileName.name), \(file.checksum), clock_timestamp(), \
        \(milliseconds), \(toolVersion))
        """
    }

    /// Marks a migration outside a transaction as begun.
    static func recordBegun(_ file: MigrationFile, toolVersion: String) -> SQL {
        """
        INSERT INTO schema_migrations (version, name, checksum, tool_version)
        VALUES (\(Int32(file.fileName.version)), \(file.fileName.name), \(file.checksum), \(toolVersion))
        """
    }

    /// Marks the end of what `recordBegun` began.
    static func recordFinished(version: Int, milliseconds: Int64) -> SQL {
        """
        UPDATE schema_migrations SET applied_at = clock_timestamp(), duration_ms = \(milliseconds) \
        WHERE version = \(Int32(version))
        """
    }

    /// Marks a migration outside a transaction as being taken back.
    static func recordLeaving(version: Int) -> SQL {
        "UPDATE schema_migrations SET applied_at = NULL, duration_ms = NULL WHERE version = \(Int32(version))"
    }

    static func forget(version: Int) -> SQL {
        "DELETE FROM schema_migrations WHERE version = \(Int32(version))"
    }
}
