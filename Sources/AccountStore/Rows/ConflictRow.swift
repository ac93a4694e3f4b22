package import AccountLinking
package import Postgres

/// A stored conflict: a verified provider credential that waits for its owner.
package struct ConflictRecord: Sendable, Hashable {
    /// The last requested proof.
    package struct Proof: Sendable, Hashable {
        package var facts: ConflictProofFacts
        /// SHA-256 of the secret in the mailed link.
        package var linkHash: [UInt8]?
        /// The code in the same mail, sealed. A hash of such a short code could be reversed by trying all codes.
        package var sealedCode: [UInt8]?
        /// SHA-256 of the token that the prover got; `nil` before the proof.
        package var tokenHash: [UInt8]?

        package init(facts: ConflictProofFacts, linkHash: [UInt8]? = nil, sealedCode: [UInt8]? = nil) {
            self.facts = facts
            self.linkHash = linkHash
            self.sealedCode = sealedCode
        }
    }

    package var tenant: TenantID
    /// The account that the conflict concerns. A stranger never sees it.
    package var user: UserID
    /// 16 random bytes.
    package var id: [UInt8]
    package var state = ConflictFacts.State.open
    /// Raised by every change; the guard of every write.
    package var version: Int64 = 1
    package var kind: ConflictKind
    package var provider: ProviderID
    /// SHA-256 over provider, issuer and subject.
    package var identityDigest: [UInt8]
    /// SHA-256 of each token of the credential.
    package var tokenDigests: [[UInt8]]
    package var sealedCredential: [UInt8]
    /// The class of sign-in method that the account had when the conflict was opened.
    package var accountMethod: MethodClass
    package var openedAt: Timestamp
    package var expiresAt: Timestamp
    package var closedAt: Timestamp?
    /// Number of proofs requested so far.
    package var proofsStarted: Int32 = 0
    package var proof: Proof?

    package init(
        tenant: TenantID,
        user: UserID,
        id: [UInt8],
        kind: ConflictKind,
        provider: ProviderID,
        identityDigest: [UInt8],
        tokenDigests: [[UInt8]],
        sealedCredential: [UInt8],
        accountMethod: MethodClass,
        openedAt: Timestamp,
        expiresAt: Timestamp
    ) {
        self.tenant = tenant
        self.user = user
        self.id = id
        self.kind = kind
        self.provider = provider
        self.identityDigest = identityDigest
        self.tokenDigests = tokenDigests
        self.sealedCredential = sealedCredential
        self.accountMethod = accountMethod
        self.openedAt = openedAt
        self.expiresAt = expiresAt
    }

    /// The facts for decisions.
    package var facts: ConflictFacts {
        ConflictFacts(state: state, expiresAt: expiresAt, tenant: tenant, account: user, proof: proof?.facts)
    }
}

/// A place in the list of conflicts, which is in descending order of opening.
package struct ConflictCursor: Sendable, Hashable {
    package var openedAt: Timestamp
    package var user: UserID
    package var id: [UInt8]

    package init(openedAt: Timestamp, user: UserID, id: [UInt8]) {
        self.openedAt = openedAt
        self.user = user
        self.id = id
    }

    package init(of conflict: ConflictRecord) {
        self.init(openedAt: conflict.openedAt, user: conflict.user, id: conflict.id)
    }
}

extension ConflictRecord {
    fileprivate var proofAttempts: Int32 { Int32(proof?.facts.attempts ?? 0) }
}

struct ConflictRow: RowDecodable {
    let record: ConflictRecord

