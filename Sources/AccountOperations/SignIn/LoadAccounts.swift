import AccountLinking
import AccountStore
import IdentityProviders

// The second step of a sign-in with a provider: the facts that the rules are asked about.

/// The accounts that a provider's credential matches, as loaded.
struct FoundAccounts: Sendable {
    var identityOwner: UserRecord?
    /// The claim on the address; `free` when the credential names none.
    var claim: AddressClaim
    var target: UserRecord?
    /// The conflict that kept the credential, and that the sign-in settles.
    var settledConflict: ConflictRecord?

    var emailOwner: UserRecord? { claim.owner }

    var loaded: [UserRecord?] { [target, identityOwner, emailOwner] }
}

extension AccountOperations {
    /// Loads the accounts that a credential matches, and the conflict that keeps the credential, and writes down what the
    /// sign-in writes with it: the link, the end of the conflict, the end of a reservation of the address.
    ///
    /// - `conflict`: the one that keeps the credential; `nil` if it comes from the provider now.
    /// - `target`: the account to link to.
    /// - Throws: `Denial` if the ID token or the conflict was used meanwhile, `Contention`, or what the database could not do.
    func loadAccounts(
        for credential: VerifiedCredential,
        waitingIn conflict: FirstFactor.SourceConflict?,
        target: UserID?,
        _ attempt: inout SignInAttempt
    ) async throws -> FoundAccounts {
        attempt.context.linkedProvider = .init(credential.incoming, at: attempt.now)
        var found = try await matchingAccounts(for: credential.incoming, target: target, tenant: attempt.tenant)
        if let use = attempt.idTokenUse, try await isRepeated(use, by: found.identityOwner) {
            throw Denial.invalidCredential(.usedBefore)
        }
        if let conflict {
            // Read again with every attempt, and after the accounts: of two that use one handle at once the second must
            // find it used, and must not learn what the first did with it.
            let current = try await store.conflict(conflict.id, of: conflict.user, tenant: attempt.tenant)
            let pending = try usable(
                try usableCredential(of: current, target: target, tenant: attempt.tenant, now: attempt.now)
            )
            found.settledConflict = pending.conflict
            attempt.sideWrites.append(.resolve(pending.conflict, at: attempt.now))
        }
        attempt.sideWrites += found.claim.clearing
        return found
    }

    /// Returns true if `use` has to be the first one of a token and is not. One round trip, for a reauthentication only.
    private func isRepeated(_ use: IDTokenUse, by owner: UserRecord?) async throws -> Bool {
        guard use.isFirst, let owner else { return false }
        return try await store.isUsed(idToken: use.digest, of: owner.id, tenant: owner.tenant)
    }

    /// Number of reads of claims and users that do not belong together.
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
