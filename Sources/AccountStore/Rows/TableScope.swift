import Postgres

/// Which rows of a table a statement is about, within a tenant.
enum TableScope: Sendable {
    /// Those that lie in these blocks of the table's file, to its end where there is no last one. Where the table holds no other
    /// tenant's rows, none is asked whose it is: that is a tenth of what reading it costs.
    case blocks(Int64, before: Int64?, holdsOthers: Bool)
    /// Those of some accounts.
    case ids([String])

    /// A condition on a table with a `user_id`.
    func condition(tenant: String) -> SQL {
        switch self {
        case .blocks(_, _, false): place
        case .blocks, .ids: "tenant_id = \(tenant) AND \(place)"
        }
    }

    private var place: SQL {
        switch self {
        case .blocks(let first, nil, _): "ctid >= \(Self.start(first))::tid"
        case .blocks(let first, let end?, _): "ctid >= \(Self.start(first))::tid AND ctid < \(Self.start(end))::tid"
        case .ids(let ids): "user_id = ANY(\(ids))"
        }
    }

    /// Before the first row of a block.
    private static func start(_ block: Int64) -> String { "(\(block),0)" }
}
