import Postgres

/// The transactions that see the database as of one instant, and can write nothing.
enum SnapshotTransaction {
    /// About how many accounts there are, without counting them; negative where nobody has looked yet.
    static let userEstimate: Query<Int64?> = "SELECT reltuples::bigint FROM pg_class WHERE oid = 'users'::regclass"

    static let begin: SQL = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    static let end: SQL = "COMMIT"
    static let exportSnapshot: Query<String?> = "SELECT pg_export_snapshot()"
    /// Whatever the statistics say of tables that were just filled (ADR 0031).
    static let goByIndexes: SQL = "SET LOCAL enable_seqscan = off"
    /// Each table is sorted by a server process of its own; what does not fit goes to PostgreSQL's temporary files.
    static let limitSortMemory: SQL = "SET LOCAL work_mem = '16MB'"

    /// Joins a transaction that is still open.
    /// - Throws: `.misuse` for what is no name of a snapshot.
    static func adopt(_ snapshot: String) throws(PostgresError) -> String {
        guard snapshot.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x46).contains($0) || $0 == 0x2D })
        else {
            throw PostgresError(.misuse, "not the name of a snapshot")
        }
        return "SET TRANSACTION SNAPSHOT '\(snapshot)'"
    }
}
