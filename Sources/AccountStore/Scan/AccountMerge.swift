import Postgres

/// Puts the records of accounts together, one at a time, from tables whose rows come in the order of user ids.
struct AccountMerge<Record> {
    /// A table, and the user of its next row.
    private struct Source {
        let table: AccountTable<Record>
        let reader: CopyReader
        /// `nil` after the last row.
        private(set) var user: [UInt8]? = []

        init(_ table: AccountTable<Record>, _ reader: CopyReader) {
            self.table = table
            self.reader = reader
        }

        mutating func advance() throws {
            guard try reader.next() else {
                user = nil
                return
            }
            let next = try reader.row.nextBytes()
            guard let last = user, !next.elementsEqual(last) else { return }
            guard last.lexicographicallyPrecedes(next) else {
                throw PostgresError(.decoding, "rows of \(table.name) are not in the order of user ids")
            }
            user = Array(next)
        }
    }

    private var sources: [Source] = []

    /// Starts to read each table on a connection of its own, so that PostgreSQL sorts them at the same time.
    ///
    /// - `check`: called while PostgreSQL has no rows; throws to stop.
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
        while let user = firstUser {
            guard var record = make(String(decoding: user, as: UTF8.self)) else {
                try forEachRow(of: user) { _ in }
                continue
            }
            try forEachRow(of: user) { try $0.table.read(&$0.reader.row, &record) }
            return record
        }
        return nil
    }

    private mutating func forEachRow(of user: [UInt8], _ body: (Source) throws -> Void) throws {
        for place in sources.indices {
            while sources[place].user == user {
                try body(sources[place])
                try sources[place].advance()
            }
        }
    }

    /// The lowest id of those that are next in their tables.
    private var firstUser: [UInt8]? {
        var first: [UInt8]?
        for source in sources {
            guard let user = source.user else { continue }
            if let first, !user.lexicographicallyPrecedes(first) { continue }
            first = user
        }
        return first
    }

    /// Cancels what was not read to the end.
    func cancel() {
        for source in sources { source.reader.cancel() }
    }
}
