import AccountLinking
import AccountTestSupport
import Postgres
import Testing

@testable import AccountStore

/// Accounts put together from tables that PostgreSQL sorts.
struct AccountMergeTests {
    /// A table of one text, of which a record gets all.
    private static func table(_ name: StaticString, _ columns: SQL = "label") -> AccountTable<[String]> {
        AccountTable(name, columns) { row, record throws(PostgresError) in
            record.append("\(name) \(try row.next() as String)")
        }
    }

    /// Ids whose order depends on the locale, that begin one another, or that differ only at their end.
    private static let ids = [
        "-", "10", "9", "A", "B", "a", "a b", "a-b", "aa", "ab", "ä", "z", "É", "é", "日本", "\u{10FFFF}",
        "same-12345678", "same-12345678-", "same-12345678-1", "same-12345678-2", String(repeating: "x", count: 128),
    ]

    private static let makeTables = """
        CREATE TABLE one (tenant_id text COLLATE "C", user_id text COLLATE "C", label text);
        CREATE TABLE two (LIKE one);
        CREATE TABLE three (LIKE one);
        """

    private func records(
        _ database: TestDatabase,
        _ scope: AccountScope = AccountScope(tenant: .project),
        _ tables: [AccountTable<[String]>] = [table("one"), table("two"), table("three")]
    ) async throws -> [[String]] {
        try await SnapshotConnections.with(database.configuration, tables: tables.count) { connections in
            var merge = try AccountMerge(tables, scope, connections) {}
            defer { merge.cancel() }
            var records: [[String]] = []
            while let record = try merge.next({ $0 == "10" ? nil : [$0] }) { records.append(record) }
            return records
        }
    }

