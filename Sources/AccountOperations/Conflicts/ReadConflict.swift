package import AccountLinking
import AccountStore
import IdentityProviders

/// A conflict as somebody who holds a handle sees it.
///
/// The handle alone tells what its holder came with: the provider, and a masked form of the address the provider named.
/// Only who proved to be the owner of the account learns anything about the account.
package struct ConflictView: Sendable {
    package enum State: String, Sendable {
        case open, proven, resolved, declined, expired, superseded
    }

    /// The proof that is under way or was given.
    package struct Proof: Sendable {
        package let kind: ConflictProofKind
        package let attemptsLeft: Int
        package let expiresAt: Timestamp
    }

    package let state: State
    package let version: Int64
    package let kind: ConflictKind
    package let provider: ProviderID
    /// `a***@e***.com`; `nil` where the provider named no address.
    package let maskedEmail: String?
    package let openedAt: Timestamp
    package let expiresAt: Timestamp
    package let proof: Proof?
    /// How the owner can sign in; `nil` for everybody else.
    package let signInMethods: [SignInMethod]?
}

/// A conflict that can still be settled, and the account it concerns.
struct LoadedConflict: Sendable {
    let conflict: ConflictRecord
    /// `nil` when it is gone.
    let user: UserRecord?
    let identityOwner: UserID?
}

extension AccountOperations {
    /// What the holder of a handle may know of its conflict. One round trip.
    ///
    /// `proofToken`: what was handed out for the proof; shows more to who has it.
    package func conflict(
        _ handle: String,
        proofToken: String?,
        tenant: TenantID
    ) async throws -> Outcome<ConflictView> {
        guard let handle = ConflictHandle(handle, sealer: sealer), handle.tenant == tenant else {
            return .denied(.conflict(.unknown))
        }
        let found = try await store.conflictFacts(
            handle.conflict,
            of: handle.user,
            identity: .federated(handle.identity),
            tenant: tenant
        )
        guard let conflict = found.conflict else { return .denied(.conflict(.unknown)) }
        let now = effects.now()
        let isProver = conflict.isProven(by: proofToken) && conflict.proof.map { now < $0.facts.expiresAt } ?? false
        return .success(view(of: conflict, try open(conflict), provenBy: isProver ? found.user : nil, now: now))
    }

    /// Loads a conflict something is to be done with. One round trip.
    func load(
        _ handle: ConflictHandle,
        tenant: TenantID,
        expectedVersion: Int64?,
        now: Timestamp
    ) async throws -> Outcome<LoadedConflict> {
        guard handle.tenant == tenant else { return .denied(.conflict(.unknown)) }
        let found = try await store.conflictFacts(
            handle.conflict,
            of: handle.user,
            identity: .federated(handle.identity),
            tenant: tenant
        )
        if let refusal = refusal(of: found.conflict?.facts, handleTenant: tenant, now: now) {
            return .denied(.conflict(refusal.decision))
        }
        guard let conflict = found.conflict else { return .denied(.conflict(.unknown)) }
        if let expectedVersion, expectedVersion != conflict.version { return .denied(.versionMismatch) }
        return .success(
            LoadedConflict(conflict: conflict, user: found.user, identityOwner: found.identityOwner)
        )
    }

    /// `owner`: the account, for who has proven to be its owner; `nil` for everybody else.
    func view(
        of conflict: ConflictRecord,
        _ pending: PendingCredential,
        provenBy owner: UserRecord?,
        now: Timestamp
    ) -> ConflictView {
        let isExpired = conflict.state.isLive && conflict.expiresAt <= now
        return ConflictView(
            state: isExpired ? .expired : ConflictView.State(conflict.state),
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
            signInMethods: owner?.account.signInMethods
        )
    }
}

extension ConflictView.State {
    fileprivate init(_ state: ConflictFacts.State) {
        switch state {
        case .open: self = .open
        case .proven: self = .proven
        case .resolved: self = .resolved
        case .declined: self = .declined
        case .superseded: self = .superseded
        }
    }
}

extension EmailAddress {
    /// Enough to be known again by whoever wrote it, and too little to be used: `a***@e***.com`.
    var masked: String {
        let parts = lowercased.split(separator: "@", maxSplits: 1)
        let labels = parts[1].split(separator: ".")
        let host =
            labels.count > 1 ? "\(labels[0].prefix(1))***.\(labels[labels.count - 1])" : "\(labels[0].prefix(1))***"
        return "\(parts[0].prefix(1))***@\(host)"
    }
}
