import Postgres

/// Which rows of a table a statement is about, within a tenant.
enum TableScope: Sendable {
    /// Those that lie in these blocks of the table's file, to its end where there is no last one.
    case blocks(Int64, before: Int64?)
    /// Those of some accounts.
    case ids([String])

    /// A condition on a table with a `user_id`.
    var condition: SQL {
        switch self {
        case .blocks(let first, nil): "ctid >= \(Self.place(first))::tid"
        case .blocks(let first, let end?): "ctid >= \(Self.place(first))::tid AND ctid < \(Self.place(end))::tid"
        case .ids(let ids): "user_id = ANY(\(ids))"
        }
    }

    /// Before the first row of a block.
    private static func place(_ block: Int64) -> String { "(\(block),0)" }
}
