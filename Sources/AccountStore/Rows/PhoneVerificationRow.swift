package import AccountLinking
package import Postgres

struct PhoneVerificationRow {
    let record: PhoneVerificationRecord
    private let isCurrent: Bool

    private static let columns = Columns<PhoneVerificationRow>(
        of: "phone_verifications",
        [
            Column("tenant_id", \.record.tenant), Column("verification_id", \.record.id),
            Column(arrays: "session_digests", \.record.sessionDigests), Column("purpose", \.record.purpose),
            Column("user_id", \.record.user), Column("number", \.record.number),
            Column("sealed_code", \.record.sealedCode), Column(written: "is_current", \.isCurrent),
            Column("created_at", \.record.createdAt), Column("expires_at", \.record.expiresAt),
            Column(read: "consumed_at", \.record.consumedAt), Column(read: "attempts", \.record.attempts),
        ]
    )

    static func withID(_ id: [UInt8], tenant: TenantID) -> Query<PhoneVerificationRow> {
        """
        \(columns.select)
        WHERE tenant_id = \(tenant) AND verification_id = \(id)
        """
    }

    /// True if later requests for the number may join the verification.
    static func current(
        _ purpose: PhoneVerificationRecord.Purpose,
        of number: PhoneNumber,
        tenant: TenantID
    ) -> Query<PhoneVerificationRow> {
        """
        \(columns.select)
        WHERE tenant_id = \(tenant) AND number = \(number) AND purpose = \(purpose)
            AND is_current
        """
    }

    /// The usable verifications among `ids` at `now`: not used or expired. In no particular order.
    static func usable(among ids: [[UInt8]], tenant: TenantID, at now: Timestamp) -> Query<[UInt8]> {
        """
        SELECT verification_id FROM \(table: "phone_verifications")
        WHERE tenant_id = \(tenant) AND verification_id = ANY(\(ids)) AND consumed_at IS NULL
            AND expires_at > \(now)
        """
    }

    /// The request that used it; NULL if it is unused.
    static func user(of id: [UInt8], tenant: TenantID) -> Query<PostgresUUID?> {
        """
        SELECT consumed_by FROM \(table: "phone_verifications")
        WHERE tenant_id = \(tenant) AND verification_id = \(id)
        """
    }

    /// Raises 23505 if it should be the current verification of its number and there is another.
    static func insert(_ record: PhoneVerificationRecord, isCurrent: Bool) -> SQL {
        columns.insert(PhoneVerificationRow(record: record, isCurrent: isCurrent))
    }

    /// Ends joining: later requests get another verification. It stays usable.
    static func retire(_ id: [UInt8], tenant: TenantID) -> SQL {
        """
        UPDATE phone_verifications SET is_current = false
        WHERE tenant_id = \(tenant) AND verification_id = \(id)
        """
    }

    /// Adds a session. Changes nothing if the verification is used or locked, or has the maximum of sessions.
    static func join(_ id: [UInt8], tenant: TenantID, sessionDigest: [UInt8]) -> SQL {
        """
        UPDATE phone_verifications SET session_digests = session_digests || \(sessionDigest)
        WHERE tenant_id = \(tenant) AND verification_id = \(id) AND consumed_at IS NULL
            AND attempts < \(PhoneVerificationRecord.attemptsMax)
            AND cardinality(session_digests) < \(Int32(PhoneVerificationRecord.sessionsMax))
        """
    }
}

extension PhoneVerificationRow: RowDecodable {
    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        record = PhoneVerificationRecord(
            tenant: try values(\.record.tenant),
            id: try values(\.record.id),
            sessionDigests: try values.array(\.record.sessionDigests),
            purpose: try values(\.record.purpose),
            user: try values(\.record.user),
            number: try values(\.record.number),
            sealedCode: try values(\.record.sealedCode),
            createdAt: try values(\.record.createdAt),
            expiresAt: try values(\.record.expiresAt),
            consumedAt: try values(\.record.consumedAt),
            attempts: try values(\.record.attempts)
        )
        isCurrent = false
    }
}

extension OneTimeSecret {
    static func of(_ verification: PhoneVerificationRecord) -> OneTimeSecret {
        OneTimeSecret(
            table: "phone_verifications",
            row: "tenant_id = \(verification.tenant) AND verification_id = \(verification.id)",
            isUsable: """
                consumed_at IS NULL
                    AND attempts < \(PhoneVerificationRecord.attemptsMax)
                """,
            sets: ", is_current = false"
        )
    }
}

