/// Statements of many callers as one: lookups that differ in their keys, writes that differ in their rows.
///
/// Most of what such a statement costs the server is starting it, and most of what it costs us is sending one and
/// receiving its answer; the row itself is the smaller part of both.
extension Job {
    /// What jobs have in common that can be one.
    struct JoinKey: Hashable {
        private let statements: [Int]
        /// Of statements that differ in their keys, what else they are given.
        private var otherValues: [UInt8] = []

        /// `nil` where one of `statements` has no name, and is parsed each time.
        init?(_ statements: [NamedStatement]) {
            var numbers: [Int] = []
            for statement in statements {
                guard let name = statement.name else { return nil }
                numbers.append(name.number)
                guard statement.sql.joint == .keys else { continue }
                guard let values = statement.sql.valuesBesideKey else { return nil }
                otherValues += values
            }
            self.statements = numbers
        }
    }

    /// `jobs` with those in one that can be. Order among jobs of one batch means nothing.
    static func joining(_ jobs: [QueuedJob<Job>], _ catalog: StatementCatalog) -> [QueuedJob<Job>] {
        guard jobs.count > 1 else { return jobs }
        var kept: [QueuedJob<Job>] = []
        var groups: [JoinKey: [QueuedJob<Job>]] = [:]
        for queued in jobs {
            if let key = queued.job.joinKey {
                groups[key, default: []].append(queued)
            } else {
                kept.append(queued)
            }
        }
        for group in groups.values {
            kept.append(group.count > 1 ? joined(group, catalog) : group[0])
        }
        return kept
    }

    private static func joined(_ group: [QueuedJob<Job>], _ catalog: StatementCatalog) -> QueuedJob<Job> {
        let members = group.map(\.job).sorted { $0.order.lexicographicallyPrecedes($1.order) }
        let statements = members[0].statements.indices.flatMap { index in
            NamedStatement.joining(members.map { $0.statements[index] }, catalog)
        }
        var queued = group[0]
        queued.job = Job(statements, of: members)
        return queued
    }

    /// What `answer` to all of them means for each member.
    func distribute(_ answer: Answer) -> [(job: Job, answer: Answer)] {
        guard case .success(let results) = answer else { return members.map { ($0, answer) } }
        // Of writes nothing is told but that they were done.
        guard let keyColumn, let result = results.first else { return members.map { ($0, .success([])) } }
        let rows = result.rowsByValue(ofColumn: keyColumn)
        return members.map { member in
            let key = member.statements[0].sql.key ?? []
            return (member, .success([result.view(ofRows: rows[key] ?? [])]))
        }
    }
}

extension NamedStatement {
    /// What does as much as all of `statements`, which are one statement with different values.
    fileprivate static func joining(_ statements: [NamedStatement], _ catalog: StatementCatalog) -> [NamedStatement] {
        switch statements[0].sql.joint {
        case .row(let row):
            let sql = SQL.joining(rowsOf: statements.map(\.sql), at: row)
            return [NamedStatement(sql: sql, name: catalog.name(of: sql))]
        case .keys:
            return [NamedStatement(sql: SQL.joining(keysOf: statements.map(\.sql)), name: statements[0].name)]
        case nil:
            return statements
        }
    }
}

extension SQL {
    /// Where the last parameter's only element begins, when it is an array of one: after dimensions, flags, type,
    /// length, lower bound and the length of the element (`array_send`).
    private static var keyOffset: Int { 24 }
    private static var countOffset: Int { 12 }

    /// The key of a lookup, in binary form; `nil` when the last parameter is no array of one.
    var key: [UInt8]? {
        guard let array = lastValue, Self.isArrayOfOne(array) else { return nil }
        return Array(array.dropFirst(Self.keyOffset))
    }

    /// All parameters but the key; `nil` when the last is no array of one.
    fileprivate var valuesBesideKey: [UInt8]? {
        guard let array = lastValue, Self.isArrayOfOne(array), let last = parameters.last else { return nil }
        return Array(values.bytes.prefix(Int(last.valueOffset)))
    }

    private static func isArrayOfOne(_ array: ArraySlice<UInt8>) -> Bool {
        func integer(at offset: Int) -> UInt32 {
            array.dropFirst(offset).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
        }
        return array.count >= keyOffset && integer(at: 0) == 1 && integer(at: countOffset) == 1
    }

    private var lastValue: ArraySlice<UInt8>? {
        guard let last = parameters.last, let length = last.valueLength else { return nil }
        return values.bytes[Int(last.valueOffset)..<Int(last.valueOffset + length)]
    }

    /// The first statement, with the keys of all of them: they differ in nothing else.
    fileprivate static func joining(keysOf statements: [SQL]) -> SQL {
        var array: [UInt8] = Array((statements[0].lastValue ?? []).prefix(countOffset))
        for shift in [24, 16, 8, 0] { array.append(UInt8(truncatingIfNeeded: statements.count >> shift)) }
        array += (statements[0].lastValue ?? []).dropFirst(countOffset + 4).prefix(4)
        for statement in statements { array += (statement.lastValue ?? []).dropFirst(countOffset + 8) }
        return statements[0].replacingLastValue(array)
    }
}
