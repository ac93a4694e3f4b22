import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import Foundation
import Postgres
import Synchronization
import Testing

/// Audits of accounts in a real database: they find each defect, read one snapshot, and write nothing.
struct AuditTests {
    static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
    static let terms = AuditTerms(policy: LinkPolicy(), isEnabled: { _ in true }, now: now)

    /// Makes accounts `user-0001` and so on without defects, each with an address, a password and Google.
    static func fill(_ database: TestDatabase, count: Int) async throws {
        try await database.execute(
            """
            INSERT INTO users (user_id, session_epoch, email, email_proof, email_proven_at, valid_since, created_at)
                SELECT 'user-' || lpad(n::text, 4, '0'), 7, 'person' || n * 7919 || '@example.com', 'mailed-code',
                    to_timestamp(1799990000), to_timestamp(1799990000), to_timestamp(1799990000)
                FROM generate_series(1, \(count)) AS n;
            INSERT INTO identifiers (kind, value, user_id) SELECT 'email', email, user_id FROM users;
            INSERT INTO password_credentials (user_id, hash, updated_at)
                SELECT user_id, '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA', to_timestamp(1799990000) FROM users;
            INSERT INTO linked_providers (user_id, provider_id, subject, email, email_key, linked_at, updated_at)
                SELECT user_id, 'google.com', 's-' || user_id, email, email, to_timestamp(1799990000), now() FROM users;
            INSERT INTO identifiers (kind, value, user_id)
                SELECT 'federated', 'google.com' || E'\\x1F' || subject, user_id FROM linked_providers;
            INSERT INTO sign_in_methods (user_id, method, proof, proven_at)
                SELECT user_id, method, 'session', to_timestamp(1799990000)
                FROM users, unnest(ARRAY['password', 'google.com']) AS method
            """
        )
    }

    /// One defect for each account, with the rule that finds it.
    static let damages: [(rule: String, user: String, script: String)] = [
        (
            "record-without-user", "ghost-1",
            """
            ALTER TABLE sessions DROP CONSTRAINT sessions_tenant_id_user_id_fkey;
            INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider)
                VALUES ('ghost-1', decode(repeat('00', 16), 'hex'), decode(repeat('00', 32), 'hex'), 1, now(), 'password')
            """
        ),
        (
            "method-without-credential", "user-0002",
            "DELETE FROM sign_in_methods WHERE user_id = 'user-0002' AND method = 'password'"
        ),
        (
            "identifier-without-claim", "user-0003",
            "DELETE FROM identifiers WHERE user_id = 'user-0003' AND kind = 'email'"
        ),
        (
            "identifier-without-claim", "user-0004",
            "UPDATE identifiers SET user_id = 'user-0005' WHERE user_id = 'user-0004' AND kind = 'federated'"
        ),
        ("claim-without-owner", "user-0005", ""),
        (
            "claim-without-owner", "ghost-2",
            "INSERT INTO identifiers (kind, value, user_id) VALUES ('phone', '+15550001111', 'ghost-2')"
        ),
        (
            "unreadable-value", "user-0006",
            "UPDATE users SET email_proof = 'a friend' WHERE user_id = 'user-0006'"
        ),
        (
            "second-factor-on-unproven-address", "user-0007",
            """
            UPDATE users SET email_proof = NULL, email_proven_at = NULL WHERE user_id = 'user-0007';
            INSERT INTO second_factors (user_id, enrollment_id, slot, number, enrolled_at)
                VALUES ('user-0007', 'f', 1, '+15550002222', now())
            """
        ),
        ("unproven-address-with-providers", "user-0007", ""),
        (
            "shared-number", "user-0007",
            """
            UPDATE users SET phone_number = '+15550002222' WHERE user_id = 'user-0900';
            INSERT INTO identifiers (kind, value, user_id) VALUES ('phone', '+15550002222', 'user-0900');
            INSERT INTO sign_in_methods (user_id, method, proof, proven_at) VALUES ('user-0900', 'phone', 'message', now())
            """
        ),
        (
            "disabled-with-live-sessions", "user-0008",
            """
            UPDATE users SET disabled = true WHERE user_id = 'user-0008';
            INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider)
                VALUES ('user-0008', decode(repeat('01', 16), 'hex'), decode(repeat('00', 32), 'hex'), 7, now(), 'password')
            """
        ),
        (
            "same-address-in-several-accounts", "user-0009",
            """
            UPDATE linked_providers SET email = 'person' || 800 * 7919 || '@example.com' WHERE user_id = 'user-0009'
            """
        ),
        ("provider-address-differs", "user-0009", ""),
        (
            "look-alike-addresses", "user-0010",
            """
            UPDATE users SET email = 'pers0n' || 700 * 7919 || '@example.com' WHERE user_id = 'user-0010';
            DELETE FROM identifiers WHERE user_id = 'user-0010' AND kind = 'email';
            INSERT INTO identifiers (kind, value, user_id)
                VALUES ('email', 'pers0n' || 700 * 7919 || '@example.com', 'user-0010');
            UPDATE linked_providers SET email = NULL, email_key = NULL WHERE user_id = 'user-0010'
            """
        ),
        (
            "weak-password-hash", "user-0011",
            "UPDATE password_credentials SET hash = '$2b$10$abc' WHERE user_id = 'user-0011'"
        ),
        (
            "stale-email-change", "user-0012",
            """
            INSERT INTO one_time_codes (code_hash, kind, user_id, session_epoch, email, email_key, new_email, created_at,
                    expires_at)
                VALUES (decode(repeat('02', 32), 'hex'), 'VERIFY_AND_CHANGE_EMAIL', 'user-0012', 7, 'a@b.cd', 'a@b.cd',
                    'e@b.cd', to_timestamp(1799000000), to_timestamp(1799990000))
            """
        ),
        (
            "recycled-address", "user-0013",
            """
            INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests,
                    sealed_credential, opened_at, expires_at, closed_at)
                VALUES ('user-0013', decode(repeat('03', 16), 'hex'), 'declined',
                    'account-exists-with-different-credential', 'google.com', decode(repeat('04', 32), 'hex'), '{}', '',
                    to_timestamp(1799990000), to_timestamp(1799999000), now())
            """
        ),
    ]

