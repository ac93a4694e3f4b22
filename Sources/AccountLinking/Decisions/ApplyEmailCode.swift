/// A mailed code that changes the address of an account, as recorded when it was sent.
package enum EmailCodeChange: Sendable, Hashable {
    /// `VERIFY_AND_CHANGE_EMAIL`, sent to the new address.
    ///
    /// - `sentFor`: the account's address at that time; `nil` if it had none.
    /// - `sessionEpoch`: the account's epoch at that time. A password reset evicts an intruder, and also voids the
    ///   address change that the intruder began.
    case verifyAndChange(to: EmailAddress, sentFor: EmailAddress?, sessionEpoch: Int64)
    /// `RECOVER_EMAIL`, sent to a former address of the account (`decideReplaceAddress`).
    ///
    /// - `ownerCameLater`: the account that owns the address now is younger than the code. It may have been created to
    ///   keep the address from its owner.
    /// - `since`: the account's additions since the mail, if the address was proven at that time; otherwise `nil`.
    case recover(initial: EmailAddress, ownerCameLater: Bool, since: AccountAdditions?)
}

/// Methods and second factors that are no older than a recovery mail. A thief may have added them.
package struct AccountAdditions: Sendable, Hashable {
    /// Without mailed links, which go to the recovered address.
    package var methods: Set<SignInMethod> = []
    /// Second factors that are older; `nil` if none is younger.
    package var olderSecondFactors: [SecondFactor]?

    package var isEmpty: Bool { methods.isEmpty && olderSecondFactors == nil }
}

extension UserRecord {
    /// Returns the methods and second factors that the account has had only since `start`. A password counts even if
    /// the account has no address, because it works again with the recovered one.
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

/// Decides the effect of a mailed code on the address of an account: rows U9 to U15 and U28 to U30. No tokens are
/// issued.
///
/// A refusal leaves a recovery code usable, so that a temporary obstacle cannot void it. Every other answer uses the
/// code.
///
/// - `account`: the account of the code; `nil` if it is gone.
/// - `code`: `nil` if it changes no address.
/// - `owner`: the current owner of the code's address.
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
            // The account belongs to the person who enrolled the factor, the address to the person who proves it (U16).
            return Verdict(.recoveryOfStrangersAccount, .refuse(.invalidEmailCode))
        } else {
            recovery = .firstProof(of: initial, by: account)
        }
        guard let owner, owner.id != account.id else {
            return Verdict(recovery.rule, .apply(account.id, recovery.decision, issuesTokens: false))
        }
        // The code proves the mailbox only. An older account keeps its address: the mailbox's reader may own it, and
        // the code may belong to an account that an intruder registered.
        guard !owner.isEmailVerified, ownerCameLater else {
            return Verdict(.recoveryEmailExists, .refuse(.emailExists))
        }
        return Verdict(.decoyGivesWay, .takeAddress(account.id, recovery.decision, from: owner.id, .addressGivenUp))
    }
}

extension Verdict<AccountChange> {
    /// The address was proven before it was replaced, so its reader gets the account back. Methods and second factors
    /// that a thief may have added since are removed.
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

    /// The address was never proven, so an intruder may have registered the account.
    fileprivate static func firstProof(of address: EmailAddress, by account: Account) -> Self {
        var change = AccountChange.takeover(of: account, proof: .emailCode)
        if account.email?.address != address { change.email = .set(address, proof: .emailCode) }
        return Verdict(.takeoverByRecovery, change)
    }
}
