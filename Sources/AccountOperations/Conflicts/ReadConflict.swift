package import AccountLinking
import AccountStore
import IdentityProviders

/// A conflict as the holder of its handle sees it.
///
/// The handle alone shows the provider and the masked address of the credential. Only the proven owner of the account
/// sees data of the account.
package struct ConflictView: Sendable {
    /// The latest proof, pending or given.
    package struct Proof: Sendable {
        package let kind: ConflictProofKind
        package let attemptsLeft: Int
        package let expiresAt: Timestamp
    }

    package var state: ConflictFacts.State
    /// True if the conflict expired while it was open or proven.
    package let isExpired: Bool
    package let version: Int64
    package let kind: ConflictKind
    package let provider: ProviderID
    /// `a***@e***.com`; `nil` if the provider named no address.
    package let maskedEmail: String?
    package let openedAt: Timestamp
    package let expiresAt: Timestamp
    package let proof: Proof?
    /// The owner's sign-in methods; `nil` for other callers.
    package let signInMethods: [SignInMethod]?
    /// The methods that settling the conflict now would suspend; `nil` for callers other than the owner, and if it
    /// cannot be settled.
    package let suspended: [MethodSuspension]?
    /// The providers whose identity settling the conflict now would replace; `nil` whenever `suspended` is.
    package let replaced: [ProviderID]?
    /// The way back to the app; `nil` if there is none. Only in the answer to a read.
    package var wayBack: ConflictReturnView?
}

/// A conflict with the facts for its decision.
struct LoadedConflict: Sendable {
    var conflict: ConflictRecord
    /// `nil` if the account is gone.
    let user: UserRecord?
    let identityOwner: UserID?
    /// The stored answer to a repeated request.
    var answer: [UInt8]?
}

extension AccountOperations {
    /// Returns the conflict as the caller may see it. Two round trips; three for the owner of the account.
    ///
    /// - `proofToken`: the token of a given proof. Shows more to its holder.
    package func conflict(
        _ handle: String,
        proofToken: String?,
        tenant: TenantID
    ) async throws -> ConflictView {
        guard let loaded = try await load(handle, tenant: tenant) else {
            guard let view = try await signUpView(handle, tenant: tenant) else { throw Denial.conflict(.unknown) }
            return view
        }
        let now = effects.now()
        let stranger = refusalOfProver(
            conflict: loaded.conflict.facts,
            handleTenant: tenant,
            isProver: loaded.conflict.isProven(by: proofToken),
            target: loaded.user?.account,
            policy: policy,
            now: now
        )
        let credential = try open(loaded.conflict)
        let wayBack = try await conflictReturn(of: loaded.conflict, at: now)
        guard stranger == nil, let owner = loaded.user else {
            var view = view(of: loaded.conflict, credential, now: now)
            view.wayBack = wayBack
            return view
        }
        let claim = try await addressClaim(of: credential, tenant: tenant, at: now)
        let question = resolutionQuestion(
            loaded,
            credential,
            isProver: true,
            claim: claim,
            tenant: tenant,
            now: now
        )
        var view = view(of: loaded.conflict, credential, provenBy: owner, preview: question, now: now)
        view.wayBack = wayBack
        return view
    }

    /// Loads a handle's conflict with the facts for its decision; `nil` for an unknown handle. One round trip.
    private func load(_ handle: String, tenant: TenantID) async throws -> LoadedConflict? {
        guard let handle = ConflictHandle(handle, sealer: sealer) else { return nil }
        let found = try await store.conflictFacts(
            handle.conflict,
            of: handle.user,
            identity: .federated(handle.identity),
            tenant: tenant
        )
        return found.conflict.map {
            LoadedConflict(conflict: $0, user: found.user, identityOwner: found.identityOwner)
        }
    }

