/// Effect of the code in a mail about changed sign-in methods. Each list is by name.
package struct MethodReversal: Sendable, Hashable {
    /// Methods that the account did not have before.
    package var removed: [SignInMethod] = []
    /// Methods that it has again as they were.
    package var restored: [SignInMethod] = []
    /// Methods that stay away: their number or identity is another account's by now.
    package var taken: [SignInMethod] = []

    package init(removed: [SignInMethod] = [], restored: [SignInMethod] = [], taken: [SignInMethod] = []) {
        self.removed = removed
        self.restored = restored
        self.taken = taken
    }
}

/// A decision about a code that brings sign-in methods back.
package enum RevertDecision: Sendable, Hashable {
    /// The methods change, every session ends, and open conflicts and codes that went to a session are void.
    case revert(UserID, MethodReversal)
    case refuse(Refusal)
}

/// Decides whether the mail that told of changed sign-in methods brings back what was before: rows U18 to U23.
///
/// Total and pure; the first matching rule wins. A refusal leaves the code usable. No tokens are issued, and every session ends:
/// one of them made the change.
///
/// The code undoes its change and every later one that a code undoes. So a thief cannot cover a change with another, and the owner who
/// opens the first mail need not open the others. The address does not count: the mailbox was proven when the change was made, and
/// a thief who moves the account to another address must not gain by it.
///
/// - `account`: the account the code was made for; `nil` when it is gone.
/// - `isSameAccount`: false if the account is younger than the code, and has only the id of a deleted one.
/// - `before`: the methods as they were before the first of the changes. Those that the owner of the mailbox or an
///   administrator has settled since are not among them.
/// - `taken`: methods among them whose number or identity another account has.
package func decideRevertMethodChange(
    account: Account?,
    isSameAccount: Bool,
    before: [MethodSnapshot],
    taken: Set<SignInMethod>
) -> Verdict<RevertDecision> {
    guard let account, isSameAccount else { return Verdict(.revertOfLostAccount, .refuse(.invalidEmailCode)) }
    if account.isDisabled { return Verdict(.revertOfDisabledAccount, .refuse(.userDisabled)) }
    if before.isEmpty { return Verdict(.revertSettled, .refuse(.invalidEmailCode)) }
    var reversal = MethodReversal()
    for old in before.sorted(by: { $0.method.name < $1.method.name }) {
        let isThere = account.has(old.method)
        if !old.wasThere {
            if isThere { reversal.removed.append(old.method) }
        } else if !account.isUnchanged(old) {
            if taken.contains(old.method) {
                reversal.taken.append(old.method)
                if isThere { reversal.removed.append(old.method) }
            } else {
                reversal.restored.append(old.method)
            }
        }
    }
    let rule: Rule =
        !reversal.taken.isEmpty
        ? .revertInPart : reversal == MethodReversal() ? .revertOfNothing : .methodsReverted
    return Verdict(rule, .revert(account.id, reversal))
}

extension Account {
    fileprivate func has(_ method: SignInMethod) -> Bool {
        switch method {
        case .password: hasPassword
        case .emailLink: hasEmailLink
        case .phone: phoneNumber != nil
        case .provider(let provider): linkedProviders[provider] != nil
        }
    }

    /// Returns true if the account has a method as it was. Of a password that cannot be known here.
    fileprivate func isUnchanged(_ old: MethodSnapshot) -> Bool {
        switch old.method {
        case .password: false
        case .emailLink: hasEmailLink
        case .phone: phoneNumber == old.number
        case .provider(let provider): linkedProviders[provider] == old.linked?.identity.subject
        }
    }
}
