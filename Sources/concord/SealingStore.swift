import AccountOperations
import AccountStore

/// Opens one secret of the project, and then runs `body`, which seals secrets, with the store and the sealer of the
/// configuration. So a wrong key with the right id seals no value, which would be lost.
/// - Throws: `SigningKeys.Unreadable` before any write; errors of `body`.
func withSealingStore<Output: Sendable>(
    _ configuration: ServeConfiguration,
    _ body: @Sendable (AccountStore, Sealer) async throws -> Output
) async throws -> Output {
    let sealer = try Sealer(configuration.keys)
    return try await withClient(configuration.database.postgres) { client in
        let store = AccountStore(client: client)
        try await SigningKeys.check(store, sealer)
        return try await body(store, sealer)
    }
}
