extension LinkPolicy {
    /// Whether `account` still has to show its second factor.
    ///
    ///
    /// - `prover`: the account whose second factor this request (or the session that makes it) has proven.
    func needsSecondFactor(_ account: Account, provenBy prover: UserID?) -> Bool {
        requiresEnrolledSecondFactors && account.hasSecondFactor && prover != account.id
    }
}
