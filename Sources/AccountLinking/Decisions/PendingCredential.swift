/// What is known about a credential that a conflict set aside (`spec/09` 5).
package struct PendingCredentialFacts: Sendable, Hashable {
    package enum State: Sendable, Hashable, CaseIterable {
        case open
        /// Used up by a sign-in or link that succeeded, or void.
        case closed
    }

    package var state: State
    package var expiresAt: Timestamp
    package var tenant: TenantID
    /// The account the conflict concerns: a session of another one cannot use the credential.
    package var account: UserID

    package init(state: State, expiresAt: Timestamp, tenant: TenantID, account: UserID) {
        self.state = state
        self.expiresAt = expiresAt
        self.tenant = tenant
        self.account = account
    }
}

/// Decides whether a pending credential may be used now (`spec/03` §10, `spec/09` 5). Using it changes nothing: only
/// the success of the sign-in or link that follows closes it.
///
/// Total and pure; the first matching rule wins.
///
/// - `credential`: `nil` when the handle names none.
/// - `handleTenant`: the tenant of the request that brought the handle.
/// - `target`: the account of a session that lives; `nil` for a sign-in without one, which the rules of sign-in judge as if
///   the provider's credential had come anew.
package func decidePendingCredential(
    credential: PendingCredentialFacts?,
    handleTenant: TenantID,
    target: UserID?,
    now: Timestamp
) -> Verdict<PendingCredentialDecision> {
    guard let credential else { return Verdict(.y1, .invalid) }
    switch credential.state {
    case .open: break
    case .closed: return Verdict(.y2, .invalid)
    }
    guard now < credential.expiresAt else { return Verdict(.y3, .invalid) }
    guard credential.tenant == handleTenant else { return Verdict(.y4, .invalid) }
    if let target, target != credential.account { return Verdict(.y5, .invalid) }
    return Verdict(.y6, .usable)
}
