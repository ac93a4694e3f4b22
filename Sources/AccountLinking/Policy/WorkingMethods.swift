/// Why a sign-in method lets nobody in now.
package enum MethodObstacle: String, Sendable, Hashable, CaseIterable {
    /// An administrator has disabled the account.
    case accountDisabled = "account-disabled"
    /// There is no address to sign in with: a password that was left over.
    case noAddress = "no-address"
    /// The account has a second factor, and a number cannot come before one.
    case notAvailable = "not-available"
    /// The project has switched the method off, or has not registered and enabled the provider.
    case notEnabled = "not-enabled"
}

/// A sign-in method of an account, and what stands in its way.
package struct MethodStatus: Sendable, Hashable {
    package let method: SignInMethod
    /// `nil`: the method lets the user in now.
    package let obstacle: MethodObstacle?
}

/// Every sign-in method that the account has, in the order `createAuthUri` lists them, and whether it works now.
///
/// Total and pure; the one place where it is decided what a way in is worth. That an address waits after wrong passwords
/// is no obstacle: it passes by itself. A custom token is no method of the account: whether the app's backend would make
/// one is not known here.
///
/// - `enabledProviders`: those whose credentials are accepted now.
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

/// What stands in the way of one method that the account has; `nil`: it lets the user in now.
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

/// Whether any method would let the user in now: what `methodStatuses` says, and asks no further than the first that does.
///
/// - `isEnabled`: whether credentials of a provider are accepted now.
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

/// The methods that would let the user in now.
///
/// - `enabledProviders`: those whose credentials are accepted now.
package func workingMethods(
    of account: Account,
    policy: LinkPolicy,
    enabledProviders: Set<ProviderID>
) -> [SignInMethod] {
    methodStatuses(of: account, policy: policy, enabledProviders: enabledProviders)
        .filter { $0.obstacle == nil }
        .map(\.method)
}
