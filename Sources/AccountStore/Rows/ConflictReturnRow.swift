package import AccountLinking
package import Postgres

/// The way back from the page of a conflict, and the newest code that hands the session over.
package struct ConflictReturnRecord: Sendable, Hashable {
    package var tenant: TenantID
    package var user: UserID
    package var conflict: [UInt8]
    /// The page of the app, exactly as the app sent it. Checked when it is stored, and again when it is used.
    package var continueURL: String
    /// The app's own value, which comes back with its user.
    package var state: String?
    /// SHA-256 of the app's verifier; `nil` if the app asked for no session.
    package var codeChallenge: [UInt8]?
    /// The session that resolving the conflict opened; `nil` until then.
    package var session: [UInt8]?
    /// SHA-256 of the newest code.
    package var codeHash: [UInt8]?
    package var codeEndsAt: Timestamp?
    /// Wrong verifiers so far.
    package var attempts: Int32 = 0
    /// The session that the code gave; `nil` until it is used.
    package var givenSession: [UInt8]?

    package init(of conflict: ConflictRecord, continueURL: String, state: String?, codeChallenge: [UInt8]?) {
        self.init(
            tenant: conflict.tenant,
            user: conflict.user,
            conflict: conflict.id,
            continueURL: continueURL
        )
        self.state = state
        self.codeChallenge = codeChallenge
    }

    fileprivate init(tenant: TenantID, user: UserID, conflict: [UInt8], continueURL: String) {
        self.tenant = tenant
        self.user = user
        self.conflict = conflict
        self.continueURL = continueURL
    }
}

struct ConflictReturnRow: RowDecodable {
    let record: ConflictReturnRecord

    private static let key: [Column<ConflictReturnRecord>] = [
        Column("tenant_id", \.tenant), Column("user_id", \.user), Column("conflict_id", \.conflict),
    ]
    private static let page: [Column<ConflictReturnRecord>] = [
        Column("continue_url", \.continueURL), Column("state", \.state), Column("code_challenge", \.codeChallenge),
    ]
    private static let code: [Column<ConflictReturnRecord>] = [
        Column(read: "session_id", \.session), Column(read: "code_hash", \.codeHash),
        Column(read: "code_ends_at", \.codeEndsAt), Column(read: "attempts", \.attempts),
        Column(read: "given_session", \.givenSession),
    ]
    private static let columns = Columns(of: "conflict_returns", key: key, page + code)

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        var record = ConflictReturnRecord(
            tenant: try values(\.tenant),
            user: try values(\.user),
            conflict: try values(\.conflict),
            continueURL: try values(\.continueURL)
        )
        record.state = try values(\.state)
        record.codeChallenge = try values(\.codeChallenge)
        record.session = try values(\.session)
        record.codeHash = try values(\.codeHash)
        record.codeEndsAt = try values(\.codeEndsAt)
        record.attempts = try values(\.attempts)
        record.givenSession = try values(\.givenSession)
        self.record = record
    }

    static func of(_ conflict: ConflictRecord) -> Query<ConflictReturnRow> {
        """
        \(columns.select)
        WHERE tenant_id = \(conflict.tenant) AND user_id = \(conflict.user) AND conflict_id = \(conflict.id)
        """
    }

    /// The account is not known, so Citus asks every shard. An app exchanges one code for each conflict.
    static func withCode(_ hash: [UInt8], tenant: TenantID) -> Query<ConflictReturnRow> {
        """
        \(columns.select)
        WHERE tenant_id = \(tenant) AND code_hash = \(hash)
        """
    }

    /// Stores the way back, or replaces it until the conflict is resolved: after that a code may go to the page.
    /// `ConflictRow.assertLive` must precede.
    static func put(_ record: ConflictReturnRecord) -> SQL {
        """
        \(columns.insert(record, replaces: true))
        WHERE conflict_returns.session_id IS NULL
        """
    }

    /// Names the session that resolved the conflict. Changes nothing if the app sent no way back.
    static func resolve(_ conflict: ConflictRecord, by session: [UInt8]) -> SQL {
        """
        UPDATE conflict_returns SET session_id = \(session)
        WHERE tenant_id = \(conflict.tenant) AND user_id = \(conflict.user) AND conflict_id = \(conflict.id)
        """
    }

    /// Replaces the code, unless the one before was used. `StoredSessionCode.assertCode` must follow.
    static func issue(_ hash: [UInt8], until end: Timestamp, for record: ConflictReturnRecord) -> SQL {
        """
        UPDATE conflict_returns SET code_hash = \(hash), code_ends_at = \(end), attempts = 0
        WHERE \(StoredSessionCode(record).row)
            AND session_id = \(record.session) AND given_session IS NULL
        """
    }
}

extension AccountWrite.SideWrite {
    /// Names the session that resolves a conflict, for the code that hands it over.
    package static func handOver(_ session: [UInt8], from conflict: ConflictRecord) -> Self {
        Self([ConflictReturnRow.resolve(conflict, by: session)])
    }
}

extension AccountStore {
    /// The way back of a conflict; `nil` if the app sent none. One round trip.
    package func conflictReturn(
        of conflict: ConflictRecord
    ) async throws(PostgresError) -> ConflictReturnRecord? {
        try await client.read(ConflictReturnRow.of(conflict)).first?.record
    }

    /// The way back whose newest code has `hash`. One round trip.
    package func conflictReturn(
        withCode hash: [UInt8],
        tenant: TenantID
    ) async throws(PostgresError) -> ConflictReturnRecord? {
        try await client.read(ConflictReturnRow.withCode(hash, tenant: tenant)).first?.record
    }

    /// Stores the way back, in place of an earlier one.
    /// - Returns: `.factsMoved` if the conflict has ended.
    package func put(
        _ record: ConflictReturnRecord,
        sideWrites: [AccountWrite.SideWrite]
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch(
            "conflict-return",
            [
                ConflictRow.assertLive(record.conflict, of: record.user, tenant: record.tenant),
                ConflictReturnRow.put(record),
            ]
        )
        for sideWrite in sideWrites { batch.append(sideWrite.statements) }
        // A repetition stores the same.
        return try await applying(batch) { () throws(PostgresError) in .factsMoved }
    }

    /// Stores a new code, in place of an earlier one.
    /// - Returns: `.factsMoved` if a code has given a session.
    package func issueSessionCode(
        _ hash: [UInt8],
        until end: Timestamp,
        for record: ConflictReturnRecord,
        sideWrites: [AccountWrite.SideWrite]
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch(
            "session-code-issue",
            [
                ConflictReturnRow.issue(hash, until: end, for: record),
                StoredSessionCode(record).assertCode(hash),
            ]
        )
        for sideWrite in sideWrites { batch.append(sideWrite.statements) }
        return try await applying(batch) { () throws(PostgresError) in
            try await conflictReturn(withCode: hash, tenant: record.tenant) == nil ? .factsMoved : .applied
        }
    }
}
