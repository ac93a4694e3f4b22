/// What settling a conflict does.
package enum ResolutionDecision: Sendable, Hashable {
    /// The change is applied, the account signed in, and the conflict closed, at once.
    case resolve(UserID, AccountChange)
    case refuse(ConflictRefusal)
}

/// Decides whether a proven conflict ends with its credential linked: rows J.
///
/// Everything is judged anew, as the account stands now: a proof says who somebody is, not that nothing else happened.
/// Total and pure; the first matching rule wins.
///
/// - `handleTenant`: the tenant of the request that brought the handle.
/// - `isProver`: whether whoever asks holds the token that was given out for the proof.
/// - `target`: the account the conflict concerns; `nil` when it is gone.
/// - `identityOwner`: who owns the credential's identity.
/// - `policyVersion`: of the configuration that `policy` comes from.
package func decideResolveConflict(
    policy: LinkPolicy,
    policyVersion: Int64,
    conflict: ConflictFacts?,
    handleTenant: TenantID,
    isProver: Bool,
    target: Account?,
    identityOwner: UserID?,
    credential: IncomingCredential,
    isProviderEnabled: Bool,
    now: Timestamp
) -> Verdict<ResolutionDecision> {
    if let refusal = refusal(of: conflict, handleTenant: handleTenant, now: now) {
        return Verdict(refusal.rule, .refuse(refusal.decision))
    }
    guard let target else { return Verdict(.j1, .refuse(.unknown)) }
    guard let conflict, conflict.state == .proven, isProver, let proof = conflict.proof else {
        return Verdict(.j2, .refuse(.unproven))
    }
    guard now < proof.expiresAt else { return Verdict(.j3, .refuse(.proofExpired)) }
    let binding = ProofBinding(proof.binding.kind, of: target, policyVersion: policyVersion)
    guard proof.binding == binding else { return Verdict(.j4, .refuse(.proofStale)) }
    guard isProviderEnabled else { return Verdict(.j5, .refuse(.refused(.operationNotAllowed))) }
    if target.isDisabled { return Verdict(.j6, .refuse(.refused(.userDisabled))) }
    if policy.needsSecondFactor(target, provenBy: nil) { return Verdict(.j7, .refuse(.secondFactorRequired)) }
    if identityOwner == target.id { return Verdict(.j8, .resolve(target.id, AccountChange())) }
    if identityOwner != nil { return Verdict(.j9, .refuse(.refused(.federatedIdentityAlreadyLinked))) }
    if target.linkedProviders[credential.identity.provider] != nil {
        return Verdict(.j10, .refuse(.providerAlreadyLinked))
    }
    guard binding.kind == .session || target.isEmailVerified else {
        // The owner of the mailbox has come, and until now nobody had shown to be that (as row M3).
        var change = AccountChange.takeover(of: target, proof: .emailCode)
        change.linkedIdentity = credential.identity
        return Verdict(.j11, .resolve(target.id, change))
    }
    return Verdict(.j12, .resolve(target.id, .linking(credential, to: target, policy: policy)))
}

/// Decides whether a conflict can be turned down: by whoever holds the handle, while it lives.
///
/// - Returns: why not; `nil` when it can.
package func decideDeclineConflict(
    conflict: ConflictFacts?,
    handleTenant: TenantID,
    now: Timestamp
) -> Verdict<ConflictRefusal?> {
    if let refusal = refusal(of: conflict, handleTenant: handleTenant, now: now) {
        return Verdict(refusal.rule, refusal.decision)
    }
    return Verdict(.j13, nil)
}
