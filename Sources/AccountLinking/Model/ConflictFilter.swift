/// A filter for lists of conflicts. `nil` fields do not filter.
package struct ConflictFilter: Sendable, Hashable {
    package var state: ConflictFacts.ShownState?
    package var user: UserID?
    package var provider: ProviderID?
    package var kind: ConflictKind?
    /// Earliest opening, inclusive.
    package var openedSince: Timestamp?
    /// Latest opening, exclusive.
    package var openedBefore: Timestamp?

    package init() {}
}
