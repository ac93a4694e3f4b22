extension LinkPolicy {
    /// Returns true if `account` must still prove its second factor.
    ///
    /// - `prover`: the account whose second factor the request or its session has proven.
    func needsSecondFactor(_ account: Account, provenBy prover: UserID?) -> Bool {
        requiresEnrolledSecondFactors && account.hasSecondFactor && prover != account.id
    }
}

/// The session that enrols or withdraws a second factor.
package struct FactorSession: Sendable, Hashable {
    /// The method of its sign-in (`sign_in_provider`).
    package var signInProvider: String
    /// True if it has proven a second factor of the account.
    package var hasProvenSecondFactor: Bool
    /// True if its sign-in is recent enough (`reauthentication`).
    package var isRecent: Bool

    package init(signInProvider: String, hasProvenSecondFactor: Bool, isRecent: Bool) {
        self.signInProvider = signInProvider
        self.hasProvenSecondFactor = hasProvenSecondFactor
        self.isRecent = isRecent
    }

    /// False for a sign-in that no second factor can follow: an anonymous one, one by a phone that would receive both
    /// factors, or one for which another party is responsible.
    fileprivate var allowsSecondFactor: Bool {
        !["anonymous", "custom", ProviderID.phone.rawValue, ProviderID.gameCenter.rawValue].contains(signInProvider)
    }
}

/// The refusal of every enrolment of a factor of that kind; `nil` if policy allows it. Known before the account is
/// read.
package func refusalOfEnrollment(of kind: SecondFactorKind, _ policy: LinkPolicy) -> Verdict<Refusal>? {
    guard !policy.enrollableSecondFactors.contains(kind) else { return nil }
    return switch kind {
    case .phone: Verdict(.enrollFactorNotEnabled, .messageFactorsDisabled)
    case .totp: Verdict(.enrollFactorNotEnabled, .totpFactorsDisabled)
    }
}

/// Decides whether the second factor of a request exists: row G10.
///
/// - `factor`: the named factor of the account; `nil` if the account has none such.
package func decideFindSecondFactor(_ factor: SecondFactor?) -> Lookup<SecondFactor, Refusal> {
    factor.map(Lookup.found) ?? .refused(.unknownSecondFactor)
}

extension Verdict<Refusal> {
    fileprivate static let unknownSecondFactor = Self(.withdrawUnknownFactor, .secondFactorNotFound)
}

/// Decides whether a session enrols a second factor: rows G. Every other session ends, because one factor was enough to
/// open it.
///
/// - `enrolled`: the account's second factors.
/// - `new`: the factor to enrol; only its kind and number matter.
package func decideEnrollSecondFactor(
    policy: LinkPolicy,
    account: Account,
    enrolled: [SecondFactor],
    new: SecondFactor,
    session: FactorSession
) -> Verdict<UpdateDecision> {
    if let refusal = refusalOfEnrollment(of: new.kind, policy) {
        return Verdict(refusal.rule, .refuse(refusal.decision))
    }
    if account.isDisabled { return Verdict(.enrollAccountDisabled, .refuse(.userDisabled)) }
    guard session.allowsSecondFactor else {
        return Verdict(.enrollUnsupportedFirstFactor, .refuse(.firstFactorNotEligible))
    }
    // A former holder of the address must not lock the present one out for good. Trust for new addresses alone may have
    // admitted the former holder.
    guard policy.isProven(account) else { return Verdict(.enrollNeedsProvenEmail, .refuse(.unverifiedEmail)) }
    if let refusal = refusal(of: session, policy: policy, account: account) { return refusal }
    if let number = new.number, enrolled.contains(where: { $0.number == number }) {
        return Verdict(.factorAlreadyEnrolled, .refuse(.secondFactorExists))
    }
    guard enrolled.count < SecondFactor.countMax else {
        return Verdict(.tooManyFactors, .refuse(.secondFactorLimitExceeded))
    }
    var change = AccountChange()
    change.secondFactors = enrolled + [new]
    change.endsSessions = true
    return Verdict(.factorEnrolled, .apply(account.id, change, issuesTokens: true))
}

/// Decides whether a session withdraws a second factor: rows G. Every other session ends.
///
/// - `withdrawn`: `nil` if the request contains no valid id.
package func decideWithdrawSecondFactor(
    policy: LinkPolicy,
    account: Account,
    enrolled: [SecondFactor],
    withdrawn: SecondFactorID?,
    session: FactorSession
) -> Verdict<UpdateDecision> {
    if account.isDisabled { return Verdict(.enrollAccountDisabled, .refuse(.userDisabled)) }
    guard enrolled.contains(where: { $0.id == withdrawn }) else {
        let unknown = Verdict.unknownSecondFactor
        return Verdict(unknown.rule, .refuse(unknown.decision))
    }
    if let refusal = refusal(of: session, policy: policy, account: account) { return refusal }
    var change = AccountChange()
    change.secondFactors = enrolled.filter { $0.id != withdrawn }
    change.endsSessions = true
    return Verdict(.factorWithdrawn, .apply(account.id, change, issuesTokens: true))
}

