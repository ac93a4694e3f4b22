import AccountLinking
import AccountStore
import IdentityProviders

// The last part of a decision: a conflict that the sign-in settles. It changes the verdict after the rules gave it.

extension AccountOperations {
    /// Adds to a sign-in the link of a credential that waits for it: the one whose handle came with it, or else one whose
    /// conflict the owner has proven. Signing in with a method the account has is proof enough, so that the client needs no
    /// second request, nor the provider a second round; an SDK that knows of no conflict gets there too. It is not where the
    /// address was proven by that proof alone (J15).
    ///
    /// A sign-in that is right is not refused for what comes with it: a handle that is no good, of another account, or whose
    /// credential the rules of linking refuse, is left alone, and so is one that comes with a sign-in that ends every open
    /// conflict of the account.
    ///
    /// - `pendingToken`: the handle that came with the sign-in.
    /// - `user`: the account as `verdict` was taken on it.
    /// - `prover`: the account whose second factor this sign-in has proven.
    /// - `isSessionRecent`: false if the sign-in goes on with a session that is old.
    func settleWaitingConflict(
        _ pendingToken: String? = nil,
        after verdict: Verdict<SignInDecision>,
        of user: UserRecord?,
        secondFactorProvenBy prover: UserID? = nil,
        isSessionRecent: Bool,
        _ attempt: inout SignInAttempt
    ) async throws -> Verdict<SignInDecision> {
        guard let user, case .signIn(let id, var change, emailWasRecycled: false) = verdict.decision,
            id == user.id, change.linkedIdentity == nil, !change.voidsOutstandingProofs
        else { return verdict }
        let waiting =
            if let pendingToken {
                try await pendingCredential(pendingToken, target: id, tenant: user.tenant, now: attempt.now).credential
            } else {
                try await provenCredential(of: user, now: attempt.now)
            }
        guard let pending = waiting else { return verdict }
        let credential = pending.credential.incoming
        var found = try await matchingAccounts(for: credential, target: nil, tenant: user.tenant)
        // It settles a changed subject only with the handle at hand: a conflict that the mailbox proved may be that of the
        // next owner of a domain, who reads its mail.
        if pendingToken != nil { found.settledConflict = pending.conflict }
        let purpose = IdpPurpose.link(to: user, isSessionRecent: isSessionRecent)
        let link = attempt.ask(question(purpose, with: credential, among: found, secondFactorProvenBy: prover), policy)
        guard case .signIn(id, let addition, emailWasRecycled: _) = link.decision else { return verdict }
        change.linkedIdentity = addition.linkedIdentity
        change.unlinkedProviders.formUnion(addition.unlinkedProviders)
        if change.email == .keep { change.email = addition.email }
        attempt.context.linkedProvider = .init(credential, at: attempt.now)
        attempt.sideWrites += [.resolve(pending.conflict, at: attempt.now)] + found.claim.clearing
        return Verdict(link.rule, .signIn(id, change, emailWasRecycled: false))
    }

    /// The credential of a conflict that the owner of `user` has proven, as long as the proof holds for a sign-in (J1 to J4,
    /// J15). One round trip.
    private func provenCredential(of user: UserRecord, now: Timestamp) async throws -> PendingCredential? {
        guard let conflict = try await store.provenConflict(of: user.id, tenant: user.tenant, at: now) else {
            return nil
        }
        let pending = try open(conflict)
        let refusal = refusalOfNextSignIn(
            conflict: conflict.facts,
            target: user.account,
            credential: pending.credential.incoming,
            policy: policy,
            now: now
        )
        return refusal == nil ? pending : nil
    }
}