extension AccountWrite.SideWrite {
    /// Uses a verification. If it is used or locked, the whole write is undone.
    ///
    /// `use`: fresh for each request, the same on each of its attempts.
    package static func useUp(
        _ verification: PhoneVerificationRecord,
        by use: PostgresUUID,
        at now: Timestamp
    ) -> Self {
        useUp(OneTimeSecret.of(verification), by: use, at: "\(now)")
    }
}

extension AccountStore {
    /// The verification with `id`, in any state; `nil` if there is none. One round trip.
    package func phoneVerification(
        _ id: [UInt8],
        tenant: TenantID
    ) async throws(PostgresError) -> PhoneVerificationRecord? {
        try await client.read(PhoneVerificationRow.withID(id, tenant: tenant)).first?.record
    }

    /// The usable verifications among `ids` at `now`. One round trip.
    package func usablePhoneVerifications(
        among ids: [[UInt8]],
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> Set<[UInt8]> {
        Set(try await client.read(PhoneVerificationRow.usable(among: ids, tenant: tenant, at: now)))
    }

    /// The facts for a request for a code to `number`: the message that may be under way, and the reached `limits`. One
    /// round trip.
    ///
    /// The counts are read first. If a message that is sent meanwhile reaches a limit, the request sees that message
    /// too.
    package func phoneFacts(
        of number: PhoneNumber,
        for purpose: PhoneVerificationRecord.Purpose,
        limits: [CountedLimit],
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> (current: PhoneVerificationRecord?, reached: [MessageLimit]) {
        let (reached, current) = try await client.read(
            MessageCountRow.reached(limits, tenant: tenant, at: now),
            PhoneVerificationRow.current(purpose, of: number, tenant: tenant)
        )
        return (current.first?.record, limits.limits(named: reached))
    }

    /// Stores a verification with the message that carries its code, and counts it, in one transaction.
    ///
    /// - `superseded`: the current one of its number, which no request joins from now on.
    /// - `isCurrent`: true if later requests may join it.
    /// - Returns: `.factsMoved` if another has become current, or a limit was reached.
    package func issue(
        _ verification: PhoneVerificationRecord,
        isCurrent: Bool,
        superseding superseded: PhoneVerificationRecord?,
        message: OutboxMessage?,
        counting limits: [CountedLimit],
        at now: Timestamp
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("phone-issue")
        if let superseded { batch.append(PhoneVerificationRow.retire(superseded.id, tenant: superseded.tenant)) }
        batch.append(PhoneVerificationRow.insert(verification, isCurrent: isCurrent))
        if let message { batch.append(OutboxRow.insert(message)) }
        batch.append(limits.map { MessageCountRow.count($0, tenant: verification.tenant, at: now) })
        // One transaction wrote everything, so the verification's presence shows the rest.
        return try await applying(batch) { () throws(PostgresError) in
            try await phoneVerification(verification.id, tenant: verification.tenant) == nil ? nil : .applied
        }
    }

    /// Adds a session to a verification.
    /// - Returns: `true` if it is added; `false` if the verification is used, locked or full.
    package func join(
        _ verification: PhoneVerificationRecord,
        sessionDigest: [UInt8]
    ) async throws(PostgresError) -> Bool {
        let statement = PhoneVerificationRow.join(
            verification.id,
            tenant: verification.tenant,
            sessionDigest: sessionDigest
        )
        return try await client.write(WriteBatch("phone-issue", [statement])).affectedRows(0) == 1
    }

    /// Counts a wrong code.
    /// - Returns: `true` if it was counted; `false` if the verification is used or locked.
    package func countWrongCode(_ verification: PhoneVerificationRecord) async throws(PostgresError) -> Bool {
        let statement = OneTimeSecret.of(verification).countAttempt()
        return try await client.write(WriteBatch("phone-attempt", [statement])).affectedRows(0) == 1
    }

    /// Uses a verification without another change, or exchanges it for `next`.
    /// - Returns: `.factsMoved` if it is used or locked.
    package func useUp(
        _ verification: PhoneVerificationRecord,
        by use: PostgresUUID,
        at now: Timestamp,
        exchangingFor next: PhoneVerificationRecord? = nil
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("phone-use", AccountWrite.SideWrite.useUp(verification, by: use, at: now).statements)
        if let next { batch.append(PhoneVerificationRow.insert(next, isCurrent: false)) }
        return try await applying(batch) { () throws(PostgresError) in
            let query = PhoneVerificationRow.user(of: verification.id, tenant: verification.tenant)
            return try await client.read(query).first == .some(use) ? .applied : .factsMoved
        }
    }
}
