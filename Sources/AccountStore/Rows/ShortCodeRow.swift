package import AccountLinking
package import Postgres

struct ShortCodeRow: RowDecodable {
    let linkHash: [UInt8]?
    let sealedCode: [UInt8]?
    let attempts: Int32
    let expiresAt: Timestamp

    private static let columns = Columns<ShortCodeRecord>(
        of: "short_codes",
        key: [
            Column(written: "tenant_id", \.tenant), Column(written: "kind", \.kind),
            Column(written: "email_key", \.mailbox.canonical),
        ],
        [
            Column("code_hash", \.linkHash), Column("sealed_code", \.sealedCode), Column("attempts", \.attempts),
            Column("expires_at", \.expiresAt),
        ]
    )

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        linkHash = try values(\.linkHash)
        sealedCode = try values(\.sealedCode)
        attempts = try values(\.attempts)
        expiresAt = try values(\.expiresAt)
    }

    static func current(
        _ kind: EmailCodeRecord.Kind,
        of mailbox: EmailAddress,
        tenant: TenantID
    ) -> Query<ShortCodeRow> {
        """
        \(columns.select)
        WHERE tenant_id = \(tenant) AND kind = \(kind) AND email_key = \(mailbox.canonical)
        """
    }

    /// Replaces the row, including its count of guesses.
    static func replace(_ code: ShortCodeRecord) -> SQL {
        columns.insert(code, replaces: true)
    }

    /// Stores the code, unless another one can still be typed in.
    static func add(_ code: ShortCodeRecord, at now: Timestamp) -> SQL {
        """
        \(columns.insert(code, replaces: true))
        WHERE short_codes.code_hash IS NULL OR short_codes.attempts >= \(ShortCodeRecord.attemptsMax)
            OR short_codes.expires_at <= \(now)
        """
    }

    /// Counts a wrong guess. Changes nothing if the maximum is reached, or the code has changed since.
    ///
    /// `code`: the code as it was read; an expired one has no `linkHash`.
    static func countFailedAttempt(_ code: ShortCodeRecord, until expiresAt: Timestamp, at now: Timestamp) -> SQL {
        """
        INSERT INTO short_codes AS known (tenant_id, kind, email_key, attempts, expires_at)
        VALUES (\(code.tenant), \(code.kind), \(code.mailbox.canonical), 1, \(expiresAt))
        ON CONFLICT (tenant_id, kind, email_key) DO UPDATE SET
            attempts = CASE WHEN known.expires_at > \(now) THEN known.attempts + 1 ELSE 1 END,
            code_hash = CASE WHEN known.expires_at > \(now) THEN known.code_hash END,
            sealed_code = CASE WHEN known.expires_at > \(now) THEN known.sealed_code END,
            expires_at = CASE WHEN known.expires_at > \(now) THEN known.expires_at ELSE excluded.expires_at END
        WHERE known.expires_at <= \(now)
            OR (known.attempts < \(ShortCodeRecord.attemptsMax) AND known.code_hash IS NOT DISTINCT FROM \(code.linkHash))
        """
    }

    /// Locks the short code, or raises 22012 (division by zero) if it is locked, expired or not this one.
    static func hold(_ code: ShortCodeRecord, at now: Timestamp) -> SQL {
        """
        SELECT \(SQL.assertExists) FROM (
            SELECT 1 FROM short_codes
            WHERE tenant_id = \(code.tenant) AND kind = \(code.kind) AND email_key = \(code.mailbox.canonical)
                AND code_hash = \(code.linkHash) AND attempts < \(ShortCodeRecord.attemptsMax) AND expires_at > \(now)
            FOR UPDATE
        ) AS held
        """
    }
}

