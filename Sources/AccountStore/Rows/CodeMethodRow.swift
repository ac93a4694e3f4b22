package import AccountLinking
package import Postgres

/// A code that restores sign-in methods, with the methods as they were.
package struct MethodRevert: Sendable, Hashable {
    package let code: EmailCodeRecord
    package let methods: [MethodSnapshot]

    package init(_ code: EmailCodeRecord, _ methods: [MethodSnapshot]) {
        self.code = code
        self.methods = methods
    }
}

/// The methods that a code restores.
package struct RevertibleMethods: Sendable {
    /// By name.
    package let methods: [MethodSnapshot]
    /// The hash of the password, if it is one of them and was requested.
    package let passwordHash: String?

    package static let none = RevertibleMethods(methods: [], passwordHash: nil)
}

/// A method that a code restores.
struct CodeMethodRow {
    let method: MethodSnapshot
    let passwordHash: String?
    private let code: EmailCodeRecord?

    private var subject: String? { method.number?.rawValue ?? method.linked?.identity.subject }

    private static let columns = Columns<CodeMethodRow>(
        of: "code_methods",
        [
            Column(written: "tenant_id") { $0.code?.tenant }, Column(written: "code_hash") { $0.code?.hash },
            Column("method", \.method.method), Column("was_there", \.method.wasThere),
            Column(read: "password_hash", \.passwordHash), Column("subject", \.subject),
            Column("issuer", \.method.linked?.issuer), Column("email", \.method.linked?.email),
            Column("display_name", \.method.linked?.displayName), Column("photo_url", \.method.linked?.photoURL),
            Column("screen_name", \.method.linked?.screenName), Column("linked_at", \.method.linked?.linkedAt),
            Column("updated_at", \.method.linked?.updatedAt), Column("proof", \.method.proof?.proof),
            Column("proven_at", \.method.proof?.provenAt),
        ]
    )

    /// The methods of `code` and of the account's later live codes: each as it was before the first of their changes,
    /// by name.
    ///
    /// `withHash`: if false, the hash of a password stays in the database.
    static func since(
        _ code: EmailCodeRecord,
        of user: UserID,
        withHash: Bool,
        at now: Timestamp
    ) -> Query<CodeMethodRow> {
        let hash: SQL = withHash ? "password_hash" : "NULL::text"
        return Query(
            """
            SELECT DISTINCT ON (method) \(columns.names(replacing: ["password_hash": hash, "email": "m.email"]))
            FROM \(table: "code_methods") AS m JOIN one_time_codes AS c ON c.tenant_id = m.tenant_id AND c.code_hash = m.code_hash
            WHERE c.tenant_id = \(code.tenant) AND c.user_id = \(user)
                AND c.kind = 'REVERT_SIGN_IN_METHOD_CHANGE' AND c.consumed_at IS NULL AND c.expires_at > \(now)
                AND c.created_at >= \(code.createdAt)
            ORDER BY method, c.created_at, c.code_hash
            """
        )
    }

    /// The live codes of the account, by method.
    ///
    /// - `mailbox`: counts codes that were sent there.
    /// - `until`: counts codes that expire then or later.
    static func live(
        of user: UserID,
        sentTo mailbox: EmailAddress,
        tenant: TenantID,
        until end: Timestamp,
        at now: Timestamp
    ) -> Query<LiveRevertsRow> {
        """
        SELECT method,
            count(*) FILTER (WHERE c.expires_at >= \(end) AND c.email_key = \(mailbox.canonical)),
            max(c.created_at)
        FROM \(table: "code_methods") AS m
        JOIN one_time_codes AS c ON c.tenant_id = m.tenant_id AND c.code_hash = m.code_hash
        WHERE c.tenant_id = \(tenant) AND c.user_id = \(user)
            AND c.kind = 'REVERT_SIGN_IN_METHOD_CHANGE' AND c.consumed_at IS NULL AND c.expires_at > \(now)
        GROUP BY method
        """
    }

    /// Stores `method` with its code, as it was. The password of the account must still exist.
    static func insert(_ method: MethodSnapshot, of revert: EmailCodeRecord, user: UserID) -> SQL {
        if method.method == .password, method.wasThere { return insertPassword(method, of: revert, user: user) }
        return columns.insert(CodeMethodRow(method: method, passwordHash: nil, code: revert))
    }

