/// The reason why a sign-in method does not work now.
package enum MethodObstacle: String, Sendable, Hashable, CaseIterable {
    /// An administrator has disabled the account.
    case accountDisabled = "account-disabled"
    /// The account has a password, but no address to sign in with.
    case noAddress = "no-address"
    /// The account has a second factor, and a number cannot be the first factor beside one.
    case notAvailable = "not-available"
    /// The project has disabled the method, or has not registered and enabled the provider.
    case notEnabled = "not-enabled"
}

/// A sign-in method of an account, and the obstacle to its use.
package struct MethodStatus: Sendable, Hashable {
    package let method: SignInMethod
    /// `nil`: the method works now.
    package let obstacle: MethodObstacle?
}

/// The sign-in methods of the account, in the order of `createAuthUri`, with their obstacles.
///
/// Total and pure. Only this file decides whether a method works. Lockout after wrong passwords is no obstacle, because
/// it passes. A custom token is no method of the account: whether the app's backend would issue one is unknown.
///
/// - `enabledProviders`: providers whose credentials are accepted now.
package func methodStatuses(
    of account: Account,
    policy: LinkPolicy,
    enabledProviders: Set<ProviderID>
) -> [MethodStatus] {
    let leftOver: [SignInMethod] = account.hasPassword && !account.hasEmail ? [.password] : []
    return (leftOver + account.signInMethods).map { method in
        MethodStatus(
            method: method,
            obstacle: obstacle(to: method, of: account, policy: policy, isEnabled: enabledProviders.contains)
        )
    }
}

/// The obstacle to a method that the account has; `nil` if it works now.
private func obstacle(
    to method: SignInMethod,
    of account: Account,
    policy: LinkPolicy,
    isEnabled: (ProviderID) -> Bool
) -> MethodObstacle? {
    if account.isDisabled { return .accountDisabled }
    return switch method {
    case .password where !account.hasEmail: .noAddress
    case .password: policy.allowsPasswordSignIn ? nil : .notEnabled
    case .emailLink: policy.allowsEmailLinkSignIn ? nil : .notEnabled
    case .phone where account.hasSecondFactor: .notAvailable
    case .phone: policy.allowsPhoneSignIn ? nil : .notEnabled
    case .provider(let provider): isEnabled(provider) ? nil : .notEnabled
    }
}

/// Returns true if any method works now, as `methodStatuses` reports. Stops at the first one.
///
/// - `isEnabled`: true if credentials of a provider are accepted now.
package func hasWorkingMethod(
    _ account: Account,
    policy: LinkPolicy,
    isEnabled: (ProviderID) -> Bool
) -> Bool {
    func works(_ method: SignInMethod) -> Bool {
        obstacle(to: method, of: account, policy: policy, isEnabled: isEnabled) == nil
    }
    return (account.hasPassword && works(.password))
        || (account.hasEmailLink && account.hasEmail && works(.emailLink))
        || (account.phoneNumber != nil && works(.phone))
        || account.linkedProviders.contains { works(.provider($0.key)) }
}

/// The methods that work now.
///
/// - `enabledProviders`: providers whose credentials are accepted now.
package func workingMethods(
    of account: Account,
    policy: LinkPolicy,
    enabledProviders: Set<ProviderID>
) -> [SignInMethod] {
    methodStatuses(of: account, policy: policy, enabledProviders: enabledProviders)
        .filter { $0.obstacle == nil }
        .map(\.method)
}
