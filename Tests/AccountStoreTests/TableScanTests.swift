import AccountLinking
import AccountTestSupport
import JSON
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
        "numbered, and one that is not": (0..<2000).map { "user-\($0)" } + ["admin"],
        "of other scripts": ["ä", "é", "ü", "日本", "\u{10FFFF}", "a\u{1}", "a"],
    ]

    @Test(arguments: ids.keys.sorted())
    func `ranges are in the order of bytes, whatever the ids look like`(kind: String) throws {
        let ids = try #require(Self.ids[kind])
        for countMax in [1, 2, 7, 64, 5000] {
            let ranges = IDRanges(IDSample(ids), countMax: countMax)
            #expect((1...max(1, countMax)).contains(ranges.count))
            let others = ["", "\u{0}", "user", "user-", "user-19999999999", "zzz", "~", "\u{10FFFF}z"]
            let sorted = (ids + others).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            let indices = sorted.map { index(of: $0, ranges) }
            #expect(indices == indices.sorted() && indices.allSatisfy { (0..<ranges.count).contains($0) })
        }
    }

    @Test func `ranges are about as large as each other`() {
        let ids = (0..<10_000).map { "prefix-of-all-\(10_000 + $0)" }
        let ranges = IDRanges(IDSample(ids.shuffled().prefix(2000).map(\.self)), countMax: 20)
        #expect(ranges.count == 20)
        let sizes = Dictionary(grouping: ids) { index(of: $0, ranges) }.mapValues(\.count)
        #expect(sizes.values.allSatisfy { (250...1000).contains($0) }, "\(sizes)")
    }

    @Test func `buckets give back what was put into them, from many writers`() async throws {
        let file = BucketFile(in: "/tmp", buckets: 5)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    var out = try BucketWriter(file)
                    for number in 0..<20_000 {
                        try out.append("\(writer):\(number) ", to: number % 4)
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
        #expect(file.byteCount(of: 4) == 0)
    }

    @Test func `a bucket is read by chunks as well, and records stay whole in them`() throws {
        let file = BucketFile(in: "/tmp", buckets: 2)
        var out = try BucketWriter(file)
        for number in 0..<5000 {
            try out.append("\(number)" + String(repeating: "x", count: number % 1000 == 999 ? 30_000 : 7) + " ", to: 1)
        }
        try out.finish()
        var (numbers, chunks): ([Int], Int) = ([], 0)
        try file.forEachChunk(of: 1) { chunk in
            let words = String(decoding: chunk, as: UTF8.self).split(separator: " ")
            numbers += words.compactMap { Int($0.prefix { $0 != "x" }) }
            chunks += 1
        }
        #expect(numbers.sorted() == Array(0..<5000) && chunks > 5)
        #expect(try file.contents(of: 1).count == file.byteCount(of: 1))
        try file.forEachChunk(of: 0) { _ in Issue.record("nothing was put there") }
    }

    @Test func `what is longer than a chunk stays whole, whoever writes beside it`() async throws {
        let file = BucketFile(in: "/tmp", buckets: 1)
        let lengths = [0, 1, 4095, 4096, 4097, 8191, 100_000, 3, 12_288]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in UInt8(1)...3 {
                group.addTask {
                    var out = try BucketWriter(file)
                    for _ in 0..<20 {
                        for length in lengths {
                            try Array(repeating: writer, count: length).withUnsafeBytes { bytes in
                                try [UInt8(0)].withUnsafeBytes { end in try out.append(end, after: bytes, to: 0) }
                            }
                        }
                    }
                    try out.finish()
                }
            }
            try await group.waitForAll()
        }
        let pieces = try file.contents(of: 0).split(separator: 0, omittingEmptySubsequences: false).dropLast()
        #expect(pieces.count == 3 * 20 * lengths.count)
        for (place, piece) in pieces.enumerated() {
            #expect(piece.count == lengths[place % lengths.count] && Set(piece).count == min(1, piece.count))
        }
    }

    @Test func `a folder that cannot be written is told`() async throws {
        let failure = #expect(throws: SpillFailure.self) {
            _ = try BucketWriter(BucketFile(in: "/nonexistent", buckets: 1))
        }
        #expect(failure?.description.contains("made in /nonexistent") == true)
    }

    // MARK: Rows

    /// A row of one column behind the user's.
    private static func row(of id: String, tag: UInt8, _ text: String) throws -> [UInt8] {
        var columns: [UInt8] = []
        for value in [id, text] { columns += [0, 0, 0, UInt8(value.utf8.count)] + Array(value.utf8) }
        return try columns.withUnsafeBytes { columns in
            let row = UnpackedRow(columns, tag: tag)
            #expect(try row.id.elementsEqual(id.utf8))
            return try [UInt8](unsafeUninitializedCapacity: row.bytesMax) { packed, count in
                count = try row.pack(into: UnsafeMutableRawBufferPointer(packed))
            }
        }
    }

    private struct Seen: Equatable {
        var tag: UInt8
        var id: String
        var text: String
    }

    private static func read(_ bytes: [UInt8]) throws -> [Seen] {
        // Of what types columns are is not looked at where nothing is said of it.
        try PackedRows<AuditedTable>(bytes, shapes: [:]).withAccounts { rows in
            try rows.ids.indices.flatMap { account in
                try AuditedTable.allCases.flatMap { table in
                    try rows.places(account, table).map { place in
                        var columns = rows[place]
                        return Seen(tag: table.rawValue, id: rows.ids[account].string, text: try columns.text().string)
                    }
                }
            }
        }
    }

    /// Ids that begin alike, are one another's beginnings, or differ only far behind.
    private static let oddIDs = [
        "", "a", "a\u{0}", "a\u{0}\u{0}", "aa", "ab", "é", "日本", "same-12345678-1", "same-12345678-2", "same-12345678",
        "same-123456789", "same-12345678-", "samf", String(repeating: "x", count: 100),
        String(repeating: "x", count: 99),
    ]

    @Test func `rows are sorted by the bytes of ids, then tables, and keep their order besides`() throws {
        let many = (0..<5000).map { "many-\($0)" }
        for ids in [Self.oddIDs, Array(Self.oddIDs[8...12]), ["only"], [], ["b", "a"], many] {
            var rows: [Seen] = []
            for number in 0..<min(20 * ids.count, 15_000) {
                rows.append(
                    Seen(tag: UInt8.random(in: 0..<9), id: ids.randomElement() ?? "", text: String(number))
                )
            }
            let bytes = try rows.flatMap { try Self.row(of: $0.id, tag: $0.tag, $0.text) }
            let sorted = rows.enumerated().sorted { one, other in
                if one.element.id.utf8.elementsEqual(other.element.id.utf8) {
                    return (one.element.tag, one.offset) < (other.element.tag, other.offset)
                }
                return one.element.id.utf8.lexicographicallyPrecedes(other.element.id.utf8)
            }
            #expect(try Self.read(bytes) == sorted.map(\.element))
        }
        for cut in [1, 4, 5, 9] {
            #expect(throws: PostgresError.self) {
                _ = try Self.read(Array(try Self.row(of: "abcdefg", tag: 1, "").prefix(cut)))
            }
        }
    }

    @Test(arguments: ["numbered", "random", "of other scripts", "the same", "odd"])
    func `a bucket too large for memory comes in parts that are not`(kind: String) throws {
        let ids = Self.ids[kind] ?? Self.oddIDs.filter { !$0.utf8.contains(0) }
        let file = BucketFile(in: "/tmp", buckets: 3)
        // Two writers, as there are two readers of tables.
        for writer in 0..<2 {
            var out = try BucketWriter(file)
            for (number, id) in ids.shuffled().enumerated() {
                for tag in UInt8(0)..<9 {
                    let text = "\(writer) \(number) " + String(repeating: "t", count: Int.random(in: 0..<100))
                    try Self.row(of: id, tag: tag, text).withUnsafeBytes { try out.append($0, to: 1) }
                }
            }
            try out.finish()
        }
        let all = try Self.read(try file.contents(of: 1))
        #expect(all.count == 18 * ids.count)
        // One account is not divided.
        let largest =
            Dictionary(grouping: all, by: \.id).values
            .map { rows in rows.reduce(0) { $0 + 7 + $1.id.utf8.count + $1.text.utf8.count } }.max() ?? 0
        for bytesMax in [1, 5000, 100_000, 10_000_000] {
            var (seen, parts): ([Seen], Int) = ([], 0)
            try file.forEachPart(of: 1, bytesMax: bytesMax, folder: "/tmp") { bytes in
                let rows = try Self.read(bytes)
                #expect(bytes.count <= bytesMax + largest)
                seen += rows
                parts += 1
            }
            #expect(seen.map(\.id) == all.map(\.id) && seen.map(\.tag) == all.map(\.tag))
            func lines(_ rows: [Seen]) -> [String] { rows.map { "\($0.id) \($0.tag) \($0.text)" }.sorted() }
            #expect(lines(seen) == lines(all))
            #expect(parts >= file.byteCount(of: 1) / (bytesMax + largest))
        }
        try file.forEachPart(of: 0, bytesMax: 10, folder: "/tmp") { #expect($0.isEmpty) }
    }
}

