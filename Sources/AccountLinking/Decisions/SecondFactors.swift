extension LinkPolicy {
    /// Whether `account` still has to show its second factor.
    ///
    /// - `prover`: the account whose second factor this request (or the session that makes it) has proven.
    func needsSecondFactor(_ account: Account, provenBy prover: UserID?) -> Bool {
        requiresEnrolledSecondFactors && account.hasSecondFactor && prover != account.id
    }
}

/// The session that enrols or withdraws a second factor.
package struct FactorSession: Sendable, Hashable {
    /// How it signed in (`sign_in_provider`).
    package var signInProvider: String
    /// Whether it has shown a second factor of the account.
    package var hasProvenSecondFactor: Bool
    /// Whether its sign-in is recent enough (`reauthentication`).
    package var isRecent: Bool

    package init(signInProvider: String, hasProvenSecondFactor: Bool, isRecent: Bool) {
        self.signInProvider = signInProvider
        self.hasProvenSecondFactor = hasProvenSecondFactor
        self.isRecent = isRecent
    }

    /// Sign-ins that no second factor can follow: they are none, or whoever has them could receive the second as well, or
    /// somebody else answers for the user.
    fileprivate var allowsSecondFactor: Bool {
        !["anonymous", "custom", ProviderID.phone.rawValue, ProviderID.gameCenter.rawValue].contains(signInProvider)
    }
}

/// The refusal of every enrolment of such a second factor; `nil` if policy allows them. Known before the account is read.
package func refusalOfEnrollment(of kind: SecondFactorKind, _ policy: LinkPolicy) -> Verdict<Refusal>? {
    guard !policy.enrollableSecondFactors.contains(kind) else { return nil }
    return switch kind {
    case .phone: Verdict(.enrollFactorNotEnabled, .messageFactorsDisabled)
    case .totp: Verdict(.enrollFactorNotEnabled, .totpFactorsDisabled)
    }
}

/// Decides which second factor a request uses: row G10.
///
/// - `factor`: the factor of the account that the request names; `nil` if the account has no such factor.
package func decideFindSecondFactor(_ factor: SecondFactor?) -> Lookup<SecondFactor, Refusal> {
    factor.map(Lookup.found) ?? .refused(.unknownSecondFactor)
}

extension Verdict<Refusal> {
    fileprivate static let unknownSecondFactor = Self(.withdrawUnknownFactor, .secondFactorNotFound)
}

/// Decides whether a session enrols a second factor: rows G.
///
/// Total and pure; the first matching rule wins. Every other session ends: those that one factor opened must not outlive
/// the decision to ask for two.
///
/// - `enrolled`: the second factors that the account has.
/// - `new`: the one to be enrolled; only its kind and number matter.
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
    // A former holder of the address, whom a word for new addresses let in, must not keep it from the present one for good.
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

/// Decides whether a session withdraws a second factor: rows G. Every other session ends, as after every change of what
/// somebody has to show.
///
/// Total and pure; the first matching rule wins.
///
/// - `withdrawn`: `nil` if the request names it by something that is no id.
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

/// A session that has not shown the second factor, or signed in long ago, changes none: a stolen one must not.
private func refusal(of session: FactorSession, policy: LinkPolicy, account: Account) -> Verdict<UpdateDecision>? {
    if policy.needsSecondFactor(account, provenBy: session.hasProvenSecondFactor ? account.id : nil) {
        return Verdict(.enrollNeedsSecondFactor, .refuse(.credentialTooOld))
    }
    return session.isRecent ? nil : Verdict(.enrollNeedsRecentSignIn, .refuse(.credentialTooOld))
}

/// Decides whether an administrator replaces the second factors of an account: rows G. What clients may enrol does not
/// matter; that the address is proven does, because it is the way back. No tokens are issued.
///
/// Total and pure; the first matching rule wins.
///
/// - `account`: as the rest of the request leaves it.
/// - `wanted`: what the account is to have, in this order.
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
    // Another name for a factor is no reason to sign anybody out.
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

/// Decides whether the mail about a new second factor removes the factor: rows G.
///
/// Total and pure; the first matching rule wins. A refusal uses nothing up: who recovers the address can take the factor off
/// afterwards. No tokens are issued, and every session ends: whoever enrolled the factor had one.
///
/// - `account`: the account the code was made for; `nil` when it is gone.
/// - `address`: where the mail went. Whoever has an address that is not the account's any more has no say in it.
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

/// Decides whether a code is sent to a number that is, or is to become, a second factor: rows G.
///
/// - `isRegionAllowed`: whether the project sends messages to where the number is; true for a fictional one.
/// - Returns: why not; `nil` when it is.
package func decideSendFactorCode(isRegionAllowed: Bool) -> Verdict<Refusal?> {
    isRegionAllowed ? Verdict(.factorCodeSent, nil) : Verdict(.factorRegionNotAllowed, .messageRegionNotAllowed)
}

/// Decides whether a sign-in that waits for a second factor goes on: rows G. What the first factor amounts to is asked
/// again afterwards, with the second one proven.
///
/// - `account`: the account whose first factor was right; `nil` when it is gone.
/// - `sessionEpoch`: the account's epoch then. What ends sessions ends this too: the password may be another by now.
/// - `isOriginGone`: the first factor was to be attached to the account of a session, and that session has ended.
/// - Returns: why not; `nil` when it does.
package func decideContinueSignIn(account: Account?, sessionEpoch: Int64, isOriginGone: Bool) -> Verdict<Refusal?> {
    guard let account else { return Verdict(.pendingSignInStale, .invalidPendingSignIn) }
    if account.isDisabled { return Verdict(.pendingSignInAccountDisabled, .userDisabled) }
    guard account.sessionEpoch == sessionEpoch, !isOriginGone else {
        return Verdict(.pendingSignInStale, .invalidPendingSignIn)
    }
    return Verdict(.pendingSignInContinued, nil)
}

/// Decides whether the second step of a sign-in ends in the account that it began for: rows G. The address or the identity may
/// be another account's by now, and the second factor was proven for this one.
///
/// - `decision`: what the first factor amounts to, with the second one proven.
/// - Returns: why not; `nil` when it does, and for a refusal, which stands.
package func decideFinishSignIn(_ decision: SignInDecision, of user: UserID) -> Verdict<Refusal>? {
    switch decision {
    case .refuse: nil
    case .signIn(let id, _, emailWasRecycled: _) where id == user: nil
    case .signIn, .createUser, .conflict, .secondFactorRequired: Verdict(.pendingSignInStale, .invalidPendingSignIn)
    }
}
