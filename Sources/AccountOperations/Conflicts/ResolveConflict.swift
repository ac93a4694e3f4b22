import AccountLinking
import AccountStore
import IdentityProviders

/// The caller who settles a conflict.
struct ConflictSettler: Sendable {
    /// True if the caller has given the proof.
    var isProver: Bool
    /// Further writes of the transaction.
    var sideWrites: [AccountWrite.SideWrite] = []
}

extension AccountOperations {
    /// Settles a proven conflict (rules J): links its credential, signs the owner in and closes it, in one transaction.
    /// Two round trips without contention.
    ///
    /// Decides by the account's current state. Of concurrent callers exactly one is signed in.
    ///
    /// - `proofToken`: the token of the given proof.
    /// - `client`: counted if a pending sign-up creates an account.
    package func resolveConflict(
        _ handle: String,
        proofToken: String?,
        from client: PasswordClient = .unknown,
        _ request: ChangeRequest<SignedIn>
    ) async throws -> SignedIn {
        if try await signUpView(handle, tenant: request.tenant) != nil {
            return try await continueSignUp(handle, proofToken: proofToken, from: client, request)
        }
        return try await settleConflict(handle, request) { loaded in
            ConflictSettler(isProver: loaded.conflict.isProven(by: proofToken))
        }
    }

    /// Settles a conflict for its prover.
    ///
    /// - `isOfStranger`: the answer is stored without an account (`SignInAttempt.isOfStranger`).
    /// - `settler`: the caller. May change the loaded conflict. Called before each attempt.
    func settleConflict(
        _ handle: String,
        isOfStranger: Bool = false,
        _ request: ChangeRequest<SignedIn>,
        by settler: (inout LoadedConflict) async throws -> ConflictSettler
    ) async throws -> SignedIn {
        let (tenant, now) = (request.tenant, effects.now())
        let eventID = effects.newEventID()
        return try await changeConflict(handle, request) { loaded in
            var loaded = loaded
            let settler = try await settler(&loaded)
            let pending = try open(loaded.conflict)
            let credential = pending.credential
            let policy = policy
            let claim = try await addressClaim(of: pending, tenant: tenant, at: now)
            let question = resolutionQuestion(
                loaded,
                pending,
                isProver: settler.isProver,
                claim: claim,
                tenant: tenant,
                now: now
            )
            let verdict = question.decide(policy)
            let decision = DecisionRecord(question, under: policy)
            switch verdict.decision {
            case .refuse(let refusal):
                // Record no refusal of a caller who has only the handle.
                if question.isProver {
                    let event = AccountEvent(
                        id: eventID,
                        occurredAt: now,
                        kind: .refused,
                        rule: verdict.rule,
                        decisions: [decision]
                    )
                    try await store.keep(event, of: loaded.conflict.user, tenant: tenant)
                }
                throw refused(.conflict(refusal), by: verdict.rule)
            case .resolve(let user, let change):
                var attempt = SignInAttempt(
                    effects: effects,
                    sampling: project.settings.factSampling,
                    tenant: tenant,
                    session: NewSession(
                        effects: effects,
                        signInProvider: loaded.conflict.provider.rawValue,
                        signInAttributes: credential.signInAttributes
                    ),
                    methodProof: .providerCredential
                )
                attempt.context.linkedProvider = .init(credential.incoming, at: attempt.now)
                attempt.decisions = [decision]
                attempt.sideWrites = [.resolve(loaded.conflict, at: attempt.now)] + claim.clearing
                attempt.sideWrites.append(.handOver(attempt.session.id, from: loaded.conflict))
                attempt.sideWrites += settler.sideWrites
                attempt.idempotent = request.idempotent
                attempt.isOfStranger = isOfStranger
                let signedIn = try await applySignIn(
                    Verdict(verdict.rule, .signIn(user, change, emailWasRecycled: false)),
                    loaded: [loaded.user],
                    attempt
                )
                metrics.signedIn(by: .init(loaded.conflict.provider), signedIn.countedResult)
                return signedIn
            }
        }
    }

    /// The question whether the conflict can be settled now. Also asked before, to show its owner the effects.
    func resolutionQuestion(
        _ loaded: LoadedConflict,
        _ pending: PendingCredential,
        isProver: Bool,
        claim: AddressClaim,
        tenant: TenantID,
        now: Timestamp
    ) -> ResolveConflictQuestion {
        let credential = pending.credential.incoming
        return ResolveConflictQuestion(
            conflict: loaded.conflict.facts,
            handleTenant: tenant,
            isProver: isProver,
            target: loaded.user?.account,
            identityOwner: loaded.identityOwner,
            emailOwner: claim.owner?.id,
            credential: credential,
            isProviderEnabled: isAccepted(credential),
            now: now,
            reservation: claim.reservation
        )
    }

    /// The owner and the reservation of a pending credential's address. One round trip; none for a credential without
    /// address.
    func addressClaim(of pending: PendingCredential, tenant: TenantID, at now: Timestamp) async throws -> AddressClaim {
        guard let address = pending.credential.incoming.email.address else { return .free }
        return try await store.claim(on: address, tenant: tenant, at: now)
    }

    /// Declines a conflict: its credential can no longer be used. The holder of the handle may do it, because they
    /// could let it expire as well.
    package func declineConflict(
        _ handle: String,
        _ request: ChangeRequest<ConflictView>
    ) async throws -> ConflictView {
        let (tenant, now) = (request.tenant, effects.now())
        if try await signUpView(handle, tenant: tenant) != nil { return try await declineSignUp(handle, request) }
        let eventID = effects.newEventID()
        return try await changeConflict(handle, request) { loaded in
            let verdict = decideDeclineConflict(
                conflict: loaded.conflict.facts,
                handleTenant: tenant,
                by: .holder,
                now: now
            )
            if let refusal = verdict.decision { throw refused(.conflict(refusal), by: verdict.rule) }
            let credential = try open(loaded.conflict)
            let declined = loaded.conflict.closed(as: .declined, at: now)
            let view = view(of: declined.raised, credential, now: now)
            let event = AccountEvent(id: eventID, occurredAt: now, kind: .conflictDeclined, rule: verdict.rule)
            let kept = try storeAnswer(view, to: request.idempotent, of: declined.user, tenant: tenant, at: now)
            try await store.change(declined, at: now, event: event, sideWrites: kept).requireApplied()
            return view
        }
    }
}
