/// Decides whether a pending credential can be used now: rows Y. Only the sign-in or link that follows closes its
/// conflict.
///
/// - `conflict`: `nil` if the handle names none.
/// - `handleTenant`: the tenant of the request.
/// - `target`: the account of the session; `nil` for a sign-in without one, which the rules of sign-in decide as if the
///   provider had just issued the credential.
/// - `isOfRegisteredIssuer`: the credential is from the issuer with which its provider is registered now.
package func decidePendingCredential(
    conflict: ConflictFacts?,
    handleTenant: TenantID,
    target: UserID?,
    isOfRegisteredIssuer: Bool,
    now: Timestamp
) -> Verdict<PendingCredentialDecision> {
    guard let conflict else { return Verdict(.pendingUnknown, .invalid) }
    guard conflict.state.isLive else { return Verdict(.pendingUsed, .invalid) }
    guard now < conflict.expiresAt else { return Verdict(.pendingExpired, .invalid) }
    guard conflict.tenant == handleTenant else { return Verdict(.pendingOfOtherTenant, .invalid) }
    if let target, target != conflict.account { return Verdict(.pendingOfOtherAccount, .invalid) }
    guard isOfRegisteredIssuer else { return Verdict(.pendingIssuerChanged, .invalid) }
    return Verdict(.pendingUsable, .usable)
}

/// Decides whether the handle of a first sign-in can be used now: rows Y3, Y4 and Y6. No row backs it, so it can be
/// used until it expires, as an ID token can. The rules of sign-in or of linking then decide about the credential.
///
/// - `tenant`: the tenant that the handle names.
/// - `handleTenant`: the tenant of the request.
package func decideFirstSignIn(
    of tenant: TenantID,
    handleTenant: TenantID,
    expiresAt: Timestamp,
    now: Timestamp
) -> Verdict<PendingCredentialDecision> {
    guard now < expiresAt else { return Verdict(.pendingExpired, .invalid) }
    guard tenant == handleTenant else { return Verdict(.pendingOfOtherTenant, .invalid) }
    return Verdict(.pendingUsable, .usable)
}
