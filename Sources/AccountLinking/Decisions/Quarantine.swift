/// The reason of a suspension, for the owner of the method. Raw values are names on the wire.
package enum QuarantineReason: String, Sendable, Hashable, CaseIterable {
    /// The account's address was proven for the first time. An intruder may have set up the method before.
    case addressProven = "address-proven"
    /// The password was reset by mail, which evicts everyone else.
    case passwordReset = "password-reset"
    /// The owner recovered the account's address by mail. A thief may have set up the method after replacing the
    /// address.
    case addressRecovered = "address-recovered"
    /// An operator's audit found that the method may belong to another person, or is unused.
    case audit

    /// The reason of a suspension by `rule`. A suspending rule of another version counts as a first proof.
    package init(_ rule: Rule) { self = rule.suspensionReason ?? .addressProven }
}

/// Returns the sign-in methods that `change` suspends.
///
/// Mailed links are never suspended: the owner of the mailbox opens the next one.
package func methodsSuspended(by change: AccountChange, of account: Account) -> [SignInMethod] {
    guard change.quarantinesRemovals else { return [] }
    return methodsLost(from: account, to: account.applying(change))
}

/// Returns the providers of `account` whose identity `change` replaces or deletes, by name.
package func providersReplaced(by change: AccountChange, of account: Account) -> [ProviderID] {
    guard !change.quarantinesRemovals else { return [] }
    let after = account.applying(change).linkedProviders
    return account.linkedProviders.keys.filter { after[$0] != account.linkedProviders[$0] }.sorted()
}

/// Returns the sign-in methods that the account loses, without mailed links.
package func methodsLost(from before: Account, to after: Account) -> [SignInMethod] {
    let left = after.signInMethods
    return before.signInMethods.filter { $0 != .emailLink && !left.contains($0) }
}

/// The way to restore a suspended method.
package enum MethodRestoration: String, Sendable, Hashable, CaseIterable {
    /// With the old password and a session of the account.
    case password
    /// By linking the provider or the number again.
    case link
    /// By a new password, because Concord did not store the old one.
    case reset

    /// - `isKept`: the method is suspended, not deleted.
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
/// A suspended provider or number is restored by linking it again, which proves it. Refusals that no sign-in can avoid
/// come before the demand for a recent sign-in, and before the password is compared.
package struct RestorePasswordQuestion {
    package var account: Account
    /// True if a password of the account is suspended and has not expired.
    package var isQuarantined: Bool
    /// True if the sign-in is recent enough for `SensitiveOperation.restoreMethod`.
    package var isSessionRecent: Bool
    /// True after too many wrong passwords for the account's address (`PasswordThrottling`).
    package var isLocked: Bool
    /// True if the suspended password was given; unused if an earlier rule decides.
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

/// Decides whether the user deletes a suspended method before it expires: rows B.
///
/// - `isQuarantined`: the method is suspended and has not expired.
/// - `isSessionRecent`: the sign-in is recent enough for `SensitiveOperation.restoreMethod`.
/// - Returns: the refusal; `nil` if the user does.
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

/// The refusal if the account is disabled, or the method is not suspended or is linked again.
private func refusalOfQuarantined(
    _ method: SignInMethod,
    of account: Account,
    isQuarantined: Bool
) -> Verdict<Refusal>? {
    if account.isDisabled { return Verdict(.quarantineAccountDisabled, .userDisabled) }
    let hasMethod = method == .password ? account.hasPassword : account.signInMethods.contains(method)
    return isQuarantined && !hasMethod ? nil : Verdict(.notQuarantined, .methodNotQuarantined)
}