    /// The same for a password that the account has.
    static func insertPassword(_ method: MethodSnapshot, of revert: EmailCodeRecord, user: UserID) -> SQL {
        """
        INSERT INTO code_methods (tenant_id, code_hash, method, was_there, password_hash, proof, proven_at)
        SELECT tenant_id, \(revert.hash), 'password', true, hash, \(method.proof?.proof),
            \(method.proof?.provenAt)
        FROM password_credentials
        WHERE tenant_id = \(revert.tenant) AND user_id = \(user)
        """
    }

    /// Stops all codes of these accounts from restoring methods.
    static func settleAll(of users: [UserID], tenant: TenantID) -> SQL {
        """
        DELETE FROM code_methods AS m USING one_time_codes AS c
        WHERE c.tenant_id = m.tenant_id AND c.code_hash = m.code_hash AND c.tenant_id = \(tenant)
            AND c.user_id = ANY(\(users)) AND c.kind = 'REVERT_SIGN_IN_METHOD_CHANGE'
        """
    }

    /// Stops codes of the account from restoring these methods.
    ///
    /// `mailbox`: only codes that were sent there; `nil` for all codes.
    static func settle(
        _ methods: [SignInMethod],
        of user: UserID,
        sentTo mailbox: EmailAddress?,
        tenant: TenantID
    ) -> SQL {
        let sent: SQL = mailbox.map { " AND c.email_key = \($0.canonical)" } ?? ""
        return """
            DELETE FROM code_methods AS m USING one_time_codes AS c
            WHERE c.tenant_id = m.tenant_id AND c.code_hash = m.code_hash AND c.tenant_id = \(tenant)
                AND c.user_id = \(user) AND c.kind = 'REVERT_SIGN_IN_METHOD_CHANGE'
                AND method = ANY(\(methods.map(\.name)))\(sent)
            """
    }

    /// Uses the codes of the account that undo later changes than `code`.
    static func voidLater(than code: EmailCodeRecord, of user: UserID, at now: Timestamp) -> SQL {
        """
        UPDATE one_time_codes SET consumed_at = greatest(created_at, \(now))
        WHERE tenant_id = \(code.tenant) AND user_id = \(user)
            AND kind = 'REVERT_SIGN_IN_METHOD_CHANGE' AND consumed_at IS NULL AND created_at >= \(code.createdAt)
        """
    }
}

extension CodeMethodRow: RowDecodable {
    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        var method = MethodSnapshot(try values(\.method.method), wasThere: try values(\.method.wasThere))
        if let proof = try values(\.method.proof?.proof), let provenAt = try values(\.method.proof?.provenAt) {
            method.proof = UserRecord.MethodProof(proof: proof, provenAt: provenAt)
        }
        let subject = try values(\.subject)
        switch method.method {
        case .password, .emailLink: break
        case .phone: method.number = subject.flatMap(PhoneNumber.init)
        case .provider(let provider):
            guard let subject, let linkedAt = try values(\.method.linked?.linkedAt),
                let updatedAt = try values(\.method.linked?.updatedAt)
            else { break }
            guard let identity = ProviderIdentity(provider: provider, subject: subject) else {
                throw .unreadable("code_methods.subject")
            }
            method.linked = UserRecord.LinkedProvider(
                identity: identity,
                issuer: try values(\.method.linked?.issuer),
                email: try values(\.method.linked?.email),
                displayName: try values(\.method.linked?.displayName),
                photoURL: try values(\.method.linked?.photoURL),
                screenName: try values(\.method.linked?.screenName),
                linkedAt: linkedAt,
                updatedAt: updatedAt
            )
        }
        self.method = method
        passwordHash = try values(\.passwordHash)
        code = nil
    }
}

extension CodeMethodRow {
    /// Uses the account's codes, except those sent to `address` or to a mailbox for which a live code restores the
    /// account's address. That mailbox has the better claim.
    static func voidElsewhere(
        of user: UserID,
        than address: EmailAddress?,
        tenant: TenantID,
        at now: Timestamp
    ) -> SQL {
        """
        UPDATE one_time_codes SET consumed_at = greatest(created_at, \(now))
        WHERE tenant_id = \(tenant) AND user_id = \(user)
            AND kind = 'REVERT_SIGN_IN_METHOD_CHANGE' AND consumed_at IS NULL
            AND email_key IS DISTINCT FROM \(address?.canonical)
            AND email_key NOT IN (
                SELECT r.email_key FROM one_time_codes AS r
                WHERE r.tenant_id = \(tenant) AND r.user_id = \(user) AND r.kind = 'RECOVER_EMAIL'
                    AND r.address_was_proven AND r.consumed_at IS NULL AND r.expires_at > \(now)
            )
        """
    }
}

