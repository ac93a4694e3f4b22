import AccountLinking
import AccountTestSupport
import Testing

/// The undo of a merge by the owner of the account that stayed.
struct UndoMergeByOwnerRows {
    static let all: [MergeUndoByOwner] = everyPoint { choices in
        MergeUndoByOwner(
            isOfSurvivor: choices.chooseBool(),
            isMergedByOwners: choices.chooseBool(),
            isCommitted: choices.chooseBool(),
            isInTime: choices.chooseBool(),
            hasLaterChanges: choices.chooseBool(),
            isSessionRecent: choices.chooseBool(),
            lacksSecondFactor: choices.chooseBool()
        )
    }

    /// Facts that nothing speaks against.
    private let good = MergeUndoByOwner(
        isOfSurvivor: true,
        isMergedByOwners: true,
        isCommitted: true,
        isInTime: true,
        hasLaterChanges: false,
        isSessionRecent: true,
        lacksSecondFactor: false
    )

    private func decide(_ change: (inout MergeUndoByOwner) -> Void) -> Verdict<MergeUndoByOwnerRefusal?> {
        var facts = good
        change(&facts)
        return decideUndoMergeByOwner(facts)
    }

    @Test func `only one of all points undoes a merge`() {
        #expect(Self.all.filter { decideUndoMergeByOwner($0).decision == nil } == [good])
        #expect(decideUndoMergeByOwner(good) == Verdict(.mergeUndone, nil))
    }

    @Test func `H11: another account learns nothing about the merge`() {
        for facts in Self.all where !facts.isOfSurvivor {
            #expect(decideUndoMergeByOwner(facts) == Verdict(.ownerUndoNotSurvivor, .unknown), "\(facts)")
        }
    }

    @Test func `H12: an owner never undoes what an administrator merged`() {
        for facts in Self.all where facts.isOfSurvivor && !facts.isMergedByOwners {
            let verdict = decideUndoMergeByOwner(facts)
            #expect(verdict == Verdict(.ownerUndoByAdministrator, .needsAdministrator), "\(facts)")
        }
    }

    @Test func `H7 to H9: an owner is refused as every undo is, and leaves no later change`() {
        for facts in Self.all where facts.isOfSurvivor && facts.isMergedByOwners {
            let undo = decideUndoMerge(
                isCommitted: facts.isCommitted,
                isInTime: facts.isInTime,
                hasLaterChanges: facts.hasLaterChanges,
                keepsLaterChanges: false
            )
            guard case .refuse(let refusal) = undo.decision else { continue }
            #expect(decideUndoMergeByOwner(facts) == Verdict(undo.rule, .undo(refusal)), "\(facts)")
        }
        #expect(decide { $0.hasLaterChanges = true } == Verdict(.undoLaterChanges, .undo(.laterChanges)))
    }

    @Test func `H13 and H14: the session is as good as for a merge, and is asked for more only if that helps`() {
        #expect(decide { $0.isSessionRecent = false } == Verdict(.ownerUndoNeedsRecentSignIn, .signInAgain))
        #expect(
            decide { $0.lacksSecondFactor = true } == Verdict(.ownerUndoNeedsSecondFactor, .secondFactorRequired)
        )
        for facts in Self.all {
            guard [.signInAgain, .secondFactorRequired].contains(decideUndoMergeByOwner(facts).decision) else {
                continue
            }
            var better = facts
            (better.isSessionRecent, better.lacksSecondFactor) = (true, false)
            #expect(decideUndoMergeByOwner(better).decision == nil, "\(facts)")
        }
    }
}
