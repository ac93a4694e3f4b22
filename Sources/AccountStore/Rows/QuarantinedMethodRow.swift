package import AccountLinking
package import Postgres

/// A method that was taken off an account and may come back.
package struct QuarantinedMethod: Sendable, Hashable {
    package let method: SignInMethod
    /// The decision that took it off.
    package let event: AccountEvent.ID
    package let rule: Rule
    package let quarantinedAt: Timestamp
    /// From then on it is gone.
    package let expiresAt: Timestamp
}

/// What judging a suspended password needs.
package struct QuarantinedPassword: Sendable {
    package let hash: String
    /// The wrong passwords that were counted for the account's address.
    package let counts: FailedAttemptCounts
}

struct QuarantinedMethodRow: RowDecodable {
    let record: QuarantinedMethod

    init(row: inout RowDecoder) throws(PostgresError) {
        record = QuarantinedMethod(
            method: try row.next(),
            event: try row.next(),
            rule: try row.next(),
            quarantinedAt: try row.next(),
            expiresAt: try row.next()
        )
    }

    /// Those of a user whose time is not over at `now`, by name.
    static func of(_ id: UserID, tenant: TenantID, at now: Timestamp) -> Query<QuarantinedMethodRow> {
        """
        SELECT method, event_id, rule, quarantined_at, expires_at FROM \(table: "quarantined_methods")
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND expires_at > \(now)
        ORDER BY method
        """
    }

    /// The hash of the suspended password, while its time is not over.
    static func password(of id: UserID, tenant: TenantID, at now: Timestamp) -> Query<String> {
        """
        SELECT password_hash FROM \(table: "quarantined_methods")
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND method = 'password'
            AND expires_at > \(now)
        """
    }

    private static let columns: SQL = """
        INSERT INTO quarantined_methods (tenant_id, user_id, method, password_hash, subject, event_id, rule,
            quarantined_at, expires_at)
        """

    private static let replacement: SQL = """
        ON CONFLICT (tenant_id, user_id, method) DO UPDATE SET password_hash = excluded.password_hash,
            subject = excluded.subject, event_id = excluded.event_id, rule = excluded.rule,
            quarantined_at = excluded.quarantined_at, expires_at = excluded.expires_at
        """

    /// Suspends what `user` has of `method`, a provider or a number, in place of what was suspended under that name.
    static func insert(_ method: SignInMethod, of user: UserRecord, by event: AccountEvent, until end: Timestamp) -> SQL
    {
        let subject: String? =
            if case .provider(let provider) = method {
                user.linkedProviders[provider]?.identity.subject
            } else {
                user.phoneNumber?.rawValue
            }
        return """
            \(columns)
            VALUES (\(user.tenant), \(user.id), \(method.name), NULL, \(subject), \(event.id),
                \(event.rule), \(event.occurredAt), \(end))
            \(replacement)
            """
    }

    /// Suspends the password of `user`, which has to be there still, in place of one that was suspended before.
    static func insertPassword(of user: UserRecord, by event: AccountEvent, until end: Timestamp) -> SQL {
        """
        \(columns)
        SELECT tenant_id, user_id, 'password', hash, NULL, \(event.id), \(event.rule),
            \(event.occurredAt), \(end)
        FROM password_credentials
        WHERE tenant_id = \(user.tenant) AND user_id = \(user.id)
        \(replacement)
        """
    }

    /// Forgets what is suspended under these names.
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

extension AccountWrite.SideWrite {
    /// Gives a suspended method of `user` up, and raises the account's version: of this and whatever else is done about the
    /// method at the same time one is judged again.
    package static func discardQuarantined(_ method: SignInMethod, of user: UserRecord) -> Self {
        Self([
            UserRow.update(user, epoch: user.sessionEpoch),
            UserRow.assertRaised(user),
            QuarantinedMethodRow.delete([method], of: user.id, tenant: user.tenant),
        ])
    }
}

extension AccountStore {
    /// The suspended methods of an account whose time is not over at `now`, by name. One round trip.
    package func quarantinedMethods(
        of id: UserID,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> [QuarantinedMethod] {
        try await client.read(QuarantinedMethodRow.of(id, tenant: tenant, at: now)).map(\.record)
    }

    /// The suspended password of an account; `nil` when there is none at `now`. One round trip.
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
