/// The decision about settling a conflict.
package enum ResolutionDecision: Sendable, Hashable {
    /// Apply the change, sign in and close the conflict, all at once.
    case resolve(UserID, AccountChange)
    case refuse(ConflictRefusal)
}

/// The refusal of a caller who has not proven to own the conflict's account; `nil` if the caller has: rows J1 to J4,
/// after Q1 to Q3. Only the owner settles the conflict, or learns anything about the account.
///
/// - `isProver`: the caller holds the token that was issued for the proof.
/// - `target`: the current account of the conflict; `nil` if it is gone.
package func refusalOfProver(
    conflict: ConflictFacts?,
    handleTenant: TenantID,
    isProver: Bool,
    target: Account?,
    policy: LinkPolicy,
    now: Timestamp
) -> Verdict<ConflictRefusal>? {
    if let refusal = refusalOfConflict(conflict, handleTenant: handleTenant, now: now) { return refusal }
    guard let target else { return Verdict(.resolveAccountGone, .unknown) }
    guard let conflict, conflict.state == .proven, isProver, let proof = conflict.proof else {
        return Verdict(.resolveUnproven, .unproven)
    }
    guard now < proof.expiresAt else { return Verdict(.resolveProofExpired, .proofExpired) }
    let binding = ProofBinding(proof.binding.kind, of: target, policyVersion: policy.version)
    return proof.binding == binding ? nil : Verdict(.resolveProofStale, .proofStale)
}

/// The refusal to settle a proven conflict by a sign-in to its account; `nil` if the rules of linking decide: rows J1
/// to J4 and J15.
///
/// A sign-in proves more than the token of a proof, unless the address was never proven. Then an intruder may have
/// created the account, while the owner of the address proved the mailbox. The intruder's sign-in would use up that
/// proof, and link the owner's credential to the intruder's account. Only the token of the proof settles such a
/// conflict, by a takeover (J11).
///
/// A credential of another subject waits too. The next owner of a domain can prove the mailbox while the former person
/// signs in.
///
/// - `target`: the account before the sign-in.
/// - `credential`: the pending credential.
package func refusalOfNextSignIn(
    conflict: ConflictFacts,
    target: Account,
    credential: IncomingCredential,
    policy: LinkPolicy,
    now: Timestamp
) -> Verdict<ConflictRefusal>? {
    let stale = refusalOfProver(
        conflict: conflict,
        handleTenant: conflict.tenant,
        isProver: true,
        target: target,
        policy: policy,
        now: now
    )
    if let stale { return stale }
    if conflict.isProvenByFirstMail(to: target, policy) { return Verdict(.nextSignInLeavesConflict, .unproven) }
    let isMailbox = conflict.proof?.binding.kind == .mailbox
    let isAnotherPerson = !policy.providersOfAnotherSubject(of: target, than: credential).isEmpty
    return isMailbox && isAnotherPerson ? Verdict(.nextSignInLeavesConflict, .unproven) : nil
}

extension ConflictFacts {
    /// Returns true if a mail proved the conflict, and is the first proof of the address.
    fileprivate func isProvenByFirstMail(to target: Account, _ policy: LinkPolicy) -> Bool {
        proof?.binding.kind == .mailbox && !policy.isProven(target)
    }
}

