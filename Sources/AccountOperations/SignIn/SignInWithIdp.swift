package import AccountLinking
import AccountStore
package import IdentityProviders

/// A sign-in, link or reauthentication with an identity provider (`accounts:signInWithIdp`).
package struct SignInWithIdp: Sendable {
    /// Where the credential comes from.
    package enum Source: Sendable {
        case credential(ProviderCredential)
        /// What came back from a provider's page to the session that began there.
        case flow(ProviderParameters, state: String)
        /// The handle of an earlier conflict.
        case pendingToken(String)
    }

    package var source: Source
    /// The session to link to; a sign-in without.
    package var idToken: String?
    /// `false` for a reauthentication (`autoCreate:false`).
    package var createsUsers: Bool
    /// The network address of the client, as far as it is known.
    package var clientAddress: String?

    package init(source: Source, idToken: String?, createsUsers: Bool, clientAddress: String? = nil) {
        self.source = source
        self.idToken = idToken
        self.createsUsers = createsUsers
        self.clientAddress = clientAddress
    }

    /// How it ended. Every ending repeats the verified credential, so that the client can go on with it.
    package struct Result: Sendable {
        package let credential: VerifiedCredential
        package let ending: Ending
        /// Names the decision to an operator; `nil` for a "no" to a stranger, of which none is kept.
        package let decision: DecisionID?
    }

    package enum Ending: Sendable {
        case signedIn(SignedIn)
        case secondFactorRequired(PendingSignIn)
        /// I11: the address belongs to an account that nothing presented shows to be the same person's.
        case needsConfirmation(account: UserID, verifiedProviders: [ProviderID], pendingToken: String)
        /// A refusal that the client can act on; with a handle if the credential is pending.
        case refused(Refusal, pendingToken: String?)
    }
}

extension AccountOperations {
    /// - Throws: `ProviderUnavailable`, `Contention`, or what the database could not do.
    package func signInWithIdp(
        _ request: SignInWithIdp,
        tenant: TenantID
    ) async throws -> SignInWithIdp.Result {
        let now = effects.now()
        var caller: AuthenticatedSession?
        if let idToken = request.idToken {
            caller = try await authenticate(idToken: idToken, tenant: tenant)
        }

        // Verify: outside the database, before anything is read or held.
        let credential: VerifiedCredential
        var pending: PendingCredential?
        switch request.source {
        case .pendingToken(let handle):
            let found = try await pendingCredential(handle, target: caller?.user.id, tenant: tenant, now: now)
            guard let usable = found.credential else { throw refused(.invalidPendingToken, by: found.rule) }
            pending = usable
            credential = usable.credential
        case .credential(let presented):
            if let caller {
                pending = try await pendingCredential(replaying: presented, target: caller.user, now: now)
            }
            if let pending {
                credential = pending.credential
            } else {
                credential = try await verified(presented, at: now)
            }
        case .flow(let parameters, let state):
            let presented = try await answer(parameters, toFlow: state, tenant: tenant, at: now)
            guard let presented else { throw Denial.invalidCredential(.unknownFlow) }
            credential = try await verified(presented, at: now)
        }
        return try await apply(credential, pending: pending, request: request, caller: caller, tenant: tenant)
    }

