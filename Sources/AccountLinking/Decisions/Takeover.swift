extension AccountChange {
    /// The owner of the address has come, and until now nobody had shown to be that: whatever somebody else may have
    /// put there to get back in goes, into quarantine (rows I9 and M3; `spec/09` 7).
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
