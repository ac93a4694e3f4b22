import DequeModule

// Statements of many callers, sent as one.
//
// Starting a statement costs PostgreSQL more than finding a row by its key, and a commit costs more than both. So jobs
// that wait in a lane's queue and differ only in their values are sent as one statement (ADR 0015, ADR 0070):
//
//     SELECT … WHERE id = ANY('{1}')              SELECT … WHERE id = ANY('{1,2}')
//     SELECT … WHERE id = ANY('{2}')        →
//
//     BEGIN; INSERT … VALUES (1, 'a'); COMMIT     BEGIN; INSERT … VALUES (1, 'a'), (2, 'b'); COMMIT
//     BEGIN; INSERT … VALUES (2, 'b'); COMMIT
//
// - A statement declares what can be merged: `\(keys:)` and `Query(keyColumn:)` its last parameter, an array of keys;
//   `\(row:)` the row that it inserts. Other statements are sent once for each job.
// - A job is merged only if its caller allows it: a lookup always does, a write with `WriteBatch.isShared`.
// - No job waits for others. `LaneState` takes those that already wait behind the first one (`takeMergeable`), and
//   `LaneConnection` merges a batch before it sends it (`Job.merging`).
// - Each caller of a lookup gets the rows that carry its key; callers of writes get no rows.
// - If a merged job fails, each of its members is sent again alone, so that every caller gets its own error.
//
// `PostgresConfiguration.mergesStatements` turns merging off, and a connection to Citus does not merge
// (`DatabaseEngine.swift`). Answers are the same without it.

/// The properties of a job that decide if it can be merged with others.
struct Merging: Sendable {
    /// Equal for jobs that can be merged: their statements, and the values that are not merged.
    fileprivate struct Key: Hashable {
        var statements: [Int] = []
        var values: [UInt8] = []
    }

    fileprivate private(set) var key = Key()
    /// The column of the answer that holds the key of a lookup; `nil` for a write.
    fileprivate let keyColumn: Int?
    /// `WriteBatch.order`.
    fileprivate let order: [UInt8]

    /// Returns `nil` if one of `statements` has no name, because it is parsed each time, or does not have exactly one
    /// key.
    init?(_ statements: [NamedStatement], keyColumn: Int? = nil, order: [UInt8] = []) {
        self.keyColumn = keyColumn
        self.order = order
        for statement in statements {
            guard let name = statement.name else { return nil }
            key.statements.append(name.number)
            guard statement.sql.mergePoint == .keys else { continue }
            guard let values = statement.sql.valuesBesideKey else { return nil }
            key.values += values
        }
    }

    func fits(_ other: Merging) -> Bool { key == other.key }
}

extension Deque {
    /// The number of queued jobs that are searched for mergeable ones.
    private static var searchedMax: Int { 128 }

    /// Takes the jobs that can be merged with `first`. Together they are a power of two, because each number of rows is
    /// another statement to prepare.
    mutating func takeMergeable<Job>(with first: Job, countMax: Int) -> [QueuedJob<Job>]
    where Element == QueuedJob<Job> {
        guard countMax > 0 else { return [] }
        let places = indices.prefix(Self.searchedMax).filter { self[$0].job.canMerge(with: first) }.prefix(countMax)
        let powerOfTwo = 1 << (Int.bitWidth - 1 - (places.count + 1).leadingZeroBitCount)
        var taken: [QueuedJob<Job>] = []
        for place in places.prefix(powerOfTwo - 1).reversed() {
            var queued = remove(at: place)
            guard queued.job.start() else { continue }
            queued.sendCount += 1
            taken.append(queued)
        }
        return taken
    }
}

extension Job {
    func canMerge(with other: Job) -> Bool {
        guard let merging, let others = other.merging else { return false }
        return merging.fits(others)
    }

    /// The jobs of callers: those that this one was merged from, or itself.
    var parts: [Job] { members.isEmpty ? [self] : members }

    /// Merges those of `jobs` that can be merged. The order of a batch's jobs does not matter.
    static func merging(_ jobs: [QueuedJob<Job>], _ catalog: StatementCatalog) -> [QueuedJob<Job>] {
        guard jobs.count > 1 else { return jobs }
        var merged: [QueuedJob<Job>] = []
        var groups: [Merging.Key: [QueuedJob<Job>]] = [:]
        for queued in jobs {
            if let merging = queued.job.merging {
                groups[merging.key, default: []].append(queued)
            } else {
                merged.append(queued)
            }
        }
        for group in groups.values {
            merged.append(group.count > 1 ? Self.merged(group, catalog) : group[0])
        }
        return merged
    }

    private static func merged(_ group: [QueuedJob<Job>], _ catalog: StatementCatalog) -> QueuedJob<Job> {
        let members = group.map(\.job).sorted { $0.order.lexicographicallyPrecedes($1.order) }
        let statements = members[0].statements.indices.flatMap { index in
            NamedStatement.merging(members.map { $0.statements[index] }, catalog)
        }
        var queued = group[0]
        queued.job = Job(statements, members: members)
        return queued
    }

    private var order: [UInt8] { merging?.order ?? [] }

    /// Returns each member with its part of `answer`.
    func distribute(_ answer: Answer) -> [(job: Job, answer: Answer)] {
        guard case .success(let results) = answer else { return members.map { ($0, answer) } }
        guard let keyColumn = members.first?.merging?.keyColumn, let result = results.first else {
            return members.map { ($0, .success([])) }
        }
        let rows = result.rowsByValue(ofColumn: keyColumn)
        return members.map { member in
            let key = member.statements[0].sql.key ?? []
            return (member, .success([result.view(ofRows: rows[key] ?? [])]))
        }
    }
}

extension NamedStatement {
    /// Returns statements that do the work of all of `statements`, which are one statement with different values.
    fileprivate static func merging(_ statements: [NamedStatement], _ catalog: StatementCatalog) -> [NamedStatement] {
        switch statements[0].sql.mergePoint {
        case .row(let row):
            let sql = SQL.merging(rowsOf: statements.map(\.sql), at: row)
            return [NamedStatement(sql: sql, name: catalog.name(of: sql))]
        case .keys:
            return [NamedStatement(sql: SQL.merging(keysOf: statements.map(\.sql)), name: statements[0].name)]
        case nil:
            return statements
        }
    }
}

extension SQL {
    /// Returns one statement with the rows of all of `statements`, which have the same shape and one row each.
    static func merging(rowsOf statements: [SQL], at row: Range<Int>) -> SQL {
        SQL(statements[0].shape.repeating(row, count: statements.count), valuesOf: statements)
    }

    /// Returns the first of `statements` with the keys of all of them. They differ only in the key.
    fileprivate static func merging(keysOf statements: [SQL]) -> SQL {
        statements[0].replacingLastValue(EncodedArray.concatenating(statements.compactMap(\.keys)))
    }

    /// The key of a lookup, in binary form; `nil` if the last parameter is not an array of one.
    fileprivate var key: [UInt8]? {
        guard let keys, keys.count == 1 else { return nil }
        return Array(keys.elements.dropFirst(EncodedArray.lengthBytes))
    }

    /// All values but the key; `nil` if the last parameter is not an array of one.
    fileprivate var valuesBesideKey: ArraySlice<UInt8>? {
        guard let keys, keys.count == 1, let last = parameters.last else { return nil }
        return values.bytes.prefix(Int(last.valueOffset))
    }

    private var keys: EncodedArray? {
        guard let last = parameters.last, let length = last.valueLength else { return nil }
        return EncodedArray(values.bytes[Int(last.valueOffset)..<Int(last.valueOffset + length)])
    }
}
