/// What is known about a credential that a conflict set aside (`spec/09` 5).
package struct PendingCredentialFacts: Sendable, Hashable {
    package enum State: Sendable, Hashable, CaseIterable {
        case open
        /// Used up by a sign-in or link that succeeded, or void.
        case closed
    }

    /// The account that somebody proved to be theirs in order to resolve the conflict.
    package struct ProvenTarget: Sendable, Hashable {
        package var account: UserID
        /// The account's epoch then: what ends its sessions ends this proof as well.
        package var sessionEpoch: Int64

        package init(account: UserID, sessionEpoch: Int64) {
            self.account = account
            self.sessionEpoch = sessionEpoch
        }
    }

    package var state: State
    package var expiresAt: Timestamp
    package var tenant: TenantID
    /// `nil` until proven; from then on nobody else can use the credential.
    package var provenTarget: ProvenTarget?

    package init(state: State, expiresAt: Timestamp, tenant: TenantID, provenTarget: ProvenTarget?) {
        self.state = state
        self.expiresAt = expiresAt
        self.tenant = tenant
        self.provenTarget = provenTarget
    }
}

/// Decides whether a pending credential may be used now (`spec/03` §10, `spec/09` 5). Using it changes nothing: only
/// the success of the sign-in or link that follows closes it.
///
/// Total and pure; the first matching rule wins.
///
/// - `credential`: `nil` when the handle names none.
/// - `handleTenant`: the tenant of the request that brought the handle.
/// - `target`: the account of the session; `nil` without one.
package func decidePendingCredential(
    credential: PendingCredentialFacts?,
    handleTenant: TenantID,
    target: Account?,
    now: Timestamp
) -> Verdict<PendingCredentialDecision> {
    guard let credential else { return Verdict(.y1, .invalid) }
    switch credential.state {
    case .open: break
    case .closed: return Verdict(.y2, .invalid)
    }
    guard now < credential.expiresAt else { return Verdict(.y3, .invalid) }
    guard credential.tenant == handleTenant else { return Verdict(.y4, .invalid) }
    if let proven = credential.provenTarget {
        guard let target, target.id == proven.account, target.sessionEpoch == proven.sessionEpoch else {
            return Verdict(.y5, .invalid)
        }
    }
    return Verdict(.y6, .usable)
}
