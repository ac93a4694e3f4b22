/// The decision about one repair of a plan.
package enum RepairDecision: Sendable, Hashable {
    /// Apply the change of facts. The repair says which other rows change.
    case apply(AccountChange)
    case skip(RepairRefusal)
}

/// The reason why a repair is skipped. Raw values are stored.
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
        case .identifierTaken: "another account owns it now"
        case .nothingToRepair: "there is nothing to do any more"
        case .lastSignInMethod: "no other method would let the user in"
        }
    }
}

/// Decides whether a planned repair is applied to the current account: rows O. Planning asks the same question, so that
/// each planned repair can be applied.
///
/// - `account`: `nil` if there is none.
/// - `plannedVersion`: the account's version when the repair was planned, or after the plan's earlier steps; `nil` if
///   there was no account.
/// - `owner`: the owner of the claimed identifier; `nil` if it is free, or the repair claims none.
/// - `enabledProviders`: providers whose credentials are accepted now.
/// - `now`: the time at which records have expired or not.
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
        // A claim can exist without an account.
        if plannedVersion == nil, repair.canDoWithoutAccount { return Verdict(.repairApplied, .apply(AccountChange())) }
        return Verdict(.repairAccountGone, .skip(.accountGone))
    }
    guard let plannedVersion else { return Verdict(.repairOrphanReclaimed, .skip(.accountAppeared)) }
    guard account.version == plannedVersion, !repair.needsNoAccount else {
        return Verdict(.repairAccountChanged, .skip(.accountChanged))
    }
    // An edited plan must not damage a sound account.
    guard account.needs(repair, at: now) else { return Verdict(.repairNotApplicable, .skip(.nothingToRepair)) }
    if case .claim = repair, owner != nil { return Verdict(.repairNotApplicable, .skip(.identifierTaken)) }
    let change = repair.change
    if takesLastMethod(change, of: account, policy: policy, enabledProviders: enabledProviders) {
        return Verdict(.repairWouldRemoveLastMethod, .skip(.lastSignInMethod))
    }
    return Verdict(.repairApplied, .apply(change))
}

/// Decides whether an applied repair is undone: rows O.
///
/// - `hasClash`: the repaired values have changed since.
package func decideUndoRepair(hasClash: Bool) -> Verdict<Bool> {
    hasClash ? Verdict(.repairUndoClashes, false) : Verdict(.repairUndone, true)
}

/// Ignores `isDisabled`, because a disabled account can be enabled again.
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
    /// Returns true if the facts show the defect that `repair` corrects.
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

    /// Returns true if the account has the method, even one that cannot be used to sign in.
    fileprivate func has(_ method: SignInMethod) -> Bool {
        switch method {
        case .password: hasPassword
        case .emailLink: hasEmailLink
        case .phone: phoneNumber != nil
        case .provider(let provider): linkedProviders[provider] != nil
        }
    }

    /// The account's identifier of that kind; `nil` if it has none.
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
