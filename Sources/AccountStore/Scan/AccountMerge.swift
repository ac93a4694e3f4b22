import Postgres

/// Puts the records of accounts together, one at a time, from tables whose rows come in the order of user ids.
struct AccountMerge<Record> {
    /// A table, and the user of its next row.
    private struct Source {
        let table: AccountTable<Record>
        let reader: CopyReader
        private var row = CopiedRow()
        private(set) var isOver = false
        /// The user of the row. Keeps its memory.
        private(set) var user: [UInt8] = []
        /// The first eight bytes of the user, in the order of users. Most comparisons need no more.
        private(set) var prefix: UInt64 = 0

        init(_ table: AccountTable<Record>, _ reader: CopyReader) {
            self.table = table
            self.reader = reader
        }

        /// Goes to the next row. Returns true if it is of the same user.
        @discardableResult
        mutating func advance() throws -> Bool {
            guard try reader.next(&row) else {
                isOver = true
                return false
            }
            let next = try row.nextBytes()
            if next.elementsEqual(user) { return true }
            guard user.lexicographicallyPrecedes(next) else {
                throw PostgresError(.decoding, "rows of \(table.name) are not in the order of user ids")
            }
            user.replaceSubrange(user.indices, with: next)
            prefix = (0..<8).reduce(0) { $0 << 8 | UInt64($1 < user.count ? user[$1] : 0) }
            return false
        }

        /// Reads all rows of the user into the record.
        mutating func readRows(into record: inout Record) throws {
            repeat { try table.read(&row, &record) } while try advance()
        }

        mutating func skipRows() throws {
            while try advance() {}
        }

        func isOf(_ user: [UInt8]) -> Bool { !isOver && self.user == user }

        func precedes(_ other: Source) -> Bool {
            prefix == other.prefix ? user.lexicographicallyPrecedes(other.user) : prefix < other.prefix
        }
    }

    private var sources: [Source] = []

    /// Starts to read each table on a separate connection, so that PostgreSQL sorts them at the same time.
    ///
    /// - `check`: called while PostgreSQL has no rows, and before the first one; throws to stop.
    init(
        _ tables: [AccountTable<Record>],
        _ scope: AccountScope,
        _ connections: SnapshotConnections,
        check: @escaping () throws -> Void
    ) throws {
        for (table, connection) in zip(tables, connections.forTables) {
            sources.append(Source(table, try CopyReader(table.rows(scope), on: connection, check: check)))
        }
        do {
            for place in sources.indices { try sources[place].advance() }
            try check()
        } catch {
            cancel()
            throw error
        }
    }

    /// Reads all rows of the next user into a record.
    ///
    /// - `make`: makes the record of a user id; `nil` skips the rows.
    /// - Returns: `nil` after the last user.
    /// - Throws: `PostgresError`; the error of `check`.
    mutating func next(_ make: (String) -> Record?) throws -> Record? {
        while let first = firstSource {
            let user = sources[first].user
            guard var record = make(String(decoding: user, as: UTF8.self)) else {
                for place in first..<sources.count where sources[place].isOf(user) { try sources[place].skipRows() }
                continue
            }
            for place in first..<sources.count where sources[place].isOf(user) {
                try sources[place].readRows(into: &record)
            }
            return record
        }
        return nil
    }

    /// The first of the tables whose next row is of the lowest user.
    private var firstSource: Int? {
        var first: Int?
        for place in sources.indices where !sources[place].isOver {
            if let first, !sources[place].precedes(sources[first]) { continue }
            first = place
        }
        return first
    }

    /// Cancels what was not read to the end.
    func cancel() {
        for source in sources { source.reader.cancel() }
    }
}
