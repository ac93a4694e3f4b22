import Postgres

/// Puts the records of accounts together, one at a time, from tables whose rows come in the order of user ids.
struct AccountMerge<Record> {
    /// A table, and the user of its next row.
    private struct Source {
        let table: AccountTable<Record>
        private let connection: PostgresConnection
        private var reader: CopyReader
        private var row = CopiedRow()
        private(set) var isOver = false
        /// The user of the row. Keeps its memory.
        private(set) var user: [UInt8] = []
        /// The first eight bytes of the user, in the order of users. Most comparisons need no more.
        private(set) var prefix: UInt64 = 0

        init(
            _ table: AccountTable<Record>,
            _ scope: AccountScope,
            on connection: PostgresConnection,
            _ check: @escaping () throws -> Void
        ) throws {
            self.table = table
            self.connection = connection
            reader = try CopyReader(table.rows(scope), on: connection, check: check)
        }

        /// Sends the query of the next range. The rows of the range before must have been read.
        mutating func begin(_ range: AccountScope, _ check: @escaping () throws -> Void) throws {
            reader = try CopyReader(table.rows(range), on: connection, check: check)
            isOver = false
        }

        func cancel() { reader.cancel() }

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

        func follows(_ id: String) -> Bool { id.utf8.lexicographicallyPrecedes(user) }

        func precedes(_ other: Source) -> Bool {
            prefix == other.prefix ? user.lexicographicallyPrecedes(other.user) : prefix < other.prefix
        }
    }

    private var sources: [Source] = []
    /// The ranges of accounts that are not read to the end, in order.
    private var ranges: ArraySlice<AccountScope>
    /// The last account of the current range; `nil` in the last range.
    private var rangeEnd: String?
    private let readsUsersFirst: Bool
    private let check: () throws -> Void

    /// Starts to read each table on a separate connection, so that PostgreSQL sorts them at the same time.
    ///
    /// On Citus, the coordinator sorts all rows of a query, so the accounts are read in ranges: it sorts as much as
    /// memory holds, and the shards answer by index. The accounts of one range are read at nearly the same time.
    /// - `check`: called while PostgreSQL has no rows, and before the first one; throws to stop.
    init(
        _ tables: [AccountTable<Record>],
        _ scope: AccountScope,
        _ connections: SnapshotConnections,
        check: @escaping () throws -> Void
    ) throws {
        let cuts = connections.isDistributed ? try connections.cuts(scope, check) : []
        try self.init(tables, scope, connections, cutAt: cuts, check: check)
    }

    /// - `cuts`: the last account of each range but the last one, in the order of ids.
    init(
        _ tables: [AccountTable<Record>],
        _ scope: AccountScope,
        _ connections: SnapshotConnections,
        cutAt cuts: [String],
        check: @escaping () throws -> Void
    ) throws {
        ranges = scope.ranges(cutAt: cuts)[...]
        rangeEnd = ranges.first?.last
        readsUsersFirst = connections.isDistributed
        self.check = check
        do {
            for (table, connection) in zip(tables, connections.forTables) {
                // Without an index, each range would read the whole table.
                let scope = table.hasUserIndex ? ranges.first ?? scope : scope
                sources.append(try Source(table, scope, on: connection, check))
                if sources.count == 1, readsUsersFirst { try sources[0].advance() }
            }
            for place in sources.indices.dropFirst(readsUsersFirst ? 1 : 0) { try sources[place].advance() }
            try check()
        } catch {
            cancel()
            throw error
        }
    }

    /// Goes to the next range. Returns false after the last one.
    ///
    /// On Citus, the first table is read before the others begin: any change of an account during the read then shows
    /// in the version that it has later.
    private mutating func beginNextRange() throws -> Bool {
        _ = ranges.popFirst()
        guard let range = ranges.first else { return false }
        rangeEnd = range.last
        var begun: [Int] = []
        for place in sources.indices where sources[place].table.hasUserIndex {
            try sources[place].begin(range, check)
            if place == 0, readsUsersFirst { try sources[place].advance() } else { begun.append(place) }
        }
        for place in begun { try sources[place].advance() }
        return true
    }

    /// Returns false if the next row of a table without an index is of an account of a later range.
    private func isInRange(_ source: Source) -> Bool { rangeEnd.map { !source.follows($0) } ?? true }

    /// Reads all rows of the next user into a record.
    ///
    /// - `make`: makes the record of a user id; `nil` skips the rows.
    /// - Returns: `nil` after the last user.
    /// - Throws: `PostgresError`; the error of `check`.
    mutating func next(_ make: (String) -> Record?) throws -> Record? {
        while true {
            guard let first = firstSource, isInRange(sources[first]) else {
                guard try beginNextRange() else { return nil }
                continue
            }
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
        for source in sources { source.cancel() }
    }
}