extension IDSample {
    fileprivate init(_ ids: [String]) {
        self.init()
        for id in ids { Array(id.utf8).withUnsafeBytes { append($0) } }
    }
}

extension BucketWriter {
    fileprivate mutating func append(_ text: String, to bucket: Int) throws {
        try Array(text.utf8).withUnsafeBytes { try append($0, to: bucket) }
    }
}

@Suite(.store)
struct RawRowTests {
    private struct Texts: Equatable {
        var number: Int64
        var text: String?
        var isTrue: Bool
        var time: PostgresTimestamp?

        init(_ columns: PackedColumns) throws(PostgresError) {
            var row = columns
            number = try row.int64()
            text = try row.optionalText()?.string
            try row.skip()
            isTrue = try row.bool()
            time = try row.optionalTimestamp()
        }
    }

    private static let words = WordList([
        "a word", "another word", "a", "of eight", String(repeating: "é", count: 16), "provider-credential",
    ])

    @Test func `packed rows are read in place, whatever they hold`() async throws {
        try await PostgresConnection.withConnection(try StoreScene.shared.database.configuration) { connection in
            // Empty, short, at the border of each length, long, not in ASCII (a word among them), NULL.
            let lengths = [0, 1, 2, 8, 32, 125, 190, 191, 192, 193, 254, 255, 256, 65_535, 65_536, 100_000]
            let query: SQL = """
                SELECT n, CASE WHEN n >= 0 THEN repeat('é', (n / 2)::integer) || repeat('a', (n % 2)::integer) END, 'skipped',
                    n % 2 = 1, CASE WHEN n > 9 THEN to_timestamp(n) END
                FROM (VALUES (0::bigint), (1), (2), (8), (32), (125), (190), (191), (192), (193), (254), (255), (256),
                    (65535), (65536), (100000), (-1)) AS numbers (n)
                """
            let rows = try connection.rawRows(query)
            #expect(rows.text(row: 2, column: 1) == "é" && rows.texts(ofColumn: 1).last == "")
            #expect(rows.withBytes(row: 2, column: 1) { Array($0) } == Array("é".utf8))
            // The same rows in the other way.
            var (columns, copied): ([[UInt8]], [[UInt8]]) = ([], [])
            for row in 0..<rows.count {
                columns.append([])
                rows.append(row: row, to: &columns[row])
            }
            try connection.copyRows(query) { copied.append(Array($0)) }
            #expect(copied == columns)
            var (bytes, offsets): ([UInt8], [Int]) = ([7], [])
            let packer = ColumnPacker(Self.words)
            for row in columns {
                offsets.append(bytes.count)
                bytes += try packer.packed(row)
            }
            try bytes.withUnsafeBytes { bytes in
                for (offset, length) in zip(offsets, lengths + [-1]) {
                    let row = try Texts(PackedColumns(bytes, at: offset, Self.words))
                    #expect(row.number == Int64(length) && row.isTrue == (length % 2 == 1))
                    #expect(row.text?.utf8.count == (length < 0 ? nil : length))
                    #expect(row.time?.microsecondsSinceEpoch == (length > 9 ? Int64(length) * 1_000_000 : nil))
                    // A value of another length than its type has.
                    #expect(throws: PostgresError.self) {
                        var columns = PackedColumns(bytes, at: offset, Self.words)
                        _ = try columns.bool()
                    }
                }
                #expect(throws: PostgresError.self, "NULL where something has to be") {
                    var columns = PackedColumns(bytes, at: offsets[lengths.count], Self.words)
                    try columns.skip()
                    _ = try columns.text()
                }
                #expect(throws: PostgresError.self, "behind the last column of all") {
                    var columns = PackedColumns(bytes, at: offsets[lengths.count], Self.words)
                    for _ in 0..<6 { try columns.skip() }
                }
            }
            // However a row is cut short, and before it is packed as well.
            for (row, columns) in columns.enumerated() where columns.count < 1000 {
                let packed = Array(bytes[offsets[row]..<(offsets + [bytes.count])[row + 1]])
                for count in 0..<packed.count {
                    packed.prefix(count).withUnsafeBytes { cut in
                        _ = #expect(throws: PostgresError.self) { try Texts(PackedColumns(cut, at: 0, Self.words)) }
                    }
                }
                for count in 1..<4 {
                    #expect(throws: PostgresError.self) { try packer.packed(Array(columns.prefix(count))) }
                }
                #expect(throws: PostgresError.self) { try packer.packed(columns + [0, 0, 0, 2, 9]) }
            }
            try rows.shape.check([Int64.self, String.self, String.self, Bool.self, PostgresTimestamp.self])
            for types: [any PostgresValue.Type] in [
                [Int64.self, String.self, String.self, Bool.self],
                [Int64.self, String.self, String.self, Bool.self, PostgresTimestamp.self, Bool.self],
                [Int64.self, String.self, String.self, Bool.self, Int64.self],
            ] {
                #expect(throws: PostgresError.self) { try rows.shape.check(types) }
            }
        }
    }

    @Test func `words cost a byte, and nothing else is taken for one`() throws {
        #expect(Self.words.count == 5, "a word has four bytes at least")
        let words = ["a word", "another word", "provider-credential", String(repeating: "é", count: 16)]
        // The last one has the bytes that a word is looked up by, and is none.
        let others = ["of eight", "a ward", "another ward", "a", "", "A word", "a word ", "provixer-credential"]
        for text in words + others {
            let isWord = words.contains(text)
            let packer = ColumnPacker(Self.words)
            let packed = try packer.packed([0, 0, 0, UInt8(text.utf8.count)] + Array(text.utf8))
            #expect(packed.count == (isWord ? 1 : 1 + text.utf8.count), "\(text)")
            try packed.withUnsafeBytes { packed in
                var columns = PackedColumns(packed, at: 0, Self.words)
                let read = try columns.text()
                #expect(read.string == text && (read.word != nil) == isWord)
            }
        }
        #expect(throws: PostgresError.self, "a number that no word has") {
            try [UInt8(192 + 5)].withUnsafeBytes { bytes in
                var columns = PackedColumns(bytes, at: 0, Self.words)
                _ = try columns.text()
            }
        }
    }

    @Test func `whose a row is, is read before it is packed`() throws {
        let rows: [([UInt8], id: [UInt8]?)] = [
            ([0, 0, 0, 2, 65, 66, 0, 0, 0, 1, 67], [65, 66]), ([0, 0, 0, 0], []), ([0, 0, 0, 3, 65, 66], nil),
            ([0, 0, 0], nil), ([], nil), ([255, 255, 255, 255, 0, 0, 0, 1, 67], nil),
        ]
        for (row, id) in rows {
            let read = { try row.withUnsafeBytes { Array(try ColumnPacker.firstColumn(of: $0)) } }
            if let id { #expect(try read() == id) } else { #expect(throws: PostgresError.self) { try read() } }
        }
    }

    @Test func `a row of long columns alone has the room that it needs`() throws {
        for length in [0, 8, 100, 191, 192, 193, 255, 256, 300] {
            let column = [0, 0, UInt8(length >> 8), UInt8(length & 0xFF)] + [UInt8](repeating: 65, count: length)
            for count in [1, 2, 47, 48, 49, 1000] {
                let row = (0..<count).flatMap { _ in column }
                let packed = try ColumnPacker(Self.words).packed(row)
                #expect(packed.count == count * (length + (length < 192 ? 1 : 5)))
            }
        }
    }

    @Test func `the words of accounts are told apart, and there is room for more`() {
        #expect((40..<WordList.countMax).contains(WordList.ofAccounts.count))
    }

    @Test func `values are the same as literals of a copy as they are as parameters`() async throws {
        try await PostgresConnection.withConnection(try StoreScene.shared.database.configuration) { connection in
            let texts = [
                "", "'", "''; DROP TABLE users; --", #"\"#, #"\' \x41 \"#, "$1", "é日本\u{10FFFF}", "a\nb\u{1}", "E'x'",
                "x'::int",
            ]
            let numbers: [Int64] = [0, -1, .max, .min]
            let times = [0, 1, -1, 1_800_000_000_123_456, -62_135_596_800_000_001].map {
                PostgresTimestamp(microsecondsSinceEpoch: $0)
            }
            for place in texts.indices {
                let (number, time) = (numbers[place % numbers.count], times[place % times.count])
                let query: SQL = "SELECT \(texts[place]), \(number), \(time), \(place % 2 == 0), \(texts[place]) = ''"
                let rows = try connection.rawRows(query)
                #expect(rows.text(row: 0, column: 0) == texts[place])
                var (expected, copied): ([UInt8], [UInt8]) = ([], [])
                rows.append(row: 0, to: &expected)
                try connection.copyRows(query) { copied.append(contentsOf: $0) }
                #expect(copied == expected, "\(texts[place])")
                try rows.shape.check([String.self, Int64.self, PostgresTimestamp.self, Bool.self, Bool.self])
            }
            let none: String? = nil
            for query: SQL in ["SELECT \(none)", "SELECT \("a\u{0}b")", "SELECT \(["a"])", "SELECT \([UInt8(1)])"] {
                #expect(throws: PostgresError.self) { try connection.copyRows(query) { _ in } }
            }
            try connection.copyRows("SELECT 1 WHERE false") { _ in Issue.record("there is no row") }
        }
    }

    @Test func `a copy that fails says why, wherever it does`() async throws {
        struct Enough: Error {}
        let configuration = try StoreScene.shared.database.configuration
        for (query, code, countMax): (SQL, SQLState, Int) in [
            ("SELECT nonsense", "42703", 0), ("SELECT 1 / (3 - n) FROM generate_series(1, 5) AS n", "22012", 2),
            ("CREATE TABLE nothing ()", "42601", 0),
        ] {
            try await PostgresConnection.withConnection(configuration) { connection in
                var count = 0
                let failure = #expect(throws: PostgresError.self) { try connection.copyRows(query) { _ in count += 1 } }
                #expect(failure?.sqlState == code && count <= countMax)
            }
        }
        try await PostgresConnection.withConnection(configuration) { connection in
            var count = 0
            #expect(throws: Enough.self) {
                try connection.copyRows("SELECT n FROM generate_series(1, 100000) AS n") { _ in
                    count += 1
                    if count == 7 { throw Enough() }
                }
            }
            #expect(count == 7 && !connection.isReusable)
        }
    }

    @Test func `what no server sends is no copy`() throws {
        func rows(_ messages: [[UInt8]], columns: Int) throws -> (rows: [[UInt8]], isOver: Bool) {
            var reader = CopyReader(columnCount: columns)
            var rows: [[UInt8]] = []
            for message in messages { try message.withUnsafeBytes { try reader.read($0) { rows.append(Array($0)) } } }
            return (rows, reader.isOver)
        }
        let head = Array("PGCOPY\n".utf8) + [0xFF, 13, 10, 0] + [0, 0, 0, 0]
        let (end, row): ([UInt8], [UInt8]) = ([0xFF, 0xFF], [0, 1, 0, 0, 0, 1, 65])
        for messages in [
            [head + [0, 0, 0, 0] + row, row, end], [head + [0, 0, 0, 0], row, row, end],
            [head + [0, 0, 0, 2, 9, 9] + row, row, end],
        ] {
            let read = try rows(messages, columns: 1)
            #expect(read.rows == [Array(row[2...]), Array(row[2...])] && read.isOver)
        }
        #expect(try rows([head + [0, 0, 0, 0] + end], columns: 1).isOver)
        #expect(try !rows([head + [0, 0, 0, 0] + row], columns: 1).isOver)
        let wide: [UInt8] = [0, 2] + row.dropFirst(2)
        let wrong: [[[UInt8]]] = [
            [row], [[]], [Array(head.dropLast())], [head + [0, 0, 0, 1]], [head + [0, 0, 0, 0], [0]],
            [head + [0, 0, 0, 0], []],
            [head + [0, 0, 0, 0], end, row], [head + [0, 0, 0, 0], wide],
        ]
        for messages in wrong {
            #expect(throws: PostgresError.self, "\(messages)") { try rows(messages, columns: 1) }
        }
    }

    @Test func `texts in place compare as their bytes`() async throws {
        try await PostgresConnection.withConnection(try StoreScene.shared.database.configuration) { connection in
            let texts = [
                "", "a", "ab", "abc", "abd", "b", "é", "e\u{301}", "\u{10FFFF}", String(repeating: "x", count: 300),
            ]
            let rows = try connection.rawRows("SELECT t FROM unnest(\(texts)) AS t")
            var (bytes, offsets): ([UInt8], [Int]) = ([], [])
            let packer = ColumnPacker(Self.words)
            for row in 0..<rows.count {
                offsets.append(bytes.count)
                var columns: [UInt8] = []
                rows.append(row: row, to: &columns)
                bytes += try packer.packed(columns)
            }
            try bytes.withUnsafeBytes { bytes in
                let packed = try offsets.map { offset in
                    var columns = PackedColumns(bytes, at: offset, Self.words)
                    return try columns.text()
                }
                for (text, first) in zip(texts, packed) {
                    #expect(first.string == text && first == text && first.first == text.utf8.first)
                    for (other, second) in zip(texts, packed) {
                        #expect((first < second) == text.utf8.lexicographicallyPrecedes(other.utf8))
                        #expect((first == second) == text.utf8.elementsEqual(other.utf8))
                        #expect((first == other) == text.utf8.elementsEqual(other.utf8))
                    }
                    for count in [0, 1, 2, 1000] {
                        if let start = String(text.utf8.prefix(count)) { #expect(first.prefix(count) == start) }
                        #expect(first.dropFirst(count).first == text.utf8.dropFirst(count).first)
                    }
                }
                #expect(Set(packed).count == texts.count)
            }
        }
    }
}