    @Test func `accounts come in the order of bytes, each with all its rows, table by table`() async throws {
        try await TestDatabase.with { database in
            try await database.execute(Self.makeTables)
            #expect(try await records(database).isEmpty)
            var rows: [(table: String, tenant: String, id: String, label: Int)] = []
            for number in 0..<2000 {
                let table = ["one", "two", "three"].randomElement() ?? "one"
                rows.append((table, number % 3 == 0 ? "other" : "", Self.ids.randomElement() ?? "", number))
            }
            for table in ["one", "two", "three"] {
                let values = rows.filter { $0.table == table }.map { "('\($0.tenant)', '\($0.id)', '\($0.label)')" }
                try await database.execute("INSERT INTO \(table) VALUES \(values.joined(separator: ", "))")
            }
            for tenant in ["", "other"] {
                let found = try await records(database, AccountScope(tenant: TenantID(tenant)))
                let own = Dictionary(grouping: rows.filter { $0.tenant == tenant && $0.id != "10" }, by: \.id)
                #expect(found.map { $0[0] } == own.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
                for record in found {
                    let expected = (own[record[0]] ?? []).map { "\($0.table) \($0.label)" }
                    #expect(record.dropFirst().sorted() == expected.sorted())
                    let tables = record.dropFirst().map { $0.prefix { $0 != " " } }
                    #expect(
                        tables
                            == tables.sorted {
                                ["one", "two", "three"].firstIndex(of: $0) ?? 0 < ["one", "two", "three"].firstIndex(
                                    of: $1
                                ) ?? 0
                            }
                    )
                }
                let rest = try await records(database, AccountScope(tenant: TenantID(tenant), after: "a b"))
                #expect(
                    rest.map { $0[0] } == found.map { $0[0] }.filter { "a b".utf8.lexicographicallyPrecedes($0.utf8) }
                )
            }
        }
    }

    @Test func `accounts that are read in ranges are the same, also from a table that is read at once`() async throws {
        let ids = Self.ids.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let tables = [
            Self.table("one"), Self.table("two"),
            AccountTable<[String]>("three", "label", hasUserIndex: false) { row, record throws(PostgresError) in
                record.append("three \(try row.next() as String)")
            },
        ]
        try await TestDatabase.with { database in
            try await database.execute(Self.makeTables)
            for number in 0..<500 {
                let table = ["one", "two", "three"].randomElement() ?? "one"
                try await database.execute(
                    "INSERT INTO \(table) VALUES ('', '\(ids.randomElement() ?? "")', '\(number)')"
                )
            }
            // Ranges without rows, with rows of one account, and with rows of one table.
            for cuts in [[], ["a"], ids, ["!", "a", "a0", "same-12345678-1", "\u{10FFFF}z"], ["~", "~~"]] {
                for scope in [AccountScope(tenant: .project), AccountScope(tenant: .project, after: "a b")] {
                    let cuts = cuts.filter { (scope.after ?? "").utf8.lexicographicallyPrecedes($0.utf8) }
                    let whole = try await records(database, scope, tables)
                    let inRanges = try await SnapshotConnections.with(database.configuration, tables: 3) {
                        connections in
                        var merge = try AccountMerge(tables, scope, connections, cutAt: cuts) {}
                        defer { merge.cancel() }
                        var records: [[String]] = []
                        while let record = try merge.next({ $0 == "10" ? nil : [$0] }) { records.append(record) }
                        return records
                    }
                    #expect(inRanges.map { $0.sorted() } == whole.map { $0.sorted() }, "\(cuts)")
                }
            }
        }
    }

    @Test func `the places that cut all accounts into ranges are ids of accounts, in order`() async throws {
        try await TestDatabase.with { database in
            try await database.execute(
                """
                INSERT INTO users (user_id, version, session_epoch, valid_since, created_at)
                SELECT 'user-' || n, 1, 1, now(), now() FROM generate_series(1, 200000) AS n
                """
            )
            let cuts = try await SnapshotConnections.with(database.configuration, tables: 0) { connections in
                try connections.cuts(AccountScope(tenant: .project), {})
            }
            #expect(cuts.count > 3 && cuts.count < 50)
            #expect(cuts == cuts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
            #expect(cuts.allSatisfy { $0.hasPrefix("user-") })
        }
    }

    @Test func `rows in another order than that of bytes are an error`() async throws {
        try await TestDatabase.with { database in
            try await database.execute(
                """
                CREATE COLLATION numeric_order (provider = icu, locale = 'en-u-kn-true');
                CREATE TABLE one (tenant_id text, user_id text COLLATE numeric_order, label text);
                INSERT INTO one VALUES ('', '9', 'x'), ('', '10', 'x'), ('', '11', 'x');
                """
            )
            let failure = await #expect(throws: PostgresError.self) {
                _ = try await records(database, AccountScope(tenant: .project), [Self.table("one")])
            }
            #expect(failure.map { "\($0)".contains("rows of one") } == true)
        }
    }

    @Test func `a query that fails ends the run, before its first row and after it`() async throws {
        try await TestDatabase.with { database in
            try await database.execute(Self.makeTables)
            try await database.execute("INSERT INTO one SELECT '', n::text, n FROM generate_series(1, 5000) AS n")
            for columns: SQL in ["nonsense", "(1 / (4999 - label::int))::text"] {
                let failure = await #expect(throws: PostgresError.self) {
                    _ = try await records(database, AccountScope(tenant: .project), [Self.table("one", columns)])
                }
                #expect(failure?.sqlState != nil)
            }
        }
    }

    @Test func `a run that stops leaves no query behind`() async throws {
        struct Enough: Error {}
        try await TestDatabase.with { database in
            try await database.execute(Self.makeTables)
            try await database.execute("INSERT INTO one SELECT '', n::text, n FROM generate_series(1, 100000) AS n")
            var configuration = database.configuration
            configuration.applicationName = "stopped"
            // While rows come, and while PostgreSQL has none.
            for columns: SQL in ["label", "pg_sleep(60)::text"] {
                await #expect(throws: Enough.self) {
                    try await SnapshotConnections.with(configuration, tables: 1) { connections in
                        var merge = try AccountMerge(
                            [Self.table("one", columns)],
                            AccountScope(tenant: .project),
                            connections
                        ) {
                            throw Enough()
                        }
                        defer { merge.cancel() }
                        _ = try merge.next { [$0] }
                        throw Enough()
                    }
                }
            }
            let left: Query<Int64?> = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'stopped'"
            let end = ContinuousClock.now + .seconds(20)
            while try await database.rows(left).first != 0, .now < end { try await Task.sleep(for: .milliseconds(20)) }
            #expect(try await database.rows(left).first == 0)
        }
    }
}

