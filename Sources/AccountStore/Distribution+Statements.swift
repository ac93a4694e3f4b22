extension DistributedTable {
    /// The place in words, as the catalogue query of `concord migrate distribute` names it; `nil` if the table stays on
    /// the coordinator.
    package var place: String? {
        switch placement {
        case .byKey(let key, _): "by \(key)"
        case .reference: "on every node"
        case .oneShard: "in one shard"
        case .local: nil
        }
    }

    /// The statement that moves the table to its place; `nil` if it stays on the coordinator.
    package var statement: String? {
        switch placement {
        case .byKey(let key, let other):
            "SELECT create_distributed_table('\(name)', '\(key)', colocate_with => '\(other ?? "none")')"
        case .reference:
            "SELECT create_reference_table('\(name)')"
        case .oneShard:
            "SELECT create_distributed_table('\(name)', NULL, colocate_with => 'none')"
        case .local: nil
        }
    }
}
