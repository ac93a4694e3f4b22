import AccountLinking
import AccountStore
import Crypto
import IdentityProviders
import JSON

/// A conflict and its credential, unsealed.
struct PendingCredential: Sendable {
    let conflict: ConflictRecord
    let credential: VerifiedCredential
}

extension ConflictRecord {
    /// Returns true if a sign-in opened the conflict about the account of `target`: a provider named its address.
    func isOpenedBySignIn(to target: UserID) -> Bool {
        facts.isOpenedBySignIn(kind, to: target)
    }
}

extension AccountOperations {
    /// The credential of a handle, if it can be used now; otherwise `nil` with the rule. One round trip.
    func pendingCredential(
        _ handle: String,
        target: UserID?,
        tenant: TenantID,
        now: Timestamp
    ) async throws -> (credential: PendingCredential?, rule: Rule) {
        guard let handle = ConflictHandle(handle, sealer: sealer) else { return (nil, .pendingUnknown) }
        let conflict = try await store.conflict(handle.conflict, of: handle.user, tenant: handle.tenant)
        return try usableCredential(of: conflict, target: target, tenant: tenant, now: now)
    }

    /// The credential of `conflict`, if it can be used now; otherwise `nil` with the rule.
    ///
    /// Each attempt passes a conflict that it read again, because another request may have used the credential, or it
    /// has expired.
    func usableCredential(
        of conflict: ConflictRecord?,
        target: UserID?,
        tenant: TenantID,
        now: Timestamp
    ) throws -> (credential: PendingCredential?, rule: Rule) {
        let pending = try conflict.map(open)
        let issuer = conflict.flatMap { project.configuration(of: $0.provider)?.issuer }
        let verdict = decidePendingCredential(
            conflict: conflict?.facts,
            handleTenant: tenant,
            target: target,
            isOfRegisteredIssuer: pending?.credential.incoming.isOf(issuer: issuer) ?? false,
            now: now
        )
        return (verdict.decision == .usable ? pending : nil, verdict.rule)
    }

    /// The usable credential.
    /// - Throws: the refusal of the rule.
    func usable(_ found: (credential: PendingCredential?, rule: Rule)) throws(Denial) -> PendingCredential {
        guard let credential = found.credential else { throw refused(.invalidPendingToken, by: found.rule) }
        return credential
    }

    /// The live conflict of `target` with the tokens that a client replays, if there is one.
    func pendingCredential(
        replaying credential: ProviderCredential,
        target: UserRecord,
        now: Timestamp
    ) async throws -> PendingCredential? {
        let digests = ProviderTokens(of: credential).digests
        let conflict = try await store.liveConflict(carrying: digests, of: target.id, tenant: target.tenant)
        guard conflict?.provider == credential.provider else { return nil }
        return try usableCredential(of: conflict, target: target.id, tenant: target.tenant, now: now).credential
    }

    /// Unseals the credential of a conflict.
    func open(_ conflict: ConflictRecord) throws -> PendingCredential {
        try PendingCredential(opening: conflict, sealer: sealer)
    }

