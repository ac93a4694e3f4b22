import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

@testable import AccountOperations

struct SealerTests {
    private func key(_ id: String, _ byte: UInt8) throws -> Sealer.Key {
        try #require(Sealer.Key(id: id, bytes: Array(repeating: byte, count: 32)))
    }

    @Test func `a sealed value opens in its context and in no other`() throws {
        let sealer = Sealer(sealingKey: try key("a", 1))
        for plaintext: [UInt8] in [[], [1], Array(repeating: 9, count: 5000)] {
            let sealed = try sealer.seal(plaintext, context: "row/1")
            #expect(try sealer.open(sealed, context: "row/1") == plaintext)
            #expect(throws: Sealer.OpeningFailure.notAuthentic) { try sealer.open(sealed, context: "row/2") }
            #expect(try sealer.seal(plaintext, context: "row/1") != sealed, "no two sealed values are equal")
        }
    }

    @Test func `a value that contains a key prints only its name`() throws {
        let sealer = Sealer(sealingKey: try key("a", 201), olderKeys: [try key("b", 202)])
        var dumped = ""
        dump(sealer, to: &dumped)
        for text in ["\(sealer)", String(reflecting: sealer), dumped] {
            #expect(text.contains("key a") && text.contains("key b"))
            #expect(!text.contains("201") && !text.contains("202"))
        }
    }

    @Test func `a sealed value with any bit changed does not open`() throws {
        let sealer = Sealer(sealingKey: try key("a", 1))
        let sealed = try sealer.seal(Array("secret".utf8), context: "row/1")
        for index in sealed.indices {
            for bit in 0..<8 {
                var changed = sealed
                changed[index] ^= 1 << UInt8(bit)
                #expect(throws: Sealer.OpeningFailure.self) { try sealer.open(changed, context: "row/1") }
            }
        }
        for count in 0..<sealed.count {
            #expect(throws: Sealer.OpeningFailure.self) {
                try sealer.open(Array(sealed.prefix(count)), context: "row/1")
            }
        }
    }

    @Test func `all keys open and the first one seals`() throws {
        let old = Sealer(sealingKey: try key("old", 1))
        let sealed = try old.seal([1, 2, 3], context: "c")
        let new = Sealer(sealingKey: try key("new", 2), olderKeys: [try key("old", 1)])
        #expect(try new.open(sealed, context: "c") == [1, 2, 3])
        let sealedAnew = try new.seal([1], context: "c")
        #expect(throws: Sealer.OpeningFailure.unknownKey("new")) { try old.open(sealedAnew, context: "c") }
        let impostor = Sealer(sealingKey: try key("old", 3))
        #expect(throws: Sealer.OpeningFailure.notAuthentic) { try impostor.open(sealed, context: "c") }
    }

    @Test func `a key has 32 bytes and a name`() {
        #expect(Sealer.Key(id: "", bytes: Array(repeating: 1, count: 32)) == nil)
        #expect(Sealer.Key(id: "a", bytes: Array(repeating: 1, count: 31)) == nil)
        #expect(Sealer.Key(id: String(repeating: "a", count: 256), bytes: Array(repeating: 1, count: 32)) == nil)
    }
}

struct SigningKeysTests {
    private func keys(
        _ store: AccountStore,
        kekID: String = "kek",
        kekByte: UInt8 = 7,
        algorithm: SigningKey.Algorithm = .es256
    ) throws -> SigningKeys {
        let kek = try #require(Sealer.Key(id: kekID, bytes: Array(repeating: kekByte, count: 32)))
        return SigningKeys(
            store: store,
            sealer: Sealer(sealingKey: kek),
            effects: .system,
            algorithm: algorithm,
            projectID: "demo-test"
        )
    }

