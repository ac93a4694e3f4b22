import Postgres

/// Puts the records of accounts together, one at a time, from tables whose rows come in the order of user ids.
struct AccountMerge<Record> {
    /// A table, and the user of its next row.
    private final class Source {
        private let table: AccountTable<Record>
        private let reader: CopyReader
        /// `nil` after the last row.
        private(set) var user: [UInt8]? = []

        init(_ table: AccountTable<Record>, _ reader: CopyReader) {
            self.table = table
            self.reader = reader
        }

        /// Goes to the next row. Returns true if it is of the same user.
        @discardableResult
        func advance() throws -> Bool {
            guard try reader.next() else {
                user = nil
                return false
            }
            let next = try reader.row.nextBytes()
            guard let last = user, !next.elementsEqual(last) else { return true }
            guard last.lexicographicallyPrecedes(next) else {
                throw PostgresError(.decoding, "rows of \(table.name) are not in the order of user ids")
            }
            user = Array(next)
            return false
        }

        /// Reads all rows of the user into the record.
        func readRows(into record: inout Record) throws {
            repeat { try table.read(&reader.row, &record) } while try advance()
        }

        func skipRows() throws {
            while try advance() {}
        }

        func cancel() {
            reader.cancel()
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
    func next(_ make: (String) -> Record?) throws -> Record? {
        while let user = firstUser {
            let sources = sources.filter { $0.user == user }
            guard var record = make(String(decoding: user, as: UTF8.self)) else {
                for source in sources { try source.skipRows() }
                continue
            }
            for source in sources { try source.readRows(into: &record) }
            return record
        }
        return nil
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
        for source in sources { source.cancel() }
    }
}
