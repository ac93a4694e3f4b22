package import AccountLinking
package import Postgres

/// A stored conflict: a verified provider credential that waits for its owner.
package struct ConflictRecord: Sendable, Hashable {
    package enum State: String, Sendable, Hashable {
        case open
        /// The credential was used by the sign-in or link that resolved the conflict.
        case resolved
        /// The account changed hands, or another attempt replaced this one.
        case superseded
    }

    package enum Kind: String, Sendable, Hashable {
        case accountExistsWithDifferentCredential = "account-exists-with-different-credential"
        case credentialAlreadyInUse = "credential-already-in-use"
        case emailAlreadyInUse = "email-already-in-use"
    }

    package var tenant: TenantID
    /// The account the conflict concerns; never told to a stranger.
    package var user: UserID
    /// 16 random bytes.
    package var id: [UInt8]
    package var state: State
    package var kind: Kind
    package var provider: ProviderID
    /// SHA-256 over provider, issuer and subject.
    package var identityDigest: [UInt8]
    /// SHA-256 of each token the credential came with.
    package var tokenDigests: [[UInt8]]
    package var sealedCredential: [UInt8]
    package var openedAt: Timestamp
    package var expiresAt: Timestamp

    package init(
        tenant: TenantID,
        user: UserID,
        id: [UInt8],
        kind: Kind,
        provider: ProviderID,
        identityDigest: [UInt8],
        tokenDigests: [[UInt8]],
        sealedCredential: [UInt8],
        openedAt: Timestamp,
        expiresAt: Timestamp
    ) {
        self.tenant = tenant
        self.user = user
        self.id = id
        self.state = .open
        self.kind = kind
        self.provider = provider
        self.identityDigest = identityDigest
        self.tokenDigests = tokenDigests
        self.sealedCredential = sealedCredential
        self.openedAt = openedAt
        self.expiresAt = expiresAt
    }
}

struct ConflictRow: RowDecodable {
    let record: ConflictRecord

    private static let columns: SQL = """
        tenant_id, user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests, sealed_credential,
        opened_at, expires_at
        """

    init(row: inout RowDecoder) throws(PostgresError) {
        let tenant = TenantID(try row.next(String.self))
        let user = try row.parsed("conflicts.user_id", UserID.init)
        let id = try row.next([UInt8].self)
        let state = try row.parsed("conflicts.state", ConflictRecord.State.init(rawValue:))
        var record = ConflictRecord(
            tenant: tenant,
            user: user,
            id: id,
            kind: try row.parsed("conflicts.kind", ConflictRecord.Kind.init(rawValue:)),
            provider: try row.parsed("conflicts.provider_id", ProviderID.init),
            identityDigest: try row.next([UInt8].self),
            tokenDigests: try row.next([[UInt8]].self),
            sealedCredential: try row.next([UInt8].self),
            openedAt: try row.timestamp(),
            expiresAt: try row.timestamp()
        )
        record.state = state
        self.record = record
    }

    static func withID(_ id: [UInt8], of user: UserID, tenant: TenantID) -> Query<ConflictRow> {
        Query(
            """
            SELECT \(columns) FROM conflicts
            WHERE tenant_id = \(tenant.rawValue) AND user_id = \(user.rawValue) AND conflict_id = \(id)
            """
        )
    }

    /// The open conflict of `user` that came with a token of one of these digests; the newest, should there be several.
    static func open(carrying digests: [[UInt8]], of user: UserID, tenant: TenantID) -> Query<ConflictRow> {
        Query(
            """
            SELECT \(columns) FROM conflicts
            WHERE tenant_id = \(tenant.rawValue) AND user_id = \(user.rawValue) AND state = 'open'
                AND token_digests && \(digests)
            ORDER BY opened_at DESC LIMIT 1
            """
        )
    }

    /// Opens a conflict, or joins the one that is open for this account and identity: that one gets the newer credential
    /// and expiry, and keeps its id, so that handles given out before stay good.
    static func openOrJoin(_ conflict: ConflictRecord) -> SQL {
        """
        INSERT INTO conflicts (tenant_id, user_id, conflict_id, state, kind, provider_id, identity_digest,
            token_digests, sealed_credential, opened_at, expires_at)
        VALUES (\(conflict.tenant.rawValue), \(conflict.user.rawValue), \(conflict.id), 'open',
            \(conflict.kind.rawValue), \(conflict.provider.rawValue), \(conflict.identityDigest),
            \(conflict.tokenDigests), \(conflict.sealedCredential), \(conflict.openedAt.stored),
            \(conflict.expiresAt.stored))
        ON CONFLICT (tenant_id, user_id, identity_digest) WHERE state = 'open' DO UPDATE SET
            kind = excluded.kind, token_digests = excluded.token_digests,
            sealed_credential = excluded.sealed_credential, expires_at = excluded.expires_at
        RETURNING conflict_id
        """
    }

