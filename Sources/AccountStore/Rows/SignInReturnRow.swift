package import AccountLinking
package import Postgres

/// The code that hands a session of the sign-in page over to an app.
package struct SignInReturnRecord: Sendable, Hashable {
    package var tenant: TenantID
    package var user: UserID
    /// The session of the page.
    package var session: [UInt8]
    /// The page of the app, exactly as the app sent it. Checked when the code is issued, and again when it is used.
    package var continueURL: String
    /// SHA-256 of the app's verifier.
    package var codeChallenge: [UInt8]
    /// SHA-256 of the code.
    package var codeHash: [UInt8]
    package var codeEndsAt: Timestamp
    /// Wrong verifiers so far.
    package var attempts: Int32 = 0
    /// The session that the code gave; `nil` until it is used.
    package var givenSession: [UInt8]?

    package init(
        of session: SessionRecord,
        continueURL: String,
        codeChallenge: [UInt8],
        codeHash: [UInt8],
        codeEndsAt: Timestamp
    ) {
        self.init(
            tenant: session.tenant,
            user: session.user,
            session: session.id,
            continueURL: continueURL,
            codeChallenge: codeChallenge,
            codeHash: codeHash,
            codeEndsAt: codeEndsAt
        )
    }

    fileprivate init(
        tenant: TenantID,
        user: UserID,
        session: [UInt8],
        continueURL: String,
        codeChallenge: [UInt8],
        codeHash: [UInt8],
        codeEndsAt: Timestamp
    ) {
        self.tenant = tenant
        self.user = user
        self.session = session
        self.continueURL = continueURL
        self.codeChallenge = codeChallenge
        self.codeHash = codeHash
        self.codeEndsAt = codeEndsAt
    }
}

struct SignInReturnRow: RowDecodable {
    let record: SignInReturnRecord

    private static let columns = Columns<SignInReturnRecord>(
        of: "sign_in_returns",
        key: [
            Column("tenant_id", \.tenant), Column("user_id", \.user),
            Column("session_id", \.session),
        ],
        [
            Column("continue_url", \.continueURL), Column("code_challenge", \.codeChallenge),
            Column("code_hash", \.codeHash), Column("code_ends_at", \.codeEndsAt), Column("attempts", \.attempts),
            Column(read: "given_session", \.givenSession),
        ]
    )

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        var record = SignInReturnRecord(
            tenant: try values(\.tenant),
            user: try values(\.user),
            session: try values(\.session),
            continueURL: try values(\.continueURL),
            codeChallenge: try values(\.codeChallenge),
            codeHash: try values(\.codeHash),
            codeEndsAt: try values(\.codeEndsAt)
        )
        record.attempts = try values(\.attempts)
        record.givenSession = try values(\.givenSession)
        self.record = record
    }

    static func of(_ session: [UInt8], of user: UserID, tenant: TenantID) -> Query<SignInReturnRow> {
        """
        \(columns.select)
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND session_id = \(session)
        """
    }

    /// Stores the code of a session, in place of one that has given no session. `StoredSessionCode.assertCode` must
    /// follow.
    static func issue(_ record: SignInReturnRecord) -> SQL {
        """
        \(columns.insert(record, replaces: true))
        WHERE sign_in_returns.given_session IS NULL
        """
    }
}

extension AccountStore {
    /// The code of a session; `nil` if it has none. One round trip.
    package func signInReturn(
        of session: [UInt8],
        of user: UserID,
        tenant: TenantID
    ) async throws(PostgresError) -> SignInReturnRecord? {
        try await client.read(SignInReturnRow.of(session, of: user, tenant: tenant)).first?.record
    }

    /// Stores the code of a session, in place of an earlier one.
    /// - Returns: `.factsMoved` if a code has given a session, or the account is gone.
    package func issueSignInCode(
        _ record: SignInReturnRecord,
        sideWrites: [AccountWrite.SideWrite]
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch(
            "sign-in-code-issue",
            [SignInReturnRow.issue(record), StoredSessionCode(record).assertCode(record.codeHash)]
        )
        for sideWrite in sideWrites { batch.append(sideWrite.statements) }
        // One transaction wrote everything, so the code's presence shows the rest.
        return try await applying(batch) { () throws(PostgresError) in
            try await signInReturn(of: record.session, of: record.user, tenant: record.tenant)?.codeHash
                == record.codeHash ? .applied : nil
        }
    }
}
