import AccountLinking
import Postgres

/// A table that audits or exports read: its columns, and the function that adds a row to the record of an account.
struct AccountTable<Record>: Sendable {
    /// Reads the columns in the order of `columns`.
    typealias Read = @Sendable (inout CopiedRow, inout Record) throws(PostgresError) -> Void

    let name: StaticString
    let columns: SQL
    /// A condition on the rows that are read; `nil` for all rows.
    let filter: SQL?
    /// True if an index finds the rows of a range of accounts.
    let hasUserIndex: Bool
    let read: Read

    init(
        _ name: StaticString,
        _ columns: SQL,
        where filter: SQL? = nil,
        hasUserIndex: Bool = true,
        _ read: @escaping Read
    ) {
        self.name = name
        self.columns = columns
        self.filter = filter
        self.hasUserIndex = hasUserIndex
        self.read = read
    }

    /// The rows of some accounts in the order of user ids. The column's collation is "C", so PostgreSQL compares bytes.
    func rows(_ scope: AccountScope) -> SQL {
        var sql: SQL = "SELECT user_id, \(columns)\nFROM \(SQL(literal: name))\nWHERE \(scope.condition)"
        if let filter { sql.append(" AND \(filter)") }
        sql.append("\nORDER BY user_id")
        return sql
    }
}

/// The accounts of a tenant that are read.
struct AccountScope {
    let tenant: TenantID
    var selection = AccountSnapshots.Selection.all
    /// Skips accounts up to and including this id.
    var after: String?
    /// The last account that is read; `nil` to read to the end.
    var last: String?

    /// The same accounts in ranges, in order.
    ///
    /// - `cuts`: the last account of each range but the last one, in the order of ids.
    func ranges(cutAt cuts: [String]) -> [AccountScope] {
        var (ranges, rest): ([AccountScope], AccountScope) = ([], self)
        for cut in cuts {
            var range = rest
            range.last = cut
            ranges.append(range)
            rest.after = cut
        }
        return ranges + [rest]
    }

    /// A condition on any table with a `user_id`.
    var condition: SQL {
        var condition: SQL = "tenant_id = \(tenant)"
        switch selection {
        case .all: break
        case .users(let users):
            condition.append(" AND user_id IN (''")
            for user in users { condition.append(", \(user)") }
            condition.append(")")
        case .changed(let since):
            condition.append(
                """
                 AND user_id IN (
                    SELECT user_id FROM users
                    WHERE tenant_id = \(tenant) AND (last_login_at >= \(since) OR created_at >= \(since))
                    UNION SELECT user_id FROM account_events
                    WHERE tenant_id = \(tenant) AND occurred_at >= \(since))
                """
            )
        }
        if let after { condition.append(" AND user_id > \(after)") }
        if let last { condition.append(" AND user_id <= \(last)") }
        return condition
    }
}

extension CopiedRow {
    mutating func next() throws(PostgresError) -> Timestamp { Timestamp(try next() as PostgresTimestamp) }
    mutating func next() throws(PostgresError) -> Timestamp? {
        try (next() as PostgresTimestamp?).map { Timestamp($0) }
    }
}
