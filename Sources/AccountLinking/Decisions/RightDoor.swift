/// A request that cannot reach the account of an address. Raw values are stored in mails.
package enum WrongDoor: String, Sendable, Hashable, CaseIterable {
    /// A password that is not the account's.
    case password
    /// A sign-in link, in a project without them.
    case link
    /// A sign-up with the address of an account.
    case signUp
}

package enum RightDoorMail: Sendable, Hashable, CaseIterable {
    /// The owner is mailed how to sign in.
    case mail
    case nothing
}

/// Decides whether the owner of an address is mailed how to sign in, after a wrong door: rows M35 to M37.
///
/// Total and pure. Decided when the mail is sent: the request asks for the mail for every address, so its time reveals
/// no account.
///
/// - `ways`: the sign-in methods of the account that has the address; `nil` if there is none.
package func decideMailRightDoor(after door: WrongDoor, ways: WaysIn?) -> Verdict<RightDoorMail> {
    guard let ways else { return Verdict(.wrongDoorOfUnknownAddress, .nothing) }
    let opens =
        switch door {
        // A mistyped password. Its owner knows the door.
        case .password: ways.working.contains(.password)
        case .link: ways.working.contains(.emailLink)
        case .signUp: false
        }
    return opens ? Verdict(.wrongDoorOpens, .nothing) : Verdict(.rightDoorMailed, .mail)
}

/// The methods that the mail about a password reset names before the new password.
package struct ResetWays: Sendable, Hashable {
    /// Empty for an account with a password.
    package let methods: [SignInMethod]
    /// True if a new password would suspend one of them.
    package let areSuspended: Bool

    package init(methods: [SignInMethod], areSuspended: Bool) {
        self.methods = methods
        self.areSuspended = areSuspended
    }
}

/// The methods by which the owner of an account without a password signs in, for the mail about a reset.
///
/// Total and pure. The mailed link is not one of them: the mail carries a code for the reset alone.
///
/// - `address`: the recipient of the mail.
package func waysBeforeReset(
    of account: Account,
    at address: EmailAddress,
    ways: WaysIn,
    policy: LinkPolicy
) -> ResetWays {
    let methods = account.hasPassword ? [] : ways.working.filter { $0 != .password && $0 != .emailLink }
    var stopped: Set<SignInMethod> = []
    if case .apply(_, let change, issuesTokens: _) = ResetPasswordQuestion(account: account, address: address)
        .decide(policy).decision
    {
        stopped = Set(change.unlinkedProviders.map(SignInMethod.provider))
        if change.phone == .release { stopped.insert(.phone) }
    }
    return ResetWays(methods: methods, areSuspended: methods.contains(where: stopped.contains))
}
