/// A sign-in method that an account has, had or can use, for its owner.
package struct WayIn: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// The owner can sign in with the method now.
        case works
        case obstructed(MethodObstacle)
        /// Suspended by a takeover or a reset. The owner can restore the method until then.
        case suspended(until: Timestamp)
    }

    package let method: SignInMethod
    package let state: State

    package init(_ method: SignInMethod, _ state: State) {
        self.method = method
        self.state = state
    }

    package var works: Bool { state == .works }
}

/// The sign-in methods of an account, for someone who has proven its mailbox.
package struct WaysIn: Sendable, Hashable {
    /// The methods that the account has, in the order of `createAuthUri`; the mailed link if it signs in too; then the
    /// suspended methods.
    package let methods: [WayIn]
    /// True if a mail may offer a first password.
    package let offersPassword: Bool

    /// The methods that sign in now.
    package var working: [SignInMethod] { methods.filter(\.works).map(\.method) }
}

/// The sign-in methods of `account`, for someone who has proven its mailbox. If second factors are required, each
/// method requires them too.
///
/// Total and pure. A mailed link signs the owner of a proven address in, even if none was ever followed (rule M2), and
/// a reset sets a first password. For an unproven address both suspend every other method (rules M3, M12 and those of
/// resets), so they are offered only if no other method works.
///
/// - `enabledProviders`: providers whose credentials are accepted now.
/// - `suspended`: the methods that the owner can restore, with the ends of the suspensions.
package func waysIn(
    to account: Account,
    policy: LinkPolicy,
    enabledProviders: Set<ProviderID>,
    suspended: [(method: SignInMethod, until: Timestamp)]
) -> WaysIn {
    var methods = methodStatuses(of: account, policy: policy, enabledProviders: enabledProviders).map { status in
        WayIn(status.method, status.obstacle.map(WayIn.State.obstructed) ?? .works)
    }
    let mailboxSuffices =
        account.hasEmail && !account.isDisabled
        && (policy.isProven(account) || !methods.contains(where: \.works))
    if mailboxSuffices, !account.hasEmailLink, policy.allowsEmailLinkSignIn {
        methods.append(WayIn(.emailLink, .works))
    }
    // A method that was added again is not listed twice.
    methods += suspended.filter { entry in !methods.contains { $0.method == entry.method } }
        .map { WayIn($0.method, .suspended(until: $0.until)) }
    return WaysIn(
        methods: methods,
        offersPassword: mailboxSuffices && !account.hasPassword && policy.allowsPasswordSignIn
    )
}
