import AccountTestSupport
import Testing

@testable import Postgres

/// Rows read one at a time by `COPY`.
struct CopyReaderTests {
    private static let head = Array("PGCOPY\n".utf8) + [0xFF, 13, 10, 0] + [0, 0, 0, 0]
    private static let end: [UInt8] = [0xFF, 0xFF]

    private static func row(_ bytes: [UInt8]) -> CopiedRow {
        var row = CopiedRow()
        row.replace(with: bytes)
        return row
    }

    @Test func `rows follow the head in its message or in the next one`() throws {
        let columns: [UInt8] = [0, 1, 0, 0, 0, 1, 65]
        for (message, hasRow) in [
            (Self.head + [0, 0, 0, 0] + columns, true), (Self.head + [0, 0, 0, 0], false),
            (Self.head + [0, 0, 0, 2, 9, 9] + columns, true),
        ] {
            var row = Self.row(message)
            #expect(try row.skipHead() == hasRow)
            guard hasRow else { continue }
            #expect(try row.begin())
            let value: String = try row.next()
            #expect(value == "A")
        }
        var end = Self.row(Self.end)
        #expect(try !end.begin())
    }

    @Test func `a message that no server sends is an error`() throws {
        for message in [[], Array(Self.head.dropLast()), Self.head + [0, 0, 0, 1], Array("PGCOPY".utf8)] {
            var row = Self.row(message)
            #expect(throws: PostgresError.self, "\(message)") { try row.skipHead() }
        }
        for message: [UInt8] in [[], [0]] {
            var row = Self.row(message)
            #expect(throws: PostgresError.self) { try row.begin() }
        }
        // No more columns, a length cut short, a value cut short, NULL, and a number of another size.
        for columns: [UInt8] in [[0, 0], [0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 8, 1], [0, 1, 255, 255, 255, 255]] {
            var row = Self.row(columns)
            #expect(try row.begin())
            #expect(throws: PostgresError.self, "\(columns)") { let _: Int64 = try row.next() }
        }
        var short = Self.row([0, 1, 0, 0, 0, 4, 0, 0, 0, 7])
        #expect(try short.begin())
        #expect(throws: PostgresError.self) { let _: Int64 = try short.next() }
    }

    @Test func `values of every type and length are read`() async throws {
        try await PostgresConnection.withConnection(try TestCluster.shared.get().configuration()) { connection in
            let query: SQL = """
                SELECT n, CASE WHEN n >= 0 THEN repeat('é', (n / 2)::integer) || repeat('a', (n % 2)::integer) END,
                    n % 2 = 1, CASE WHEN n > 9 THEN to_timestamp(n) END, (n % 7)::integer
                FROM (VALUES (0::bigint), (1), (2), (255), (256), (65535), (65536), (100000), (-1)) AS numbers (n)
                """
            let reader = try CopyReader(query, on: connection)
            var row = CopiedRow()
            for number: Int64 in [0, 1, 2, 255, 256, 65_535, 65_536, 100_000, -1] {
                #expect(try reader.next(&row))
                let read: Int64 = try row.next()
                let text: String? = try row.next()
                let isOdd: Bool = try row.next()
                let time: PostgresTimestamp? = try row.next()
                let rest: Int32 = try row.next()
                #expect(read == number && isOdd == (number % 2 == 1) && rest == Int32(number % 7))
                #expect(text?.utf8.count == (number < 0 ? nil : Int(number)))
                #expect(time?.microsecondsSinceEpoch == (number > 9 ? number * 1_000_000 : nil))
            }
            #expect(try !reader.next(&row))
            #expect(try !reader.next(&row), "after the end")
            // The connection has another use after it.
            #expect(try connection.query("SELECT 1::bigint" as Query<Int64>) == [1])
        }
    }

    @Test func `literals of a copy are the values that parameters are`() async throws {
        let texts = [
            "", "'", "''; DROP TABLE users; --", #"\"#, #"\' \x41 \"#, "$1", "é日本\u{10FFFF}", "a\nb\u{1}", "E'x'",
            "x'::int",
        ]
        try await PostgresConnection.withConnection(try TestCluster.shared.get().configuration()) { connection in
            for (place, text) in texts.enumerated() {
                let number = [0, -1, .max, .min][place % 4] as Int64
                let time = PostgresTimestamp(microsecondsSinceEpoch: [0, -1, 1_800_000_000_123_456][place % 3])
                let reader = try CopyReader("SELECT \(text), \(number), \(time), \(place % 2 == 0)", on: connection)
                var row = CopiedRow()
                #expect(try reader.next(&row))
                let readText: String = try row.next()
                let readNumber: Int64 = try row.next()
                let readTime: PostgresTimestamp = try row.next()
                let isEven: Bool = try row.next()
                #expect(readText == text && readNumber == number && readTime == time && isEven == (place % 2 == 0))
                #expect(try !reader.next(&row))
            }
            let none: String? = nil
            for query: SQL in ["SELECT \(none)", "SELECT \("a\u{0}b")", "SELECT \(["a"])", "SELECT \([UInt8(1)])"] {
                #expect(throws: PostgresError.self) { _ = try CopyReader(query, on: connection) }
            }
        }
    }

    @Test func `a copy that fails says why`() async throws {
        for (query, code): (SQL, SQLState) in [
            ("SELECT nonsense", "42703"), ("SELECT 1 / (3 - n) FROM generate_series(1, 5) AS n", "22012"),
            ("CREATE TABLE nothing ()", "42601"),
        ] {
            try await PostgresConnection.withConnection(try TestCluster.shared.get().configuration()) { connection in
                let reader = try CopyReader(query, on: connection)
                var row = CopiedRow()
                let failure = #expect(throws: PostgresError.self) { while try reader.next(&row) {} }
                #expect(failure?.sqlState == code)
            }
        }
    }

    @Test func `a wait for rows can be stopped, and cancels the query`() async throws {
        struct Enough: Error {}
        try await PostgresConnection.withConnection(try TestCluster.shared.get().configuration()) { connection in
            let reader = try CopyReader("SELECT pg_sleep(60)::text", on: connection) { throw Enough() }
            var row = CopiedRow()
            #expect(throws: Enough.self) { try reader.next(&row) }
            reader.cancel()
            #expect(try !reader.next(&row))
            #expect(!connection.isReusable)
        }
    }
}