/// Accounts as audits read them.
struct AuditTablesTests {
    /// Rows of every table that constraints would not allow: of accounts that do not exist, and with values that Concord does
    /// not write.
    private static let rows = """
        ALTER TABLE linked_providers DROP CONSTRAINT linked_providers_tenant_id_user_id_fkey;
        ALTER TABLE password_credentials DROP CONSTRAINT password_credentials_tenant_id_user_id_fkey;
        ALTER TABLE conflicts DROP CONSTRAINT IF EXISTS conflicts_kind_check;
        INSERT INTO users (user_id, version, session_epoch, email, email_proof, email_proven_at, phone_number, valid_since,
            created_at)
        SELECT user_id, version, epoch, email, proof, CASE WHEN proof IS NOT NULL THEN to_timestamp(0) END, phone,
            to_timestamp(0), to_timestamp(0)
        FROM (VALUES
            ('b', 3, 7, 'Ann@example.com', 'mailed-code', '+15550001111'), ('a', 1, 1, NULL, NULL, NULL),
            ('é', 1, 1, 'no address', 'mailed-code', NULL), ('c', 1, 1, 'c@example.com', 'a friend', NULL),
            (E'\\n', 1, 1, NULL, NULL, NULL)
        ) AS u (user_id, version, epoch, email, proof, phone);
        INSERT INTO linked_providers (user_id, provider_id, subject, issuer, email, linked_at, updated_at) VALUES
            ('b', 'google.com', 'g', NULL, 'Ann@example.com', to_timestamp(9), now()),
            ('b', 'facebook.com', 'f', 'i', 'what?', to_timestamp(9), now()),
            ('c', 'no provider', 's', NULL, NULL, to_timestamp(9), now()),
            ('c', 'google.com', E'\\t', NULL, NULL, to_timestamp(9), now()),
            ('nobody', 'google.com', 'n', NULL, '', to_timestamp(9), now());
        INSERT INTO password_credentials (user_id, hash, updated_at) VALUES
            ('b', '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA', to_timestamp(4)), ('c', '$2b$10$abc', to_timestamp(4)),
            ('ghost', '', to_timestamp(4));
        INSERT INTO identifiers (kind, value, user_id) VALUES
            ('email', 'ann@example.com', 'b'), ('federated', E'google.com\\x1Fg', 'b'), ('phone', '+15550001111', 'b'),
            ('federated', E'facebook.com\\x1Fother', 'b'), ('email', 'old@example.com', 'a'),
            ('email', 'c@example.com', 'c'), ('federated', E'facebook.com\\x1Ff', 'c');
        INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider)
        SELECT user_id, decode(lpad(n::text, 32, '0'), 'hex'), decode(repeat('00', 32), 'hex'), epoch, to_timestamp(at),
            'password'
        FROM (VALUES (1, 'b', 7, 1), (2, 'a', 1, 5), (3, 'b', 7, 3), (4, 'b', 6, 2)) AS s (n, user_id, epoch, at);
        """

    private func accounts(
        _ database: TestDatabase,
        _ selection: AccountSnapshots.Selection = .all,
        _ extent: AccountSnapshots.Extent = .everything
    ) async throws -> [AccountSnapshot] {
        try await AccountSnapshots(database.configuration, temporaryFolder: "/tmp").read(
            selection,
            tenant: nil,
            extent: extent,
            at: Timestamp(secondsSinceEpoch: 0)
        ) { reader in
            var accounts: [AccountSnapshot] = []
            while let account = try reader.next() { accounts.append(account) }
            return accounts
        }
    }

