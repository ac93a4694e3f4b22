import FoundationEssentials
import Testing

@testable import Migrations

@Suite struct MigrationFileNameTests {
    @Test func `a name has four digits, snake case and a direction`() throws {
        let name = try #require(MigrationFileName("0042_add_2_tables.down.sql"))
        #expect(name.version == 42)
        #expect(name.name == "add_2_tables")
        #expect(name.direction == .down)
        #expect(name.description == "0042_add_2_tables.down.sql")
        #expect(name.stem == "0042_add_2_tables")
    }

    @Test(arguments: [
        "42_users.up.sql", "00042_users.up.sql", "0000_users.up.sql", "0042users.up.sql", "0042_.up.sql",
        "0042_Users.up.sql", "0042_users.sql", "0042_users.left.sql", "0042_users.up.SQL", "0042_users.up.sql.bak",
        "0042_users_.up.sql", "0042_us__ers.up.sql", "0042_9users.up.sql", "0042__users.up.sql", "0042_us-ers.up.sql",
        "0042_üsers.up.sql", "٠٠٤٢_users.up.sql", "+042_users.up.sql",
        "0042_" + String(repeating: "u", count: 65) + ".up.sql", "", ".up.sql", "schema.sql",
    ])
    func `any other name is refused`(name: String) {
        #expect(MigrationFileName(name) == nil)
    }
}

@Suite struct MigrationSetTests {
    private func defects(_ files: KeyValuePairs<String, String>) -> [String] {
        migrationSet(files).defects.map(\.description)
    }

    @Test func `files are sorted and paired`() {
        let set = migrationSet([
            "0002_b.up.sql": "SELECT 2", "0001_a.down.sql": "SELECT -1", "schema.sql": "anything", "README.md": "text",
            "0002_b.down.sql": "SELECT -2", "0001_a.up.sql": "SELECT 1",
        ])
        #expect(set.defects.isEmpty)
        #expect(set.migrations.map(\.version) == [1, 2])
        #expect(set.migrations.map(\.up.sql) == ["SELECT 1", "SELECT 2"])
        #expect(set.migrations.map(\.down.sql) == ["SELECT -1", "SELECT -2"])
        #expect(set.latestVersion == 2)
    }

    @Test func `the checksum is the SHA-256 of the bytes of the file`() {
        // From `printf 'SELECT 1;\n' | sha256sum`.
        let expected = "b4e0497804e46e0a0b0b8c31975b062152d551bac49c3c2e80932567b4085dcd"
        let set = migrationSet(["0001_a.up.sql": "SELECT 1;\n", "0001_a.down.sql": "SELECT 1"])
        #expect(set.migrations.first?.up.checksum == expected)
        let carriageReturn = migrationSet(["0001_a.up.sql": "SELECT 1;\r\n", "0001_a.down.sql": "SELECT 1"])
        #expect(carriageReturn.migrations.first?.up.checksum != expected)
    }

    @Test func `mistakes in the files are reported by name`() {
        #expect(defects(["1_users.up.sql": "SELECT 1"])[0].hasPrefix("1_users.up.sql: not a migration's name"))
        #expect(defects(["0001_a.up.sql": "SELECT 1"]) == ["0001_a.up.sql: its .down.sql is missing"])
        #expect(defects(["0001_a.down.sql": "SELECT 1"]) == ["0001_a.down.sql: its .up.sql is missing"])
        #expect(
            defects(["0002_b.up.sql": "SELECT 1", "0002_b.down.sql": "SELECT 1"])
                == ["0002_b.down.sql: number 0001 is missing before it; numbers have no gaps"]
        )
        let twice = defects([
            "0001_a.up.sql": "SELECT 1", "0001_a.down.sql": "SELECT 1", "0001_b.up.sql": "SELECT 1",
            "0001_b.down.sql": "SELECT 1",
        ])
        #expect(twice.count == 1)
        #expect(twice[0].hasPrefix("0001_a.down.sql, 0001_a.up.sql, 0001_b.down.sql, 0001_b.up.sql: one number, 0001"))
        #expect(defects(["0001_a.up.sql": "-- nothing\n", "0001_a.down.sql": "SELECT 1"])[0].contains("no statement"))
    }

    @Test func `a file that is not text is refused`() {
        for bytes: [UInt8] in [[0xFF, 0xFE], Array("SELECT '\0'".utf8)] {
            let set = MigrationSet(files: [("0001_a.up.sql", bytes), ("0001_a.down.sql", Array("SELECT 1".utf8))])
            #expect(set.defects == [.notText(file: "0001_a.up.sql")])
            #expect(set.migrations.isEmpty)
        }
    }

    @Test func `a directive in the first line runs a single statement outside a transaction`() {
        let index = "-- migrate: no-transaction\nCREATE INDEX CONCURRENTLY i ON t (id);\n"
        let drop = "-- migrate: no-transaction\nDROP INDEX CONCURRENTLY IF EXISTS i;\n"
        let set = migrationSet(["0001_i.up.sql": index, "0001_i.down.sql": drop])
        #expect(set.defects.isEmpty)
        #expect(set.migrations.first?.up.runsInTransaction == false)
        #expect(tables(1).migrations.first?.up.runsInTransaction == true)
        #expect(
            defects(["0001_i.up.sql": index + "SELECT 1;", "0001_i.down.sql": drop])[0].contains("here are 2; split it")
        )
        #expect(
            defects(["0001_i.up.sql": "-- migrate: notransaction\nSELECT 1", "0001_i.down.sql": drop])[0]
                .contains("unknown directive \"-- migrate: notransaction\"")
        )
        // Only the first line counts.
        let late = migrationSet(["0001_i.up.sql": "\n" + index, "0001_i.down.sql": drop])
        #expect(late.migrations.first?.up.runsInTransaction == true)
    }

    @Test(arguments: [
        "BEGIN; SELECT 1; COMMIT", "SELECT 1; commit", "select 1; Rollback to a", "START TRANSACTION",
        "SELECT 1;;/* */ END", "ABORT", "SAVEPOINT a", "RELEASE a", "PREPARE TRANSACTION 'a'",
        "SET TRANSACTION READ ONLY", "DO $$ BEGIN END $$; COMMIT",
    ])
    func `a file does not control its transaction`(sql: String) {
        let set = migrationSet(["0001_a.up.sql": sql, "0001_a.down.sql": "SELECT 1"])
        guard case .controlsTransaction("0001_a.up.sql", _) = set.defects.first else {
            Issue.record("\(set.defects)")
            return
        }
    }
}

