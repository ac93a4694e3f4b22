import AccountOperations
import AccountStore

/// Runs `body`, which seals secrets, with the store and the sealer of the configuration, once one secret of the project has
/// been opened: what is sealed under a key that only has the right name is lost.
/// - Throws: `SigningKeys.Unreadable` before anything is written; what `body` throws.
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