    /// Stores a credential that could not be applied, and returns its handle.
    ///
    /// - `accounts`: the accounts of the decision.
    /// - `end`: latest expiry of a credential that was pending before. Its provider was not asked again.
    /// - `sideWrites`: further writes of the transaction.
    /// - Throws: `FactsMoved` if the account is gone, one of `limits` was reached, or a guard of `sideWrites` stopped the
    ///   write.
    func keep(
        _ credential: VerifiedCredential,
        because conflict: Conflict,
        event: AccountEvent,
        among accounts: [UserRecord?],
        until end: Timestamp?,
        counting limits: [CountedLimit],
        sideWrites: [AccountWrite.SideWrite] = [],
        tenant: TenantID
    ) async throws -> String {
        let identity = credential.incoming.identity
        let digest = Self.digest(of: credential.incoming)
        guard let user = conflict.account, let kind = conflict.kind else { throw UnexpectedDecision(event.rule) }
        let now = event.occurredAt
        let anew = now.adding(seconds: project.settings.conflictLifetimeSeconds)
        // Bounds the age that a returning caller can claim: the sign-in at the provider is over by now.
        var credential = credential
        credential.signedInAt = min(credential.signedInAt ?? now, now)
        let sealed = try sealer.seal(
            Array(credential.stored.text.utf8),
            context: PendingCredential.sealingContext(user, tenant, digest)
        )
        let newID = effects.randomBytes(16)
        let accountMethod = accounts.lazy.compactMap(\.self).first { $0.id == user }.map { MethodClass(of: $0.account) }
        let id = try await store.open(
            ConflictRecord(
                tenant: tenant,
                user: user,
                id: newID,
                kind: kind,
                provider: identity.provider,
                identityDigest: digest,
                tokenDigests: credential.tokens.digests,
                sealedCredential: sealed,
                accountMethod: accountMethod ?? .other,
                openedAt: now,
                expiresAt: end.map { min($0, anew) } ?? anew
            ),
            event: event,
            counting: limits,
            sideWrites: sideWrites
        )
        guard let id else { throw FactsMoved() }
        // A different id means that the credential joined an open conflict.
        if id == newID { metrics.conflict(.opened, of: identity.provider, with: accountMethod ?? .other) }
        return try ConflictHandle(tenant: tenant, user: user, conflict: id, identity: identity).sealed(by: sealer)
    }

    /// `ConflictRecord.identityDigest` of a credential.
    static func digest(of credential: IncomingCredential) -> [UInt8] {
        let identity = credential.identity
        let parts = [identity.provider.rawValue, credential.issuer ?? "", identity.subject]
        return Array(SHA256.hash(data: Array(parts.joined(separator: "\u{1F}").utf8)))
    }
}

extension PendingCredential {
    /// - Throws: the sealer's error, or `UnreadablePendingCredential`.
    init(opening conflict: ConflictRecord, sealer: Sealer) throws {
        let content = try sealer.open(
            conflict.sealedCredential,
            context: Self.sealingContext(conflict.user, conflict.tenant, conflict.identityDigest)
        )
        // Allows more depth than parsing of a provider's response, because that is nested inside.
        guard let value = try? JSONValue(parsing: content, depthMax: 128),
            let credential = VerifiedCredential(stored: value)
        else { throw UnreadablePendingCredential() }
        self.init(conflict: conflict, credential: credential)
    }

    fileprivate static func sealingContext(_ user: UserID, _ tenant: TenantID, _ digest: [UInt8]) -> String {
        SealingContext.pendingCredential(tenant: tenant.rawValue, user: user.rawValue, identityDigest: digest)
    }
}

/// The unsealed content is no credential: the row was edited, or an older version wrote it.
struct UnreadablePendingCredential: Error, Sendable {}

extension ProviderTokens {
    /// SHA-256 of tokens that a client may replay instead of the handle. Tokens have too much entropy to be guessed
    /// from it.
    fileprivate var digests: [[UInt8]] {
        [idToken, accessToken, authorizationCode].compactMap(\.self)
            .map { Array(SHA256.hash(data: Array($0.utf8))) }
    }
}

extension Conflict {
    /// The account that the conflict is about; `nil` if none is named before the mailbox is proven.
    var account: UserID? {
        switch self {
        case .accountExistsWithDifferentCredential(let account, _), .credentialAlreadyInUse(let account),
            .emailAlreadyInUse(let account):
            account
        case .unprovenAddress, .firstSignIn: nil
        }
    }

    /// `nil` for a credential that waits without an account.
    fileprivate var kind: ConflictKind? {
        switch self {
        case .accountExistsWithDifferentCredential: .accountExistsWithDifferentCredential
        case .credentialAlreadyInUse: .credentialAlreadyInUse
        case .emailAlreadyInUse: .emailAlreadyInUse
        case .unprovenAddress, .firstSignIn: nil
        }
    }
}
