/// Whether an answer proves a conflict.
package enum ProofDecision: Sendable, Hashable {
    case proven
    /// A wrong answer, which counts against the proof.
    case wrong
    case refuse(ConflictRefusal)
}

/// Whether a mail goes to the owner of the account a conflict concerns.
package enum StartProofDecision: Sendable, Hashable {
    /// `place`: the one of `ProofMails` that the mail takes.
    case mail(place: Int)
    case refuse(ConflictRefusal)
}

/// Whether `conflict` is one that something can still be done with.
///
/// - `conflict`: `nil` when the handle names none.
/// - Returns: why not; `nil` when it is.
func refusal(
    of conflict: ConflictFacts?,
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

/// Decides which conflict a request is about: row Q1.
///
/// - `conflict`: the conflict with its facts, as loaded; `nil` if the handle names none.
package func decideFindConflict<Loaded: Sendable>(_ conflict: Loaded?) -> Lookup<Loaded, ConflictRefusal> {
    conflict.map(Lookup.found) ?? .refused(.unknownConflict)
}

/// Decides whether what somebody presents proves that they are the owner of the account a conflict concerns: rows Q.
///
/// Total and pure; the first matching rule wins.
///
/// - `handleTenant`: the tenant of the request that brought the handle.
/// - `binding`: what a proof of the same kind would be bound to if it were asked for now; `nil` when the account is gone.
/// - `isRight`: whether what is presented is what was sent to the owner.
package func decideProveConflict(
    conflict: ConflictFacts?,
    handleTenant: TenantID,
    binding: ProofBinding?,
    isRight: Bool,
    now: Timestamp
) -> Verdict<ProofDecision> {
    if let refusal = refusal(of: conflict, handleTenant: handleTenant, now: now) {
        return Verdict(refusal.rule, .refuse(refusal.decision))
    }
    // Once it is proven no answer is waited for, so none is wrong.
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

/// Decides whether a mail may be sent to the owner of the account a conflict concerns: rows Q.
///
/// Whether policy lets a mail settle it is judged here for every account alike: what it says about the methods of this one
/// is for its owner to know (J14).
///
/// - `provider`: what somebody came with.
/// - `startsSoFar`: proofs that were asked for already.
/// - `mails`: those the account was sent already, about whatever conflict.
/// - `isAccountGone`: true if nobody can be mailed any more.
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
    if let refusal = refusal(of: conflict, handleTenant: handleTenant, now: now) {
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

/// Decides whether a session proves a conflict: rows Q.
///
/// - `session`: the account whose session it is; it lives.
/// - `isSessionRecent`: whether its sign-in is recent enough for `SensitiveOperation.proveConflict`.
package func decideProveBySession(
    conflict: ConflictFacts?,
    handleTenant: TenantID,
    session: UserID,
    isSessionRecent: Bool,
    now: Timestamp
) -> Verdict<ProofDecision> {
    if let refusal = refusal(of: conflict, handleTenant: handleTenant, now: now) {
        return Verdict(refusal.rule, .refuse(refusal.decision))
    }
    // Another account's session is told nothing of whose it should be.
    guard session == conflict?.account else { return Verdict(.proofBySessionOfOtherAccount, .refuse(.unproven)) }
    guard isSessionRecent else { return Verdict(.proofNeedsRecentSignIn, .refuse(.refused(.credentialTooOld))) }
    return Verdict(.provenBySession, .proven)
}
