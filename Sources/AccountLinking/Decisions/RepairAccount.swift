/// What becomes of one repair of a plan.
package enum RepairDecision: Sendable, Hashable {
    /// The facts change by this; rows beside them as the repair says.
    case apply(AccountChange)
    case skip(RepairRefusal)
}

/// Why a repair is left out, as people read it. Raw values are written once.
package enum RepairRefusal: String, Sendable, Hashable, CaseIterable {
    case accountGone = "account-gone"
    case accountAppeared = "account-appeared"
    case accountChanged = "account-changed"
    case identifierTaken = "identifier-taken"
    case nothingToRepair = "nothing-to-repair"
    case lastSignInMethod = "last-sign-in-method"

    package var words: String {
        switch self {
        case .accountGone: "the account is gone"
        case .accountAppeared: "there is an account now"
        case .accountChanged: "the account has changed since; plan again"
        case .identifierTaken: "somebody owns it now"
        case .nothingToRepair: "there is nothing to do any more"
        case .lastSignInMethod: "no other method would let the user in"
        }
    }
}

/// Decides whether a repair that was planned is applied to the account as it is now: rows H.
///
/// Total and pure; the first matching rule wins. The same is asked when the plan is made, so that nothing is planned that
/// would not be applied.
///
/// - `account`: `nil` where there is none.
/// - `plannedVersion`: of the account when the plan was made, or as the plan's own steps before have left it; `nil` where
///   there was no account.
/// - `owner`: whose it is that the repair claims; `nil` for nobody's, and for repairs that claim nothing.
/// - `enabledProviders`: those whose credentials are accepted now.
/// - `now`: what is said to have ended has ended by then.
package func decideRepair(
    _ repair: Repair,
    of account: Account?,
    plannedVersion: Int64?,
    owner: UserID?,
    policy: LinkPolicy,
    enabledProviders: Set<ProviderID>,
    now: Timestamp
) -> Verdict<RepairDecision> {
    guard let account else {
        // A claim may be nobody's altogether.
        if plannedVersion == nil, repair.canDoWithoutAccount { return Verdict(.repairApplied, .apply(AccountChange())) }
        return Verdict(.repairAccountGone, .skip(.accountGone))
    }
    guard let plannedVersion else { return Verdict(.repairOrphanReclaimed, .skip(.accountAppeared)) }
    guard account.version == plannedVersion, !repair.needsNoAccount else {
        return Verdict(.repairAccountChanged, .skip(.accountChanged))
    }
    // Whoever edits a plan must not be able to damage what is well.
    guard account.needs(repair, at: now) else { return Verdict(.repairNotApplicable, .skip(.nothingToRepair)) }
    if case .claim = repair, owner != nil { return Verdict(.repairNotApplicable, .skip(.identifierTaken)) }
    let change = repair.change
    if takesLastMethod(change, of: account, policy: policy, enabledProviders: enabledProviders) {
        return Verdict(.repairWouldRemoveLastMethod, .skip(.lastSignInMethod))
    }
    return Verdict(.repairApplied, .apply(change))
}

/// Decides whether a repair that was applied is taken back: rows H.
///
/// - `hasClash`: whether somebody has changed since what the repair had changed.
/// - Returns: whether it is.
package func decideUndoRepair(hasClash: Bool) -> Verdict<Bool> {
    hasClash ? Verdict(.repairUndoClashes, false) : Verdict(.repairUndone, true)
}

/// Who is disabled is judged as if they were not: they may be let in again.
private func takesLastMethod(
    _ change: AccountChange,
    of account: Account,
    policy: LinkPolicy,
    enabledProviders: Set<ProviderID>
) -> Bool {
    guard change.quarantinesRemovals else { return false }
    var left = account.applying(change)
    left.isDisabled = false
    return workingMethods(of: left, policy: policy, enabledProviders: enabledProviders).isEmpty
}

extension Repair {
    fileprivate var canDoWithoutAccount: Bool {
        if case .release = self { true } else { needsNoAccount }
    }
}

extension Account {
    /// Whether there is what `repair` mends, as far as the facts tell.
    fileprivate func needs(_ repair: Repair, at now: Timestamp) -> Bool {
        switch repair {
        case .claim(let claimed): identifier(claimed) != nil
        case .release(let kind, let key): !identifiers.contains { $0.kind == kind && $0.value == key }
        case .forgetMethod(let method): !has(method)
        case .recordMethod(let method), .suspend(let method, _): has(method)
        case .unproveAddress: isEmailVerified
        case .voidCodes(_, let cutoff), .deleteOverdue(_, let cutoff): cutoff <= now
        case .deleteRecords, .endSessions, .forgetNumber: true
        }
    }

    /// Whether or not it lets anybody in.
    fileprivate func has(_ method: SignInMethod) -> Bool {
        switch method {
        case .password: hasPassword
        case .emailLink: hasEmailLink
        case .phone: phoneNumber != nil
        case .provider(let provider): linkedProviders[provider] != nil
        }
    }

    /// What the account shows of it; `nil` for nothing.
    package func identifier(_ claimed: Repair.ClaimedIdentifier) -> Identifier? {
        switch claimed {
        case .email: email.map { .email($0.address) }
        case .phone: phoneNumber.map { .phone($0) }
        case .federated(let provider):
            linkedProviders[provider].flatMap { ProviderIdentity(provider: provider, subject: $0) }
                .map { .federated($0) }
        }
    }
}