    @Test func `processes that start at once agree on one key`() async throws {
        try await TestDatabase.with { database in
            try await database.withClient { client in
                let ids = try await withThrowingTaskGroup { group in
                    for _ in 0..<8 {
                        let keys = try keys(AccountStore(client: client))
                        group.addTask { try await keys.load(.idToken).signing.id }
                    }
                    return try await group.reduce(into: Set<String>()) { $0.insert($1) }
                }
                #expect(ids.count == 1)
                #expect(try await database.count("SELECT count(*) FROM signing_keys") == 1)
                let cookies = try await keys(AccountStore(client: client)).load(.sessionCookie)
                #expect(!ids.contains(cookies.signing.id), "cookies have a separate key")
                let again = try await keys(AccountStore(client: client), algorithm: .rs256).load(.idToken)
                #expect(ids == [again.signing.id] && again.signing.algorithm == .es256)
                #expect(again.published.map(\.algorithm) == [.es256, .rs256], "another algorithm is published first")
            }
        }
    }

    @Test func `a wrong key-encryption key is reported with the signing key and the setting to check`() async throws {
        try await TestDatabase.with { database in
            try await database.withClient { client in
                let store = AccountStore(client: client)
                let id = try await keys(store).load(.idToken).signing.id
                for wrong in [try keys(store, kekByte: 8), try keys(store, kekID: "other")] {
                    await #expect {
                        try await wrong.load(.idToken)
                    } throws: { error in
                        guard let error = error as? SigningKeys.Unreadable else { return false }
                        return error.keyID == id && error.description.contains("check the key-encryption keys")
                            && Failure(error) == .bug
                    }
                }
                let sealed = try await store.signingKeys().map(\.sealedPrivateKey)
                #expect(sealed.count == 1, "no second key was made")
            }
        }
    }

    @Test func `a private key is not stored in the clear`() async throws {
        try await TestDatabase.with { database in
            try await database.withClient { client in
                let store = AccountStore(client: client)
                let key = try await keys(store).load(.idToken).signing
                let stored = try #require(try await store.signingKeys().first)
                #expect(stored.sealedPrivateKey.firstRange(of: key.privateKeyBytes) == nil)
                #expect(stored.certificate.firstRange(of: key.privateKeyBytes) == nil)
            }
        }
    }
}

struct PasswordHasherTests {
    private func withHasher<Output: Sendable>(
        threadCount: Int = 2,
        queueMax: Int = 64,
        _ body: (PasswordHasher) async throws -> Output
    ) async throws -> Output {
        let hasher = try PasswordHasher(
            threadCount: threadCount,
            queueMax: queueMax,
            randomBytes: Effects.system.randomBytes
        )
        do {
            let output = try await body(hasher)
            await hasher.shutDown()
            return output
        } catch {
            await hasher.shutDown()
            throw error
        }
    }

    @Test func `a password matches its own hash and nothing else does`() async throws {
        try await withHasher { hasher in
            let password = "pässwörd 🙂"
            let hash = try await hasher.hash(password, for: .administrator)
            #expect(hash.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
            #expect(try await hasher.hash(password, for: .administrator) != hash, "salted")
            #expect(try await hasher.verify(password, against: hash, for: .administrator))
            for other in ["", "pässwörd", password + " ", password.uppercased()] {
                #expect(try await !hasher.verify(other, against: hash, for: .administrator))
            }
            #expect(try await !hasher.verify(password, against: nil, for: .administrator))
            let isStandIn = try await hasher.verify("", against: nil, for: .administrator)
            #expect(!isStandIn, "the dummy hash never matches")
        }
    }