    /// Loads the conflict, and the answer that is stored under the idempotency key.
    private func load<Value>(
        _ handle: String,
        tenant: TenantID,
        answerTo idempotent: IdempotentRequest<Value>?
    ) async throws -> LoadedConflict? {
        guard let idempotent else { return try await load(handle, tenant: tenant) }
        guard let handle = ConflictHandle(handle, sealer: sealer) else { return nil }
        let found = try await store.conflictFacts(
            handle.conflict,
            of: handle.user,
            identity: .federated(handle.identity),
            tenant: tenant,
            answerTo: idempotent.key(of: handle.user, tenant: tenant),
            at: effects.now()
        )
        return found.conflict.map {
            LoadedConflict(conflict: $0, user: found.user, identityOwner: found.identityOwner, answer: found.answer)
        }
    }

    /// Changes the conflict of a handle by `attempt`, which gets the conflict as it is now.
    ///
    /// A request that was applied before gets its stored answer, even if the conflict has changed since. If the caller
    /// expects another version, the request is refused.
    func changeConflict<Value: Sendable>(
        _ handle: String,
        _ request: ChangeRequest<Value>,
        _ attempt: (LoadedConflict) async throws -> Value
    ) async throws -> Value {
        let (tenant, idempotent) = (request.tenant, request.idempotent)
        return try await retrying(effects) {
            let loaded = try fact(decideFindConflict(try await load(handle, tenant: tenant, answerTo: idempotent)))
            let user = loaded.conflict.user
            if let answer = try storedAnswer(to: idempotent, stored: loaded.answer, of: user, tenant: tenant) {
                throw answer
            }
            if let expected = request.expectedVersion, expected != loaded.conflict.version {
                throw Denial.versionMismatch
            }
            do {
                return try await attempt(loaded)
            } catch let denial as Denial where idempotent != nil {
                // A concurrent attempt of the same request may have been applied, and cause the refusal.
                let kept = try await load(handle, tenant: tenant, answerTo: idempotent)?.answer
                throw try storedAnswer(to: idempotent, stored: kept, of: user, tenant: tenant) ?? denial
            }
        }
    }

    /// - `owner`: the account, if the caller has proven to own it; otherwise `nil`.
    /// - `preview`: the question that settling the conflict would ask; for the owner only.
    func view(
        of conflict: ConflictRecord,
        _ pending: PendingCredential,
        provenBy owner: UserRecord? = nil,
        preview: ResolveConflictQuestion? = nil,
        now: Timestamp
    ) -> ConflictView {
        let isExpired = conflict.state.isLive && conflict.expiresAt <= now
        var settled: (rule: Rule, change: AccountChange, account: Account)?
        if let account = owner?.account, let verdict = preview?.decide(policy),
            case .resolve(_, let change) = verdict.decision
        {
            settled = (verdict.rule, change, account)
        }
        return ConflictView(
            state: conflict.state,
            isExpired: isExpired,
            version: conflict.version,
            kind: conflict.kind,
            provider: conflict.provider,
            maskedEmail: pending.credential.incoming.email.address.map(\.masked),
            openedAt: conflict.openedAt,
            expiresAt: conflict.expiresAt,
            proof: conflict.proof.flatMap { proof in
                guard conflict.state.isLive, !isExpired, now < proof.facts.expiresAt else { return nil }
                return ConflictView.Proof(
                    kind: proof.facts.binding.kind,
                    attemptsLeft: max(0, ConflictProofFacts.attemptsMax - proof.facts.attempts),
                    expiresAt: proof.facts.expiresAt
                )
            },
            signInMethods: owner?.account.signInMethods,
            suspended: settled.map { suspensions(by: $0.change, of: $0.account, $0.rule, at: now) },
            replaced: settled.map { providersReplaced(by: $0.change, of: $0.account) }
        )
    }
}

extension EmailAddress {
    /// The address in masked form, such as `a***@e***.com`: its owner recognizes it, others cannot use it.
    var masked: String {
        let parts = lowercased.split(separator: "@", maxSplits: 1)
        let labels = parts[1].split(separator: ".")
        let host =
            labels.count > 1 ? "\(labels[0].prefix(1))***.\(labels[labels.count - 1])" : "\(labels[0].prefix(1))***"
        return "\(parts[0].prefix(1))***@\(host)"
    }
}