extension AccountStore {
    /// The short code of the newest mail of a kind to a mailbox, with its count of guesses, or the count alone. Both
    /// may have expired. One round trip.
    package func shortCode(
        _ kind: EmailCodeRecord.Kind,
        of mailbox: EmailAddress,
        tenant: TenantID
    ) async throws(PostgresError) -> ShortCodeRecord? {
        try await client.read(ShortCodeRow.current(kind, of: mailbox, tenant: tenant)).first.map { row in
            ShortCodeRecord(
                tenant: tenant,
                kind: kind,
                mailbox: mailbox,
                linkHash: row.linkHash,
                sealedCode: row.sealedCode,
                attempts: row.attempts,
                expiresAt: row.expiresAt
            )
        }
    }

    /// Counts a wrong guess against the code and `limits`. If there is no code, the count lasts until `expiresAt`.
    /// - Returns: `true` if it was counted; `false` if the code is locked, or another mail was sent since.
    package func countFailedAttempt(
        _ code: ShortCodeRecord,
        until expiresAt: Timestamp,
        counting limits: [CountedLimit],
        at now: Timestamp
    ) async throws(PostgresError) -> Bool {
        var batch = WriteBatch("code-attempt")
        batch.append(ShortCodeRow.countFailedAttempt(code, until: expiresAt, at: now))
        batch.append(limits.map { MessageCountRow.count($0, tenant: code.tenant, at: now) })
        do {
            return try await client.write(batch).affectedRows(0) == 1
        } catch {
            if error.saysFactsMoved { return false }
            throw error
        }
    }

    /// Gives the link of the same mail another code. The mailed code and the short code become invalid.
    ///
    /// The code is stored under its new hash and deleted under the old one, because the hash names the shard. The row
    /// of the code's account is locked first: a change of the account that makes its codes void finds the old code or
    /// the new one.
    ///
    /// - `link`: the code of the link, as it was read.
    /// - `hash`: fresh for each request, the same on each of its attempts.
    /// - `limits`: the limits that wrong guesses count against.
    /// - Returns: `.factsMoved` if the link is used, the short code is locked, another mail was sent since, or a limit
    ///   is reached.
    package func exchange(
        _ code: ShortCodeRecord,
        linkedTo link: EmailCodeRecord,
        for hash: [UInt8],
        within limits: [CountedLimit],
        at now: Timestamp
    ) async throws(PostgresError) -> Applied {
        guard client.engine == .citus else {
            let store = EmailCodeRow.copy(link, to: hash)
            let exchange = exchange(code, linkedTo: link, storing: store, within: limits, at: now)
            return try await applying(exchange) { () throws(PostgresError) in
                try await emailCode(hash, tenant: code.tenant) == nil ? .factsMoved : .applied
            }
        }
        // A commit on Citus becomes visible on one shard after the other. So the new code is stored before the account
        // is locked: a change of the account that waits for this lock sees it, and makes it void.
        try await client.write(WriteBatch("code-exchange", [EmailCodeRow.copy(link, to: hash)]))
        var new = link
        new.hash = hash
        let assertion = EmailCodeRow.hold(new, at: now)
        let exchange = exchange(code, linkedTo: link, storing: assertion, within: limits, at: now)
        let applied = try await applying(exchange) { () throws(PostgresError) in
            try await emailCode(link.hash, tenant: code.tenant) == nil ? .applied : .factsMoved
        }
        // Without an exchange, the app never learns the new code.
        if applied == .factsMoved { try await client.write(WriteBatch("code-exchange", [EmailCodeRow.delete(new)])) }
        return applied
    }

    private func exchange(
        _ code: ShortCodeRecord,
        linkedTo link: EmailCodeRecord,
        storing statement: SQL,
        within limits: [CountedLimit],
        at now: Timestamp
    ) -> WriteBatch {
        var batch = WriteBatch("code-exchange")
        if let user = link.user { batch.append(UserRow.hold(user.rawValue, tenant: code.tenant)) }
        batch.append([
            ShortCodeRow.hold(code, at: now),
            EmailCodeRow.hold(link, at: now),
            statement,
            EmailCodeRow.delete(link),
            MessageCountRow.assertNoneReached(limits, tenant: code.tenant, at: now),
        ])
        return batch
    }
}
