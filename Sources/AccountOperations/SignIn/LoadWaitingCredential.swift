import AccountLinking
import AccountStore
import IdentityProviders

// The credential that waits for the account of a sign-in: more facts for the same question.

extension AccountOperations {
    /// Loads the credential that waits for the account, and asks the question again with it. The credential belongs to
    /// the handle in the request, or else to a conflict that the owner has proven. If none waits, `first` stands.
    ///
    /// Two round trips to load a credential that waits. One before, to find it, unless it was looked for with the
    /// accounts.
    ///
    /// - `first`: the verdict without the credential.
    /// - `handle`: the handle in the request (`pendingToken`).
    /// - `prover`: the account whose second factor this sign-in has proven.
    func askAgain(
        _ question: any Question<SignInDecision>,
        after first: Verdict<SignInDecision>,
        presenting handle: String? = nil,
        secondFactorProvenBy prover: UserID? = nil,
        _ attempt: inout SignInAttempt
    ) async throws -> Verdict<SignInDecision> {
        guard var question = question as? any SettlingQuestion, let user = first.decision.settlingAccount,
            let account = question.accounts.first(where: { $0.id == user }),
            let pending = try await waitingCredential(handle, of: user, attempt)
        else { return first }
        let credential = pending.credential.incoming
        var waiting = WaitingCredential(
            conflict: pending.conflict.facts,
            kind: pending.conflict.kind,
            isPresented: handle != nil,
            credential: credential,
            isProviderEnabled: isAccepted(credential),
            secondFactorProvenBy: prover,
            tenant: attempt.tenant,
            now: attempt.now
        )
        guard waiting.isUsable(by: account, policy) else { return first }
        let found = try await matchingAccounts(for: credential, target: nil, tenant: attempt.tenant)
        waiting.identityOwner = found.identityOwner?.account
        waiting.emailOwner = found.emailOwner?.account
        waiting.reservation = found.claim.reservation
        question.waiting = waiting
        let verdict = attempt.askAgain(question, policy)
        guard verdict.decision.linkedIdentity == credential.identity else { return verdict }
        attempt.context.linkedProvider = .init(credential, at: attempt.now)
        attempt.sideWrites += [.resolve(pending.conflict, at: attempt.now)] + found.claim.clearing
        return verdict
    }

    /// The credential of the handle; without a handle, that of the conflict that the owner of `user` has proven.
    private func waitingCredential(
        _ handle: String?,
        of user: UserID,
        _ attempt: SignInAttempt
    ) async throws -> PendingCredential? {
        guard let handle else {
            if let waiting = attempt.waiting, waiting.user == user { return try waiting.conflict.map(open) }
            return try await store.provenConflict(of: user, tenant: attempt.tenant, at: attempt.now).map(open)
        }
        guard let handle = ConflictHandle(handle, sealer: sealer) else { return nil }
        return try await store.conflict(handle.conflict, of: handle.user, tenant: handle.tenant).map(open)
    }
}
