/// A sign-in by a verified custom token: rows C.
///
/// The backend that signed the token is responsible for the user. So sign-up policy and second factors do not apply,
/// and addresses are not matched.
package struct SignInWithCustomTokenQuestion {
    /// The account with the `uid` of the token.
    package var existing: Account?
    /// True if the account with this id was merged into another. A new account would be mistaken for it.
    package var isMergedAway: Bool

    package init(existing: Account?, isMergedAway: Bool) {
        self.existing = existing
        self.isMergedAway = isMergedAway
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        var change = AccountChange()
        guard let existing else {
            if isMergedAway { return Verdict(.customTokenAccountMerged, .refuse(.accountMerged)) }
            change.usesCustomTokens = true
            return Verdict(.signUpByCustomToken, .createUser(change))
        }
        if existing.isDisabled { return Verdict(.customTokenAccountDisabled, .refuse(.userDisabled)) }
        if !existing.usesCustomTokens { change.usesCustomTokens = true }
        return Verdict(.signInByCustomToken, .signIn(existing.id, change, emailWasRecycled: false))
    }
}

extension SignInWithCustomTokenQuestion: Question {
    package static let name = "signInWithCustomToken"

    package enum CodingKeys: String, CodingKey {
        case existing
        case isMergedAway = "mergedAway"
    }

    package var accounts: [Account] { [existing].compactMap(\.self) }

    package mutating func rename(by names: inout Pseudonyms) { existing?.rename(by: &names) }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .accountDisabled: existing?.isDisabled.toggle()
        case .providerEnabled, .emailTrusted, .emailProven, .emailTaken, .numberTaken, .identityLinked,
            .providerLinked, .createsUsers, .sessionRecent, .passwordRight, .passwordLocked, .proofGiven,
            .methodQuarantined, .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }
}
