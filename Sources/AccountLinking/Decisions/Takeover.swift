extension AccountChange {
    /// The owner of the address has come, and until now nobody had shown to be that: whatever somebody else may have
    /// put there to get back in goes, into quarantine (rows I9 and M3).
    ///
    /// Everything is removed whether or not the account has it: a password kept unusable counts as well.
    static func takeover(of account: Account, proof: EmailProof) -> Self {
        var change = AccountChange()
        change.email = .prove(proof)
        change.password = .remove
        change.emailLink = false
        change.phone = .remove
        change.unlinkedProviders = Set(account.linkedProviders.keys)
        change.quarantinesRemovals = true
        change.endsSessions = true
        change.voidsOutstandingProofs = true
        return change
    }
}

extension AccountChange {
    /// The owner of the address has come for another account, and nobody had shown to be that for this one: the address goes, and
    /// what lets anybody in by it. The password is suspended as at a takeover, every session ends, and every code and open conflict
    /// is void, because they went to that address. Providers and number stay: they are whoever's made the account.
    static let addressGivenUp: Self = {
        var change = AccountChange()
        change.email = .remove
        change.password = .remove
        change.emailLink = false
        change.quarantinesRemovals = true
        change.endsSessions = true
        change.voidsOutstandingProofs = true
        return change
    }()
}

/// Which of the outstanding codes of an account become void.
package enum VoidedCodes: Sendable, Hashable, CaseIterable {
    case all
    /// All codes but those that undo an intruder's change: codes that recover an address or remove a second factor.
    case allButRecovery
    /// All codes but recovery codes that went to an address that was proven at the time.
    case allButProvenRecovery
    /// Only codes that change the address.
    case addressChanges
}

extension LinkPolicy {
    /// What becomes of the codes of `account` where somebody shows for the first time that its address is theirs.
    ///
    /// All of them are void as a rule. One that goes to an address which somebody had proven is no sign of who is
    /// right: an owner, whose stolen session moved the account to an address of the thief's, and a thief, who moved an account
    /// of their own to the owner's address and waits, look the same. But where the account asks for a second factor, nobody is
    /// in it who has not shown that. Then there is nothing that an owner would lose by the code, and a way back for one whom
    /// the thief locked out with a factor of the thief's own.
    package func codesVoided(byTakeoverOf account: Account) -> VoidedCodes {
        needsSecondFactor(account, provenBy: nil) ? .allButProvenRecovery : .all
    }
}
