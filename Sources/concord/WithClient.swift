import Migrations
import Postgres

/// Runs `body` with a database client, and closes the client afterwards.
/// - Throws: `DatabaseFailure` instead of a `PostgresError`; `StartupFailure` if the schema is older than this program
///   needs; other errors of `body`.
func withClient<Output: Sendable>(
    _ configuration: PostgresConfiguration,
    _ body: @Sendable (PostgresClient) async throws -> Output
) async throws -> Output {
    let client = PostgresClient(configuration: configuration)
    return try await namingDatabase(configuration) {
        try await withThrowingTaskGroup(of: Void.self, returning: Output.self) { group in
            group.addTask { await client.run() }
            defer { client.shutDown() }
            try requireSchema(try await SchemaState.load(client))
            return try await body(client)
        }
    }
}
