/// What settling a conflict does.
package enum ResolutionDecision: Sendable, Hashable {
    /// The change is applied, the account signed in, and the conflict closed, at once.
    case resolve(UserID, AccountChange)
    case refuse(ConflictRefusal)
}

/// Whether whoever asks counts as the owner of the account a conflict concerns, as the account stands now: rows J1 to J4,
/// after Q1 to Q3. Only the owner is told anything about the account, and only the owner settles the conflict.
///
/// - `isProver`: whether whoever asks holds the token that was given out for the proof.
/// - `target`: the account the conflict concerns; `nil` when it is gone.
/// - Returns: why not; `nil` when they do.
package func refusalOfProver(
    conflict: ConflictFacts?,
    handleTenant: TenantID,
    isProver: Bool,
    target: Account?,
    policy: LinkPolicy,
    now: Timestamp
) -> Verdict<ConflictRefusal>? {
    if let refusal = refusal(of: conflict, handleTenant: handleTenant, now: now) { return refusal }
    guard let target else { return Verdict(.resolveAccountGone, .unknown) }
    guard let conflict, conflict.state == .proven, isProver, let proof = conflict.proof else {
        return Verdict(.resolveUnproven, .unproven)
    }
    guard now < proof.expiresAt else { return Verdict(.resolveProofExpired, .proofExpired) }
    let binding = ProofBinding(proof.binding.kind, of: target, policyVersion: policy.version)
    return proof.binding == binding ? nil : Verdict(.resolveProofStale, .proofStale)
}

/// Whether a sign-in to the account a conflict concerns may settle it as well, once it is proven: rows J1 to J4 and J15.
///
/// Whoever signs in has shown more than whoever holds the token of the proof, but for an account whose address nobody had
/// shown to own: that is whoever made it, and the proof, by mail, somebody else's. It would be used up, with the owner's
/// credential, to let the owner into the intruder's account. Only settling it by its token takes over (J11).
/// A credential of another subject waits as well: the next owner of a domain reads its mail, and the old person signs in.
///
/// - `target`: the account as it was before the sign-in.
/// - `credential`: the one that the conflict keeps.
/// - Returns: why not; `nil` when it may, by the rules of linking.
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
    /// Whether it is proven by the mailbox of an address that nobody had shown to own before.
    fileprivate func isProvenByFirstMail(to target: Account, _ policy: LinkPolicy) -> Bool {
        proof?.binding.kind == .mailbox && !policy.isProven(target)
    }
}

/// A request to end a proven conflict with its credential linked: rows J.
///
/// Everything is judged anew, as the account stands now: a proof says who somebody is, not that nothing else happened.
package struct ResolveConflictQuestion {
    /// The conflict; `nil` if it is unknown.
    package var conflict: ConflictFacts?
    /// The tenant of the request that brought the handle.
    package var handleTenant: TenantID
    /// True if the caller holds the token that was given out for the proof.
    package var isProver: Bool
    /// The account the conflict concerns; `nil` if it is gone.
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
        // As a link by the session of the account would be answered (L3): the address has moved on since the conflict opened.
        if policy.isOneAccountPerEmail, claim != .absent, let emailOwner, emailOwner != target.id {
            return Verdict(.credentialAddressTaken, .refuse(.refused(.emailExists)))
        }
        if conflict.isProvenByFirstMail(to: target, policy) {
            // The owner of the mailbox has come, and until now nobody had shown to be that (as row M3). Another subject of the
            // provider says nothing here: it may be an intruder's.
            var change = AccountChange.takeover(of: target, proof: .emailCode)
            change.linkedIdentity = credential.identity
            return Verdict(.takeoverByConflict, .resolve(target.id, change))
        }
        let isOfProvider = target.linkedProviders[provider] != nil
        let isOfParty = !policy.providersOfAnotherSubject(of: target, than: credential).isEmpty
        if isOfProvider || isOfParty && proof.binding.kind == .mailbox {
            // The mailbox proves nothing here: the next owner of a domain reads its mail. A session is the account's owner.
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

/// The one who turns a conflict down.
package enum ConflictDecliner: Sendable, Hashable, CaseIterable {
    /// Holds a handle: may let the conflict expire as well.
    case holder
    /// An administrator, who needs no handle.
    case administrator
}

/// Decides whether a conflict can be turned down, while it lives: rows J13 and J17, after Q1 to Q3.
///
/// - `handleTenant`: the tenant of the request.
/// - Returns: why not; `nil` when it can.
package func decideDeclineConflict(
    conflict: ConflictFacts?,
    handleTenant: TenantID,
    by decliner: ConflictDecliner,
    now: Timestamp
) -> Verdict<ConflictRefusal?> {
    if let refusal = refusal(of: conflict, handleTenant: handleTenant, now: now) {
        return Verdict(refusal.rule, refusal.decision)
    }
    return switch decliner {
    case .holder: Verdict(.conflictDeclined, nil)
    case .administrator: Verdict(.declinedByOperator, nil)
    }
}
