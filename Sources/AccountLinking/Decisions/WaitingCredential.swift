/// A pending credential of the account that signs in, with the facts that decide whether the sign-in links it: rows Y
/// or J, then rows L.
///
/// A sign-in with a method of the account is enough proof. So the client needs no second request, and an SDK without
/// support for conflicts settles them too.
package struct WaitingCredential: Sendable, Hashable, Codable {
    /// The conflict that keeps the credential.
    package var conflict: ConflictFacts
    package var kind: ConflictKind
    /// True if the sign-in contains the conflict's handle; false if the conflict was found by its account.
    package var isPresented: Bool
    package var credential: IncomingCredential
    /// True if the provider is enabled, and still has the credential's issuer.
    package var isProviderEnabled: Bool
    /// The account that has the identity of the credential.
    package var identityOwner: Account?
    /// The account that has the address of the credential.
    package var emailOwner: Account?
    /// The reservation of the address.
    package var reservation: AddressReservation?
    /// The account whose second factor the sign-in itself has proven. The factor of a continued session does not count.
    package var secondFactorProvenBy: UserID?
    /// The tenant of the sign-in.
    package var tenant: TenantID
    package var now: Timestamp

    private enum CodingKeys: String, CodingKey {
        case conflict, kind, credential, identityOwner, emailOwner, secondFactorProvenBy, tenant, now
        case isPresented = "presented"
        case isProviderEnabled = "providerEnabled"
        case reservation = "reserved"
    }

    package init(
        conflict: ConflictFacts,
        kind: ConflictKind,
        isPresented: Bool,
        credential: IncomingCredential,
        isProviderEnabled: Bool,
        identityOwner: Account? = nil,
        emailOwner: Account? = nil,
        reservation: AddressReservation? = nil,
        secondFactorProvenBy: UserID? = nil,
        tenant: TenantID,
        now: Timestamp
    ) {
        self.conflict = conflict
        self.kind = kind
        self.isPresented = isPresented
        self.credential = credential
        self.isProviderEnabled = isProviderEnabled
        self.identityOwner = identityOwner
        self.emailOwner = emailOwner
        self.reservation = reservation
        self.secondFactorProvenBy = secondFactorProvenBy
        self.tenant = tenant
        self.now = now
    }

    /// Returns true if a sign-in to `account` may use the credential: by its handle (rows Y), or because the owner has
    /// proven the conflict (J1 to J4, J15). Does not depend on the owners of identity and address.
    package func isUsable(by account: Account, _ policy: LinkPolicy) -> Bool {
        if isPresented {
            let verdict = decidePendingCredential(
                conflict: conflict,
                handleTenant: tenant,
                target: account.id,
                // A provider with another issuer is not enabled for the credential.
                isOfRegisteredIssuer: isProviderEnabled,
                now: now
            )
            return verdict.decision == .usable
        }
        let refusal = refusalOfNextSignIn(
            conflict: conflict,
            target: account,
            credential: credential,
            policy: policy,
            now: now
        )
        return refusal == nil
    }

    /// The link that the sign-in to `account` adds: rows L.
    ///
    /// Only a sign-in with the handle replaces another subject of the provider. Otherwise the next owner of a domain,
    /// who reads its mail, could prove the conflict and wait.
    fileprivate func link(to account: Account, isSessionRecent: Bool) -> LinkWithIdpQuestion {
        LinkWithIdpQuestion(
            target: account,
            identityOwner: identityOwner,
            emailOwner: emailOwner,
            credential: credential,
            isProviderEnabled: isProviderEnabled,
            secondFactorProvenBy: secondFactorProvenBy,
            isSessionRecent: isSessionRecent,
            settlesConflict: isPresented && conflict.isOpenedBySignIn(kind, to: account.id),
            reservation: reservation
        )
    }
}

extension ConflictFacts {
    /// Returns true if a sign-in opened the conflict about `account`, because a provider named its address.
    package func isOpenedBySignIn(_ kind: ConflictKind, to account: UserID) -> Bool {
        kind == .accountExistsWithDifferentCredential && self.account == account
    }
}

/// A sign-in that can link the credential that waits for its account.
package protocol SettlingQuestion: Question<SignInDecision> {
    /// The waiting credential; `nil` if none waits, and before it is loaded.
    var waiting: WaitingCredential? { get set }
}

extension SettlingQuestion {
    package var waitingCredential: IncomingCredential? { waiting?.credential }
}

extension SignInDecision {
    /// The account whose waiting credential can change the decision: load it and ask again. `nil` if the sign-in
    /// settles no conflict, because it links an identity itself or voids every open conflict.
    package var settlingAccount: UserID? {
        guard case .signIn(let id, let change, emailWasRecycled: false) = self, change.linkedIdentity == nil,
            !change.voidsOutstandingProofs
        else { return nil }
        return id
    }

    /// The identity that the sign-in links to an existing account.
    package var linkedIdentity: ProviderIdentity? {
        guard case .signIn(_, let change, emailWasRecycled: _) = self else { return nil }
        return change.linkedIdentity
    }
}

extension Verdict<SignInDecision> {
    /// The verdict with the link of the waiting credential, if the rules allow the link. Its rule is then the rule of
    /// the link.
    ///
    /// A refused link does not refuse the sign-in: a handle that is unusable, or of another account, has no effect.
    ///
    /// - `accounts`: the accounts of the sign-in.
    /// - `isSessionRecent`: false if the sign-in continues an old session.
    func linking(
        _ waiting: WaitingCredential?,
        toOneOf accounts: @autoclosure () -> [Account],
        isSessionRecent: Bool,
        _ policy: LinkPolicy
    ) -> Self {
        guard let waiting, let account = accounts().first(where: { $0.id == decision.settlingAccount }),
            waiting.isUsable(by: account, policy), case .signIn(let id, var change, let isRecycled) = decision
        else { return self }
        let link = waiting.link(to: account, isSessionRecent: isSessionRecent).decide(policy)
        guard case .signIn(id, let addition, emailWasRecycled: _) = link.decision else { return self }
        change.linkedIdentity = addition.linkedIdentity
        change.unlinkedProviders.formUnion(addition.unlinkedProviders)
        if change.email == .keep { change.email = addition.email }
        return Verdict(link.rule, .signIn(id, change, emailWasRecycled: isRecycled))
    }
}

extension WaitingCredential {
    mutating func rename(by names: inout Pseudonyms) {
        credential.rename(by: &names)
        identityOwner?.rename(by: &names)
        emailOwner?.rename(by: &names)
        reservation?.rename(by: &names)
        conflict.proof?.binding.address?.rename(by: &names)
    }

    /// Turns a fact into its opposite.
    /// - Returns: `false` if the link does not depend on the fact.
    mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .providerEnabled: isProviderEnabled.toggle()
        case .proofGiven where !isPresented: conflict.state = conflict.state == .proven ? .open : .proven
        case .emailTrusted, .emailProven, .emailTaken, .numberTaken, .identityLinked, .accountDisabled, .providerLinked,
            .createsUsers, .sessionRecent, .passwordRight, .passwordLocked, .proofGiven, .methodQuarantined,
            .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }

    mutating func enable(_ providers: Set<ProviderID>) {
        isProviderEnabled = providers.contains(credential.identity.provider)
    }
}
