/// What only somebody who signed in a moment ago may do (`spec/04` §6).
///
/// Profile edits, unlinking, linking a provider or a number, lookups, refreshes and session cookies are not sensitive.
package enum SensitiveOperation: Sendable, Hashable, CaseIterable {
    case deleteAccount
    /// Also removing the address, and replacing it by linking a password or an e-mail link with another one.
    case changeEmail
    /// Also setting the first password.
    case changePassword
    case enrollSecondFactor
    case withdrawSecondFactor
    /// Asking for a code that will change the address (`VERIFY_AND_CHANGE_EMAIL`).
    case requestEmailChange
    /// Showing by a session that a conflict is about one's own account.
    case proveConflict
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

/// How recent the sign-in of a session must be before `operation` on `account`.
///
/// Anonymous accounts are exempt: they have nothing to sign in again with (`spec/04` §6).
package func reauthentication(
    policy: LinkPolicy,
    operation: SensitiveOperation,
    account: Account
) -> ReauthenticationRequirement {
    if account.isAnonymous { return .notRequired }
    switch operation {
    case .deleteAccount, .changeEmail, .changePassword, .enrollSecondFactor, .withdrawSecondFactor,
        .requestEmailChange, .proveConflict:
        return .required(maximumAgeSeconds: policy.recentSignInSeconds)
    }
}