/// The refusal of a session that is old or has not proven the second factor: it may be stolen.
private func refusal(of session: FactorSession, policy: LinkPolicy, account: Account) -> Verdict<UpdateDecision>? {
    if policy.needsSecondFactor(account, provenBy: session.hasProvenSecondFactor ? account.id : nil) {
        return Verdict(.enrollNeedsSecondFactor, .refuse(.credentialTooOld))
    }
    return session.isRecent ? nil : Verdict(.enrollNeedsRecentSignIn, .refuse(.credentialTooOld))
}

/// Decides whether an administrator replaces the second factors of an account: rows G. Policy about clients does not
/// apply. The address must be proven, because it is the only recovery. No tokens are issued.
///
/// - `account`: after the rest of the request.
/// - `wanted`: the new factors, in order.
package func decideReplaceSecondFactors(
    account: Account,
    enrolled: [SecondFactor],
    wanted: [SecondFactor]
) -> Verdict<UpdateDecision> {
    if wanted == enrolled { return Verdict(.factorsReplaced, .unchanged(account.id)) }
    guard wanted.isEmpty || account.isEmailVerified else {
        return Verdict(.replaceFactorsNeedsProvenEmail, .refuse(.unverifiedEmail))
    }
    guard wanted.count <= SecondFactor.countMax else {
        return Verdict(.replaceTooManyFactors, .refuse(.secondFactorLimitExceeded))
    }
    var change = AccountChange()
    change.secondFactors = wanted
    // Renaming a factor ends no session.
    change.endsSessions = wanted.map(\.identifyingPart) != enrolled.map(\.identifyingPart)
    return Verdict(.factorsReplaced, .apply(account.id, change, issuesTokens: false))
}

extension SecondFactor {
    fileprivate struct IdentifyingPart: Hashable {
        let id: SecondFactorID
        let method: Method
    }

    fileprivate var identifyingPart: IdentifyingPart { IdentifyingPart(id: id, method: method) }
}

/// Decides whether the mail about a new second factor removes the factor: rows G. A refusal leaves the code usable:
/// after recovering the address, its owner can use it. No tokens are issued. Every session ends, because one of them
/// enrolled the factor.
///
/// - `account`: the account of the code; `nil` if it is gone.
/// - `address`: the recipient of the mail. A former address of the account removes nothing.
package func decideRevertSecondFactor(
    account: Account?,
    enrolled: [SecondFactor],
    added: SecondFactorID,
    address: EmailAddress
) -> Verdict<UpdateDecision> {
    guard let account, account.email?.address == address, enrolled.contains(where: { $0.id == added }) else {
        return Verdict(.revertFactorCodeStale, .refuse(.invalidEmailCode))
    }
    if account.isDisabled { return Verdict(.revertFactorAccountDisabled, .refuse(.userDisabled)) }
    var change = AccountChange()
    change.secondFactors = enrolled.filter { $0.id != added }
    change.endsSessions = true
    return Verdict(.factorReverted, .apply(account.id, change, issuesTokens: false))
}

/// Decides whether a code goes to a number that is, or becomes, a second factor: rows G.
///
/// - `isRegionAllowed`: the project sends messages to the number's region; true for a fictional number.
/// - Returns: the refusal; `nil` if the code is sent.
package func decideSendFactorCode(isRegionAllowed: Bool) -> Verdict<Refusal?> {
    isRegionAllowed ? Verdict(.factorCodeSent, nil) : Verdict(.factorRegionNotAllowed, .messageRegionNotAllowed)
}

/// Decides whether a sign-in that waits for its second factor continues: rows G. The first factor is decided again once
/// the second is proven.
///
/// - `account`: the account of the first factor; `nil` if it is gone.
/// - `sessionEpoch`: the account's epoch at the first factor. An event that ends sessions, such as a new password, ends
///   the sign-in too.
/// - `isOriginGone`: the first factor was to be linked to the account of a session that has ended.
/// - Returns: the refusal; `nil` if it continues.
package func decideContinueSignIn(account: Account?, sessionEpoch: Int64, isOriginGone: Bool) -> Verdict<Refusal?> {
    guard let account else { return Verdict(.pendingSignInStale, .invalidPendingSignIn) }
    if account.isDisabled { return Verdict(.pendingSignInAccountDisabled, .userDisabled) }
    guard account.sessionEpoch == sessionEpoch, !isOriginGone else {
        return Verdict(.pendingSignInStale, .invalidPendingSignIn)
    }
    return Verdict(.pendingSignInContinued, nil)
}

/// Decides whether the second step of a sign-in ends in the account that proved its second factor: rows G. The address
/// or identity may belong to another account by now.
///
/// - `decision`: the decision about the first factor, with the second one proven.
/// - Returns: the refusal; `nil` if it does, and for a decision that refuses already.
package func decideFinishSignIn(_ decision: SignInDecision, of user: UserID) -> Verdict<Refusal>? {
    switch decision {
    case .refuse: nil
    case .signIn(let id, _, emailWasRecycled: _) where id == user: nil
    case .signIn, .createUser, .conflict, .secondFactorRequired: Verdict(.pendingSignInStale, .invalidPendingSignIn)
    }
}
