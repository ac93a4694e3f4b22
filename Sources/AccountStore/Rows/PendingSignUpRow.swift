package import AccountLinking
package import Postgres

/// A sign-up that waits until the owner of the mailbox continues it. It belongs to no account.
package struct PendingSignUpRecord: Sendable, Hashable {
    package var tenant: TenantID
    /// SHA-256 of the handle.
    package var digest: [UInt8]
    package var email: EmailAddress
    /// SHA-256 of the secret in the mailed link.
    package var linkHash: [UInt8]
    /// The code in the same mail.
    package var sealedCode: [UInt8]
    /// The provider's credential; `nil` for a sign-up with a password.
    package var sealedCredential: [UInt8]?
    package var createdAt: Timestamp
    package var expiresAt: Timestamp
    /// `nil` until the sign-up continues. Set from the start if the mail is withheld.
    package var consumedAt: Timestamp?
    /// The request that used it; `nil` until then, and if the mail was withheld.
    var consumedBy: PostgresUUID?
    /// Codes typed so far.
    package var attempts: Int32 = 0

    package init(
        tenant: TenantID,
        digest: [UInt8],
        email: EmailAddress,
        linkHash: [UInt8],
        sealedCode: [UInt8],
        sealedCredential: [UInt8]?,
        createdAt: Timestamp,
        expiresAt: Timestamp,
        consumedAt: Timestamp? = nil
    ) {
        self.tenant = tenant
        self.digest = digest
        self.email = email
        self.linkHash = linkHash
        self.sealedCode = sealedCode
        self.sealedCredential = sealedCredential
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.consumedAt = consumedAt
    }

    package var facts: PendingSignUpFacts {
        PendingSignUpFacts(
            tenant: tenant,
            isUsed: consumedAt != nil,
            isDeclined: isDeclined,
            expiresAt: expiresAt,
            attempts: Int(attempts)
        )
    }

    /// True if the holder of the handle declined the sign-up.
    package var isDeclined: Bool { consumedBy == decliningUse }

    /// Marks a declined sign-up. It is the same for each request that declines, so that a repetition succeeds, and
    /// differs from the ids of other uses, which are UUIDs of version 7.
    fileprivate var decliningUse: PostgresUUID {
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        let version8: UInt64 = 0x8000
        return PostgresUUID(
            high: number(digest.prefix(8)) & ~0xF000 | version8,
            low: number(digest.dropFirst(8).prefix(8))
        )
    }
}

struct PendingSignUpRow: RowDecodable {
    let record: PendingSignUpRecord

    private static let columns = Columns<PendingSignUpRecord>(
        of: "pending_sign_ups",
        [
            Column("tenant_id", \.tenant), Column("sign_up_digest", \.digest), Column("email", \.email),
            Column("link_hash", \.linkHash), Column("sealed_code", \.sealedCode),
            Column("sealed_credential", \.sealedCredential), Column("created_at", \.createdAt),
            Column("expires_at", \.expiresAt), Column("consumed_at", \.consumedAt),
            Column(read: "consumed_by", \.consumedBy), Column(read: "attempts", \.attempts),
        ]
    )

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        var record = PendingSignUpRecord(
            tenant: try values(\.tenant),
            digest: try values(\.digest),
            email: try values(\.email),
            linkHash: try values(\.linkHash),
            sealedCode: try values(\.sealedCode),
            sealedCredential: try values(\.sealedCredential),
            createdAt: try values(\.createdAt),
            expiresAt: try values(\.expiresAt),
            consumedAt: try values(\.consumedAt)
        )
        record.consumedBy = try values(\.consumedBy)
        record.attempts = try values(\.attempts)
        self.record = record
    }

    static func withDigest(_ digest: [UInt8], tenant: TenantID) -> Query<PendingSignUpRow> {
        "\(columns.select) WHERE tenant_id = \(tenant) AND sign_up_digest = \(digest)"
    }

    static func insert(_ signUp: PendingSignUpRecord) -> SQL { columns.insert(signUp) }
}

extension OneTimeSecret {
    static func of(_ signUp: PendingSignUpRecord) -> OneTimeSecret {
        OneTimeSecret(
            table: "pending_sign_ups",
            row: "tenant_id = \(signUp.tenant) AND sign_up_digest = \(signUp.digest)",
            isUsable: "consumed_at IS NULL"
        )
    }

    /// The code of a sign-up, which is locked after some guesses. The link stays valid.
    static func codeOf(_ signUp: PendingSignUpRecord) -> OneTimeSecret {
        OneTimeSecret(
            table: "pending_sign_ups",
            row: "tenant_id = \(signUp.tenant) AND sign_up_digest = \(signUp.digest)",
            isUsable: "consumed_at IS NULL AND attempts < \(Int32(PendingSignUpFacts.attemptsMax))"
        )
    }
}

extension AccountWrite.SideWrite {
    /// Uses a pending sign-up. If another request has used it, the whole write is undone.
    ///
    /// - `use`: fresh for each request, the same on each of its attempts.
    package static func useUp(_ signUp: PendingSignUpRecord, by use: PostgresUUID, at now: Timestamp) -> Self {
        useUp(OneTimeSecret.of(signUp), by: use, at: "greatest(created_at, \(now))")
    }

    /// Uses a pending sign-up, so that nothing continues it. If another request has used it, the write is stopped.
    /// Declining it twice is declining it once.
    package static func decline(_ signUp: PendingSignUpRecord, at now: Timestamp) -> Self {
        useUp(signUp, by: signUp.decliningUse, at: now)
    }

    /// Stops the write unless the sign-up can be used. Does not use it.
    package static func requireUsable(_ signUp: PendingSignUpRecord) -> Self {
        Self([OneTimeSecret.of(signUp).assertUsable()])
    }
}

extension AccountStore {
    /// The pending sign-up of a handle, in any state; `nil` if there is none. One round trip.
    package func pendingSignUp(
        _ digest: [UInt8],
        tenant: TenantID
    ) async throws(PostgresError) -> PendingSignUpRecord? {
        try await client.read(PendingSignUpRow.withDigest(digest, tenant: tenant)).first?.record
    }

    /// Stores a pending sign-up with the message that carries its code, and counts both, in one transaction.
    /// - Returns: `.factsMoved` if a limit was reached.
    package func begin(
        _ signUp: PendingSignUpRecord,
        message: OutboxMessage,
        counting limits: [CountedLimit]
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("code-issue")
        batch.append(PendingSignUpRow.insert(signUp))
        batch.append(OutboxRow.insert(message))
        batch.append(limits.map { MessageCountRow.count($0, tenant: signUp.tenant, at: signUp.createdAt) })
        // One transaction wrote everything, so the row's presence shows the rest.
        return try await applying(batch) { () throws(PostgresError) in
            try await pendingSignUp(signUp.digest, tenant: signUp.tenant) == nil ? nil : .applied
        }
    }

    /// Counts a typed code, and counts it against `limits`.
    /// - Returns: `false` if the sign-up is used, its code is locked, or a limit was reached meanwhile.
    package func countGuess(
        at signUp: PendingSignUpRecord,
        counting limits: [CountedLimit],
        at now: Timestamp
    ) async throws(PostgresError) -> Bool {
        var batch = WriteBatch("code-attempt", [OneTimeSecret.codeOf(signUp).countAttempt()])
        batch.append(limits.map { MessageCountRow.count($0, tenant: signUp.tenant, at: now) })
        do {
            return try await client.write(batch).affectedRows(0) == 1
        } catch {
            if error.saysFactsMoved { return false }
            throw error
        }
    }
}
