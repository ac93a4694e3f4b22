import Postgres

/// Repeats `body` for half a minute while the database is unreachable, because a failover is short. Also repeats it
/// while another session holds a lock for longer than a server would wait.
///
/// `body` must be idempotent, because its answer may have been lost.
func waitingForDatabase<Output: Sendable>(_ body: () async throws -> Output) async throws -> Output {
    for seconds in [1, 2, 4, 8, 15] {
        do {
            return try await body()
        } catch let error as PostgresError where error.isUnreachable || error.sqlState == .lockNotAvailable {
            try await Task.sleep(for: .seconds(seconds))
        }
    }
    return try await body()
}