extension ColumnPacker {
    /// A row packed, in as much room as it needs at most.
    fileprivate func packed(_ row: [UInt8]) throws -> [UInt8] {
        try row.withUnsafeBytes { row in
            try [UInt8](unsafeUninitializedCapacity: Self.bytesMax(row)) { packed, count in
                count = try pack(row, into: UnsafeMutableRawBufferPointer(packed))
            }
        }
    }
}

/// Accounts put together from rows.
@Suite(.store)
struct AccountAssemblyTests {
    /// Rows of accounts of which nothing has to fit, with what tables would not take.
    private static let users: SQL = """
        SELECT user_id, 3::bigint, 7::bigint, email, proof, NULL::timestamptz, phone, NULL::text, NULL::int,
            to_timestamp(0), to_timestamp(0), NULL::timestamptz
        FROM (VALUES
            ('b', 'Ann@example.com', 'mailed-code', '+15550001111'), ('a', NULL, NULL, NULL),
            ('é', 'no address', 'mailed-code', NULL), ('c', 'c@example.com', 'a friend', '12')
        ) AS u (user_id, email, proof, phone)
        """
    private static let providers: SQL = """
        SELECT user_id, provider, subject, issuer, email, to_timestamp(9) FROM (VALUES
            ('b', 'google.com', 'g', NULL, 'Ann@example.com'), ('b', 'facebook.com', 'f', 'i', 'what?'),
            ('c', 'no provider', 's', NULL, NULL), ('c', 'google.com', '', NULL, NULL), ('nobody', 'google.com', 'n', NULL, '')
        ) AS l (user_id, provider, subject, issuer, email)
        """
    private static let passwords: SQL = """
        SELECT * FROM (VALUES
            ('b', to_timestamp(4), NULL), ('c', to_timestamp(4), '$2b$10$abc'), ('ghost', to_timestamp(4), '')
        ) AS p (user_id, at, scheme)
        """
    private static let claims: SQL = """
        SELECT * FROM (VALUES
            ('b', 'email', 'ann@example.com'), ('b', NULL, 'google.com' || E'\\x1F' || 'g'),
            ('b', 'phone', '+15550001111'), ('b', 'federated', 'facebook.com' || E'\\x1F' || 'other'),
            ('a', 'email', 'old@example.com'), ('c', 'email', 'c@example.com')
        ) AS i (user_id, kind, value)
        """
    private static let sessions: SQL = """
        SELECT * FROM (VALUES
            ('b', 7::bigint, 'password', to_timestamp(1)), ('a', 1::bigint, '', to_timestamp(5)),
            ('b', 7::bigint, 'password', to_timestamp(3)), ('b', 6::bigint, 'password', to_timestamp(2)),
            ('', 1::bigint, 'password', to_timestamp(2)), (repeat('x', 129), 1::bigint, 'password', to_timestamp(2))
        ) AS s (user_id, epoch, provider, at)
        """

