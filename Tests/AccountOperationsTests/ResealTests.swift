import AccountLinking
import AccountTestSupport
import JSON
import Synchronization
import Testing

@testable import AccountOperations
@testable import AccountStore
@testable import Postgres

/// Sealing values of older keys with the current key.
struct ResealTests {
    private static let old = Sealer.Key(id: "test", bytes: Array(repeating: 7, count: 32))
    private static let new = Sealer.Key(id: "next", bytes: Array(repeating: 8, count: 32))

    /// The sealer of servers that have the new key at the front.
    private static func rotated() throws -> Sealer {
        Sealer(sealingKey: try #require(new), olderKeys: [try #require(old)])
    }

    /// The sealer of servers without the old key.
    private static func retired() throws -> Sealer { Sealer(sealingKey: try #require(new)) }

    private static let bytes = Array(repeating: UInt8(0x13), count: 16)
    private static let digest = Array(repeating: UInt8(0x14), count: 32)
    private static let uuid = PostgresUUID(high: 1, low: 2)

    /// The context of the row of each column that `fill` writes.
    private static let contexts: [SealedColumn: String] = [
        .signingKey: SealingContext.signingKey("key-9"),
        .hashKey: SealingContext.hashKey("00000000000000ff"),
        .clientSecret: SealingContext.clientSecret(provider: "google.com"),
        .appleKey: SealingContext.appleKey(provider: "google.com"),
        .webhookSecret: SealingContext.webhookSecret(endpoint: uuid.text),
        .olderWebhookSecret: SealingContext.webhookSecret(endpoint: uuid.text),
        .totpSecret: SealingContext.totpSecret(tenant: "", user: "ada", factor: "app"),
        .pendingCredential: SealingContext.pendingCredential(tenant: "", user: "ada", identityDigest: digest),
        .proofCode: SealingContext.proofCode(tenant: "", user: "ada", conflict: bytes, identityDigest: digest),
        .factorChallenge: SealingContext.factorChallenge(tenant: "", user: "ada", id: bytes),
        .storedAnswer: SealingContext.storedAnswer(tenant: "", user: "", keyDigest: digest),
        .message: SealingContext.message(tenant: "", id: uuid),
        .phoneCode: SealingContext.phoneCode(tenant: "", verification: bytes),
        .providerFlow: SealingContext.providerFlow(stateDigest: digest),
        .pendingSignUp: SealingContext.pendingSignUp(tenant: "", digest: digest),
        .signUpCode: SealingContext.signUpCode(tenant: "", digest: digest),
        .shortCode: SealingContext.shortCode(tenant: "", kind: "VERIFY_EMAIL", mailbox: "ada@example.com"),
        .journaledSecretBefore: SealingContext.totpSecret(tenant: "", user: "bob", factor: "app"),
        .journaledSecretAfter: SealingContext.totpSecret(tenant: "", user: "ada", factor: "app"),
    ]

    /// A row with a value in every sealed column; the plaintext is the column's name.
    private static func fill(_ service: TestService) async throws {
        func sealed(_ column: SealedColumn) throws -> String {
            let context = try #require(contexts[column])
            let value = try service.operations.sealer.seal(Array(column.rawValue.utf8), context: context)
            return #"'\x\#(Hexadecimal.encode(value))'"#
        }
        func image(_ user: String, _ column: SealedColumn) throws -> String {
            "jsonb_build_object('user_id', '\(user)', 'enrollment_id', 'app', 'sealed_secret', \(try sealed(column))::bytea)"
        }
        let end = "now() + interval '1 hour'"
        try await service.database.execute(
            """
            INSERT INTO users (user_id, session_epoch, valid_since, created_at) VALUES ('ada', 1, now(), now());
            INSERT INTO signing_keys (key_id, purpose, generation, algorithm, sealed_private_key, certificate, created_at,
                    signs_from) VALUES ('key-9', 'id-token', 9, 'ES256', \(try sealed(.signingKey)), '', now(), \(end));
            INSERT INTO hash_keys VALUES (1, '00000000000000ff', \(try sealed(.hashKey)), now());
            INSERT INTO provider_configs (provider_id, enabled, sealed_client_secret, sealed_apple_key, created_at,
                    updated_at)
                VALUES ('google.com', true, \(try sealed(.clientSecret)), \(try sealed(.appleKey)), now(), now());
            INSERT INTO webhook_endpoints (endpoint_id, slot, url, sealed_secret, sealed_older_secret, older_secret_until,
                    created_at)
                VALUES ('\(uuid.text)', 1, 'https://a.example', \(try sealed(.webhookSecret)),
                    \(try sealed(.olderWebhookSecret)), now(), now());
            INSERT INTO second_factors (user_id, enrollment_id, slot, sealed_secret, last_step, enrolled_at)
                VALUES ('ada', 'app', 1, \(try sealed(.totpSecret)), 1, now());
            INSERT INTO second_factors (user_id, enrollment_id, slot, number, enrolled_at)
                VALUES ('ada', 'sms', 2, '+16505553434', now());
            INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests,
                    sealed_credential, opened_at, expires_at, proofs_started, proof_kind, proof_session_epoch,
                    proof_policy_version, proof_email, proof_link_hash, proof_sealed_code, proof_expires_at)
                VALUES ('ada', decode(repeat('13', 16), 'hex'), 'open', 'email-already-in-use', 'facebook.com',
                    decode(repeat('14', 32), 'hex'), '{}', \(try sealed(.pendingCredential)), now(), \(end), 1, 'mailbox',
                    1, 1, 'ada@example.com', decode(repeat('17', 32), 'hex'), \(try sealed(.proofCode)), \(end));
            INSERT INTO factor_challenges (user_id, challenge_id, purpose, session_epoch, sealed_content, created_at,
                    expires_at)
                VALUES ('ada', decode(repeat('13', 16), 'hex'), 'sign-in', 1, \(try sealed(.factorChallenge)), now(),
                    \(end));
            INSERT INTO kept_answers (user_id, key_digest, sealed_answer, expires_at)
                VALUES ('', decode(repeat('14', 32), 'hex'), \(try sealed(.storedAnswer)), \(end));
            INSERT INTO outbox (message_id, kind, sealed_payload, created_at, expires_at, next_attempt_at)
                VALUES ('\(uuid.text)', 'mail', \(try sealed(.message)), now(), \(end), now());
            INSERT INTO phone_verifications (verification_id, session_digests, purpose, number, sealed_code, is_current,
                    created_at, expires_at)
                VALUES (decode(repeat('13', 16), 'hex'), ARRAY[decode(repeat('14', 32), 'hex')], 'sign-in',
                    '+16505553434', \(try sealed(.phoneCode)), true, now(), \(end));
            INSERT INTO provider_flows (state_digest, session_digest, provider_id, sealed_flow, expires_at)
                VALUES (decode(repeat('14', 32), 'hex'), decode(repeat('14', 32), 'hex'), 'google.com',
                    \(try sealed(.providerFlow)), \(end));
            INSERT INTO short_codes (kind, email_key, code_hash, sealed_code, expires_at)
                VALUES ('VERIFY_EMAIL', 'ada@example.com', decode(repeat('14', 32), 'hex'), \(try sealed(.shortCode)),
                    \(end));
            INSERT INTO pending_sign_ups (sign_up_digest, email, link_hash, sealed_code, sealed_credential, created_at,
                    expires_at)
                VALUES (decode(repeat('14', 32), 'hex'), 'ada@example.com', decode(repeat('14', 32), 'hex'),
                    \(try sealed(.signUpCode)), \(try sealed(.pendingSignUp)), now(), \(end));
            INSERT INTO account_journal (change_id, step, table_name, row_key, before, after, kept_until)
                VALUES ('\(uuid.text)', 0, 'second_factors', 'k', \(try image("bob", .journaledSecretBefore)),
                    \(try image("ada", .journaledSecretAfter)), \(end)),
                ('\(uuid.text)', 0, 'users', 'k', '{"user_id": "ada"}', NULL, \(end));
            """
        )
    }

    private func values(_ service: TestService, _ sealer: Sealer) -> SealedValues {
        SealedValues(store: service.operations.store, sealer: sealer)
    }

    /// The plaintext in every column, opened with `sealer` alone.
    private func plaintexts(_ service: TestService, _ sealer: Sealer) async throws -> [SealedColumn: [String]] {
        var plaintexts: [SealedColumn: [String]] = [:]
        for column in SealedColumn.allCases {
            let rows = try await service.operations.store
                .sealedRows(column, after: nil, rowsMax: 1000, unlessPrefixed: [0])
            for row in rows {
                guard let sealed = row.sealed else { continue }
                let context = try #require(row.context(in: column))
                plaintexts[column, default: []]
                    .append(String(decoding: try sealer.open(sealed, context: context), as: UTF8.self))
            }
        }
        return plaintexts
    }

    @Test(arguments: [1, 3, 500])
    func `every sealed value is sealed again, and opens without the old key`(batch: Int) async throws {
        try await TestService.with { service in
            try await Self.fill(service)
            let sealer = try Self.rotated()
            let before = try await values(service, sealer).uses()
            #expect(Set(before.map(\.column)) == Set(SealedColumn.allCases))
            #expect(before.allSatisfy { $0.keyID == "test" })
            let total = before.reduce(0) { $0 + $1.count }

            let rehearsal = try await values(service, sealer).reseal(batch: batch, dryRun: true)
            #expect(rehearsal.resealed == total && rehearsal.unreadable == [:])
            #expect(try await values(service, sealer).uses() == before, "a dry run changes nothing")

            let outcome = try await values(service, sealer).reseal(batch: batch)
            #expect(outcome.resealed == total && outcome.skipped == 0 && outcome.unreadable == [:])
            #expect(outcome.isFinished)
            let after = try await values(service, sealer).uses()
            #expect(after.allSatisfy { $0.keyID == "next" } && after.reduce(0) { $0 + $1.count } == total)

            let retired = try Self.retired()
            let plaintexts = try await plaintexts(service, retired)
            for column in SealedColumn.allCases {
                #expect(plaintexts[column]?.contains(column.rawValue) == true, "\(column.rawValue)")
            }
            let contexts = Self.contexts
            #expect(Set(contexts.keys) == Set(SealedColumn.allCases))
            let again = try await values(service, retired).reseal(batch: batch)
            #expect(again == SealedValues.Outcome(), "nothing is left")
            // A server without the old key signs with the same signing keys.
            let keys = SigningKeys(
                store: service.operations.store,
                sealer: retired,
                effects: service.operations.effects,
                algorithm: .es256,
                projectID: TestService.projectID
            )
            _ = try await keys.load(.sessionCookie)
        }
    }

    /// The plaintext of the message `number`, as the server wrote it last.
    private func messages(_ service: TestService, _ sealer: Sealer) async throws -> [String] {
        let rows = try await service.operations.store
            .sealedRows(.message, after: nil, rowsMax: 1000, unlessPrefixed: [0])
        return try rows.compactMap { row in
            try row.sealed.map { sealed in
                let context = try #require(row.context(in: .message))
                return String(decoding: try sealer.open(sealed, context: context), as: UTF8.self)
            }
        }
    }

    private static func id(_ number: Int) -> PostgresUUID { PostgresUUID(high: 7, low: UInt64(number)) }

    private func sealedMessage(_ text: String, _ number: Int, _ sealer: Sealer) throws -> String {
        let context = SealingContext.message(tenant: "", id: Self.id(number))
        return #"'\x\#(Hexadecimal.encode(try sealer.seal(Array(text.utf8), context: context)))'"#
    }

    private func addMessages(_ count: Int, _ service: TestService) async throws {
        for number in 0..<count {
            try await service.database.execute(
                """
                INSERT INTO outbox (message_id, kind, sealed_payload, created_at, expires_at, next_attempt_at) VALUES
                    ('\(Self.id(number).text)', 'mail', \(try sealedMessage("old \(number)", number, service.operations.sealer)),
                    now(), now() + interval '1 day', now())
                """
            )
        }
    }

    @Test func `two runs and a server that writes lose no value, and the server's value stays`() async throws {
        try await TestService.with { service in
            let count = 120
            try await addMessages(count, service)
            let sealer = try Self.rotated()
            try await withThrowingTaskGroup { group in
                for batch in [7, 11] {
                    group.addTask {
                        while !Task.isCancelled {
                            let outcome = try await values(service, sealer).reseal(batch: batch)
                            #expect(outcome.unreadable == [:])
                            if try await values(service, sealer).uses().allSatisfy({ $0.keyID == "next" }) { return }
                        }
                    }
                }
                group.addTask {
                    // A server that still seals with the old key, and one that seals with the new key.
                    for number in 0..<count {
                        let writer = number.isMultiple(of: 2) ? service.operations.sealer : sealer
                        let sealed = try sealedMessage("new \(number)", number, writer)
                        try await service.database.execute(
                            """
                            UPDATE outbox SET sealed_payload = \(sealed), attempts = attempts + 1
                            WHERE message_id = '\(Self.id(number).text)'
                            """
                        )
                    }
                }
                try await group.waitForAll()
            }
            _ = try await values(service, sealer).reseal(batch: 500)
            let found = try await messages(service, try Self.retired())
            #expect(Set(found) == Set((0..<count).map { "new \($0)" }))
            #expect(try await service.database.count("SELECT count(*) FROM outbox WHERE attempts = 1") == Int64(count))
        }
    }

    @Test(.notOnCitus("Citus skips no locked rows"))
    func `a row that a transaction holds is skipped and counted, and the next run seals it`() async throws {
        try await TestService.with { service in
            try await addMessages(3, service)
            let sealer = try Self.rotated()
            let holder = try PostgresConnection(service.database.configuration)
            try holder.execute(
                script: "BEGIN; UPDATE outbox SET attempts = 1 WHERE message_id = '\(Self.id(1).text)'"
            )
            let outcome = try await values(service, sealer).reseal(batch: 500)
            #expect(outcome.skipped > 0 && outcome.isFinished)
            let left = try await values(service, sealer).uses().filter { $0.keyID == "test" }
            #expect(left == [SealedValues.Use(column: .message, keyID: "test", count: 1)])
            try holder.execute(script: "COMMIT")
            #expect(try await values(service, sealer).reseal(batch: 500).resealed == 1)
        }
    }

    @Test func `a run that was stopped continues where it ended`() async throws {
        try await TestService.with { service in
            try await addMessages(20, service)
            let sealer = try Self.rotated()
            let seen = SeenRows()
            let first = try await values(service, sealer).reseal(
                batch: 5,
                progress: { seen.set($0) },
                mustStop: { seen.count >= 10 }
            )
            #expect(!first.isFinished && first.resealed > 0)
            let second = try await values(service, sealer).reseal(batch: 5)
            #expect(second.isFinished)
            let total = try await values(service, sealer).uses().reduce(0) { $0 + $1.count }
            #expect(first.resealed + second.resealed == total, "no value was sealed twice")
        }
    }

    @Test func `values that no key opens are counted with the reason and stay`() async throws {
        try await TestService.with { service in
            try await addMessages(4, service)
            let lost = Sealer(sealingKey: try #require(Sealer.Key(id: "lost", bytes: Array(repeating: 1, count: 32))))
            let impostor = Sealer(
                sealingKey: try #require(Sealer.Key(id: "test", bytes: Array(repeating: 2, count: 32)))
            )
            let values = [
                try sealedMessage("lost", 0, lost), try sealedMessage("impostor", 1, impostor), "'x'",
            ]
            for (number, value) in values.enumerated() {
                try await service.database.execute(
                    "UPDATE outbox SET sealed_payload = \(value) WHERE message_id = '\(Self.id(number).text)'"
                )
            }
            let images: Query<String?> = "SELECT encode(sealed_payload, 'hex') FROM outbox ORDER BY message_id LIMIT 3"
            let before = try await service.database.rows(images)
            let outcome = try await self.values(service, try Self.rotated()).reseal(batch: 500)
            #expect(
                outcome.unreadable == [
                    .message: [.unknownKey("lost"): 1, .wrongKey("test"): 1, .malformed: 1]
                ]
            )
            #expect(outcome.unreadableCount == 3)
            #expect(try await service.database.rows(images) == before)
            let uses = try await self.values(service, try Self.rotated()).uses().filter { $0.column == .message }
            #expect(uses.map(\.keyID) == ["lost", "next", "test", nil])
        }
    }
}

/// The number that a run showed last.
private final class SeenRows: Sendable {
    private let value = Mutex(Int64(0))

    var count: Int64 { value.withLock { $0 } }

    func set(_ count: Int64) { value.withLock { $0 = count } }
}