@Suite struct SQLStatementTests {
    @Test(arguments: [
        ("", 0), (" ;; ; ", 0), ("-- only this", 0), ("/* a /* nested */ comment; */", 0), ("SELECT 1", 1),
        ("SELECT 1; SELECT 2;", 2), ("SELECT ';'; SELECT 2", 2), ("SELECT 'it''s;'", 1), ("SELECT E'\\';'", 1),
        ("SELECT E'it''s\\';'", 1),
        ("SELECT e'\\\\'; SELECT 2", 2), ("SELECT 'a\\'; SELECT 2", 2), ("SELECT \"a;b\"", 1),
        ("DO $$ BEGIN; END; $$; SELECT 1", 2), ("DO $body$ a; $$ b; $body$", 1),
        ("SELECT $1; SELECT a$b$; SELECT 3", 3),
        ("SELECT 1 -- ; not here\n; SELECT 2", 2), ("SELECT 1 /* ; */; SELECT 2", 2), ("SELECT (1;2)", 1),
        ("CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)", 1),
        ("CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; SELECT 3", 2),
        ("CREATE OR REPLACE PROCEDURE p() BEGIN ATOMIC SELECT 1; SELECT 2; END; SELECT 3", 2),
        ("CREATE TABLE begin (begin integer); SELECT 2", 2),
        ("CREATE FUNCTION begin() RETURNS int RETURN 1; SELECT 2", 2),
        ("CREATE VIEW v AS SELECT atomic AS begin FROM t; SELECT 2", 2),
        ("SELECT CASE WHEN true THEN 1 END; SELECT 2", 2), ("SELECT 'open; SELECT 2", 1), ("SELECT $a$open; SELECT", 1),
        ("SELECT /* open; SELECT", 1), ("SELECT 'ü;€'; SELECT 2", 2), ("(SELECT 1); (SELECT 2)", 2), ("; $x; 1", 2),
    ])
    func `statements are split where PostgreSQL splits them`(sql: String, count: Int) {
        #expect(SQLStatement.split(sql).count == count)
    }

    @Test func `a statement has its text and its line`() {
        let statements = SQLStatement.split("-- first\n\nSELECT 'a;\nb' ; /* c */\n\nSELECT 2 -- end\n  FROM t\n;\n")
        #expect(statements.map(\.text) == ["SELECT 'a;\nb'", "SELECT 2 -- end\n  FROM t"])
        #expect(statements.map(\.line) == [3, 6])
        #expect(statements[0].tokens == ["SELECT", "''"])
        #expect(statements[1].tokens == ["SELECT", "2", "FROM", "T"])
    }

    @Test func `words are found outside quotes and comments`() {
        #expect(
            SQLStatement.split("/* x */ create -- y\n unique \"INDEX\" concurrently 'a' i on t")[0].leadingWords
                == ["CREATE", "UNIQUE", "CONCURRENTLY", "I"]
        )
    }
}

@Suite struct MigrationDirectoryTests {
    /// Runs `body` with an empty directory.
    private func withDirectory(_ body: (MigrationDirectory) throws -> Void) throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "migrations-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: url) }
        try body(MigrationDirectory(path: url.path()))
    }

    @Test func `create writes the next pair`() throws {
        try withDirectory { directory in
            let first = try directory.create(name: "users")
            #expect(
                first.map { String($0.dropFirst(directory.path.count)) } == [
                    "/0001_users.up.sql", "/0001_users.down.sql",
                ]
            )
            #expect(try directory.create(name: "sessions")[0].hasSuffix("/0002_sessions.up.sql"))
            // The new files have no statement, so they cannot be applied by mistake.
            #expect(try directory.read().defects.count == 4)
        }
    }

    @Test func `create continues after the highest number, even if its pair is incomplete`() throws {
        try withDirectory { directory in
            try Data("SELECT 1".utf8).write(to: URL(filePath: "\(directory.path)/0007_a.up.sql"))
            #expect(try directory.create(name: "b")[0].hasSuffix("/0008_b.up.sql"))
        }
    }

    @Test(arguments: ["", "Users", "add-users", "1st", "../users", "a b", String(repeating: "a", count: 65)])
    func `create refuses a name that is not snake case`(name: String) throws {
        try withDirectory { directory in
            #expect(throws: MigrationDirectoryError.nameNotAllowed(name)) { try directory.create(name: name) }
            let highestNumber = try directory.read().highestNumber
            #expect(highestNumber == 0)
        }
    }

    @Test func `a missing directory is an error that names it`() {
        #expect(throws: MigrationDirectoryError.unreadable(path: "/nonexistent")) {
            try MigrationDirectory(path: "/nonexistent").read()
        }
    }
}
