package import AccountLinking
import AccountStore
package import IdentityProviders

/// A sign-in, link or reauthentication with an identity provider (`accounts:signInWithIdp`).
package struct SignInWithIdp: Sendable {
    /// The source of the credential.
    package enum Source: Sendable {
        case credential(ProviderCredential)
        /// The answer of a provider's page to the session that began there.
        case flow(ProviderParameters, state: String)
        /// The handle of an earlier conflict, of a pending sign-up, or of a first sign-in.
        case pendingToken(String)
    }

    package var source: Source
    /// The session to link to; `nil` for a sign-in.
    package var idToken: String?
    /// `false` for a reauthentication (`autoCreate:false`).
    package var createsUsers: Bool
    /// True to ask the person before an account is created.
    package var asksFirst: Bool
    /// The page of the app to which the mail to a mailbox that must be proven leads back; it must be on an authorized
    /// domain.
    package var continueURL: String?
    /// The network address of the client, if known.
    package var clientAddress: String?
    /// The language for the mail to a mailbox that must be proven, as sent.
    package var locale: String?

    package init(
        source: Source,
        idToken: String?,
        createsUsers: Bool,
        asksFirst: Bool = false,
        continueURL: String? = nil,
        clientAddress: String? = nil,
        locale: String? = nil
    ) {
        self.locale = locale
        self.source = source
        self.idToken = idToken
        self.createsUsers = createsUsers
        self.asksFirst = asksFirst
        self.continueURL = continueURL
        self.clientAddress = clientAddress
    }

    /// The result with the verified credential, so that the client can continue with it.
    package struct Result: Sendable {
        package let credential: VerifiedCredential
        package let ending: Ending
        /// The name of the decision, for operators; `nil` for a refusal of an anonymous caller, which is not recorded.
        package let decision: DecisionID?
    }

    package enum Ending: Sendable {
        case signedIn(SignedIn)
        case secondFactorRequired(PendingSignIn)
        /// I11: the address belongs to an account, and nothing proves that it is the same person's.
        case needsConfirmation(account: UserID, verifiedProviders: [ProviderID], pendingToken: String)
        /// I22: the mailbox must be proven first. Whether an account has the address is not said.
        case needsMailbox(pseudonym: String, pendingToken: String)
        /// I23: nothing is created. The person creates an account with the handle, or links it to another one.
        case asksFirst(pendingToken: String)
        /// A refusal that the client can resolve; with a handle if the credential is pending.
        case refused(Refusal, pendingToken: String?)
    }
}

extension AccountOperations {
    /// Verifies the credential, then loads the facts, decides, and applies the decision until the facts hold.
    /// - Throws: `Denial`, `ProviderUnavailable`, `Contention`, or a failure of the database.
    package func signInWithIdp(
        _ request: SignInWithIdp,
        tenant: TenantID
    ) async throws -> SignInWithIdp.Result {
        try requireAuthorized(mailReturningTo: request.continueURL)
        // Asks the provider before it reads or locks anything in the database.
        let links = request.idToken != nil
        let presented = try await countingRefusal(request.source.method, links: links) {
            try await verify(request, tenant: tenant)
        }
        let attempt = attempt(presented, request, tenant: tenant)
        let conflictLimits = limits(on: .conflicts, from: request.clientAddress)
        let method = OperationMetrics.SignInMethod(presented.credential.incoming.identity.provider)
        return try await counting(method, links: links) {
            try await retrying(effects) {
                var attempt = attempt
                let facts = try await load(presented, &attempt)
                let verdict = try await decide(presented, facts, request, &attempt)
                let firstFactor = presented.firstFactor(facts, createsUsers: request.createsUsers)
                let ending =
                    if case .conflict(.unprovenAddress(let address)) = verdict.decision {
                        try await confirm(
                            address,
                            presented,
                            by: verdict.rule,
                            request,
                            counting: conflictLimits,
                            attempt
                        )
                    } else if verdict.decision == .conflict(.firstSignIn) {
                        try ask(presented, by: verdict.rule, attempt)
                    } else if case .conflict(let conflict) = verdict.decision {
                        try await keep(
                            presented,
                            as: conflict,
                            by: verdict.rule,
                            facts,
                            counting: conflictLimits,
                            attempt
                        )
                    } else {
                        try await apply(verdict, after: firstFactor, facts, attempt)
                    }
                return SignInWithIdp.Result(
                    credential: presented.credential,
                    ending: ending,
                    decision: ending.isRecorded(isStranger: presented.caller == nil) ? attempt.decision : nil
                )
            }
        }
    }

