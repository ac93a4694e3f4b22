import AccountTestSupport
import Testing

@testable import AccountStore
@testable import Postgres

/// What accounts go through when all of them are read: ranges of ids, and a file of buckets.
struct TableScanTests {
    private func index(of id: String, _ ranges: IDRanges) -> Int {
        Array(id.utf8).withUnsafeBytes { ranges.index(of: $0) }
    }

    private static let ids: [String: [String]] = [
        "numbered": (0..<2000).map { "user-\($0)" },
        "random": (0..<2000).map { _ in
            String((0..<28).map { _ in "0123456789abcdefXYZ".randomElement() ?? "0" })
        },
        "of many lengths": (0..<300).map { String(repeating: "x", count: $0 % 13) + "\($0)" },
        "two": ["a", "b"], "one": ["only"], "none": [], "the same": ["same", "same", "same"],
        "of other scripts": ["ä", "é", "ü", "日本", "\u{10FFFF}", "a\u{1}", "a"],
    ]

    @Test(arguments: ids.keys.sorted())
    func `ranges are in the order of bytes, whatever the ids look like`(kind: String) throws {
        let ids = try #require(Self.ids[kind])
        for countMax in [1, 2, 7, 64, 5000] {
            let ranges = IDRanges(ids, countMax: countMax)
            #expect((1...max(1, countMax)).contains(ranges.count))
            let others = ["", "\u{0}", "user", "user-", "user-19999999999", "zzz", "~", "\u{10FFFF}z"]
            let sorted = (ids + others).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            let indices = sorted.map { index(of: $0, ranges) }
            #expect(indices == indices.sorted() && indices.allSatisfy { (0..<ranges.count).contains($0) })
        }
    }

    @Test func `ranges are about as large as each other`() {
        let ids = (0..<10_000).map { "prefix-of-all-\(10_000 + $0)" }
        let ranges = IDRanges(ids.shuffled().prefix(2000).map(\.self), countMax: 20)
        #expect(ranges.count == 20)
        let sizes = Dictionary(grouping: ids) { index(of: $0, ranges) }.mapValues(\.count)
        #expect(sizes.values.allSatisfy { (250...1000).contains($0) }, "\(sizes)")
    }

    @Test func `buckets give back what was put into them, from many writers`() async throws {
        let file = try BucketFile(in: "/tmp", buckets: 5)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    var out = BucketWriter(file)
                    for number in 0..<20_000 {
                        try out.append(to: number % 4) { bytes in
                            bytes += Array("\(writer):\(number) ".utf8)
                        }
                    }
                    try out.finish()
                }
            }
            try await group.waitForAll()
        }
        for bucket in 0..<4 {
            let words = String(decoding: try file.contents(of: bucket), as: UTF8.self).split(separator: " ")
            #expect(words.count == 20_000)
            for writer in 0..<4 {
                let own = words.filter { $0.hasPrefix("\(writer):") }.map { Int($0.dropFirst(2)) }
                #expect(own == stride(from: bucket, to: 20_000, by: 4).map(Optional.some))
            }
        }
        #expect(try file.contents(of: 4) == [])
    }

    @Test func `a folder that cannot be written is told`() async throws {
        let failure = #expect(throws: SpillFailure.self) { _ = try BucketFile(in: "/nonexistent", buckets: 1) }
        #expect(failure?.description.contains("made in /nonexistent") == true)
    }
}

@Suite(.store)
struct RawRowTests {
    private struct Everything: RowDecodable, Equatable {
        let number: Int64
        let text: String?
        let bytes: [UInt8]
        let isTrue: Bool

        init(row: inout RowDecoder) throws(PostgresError) {
            number = try row.next()
            text = try row.next()
            bytes = try row.next()
            isTrue = try row.next()
        }
    }

    private static let query: Query<Everything> = """
        SELECT n::bigint, CASE WHEN n % 3 > 0 THEN repeat('é', n) END, decode(md5(n::text), 'hex'), n % 2 = 0
        FROM generate_series(0, 99) AS n ORDER BY n
        """

    @Test func `rows that were packed are read as those that come from the server`() async throws {
        try await PostgresConnection.withConnection(try StoreScene.shared.database.configuration) { connection in
            let rows = try connection.rawRows(Self.query)
            var (bytes, offsets): ([UInt8], [Int]) = ([1, 2, 3], [])
            for row in 0..<rows.count {
                offsets.append(bytes.count)
                rows.append(row: row, to: &bytes)
            }
            let packed = try offsets.map { try rows.shape.decode(Everything.self, from: bytes, at: $0) }
            #expect(packed == (try connection.query(Self.query)))
            #expect(rows.withBytes(row: 2, column: 1) { Array($0) } == Array("éé".utf8))
            #expect(rows.withBytes(row: 3, column: 1) { $0.count } == 0)
            // Another type, too few columns, too many, and an end that comes too soon.
            #expect(throws: PostgresError.self) { try rows.shape.decode(String.self, from: bytes, at: offsets[0]) }
            #expect(throws: PostgresError.self) { try rows.shape.decode(Int64.self, from: bytes, at: offsets[0]) }
            #expect(throws: PostgresError.self) {
                try rows.shape.decode(Everything.self, from: Array(bytes.prefix(offsets[1] - 1)), at: offsets[0])
            }
        }
    }
}
