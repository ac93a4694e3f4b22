/// The operations that need a recent sign-in (docs/reference/decisions.md, "Recent sign-in").
///
/// Profile edits, lookups, refreshes and session cookies are not sensitive. Linking a provider, attaching a number and
/// unlinking a working method are, unless `LinkPolicy.linkingNeedsRecentSignIn` is off.
/// Raw values are names on the wire.
package enum SensitiveOperation: String, Sendable, Hashable, CaseIterable {
    case deleteAccount = "delete-account"
    /// Also removing the address, and replacing it by linking a password or an e-mail link with another one.
    case changeEmail = "change-email"
    /// Also setting the first password.
    case changePassword = "change-password"
    case enrollSecondFactor = "enroll-second-factor"
    case withdrawSecondFactor = "withdraw-second-factor"
    /// Asking for a code that will change the address (`VERIFY_AND_CHANGE_EMAIL`).
    case requestEmailChange = "request-email-change"
    /// Showing by a session that a conflict is about one's own account.
    case proveConflict = "prove-conflict"
    /// Taking a sign-in method off the account, on Concord's own routes.
    case removeMethod = "remove-method"
    /// Bringing a suspended method back, or giving it up.
    case restoreMethod = "restore-method"
    /// Making another account part of one's own, with a session of each.
    case mergeAccounts = "merge-accounts"
    /// Linking a provider to the account.
    case linkProvider = "link-provider"
    /// Attaching a number to the account, or replacing its number.
    case changePhoneNumber = "change-phone-number"
    /// Unlinking a method that works, on the compatible routes.
    case unlinkMethod = "unlink-method"
}

/// How recent a sign-in must be.
package enum ReauthenticationRequirement: Sendable, Hashable {
    case notRequired
    /// In whole seconds since the sign-in itself (`auth_time`), not since a token was issued.
    case required(maximumAgeSeconds: Int64)

    /// Whether a session that signed in at `authTime` may go ahead at `now`.
    ///
    /// `auth_time` has whole seconds, so both instants are compared as such. A sign-in "later" than `now` is recent:
    /// only Concord's own keys can say so, and clocks of two servers differ.
    package func isMet(authTime: Timestamp, now: Timestamp) -> Bool {
        switch self {
        case .notRequired: true
        case .required(let maximumAgeSeconds):
            now.secondsSinceEpoch - authTime.secondsSinceEpoch <= maximumAgeSeconds
        }
    }
}

extension LinkPolicy {
    /// How recent the sign-in of a session must be before `operation`; anonymous accounts aside.
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

/// How recent the sign-in of a session must be before `operation` on `account`.
///
/// Anonymous accounts are exempt: they have nothing to sign in again with. An account that a session has made look like
/// one, by unlinking the method it signed in with, is not exempt.
///
/// - `isSessionAnonymous`: whether the session began as a guest's.
package func reauthentication(
    policy: LinkPolicy,
    operation: SensitiveOperation,
    account: Account,
    isSessionAnonymous: Bool
) -> ReauthenticationRequirement {
    account.isAnonymous && isSessionAnonymous ? .notRequired : policy.reauthentication(for: operation)
}

/// A way in which a user can sign in anew.
package enum ReauthenticationMethod: Sendable, Hashable {
    case signIn(SignInMethod)
    /// The app's backend knows the user and mints a custom token.
    case customToken

    /// The name on the wire: that of the sign-in method, or `custom`.
    package var name: String {
        switch self {
        case .signIn(let method): method.name
        case .customToken: "custom"
        }
    }
}

/// The ways in which the user of `account` can sign in anew now. Where second factors are asked for, each of them asks
/// for the second factor as well.
///
/// Total and pure. Nobody who has to sign in anew is left without a way: whom no method of the account lets in, such as
/// somebody who has but one that is switched off, the app's backend can still answer for, with a custom token. Empty only
/// for a disabled account, which nobody may enter.
///
/// - `enabledProviders`: those whose credentials are accepted now.
package func reauthenticationMethods(
    of account: Account,
    policy: LinkPolicy,
    enabledProviders: Set<ProviderID>
) -> [ReauthenticationMethod] {
    if account.isDisabled { return [] }
    var methods = workingMethods(of: account, policy: policy, enabledProviders: enabledProviders)
        .map(ReauthenticationMethod.signIn)
    // The owner of a proven address is let in by a mailed link although none was ever followed (row M2). Where nobody has
    // shown to own it, the link would take every other method away (rows M3 and M12), so it is offered only to who has none.
    if account.hasEmail, !account.hasEmailLink, policy.allowsEmailLinkSignIn,
        policy.isProven(account) || account.signInMethods.isEmpty
    {
        methods.append(.signIn(.emailLink))
    }
    if account.usesCustomTokens || methods.isEmpty { methods.append(.customToken) }
    return methods
}

/// What is asked of a session whose sign-in is too old (RFC 9470 §3).
package struct ReauthenticationChallenge: Sendable, Hashable {
    /// In whole seconds since the sign-in itself.
    package let maximumAgeSeconds: Int64
    /// What satisfies it, for this user.
    package let methods: [ReauthenticationMethod]
}

/// What a session has to do before `operation` on its account; `nil` when its sign-in is recent enough.
///
/// - `enabledProviders`: those whose credentials are accepted now.
/// - `isSessionAnonymous`: whether the session began as a guest's.
/// - `authTime`: when the session signed in.
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
