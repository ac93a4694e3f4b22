package import AccountLinking
package import Postgres

struct EmailCodeRow: RowDecodable {
    let record: EmailCodeRecord

    private static let columns = Columns<EmailCodeRecord>(
        of: "one_time_codes",
        [
            Column("tenant_id", \.tenant), Column("code_hash", \.hash), Column("kind", \.kind),
            Column("user_id", \.user), Column("session_epoch", \.sessionEpoch), Column("email", \.email),
            Column(written: "email_key", \.email.canonical), Column("new_email", \.newEmail),
            Column("created_at", \.createdAt), Column("expires_at", \.expiresAt), Column("consumed_at", \.consumedAt),
            Column(read: "attempts", \.attempts), Column("second_factor_id", \.secondFactor),
            Column("address_was_proven", \.addressWasProven), Column("asked_auth_time", \.requesterAuthTime),
        ]
    )

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        var record = EmailCodeRecord(
            tenant: try values(\.tenant),
            hash: try values(\.hash),
            kind: try values(\.kind),
            user: try values(\.user),
            sessionEpoch: try values(\.sessionEpoch),
            email: try values(\.email),
            newEmail: try values(\.newEmail),
            requesterAuthTime: try values(\.requesterAuthTime),
            secondFactor: try values(\.secondFactor),
            addressWasProven: try values(\.addressWasProven),
            createdAt: try values(\.createdAt),
            expiresAt: try values(\.expiresAt),
            consumedAt: try values(\.consumedAt)
        )
        record.attempts = try values(\.attempts)
        self.record = record
    }

    static func withHash(_ hash: [UInt8], tenant: TenantID) -> Query<EmailCodeRow> {
        "\(columns.select) WHERE tenant_id = \(tenant) AND code_hash = \(hash)"
    }

    /// The usable codes among `hashes` at `now`: not used, void or expired. In no particular order.
    static func usable(among hashes: [[UInt8]], tenant: TenantID, at now: Timestamp) -> Query<[UInt8]> {
        """
        SELECT code_hash FROM \(table: "one_time_codes")
        WHERE tenant_id = \(tenant) AND code_hash = ANY(\(hashes)) AND consumed_at IS NULL
            AND expires_at > \(now)
        """
    }

    /// True if a live code can revert a change of the account.
    static func canTakeBack(of user: UserID, tenant: TenantID, at now: Timestamp) -> Query<Bool> {
        """
        SELECT EXISTS (
            SELECT 1 FROM \(table: "one_time_codes")
            WHERE tenant_id = \(tenant) AND user_id = \(user) AND consumed_at IS NULL
                AND expires_at > \(now) AND kind IN ('RECOVER_EMAIL', 'REVERT_SECOND_FACTOR_ADDITION',
                    'REVERT_SIGN_IN_METHOD_CHANGE')
        )
        """
    }

    /// True if a live code that restores `address` was sent when the address was proven; NULL if there is no such code.
    static func recovery(
        of user: UserID,
        to address: EmailAddress,
        tenant: TenantID,
        at now: Timestamp
    ) -> Query<Bool?> {
        """
        SELECT bool_or(address_was_proven) FROM \(table: "one_time_codes")
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND kind = 'RECOVER_EMAIL'
            AND email_key = \(address.canonical) AND consumed_at IS NULL AND expires_at > \(now)
        """
    }

    /// The live codes that bring an address back to an account: those that went to a proven one, then the others, the
    /// oldest of each first.
    static func recoveries(of user: UserID, tenant: TenantID, at now: Timestamp) -> Query<LiveRecoveryRow> {
        """
        SELECT email, address_was_proven, created_at FROM \(table: "one_time_codes")
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND kind = 'RECOVER_EMAIL'
            AND consumed_at IS NULL AND expires_at > \(now)
        ORDER BY address_was_proven DESC, created_at LIMIT \(EmailCodeRecord.recoveriesMax)
        """
    }

    /// The addresses of codes that restore one to accounts, in any state.
    static func recoverable(of users: [UserID], tenant: TenantID) -> Query<RecoverableAddressRow> {
        """
        SELECT DISTINCT user_id, email_key FROM \(table: "one_time_codes")
        WHERE tenant_id = \(tenant) AND user_id = ANY(\(users)) AND kind = 'RECOVER_EMAIL'
        ORDER BY email_key, user_id
        """
    }

    /// The request that used the code; NULL if it is unused.
    static func user(of hash: [UInt8], tenant: TenantID) -> Query<PostgresUUID?> {
        """
        SELECT consumed_by FROM \(table: "one_time_codes") WHERE tenant_id = \(tenant) AND code_hash = \(hash)
        """
    }

    static func insert(_ code: EmailCodeRecord) -> SQL { columns.insert(code) }

    /// Locks the code, or raises 22012 (division by zero) if it is used, void, locked or expired.
    static func hold(_ code: EmailCodeRecord, at now: Timestamp) -> SQL {
        """
        SELECT \(SQL.assertExists) FROM (
            SELECT 1 FROM one_time_codes
            WHERE tenant_id = \(code.tenant) AND code_hash = \(code.hash) AND consumed_at IS NULL
                AND attempts < \(EmailCodeRecord.attemptsMax) AND expires_at > \(now)
            FOR UPDATE
        ) AS held
        """
    }

    /// Stores the code again, under `hash`.
    static func copy(_ code: EmailCodeRecord, to hash: [UInt8]) -> SQL {
        """
        INSERT INTO one_time_codes (\(columns.writtenNames), attempts)
        SELECT \(columns.writtenNames(replacing: ["code_hash": "\(hash)"])), attempts
        FROM one_time_codes
        WHERE tenant_id = \(code.tenant) AND code_hash = \(code.hash)
        """
    }

    static func delete(_ code: EmailCodeRecord) -> SQL {
        "DELETE FROM one_time_codes WHERE tenant_id = \(code.tenant) AND code_hash = \(code.hash)"
    }

    static func voidAll(of user: UserID, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        UPDATE one_time_codes SET consumed_at = greatest(created_at, \(now))
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND consumed_at IS NULL
        """
    }

    /// Keeps codes that revert an intruder's changes.
    static func voidAllButRecovery(of user: UserID, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        UPDATE one_time_codes SET consumed_at = greatest(created_at, \(now))
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND consumed_at IS NULL
            AND kind NOT IN ('RECOVER_EMAIL', 'REVERT_SECOND_FACTOR_ADDITION', 'REVERT_SIGN_IN_METHOD_CHANGE')
        """
    }

    /// Sign-in methods from before a takeover are never restored, even if the address was proven then.
    static func voidAllButProvenRecovery(of user: UserID, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        UPDATE one_time_codes SET consumed_at = greatest(created_at, \(now))
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND consumed_at IS NULL
            AND (NOT address_was_proven OR kind = 'REVERT_SIGN_IN_METHOD_CHANGE')
        """
    }

    /// The codes that change the address.
    static func voidAddressChanges(of user: UserID, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        UPDATE one_time_codes SET consumed_at = greatest(created_at, \(now))
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND consumed_at IS NULL
            AND kind = 'VERIFY_AND_CHANGE_EMAIL'
        """
    }

    /// Keeps codes that were sent to `address`.
    static func voidElsewhere(of user: UserID, than address: EmailAddress, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        UPDATE one_time_codes SET consumed_at = greatest(created_at, \(now))
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND consumed_at IS NULL
            AND email_key <> \(address.canonical)
        """
    }

    /// Deletes the codes of deleted accounts.
    static func deleteOrphans(tenant: TenantID) -> SQL {
        """
        DELETE FROM one_time_codes WHERE tenant_id = \(tenant) AND user_id IS NOT NULL
            AND user_id NOT IN (SELECT user_id FROM users WHERE tenant_id = \(tenant))
        """
    }

    static func deleteAll(of user: UserID, tenant: TenantID) -> SQL {
        "DELETE FROM one_time_codes WHERE tenant_id = \(tenant) AND user_id = \(user)"
    }
}

struct LiveRecoveryRow: RowDecodable {
    let recovery: LiveRecovery

    init(row: inout RowDecoder) throws(PostgresError) {
        recovery = LiveRecovery(email: try row.next(), wasProven: try row.next(), createdAt: try row.next())
    }
}

/// The key of an address that a code may bring back to an account.
struct RecoverableAddressRow: RowDecodable {
    let user: UserID
    let key: String

    init(row: inout RowDecoder) throws(PostgresError) {
        user = try row.next()
        key = try row.next()
    }
}

extension OneTimeSecret {
    static func of(_ code: EmailCodeRecord) -> OneTimeSecret {
        OneTimeSecret(
            table: "one_time_codes",
            row: "tenant_id = \(code.tenant) AND code_hash = \(code.hash)",
            isUsable: """
                consumed_at IS NULL
                    AND attempts < \(EmailCodeRecord.attemptsMax)
                """
        )
    }
}

extension AccountWrite.SideWrite {
    /// Stores a new code.
    package static func issue(_ code: EmailCodeRecord) -> Self {
        Self([EmailCodeRow.insert(code)])
    }

    /// Stores a new code that brings `code.email` back to the account of `user`, and reserves the address until the
    /// code ends.
    package static func issueRecovery(_ code: EmailCodeRecord, of user: UserID, at now: Timestamp) -> Self {
        Self([
            EmailCodeRow.insert(code),
            IdentifierRow.reserve(code.email, for: user, until: code.expiresAt, at: now, tenant: code.tenant),
        ])
    }

    /// Uses a code. If it is used, void or locked, the whole write is undone.
    ///
    /// `use`: fresh for each request, the same on each of its attempts.
    package static func useUp(_ code: EmailCodeRecord, by use: PostgresUUID, at now: Timestamp) -> Self {
        useUp(OneTimeSecret.of(code), by: use, at: "greatest(created_at, \(now))")
    }

    /// Makes outstanding codes of an account void.
    package static func voidEmailCodes(
        of user: UserID,
        tenant: TenantID,
        _ codes: VoidedCodes,
        at now: Timestamp
    ) -> Self {
        switch codes {
        case .all: Self([EmailCodeRow.voidAll(of: user, tenant: tenant, at: now)])
        case .allButRecovery: Self([EmailCodeRow.voidAllButRecovery(of: user, tenant: tenant, at: now)])
        case .addressChanges: Self([EmailCodeRow.voidAddressChanges(of: user, tenant: tenant, at: now)])
        case .allButProvenRecovery: Self([EmailCodeRow.voidAllButProvenRecovery(of: user, tenant: tenant, at: now)])
        }
    }
}

extension AccountWrite.SideWrite {
    /// Makes outstanding codes of an account void that went anywhere but to `address`.
    package static func voidEmailCodes(
        of user: UserID,
        tenant: TenantID,
        sentElsewhereThanTo address: EmailAddress,
        at now: Timestamp
    ) -> Self {
        Self([EmailCodeRow.voidElsewhere(of: user, than: address, tenant: tenant, at: now)])
    }
}

extension AccountStore {
    /// The live codes that bring an address back to the account of `user`: those that went to a proven one, then the
    /// others, the oldest of each first, so many of them (`EmailCodeRecord.recoveriesMax`). One round trip.
    package func recoveries(
        of user: UserID,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> [LiveRecovery] {
        try await client.read(EmailCodeRow.recoveries(of: user, tenant: tenant, at: now)).map(\.recovery)
    }

    /// The code with `hash`, in any state; `nil` if there is none. One round trip.
    package func emailCode(_ hash: [UInt8], tenant: TenantID) async throws(PostgresError) -> EmailCodeRecord? {
        try await client.read(EmailCodeRow.withHash(hash, tenant: tenant)).first?.record
    }

    /// The usable codes among `hashes` at `now`. One round trip.
    package func usableEmailCodes(
        among hashes: [[UInt8]],
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> Set<[UInt8]> {
        Set(try await client.read(EmailCodeRow.usable(among: hashes, tenant: tenant, at: now)))
    }

    /// Returns true if a live code can revert a change of the account: of its address, second factors or sign-in
    /// methods. One round trip.
    package func canTakeBack(of user: UserID, tenant: TenantID, at now: Timestamp) async throws(PostgresError) -> Bool {
        try await client.read(EmailCodeRow.canTakeBack(of: user, tenant: tenant, at: now)).first ?? false
    }

    /// Stores a code with the message that carries it and the short code beside it, and counts it, in one transaction.
    ///
    /// - `replacesShortCode`: false if a short code of an earlier mail stays valid. The new one is then not stored.
    /// - Returns: `.factsMoved` if a limit was reached, or a guard of `sideWrites` stopped it.
    package func issue(
        _ code: EmailCodeRecord,
        message: OutboxMessage?,
        shortCode: ShortCodeRecord? = nil,
        replacesShortCode: Bool = true,
        counting limits: [CountedLimit] = [],
        sideWrites: [AccountWrite.SideWrite] = []
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("code-issue")
        batch.append(sideWrites.flatMap(\.statements))
        batch.append(EmailCodeRow.insert(code))
        if let message { batch.append(OutboxRow.insert(message)) }
        if let shortCode {
            batch.append(
                replacesShortCode ? ShortCodeRow.replace(shortCode) : ShortCodeRow.add(shortCode, at: code.createdAt)
            )
        }
        batch.append(limits.map { MessageCountRow.count($0, tenant: code.tenant, at: code.createdAt) })
        // One transaction wrote everything, so the code's presence shows the rest.
        return try await applying(batch) { () throws(PostgresError) in
            try await emailCode(code.hash, tenant: code.tenant) == nil ? nil : .applied
        }
    }

    /// Uses a code without another change: the request was refused.
    /// - Returns: `.factsMoved` if the code is used, void or locked.
    package func useUp(
        _ code: EmailCodeRecord,
        by use: PostgresUUID,
        at now: Timestamp
    ) async throws(PostgresError) -> Applied {
        let batch = WriteBatch("code-use", AccountWrite.SideWrite.useUp(code, by: use, at: now).statements)
        return try await applying(batch) { () throws(PostgresError) in
            let user = try await client.read(EmailCodeRow.user(of: code.hash, tenant: code.tenant)).first
            return user == .some(use) ? .applied : .factsMoved
        }
    }

    /// Counts an attempt with an address that the code was not sent to.
    /// - Returns: `true` if it was counted; `false` if the code is used, void or locked.
    package func countWrongAddress(_ code: EmailCodeRecord) async throws(PostgresError) -> Bool {
        let batch = WriteBatch("code-attempt", [OneTimeSecret.of(code).countAttempt()])
        return try await client.write(batch).affectedRows(0) == 1
    }
}
