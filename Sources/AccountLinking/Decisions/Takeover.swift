extension AccountChange {
    /// The first proof of the address, by its owner: every method that an intruder may have set up is suspended (rows
    /// I9 and M3).
    ///
    /// Removes each kind of method even if the account seems to have none, such as a password that is stored but
    /// unusable.
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
    /// The loss of an unproven address to its owner, who proved it for another account. The address and the methods
    /// that depend on it are removed. The password is suspended, every session ends, and every code and open conflict
    /// is void, because they went to that address. Providers and number stay with the person who created the account.
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

/// The outstanding codes of an account that become void.
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
    /// The codes of `account` that the first proof of its address voids: normally all.
    ///
    /// A code that went to a formerly proven address does not show who is right. An owner whose stolen session moved
    /// the account to the thief's address, and a thief who moved an own account to the owner's address, look the same.
    /// But if the account requires a second factor, only its holder has used it. Then the code costs an owner nothing,
    /// and helps one whom a thief has locked out by enrolling a factor.
    package func codesVoided(byTakeoverOf account: Account) -> VoidedCodes {
        needsSecondFactor(account, provenBy: nil) ? .allButProvenRecovery : .all
    }
}
