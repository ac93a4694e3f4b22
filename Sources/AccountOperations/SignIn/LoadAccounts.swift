import AccountLinking
import AccountStore
import IdentityProviders

// The second step of a sign-in with a provider: the facts for the rules.

/// The accounts that a provider's credential matches, as loaded.
struct FoundAccounts: Sendable {
    var identityOwner: UserRecord?
    /// The claim on the address; `free` if the credential names none.
    var claim: AddressClaim
    var target: UserRecord?
    /// The conflict that holds the credential, and that the sign-in settles.
    var settledConflict: ConflictRecord?
    /// The result of looking for a proven conflict, if that was loaded with the accounts.
    var waiting: WaitingConflict?

    var emailOwner: UserRecord? { claim.owner }

    var loaded: [UserRecord?] { [target, identityOwner, emailOwner] }
}

/// The result of looking for a proven conflict of an account.
struct WaitingConflict: Sendable {
    let user: UserID
    let conflict: ConflictRecord?
}

extension AccountOperations {
    /// Loads the accounts that a credential matches and the conflict that holds it. Adds to the attempt what the
    /// sign-in writes: the link, the end of the conflict, and the end of a reservation of the address.
    ///
    /// - `conflict`: the conflict that holds the credential; `nil` if the provider has just issued it.
    /// - `target`: the account to link to.
    /// - Throws: `Denial` if the ID token or the conflict was used meanwhile, `Contention`, or a failure of the
    ///   database.
    func loadAccounts(
        for credential: VerifiedCredential,
        waitingIn conflict: FirstFactor.SourceConflict?,
        target: UserID?,
        _ attempt: inout SignInAttempt
    ) async throws -> FoundAccounts {
        attempt.context.linkedProvider = .init(credential.incoming, at: attempt.now)
        let settlesOther = conflict == nil && target == nil
        var found = try await matchingAccounts(
            for: credential.incoming,
            target: target,
            loadsWaiting: settlesOther,
            readsAddress: !ignoresAddress(of: credential.incoming),
            tenant: attempt.tenant
        )
        attempt.waiting = found.waiting
        if let use = attempt.idTokenUse, try await isRepeated(use, by: found.identityOwner) {
            throw Denial.invalidCredential(.usedBefore)
        }
        if let conflict {
            // Read with every attempt, after the accounts. If two callers use one handle, the second must find it used,
            // and must not learn the first one's result.
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

    /// Returns true if the owner of the credential's address decides nothing, because the address must be confirmed
    /// first (I22), or counts as absent for a link. It is then not read, so that the time of the answer does not say
    /// who has an account.
    private func ignoresAddress(of credential: IncomingCredential) -> Bool {
        guard policy.confirmsUnprovenAddresses,
            case .unverified = policy.emailClaim(of: credential, isAddressTaken: false)
        else { return false }
        return true
    }

    /// Returns true if the token was used before but must not have been. One round trip, for a reauthentication only.
    private func isRepeated(_ use: IDTokenUse, by owner: UserRecord?) async throws -> Bool {
        guard use.isFirst, let owner else { return false }
        return try await store.isUsed(idToken: use.digest, of: owner.id, tenant: owner.tenant)
    }

    /// Number of reads until claims and users agree.
    private static let readsMax = 8

    /// Loads the owners of a credential's identity and address: claims by their keys, then users by their ids. Two
    /// round trips.
    ///
    /// A user that changed between the two reads is newer than the claims, and may own more or less than they say. No
    /// decision about such a pair is right, so both are read again.
    ///
    /// - `loadsWaiting`: also loads the proven conflict of the account that owns the identity.
    /// - `readsAddress`: also loads the owner of the address.
    /// - Throws: `Contention` if they keep changing.
    func matchingAccounts(
        for credential: IncomingCredential,
        target: UserID?,
        loadsWaiting: Bool = false,
        readsAddress: Bool = true,
        tenant: TenantID
    ) async throws -> FoundAccounts {
        let identity = Identifier.federated(credential.identity)
        let address = readsAddress ? credential.email.address : nil
        let now = effects.now()
        for _ in 1...Self.readsMax {
            let owners = try await store.owners(of: identity, and: address, tenant: tenant, at: now)
            let ids = Set([owners.identity, owners.address, target].compactMap(\.self))
            let users: [UserRecord]
            var waiting: WaitingConflict?
            if loadsWaiting, let owner = owners.identity {
                let read = try await store.users(Array(ids), andProvenConflictOf: owner, tenant: tenant, at: now)
                users = read.users
                waiting = WaitingConflict(user: owner, conflict: read.proven)
            } else {
                users = try await store.users(Array(ids), tenant: tenant)
            }
            let belongTogether = users.allSatisfy { user in
                user.holds(identity) == (user.id == owners.identity)
                    && address.map { user.holds(.email($0)) == (user.id == owners.address) } ?? true
            }
            guard belongTogether else { continue }
            func user(_ id: UserID?) -> UserRecord? { users.first { $0.id == id } }
            let claim = owners.reserved.map(AddressClaim.reserved) ?? user(owners.address).map(AddressClaim.owned)
            return FoundAccounts(
                identityOwner: user(owners.identity),
                claim: claim ?? .free,
                target: user(target),
                waiting: waiting
            )
        }
        throw Contention()
    }
}

extension UserRecord.LinkedProvider {
    /// The row of an identity, with the provider's current values.
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