    /// The values that the attempts share.
    private func attempt(_ presented: PresentedIdp, _ request: SignInWithIdp, tenant: TenantID) -> SignInAttempt {
        let (caller, credential) = (presented.caller, presented.credential)
        let provider = credential.incoming.identity.provider
        var attempt = SignInAttempt(
            effects: effects,
            sampling: project.settings.factSampling,
            tenant: tenant,
            session: NewSession(
                effects: effects,
                signInProvider: provider.rawValue,
                secondFactor: caller?.token.secondFactor,
                signedInAt: caller == nil ? countedSignIn(with: credential) : nil,
                continuing: caller?.origin,
                signInAttributes: credential.signInAttributes
            ),
            methodProof: .providerCredential
        )
        if caller == nil {
            // A credential from a conflict opened no session before, so this is its first use.
            attempt.idTokenUse = idTokenUse(credential, isFirst: !request.createsUsers && presented.conflict == nil)
        }
        attempt.signUpLimits = limits(on: .signUps, from: request.clientAddress)
        return attempt
    }

    /// Loads the accounts that the credential matches, and the session's current account.
    private func load(_ presented: PresentedIdp, _ attempt: inout SignInAttempt) async throws -> IdpFacts {
        let found = try await loadAccounts(
            for: presented.credential,
            waitingIn: presented.sourceConflict,
            target: presented.caller?.user.id,
            &attempt
        )
        if let handle = presented.signUp {
            // Read with every attempt: of two callers with one handle, the second must find it used.
            let signUp = try await waitingSignUp(handle, tenant: attempt.tenant, at: attempt.now).signUp
            attempt.sideWrites.append(.useUp(signUp, by: attempt.use, at: attempt.now))
        }
        guard let caller = presented.caller else { return IdpFacts(found: found) }
        let target = try await account(of: caller, asItIs: found.target)
        let isRecent = caller.isRecent(onAccount: target.account, policy: policy, now: attempt.now)
        return IdpFacts(found: found, target: target, isSessionRecent: isRecent)
    }

    /// Asks the rules, also about the credential that waits for this sign-in.
    private func decide(
        _ presented: PresentedIdp,
        _ facts: IdpFacts,
        _ request: SignInWithIdp,
        _ attempt: inout SignInAttempt
    ) async throws -> Verdict<SignInDecision> {
        let caller = presented.caller
        let purpose: IdpPurpose =
            if let target = facts.target {
                .link(to: target, isSessionRecent: facts.isSessionRecent)
            } else {
                .signIn(createsUsers: request.createsUsers, asksFirst: request.asksFirst && presented.conflict == nil)
            }
        let question = question(
            purpose,
            with: presented.credential.incoming,
            among: facts.found,
            secondFactorProvenBy: caller?.provenFactorOwner
        )
        let verdict = attempt.ask(question, policy)
        // For anonymous callers, record a refusal only if the answer reveals the account anyway. Otherwise the extra
        // write would reveal which addresses are taken.
        attempt.keepsRefusals = caller != nil || verdict.decision == .refuse(.userDisabled)
        guard caller == nil, presented.conflict == nil else { return verdict }
        return try await askAgain(question, after: verdict, &attempt)
    }

    /// Applies the verdict, or requests the second factor.
    private func apply(
        _ verdict: Verdict<SignInDecision>,
        after firstFactor: FirstFactor,
        _ facts: IdpFacts,
        _ attempt: SignInAttempt
    ) async throws -> SignInWithIdp.Ending {
        switch verdict.decision {
        case .refuse(let refusal)
        where refusal == .federatedIdentityAlreadyLinked || refusal == .userNotFound || refusal == .emailExists:
            try await note(refusalBy: verdict.rule, of: facts.found.loaded, attempt)
            metrics.decided(verdict.rule)
            return .refused(refusal, pendingToken: nil)
        case .refuse, .createUser, .signIn, .secondFactorRequired, .conflict:
            switch try await applyOrAskForSecondFactor(
                verdict,
                after: firstFactor,
                loaded: facts.found.loaded,
                attempt
            ) {
            case .signedIn(let signedIn): return .signedIn(signedIn)
            case .secondFactorRequired(let pending): return .secondFactorRequired(pending)
            }
        }
    }

