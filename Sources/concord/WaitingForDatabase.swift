import Postgres

/// Runs `body` again while the database cannot be reached, for half a minute: one that moves is back soon. Also while
/// another session holds a lock for longer than a server would wait.
///
/// `body` can be repeated: where its answer was lost, what it did stays done.
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