    private func apply(
        _ credential: VerifiedCredential,
        pending: PendingCredential?,
        request: SignInWithIdp,
        caller: AuthenticatedSession?,
        tenant: TenantID
    ) async throws -> SignInWithIdp.Result {
        let incoming = credential.incoming
        let provider = incoming.identity.provider
        var attempt = SignInAttempt(
            effects: effects,
            tenant: tenant,
            session: caller == nil
                ? NewSession(
                    effects: effects,
                    signInProvider: provider.rawValue,
                    signedInAt: countedSignIn(with: credential),
                    signInAttributes: credential.signInAttributes
                )
                : NewSession(
                    effects: effects,
                    signInProvider: provider.rawValue,
                    after: caller,
                    signInAttributes: credential.signInAttributes
                ),
            methodProof: .providerCredential
        )
        if caller == nil {
            // What waited in a conflict is no second use: it opened no session before.
            attempt.idTokenUse = idTokenUse(credential, isFirst: !request.createsUsers && pending == nil)
        }
        attempt.signUpLimits = limits(on: .signUps, from: request.clientAddress)
        let conflictLimits = limits(on: .conflicts, from: request.clientAddress)
        attempt.context.linkedProvider = .init(credential.incoming, at: attempt.now)
        let provenBy = caller?.token.secondFactor == nil ? nil : caller?.user.id

        return try await retrying(effects) {
            var attempt = attempt
            let found = try await matchingAccounts(for: incoming, target: caller?.user.id, tenant: tenant)
            if let use = attempt.idTokenUse, try await isRepeated(use, by: found.identityOwner) {
                throw Denial.invalidCredential(.usedBefore)
            }
            if let pending {
                // Read again with every attempt, and after the accounts: of two that use one handle at once the second must
                // find it used, and not be told what the first did with it.
                let conflict = try await store.conflict(
                    pending.conflict.id,
                    of: pending.conflict.user,
                    tenant: pending.conflict.tenant
                )
                let used = try usableCredential(of: conflict, target: caller?.user.id, tenant: tenant, now: attempt.now)
                guard let usable = used.credential else { throw refused(.invalidPendingToken, by: used.rule) }
                attempt.sideWrites.append(.resolve(usable.conflict, at: attempt.now))
            }
            let question: any Question<SignInDecision>
            var isSessionRecent = false
            if let caller {
                let target = try await account(of: caller, asItIs: found.target)
                isSessionRecent = caller.isRecent(onAccount: target.account, policy: policy, now: attempt.now)
                question = LinkWithIdpQuestion(
                    target: target.account,
                    identityOwner: found.identityOwner?.account,
                    emailOwner: found.emailOwner?.account,
                    credential: incoming,
                    isProviderEnabled: isAccepted(incoming),
                    secondFactorProvenBy: provenBy,
                    isSessionRecent: isSessionRecent,
                    settlesConflict: pending?.conflict.isOpenedBySignIn(to: target.id) ?? false,
                    reservation: found.claim.reservation
                )
            } else {
                question = SignInWithIdpQuestion(
                    identityOwner: found.identityOwner?.account,
                    emailOwner: found.emailOwner?.account,
                    credential: incoming,
                    isProviderEnabled: isAccepted(incoming),
                    createsUsers: request.createsUsers,
                    secondFactorProvenBy: nil,
                    reservation: found.claim.reservation
                )
            }
            var verdict = attempt.ask(question, policy)
            attempt.sideWrites += found.claim.clearing
            // To a stranger only where the answer tells of the account anyway: a write for some addresses and none for
            // others would tell whose is taken.
            attempt.keepsRefusals = caller != nil || verdict.decision == .refuse(.userDisabled)
            if caller == nil, pending == nil, case .signIn = verdict.decision {
                verdict = try await adding(nil, to: verdict, of: found.identityOwner, isSessionRecent: true, &attempt)
            }
            let kept = (pending?.conflict).map { FirstFactor.KeptConflict(id: $0.id, user: $0.user) }
            var firstFactor = FirstFactor(.idp(credential, conflict: kept))
            firstFactor.isSessionRecent = isSessionRecent
            firstFactor.origin = caller?.origin
            firstFactor.createsUsers = request.createsUsers
            let ending = try await end(
                verdict,
                credential,
                keptUntil: pending?.conflict.expiresAt,
                after: firstFactor,
                found: found,
                attempt: attempt,
                conflictLimits: conflictLimits,
                tenant: tenant
            )
            var decision: DecisionID? = attempt.decision
            switch ending {
            case .refused(_, pendingToken: nil) where caller == nil: decision = nil
            // Not taken before the second factor is shown.
            case .secondFactorRequired: decision = nil
            case .signedIn, .needsConfirmation, .refused: break
            }
            return SignInWithIdp.Result(credential: credential, ending: ending, decision: decision)
        }
    }

    /// Applies the verdict, or keeps the credential where the verdict is a conflict.
    ///
    /// - `end`: when a credential that was kept before is to be forgotten.
    private func end(
        _ verdict: Verdict<SignInDecision>,
        _ credential: VerifiedCredential,
        keptUntil end: Timestamp?,
        after firstFactor: FirstFactor,
        found: FoundAccounts,
        attempt: SignInAttempt,
        conflictLimits: [CountedLimit],
        tenant: TenantID
    ) async throws -> SignInWithIdp.Ending {
        switch verdict.decision {
        case .conflict(let conflict):
            try await requireRoom(for: .conflicts, within: conflictLimits, tenant: tenant, at: attempt.now)
            let handle = try await keep(
                credential,
                because: conflict,
                event: attempt.event(.conflictOpened, verdict.rule),
                among: found.loaded,
                until: end,
                counting: conflictLimits,
                tenant: tenant
            )
            switch conflict {
            case .accountExistsWithDifferentCredential(let account, let verifiedProviders):
                return .needsConfirmation(account: account, verifiedProviders: verifiedProviders, pendingToken: handle)
            case .credentialAlreadyInUse:
                return .refused(.federatedIdentityAlreadyLinked, pendingToken: handle)
            case .emailAlreadyInUse:
                return .refused(.emailExists, pendingToken: handle)
            }
        case .refuse(let refusal)
        where refusal == .federatedIdentityAlreadyLinked || refusal == .userNotFound || refusal == .emailExists:
            try await note(refusalBy: verdict.rule, of: found.loaded, attempt)
            metrics.decided(verdict.rule)
            return .refused(refusal, pendingToken: nil)
        case .refuse, .createUser, .signIn, .secondFactorRequired:
            switch try await completeOrAsk(verdict, after: firstFactor, loaded: found.loaded, attempt) {
            case .signedIn(let signedIn): return .signedIn(signedIn)
            case .secondFactorRequired(let pending): return .secondFactorRequired(pending)
            }
        }
    }

