package import AccountLinking
package import Postgres

struct FactorChallengeRow: RowDecodable {
    let record: FactorChallenge

    private static let columns = Columns<FactorChallenge>(
        of: "factor_challenges",
        [
            Column("tenant_id", \.tenant), Column("user_id", \.user), Column("challenge_id", \.id),
            Column("purpose", \.purpose), Column("session_epoch", \.sessionEpoch),
            Column("sealed_content", \.sealedContent), Column("created_at", \.createdAt),
            Column("expires_at", \.expiresAt), Column(read: "consumed_at", \.consumedAt),
            Column(read: "attempts", \.attempts),
        ]
    )

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        record = FactorChallenge(
            tenant: try values(\.tenant),
            user: try values(\.user),
            id: try values(\.id),
            purpose: try values(\.purpose),
            sessionEpoch: try values(\.sessionEpoch),
            sealedContent: try values(\.sealedContent),
            createdAt: try values(\.createdAt),
            expiresAt: try values(\.expiresAt),
            consumedAt: try values(\.consumedAt),
            attempts: try values(\.attempts)
        )
    }

    static func withID(_ id: [UInt8], of user: UserID, tenant: TenantID) -> Query<FactorChallengeRow> {
        """
        \(columns.select)
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND challenge_id = \(id)
        """
    }

    static func insert(_ challenge: FactorChallenge) -> SQL { columns.insert(challenge) }
}

extension OneTimeSecret {
    static func of(_ challenge: FactorChallenge) -> OneTimeSecret {
        OneTimeSecret(
            table: "factor_challenges",
            row:
                "tenant_id = \(challenge.tenant) AND user_id = \(challenge.user) AND challenge_id = \(challenge.id)\n   ",
            isUsable: "consumed_at IS NULL AND attempts < \(FactorChallenge.attemptsMax)"
        )
    }
}

extension AccountWrite.SideWrite {
    /// Uses a challenge. If it is used or locked, the whole write is undone.
    ///
    /// `use`: fresh for each request, the same on each of its attempts.
    package static func useUp(_ challenge: FactorChallenge, by use: PostgresUUID, at now: Timestamp) -> Self {
        useUp(OneTimeSecret.of(challenge), by: use, at: "\(now)")
    }
}

extension AccountStore {
    /// Uses everything that was presented for a refused sign-in, in one transaction.
    /// - Returns: `.factsMoved` if a guard of `sideWrites` stopped it.
    package func spend(_ sideWrites: [AccountWrite.SideWrite]) async throws(PostgresError) -> Applied {
        try await applying(WriteBatch("factor-spend", sideWrites.flatMap(\.statements)))
    }

    /// The challenge with `id`, in any state; `nil` if there is none. One round trip.
    package func factorChallenge(
        _ id: [UInt8],
        of user: UserID,
        tenant: TenantID
    ) async throws(PostgresError) -> FactorChallenge? {
        try await client.read(FactorChallengeRow.withID(id, of: user, tenant: tenant)).first?.record
    }

    /// Stores a challenge with the side writes of the first factor, in one transaction.
    /// - Returns: `.factsMoved` if a guard of `sideWrites` stopped it, or the user was deleted.
    package func begin(
        _ challenge: FactorChallenge,
        sideWrites: [AccountWrite.SideWrite] = []
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("factor-challenge")
        batch.append(FactorChallengeRow.insert(challenge))
        batch.append(sideWrites.flatMap(\.statements))
        // One transaction wrote everything, so the challenge's presence shows the rest.
        return try await applying(batch) { () throws(PostgresError) in
            let stored = try await factorChallenge(challenge.id, of: challenge.user, tenant: challenge.tenant)
            return stored == nil ? nil : .applied
        }
    }

    /// Counts a wrong code against a challenge and, if it guesses at a factor of the user, against the user.
    ///
    /// - `key`: the user's factor; `nil` if there is none yet.
    /// - Returns: `true` if it was counted; `false` if the challenge is used or locked, or the user is locked.
    package func countWrongCode(
        _ challenge: FactorChallenge,
        throttledBy key: ThrottleKey?,
        at now: Timestamp
    ) async throws(PostgresError) -> Bool {
        let batch = WriteBatch("factor-attempt", [OneTimeSecret.of(challenge).countAttempt()])
        guard try await client.write(batch).affectedRows(0) == 1 else { return false }
        guard let key else { return true }
        // Only a compared code counts against the user.
        let count = PasswordAttemptRow.count(key, tenant: challenge.tenant, at: now)
        return try await client.write(WriteBatch("password-attempt", [count])).affectedRows(0) == 1
    }
}
