/// A mailed code that changes the address of an account, as it was recorded when it was sent.
package enum EmailCodeChange: Sendable, Hashable {
    /// `VERIFY_AND_CHANGE_EMAIL`, sent to `newAddress`.
    ///
    /// - `sentFor`: the address the account had then; `nil` if none.
    /// - `sessionEpoch`: the account's epoch then. What ends sessions also ends a change that one of them prepared: the
    ///   intruder whom a password reset evicts must not come back through an address change begun before.
    case verifyAndChange(to: EmailAddress, sentFor: EmailAddress?, sessionEpoch: Int64)
    /// `RECOVER_EMAIL`, sent to an address that the account had before (`decideReplaceAddress`).
    ///
    /// - `ownerCameLater`: whether the account that owns the address now was made after the code. Then it has been given the
    ///   address after that, perhaps to keep its owner from coming back.
    /// - `since`: the account's additions since the mail, if the address had been proven by then; `nil` if not.
    case recover(initial: EmailAddress, ownerCameLater: Bool, since: AccountAdditions?)
}

/// The part of an account that is no older than a mail which takes its address back: a thief may have set it up.
package struct AccountAdditions: Sendable, Hashable {
    /// Mailed links aside, which go to the address that comes back.
    package var methods: Set<SignInMethod>
    /// The second factors that are older; `nil` if none is younger.
    package var olderSecondFactors: [SecondFactor]?

    package init(methods: Set<SignInMethod> = [], olderSecondFactors: [SecondFactor]? = nil) {
        self.methods = methods
        self.olderSecondFactors = olderSecondFactors
    }

    package var isEmpty: Bool { methods.isEmpty && olderSecondFactors == nil }
}

extension UserRecord {
    /// The methods and second factors that the account has had since `start` only. A password counts also while the account has
    /// no address: it works again once the address is back.
    package func additions(since start: Timestamp) -> AccountAdditions {
        let account = account
        let present = account.signInMethods + (account.hasPassword && !account.hasEmail ? [.password] : [])
        let methods = present.filter { method in
            let provenAt = methodProofs[method]?.provenAt
            return switch method {
            case .emailLink: false
            case .password: (provenAt ?? passwordUpdatedAt).map { $0 >= start } ?? false
            case .phone: provenAt.map { $0 >= start } ?? false
            case .provider(let provider):
                (linkedProviders[provider]?.linkedAt).map { max($0, provenAt ?? $0) >= start } ?? false
            }
        }
        let older = secondFactors.filter { $0.enrolledAt < start }
        return AccountAdditions(
            methods: Set(methods),
            olderSecondFactors: older.count < secondFactors.count ? older : nil
        )
    }
}

/// Decides the effect of a mailed code on the address of an account: rows U9 to U15 and U28 to U30.
///
/// Total and pure; the first matching rule wins. A refusal leaves a code usable that brings back an address, so that nobody can
/// make it worthless by being in its way for a moment; any other code is used up by every answer. No tokens are issued.
///
/// - `account`: the account the code was made for; `nil` when it is gone.
/// - `code`: `nil` if it changes no address.
/// - `owner`: the account that owns the address of the code now.
package func decideApplyEmailCode(
    policy: LinkPolicy,
    account: Account?,
    code: EmailCodeChange?,
    owner: Account?
) -> Verdict<UpdateDecision> {
    guard let account, let code else { return Verdict(.emailCodeStale, .refuse(.invalidEmailCode)) }
    if account.isDisabled { return Verdict(.emailCodeAccountDisabled, .refuse(.userDisabled)) }
    var change = AccountChange()
    change.endsSessions = true
    switch code {
    case .verifyAndChange(let newAddress, let sentFor, let sessionEpoch):
        guard account.email?.address == sentFor, account.sessionEpoch == sessionEpoch else {
            return Verdict(.emailCodeStale, .refuse(.invalidEmailCode))
        }
        if let owner, owner.id != account.id { return Verdict(.changeCodeEmailExists, .refuse(.emailExists)) }
        if let replaced = account.email, replaced.address != newAddress, !account.hasInitialEmail {
            change.rememberedInitialEmail = replaced.address
        }
        change.email = account.email?.address == newAddress ? .prove(.emailCode) : .set(newAddress, proof: .emailCode)
        return Verdict(.emailChangedByCode, .apply(account.id, change, issuesTokens: false))
    case .recover(let initial, let ownerCameLater, let additions):
        let recovery: Verdict<AccountChange>
        if let additions {
            recovery = .recovering(initial, of: account, without: additions)
        } else if account.email?.address == initial, policy.isProven(account) {
            recovery = .recovering(initial, of: account, without: AccountAdditions())
        } else if policy.needsSecondFactor(account, provenBy: nil) {
            // The account is that of the person who set the factor up. The address goes to who proves it (U16).
            return Verdict(.recoveryOfStrangersAccount, .refuse(.invalidEmailCode))
        } else {
            recovery = .firstProof(of: initial, by: account)
        }
        guard let owner, owner.id != account.id else {
            return Verdict(recovery.rule, .apply(account.id, recovery.decision, issuesTokens: false))
        }
        // The code proves the mailbox. An older account is not asked to make room: whoever reads the mailbox may own that one, and
        // be mailed a code about an account that somebody else once registered under the same address.
        guard !owner.isEmailVerified, ownerCameLater else {
            return Verdict(.recoveryEmailExists, .refuse(.emailExists))
        }
        return Verdict(.decoyGivesWay, .takeAddress(account.id, recovery.decision, from: owner.id, .addressGivenUp))
    }
}

extension Verdict<AccountChange> {
    /// The reader of the mailbox had shown to be that before the address was replaced: the account comes back with it. A thief's
    /// session may have added methods and second factors since, which would keep the owner out or let the thief in.
    fileprivate static func recovering(
        _ address: EmailAddress,
        of account: Account,
        without additions: AccountAdditions
    ) -> Self {
        var change = AccountChange()
        change.email = account.email?.address == address ? .prove(.emailCode) : .set(address, proof: .emailCode)
        change.endsSessions = true
        if additions.isEmpty { return Verdict(.emailRecovered, change) }
        for method in additions.methods {
            switch method {
            case .password: change.password = .remove
            case .emailLink: break
            case .phone: change.phone = .remove
            case .provider(let provider): change.unlinkedProviders.insert(provider)
            }
        }
        change.secondFactors = additions.olderSecondFactors
        change.quarantinesRemovals = !additions.methods.isEmpty
        return Verdict(.recoverySuspendsAdditions, change)
    }

    /// Until now no reader of the mailbox was known, so the account may be an intruder's who registered the address.
    fileprivate static func firstProof(of address: EmailAddress, by account: Account) -> Self {
        var change = AccountChange.takeover(of: account, proof: .emailCode)
        if account.email?.address != address { change.email = .set(address, proof: .emailCode) }
        return Verdict(.takeoverByRecovery, change)
    }
}
