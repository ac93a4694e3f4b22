package import AccountLinking
package import AccountOperations
import AccountStore
import Foundation
import IdentityProviders
package import JSON
import Logging
package import Postgres
import Synchronization

/// The operations over a database of their own, with a clock the test moves.
package struct TestService: Sendable {
    package let database: TestDatabase
    package let client: PostgresClient
    package let operations: AccountOperations
    package let clock: TestClock

    package static let projectID = "demo-test"
    package static let apiKey = "AIza-test-key-of-the-project"

    /// Builds everything over a fresh database and runs `body`.
    ///
    /// `settings`: the project's settings; every method on and addresses not protected unless given.
    package static func with<Output: Sendable>(
        settings: JSONValue = ProjectSettings.developmentDefaults,
        _ body: (TestService) async throws -> Output
    ) async throws -> Output {
        try await TestDatabase.with { database in
            try await database.withClient { client in
                let service = try await make(database: database, client: client, settings: settings)
                let output = try await body(service)
                await service.operations.passwords.shutDown()
                return output
            }
        }
    }

    /// Another server process's worth of operations on the same database.
    package static func make(
        database: TestDatabase,
        client: PostgresClient,
        settings: JSONValue
    ) async throws -> TestService {
        let clock = TestClock()
        let effects = Effects(now: { clock.now }, randomBytes: Effects.system.randomBytes)
        let store = AccountStore(client: client)
        guard let key = Sealer.Key(id: "test", bytes: Array(repeating: 7, count: 32)) else {
            throw PostgresError(.misuse, "no key")
        }
        let sealer = Sealer(sealingKey: key)
        let project = ProjectRecord(projectID: projectID, projectNumber: 424_242, settings: settings)
        _ = try await store.createProject(project, apiKey: apiKey)
        guard let cache = try await ProjectCache.load(store: store, sealer: sealer, trust: .declared) else {
            throw PostgresError(.misuse, "no project")
        }
        let keys = SigningKeys(
            store: store,
            sealer: sealer,
            effects: effects,
            algorithm: .es256,
            projectID: projectID
        )
        let operations = AccountOperations(
            store: store,
            project: cache,
            tokens: TokenAuthority(projectID: projectID, keys: try await keys.load(.idToken)),
            passwords: try PasswordHasher(threadCount: 2, queueMax: 512, randomBytes: effects.randomBytes),
            providers: ProviderRegistry(
                keys: JWKSCache(
                    http: IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true)),
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                ),
                fakes: FakeProvider()
            ),
            sealer: sealer,
            effects: effects
        )
        return TestService(database: database, client: client, operations: operations, clock: clock)
    }
}

/// A clock that stands still until a test moves it.
package final class TestClock: Sendable {
    private let instant: Mutex<Timestamp>

    init() {
        // A whole second with a fraction, so that rounding shows.
        instant = Mutex(Timestamp(microsecondsSinceEpoch: 1_750_000_000_250_000))
    }

    package var now: Timestamp { instant.withLock { $0 } }

    package func advance(seconds: Int64) {
        instant.withLock { $0 = $0.adding(seconds: seconds) }
    }
}