    /// Uses up an open conflict. Raises 23502 when it is open no more; `assertClosed` must follow, for one that is gone.
    static func resolve(_ id: [UInt8], of user: UserID, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        UPDATE conflicts SET state = CASE WHEN state = 'open' AND expires_at > \(now.stored) THEN 'resolved' END,
            closed_at = \(now.stored)
        WHERE tenant_id = \(tenant.rawValue) AND user_id = \(user.rawValue) AND conflict_id = \(id)
        """
    }

    /// Raises 22012 (division by zero) unless the conflict exists and is resolved.
    static func assertResolved(_ id: [UInt8], of user: UserID, tenant: TenantID) -> SQL {
        """
        SELECT 1 / count(*) FROM conflicts
        WHERE tenant_id = \(tenant.rawValue) AND user_id = \(user.rawValue) AND conflict_id = \(id)
            AND state = 'resolved'
        """
    }

    static func deleteExpired(before cutoff: Timestamp, rowsMax: Int64) -> SQL {
        """
        DELETE FROM conflicts WHERE (tenant_id, user_id, conflict_id) IN (
            SELECT tenant_id, user_id, conflict_id FROM conflicts WHERE expires_at <= \(cutoff.stored)
            ORDER BY expires_at LIMIT \(rowsMax) FOR UPDATE SKIP LOCKED
        )
        """
    }

    static func supersedeOpen(of user: UserID, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        UPDATE conflicts SET state = 'superseded', closed_at = \(now.stored)
        WHERE tenant_id = \(tenant.rawValue) AND user_id = \(user.rawValue) AND state = 'open'
        """
    }
}

/// The id of the conflict that `openOrJoin` ended with.
private struct ConflictIDRow: RowDecodable {
    let id: [UInt8]

    init(row: inout RowDecoder) throws(PostgresError) {
        id = try row.next([UInt8].self)
    }
}

extension AccountWrite.Companion {
    /// Uses up the conflict whose credential this write applies; a conflict that is open no more stops the write.
    package static func resolve(_ conflict: ConflictRecord, at now: Timestamp) -> Self {
        Self([
            ConflictRow.resolve(conflict.id, of: conflict.user, tenant: conflict.tenant, at: now),
            ConflictRow.assertResolved(conflict.id, of: conflict.user, tenant: conflict.tenant),
        ])
    }

    /// Voids every open conflict of a user whose account changed hands (`spec/09` 7).
    package static func supersedeOpenConflicts(of user: UserID, tenant: TenantID, at now: Timestamp) -> Self {
        Self([ConflictRow.supersedeOpen(of: user, tenant: tenant, at: now)])
    }
}

extension AccountStore {
    /// A conflict by its key; `nil` when there is none. One round trip.
    package func conflict(
        _ id: [UInt8],
        of user: UserID,
        tenant: TenantID
    ) async throws(PostgresError) -> ConflictRecord? {
        try await client.read(ConflictRow.withID(id, of: user, tenant: tenant)).first?.record
    }

    /// The open conflict of `user` that came with one of these tokens. One round trip.
    package func openConflict(
        carrying tokenDigests: [[UInt8]],
        of user: UserID,
        tenant: TenantID
    ) async throws(PostgresError) -> ConflictRecord? {
        guard !tokenDigests.isEmpty else { return nil }
        return try await client.read(ConflictRow.open(carrying: tokenDigests, of: user, tenant: tenant)).first?.record
    }

    /// Keeps a conflict, with the event that says so, in one transaction.
    ///
    /// Of many that open the same at once one makes the row and the others join it: all get its id.
    /// - Returns: the id of the open conflict; `nil` when the account is gone, so that facts moved.
    package func open(
        _ conflict: ConflictRecord,
        event: AccountEvent
    ) async throws(PostgresError) -> [UInt8]? {
        var batch = WriteBatch("conflict-open")
        batch.append(ConflictRow.openOrJoin(conflict))
        batch.append(AccountEventRow.insert(event, of: conflict.user, tenant: conflict.tenant))
        do {
            return try await client.write(batch).rows(0, as: ConflictIDRow.self).first?.id
        } catch {
            // Whatever became of an answer that was lost: trying again joins what may have been written.
            if error.saysFactsMoved || error.code == .commitOutcomeUnknown { return nil }
            throw error
        }
    }
}