    @Test func `unreadable rows and rows without an account become accounts too`() async throws {
        try await TestDatabase.with { database in
            try await database.execute(Self.rows)
            let accounts = try await accounts(database)
            #expect(accounts.map(\.id.rawValue) == ["a", "b", "c", "ghost", "nobody", "é"])
            let (bare, ann, ill, nobody, other) = (accounts[0], accounts[1], accounts[2], accounts[4], accounts[5])
            #expect(ann.passwordScheme?.hasPrefix(AuditRule.currentPasswordScheme) == true)
            #expect(
                ill.passwordScheme == "$2b$10$abc" && accounts[3].passwordScheme == "" && bare.passwordScheme == nil
            )
            #expect(ann.account?.hasPassword == true && accounts[3].account == nil)
            #expect(ann.account?.email?.address.canonical == "ann@example.com")
            #expect(ann.account?.linkedProviders == [.google: "g", .facebook: "f"])
            #expect(ann.linkedProviders.map(\.identity.provider) == [.facebook, .google])
            #expect(ann.linkedProviders.map { $0.email?.raw } == [nil, "Ann@example.com"])
            #expect(ann.linkedProviders.map(\.issuer) == ["i", nil])
            #expect(ann.sessions.map(\.epoch) == [6, 7] && ann.sessions.map(\.count) == [1, 2])
            #expect(ann.sessions[1].lastAuthTime == Timestamp(secondsSinceEpoch: 3))
            #expect(ann.orphanedIdentifiers == [.init(kind: "federated", value: "facebook.com\u{1F}other")])
            #expect(ann.unclaimed.map(\.owner?.rawValue) == ["c"] && ann.unreadable == [])
            #expect(bare.account?.email == nil && bare.orphanedIdentifiers.map(\.value) == ["old@example.com"])
            #expect(
                ill.unreadable == [
                    "linked_providers.provider_id", "linked_providers.subject", "users.email_proof",
                ]
            )
            #expect(ill.account?.email?.address.raw == "c@example.com")
            #expect(nobody.account == nil && nobody.linkedProviders.count == 1)
            #expect(other.unreadable == ["users.email"] && other.account?.version == 1)
        }
    }

    @Test func `some accounts are read as all are, without their claims as well`() async throws {
        try await TestDatabase.with { database in
            try await database.execute(Self.rows)
            let all = try await accounts(database)
            let users = ["é", "ghost", "b", "not there"].compactMap(UserID.init)
            let some = try await accounts(database, .users(users))
            #expect(some.map(\.id.rawValue) == ["b", "ghost", "é"])
            #expect("\(some)" == "\([all[1], all[3], all[5]])")
            #expect(try await accounts(database, .users([])).isEmpty)
            let withoutClaims = try await accounts(database, .users(users), .withoutClaims)
            #expect(withoutClaims.map { $0.unclaimed.map(\.owner?.rawValue) } == [["c"], [], []])
            #expect(withoutClaims.allSatisfy { $0.orphanedIdentifiers.isEmpty })
            let judged = try await accounts(database, .all, .judged)
            #expect(judged.map(\.id.rawValue) == ["a", "b", "c", "ghost", "nobody", "é"])
            #expect(judged.allSatisfy { $0.sessions.isEmpty && $0.unclaimed.isEmpty && $0.orphanedIdentifiers.isEmpty })
        }
    }

    @Test func `on Citus the same accounts are read, and one that changed meanwhile is read again`() async throws {
        try await TestDatabase.with { database in
            try await database.execute(Self.rows)
            let expected = try await accounts(database)
            var snapshots = AccountSnapshots(database.configuration, temporaryFolder: "/tmp")
            snapshots.readsAsOnCitus = true
            let now = Timestamp(secondsSinceEpoch: 0)
            let (found, newer) = try await snapshots.read(.all, tenant: nil, at: now) { reader in
                let connection = try PostgresConnection(database.configuration)
                var found: [AccountSnapshot] = []
                var newer: [AccountSnapshot] = []
                while let account = try reader.next() {
                    found.append(account)
                    #expect(try reader.newerState(of: account) == nil, "\(account.id)")
                    guard account.account != nil else { continue }
                    // A change that no rule of the account excuses: another address, without its claim.
                    try connection.execute(
                        """
                        UPDATE users SET version = version + 1, phone_number = '+15550007777'
                        WHERE user_id = \(account.id.rawValue)
                        """
                    )
                    if let changed = try reader.newerState(of: account) { newer.append(changed) }
                }
                return (found, newer)
            }
            #expect("\(found)" == "\(expected)")
            #expect(newer.map(\.id) == expected.filter { $0.account != nil }.map(\.id))
            for (after, before) in zip(newer, expected.filter({ $0.account != nil })) {
                #expect(after.account?.version == before.account.map { $0.version + 1 })
                #expect(after.account?.phoneNumber?.rawValue == "+15550007777")
                #expect(after.unclaimed.contains { $0.identifier.value == "+15550007777" })
                #expect(after.linkedProviders == before.linkedProviders)
                #expect(after.sessions == before.sessions)
                #expect(after.passwordScheme == before.passwordScheme)
            }
        }
    }

    @Test func `a claim that an account released after the claims were read is not noted`() async throws {
        try await TestDatabase.with { database in
            try await database.execute(Self.rows)
            try await database.execute(
                """
                INSERT INTO users (user_id, version, session_epoch, valid_since, created_at)
                SELECT 'z' || n, 1, 1, now(), now() FROM generate_series(10, 60) AS n;
                INSERT INTO identifiers (kind, value, user_id) VALUES
                    ('email', 'released@example.com', 'z60'), ('email', 'orphan@example.com', 'z60')
                """
            )
            var snapshots = AccountSnapshots(database.configuration, temporaryFolder: "/tmp")
            snapshots.readsAsOnCitus = true
            let now = Timestamp(secondsSinceEpoch: 0)
            let last = try await snapshots.read(.all, tenant: nil, at: now) { reader in
                var last = try reader.next()
                // The claims of all accounts have been read by now.
                let connection = try PostgresConnection(database.configuration)
                try connection.execute("DELETE FROM identifiers WHERE value = 'released@example.com'")
                while let next = try reader.next() { if next.id.rawValue == "z60" { last = next } }
                return last
            }
            #expect(last?.id.rawValue == "z60")
            #expect(last?.orphanedIdentifiers.map(\.value) == ["orphan@example.com"])
        }
    }

    @Test func `the snapshot is released after the last account, and after an error`() async throws {
        struct Enough: Error {}
        try await TestDatabase.with { database in
            try await database.execute(Self.rows)
            let snapshots = AccountSnapshots(
                database.configuration,
                temporaryFolder: "/tmp",
                applicationName: "released"
            )
            let isReleased: @Sendable () throws -> Bool = {
                let open: Query<Int64?> = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'released'"
                let connection = try PostgresConnection(database.configuration)
                let end = ContinuousClock.now + .seconds(20)
                while .now < end { if try connection.query(open).first == 0 { return true } }
                return false
            }
            let now = Timestamp(secondsSinceEpoch: 0)
            let wasReleased = try await snapshots.read(.all, tenant: nil, at: now) { accounts in
                while try accounts.next() != nil {}
                return try isReleased()
            }
            #expect(wasReleased)
            await #expect(throws: Enough.self) {
                try await snapshots.read(.all, tenant: nil, at: now) { accounts in
                    _ = try accounts.next()
                    throw Enough()
                }
            }
            #expect(try isReleased())
        }
    }
}
