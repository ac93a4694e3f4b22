/// Everything that decides whether the owner of an account undoes a merge into it.
package struct MergeUndoByOwner: Sendable, Hashable {
    /// The session is of the account that stayed.
    package var isOfSurvivor: Bool
    /// Owners merged the accounts, with a session of each.
    package var isMergedByOwners: Bool
    package var isCommitted: Bool
    /// The undo period is not over.
    package var isInTime: Bool
    package var hasLaterChanges: Bool
    package var isSessionRecent: Bool
    /// The account has a second factor that the session has not proven.
    package var lacksSecondFactor: Bool

    package init(
        isOfSurvivor: Bool,
        isMergedByOwners: Bool,
        isCommitted: Bool,
        isInTime: Bool,
        hasLaterChanges: Bool,
        isSessionRecent: Bool,
        lacksSecondFactor: Bool
    ) {
        self.isOfSurvivor = isOfSurvivor
        self.isMergedByOwners = isMergedByOwners
        self.isCommitted = isCommitted
        self.isInTime = isInTime
        self.hasLaterChanges = hasLaterChanges
        self.isSessionRecent = isSessionRecent
        self.lacksSecondFactor = lacksSecondFactor
    }
}

package enum MergeUndoByOwnerRefusal: Sendable, Hashable {
    /// For other accounts the merge does not exist.
    case unknown
    /// An administrator decided that one person owns both accounts.
    case needsAdministrator
    case undo(MergeUndoRefusal)
    case signInAgain
    case secondFactorRequired
}

/// Decides whether the owner of an account undoes a merge into it: rows H11 and H12, H7 to H9, H13 and H14, H10.
///
/// The undo takes methods from the account, so its session must be as good as for a merge. The other account has no
/// session, and gets none. Later changes are neither overwritten nor left behind.
///
/// H7 to H9 come first, so that an owner does not sign in again for an undo that is then refused.
/// - Returns: `nil` as decision if the merge is undone.
package func decideUndoMergeByOwner(_ facts: MergeUndoByOwner) -> Verdict<MergeUndoByOwnerRefusal?> {
    guard facts.isOfSurvivor else { return Verdict(.ownerUndoNotSurvivor, .unknown) }
    guard facts.isMergedByOwners else { return Verdict(.ownerUndoByAdministrator, .needsAdministrator) }
    let undo = decideUndoMerge(
        isCommitted: facts.isCommitted,
        isInTime: facts.isInTime,
        hasLaterChanges: facts.hasLaterChanges,
        keepsLaterChanges: false
    )
    switch undo.decision {
    case .refuse(let refusal): return Verdict(undo.rule, .undo(refusal))
    case .undo: break
    }
    guard facts.isSessionRecent else { return Verdict(.ownerUndoNeedsRecentSignIn, .signInAgain) }
    guard !facts.lacksSecondFactor else { return Verdict(.ownerUndoNeedsSecondFactor, .secondFactorRequired) }
    return Verdict(undo.rule, nil)
}
