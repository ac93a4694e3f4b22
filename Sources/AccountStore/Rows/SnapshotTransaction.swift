import Postgres

/// Read-only transactions that see one snapshot of the database.
///
/// On Citus there is no snapshot of all shards, so each statement sees what is committed when it begins.
enum SnapshotTransaction {
    /// True if the database has the metadata of Citus.
    static let hasCitus: Query<Bool> = "SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL"
    /// True if the accounts are distributed over shards. Needs the metadata of Citus.
    static let isDistributed: Query<Bool> =
        "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_dist_partition WHERE logicalrelid = 'users'::regclass)"
    /// The estimated number of accounts in all shards. Needs the metadata of Citus.
    static let userEstimateOfShards: Query<Int64?> = """
        SELECT sum(greatest(result::bigint, 0))::bigint FROM run_command_on_shards(
            'users', 'SELECT reltuples::bigint FROM pg_class WHERE oid = ''%s''::regclass'
        ) WHERE success
        """
    static let beginOnShards: SQL = "BEGIN READ ONLY"
    /// Each of ten connections asks every worker at once, so two of the worker's connections suffice for each.
    static let shareWorkers = "SET LOCAL citus.max_adaptive_executor_pool_size = 2;"

    /// The estimated number of accounts; negative before the first `ANALYZE`.
    static let userEstimate: Query<Int64?> = "SELECT reltuples::bigint FROM pg_class WHERE oid = 'users'::regclass"

    static let begin: SQL = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    /// Lifts the time limits that a role or a database may set: a copy ends with its last row, and meanwhile other
    /// connections are idle.
    static let withoutTimeouts = "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;"
    static let end: SQL = "COMMIT"
    static let exportSnapshot: Query<String?> = "SELECT pg_export_snapshot()"
    /// Uses indexes even if statistics of recently filled tables suggest scans (ADR 0031).
    static let goByIndexes: SQL = "SET LOCAL enable_seqscan = off"
    /// For one sorted copy of each table. PostgreSQL sorts larger tables in temporary files. Every table already has a
    /// server process, so no copy uses parallel workers.
    static let sortTables = """
        SET LOCAL work_mem = '4MB'; SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0;
        """
    /// For copies of whole tables: reading a table in the order of an index costs more than sorting it.
    static let readWholeTables = "SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off;"

    /// Uses the snapshot of another transaction, which must still be open.
    /// - Throws: `.misuse` if the text is not the name of a snapshot.
    static func adopt(_ snapshot: String) throws(PostgresError) -> String {
        guard snapshot.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x46).contains($0) || $0 == 0x2D })
        else {
            throw PostgresError(.misuse, "not the name of a snapshot")
        }
        return "SET TRANSACTION SNAPSHOT '\(snapshot)'"
    }
}
