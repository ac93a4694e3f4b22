/// The decision about an answer to a proof.
package enum ProofDecision: Sendable, Hashable {
    case proven
    /// A wrong answer; it counts against the proof.
    case wrong
    case refuse(ConflictRefusal)
}

/// The decision about a mail to the owner of a conflict's account.
package enum StartProofDecision: Sendable, Hashable {
    /// - `place`: the place in `ProofMails` that the mail takes.
    case mail(place: Int)
    case refuse(ConflictRefusal)
}

/// The refusal of every request about a conflict that is unknown, closed or expired; `nil` if the conflict is live:
/// rows Q1 to Q3.
///
/// - `conflict`: `nil` if the handle names none.
package func refusalOfConflict(
    _ conflict: ConflictFacts?,
    handleTenant: TenantID,
    now: Timestamp
) -> Verdict<ConflictRefusal>? {
    guard let conflict, conflict.tenant == handleTenant else { return .unknownConflict }
    guard conflict.state.isLive else { return Verdict(.conflictClosed, .closed(conflict.state)) }
    guard now < conflict.expiresAt else { return Verdict(.conflictExpired, .expired) }
    return nil
}

extension Verdict<ConflictRefusal> {
    fileprivate static let unknownConflict = Self(.conflictUnknown, .unknown)
}

/// Decides whether the conflict of a request exists: row Q1.
///
/// - `conflict`: the conflict as loaded; `nil` if the handle names none.
package func decideFindConflict<Loaded: Sendable>(_ conflict: Loaded?) -> Lookup<Loaded, ConflictRefusal> {
    conflict.map(Lookup.found) ?? .refused(.unknownConflict)
}

/// Decides whether an answer proves ownership of the conflict's account: rows Q.
///
/// - `handleTenant`: the tenant of the request.
/// - `binding`: the binding of a proof that is requested now; `nil` if the account is gone.
/// - `isRight`: the answer is what the owner was sent.
package func decideProveConflict(
    conflict: ConflictFacts?,
    handleTenant: TenantID,
    binding: ProofBinding?,
    isRight: Bool,
    now: Timestamp
) -> Verdict<ProofDecision> {
    if let refusal = refusalOfConflict(conflict, handleTenant: handleTenant, now: now) {
        return Verdict(refusal.rule, .refuse(refusal.decision))
    }
    // A proven conflict expects no answer, so none is wrong.
    guard conflict?.state == .open, let proof = conflict?.proof else {
        return Verdict(.proofNotExpected, .refuse(.unproven))
    }
    guard now < proof.expiresAt else { return Verdict(.proofExpired, .refuse(.proofExpired)) }
    guard proof.attempts < ConflictProofFacts.attemptsMax else {
        return Verdict(.proofTooManyAnswers, .refuse(.tooManyAttempts))
    }
    guard proof.binding == binding else { return Verdict(.proofStale, .refuse(.proofStale)) }
    return isRight ? Verdict(.proofAccepted, .proven) : Verdict(.proofWrong, .wrong)
}

/// Decides whether the owner of the conflict's account is mailed: rows Q.
///
/// The policy about proofs is applied without the account's methods. Only the owner may learn about those (J14).
///
/// - `provider`: the provider of the pending credential.
/// - `startsSoFar`: proofs requested so far.
/// - `mails`: proof mails to the account so far, for any conflict.
/// - `isAccountGone`: no one is left to be mailed.
package func decideStartProof(
    policy: LinkPolicy,
    conflict: ConflictFacts?,
    provider: ProviderID,
    handleTenant: TenantID,
    startsSoFar: Int,
    mails: ProofMails,
    isAccountGone: Bool,
    now: Timestamp
) -> Verdict<StartProofDecision> {
    if let refusal = refusalOfConflict(conflict, handleTenant: handleTenant, now: now) {
        return Verdict(refusal.rule, .refuse(refusal.decision))
    }
    guard policy.conflictProofs(methods: [], bringing: provider).contains(.mailbox) else {
        return Verdict(.proofByMailNotOffered, .refuse(.proofNotOffered))
    }
    guard startsSoFar < ConflictProofFacts.startsMax else {
        return Verdict(.proofMailsUsedUp, .refuse(.tooManyAttempts))
    }
    guard let place = mails.freePlace(at: now) else {
        return Verdict(.tooManyProofMails, .refuse(.tooManyMails(waitSeconds: mails.secondsUntilFree(at: now))))
    }
    if isAccountGone { return Verdict(Verdict.unknownConflict.rule, .refuse(.unknown)) }
    return Verdict(.proofMailed, .mail(place: place))
}

/// Decides whether the proof of a lookup proves a conflict: rows Q.
///
/// - `provider`: the provider of the pending credential.
/// - `proven`: the account whose mailbox the lookup has proven.
package func decideProveByLookUp(
    policy: LinkPolicy,
    conflict: ConflictFacts?,
    provider: ProviderID,
    handleTenant: TenantID,
    proven: UserID,
    now: Timestamp
) -> Verdict<ProofDecision> {
    if let refusal = refusalOfConflict(conflict, handleTenant: handleTenant, now: now) {
        return Verdict(refusal.rule, .refuse(refusal.decision))
    }
    guard policy.conflictProofs(methods: [], bringing: provider).contains(.mailbox) else {
        return Verdict(.proofByMailNotOffered, .refuse(.proofNotOffered))
    }
    guard proven == conflict?.account else { return Verdict(.proofByLookUpOfOtherAccount, .refuse(.unproven)) }
    return Verdict(.provenByLookUp, .proven)
}

/// Decides whether a session proves a conflict: rows Q.
///
/// - `session`: the account of the live session.
/// - `isSessionRecent`: the sign-in is recent enough for `SensitiveOperation.proveConflict`.
package func decideProveBySession(
    conflict: ConflictFacts?,
    handleTenant: TenantID,
    session: UserID,
    isSessionRecent: Bool,
    now: Timestamp
) -> Verdict<ProofDecision> {
    if let refusal = refusalOfConflict(conflict, handleTenant: handleTenant, now: now) {
        return Verdict(refusal.rule, .refuse(refusal.decision))
    }
    // The session of another account must not learn whose conflict it is.
    guard session == conflict?.account else { return Verdict(.proofBySessionOfOtherAccount, .refuse(.unproven)) }
    guard isSessionRecent else { return Verdict(.proofNeedsRecentSignIn, .refuse(.refused(.credentialTooOld))) }
    return Verdict(.provenBySession, .proven)
}