    /// Stores the credential, and returns the handle of the conflict.
    private func keep(
        _ presented: PresentedIdp,
        as conflict: Conflict,
        by rule: Rule,
        _ facts: IdpFacts,
        counting limits: [CountedLimit],
        _ attempt: SignInAttempt
    ) async throws -> SignInWithIdp.Ending {
        try await requireRoom(for: .conflicts, within: limits, tenant: attempt.tenant, at: attempt.now)
        let handle = try await keep(
            presented.credential,
            because: conflict,
            event: attempt.event(.conflictOpened, rule),
            among: facts.found.loaded,
            until: presented.heldUntil,
            counting: limits,
            tenant: attempt.tenant
        )
        return switch conflict {
        case .accountExistsWithDifferentCredential(let account, let verifiedProviders):
            .needsConfirmation(account: account, verifiedProviders: verifiedProviders, pendingToken: handle)
        case .credentialAlreadyInUse: .refused(.federatedIdentityAlreadyLinked, pendingToken: handle)
        case .emailAlreadyInUse: .refused(.emailExists, pendingToken: handle)
        case .unprovenAddress, .firstSignIn: throw UnexpectedDecision(rule)
        }
    }

    /// Seals the credential until the person has chosen. Nothing is written.
    private func ask(
        _ presented: PresentedIdp,
        by rule: Rule,
        _ attempt: SignInAttempt
    ) throws -> SignInWithIdp.Ending {
        let handle = try firstSignIn(
            with: presented.credential,
            until: presented.firstSignInEnd ?? presented.heldUntil,
            tenant: attempt.tenant,
            at: attempt.now
        )
        metrics.decided(rule)
        return .asksFirst(pendingToken: handle)
    }

    /// Stores the credential until the mailbox is proven. Nothing is written about an account.
    private func confirm(
        _ address: EmailAddress,
        _ presented: PresentedIdp,
        by rule: Rule,
        _ request: SignInWithIdp,
        counting limits: [CountedLimit],
        _ attempt: SignInAttempt
    ) async throws -> SignInWithIdp.Ending {
        try await requireRoom(for: .conflicts, within: limits, tenant: attempt.tenant, at: attempt.now)
        let handle = try await beginSignUp(
            of: address,
            bringing: presented.credential,
            returningTo: request.continueURL,
            counting: limits,
            from: request.clientAddress,
            locale: request.locale,
            tenant: attempt.tenant
        )
        metrics.decided(rule)
        return .needsMailbox(pseudonym: pseudonym(of: address, tenant: attempt.tenant), pendingToken: handle)
    }

    /// A name of the form of account ids, the same for every request with the address. SDKs require `localId` in the
    /// answer; an account's would say that it exists.
    private func pseudonym(of address: EmailAddress, tenant: TenantID) -> String {
        let digest = sealer.digest("\(tenant.rawValue) \(address.canonical)", context: "unproven-address")
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        return String(digest.prefix(28).map { letters[Int($0) % letters.count] })
    }
}

/// The facts of one attempt to sign in with a provider.
private struct IdpFacts: Sendable {
    let found: FoundAccounts
    /// The account of the session; `nil` without one.
    var target: UserRecord?
    var isSessionRecent = false
}

extension PresentedIdp {
    fileprivate func firstFactor(_ facts: IdpFacts, createsUsers: Bool) -> FirstFactor {
        var firstFactor = FirstFactor(.idp(credential, conflict: sourceConflict))
        firstFactor.isSessionRecent = facts.isSessionRecent
        firstFactor.origin = caller?.origin
        firstFactor.createsUsers = createsUsers
        return firstFactor
    }
}

extension SignInWithIdp.Ending {
    /// Returns true if the decision is recorded. Before the second factor is proven there is none.
    fileprivate func isRecorded(isStranger: Bool) -> Bool {
        switch self {
        case .secondFactorRequired: false
        case .refused(_, let pendingToken): pendingToken != nil || !isStranger
        case .signedIn, .needsConfirmation: true
        // Nothing is recorded about an account.
        case .needsMailbox, .asksFirst: false
        }
    }
}
