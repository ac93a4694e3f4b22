package import AccountLinking
package import Postgres

/// A code that hands a session over to an app, after a conflict or a sign-in. Both tables of codes have these columns.
package struct StoredSessionCode: Sendable, Hashable {
    /// The row that stores the code.
    enum Place: Sendable, Hashable {
        /// A row of `conflict_returns`, by the id of the conflict.
        case conflict([UInt8])
        /// A row of `sign_in_returns`, by the session.
        case signIn([UInt8])
    }

    package let tenant: TenantID
    package let user: UserID
    let place: Place
    /// The session that requested the code; `nil` until a conflict is resolved.
    package let session: [UInt8]?
    /// The page of the app.
    package let continueURL: String
    /// SHA-256 of the app's verifier; `nil` if the app asked for no session.
    package let challenge: [UInt8]?
    /// SHA-256 of the code; `nil` before the first.
    let hash: [UInt8]?
    /// `nil` before the first code.
    package let facts: SessionCodeFacts?
    /// The session that the code gave; `nil` until it is used.
    package let givenSession: [UInt8]?

    package init(_ record: ConflictReturnRecord) {
        tenant = record.tenant
        user = record.user
        place = .conflict(record.conflict)
        session = record.session
        continueURL = record.continueURL
        challenge = record.codeChallenge
        hash = record.codeHash
        facts = record.codeEndsAt.map { end in
            SessionCodeFacts(expiresAt: end, attempts: Int(record.attempts), isUsed: record.givenSession != nil)
        }
        givenSession = record.givenSession
    }

    package init(_ record: SignInReturnRecord) {
        tenant = record.tenant
        user = record.user
        place = .signIn(record.session)
        session = record.session
        continueURL = record.continueURL
        challenge = record.codeChallenge
        hash = record.codeHash
        facts = SessionCodeFacts(
            expiresAt: record.codeEndsAt,
            attempts: Int(record.attempts),
            isUsed: record.givenSession != nil
        )
        givenSession = record.givenSession
    }
}

extension StoredSessionCode {
    private var table: SQL {
        switch place {
        case .conflict: "conflict_returns"
        case .signIn: "sign_in_returns"
        }
    }

    /// Finds the row by its key.
    var row: SQL {
        switch place {
        case .conflict(let id): "tenant_id = \(tenant) AND user_id = \(user) AND conflict_id = \(id)"
        case .signIn(let id): "tenant_id = \(tenant) AND user_id = \(user) AND session_id = \(id)"
        }
    }

    /// Raises 22012 (division by zero) unless the row has the code with `hash`.
    func assertCode(_ hash: [UInt8]) -> SQL {
        """
        SELECT \(SQL.assertExists) FROM \(table)
        WHERE \(row) AND code_hash = \(hash)
        """
    }

    /// Counts a wrong verifier. Changes nothing if the code was used, replaced or locked.
    func countAttempt() -> SQL {
        """
        UPDATE \(table) SET attempts = attempts + 1
        WHERE \(row) AND code_hash = \(hash) AND given_session IS NULL
            AND attempts < \(Int32(SessionCodeFacts.attemptsMax))
        """
    }

    /// Marks the code as used, once. `assertUsed` must follow.
    func use(giving session: [UInt8], at now: Timestamp) -> SQL {
        """
        UPDATE \(table) SET given_session = \(session)
        WHERE \(row) AND code_hash = \(hash) AND given_session IS NULL
            AND attempts < \(Int32(SessionCodeFacts.attemptsMax)) AND code_ends_at > \(now)
        """
    }

    /// Raises 22012 (division by zero) unless the code gave `session`.
    func assertUsed(giving session: [UInt8]) -> SQL {
        """
        SELECT \(SQL.assertExists) FROM \(table)
        WHERE \(row) AND code_hash = \(hash) AND given_session = \(session)
        """
    }
}

extension AccountWrite.SideWrite {
    /// Uses a code. If it was used before, or another replaced it, the write is stopped.
    package static func use(_ code: StoredSessionCode, giving session: [UInt8], at now: Timestamp) -> Self {
        Self([code.use(giving: session, at: now), code.assertUsed(giving: session)])
    }
}

extension AccountStore {
    /// Counts a wrong verifier.
    /// - Returns: `false` if the code was used, replaced or locked since it was read.
    package func countFailedAttempt(_ code: StoredSessionCode) async throws(PostgresError) -> Bool {
        try await client.write(WriteBatch("session-code-attempt", [code.countAttempt()])).affectedRows(0) == 1
    }
}
