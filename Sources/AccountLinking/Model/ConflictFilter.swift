/// The conflicts that an operator wants to see; what is `nil` does not narrow them.
package struct ConflictFilter: Sendable, Hashable {
    package var state: ConflictFacts.ShownState?
    package var user: UserID?
    package var provider: ProviderID?
    package var kind: ConflictKind?
    /// Opened at that time or later.
    package var openedSince: Timestamp?
    /// Opened before that time.
    package var openedBefore: Timestamp?

    package init() {}
}
