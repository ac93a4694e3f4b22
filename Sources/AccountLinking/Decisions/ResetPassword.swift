/// The completion of a password reset by a mailed code: rows R. By default it evicts intruders: it suspends linked
/// providers, and releases the number. It issues no tokens.
package struct ResetPasswordQuestion {
    /// The account of the code; `nil` if it is gone.
    package var account: Account?
    /// The address the code was sent to.
    package var address: EmailAddress

    package init(account: Account?, address: EmailAddress) {
        self.account = account
        self.address = address
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<UpdateDecision> {
        guard policy.allowsPasswordSignIn else {
            return Verdict(.resetPasswordNotEnabled, .refuse(.operationNotAllowed))
        }
        guard let account, let email = account.email, email.address == address else {
            return Verdict(.resetCodeStale, .refuse(.invalidEmailCode))
        }
        if account.isDisabled { return Verdict(.resetAccountDisabled, .refuse(.userDisabled)) }

        var change = AccountChange()
        change.password = .set
        change.endsSessions = true
        let wasProven = policy.isProven(account)
        if !wasProven {
            // This is the first proof of the address, so codes and conflicts of earlier users are void.
            change.email = .prove(.passwordReset)
            change.voidsOutstandingProofs = true
        }
        if account.linkedProviders.isEmpty, account.phoneNumber == nil {
            return Verdict(.passwordReset, .apply(account.id, change, issuesTokens: false))
        }
        // The policy is for accounts with a known owner. Before the first proof, an intruder may have registered the
        // address and linked the providers.
        guard policy.passwordResetUnlinksProviders || !wasProven else {
            return Verdict(.resetKeepsProviders, .apply(account.id, change, issuesTokens: false))
        }
        change.unlinkedProviders = Set(account.linkedProviders.keys)
        if account.phoneNumber != nil { change.phone = .release }
        change.quarantinesRemovals = true
        let rule: Rule =
            account.linkedProviders.isEmpty
            ? .resetReleasesNumber : account.hasPassword ? .resetUnlinksProviders : .resetSetsFirstPassword
        return Verdict(rule, .apply(account.id, change, issuesTokens: false))
    }
}

extension ResetPasswordQuestion: Question {
    package static let name = "resetPassword"

    package enum CodingKeys: String, CodingKey {
        case account
        case address = "email"
    }

    package var accounts: [Account] { [account].compactMap(\.self) }

    package mutating func rename(by names: inout Pseudonyms) {
        account?.rename(by: &names)
        address.rename(by: &names)
    }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .accountDisabled: account?.isDisabled.toggle()
        case .emailProven: account?.flipEmailProven()
        case .providerEnabled, .emailTrusted, .emailTaken, .numberTaken, .identityLinked, .providerLinked,
            .createsUsers, .sessionRecent, .passwordRight, .passwordLocked, .proofGiven, .methodQuarantined,
            .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }
}