/// The live codes of an account for one method.
struct LiveRevertsRow: RowDecodable {
    let method: String
    let count: Int64
    let newest: Timestamp

    init(row: inout RowDecoder) throws(PostgresError) {
        method = try row.next()
        count = try row.next()
        newest = try row.next()
    }
}

/// The live codes of an account that restore sign-in methods.
package struct LiveReverts: Sendable {
    private let counts: [String: Int64]
    /// Time of the newest code; `nil` if there is none.
    package let newest: Timestamp?

    fileprivate init(_ rows: [LiveRevertsRow]) {
        counts = Dictionary(rows.map { ($0.method, $0.count) }, uniquingKeysWith: max)
        newest = rows.map(\.newest).max()
    }

    /// Number of codes for `method` that went to the mailbox and live long enough.
    package func count(of method: SignInMethod) -> Int64 { counts[method.name] ?? 0 }
}

extension AccountWrite.SideWrite {
    /// Stops mailed codes from restoring `methods` of an account.
    ///
    /// `mailbox`: only codes that were sent there; `nil` for all codes.
    package static func settleReverts(
        of methods: [SignInMethod],
        of user: UserID,
        sentTo mailbox: EmailAddress?,
        tenant: TenantID
    ) -> Self {
        Self([CodeMethodRow.settle(methods, of: user, sentTo: mailbox, tenant: tenant)])
    }

    /// Uses the codes that undo later changes than `code`. Must follow `useUp` of `code`.
    package static func voidLaterReverts(than code: EmailCodeRecord, of user: UserID, at now: Timestamp) -> Self {
        Self([CodeMethodRow.voidLater(than: code, of: user, at: now)])
    }

    /// Uses the codes of `user` that undo changes, except those sent to `address`, the current one, or to a mailbox for
    /// which a live code restores the address.
    package static func voidReverts(
        of user: UserID,
        tenant: TenantID,
        sentElsewhereThanTo address: EmailAddress?,
        at now: Timestamp
    ) -> Self {
        Self([CodeMethodRow.voidElsewhere(of: user, than: address, tenant: tenant, at: now)])
    }

    /// Announces what a change does to sign-in methods.
    ///
    /// - `isMailed`: true if a mail notifies the account's owner.
    package static func announce(_ changes: MethodChanges, isMailed: Bool) -> Self {
        Self([], announcing: [.about(changes, isMailed: isMailed)])
    }
}

extension AccountStore {
    /// The methods that `code` of `user` restores at `now`. One round trip.
    ///
    /// `withHash`: true to read the hash of a password, which only the use of the code needs.
    package func revertibleMethods(
        of code: EmailCodeRecord,
        user: UserID,
        withHash: Bool,
        at now: Timestamp
    ) async throws(PostgresError) -> RevertibleMethods {
        let rows = try await client.read(CodeMethodRow.since(code, of: user, withHash: withHash, at: now))
        return RevertibleMethods(methods: rows.map(\.method), passwordHash: rows.lazy.compactMap(\.passwordHash).first)
    }

    /// The codes of `user` that restore sign-in methods at `now`. One round trip.
    ///
    /// - `mailbox`: counts codes that were sent there.
    /// - `until`: counts codes that expire then or later.
    package func liveReverts(
        of user: UserID,
        sentTo mailbox: EmailAddress,
        tenant: TenantID,
        until end: Timestamp,
        at now: Timestamp
    ) async throws(PostgresError) -> LiveReverts {
        LiveReverts(
            try await client.read(CodeMethodRow.live(of: user, sentTo: mailbox, tenant: tenant, until: end, at: now))
        )
    }

    /// The identifiers among `identifiers` that accounts other than `user` have. One round trip for each.
    package func identifiers(
        _ identifiers: [Identifier],
        takenFrom user: UserID,
        tenant: TenantID
    ) async throws(PostgresError) -> Set<Identifier> {
        var taken: Set<Identifier> = []
        for identifier in identifiers {
            let owner = try await client.read(IdentifierRow.owner(of: identifier, tenant: tenant)).first?.owner
            if let owner, owner != user { taken.insert(identifier) }
        }
        return taken
    }
}