    @Test func `healthy accounts have no finding, and each defect is found once`() async throws {
        try await TestDatabase.with { database in
            try await Self.fill(database, count: 1000)
            #expect(try await database.findings(Self.terms) == [])
            for damage in Self.damages where !damage.script.isEmpty { try await database.execute(damage.script) }
            let found = try await database.findings(Self.terms)
            let expected = Self.damages.map { "\($0.rule) \($0.user)" }
            #expect(found.map { "\($0.rule) \($0.user.rawValue)" }.sorted() == expected.sorted())
        }
    }

    @Test func `a linked conflict is no sign of a recycled address, but another conflict of the account is`()
        async throws
    {
        try await TestDatabase.with { database in
            try await Self.fill(database, count: 20)
            // The address of user-0005 was proven between a declined and a resolved conflict.
            try await database.execute(
                "UPDATE users SET email_proven_at = to_timestamp(1799990002) WHERE user_id = 'user-0005'"
            )
            let conflicts = [
                ("user-0003", 5, "resolved", 0), ("user-0004", 6, "resolved", 0), ("user-0004", 7, "open", 0),
                ("user-0005", 8, "declined", 1), ("user-0005", 9, "resolved", 3),
            ]
            for (user, id, state, seconds) in conflicts {
                try await database.execute(
                    """
                    INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests,
                            sealed_credential, opened_at, expires_at, closed_at)
                        VALUES ('\(user)', decode(repeat('0\(id)', 16), 'hex'), '\(state)',
                            'account-exists-with-different-credential', 'google.com',
                            decode(repeat('0\(id)', 32), 'hex'), '{}', '', to_timestamp(1799990000 + \(seconds)),
                            to_timestamp(1799999000), \(state == "open" ? "NULL" : "now()"))
                    """
                )
            }
            let found = try await database.findings(Self.terms)
            #expect(found.map { "\($0.rule) \($0.user.rawValue)" } == ["recycled-address user-0004"])
        }
    }

    @Test func `findings have the same order for every storage order of rows`() async throws {
        try await TestDatabase.with { database in
            try await Self.fill(database, count: 1000)
            for damage in Self.damages where !damage.script.isEmpty { try await database.execute(damage.script) }
            let plain = try await database.findings(Self.terms)
            // An update moves a row to the end of its table.
            for table in ["users", "linked_providers", "sign_in_methods", "identifiers"] {
                try await database.execute("UPDATE \(table) SET tenant_id = tenant_id WHERE hashtext(user_id) % 2 = 0")
            }
            #expect(try await database.findings(Self.terms) == plain)
        }
    }

