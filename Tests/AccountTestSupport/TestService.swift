package import AccountLinking
package import AccountOperations
import AccountStore
package import Delivery
import Foundation
import IdentityProviders
package import JSON
import Logging
package import Postgres
package import Spans
import Synchronization
package import Testing

/// The operations over a private database, with a clock that the test sets.
package struct TestService: Sendable {
    package let database: TestDatabase
    package let client: PostgresClient
    package let operations: AccountOperations
    package let clock: TestClock
    package let signingKeys: SigningKeys

    package static let projectID = "demo-test"
    package static let apiKey = "AIza-test-key-of-the-project"
    package static let password = "correct horse"

    /// Builds everything over a fresh database and runs `body`.
    ///
    /// - `settings`: the project's settings. By default every method is on and addresses are not protected.
    /// - `spans`: of calls of the database.
    package static func with<Output: Sendable>(
        settings: JSONValue = ProjectSettings.developmentDefaults,
        metrics: OperationMetrics = OperationMetrics(),
        webhooks: any WebhookSending = HTTPWebhookSender(),
        spans: Spans = .off,
        _ body: (TestService) async throws -> Output
    ) async throws -> Output {
        try await TestDatabase.with { database in
            try await with(
                database: database,
                clock: TestClock(),
                settings: settings,
                metrics: metrics,
                webhooks: webhooks,
                spans: spans,
                body
            )
        }
    }

    /// Runs `body` with two services on one fresh database and one clock. They act as two server processes.
    package static func withTwo<Output: Sendable>(
        settings: JSONValue = ProjectSettings.developmentDefaults,
        metrics: OperationMetrics = OperationMetrics(),
        webhooks: any WebhookSending = HTTPWebhookSender(),
        _ body: (TestService, TestService) async throws -> Output
    ) async throws -> Output {
        try await TestDatabase.with { database in
            let clock = TestClock()
            return try await with(
                database: database,
                clock: clock,
                settings: settings,
                metrics: metrics,
                webhooks: webhooks
            ) { first in
                try await with(
                    database: database,
                    clock: clock,
                    settings: settings,
                    metrics: metrics,
                    webhooks: webhooks
                ) { second in
                    try await body(first, second)
                }
            }
        }
    }

    private static func with<Output: Sendable>(
        database: TestDatabase,
        clock: TestClock,
        settings: JSONValue,
        metrics: OperationMetrics = OperationMetrics(),
        webhooks: any WebhookSending = HTTPWebhookSender(),
        spans: Spans = .off,
        _ body: (TestService) async throws -> Output
    ) async throws -> Output {
        try await database.withClient(spans: spans) { client in
            let service = try await make(
                database: database,
                client: client,
                clock: clock,
                settings: settings,
                metrics: metrics,
                webhooks: webhooks
            )
            do {
                let output = try await body(service)
                await service.operations.passwords.shutDown()
                return output
            } catch {
                await service.operations.passwords.shutDown()
                throw error
            }
        }
    }

    /// Makes one service on an existing database. It acts as another server process.
    package static func make(
        database: TestDatabase,
        client: PostgresClient,
        clock: TestClock = TestClock(),
        settings: JSONValue,
        metrics: OperationMetrics = OperationMetrics(),
        webhooks: any WebhookSending = HTTPWebhookSender()
    ) async throws -> TestService {
        let effects = Effects(now: { clock.now }, randomBytes: Effects.system.randomBytes)
        let store = AccountStore(client: client, observer: metrics)
        guard let key = Sealer.Key(id: "test", bytes: Array(repeating: 7, count: 32)) else {
            throw PostgresError(.misuse, "no key")
        }
        let sealer = Sealer(sealingKey: key)
        let project = ProjectRecord(projectID: projectID, projectNumber: 424_242, settings: settings)
        _ = try await store.createProject(project, apiKey: apiKey)
        guard let cache = try await ProjectCache.load(store: store, trust: .preset) else {
            throw PostgresError(.misuse, "no project")
        }
        let keys = SigningKeys(
            store: store,
            sealer: sealer,
            effects: effects,
            algorithm: .es256,
            projectID: projectID
        )
        // A test machine may be slow and shared, and no test waits for these timeouts.
        let providerTimeout = Duration.seconds(300)
        var keyLimits = JWKSCache.Limits()
        keyLimits.refreshTimeout = providerTimeout
        let operations = AccountOperations(
            store: store,
            project: cache,
            tokens: TokenAuthority(projectID: projectID, keys: try await keys.load(.idToken)),
            cookies: SessionCookieAuthority(projectID: projectID, keys: try await keys.load(.sessionCookie)),
            customTokens: DevelopmentCustomTokens(signed: ServiceAccountTokens(store: store, projectID: projectID)),
            passwords: try PasswordHasher(threadCount: 2, queueMax: 512, randomBytes: effects.randomBytes),
            providers: ProviderRegistry(
                keys: JWKSCache(
                    http: IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true)),
                    limits: keyLimits,
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                ),
                network: ProviderNetwork(
                    http: IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true)),
                    timeout: providerTimeout
                ),
                fakes: FakeProvider()
            ),
            sealer: sealer,
            mailLinks: MailLinks(base: "http://127.0.0.1:9099", page: .emulator),
            effects: effects,
            webhooks: webhooks,
            apps: AppVerifiers(recaptcha: DevelopmentAppVerifier()),
            metrics: metrics
        )
        return TestService(database: database, client: client, operations: operations, clock: clock, signingKeys: keys)
    }
}