    private func accounts(_ tables: [(AuditedTable, SQL)]) async throws -> [AccountSnapshot] {
        try await PostgresConnection.withConnection(try StoreScene.shared.database.configuration) { connection in
            var rows = AuditedRows()
            for (table, sql) in tables { try rows.append(try connection.rawRows(sql), of: table) }
            return try AccountAssembly.accounts(of: rows, tenant: .project)
        }
    }

    @Test func `accounts are the same in whatever order their tables come`() async throws {
        let tables: [(AuditedTable, SQL)] = [
            (.claims, Self.claims), (.sessions, Self.sessions), (.providers, Self.providers),
            (.passwords, Self.passwords), (.users, Self.users),
        ]
        for tables in [tables, tables.reversed()] {
            let accounts = try await accounts(tables)
            #expect(accounts.map(\.id.rawValue) == ["a", "b", "c", "ghost", "nobody", "é"])
            let (bare, ann, ill, nobody, other) = (accounts[0], accounts[1], accounts[2], accounts[4], accounts[5])
            #expect(
                accounts.map(\.passwordScheme) == [nil, AuditRule.currentPasswordScheme, "$2b$10$abc", "", nil, nil]
            )
            #expect(ann.account?.hasPassword == true && accounts[3].account == nil)
            #expect(ann.account?.email?.address.canonical == "ann@example.com")
            #expect(ann.account?.linkedProviders == [.google: "g", .facebook: "f"])
            #expect(ann.linkedProviders.map(\.identity.provider) == [.facebook, .google])
            #expect(ann.linkedProviders.map { $0.email?.raw } == [nil, "Ann@example.com"])
            #expect(ann.linkedProviders.map(\.issuer) == ["i", nil])
            #expect(ann.sessions.map(\.epoch) == [6, 7] && ann.sessions.map(\.count) == [1, 2])
            #expect(ann.sessions[1].lastAuthTime == Timestamp(secondsSinceEpoch: 3))
            #expect(ann.strayClaims == [.init(kind: "federated", value: "facebook.com\u{1F}other")])
            #expect(ann.unreadable == [])
            #expect(bare.account?.email == nil && bare.strayClaims.map(\.value) == ["old@example.com"])
            #expect(
                ill.unreadable == [
                    "linked_providers.provider_id", "linked_providers.subject", "users.email_proof",
                    "users.phone_number",
                ]
            )
            #expect(ill.account?.email?.address.raw == "c@example.com" && ill.strayClaims.isEmpty)
            #expect(nobody.account == nil && nobody.linkedProviders.count == 1)
            #expect(other.unreadable == ["users.email"] && other.account?.version == 3)
        }
    }

    @Test func `what nobody read is not missed`() async throws {
        let accounts = try await accounts([(.users, Self.users)])
        #expect(accounts.count == 4 && accounts.allSatisfy { $0.strayClaims.isEmpty })
        #expect(try await self.accounts([]).isEmpty)
    }

    @Test func `a row that is not what was asked for is an error`() async throws {
        await #expect(throws: PostgresError.self) { _ = try await accounts([(.users, Self.claims)]) }
        await #expect(throws: PostgresError.self) { _ = try await accounts([(.claims, "SELECT NULL::text, 'a', 'b'")]) }
        for bytes: [UInt8] in [[9, 0, 0], [0, 0, 0]] {
            #expect(throws: PostgresError.self) {
                try AccountAssembly.accounts(of: AuditedRows(bytes, shapes: [:]), tenant: .project)
            }
        }
    }
}