    private static let key: [Column<ConflictRecord>] = [
        Column("tenant_id", \.tenant), Column("user_id", \.user), Column("conflict_id", \.id),
    ]
    private static let state = Column<ConflictRecord>("state", \.state)
    private static let version = Column<ConflictRecord>(read: "version", \.version)
    private static let credential: [Column<ConflictRecord>] = [
        Column("kind", \.kind), Column("provider_id", \.provider), Column("identity_digest", \.identityDigest),
        Column(arrays: "token_digests", \.tokenDigests), Column("sealed_credential", \.sealedCredential),
        Column("account_method", \.accountMethod), Column("opened_at", \.openedAt), Column("expires_at", \.expiresAt),
    ]
    /// The columns that change after the conflict was opened.
    private static let progress: [Column<ConflictRecord>] = [
        Column("closed_at", \.closedAt), Column("proofs_started", \.proofsStarted),
        Column("proof_kind", \.proof?.facts.binding.kind),
        Column("proof_session_epoch", \.proof?.facts.binding.sessionEpoch),
        Column("proof_policy_version", \.proof?.facts.binding.policyVersion),
        Column("proof_email", \.proof?.facts.binding.address), Column("proof_attempts", \.proofAttempts),
        Column("proof_expires_at", \.proof?.facts.expiresAt), Column("proof_link_hash", \.proof?.linkHash),
        Column("proof_sealed_code", \.proof?.sealedCode), Column("proof_token_hash", \.proof?.tokenHash),
    ]
    private static let columns = Columns(of: "conflicts", key + [state, version] + credential + progress)
    private static let opened = Columns(of: "conflicts", key + [state.always("'open'")] + credential)
    private static let updated = Columns(of: "conflicts", [state] + progress)

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        var record = ConflictRecord(
            tenant: try values(\.tenant),
            user: try values(\.user),
            id: try values(\.id),
            kind: try values(\.kind),
            provider: try values(\.provider),
            identityDigest: try values(\.identityDigest),
            tokenDigests: try values.array(\.tokenDigests),
            sealedCredential: try values(\.sealedCredential),
            accountMethod: try values(\.accountMethod),
            openedAt: try values(\.openedAt),
            expiresAt: try values(\.expiresAt)
        )
        record.state = try values(\.state)
        record.version = try values(\.version)
        record.closedAt = try values(\.closedAt)
        record.proofsStarted = try values(\.proofsStarted)
        // No kind before the first request for a proof.
        if let kind = try values(\.proof?.facts.binding.kind),
            let sessionEpoch = try values(\.proof?.facts.binding.sessionEpoch),
            let policyVersion = try values(\.proof?.facts.binding.policyVersion),
            let expiresAt = try values(\.proof?.facts.expiresAt)
        {
            let binding = ProofBinding(
                kind: kind,
                sessionEpoch: sessionEpoch,
                policyVersion: policyVersion,
                address: try values(\.proof?.facts.binding.address)
            )
            let attempts = Int(try values(\.proofAttempts))
            record.proof = ConflictRecord.Proof(
                facts: ConflictProofFacts(binding: binding, attempts: attempts, expiresAt: expiresAt),
                linkHash: try values(\.proof?.linkHash),
                sealedCode: try values(\.proof?.sealedCode)
            )
            record.proof?.tokenHash = try values(\.proof?.tokenHash)
        }
        self.record = record
    }

    static func withID(_ id: [UInt8], of user: UserID, tenant: TenantID) -> Query<ConflictRow> {
        """
        \(columns.select)
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND conflict_id = \(id)
        """
    }

    /// The conflicts of a filter after `place`, last opened first; at most `rowsMax`.
    ///
    /// With a user it reads that user's rows. Without one it is an operator's scan, in the order of
    /// `conflicts_by_time`.
    static func page(
        _ filter: ConflictFilter,
        after place: ConflictCursor?,
        tenant: TenantID,
        at now: Timestamp,
        rowsMax: Int64
    ) -> Query<ConflictRow> {
        var condition: SQL = "tenant_id = \(tenant)"
        if let user = filter.user { condition = "\(condition) AND user_id = \(user)" }
        if let place {
            condition = """
                \(condition)
                AND (opened_at, user_id, conflict_id) < (\(place.openedAt), \(place.user), \(place.id))
                """
        }
        if let since = filter.openedSince { condition = "\(condition) AND opened_at >= \(since)" }
        if let before = filter.openedBefore { condition = "\(condition) AND opened_at < \(before)" }
        if let state = filter.state { condition = "\(condition) AND \(Self.isShown(as: state, at: now))" }
        if let provider = filter.provider { condition = "\(condition) AND provider_id = \(provider)" }
        if let kind = filter.kind { condition = "\(condition) AND kind = \(kind)" }
        return Query(
            """
            \(columns.select) WHERE \(condition)
            ORDER BY opened_at DESC, user_id DESC, conflict_id DESC LIMIT \(rowsMax)
            """
        )
    }

    private static func isShown(as state: ConflictFacts.ShownState, at now: Timestamp) -> SQL {
        switch state {
        case .open, .proven: "state = \(state) AND expires_at > \(now)"
        case .resolved, .declined, .superseded: "state = \(state)"
        case .expired: "state IN ('open', 'proven') AND expires_at <= \(now)"
        }
    }

    /// The newest live conflict of `user` with a token of one of these digests.
    static func live(carrying digests: [[UInt8]], of user: UserID, tenant: TenantID) -> Query<ConflictRow> {
        """
        \(columns.select)
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND state IN ('open', 'proven')
            AND token_digests && \(digests)
        ORDER BY opened_at DESC LIMIT 1
        """
    }

    /// The newest conflict of `user` with a valid proof.
    static func proven(of user: UserID, tenant: TenantID, at now: Timestamp) -> Query<ConflictRow> {
        """
        \(columns.select)
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND state = 'proven'
            AND proof_expires_at > \(now) AND expires_at > \(now)
        ORDER BY opened_at DESC LIMIT 1
        """
    }

    /// Opens a conflict, or joins the live conflict of the same account and identity. The joined conflict gets the
    /// newer credential and the later expiry. It keeps its id, so that earlier handles stay valid, and its proof, which
    /// is bound to the same identity.
    static func openOrJoin(_ conflict: ConflictRecord) -> SQL {
        """
        \(opened.insert(conflict))
        ON CONFLICT (tenant_id, user_id, identity_digest) WHERE state IN ('open', 'proven') DO UPDATE SET
            version = conflicts.version + 1, kind = excluded.kind, token_digests = excluded.token_digests,
            sealed_credential = excluded.sealed_credential,
            expires_at = greatest(conflicts.expires_at, excluded.expires_at), is_counted = false,
            proofs_started = CASE WHEN conflicts.expires_at > excluded.opened_at THEN conflicts.proofs_started ELSE 0 END
        RETURNING conflict_id
        """
    }

    /// Replaces the changeable columns of a conflict by `record`, and raises the version.
    ///
    /// Raises 23502 if the row has another version or has expired. A deleted row changes nothing: `assertVersion` must
    /// follow.
    static func update(_ record: ConflictRecord, at now: Timestamp) -> SQL {
        """
        UPDATE conflicts SET
            \(SQL.guardVersion(record.version, and: "expires_at > \(now)")),
            \(updated, from: record)
        WHERE tenant_id = \(record.tenant) AND user_id = \(record.user)
            AND conflict_id = \(record.id)
        """
    }

    /// Raises 22012 (division by zero) unless the conflict exists and holds `version`.
    static func assertVersion(_ version: Int64, of id: [UInt8], of user: UserID, tenant: TenantID) -> SQL {
        """
        SELECT \(SQL.assertExists) FROM conflicts
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND conflict_id = \(id)
            AND version = \(version)
        """
    }

    /// Raises 22012 (division by zero) unless the conflict is open or proven. Locks the row against changes until the
    /// transaction ends.
    static func assertLive(_ id: [UInt8], of user: UserID, tenant: TenantID) -> SQL {
        """
        SELECT \(SQL.assertExists) FROM (
            SELECT 1 FROM conflicts
            WHERE tenant_id = \(tenant) AND user_id = \(user) AND conflict_id = \(id)
                AND state IN ('open', 'proven')
            FOR SHARE
        ) AS live
        """
    }

    /// Marks at most `rowsMax` ended conflicts as counted, earliest end first, and returns them. If several servers count
    /// at once, each conflict is returned once.
    static func countEnded(at now: Timestamp, rowsMax: Int64) -> SQL {
        """
        UPDATE conflicts SET is_counted = true
        WHERE \(SQL.first(
            rowsMax,
            of: "conflicts",
            key: "tenant_id, user_id, conflict_id",
            where: "NOT is_counted AND coalesce(closed_at, expires_at) <= \(now)",
            by: "coalesce(closed_at, expires_at)"
        ))
        RETURNING state, provider_id, account_method, opened_at, coalesce(closed_at, expires_at)
        """
    }

    static func supersedeLive(of user: UserID, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        UPDATE conflicts SET state = 'superseded', version = version + 1, closed_at = \(now)
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND state IN ('open', 'proven')
        """
    }

    static func supersedeAllLive(of users: [UserID], tenant: TenantID, at now: Timestamp) -> SQL {
        """
        UPDATE conflicts SET state = 'superseded', version = version + 1, closed_at = \(now)
        WHERE tenant_id = \(tenant) AND user_id = ANY(\(users))
            AND state IN ('open', 'proven')
        """
    }
}

/// An ended conflict, for the metrics.
package struct EndedConflict: Sendable, Hashable, RowDecodable {
    /// The last state; open or proven if the conflict expired.
    package let state: ConflictFacts.State
    package let provider: ProviderID
    package let accountMethod: MethodClass
    package let openedAt: Timestamp
    package let endedAt: Timestamp

    package init(row: inout RowDecoder) throws(PostgresError) {
        state = try row.next()
        provider = try row.next()
        accountMethod = try row.next()
        openedAt = try row.next()
        endedAt = try row.next()
    }
}

extension AccountWrite.SideWrite {
    /// Replaces a conflict by `record`. If it changed since it was loaded, the write is stopped.
    package static func update(_ record: ConflictRecord, at now: Timestamp) -> Self {
        Self(
            [
                ConflictRow.update(record, at: now),
                ConflictRow.assertVersion(record.version + 1, of: record.id, of: record.user, tenant: record.tenant),
            ],
            announcing: record.state == .resolved ? [.about(record, .conflictResolved)] : []
        )
    }

    /// Resolves the conflict whose credential this write applies. If it changed since it was loaded, the write is
    /// stopped.
    package static func resolve(_ conflict: ConflictRecord, at now: Timestamp) -> Self {
        update(conflict.closed(as: .resolved, at: now), at: now)
    }

    /// Voids every live conflict of a user after a takeover.
    package static func supersedeLiveConflicts(of user: UserID, tenant: TenantID, at now: Timestamp) -> Self {
        Self([ConflictRow.supersedeLive(of: user, tenant: tenant, at: now)])
    }
}

extension ConflictRecord {
    /// The ended conflict. Its proof can no longer be used.
    package func closed(as state: ConflictFacts.State, at now: Timestamp) -> ConflictRecord {
        var record = self
        record.state = state
        record.closedAt = now
        record.proof?.linkHash = nil
        record.proof?.sealedCode = nil
        record.proof?.tokenHash = nil
        return record
    }
}

extension AccountStore {
    /// The facts for settling a conflict: the conflict, the account that it concerns and the owner of `identity`; each
    /// is `nil` if it does not exist. One round trip.
    ///
    /// The account and the identity are read before the conflict. Otherwise a request could see the account after
    /// another request settled the conflict, and the conflict before that, and would be refused for the other request's
    /// change.
    package func conflictFacts(
        _ id: [UInt8],
        of user: UserID,
        identity: Identifier,
        tenant: TenantID
    ) async throws(PostgresError) -> (conflict: ConflictRecord?, user: UserRecord?, identityOwner: UserID?) {
        let unwritten = activity.unwritten()
        let (users, owners, conflicts) = try await client.read(
            UserRow.withID(user, tenant: tenant),
            IdentifierRow.owners(kind: identity.kind, values: [identity.value], tenant: tenant),
            ConflictRow.withID(id, of: user, tenant: tenant)
        )
        return (conflicts.first?.record, users.records.first.map(unwritten.overlay), owners.first?.owner)
    }

    /// The same facts, with the answer that is stored for `key`. One round trip.
    ///
    /// Reads the answer after the conflict. If the conflict already shows the effect of the repeated request, its
    /// answer is read too.
    package func conflictFacts(
        _ id: [UInt8],
        of user: UserID,
        identity: Identifier,
        tenant: TenantID,
        answerTo key: StoredResponseKey,
        at now: Timestamp
    ) async throws(PostgresError) -> (
        conflict: ConflictRecord?, user: UserRecord?, identityOwner: UserID?, answer: [UInt8]?
    ) {
        let unwritten = activity.unwritten()
        let (users, owners, conflicts, answers) = try await client.read(
            UserRow.withID(user, tenant: tenant),
            IdentifierRow.owners(kind: identity.kind, values: [identity.value], tenant: tenant),
            ConflictRow.withID(id, of: user, tenant: tenant),
            StoredResponseRow.withKey(key, at: now)
        )
        return (conflicts.first?.record, users.records.first.map(unwritten.overlay), owners.first?.owner, answers.first)
    }

    /// Changes a loaded conflict, with side writes and the event, in one transaction.
    package func change(
        _ record: ConflictRecord,
        at now: Timestamp,
        event: AccountEvent,
        sideWrites: [AccountWrite.SideWrite] = []
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("conflict-change")
        for sideWrite in [.update(record, at: now)] + sideWrites {
            batch.append(sideWrite.statements)
        }
        batch.append(AccountEventRow.insert(event, of: record.user, tenant: record.tenant))
        let announcements = event.kind.announcement.map { [WebhookEvent.about(record, $0)] } ?? []
        announce(announcements, as: event, of: record.user, tenant: record.tenant, in: &batch)
        return try await run(batch, event: event, of: record.user, tenant: record.tenant)
    }

    /// The conflicts of a filter after `place`, last opened first; at most `countMax`. One round trip.
    package func conflicts(
        _ filter: ConflictFilter,
        after place: ConflictCursor?,
        tenant: TenantID,
        at now: Timestamp,
        countMax: Int
    ) async throws(PostgresError) -> [ConflictRecord] {
        let query = ConflictRow.page(filter, after: place, tenant: tenant, at: now, rowsMax: Int64(countMax))
        return try await client.read(query).map(\.record)
    }

    /// The conflict with a key; `nil` if there is none. One round trip.
    package func conflict(
        _ id: [UInt8],
        of user: UserID,
        tenant: TenantID
    ) async throws(PostgresError) -> ConflictRecord? {
        try await client.read(ConflictRow.withID(id, of: user, tenant: tenant)).first?.record
    }

    /// The live conflict of `user` with one of these tokens. One round trip.
    package func liveConflict(
        carrying tokenDigests: [[UInt8]],
        of user: UserID,
        tenant: TenantID
    ) async throws(PostgresError) -> ConflictRecord? {
        guard !tokenDigests.isEmpty else { return nil }
        return try await client.read(ConflictRow.live(carrying: tokenDigests, of: user, tenant: tenant)).first?.record
    }

    /// The newest conflict of `user` with a valid proof, which waits to be settled. One round trip.
    package func provenConflict(
        of user: UserID,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> ConflictRecord? {
        try await client.read(ConflictRow.proven(of: user, tenant: tenant, at: now)).first?.record
    }

    /// Marks ended conflicts as counted and returns them. Each is returned once, to one server.
    package func countEndedConflicts(at now: Timestamp, rowsMax: Int) async throws(PostgresError) -> [EndedConflict] {
        let count = ConflictRow.countEnded(at: now, rowsMax: Int64(rowsMax))
        return try await client.write(WriteBatch("conflict-count", [SQL.findingRowsByKey, count])).rows(1)
    }

    /// Stores a conflict with its event, and counts it, in one transaction.
    ///
    /// If many requests open the same conflict at once, one makes the row and the others join it. All get its id. Each
    /// counts, because each has an event.
    /// - Returns: the id of the open conflict; `nil` if the facts have changed: the account was deleted, a limit was
    ///   reached, or a guard of `sideWrites` stopped it.
    package func open(
        _ conflict: ConflictRecord,
        event: AccountEvent,
        counting limits: [CountedLimit] = [],
        sideWrites: [AccountWrite.SideWrite] = []
    ) async throws(PostgresError) -> [UInt8]? {
        var batch = WriteBatch("conflict-open")
        batch.append(ConflictRow.openOrJoin(conflict))
        batch.append(AccountEventRow.insert(event, of: conflict.user, tenant: conflict.tenant))
        announce([.about(conflict, .conflictOpened)], as: event, of: conflict.user, tenant: conflict.tenant, in: &batch)
        for limit in limits {
            batch.append(MessageCountRow.count(limit, tenant: conflict.tenant, at: event.occurredAt))
        }
        for sideWrite in sideWrites { batch.append(sideWrite.statements) }
        do {
            let id = try await client.write(batch).rows(0, as: Bytes.self).first
            observer?.applied(event)
            return id
        } catch {
            // If the database's answer is lost, the next attempt joins the conflict that may have been written.
            if error.saysFactsMoved || error.code == .commitOutcomeUnknown { return nil }
            throw error
        }
    }
}
