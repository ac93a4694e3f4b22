import AccountLinking
import AccountStore
import AccountTestSupport
import Postgres
import Synchronization
import Testing

/// A store on a private database of the suite.
struct StoreScene: Sendable {
    let database: TestDatabase
    let client: PostgresClient
    let store: AccountStore

    @TaskLocal static var ofSuite: StoreScene?

    static var shared: StoreScene {
        get throws { try #require(ofSuite, "the suite has no .store trait") }
    }

    static func with<Output: Sendable>(_ body: (StoreScene) async throws -> Output) async throws -> Output {
        try await TestDatabase.with { database in
            try await database.withClient { client in
                try await body(StoreScene(database: database, client: client, store: AccountStore(client: client)))
            }
        }
    }

    /// Runs `body` with a store whose connections go through a proxy.
    func throughProxy(
        readConnections: Int? = nil,
        writeConnections: Int = 8,
        _ body: (AccountStore, SocketProxy) async throws -> Void
    ) async throws {
        let proxy = try SocketProxy(to: database.url)
        defer { proxy.close() }
        var configuration = try PostgresConfiguration(connectionString: proxy.connectionString)
        // A test machine may be slow and shared, and no test waits for these timeouts.
        if let readConnections { configuration.readConnections = readConnections }
        configuration.writeConnections = writeConnections
        configuration.queueWait = .seconds(60)
        configuration.readStatementTimeout = .seconds(300)
        configuration.writeStatementTimeout = .seconds(300)
        configuration.lockTimeout = .seconds(300)
        configuration.connectTimeout = .seconds(60)
        let client = PostgresClient(configuration: configuration)
        try await withThrowingTaskGroup { group in
            group.addTask { await client.run() }
            defer { client.shutDown() }
            try await body(AccountStore(client: client), proxy)
        }
    }

    /// Creates the account and returns it as stored.
    func create(_ user: UserRecord) async throws -> UserRecord {
        let write = AccountWrite(
            previous: nil,
            user: user,
            passwordHash: user.passwordUpdatedAt == nil ? nil : "$hash$",
            event: event(.userCreated)
        )
        #expect(try await store.apply(write) == .applied)
        return try #require(await stored(user.id))
    }

    /// The stored account, past the store's caches.
    func stored(_ id: UserID) async throws -> UserRecord? {
        try await AccountStore(client: client).user(id, tenant: .project)
    }

    /// The claims of a user as `kind value`, sorted.
    func claims(of id: UserID) async throws -> [String] {
        try await database.rows(
            "SELECT kind || ' ' || value FROM identifiers WHERE user_id = \(id.rawValue) ORDER BY 1" as Query<String?>
        ).compactMap { $0 }
    }

    func eventCount(of id: UserID) async throws -> Int64 {
        try await database.count("SELECT count(*) FROM account_events WHERE user_id = \(id.rawValue)")
    }
}

struct StoreTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await StoreScene.with { scene in
            try await StoreScene.$ofSuite.withValue(scene) { try await function() }
        }
    }
}

extension Trait where Self == StoreTrait {
    /// One store for the suite. Each test creates its users.
    static var store: Self { StoreTrait() }
}

let origin = Timestamp(microsecondsSinceEpoch: 1_750_000_000_250_000)
let later = origin.adding(seconds: 60)

private let count = Atomic(0)

func nextNumber() -> Int { count.add(1, ordering: .relaxed).newValue }

func event(_ kind: AccountEvent.Kind, at now: Timestamp = origin) -> AccountEvent {
    AccountEvent(
        id: PostgresUUID(high: .random(in: .min ... .max), low: .random(in: .min ... .max)),
        occurredAt: now,
        kind: kind,
        rule: .adminUpdateUnchanged
    )
}

func address(_ text: String) -> EmailAddress {
    guard let address = EmailAddress(text) else { preconditionFailure("not an address: \(text)") }
    return address
}

func number(_ text: String) -> PhoneNumber {
    guard let number = PhoneNumber(text) else { preconditionFailure("not a number: \(text)") }
    return number
}

func identity(_ provider: ProviderID, _ subject: String) -> ProviderIdentity {
    guard let identity = ProviderIdentity(provider: provider, subject: subject) else {
        preconditionFailure("not an identity: \(subject)")
    }
    return identity
}

func userID(_ text: String) -> UserID {
    guard let id = UserID(text) else { preconditionFailure("not a user id: \(text)") }
    return id
}

extension UserRecord {
    /// A new account without data.
    static func blank(_ name: String? = nil) -> UserRecord {
        UserRecord(
            tenant: .project,
            id: userID(name ?? "user-\(nextNumber())"),
            sessionEpoch: 1000,
            createdAt: origin
        )
    }

    /// An account with every kind of data.
    static func full(_ name: String? = nil) -> UserRecord {
        var user = blank(name)
        let name = user.id.rawValue
        user.email = AccountEmail(address: address("\(name)@Example.com"), proof: .emailCode)
        user.emailProvenAt = origin
        user.initialEmail = "first-\(name)@example.com"
        user.phoneNumber = number("+1650555\(1000 + nextNumber())")
        user.profile = Profile(
            displayName: "Ann",
            photoURL: "https://example.com/ann.png",
            screenName: "ann",
            language: "de",
            timeZone: "Europe/Zurich",
            dateOfBirth: "1990-01-02"
        )
        user.customAttributes = #"{"role":"editor"}"#
        user.passwordUpdatedAt = origin
        user.lastLoginAt = origin
        user.lastRefreshAt = origin
        for provider in [ProviderID.google, .facebook] {
            user.linkedProviders[provider] = LinkedProvider(
                identity: identity(provider, "subject-\(name)"),
                issuer: "https://issuer.example.com",
                email: address("\(name)@\(provider.rawValue)"),
                displayName: "Ann of \(provider.rawValue)",
                photoURL: nil,
                screenName: nil,
                linkedAt: origin,
                updatedAt: origin
            )
            user.methodProofs[.provider(provider)] = MethodProof(proof: .providerCredential, provenAt: origin)
        }
        user.methodProofs[.password] = MethodProof(proof: .signUp, provenAt: origin)
        user.methodProofs[.emailLink] = MethodProof(proof: .message, provenAt: origin)
        user.methodProofs[.phone] = MethodProof(proof: .message, provenAt: origin)
        return user
    }

    func session(_ byte: UInt8 = 1) -> SessionRecord {
        SessionRecord(
            tenant: tenant,
            user: id,
            id: Array(repeating: byte, count: 16),
            secretHash: Array(repeating: byte, count: 32),
            epoch: sessionEpoch,
            authTime: origin,
            signInProvider: "password"
        )
    }
}

func factorID(_ text: String) -> SecondFactorID {
    guard let id = SecondFactorID(text) else { preconditionFailure("not an enrolment's id") }
    return id
}
