/// The effect of the code in a mail about changed sign-in methods. Each list is sorted by name.
package struct MethodReversal: Sendable, Hashable {
    /// Methods that the account did not have before the change.
    package var removed: [SignInMethod] = []
    /// Methods that are restored as they were.
    package var restored: [SignInMethod] = []
    /// Methods that cannot be restored, because another account has their number or identity.
    package var taken: [SignInMethod] = []
}

/// The decision about a code that restores sign-in methods.
package enum RevertDecision: Sendable, Hashable {
    /// Change the methods, end every session, and void open conflicts and codes that went to a session.
    case revert(UserID, MethodReversal)
    case refuse(Refusal)
}

/// Decides whether the mail about changed sign-in methods restores the former ones: rows U18 to U23. A refusal leaves
/// the code usable. No tokens are issued, and every session ends, because one of them made the change.
///
/// The code undoes its change and every later change that a code can undo. So a thief cannot cover a change with
/// another, and the owner needs to open the first mail only. The current address does not matter: the mailbox was
/// proven at the time of the change, and a thief must gain nothing by changing the address.
///
/// - `account`: the account of the code; `nil` if it is gone.
/// - `isSameAccount`: false if a younger account has the id of a deleted one.
/// - `before`: the methods before the first of the changes, without those that the owner of the mailbox or an
///   administrator has settled since.
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

extension AccountChange {
    /// Returns true if the owner is mailed about the methods that the change adds, removes or replaces, with a code
    /// that undoes it. For changes by a session or a sign-in.
    ///
    /// Suspended methods have their own mail. A migration of subjects (`subjectChange: move`) has none.
    ///
    /// - `rule`: the rule that made the change.
    package func isMailedToUndo(by rule: Rule) -> Bool {
        touchesMethods && !quarantinesRemovals && !voidsOutstandingProofs && rule != .subjectMoved
    }
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

    /// Returns true if the account still has the method as it was. A password cannot be compared here.
    fileprivate func isUnchanged(_ old: MethodSnapshot) -> Bool {
        switch old.method {
        case .password: false
        case .emailLink: hasEmailLink
        case .phone: phoneNumber == old.number
        case .provider(let provider): linkedProviders[provider] == old.linked?.identity.subject
        }
    }
}
