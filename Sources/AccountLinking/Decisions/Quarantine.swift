/// Why a method was suspended, as its owner is told. Raw values are names on the wire.
package enum QuarantineReason: String, Sendable, Hashable, CaseIterable {
    /// Somebody showed for the first time to own the account's address; what was there before could be anybody's.
    case addressProven = "address-proven"
    /// The password was reset by mail, to be rid of whoever else could get in.
    case passwordReset = "password-reset"
    /// The owner took the account's address back by a mail. What was set up after the address was replaced could be a thief's.
    case addressRecovered = "address-recovered"
    /// An operator's audit found that it may be somebody else's, or that nobody uses it.
    case audit

    /// The reason of a suspension by `rule`. A rule of another version, which may suspend more, counts as a first proof.
    package init(_ rule: Rule) { self = rule.suspensionReason ?? .addressProven }
}

/// The sign-in methods that `change` takes off `account` and that are suspended: for announcing them before the change, for
/// reporting them after it, and for writing it. Empty for a change that suspends nothing.
///
/// A mailed link is none of them: the owner of the mailbox opens the next one.
package func methodsSuspended(by change: AccountChange, of account: Account) -> [SignInMethod] {
    guard change.quarantinesRemovals else { return [] }
    return methodsLost(from: account, to: account.applying(change))
}

/// The providers of `account` whose linked identity `change` exchanges for another, or removes for good, by name.
package func providersReplaced(by change: AccountChange, of account: Account) -> [ProviderID] {
    guard !change.quarantinesRemovals else { return [] }
    let after = account.applying(change).linkedProviders
    return account.linkedProviders.keys.filter { after[$0] != account.linkedProviders[$0] }.sorted()
}

/// The sign-in methods, mailed links aside, that an account had before and does not have after.
package func methodsLost(from before: Account, to after: Account) -> [SignInMethod] {
    let left = after.signInMethods
    return before.signInMethods.filter { $0 != .emailLink && !left.contains($0) }
}

/// The way in which the owner of a suspended method brings it back.
package enum MethodRestoration: String, Sendable, Hashable, CaseIterable {
    /// By the old password, from a session of the account.
    case password
    /// By linking the provider or the number again.
    case link
    /// By a new password: Concord does not keep the old one.
    case reset

    /// - `isKept`: the method is suspended, rather than deleted at once.
    package init(of method: SignInMethod, isKept: Bool) {
        self =
            switch method {
            case .password: isKept ? .password : .reset
            case .emailLink, .phone, .provider: .link
            }
    }
}

/// A request to restore a suspended password: rows B.
///
/// Only passwords are restored this way. A provider and a number are restored by linking them again, which proves them.
/// Refusals that no sign-in can avoid come before the demand for a recent sign-in, and before the password is compared.
package struct RestorePasswordQuestion {
    package var account: Account
    /// True if a password of the account is suspended, and its time is not over.
    package var isQuarantined: Bool
    /// True if the sign-in is recent enough for `SensitiveOperation.restoreMethod`.
    package var isSessionRecent: Bool
    /// After too many wrong passwords for the account's address none is tried now (`PasswordThrottling`).
    package var isLocked: Bool
    /// True if the suspended password was given; ignored until everything before is right.
    package var passwordMatches: Bool

    package init(account: Account, isQuarantined: Bool, isSessionRecent: Bool, isLocked: Bool, passwordMatches: Bool) {
        self.account = account
        self.isQuarantined = isQuarantined
        self.isSessionRecent = isSessionRecent
        self.isLocked = isLocked
        self.passwordMatches = passwordMatches
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<UpdateDecision> {
        if let refusal = refusalOfQuarantined(.password, of: account, isQuarantined: isQuarantined) {
            return Verdict(refusal.rule, .refuse(refusal.decision))
        }
        guard policy.allowsPasswordSignIn, account.hasEmail else {
            return Verdict(.restorePasswordNotAllowed, .refuse(.operationNotAllowed))
        }
        guard isSessionRecent else { return Verdict(.restoreNeedsRecentSignIn, .refuse(.credentialTooOld)) }
        if isLocked { return Verdict(.restoreTooManyWrongPasswords, .refuse(.tooManyAttempts)) }
        guard passwordMatches else { return Verdict(.restoreWrongPassword, .refuse(.invalidPassword)) }
        var change = AccountChange()
        change.password = .set
        return Verdict(.quarantinedPasswordRestored, .apply(account.id, change, issuesTokens: false))
    }
}

extension RestorePasswordQuestion: Question {
    package static let name = "restorePassword"

    package enum CodingKeys: String, CodingKey {
        case account, passwordMatches
        case isQuarantined = "quarantined"
        case isSessionRecent = "sessionRecent"
        case isLocked = "locked"
    }

    package var accounts: [Account] { [account] }

    package mutating func rename(by names: inout Pseudonyms) { account.rename(by: &names) }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .accountDisabled: account.isDisabled.toggle()
        case .methodQuarantined: isQuarantined.toggle()
        case .sessionRecent: isSessionRecent.toggle()
        case .passwordLocked: isLocked.toggle()
        case .passwordRight: passwordMatches.toggle()
        case .providerEnabled, .emailTrusted, .emailProven, .emailTaken, .numberTaken, .identityLinked,
            .providerLinked, .createsUsers, .proofGiven, .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }
}

/// Decides whether the user gives a suspended method up before its time is over: rows B.
///
/// Total and pure; the first matching rule wins.
///
/// - `isQuarantined`: whether the method is suspended, and its time is not over.
/// - `isSessionRecent`: whether its sign-in is recent enough for `SensitiveOperation.restoreMethod`.
/// - Returns: why not; `nil` when it goes.
package func decideDiscardQuarantined(
    _ method: SignInMethod,
    account: Account,
    isQuarantined: Bool,
    isSessionRecent: Bool
) -> Verdict<Refusal?> {
    if let refusal = refusalOfQuarantined(method, of: account, isQuarantined: isQuarantined) {
        return Verdict(refusal.rule, refusal.decision)
    }
    return isSessionRecent
        ? Verdict(.quarantinedMethodDiscarded, nil) : Verdict(.restoreNeedsRecentSignIn, .credentialTooOld)
}

/// A method that the account has anew is suspended no more.
private func refusalOfQuarantined(
    _ method: SignInMethod,
    of account: Account,
    isQuarantined: Bool
) -> Verdict<Refusal>? {
    if account.isDisabled { return Verdict(.quarantineAccountDisabled, .userDisabled) }
    let hasMethod = method == .password ? account.hasPassword : account.signInMethods.contains(method)
    return isQuarantined && !hasMethod ? nil : Verdict(.notQuarantined, .methodNotQuarantined)
}
