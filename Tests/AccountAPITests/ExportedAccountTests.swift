import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Synchronization
import Testing

@testable import AccountAPI

/// The account in an export file, compared with `accounts:batchGet`, which reads it in another way.
struct ExportedAccountTests {
    /// Accounts of every kind that tables allow, in an order that is not that of their ids, with ids of which one begins
    /// another.
    private static let accounts = """
        INSERT INTO users (user_id, session_epoch, email, email_proof, email_proven_at, initial_email, phone_number,
            unproven_phone_number, display_name, photo_url, screen_name, language, time_zone, date_of_birth, disabled,
            uses_custom_tokens, custom_attributes, valid_since, created_at, last_login_at, last_refresh_at)
        VALUES
            ('b', 1, 'Grüße.ÄÖ@Bücher.Example', 'mailed-code', now(), 'Old@Example.com', '+15550001111', '+15550002222',
             repeat('名', 256), repeat('u', 2048), '"\\', 'th', 'Asia/Bangkok', '', true, true, '{"a":"\\u00e9\\n"}',
             now(), '1969-12-31 23:59:59.9999+00', 'epoch', '2026-02-28 23:59:59.9995+00'),
            ('ab', 1, 'UPPER@Example.COM', 'provider:google.com', now(), NULL, NULL, NULL, '', '', '', '', '', '', false,
             false, '', now(), now(), NULL, '0900-01-01 00:00:00+00'),
            ('a', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, false, NULL, now(), now(),
             NULL, NULL),
            ('é', 1, 'link@example.com', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, false, NULL,
             now(), now(), NULL, NULL),
            (repeat('z', 128), 1, NULL, NULL, NULL, NULL, '+15550003333', NULL, NULL, NULL, NULL, NULL, NULL, NULL, false,
             false, NULL, now(), now(), NULL, NULL);
        INSERT INTO users (user_id, session_epoch, display_name, valid_since, created_at)
            SELECT 'many-' || n, n, 'Name ' || n, now(), now() FROM generate_series(1, 3000) AS n ORDER BY n % 7, n;
        INSERT INTO password_credentials (user_id, hash, updated_at) VALUES
            ('b', '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA', now()), ('é', 'é', now()), ('many-77', '', now());
        INSERT INTO linked_providers (user_id, provider_id, subject, email, email_key, display_name, photo_url, screen_name,
            linked_at, updated_at)
        VALUES
            ('b', 'oidc.one', repeat('é', 255), 'no address', NULL, '', 'p', 's', now(), now()),
            ('b', 'google.com', '1', 'Grüße.ÄÖ@Bücher.Example', NULL, 'G', NULL, NULL, now(), now()),
            ('b', 'apple.com', '2', '', NULL, NULL, NULL, NULL, now(), now()),
            ('ab', 'facebook.com', '3', 'other@Example.com', NULL, NULL, NULL, 'screen', now(), now()),
            ('ab', 'twitter.com', '4', 'UPPER@Example.COM', NULL, NULL, NULL, NULL, now(), now());
        INSERT INTO sign_in_methods (user_id, method, proof, proven_at) VALUES
            ('é', 'emailLink', 'message', now()), ('b', 'google.com', 'provider-credential', now()),
            ('b', 'password', 'session', now()), ('many-5', 'emailLink', 'message', now());
        INSERT INTO second_factors (user_id, enrollment_id, slot, number, sealed_secret, last_step, display_name, enrolled_at)
        VALUES ('b', 'second', 5, NULL, '\\x00', 0, 'App', now()), ('b', 'first', 2, '+15550004444', NULL, NULL, NULL, now());
        """

    /// Every account as a line of a file.
    private func exported(_ database: TestDatabase, withHashes: Bool) async throws -> [String] {
        let export = AccountExport(database.configuration, withHashes: withHashes)
        let lines = Mutex<[String]>([])
        try await export.read(.project) { account, hash in
            var writer = JSONWriter()
            ExportedAccount.everything(account, passwordHash: hash.map(ExportedAccount.passwordHash), to: &writer)
            lines.withLock { $0.append(writer.text) }
        }
        return lines.withLock { $0 }
    }

    @Test(.notOnCitus("the test deletes accounts without their rows"))
    func `an export shows each account's records, sorted by the bytes of the uid`() async throws {
        try await TestDatabase.with { database in
            try await database.execute(Self.accounts)
            let shown = try await database.withClient { client -> [String] in
                let page = try await AccountStore(client: client).accountPage(after: nil, limit: 9000, tenant: .project)
                return page.users.map { user in
                    var writer = JSONWriter()
                    let hash = page.passwordHashes[user.id].map { ExportedAccount.passwordHash($0) }
                    writer.user(user, passwordHash: hash ?? ExportedAccount.redacted, showsNumbers: true)
                    return writer.text
                }
            }
            #expect(shown.count == 3005)
            #expect(try await exported(database, withHashes: true) == shown)
            let withoutHashes = try await exported(database, withHashes: false)
            #expect(withoutHashes.filter { $0.contains("\"passwordHash\":\"UkVEQUNURUQ=\"") }.count == 3)
            // Rows without a user id belong to no user.
            try await database.execute(
                """
                SET session_replication_role = replica;
                DELETE FROM users WHERE user_id IN ('a', 'ab', 'many-77')
                """
            )
            #expect(try await exported(database, withHashes: true).count == 3002)
        }
    }

    @Test(
        .notOnCitus("the test changes the column that names the shard"),
        arguments: [
            ("users.email", "UPDATE users SET email = 'nowhere at all' WHERE user_id = 'ab'"),
            ("users.email_proof", "UPDATE users SET email_proof = 'a friend' WHERE user_id = 'ab'"),
            ("users.user_id", "UPDATE users SET user_id = E'\\n' WHERE user_id = 'many-9'"),
            ("linked_providers.subject", "UPDATE linked_providers SET subject = E'\\t' WHERE user_id = 'ab'"),
            ("second_factors.enrollment_id", "UPDATE second_factors SET enrollment_id = E'\\t' WHERE slot = 2"),
        ]
    )
    func `a value that cannot be read ends an export with an error that names its place`(
        column: String,
        change: String
    ) async throws {
        try await TestDatabase.with { database in
            try await database.execute(Self.accounts)
            try await database.execute(change)
            let failure = await #expect(throws: PostgresError.self) { () async throws in
                _ = try await exported(database, withHashes: true)
            }
            #expect(failure.map { "\($0)".contains(column) } == true, "\(String(describing: failure))")
        }
    }

    @Test func `an empty database has no accounts`() async throws {
        try await TestDatabase.with { database async throws in
            #expect(try await exported(database, withHashes: true) == [])
        }
    }
}