extension TestService {
    /// The service of the test's suite; see `ServiceTrait`.
    @TaskLocal package static var ofSuite: TestService?

    /// The service of the suite. Its other tests use it concurrently.
    package static var shared: TestService {
        get throws { try #require(ofSuite, "the suite has no .service trait") }
    }

    /// Returns an address that no other test uses.
    package func newAddress() -> EmailAddress {
        let number = addressCount.add(1, ordering: .relaxed).newValue
        guard let address = EmailAddress("user\(number)@example.com") else { preconditionFailure("not an address") }
        return address
    }

    /// The account as currently stored.
    package func user(_ id: UserID) async throws -> UserRecord? {
        try await operations.store.user(id, tenant: .project)
    }

    /// Changes an account like an administrator: one decision, guarded by the version.
    package func edit(_ id: UserID, _ change: (inout UserRecord) -> Void) async throws {
        while true {
            let before = try #require(await user(id))
            var after = before
            change(&after)
            let event = AccountEvent(
                id: PostgresUUID(high: .random(in: .min ... .max), low: .random(in: .min ... .max)),
                occurredAt: clock.now,
                kind: .userUpdated,
                rule: .adminUpdateUnchanged
            )
            let write = AccountWrite(previous: before, user: after, event: event)
            if try await operations.store.apply(write) == .applied { return }
        }
    }
}

extension UserRecord {
    /// Sets the proof of the address, or removes it.
    package mutating func prove(_ proof: EmailProof?) {
        email?.proof = proof
        emailProvenAt = proof == nil ? nil : createdAt
    }
}

private let addressCount = Atomic(0)

/// Gives all tests of a suite one `TestService`: `TestService.shared`.
package struct ServiceTrait: SuiteTrait, TestScoping {
    let settings: JSONValue

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await TestService.with(settings: settings) { service in
            try await TestService.$ofSuite.withValue(service) { try await function() }
        }
    }
}

extension Trait where Self == ServiceTrait {
    /// One service for the suite, with every method on and addresses not protected.
    package static var service: Self { ServiceTrait(settings: ProjectSettings.developmentDefaults) }

    package static func service(settings: JSONValue) -> Self { ServiceTrait(settings: settings) }
}

/// A clock that only the test moves.
package final class TestClock: Sendable {
    private let instant: Mutex<Timestamp>

    package init() {
        // Has a fraction of a second, so that rounding is visible.
        instant = Mutex(Timestamp(microsecondsSinceEpoch: 1_750_000_000_250_000))
    }

    package var now: Timestamp { instant.withLock { $0 } }

    package func advance(seconds: Int64) {
        instant.withLock { $0 = $0.adding(seconds: seconds) }
    }
}