    /// Stops a run, as a lost connection would.
    private struct Stopped: Error {}

    @Test func `a run that stops anywhere continues from there and reports every finding once`() async throws {
        try await TestDatabase.with { database in
            try await Self.fill(database, count: 300)
            for damage in Self.damages where !damage.script.isEmpty && !damage.script.contains("user-0900") {
                try await database.execute(damage.script)
            }
            let snapshots = AccountSnapshots(database.configuration, temporaryFolder: "/tmp")
            let audit = Audit(snapshots, rules: AuditRule.all, terms: Self.terms, reportInterval: 4)
            let whole = try await database.findings(Self.terms)
            for stopAfter in [1, 9, 10, 11, 12, 30, 50] {
                let reported = Mutex<[Finding]>([])
                let place = Mutex<AccountSnapshots.Place?>(nil)
                let reports = Mutex(0)
                await #expect(throws: Stopped.self) {
                    _ = try await audit.run(
                        .all,
                        tenant: nil,
                        onFinding: { finding in reported.withLock { $0.append(finding) } },
                        report: { progress in
                            place.withLock { $0 = progress.place }
                            let count = reports.withLock { count in
                                count += 1
                                return count
                            }
                            if count == stopAfter { throw Stopped() }
                        }
                    )
                }
                let start = place.withLock { $0 }
                _ = try await audit.run(
                    .all,
                    tenant: nil,
                    after: start,
                    onFinding: { finding in reported.withLock { $0.append(finding) } },
                    report: { _ in }
                )
                #expect(reported.withLock { $0 }.map(\.line) == whole.map(\.line), "stopped after \(stopAfter) reports")
            }
        }
    }

    @Test func `an audit can be limited to named accounts or to recently changed ones`() async throws {
        try await TestDatabase.with { database in
            try await Self.fill(database, count: 50)
            for damage in Self.damages where !damage.script.isEmpty && !damage.script.contains("user-0900") {
                try await database.execute(damage.script)
            }
            let users = ["user-0003", "user-0008", "user-0020", "nobody"].compactMap(UserID.init)
            let chosen = try await database.findings(Self.terms, .users(users))
            #expect(chosen.map(\.rule) == ["identifier-without-claim", "disabled-with-live-sessions"])
            try await database.execute(
                """
                UPDATE users SET last_login_at = to_timestamp(1799999000) WHERE user_id = 'user-0003';
                INSERT INTO account_events (user_id, event_id, occurred_at, kind, rule)
                    VALUES ('user-0011', gen_random_uuid(), to_timestamp(1799999001), 'signed-in', 'S6'),
                        ('user-0008', gen_random_uuid(), to_timestamp(1799998000), 'signed-in', 'S6')
                """
            )
            let since = Timestamp(secondsSinceEpoch: 1_799_999_000)
            let recent = try await database.findings(Self.terms, .changed(since: since))
            #expect(recent.map(\.rule) == ["identifier-without-claim", "weak-password-hash"])
        }
    }

    @Test(.notOnCitus("an audit of Citus has no single instant"))
    func `a run does not see changes made while it runs`() async throws {
        try await TestDatabase.with { database in
            try await Self.fill(database, count: 200)
            let reported = Mutex<[Finding]>([])
            let hasChanged = Mutex(false)
            let snapshots = AccountSnapshots(database.configuration, temporaryFolder: "/tmp")
            _ = try await Audit(snapshots, rules: AuditRule.all, terms: Self.terms, reportInterval: 1).run(
                .all,
                tenant: nil,
                onFinding: { finding in reported.withLock { $0.append(finding) } },
                report: { _ in
                    let isFirst = hasChanged.withLock { changed in
                        defer { changed = true }
                        return !changed
                    }
                    if isFirst {
                        let connection = try PostgresConnection(database.configuration)
                        try connection.execute(script: "DELETE FROM identifiers; UPDATE users SET disabled = true")
                    }
                }
            )
            #expect(reported.withLock { $0 } == [])
            #expect(try await !database.findings(Self.terms).isEmpty, "the next run sees it")
        }
    }

    @Test func `on Citus, a finding about an account that has changed since it was read is checked again`() async throws
    {
        try await TestDatabase.with { database in
            try await Self.fill(database, count: 4)
            try await database.execute(
                "DELETE FROM sign_in_methods WHERE method = 'password' AND user_id <> 'user-0001'"
            )
            let reported = Mutex<[String]>([])
            var snapshots = AccountSnapshots(database.configuration, temporaryFolder: "/tmp")
            snapshots.readsAsOnCitus = true
            let result = try await Audit(snapshots, rules: AuditRule.all, terms: Self.terms).run(
                .all,
                tenant: nil,
                onFinding: { finding in
                    let isFirst = reported.withLock { reported in
                        reported.append("\(finding.rule) \(finding.user.rawValue)")
                        return reported.count == 1
                    }
                    guard isFirst else { return }
                    // All accounts have been read by now. One gets its method back; the other only changes.
                    let connection = try PostgresConnection(database.configuration)
                    try connection.execute(
                        script: """
                            INSERT INTO sign_in_methods (user_id, method, proof, proven_at)
                                VALUES ('user-0003', 'password', 'session', to_timestamp(1799990000));
                            UPDATE users SET version = version + 1 WHERE user_id IN ('user-0003', 'user-0004');
                            """
                    )
                },
                report: { _ in }
            )
            let expected = ["method-without-credential user-0002", "method-without-credential user-0004"]
            #expect(reported.withLock { $0 } == expected)
            #expect(result.findings == ["method-without-credential": 2])
            #expect(result.accounts == 4)
        }
    }

    @Test func `an audit writes nothing, not even to the database's log`() async throws {
        try await TestDatabase.withServerOfItsOwn { database in
            try await Self.fill(database, count: 500)
            let written = try await database.walWritten { () async throws in
                #expect(try await database.findings(Self.terms) == [])
            }
            #expect(written == 0)
        }
    }

    @Test func `every claim without an owner is found, however many there are`() async throws {
        try await TestDatabase.with { database in
            try await database.execute(
                """
                INSERT INTO identifiers (kind, value, user_id)
                    SELECT kind, 'key-' || n, 'ghost-' || n / 3
                    FROM generate_series(1, 50) AS n, unnest(ARRAY['email', 'phone', 'federated']) AS kind
                """
            )
            let found = try await database.findings(Self.terms)
            #expect(found.count == 150 && found.allSatisfy { $0.rule == "claim-without-owner" })
            #expect(Set(found.map(\.evidence)).count == 150)
        }
    }

    @Test func `a newly hashed password is not weak`() async throws {
        let hasher = try PasswordHasher(threadCount: 1, queueMax: 1, randomBytes: Effects.system.randomBytes)
        let hash = try await hasher.hash("correct horse", for: .administrator)
        await hasher.shutDown()
        #expect(hash.hasPrefix(AuditRule.currentPasswordScheme) && !hasher.isOutdated(hash))
    }

    @Test func `accounts with missing claims are found in order, with the owner of each claim`()
        async throws
    {
        try await TestDatabase.with { database in
            try await Self.fill(database, count: 900)
            // Every third account has no claims. Another account has some of them.
            try await database.execute(
                """
                DELETE FROM identifiers WHERE substr(user_id, 6)::int % 3 = 0;
                INSERT INTO identifiers (kind, value, user_id)
                    SELECT 'email', email, 'user-0001' FROM users WHERE substr(user_id, 6)::int % 9 = 0
                """
            )
            let found = try await database.findings(
                of: AuditRule.all.filter { $0.id == "identifier-without-claim" },
                Self.terms
            )
            let users = (1...900).filter { $0 % 3 == 0 }.map { "user-\(String(10_000 + $0).dropFirst())" }
            #expect(found.map(\.user.rawValue) == users.flatMap { [$0, $0] })
            for finding in found where finding.evidence.others != [] {
                #expect(finding.evidence.others.map(\.rawValue) == ["user-0001"])
            }
            #expect(found.count { $0.evidence.others != [] } == 100)
        }
    }

    @Test func `tenants are separated, in shared tables and in tables that only one uses`() async throws {
        try await TestDatabase.with { database in
            try await Self.fill(database, count: 50)
            // The same ids and addresses in another tenant, and sessions, which only that tenant has.
            for (table, columns) in [
                ("users", "user_id, session_epoch, email, email_proof, email_proven_at, valid_since, created_at"),
                ("identifiers", "kind, value, user_id"), ("password_credentials", "user_id, hash, updated_at"),
                ("linked_providers", "user_id, provider_id, subject, email, email_key, linked_at, updated_at"),
                ("sign_in_methods", "user_id, method, proof, proven_at"),
            ] {
                try await database.execute(
                    "INSERT INTO \(table) (tenant_id, \(columns)) SELECT 'other', \(columns) FROM \(table)"
                )
            }
            try await database.execute(
                """
                INSERT INTO sessions (tenant_id, user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider)
                    SELECT 'other', user_id, decode(repeat('00', 16), 'hex'), decode(repeat('00', 32), 'hex'), session_epoch,
                        now(), 'password' FROM users WHERE tenant_id = '';
                UPDATE users SET disabled = true WHERE user_id IN ('user-0003', 'user-0004')
                """
            )
            let found = try await database.findings(Self.terms)
            let disabled = found.filter { $0.rule == "disabled-with-live-sessions" }
            #expect(
                disabled.map { [$0.tenant.rawValue, $0.user.rawValue] } == [
                    ["other", "user-0003"], ["other", "user-0004"],
                ]
            )
            #expect(found.count == disabled.count)
        }
    }

    @Test func `rare account attributes and rare proofs are read as stored`() async throws {
        try await TestDatabase.with { database in
            try await Self.fill(database, count: 16)
            let proofs = UserRecord.Proof.allCases.map(\.rawValue).joined(separator: ",")
            try await database.execute(
                """
                UPDATE users SET disabled = substr(user_id, 6)::int & 2 > 0,
                    initial_email = CASE WHEN substr(user_id, 6)::int & 1 > 0 THEN 'first@example.com' END,
                    uses_custom_tokens = substr(user_id, 6)::int & 4 > 0;
                UPDATE sign_in_methods SET proof = split_part('\(proofs)', ',', substr(user_id, 6)::int)
                    WHERE method = 'password' AND substr(user_id, 6)::int <= \(UserRecord.Proof.allCases.count);
                UPDATE sign_in_methods SET proof = 'hearsay' WHERE user_id = 'user-0015' AND method = 'password';
                INSERT INTO identifiers (kind, value, user_id)
                    VALUES ('federated', E'google.com\\x1Fof-nobody', 'user-0016'), ('phone', '+15550001111', 'user-0016')
                """
            )
            let snapshots = AccountSnapshots(database.configuration, temporaryFolder: "/tmp")
            let numbered = Dictionary(
                uniqueKeysWithValues: try (1...16).map { number in
                    (number, try #require(UserID("user-" + String(10_000 + number).dropFirst())))
                }
            )
            for selection in [AccountSnapshots.Selection.all, .users(Array(numbered.values))] {
                let read = try await snapshots.read(selection, tenant: nil, at: Self.now) { accounts in
                    var read: [AccountSnapshot] = []
                    while let account = try accounts.next() { read.append(account) }
                    return read
                }
                let accounts = Dictionary(uniqueKeysWithValues: read.map { ($0.id, $0) })
                #expect(accounts.count == 16)
                for (number, id) in numbered {
                    let snapshot = try #require(accounts[id])
                    let account = try #require(snapshot.account)
                    #expect(account.hasInitialEmail == (number & 1 > 0), "\(id)")
                    #expect(account.isDisabled == (number & 2 > 0), "\(id)")
                    #expect(account.usesCustomTokens == (number & 4 > 0), "\(id)")
                    let proof = UserRecord.Proof.allCases.dropFirst(number - 1).first ?? .session
                    #expect(snapshot.methodProofs[.password]?.proof == (number == 15 ? nil : proof), "\(id)")
                    #expect(snapshot.unreadable == (number == 15 ? ["sign_in_methods.proof"] : []), "\(id)")
                }
                #expect(
                    accounts.values.flatMap(\.orphanedIdentifiers) == [
                        .init(kind: "federated", value: "google.com\u{1F}of-nobody"),
                        .init(kind: "phone", value: "+15550001111"),
                    ]
                )
            }
        }
    }

    @Test func `many accounts with shared traits are grouped`() async throws {
        try await TestDatabase.with { database in
            try await Self.fill(database, count: 4000)
            try await database.execute(
                """
                UPDATE users SET unproven_phone_number = '+1555' || lpad((substr(user_id, 6)::int % 2000)::text, 7, '0')
                """
            )
            let found = try await database.findings(
                of: AuditRule.all.filter { $0.id == "shared-number" },
                Self.terms
            )
            #expect(found.count == 2000)
            #expect(found.allSatisfy { $0.evidence.others.count == 1 })
            #expect(Set(found.map(\.user)).count == 2000)
        }
    }
}

extension Finding {
    fileprivate var line: String { "\(rule) \(user.rawValue)" }
}