/// A request to settle a proven conflict by linking its credential: rows J.
///
/// Everything is decided about the current account. A proof identifies the owner, but the account may have changed
/// since.
package struct ResolveConflictQuestion {
    /// The conflict; `nil` if it is unknown.
    package var conflict: ConflictFacts?
    /// The tenant of the request.
    package var handleTenant: TenantID
    /// True if the caller holds the token that was issued for the proof.
    package var isProver: Bool
    /// The account of the conflict; `nil` if it is gone.
    package var target: Account?
    /// The account that has the identity of the credential.
    package var identityOwner: UserID?
    /// The account that has the address of the credential.
    package var emailOwner: UserID?
    package var credential: IncomingCredential
    package var isProviderEnabled: Bool
    package var now: Timestamp
    /// The reservation of the address.
    package var reservation: AddressReservation?

    package init(
        conflict: ConflictFacts?,
        handleTenant: TenantID,
        isProver: Bool,
        target: Account?,
        identityOwner: UserID?,
        emailOwner: UserID? = nil,
        credential: IncomingCredential,
        isProviderEnabled: Bool,
        now: Timestamp,
        reservation: AddressReservation? = nil
    ) {
        self.conflict = conflict
        self.handleTenant = handleTenant
        self.isProver = isProver
        self.target = target
        self.identityOwner = identityOwner
        self.emailOwner = emailOwner
        self.credential = credential
        self.isProviderEnabled = isProviderEnabled
        self.now = now
        self.reservation = reservation
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<ResolutionDecision> {
        decideOnFreeAddress(policy).respecting(reservation)
    }

    private func decideOnFreeAddress(_ policy: LinkPolicy) -> Verdict<ResolutionDecision> {
        let stranger = refusalOfProver(
            conflict: conflict,
            handleTenant: handleTenant,
            isProver: isProver,
            target: target,
            policy: policy,
            now: now
        )
        if let stranger { return Verdict(stranger.rule, .refuse(stranger.decision)) }
        guard let target, let conflict, let proof = conflict.proof else {
            return Verdict(.resolveAccountGone, .refuse(.unknown))
        }
        guard isProviderEnabled else {
            return Verdict(.resolveProviderNotEnabled, .refuse(.refused(.operationNotAllowed)))
        }
        if target.isDisabled { return Verdict(.resolveAccountDisabled, .refuse(.refused(.userDisabled))) }
        if policy.needsSecondFactor(target, provenBy: nil) {
            return Verdict(.resolveNeedsSecondFactor, .refuse(.secondFactorRequired))
        }
        let provider = credential.identity.provider
        guard policy.conflictProofs(methods: target.signInMethods, bringing: provider).contains(proof.binding.kind)
        else {
            return Verdict(.resolveProofNotOffered, .refuse(.proofNotOffered))
        }
        if identityOwner == target.id { return Verdict(.resolveAlreadyLinked, .resolve(target.id, AccountChange())) }
        if identityOwner != nil {
            return Verdict(.resolveIdentityInUse, .refuse(.refused(.federatedIdentityAlreadyLinked)))
        }
        let isAddressTaken = emailOwner != nil || target.email?.address == credential.email.address
        let claim = policy.emailClaim(of: credential, isAddressTaken: isAddressTaken)
        // The address has moved since the conflict opened. A link by a session gets the same answer (L3).
        if policy.isOneAccountPerEmail, claim != .absent, let emailOwner, emailOwner != target.id {
            return Verdict(.credentialAddressTaken, .refuse(.refused(.emailExists)))
        }
        if conflict.isProvenByFirstMail(to: target, policy) {
            // This is the first proof of the address (as row M3). An intruder may have linked the other subject of the
            // provider.
            var change = AccountChange.takeover(of: target, proof: .emailCode)
            change.linkedIdentity = credential.identity
            return Verdict(.takeoverByConflict, .resolve(target.id, change))
        }
        let isOfProvider = target.linkedProviders[provider] != nil
        let isOfParty = !policy.providersOfAnotherSubject(of: target, than: credential).isEmpty
        if isOfProvider || isOfParty && proof.binding.kind == .mailbox {
            // A mail is no proof here, because the next owner of a domain reads its mail. A session is.
            guard policy.subjectChange == .conflict, proof.binding.kind == .session else {
                return Verdict(.resolveSecondSubject, .refuse(.providerAlreadyLinked))
            }
            var change = AccountChange.linking(credential, to: target, claim: claim, policy: policy)
            change.unlinkedProviders = [provider]
            return Verdict(.subjectReplacedAfterProof, .resolve(target.id, change))
        }
        return Verdict(
            .credentialLinkedAfterProof,
            .resolve(target.id, .linking(credential, to: target, claim: claim, policy: policy))
        )
    }
}

extension ResolveConflictQuestion: Question {
    package static let name = "resolveConflict"

    package enum CodingKeys: String, CodingKey {
        case conflict, handleTenant, target, identityOwner, emailOwner, credential, now
        case isProver = "prover"
        case isProviderEnabled = "providerEnabled"
        case reservation = "reserved"
    }

    package var accounts: [Account] { [target].compactMap(\.self) }
    package var presentedCredential: IncomingCredential? { credential }

    package mutating func rename(by names: inout Pseudonyms) {
        target?.rename(by: &names)
        credential.rename(by: &names)
        reservation?.rename(by: &names)
        conflict?.proof?.binding.address?.rename(by: &names)
    }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .providerEnabled: isProviderEnabled.toggle()
        case .emailTaken where reservation != nil: reservation = nil
        case .emailTaken where emailOwner != nil && emailOwner != target?.id: emailOwner = nil
        case .proofGiven: isProver.toggle()
        case .identityLinked: identityOwner = identityOwner == nil ? target?.id : nil
        case .accountDisabled: target?.isDisabled.toggle()
        case .emailProven: target?.flipEmailProven()
        case .providerLinked: target?.flipLink(to: credential.identity)
        case .emailTrusted, .emailTaken, .numberTaken, .createsUsers, .sessionRecent, .passwordRight,
            .passwordLocked, .methodQuarantined, .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }

    package mutating func enable(_ providers: Set<ProviderID>) {
        isProviderEnabled = providers.contains(credential.identity.provider)
    }
}

/// The caller who declines a conflict.
package enum ConflictDecliner: Sendable, Hashable, CaseIterable {
    /// The holder of a handle, who can let the conflict expire as well.
    case holder
    /// An administrator, who needs no handle.
    case administrator
}

/// Decides whether a live conflict is declined: rows J13 and J17, after Q1 to Q3.
///
/// - `handleTenant`: the tenant of the request.
/// - Returns: the refusal; `nil` if it is declined.
package func decideDeclineConflict(
    conflict: ConflictFacts?,
    handleTenant: TenantID,
    by decliner: ConflictDecliner,
    now: Timestamp
) -> Verdict<ConflictRefusal?> {
    if let refusal = refusalOfConflict(conflict, handleTenant: handleTenant, now: now) {
        return Verdict(refusal.rule, refusal.decision)
    }
    return switch decliner {
    case .holder: Verdict(.conflictDeclined, nil)
    case .administrator: Verdict(.declinedByOperator, nil)
    }
}
