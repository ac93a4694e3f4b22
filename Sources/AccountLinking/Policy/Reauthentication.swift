/// The operations that need a recent sign-in (docs/reference/decisions.md, "Recent sign-in").
///
/// Profile edits, lookups, refreshes and session cookies are not sensitive. Linking a provider, attaching a number and
/// unlinking a working method are, unless `LinkPolicy.linkingNeedsRecentSignIn` is off. Raw values are names on the
/// wire.
package enum SensitiveOperation: String, Sendable, Hashable, CaseIterable {
    case deleteAccount = "delete-account"
    /// Also removing the address, and replacing it by linking a password or an e-mail link with another one.
    case changeEmail = "change-email"
    /// Also setting the first password.
    case changePassword = "change-password"
    case enrollSecondFactor = "enroll-second-factor"
    case withdrawSecondFactor = "withdraw-second-factor"
    /// Requesting a code that will change the address (`VERIFY_AND_CHANGE_EMAIL`).
    case requestEmailChange = "request-email-change"
    /// Proving by a session that a conflict is about one's own account.
    case proveConflict = "prove-conflict"
    /// Removing a sign-in method, on Concord's own routes.
    case removeMethod = "remove-method"
    /// Restoring or discarding a suspended method.
    case restoreMethod = "restore-method"
    /// Merging another account into one's own, with a session of each.
    case mergeAccounts = "merge-accounts"
    case linkProvider = "link-provider"
    /// Attaching a number to the account, or replacing its number.
    case changePhoneNumber = "change-phone-number"
    /// Unlinking a working method, on the compatible routes.
    case unlinkMethod = "unlink-method"
}

/// Maximum age of a sign-in.
package enum ReauthenticationRequirement: Sendable, Hashable {
    case notRequired
    /// In whole seconds since the sign-in itself (`auth_time`), not since a token was issued.
    case required(maximumAgeSeconds: Int64)

    /// Returns true if a session that signed in at `authTime` meets the requirement at `now`.
    ///
    /// `auth_time` has whole seconds, so both instants are compared in seconds. A sign-in later than `now` is recent:
    /// only Concord's own keys can state it, and servers' clocks differ.
    package func isMet(authTime: Timestamp, now: Timestamp) -> Bool {
        switch self {
        case .notRequired: true
        case .required(let maximumAgeSeconds):
            now.secondsSinceEpoch - authTime.secondsSinceEpoch <= maximumAgeSeconds
        }
    }
}

extension LinkPolicy {
    /// Maximum age of the sign-in for `operation`, anonymous accounts aside.
    package func reauthentication(for operation: SensitiveOperation) -> ReauthenticationRequirement {
        switch operation {
        case .deleteAccount, .changeEmail, .changePassword, .enrollSecondFactor, .withdrawSecondFactor,
            .requestEmailChange, .proveConflict, .removeMethod, .restoreMethod, .mergeAccounts:
            .required(maximumAgeSeconds: recentSignInSeconds)
        case .linkProvider, .changePhoneNumber, .unlinkMethod:
            linkingNeedsRecentSignIn ? .required(maximumAgeSeconds: recentSignInSeconds) : .notRequired
        }
    }
}

/// Maximum age of a session's sign-in for `operation` on `account`.
///
/// Anonymous accounts are exempt, because they cannot sign in again. An account that only looks anonymous, because a
/// session unlinked its methods, is not exempt.
///
/// - `isSessionAnonymous`: true if the session began anonymous.
package func reauthentication(
    policy: LinkPolicy,
    operation: SensitiveOperation,
    account: Account,
    isSessionAnonymous: Bool
) -> ReauthenticationRequirement {
    account.isAnonymous && isSessionAnonymous ? .notRequired : policy.reauthentication(for: operation)
}

/// A way to sign in again.
package enum ReauthenticationMethod: Sendable, Hashable {
    case signIn(SignInMethod)
    /// A custom token that the app's backend issues.
    case customToken

    /// The name on the wire: that of the sign-in method, or `custom`.
    package var name: String {
        switch self {
        case .signIn(let method): method.name
        case .customToken: "custom"
        }
    }
}

/// The methods with which the user of `account` can sign in again now. If second factors are required, each method
/// requires them too.
///
/// Total and pure. There is always a way: without a working method the app's backend can still issue a custom token.
/// Empty only for a disabled account.
///
/// - `enabledProviders`: providers whose credentials are accepted now.
package func reauthenticationMethods(
    of account: Account,
    policy: LinkPolicy,
    enabledProviders: Set<ProviderID>
) -> [ReauthenticationMethod] {
    if account.isDisabled { return [] }
    var methods = workingMethods(of: account, policy: policy, enabledProviders: enabledProviders)
        .map(ReauthenticationMethod.signIn)
    // A mailed link signs the owner of a proven address in, even if none was ever followed (rule M2). For an unproven
    // address the link would remove every other method (rules M3 and M12), so it is offered only to accounts without
    // methods.
    if account.hasEmail, !account.hasEmailLink, policy.allowsEmailLinkSignIn,
        policy.isProven(account) || account.signInMethods.isEmpty
    {
        methods.append(.signIn(.emailLink))
    }
    if account.usesCustomTokens || methods.isEmpty { methods.append(.customToken) }
    return methods
}

/// The demand for a new sign-in if a session's sign-in is too old (RFC 9470 §3).
package struct ReauthenticationChallenge: Sendable, Hashable {
    /// In whole seconds since the sign-in itself.
    package let maximumAgeSeconds: Int64
    /// The methods with which this user can meet the demand.
    package let methods: [ReauthenticationMethod]
}

/// The demand for a new sign-in before `operation`; `nil` if the session's sign-in is recent enough.
///
/// - `enabledProviders`: providers whose credentials are accepted now.
/// - `isSessionAnonymous`: true if the session began anonymous.
/// - `authTime`: time of the session's sign-in.
package func reauthenticationChallenge(
    policy: LinkPolicy,
    operation: SensitiveOperation,
    account: Account,
    enabledProviders: Set<ProviderID>,
    isSessionAnonymous: Bool,
    authTime: Timestamp,
    now: Timestamp
) -> ReauthenticationChallenge? {
    let requirement = reauthentication(
        policy: policy,
        operation: operation,
        account: account,
        isSessionAnonymous: isSessionAnonymous
    )
    guard case .required(let maximumAgeSeconds) = requirement, !requirement.isMet(authTime: authTime, now: now)
    else { return nil }
    return ReauthenticationChallenge(
        maximumAgeSeconds: maximumAgeSeconds,
        methods: reauthenticationMethods(of: account, policy: policy, enabledProviders: enabledProviders)
    )
}