    /// When the user of `credential` signed in at the provider, where the policy counts sign-ins from then.
    func countedSignIn(with credential: VerifiedCredential) -> Timestamp? {
        policy.countsProviderAuthTime ? credential.signedInAt : nil
    }

    /// The use of a credential's ID token by a sign-in; `nil` where it has none, where the token does not say when it ends,
    /// as made-up ones do not, and where the policy does not ask.
    ///
    /// - `isFirst`: whether it must not have been used before, for a reauthentication.
    func idTokenUse(_ credential: VerifiedCredential, isFirst: Bool) -> IDTokenUse? {
        guard policy.countsProviderAuthTime, let digest = credential.tokens.idTokenDigest,
            let end = credential.expiresAt
        else { return nil }
        let now = effects.now()
        // A verified token lives no longer than that. A made-up one says what it likes.
        let latest = now.adding(seconds: Lifetimes.providerTokenSecondsMax)
        return IDTokenUse(digest: digest, expiresAt: min(max(end, now), latest), isFirst: isFirst)
    }

    /// Whether `use` has to be the first one of a token and is not. One round trip, for a reauthentication only.
    func isRepeated(_ use: IDTokenUse, by owner: UserRecord?) async throws -> Bool {
        guard use.isFirst, let owner else { return false }
        return try await store.isUsed(idToken: use.digest, of: owner.id, tenant: owner.tenant)
    }

    /// Whether a credential that was verified, now or before it was kept, is accepted: its provider is enabled, and is
    /// what it was then. Under another issuer its subject is somebody else (rule Y7).
    func isAccepted(_ credential: IncomingCredential) -> Bool {
        let configuration = project.configuration(of: credential.identity.provider)
        return providers.isEnabled(credential.identity.provider, configuration: configuration)
            && credential.isOf(issuer: configuration?.issuer)
    }
}

/// The accounts a provider's credential is judged by, as loaded.
struct FoundAccounts: Sendable {
    var identityOwner: UserRecord?
    /// What stands on the address; `free` when the credential names none.
    var claim: AddressClaim
    var target: UserRecord?

    var emailOwner: UserRecord? { claim.owner }

    var loaded: [UserRecord?] { [target, identityOwner, emailOwner] }
}

extension AccountOperations {
    /// How often claims and users are read again because they did not belong together.
    private static let readsMax = 8

    /// Loads the owners of a credential's identity and address: claims by their keys, then users by their ids. Two round
    /// trips.
    ///
    /// A user that changed between the two is younger than the claims: it may have given up what it seems to own, and
    /// its sessions with it, or own what seems free. No decision is right about such a pair, so both are read again.
    /// - Throws: `Contention` when they keep moving.
    func matchingAccounts(
        for credential: IncomingCredential,
        target: UserID?,
        tenant: TenantID
    ) async throws -> FoundAccounts {
        let identity = Identifier.federated(credential.identity)
        let address = credential.email.address
        let now = effects.now()
        for _ in 1...Self.readsMax {
            let owners = try await store.owners(of: identity, and: address, tenant: tenant, at: now)
            let ids = Set([owners.identity, owners.address, target].compactMap(\.self))
            let users = try await store.users(Array(ids), tenant: tenant)
            let belongTogether = users.allSatisfy { user in
                user.holds(identity) == (user.id == owners.identity)
                    && address.map { user.holds(.email($0)) == (user.id == owners.address) } ?? true
            }
            guard belongTogether else { continue }
            func user(_ id: UserID?) -> UserRecord? { users.first { $0.id == id } }
            let claim = owners.reserved.map(AddressClaim.reserved) ?? user(owners.address).map(AddressClaim.owned)
            return FoundAccounts(identityOwner: user(owners.identity), claim: claim ?? .free, target: user(target))
        }
        throw Contention()
    }
}

extension UserRecord.LinkedProvider {
    /// The row for an identity, as its provider describes it now.
    init(_ credential: IncomingCredential, at now: Timestamp) {
        self.init(
            identity: credential.identity,
            issuer: credential.issuer,
            email: credential.email.address,
            displayName: credential.profile.displayName,
            photoURL: credential.profile.photoURL,
            screenName: credential.profile.screenName,
            linkedAt: now,
            updatedAt: now
        )
    }
}
