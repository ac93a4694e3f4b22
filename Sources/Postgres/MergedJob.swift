/// One statement in place of many that look up a row by different keys.
///
/// Most of what a lookup by primary key costs the server is starting a statement, and most of what it costs us is
/// sending one and receiving its answer; the row itself is the smaller part of both.
extension Job {
    /// `jobs` with those that differ only in their key put together. Order among jobs of one batch means nothing.
    static func merging(_ jobs: [QueuedJob<Job>]) -> [QueuedJob<Job>] {
        guard jobs.count > 1 else { return jobs }
        var kept: [QueuedJob<Job>] = []
        var groups: [MergeKey: [QueuedJob<Job>]] = [:]
        for queued in jobs {
            if let key = queued.job.mergeKey {
                groups[key, default: []].append(queued)
            } else {
                kept.append(queued)
            }
        }
        for group in groups.values {
            kept.append(group.count > 1 ? merged(group) : group[0])
        }
        return kept
    }

    private static func merged(_ group: [QueuedJob<Job>]) -> QueuedJob<Job> {
        var queued = group[0]
        let members = group.map(\.job)
        let statement = members[0].statements[0]
        let sql = SQL.merging(members.map { $0.statements[0].sql })
        queued.job = Job(
            [NamedStatement(sql: sql, name: statement.name)],
            keyColumn: members[0].keyColumn,
            members: members
        )
        return queued
    }

    /// What jobs have in common that can be merged.
    private struct MergeKey: Hashable {
        let statement: Int
        let otherValues: [UInt8]
    }

    /// `nil` for a job that stands alone. Statements without a name are parsed each time, and go as they are.
    private var mergeKey: MergeKey? {
        guard keyColumn != nil, members.isEmpty, statements.count == 1, let name = statements[0].name,
            let otherValues = statements[0].sql.valuesBesideKey
        else { return nil }
        return MergeKey(statement: name.number, otherValues: otherValues)
    }

    /// What `answer` to the merged statement means for each member.
    func distribute(_ answer: Answer) -> [(job: Job, answer: Answer)] {
        guard case .success(let results) = answer, let keyColumn, let result = results.first else {
            return members.map { ($0, answer) }
        }
        let rows = result.rowsByValue(ofColumn: keyColumn)
        return members.map { member in
            let key = member.statements[0].sql.key ?? []
            return (member, .success([result.view(ofRows: rows[key] ?? [])]))
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

    /// All parameters but the key.
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
    fileprivate static func merging(_ statements: [SQL]) -> SQL {
        var array: [UInt8] = Array((statements[0].lastValue ?? []).prefix(countOffset))
        for shift in [24, 16, 8, 0] { array.append(UInt8(truncatingIfNeeded: statements.count >> shift)) }
        array += (statements[0].lastValue ?? []).dropFirst(countOffset + 4).prefix(4)
        for statement in statements { array += (statement.lastValue ?? []).dropFirst(countOffset + 8) }
        return statements[0].replacingLastValue(array)
    }
}
