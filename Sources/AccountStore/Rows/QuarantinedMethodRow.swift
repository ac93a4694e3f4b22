package import AccountLinking
package import Postgres

/// A suspended sign-in method, which the owner can restore.
package struct QuarantinedMethod: Sendable, Hashable {
    package let method: SignInMethod
    /// The decision that suspended the method.
    package let event: AccountEvent.ID
    package let rule: Rule
    package let quarantinedAt: Timestamp
    /// The method cannot be restored from then on.
    package let expiresAt: Timestamp
}

extension QuarantinedMethod: RowDecodable {
    package init(row: inout RowDecoder) throws(PostgresError) {
        var values = QuarantinedMethodRow.columns.values(&row)
        method = try values(\.record.method)
        event = try values(\.record.event)
        rule = try values(\.record.rule)
        quarantinedAt = try values(\.record.quarantinedAt)
        expiresAt = try values(\.record.expiresAt)
    }
}

/// The facts for judging a suspended password.
package struct QuarantinedPassword: Sendable {
    package let hash: String
    /// Counts of wrong passwords for the account's address.
    package let counts: FailedAttemptCounts
}

/// A suspended method with its account.
struct QuarantinedMethodRow {
    fileprivate let record: QuarantinedMethod
    private let tenant: TenantID
    private let user: UserID
    private let subject: String?

    fileprivate static let columns = Columns<QuarantinedMethodRow>(
        of: "quarantined_methods",
        key: [
            Column(written: "tenant_id", \.tenant), Column(written: "user_id", \.user),
            Column("method", \.record.method),
        ],
        [
            Column(written: "password_hash", always: "NULL"), Column(written: "subject", \.subject),
            Column("event_id", \.record.event), Column("rule", \.record.rule),
            Column("quarantined_at", \.record.quarantinedAt), Column("expires_at", \.record.expiresAt),
        ]
    )

    /// The suspended methods of a user that have not expired at `now`, by name.
    static func of(_ id: UserID, tenant: TenantID, at now: Timestamp) -> Query<QuarantinedMethod> {
        """
        \(columns.select)
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND expires_at > \(now)
        ORDER BY method
        """
    }

    /// The suspended methods of a user, those that have expired included, as a lookup: one statement answers many
    /// callers at once.
    static func lookup(_ id: UserID, tenant: TenantID) -> Query<FoundQuarantinedMethodRow> {
        Query(
            keyColumn: 0,
            """
            SELECT user_id, \(columns.names) FROM \(table: "quarantined_methods")
            WHERE tenant_id = \(tenant) AND user_id = ANY(\([id.rawValue]))
            """
        )
    }

    /// The hash of the suspended password, unless it has expired at `now`.
    static func password(of id: UserID, tenant: TenantID, at now: Timestamp) -> Query<String> {
        """
        SELECT password_hash FROM \(table: "quarantined_methods")
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND method = 'password'
            AND expires_at > \(now)
        """
    }

    /// Suspends `method` of `user`, a provider or a number. Replaces a suspended method of the same name.
    static func insert(_ method: SignInMethod, of user: UserRecord, by event: AccountEvent, until end: Timestamp) -> SQL
    {
        let subject: String? =
            if case .provider(let provider) = method {
                user.linkedProviders[provider]?.identity.subject
            } else {
                user.phoneNumber?.rawValue
            }
        let record = QuarantinedMethod(
            method: method,
            event: event.id,
            rule: event.rule,
            quarantinedAt: event.occurredAt,
            expiresAt: end
        )
        let row = QuarantinedMethodRow(record: record, tenant: user.tenant, user: user.id, subject: subject)
        return columns.insert(row, replaces: true)
    }

    /// Suspends the password of `user` and replaces a suspended one. Must run before the password is deleted.
    static func insertPassword(of user: UserRecord, by event: AccountEvent, until end: Timestamp) -> SQL {
        """
        \(columns.into)
        SELECT tenant_id, user_id, 'password', hash, NULL, \(event.id), \(event.rule),
            \(event.occurredAt), \(end)
        FROM password_credentials
        WHERE tenant_id = \(user.tenant) AND user_id = \(user.id)
        \(columns.orReplace)
        """
    }

    /// Deletes the suspended methods with these names.
    static func delete(_ methods: [SignInMethod], of id: UserID, tenant: TenantID) -> SQL {
        """
        DELETE FROM quarantined_methods
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND method = ANY(\(methods.map(\.name)))
        """
    }

    static func deleteAll(of ids: [UserID], tenant: TenantID) -> SQL {
        """
        DELETE FROM quarantined_methods
        WHERE tenant_id = \(tenant) AND user_id = ANY(\(ids))
        """
    }
}

/// A suspended method that a lookup found, behind its key.
struct FoundQuarantinedMethodRow: RowDecodable {
    let method: QuarantinedMethod

    init(row: inout RowDecoder) throws(PostgresError) {
        _ = try row.next(String.self)
        method = try QuarantinedMethod(row: &row)
    }
}

extension AccountWrite.SideWrite {
    /// Discards a suspended method of `user` and raises the account's version. If another request changes the method at
    /// the same time, one of the two is decided again.
    package static func discardQuarantined(_ method: SignInMethod, of user: UserRecord) -> Self {
        Self([
            UserRow.update(user, epoch: user.sessionEpoch),
            UserRow.assertRaised(user),
            QuarantinedMethodRow.delete([method], of: user.id, tenant: user.tenant),
        ])
    }
}

extension AccountStore {
    /// The suspended methods of an account that have not expired at `now`, by name. One round trip.
    package func quarantinedMethods(
        of id: UserID,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> [QuarantinedMethod] {
        try await client.read(QuarantinedMethodRow.of(id, tenant: tenant, at: now))
    }

    /// The suspended password of an account; `nil` if there is none at `now`. One round trip.
    package func quarantinedPassword(
        of id: UserID,
        address: EmailAddress,
        by source: AttemptSource,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> QuarantinedPassword? {
        let (passwords, counts) = try await client.read(
            QuarantinedMethodRow.password(of: id, tenant: tenant, at: now),
            FailedAttemptsRow.of(address, by: source, tenant: tenant, at: now)
        )
        return passwords.first.map { QuarantinedPassword(hash: $0, counts: FailedAttemptCounts(counts)) }
    }
}
