/// Decides whether a pending credential may be used now: rows Y. Using it changes nothing: only the success of
/// the sign-in or link that follows closes it.
///
/// Total and pure; the first matching rule wins.
///
/// - `conflict`: `nil` when the handle names none.
/// - `handleTenant`: the tenant of the request that brought the handle.
/// - `target`: the account of a session that lives; `nil` for a sign-in without one, which the rules of sign-in judge as if
///   the provider's credential had come anew.
/// - `isOfRegisteredIssuer`: whether the credential is of the issuer that its provider is registered with now.
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