    @Test func `an invalid hash is an error`() async throws {
        try await withHasher { hasher in
            for hash in ["", "plain", "$argon2id$", "$2b$12$abcdefghijklmnopqrstuu"] {
                await #expect(throws: PasswordHasher.HashingFailed.self) {
                    _ = try await hasher.verify("password", against: hash, for: .administrator)
                }
            }
        }
    }

    @Test func `callers beyond the queue's size are refused, and later ones are served`() async throws {
        try await withHasher(threadCount: 1, queueMax: 3) { hasher in
            let refused = try await withThrowingTaskGroup { group in
                for _ in 0..<24 {
                    group.addTask {
                        do {
                            _ = try await hasher.hash("password", for: .administrator)
                            return 0
                        } catch let error as PasswordHasher.Overloaded {
                            #expect(Failure(error) == .unavailable)
                            return 1
                        }
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect((1...21).contains(refused))
            _ = try await hasher.hash("password", for: .administrator)
        }
    }

    @Test func `a caller that returns at once finds its place free`() async throws {
        try await withHasher(threadCount: 1, queueMax: 1) { hasher in
            for _ in 0..<100 { _ = try await hasher.hash("password", for: .administrator) }
        }
    }

    @Test func `a cancelled caller leaves the queue`() async throws {
        try await withHasher(threadCount: 1, queueMax: 2) { hasher in
            for _ in 0..<5 {
                let task = Task { try await hasher.hash("password", for: .administrator) }
                task.cancel()
                _ = await task.result
            }
            _ = try await hasher.hash("password", for: .administrator)
        }
    }
}

struct EffectsTests {
    @Test func `local ids have 28 letters and digits and never repeat`() {
        let ids = (0..<1000).map { _ in Effects.system.newLocalID() }
        #expect(Set(ids).count == 1000)
        for id in ids { #expect(id.count == 28 && id.utf8.allSatisfy { $0 < 0x80 }) }
        let used = Set(ids.joined())
        #expect(used.count == 62 && used.allSatisfy { $0.isLetter || $0.isNumber })
    }

    @Test func `event ids are version 7 UUIDs that increase with time, and epochs fit a JSON number`() {
        var earlier: UInt64 = 0
        for _ in 0..<1000 {
            let id = Effects.system.newEventID()
            #expect(id.high >> 12 & 0xF == 7 && id.low >> 62 == 2)
            #expect(id.high >> 16 >= earlier)
            earlier = id.high >> 16
            #expect((0..<(1 << 52)).contains(Effects.system.newSessionEpoch()))
        }
    }
}

struct FailureTests {
    @Test func `temporary database failures are unavailable, and others are bugs`() {
        let unavailable: [PostgresError.Code] = [
            .connectionLost, .commitOutcomeUnknown, .unavailable, .queueFull, .queueTimeout, .statementTimeout,
            .shutDown, .server("57P01"), .server("53300"), .server("40001"), .server("25006"), .server("08006"),
            .server("55P03"),
        ]
        for code in unavailable { #expect(Failure(PostgresError(code, "x")) == .unavailable) }
        let bugs: [PostgresError.Code] = [
            .decoding, .tooManyRows, .valueTooLarge, .rolledBack, .configuration, .misuse, .server("23514"),
            .server("42P01"), .server("25P02"),
        ]
        for code in bugs { #expect(Failure(PostgresError(code, "x")) == .bug) }
        #expect(Failure(PostgresError(.cancelled, "x")) == .cancelled)
        #expect(Failure(CancellationError()) == .cancelled)
        #expect(Failure(Contention()) == .unavailable)
        #expect(Failure(UnexpectedDecision(.signInProviderNotEnabled)) == .bug)
    }
}

@Suite(.service)
struct ProjectCacheTests {
    @Test func `a change of the settings is visible after a refresh, and API keys are recognized`() async throws {
        let service = try TestService.shared
        let cache = service.operations.project
        #expect(cache.holds(apiKey: TestService.apiKey))
        #expect(!cache.holds(apiKey: "") && !cache.holds(apiKey: TestService.apiKey + "x"))
        #expect(cache.settings.policy.allowsAnonymousSignUp)
        try await PostgresConnection.withConnection(service.database.configuration) { connection in
            try connection.execute(
                "UPDATE project_config SET settings = '{}', version = version + 1"
            )
        }
        #expect(cache.settings.policy.allowsAnonymousSignUp, "not before the refresh")
        try await cache.refresh()
        #expect(!cache.settings.policy.allowsAnonymousSignUp && cache.settings.policy.protectsEmailEnumeration)
    }
}
