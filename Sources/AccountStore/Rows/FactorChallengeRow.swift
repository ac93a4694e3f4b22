package import AccountLinking
package import Postgres

struct FactorChallengeRow: RowDecodable {
    let record: FactorChallenge

    init(row: inout RowDecoder) throws(PostgresError) {
        record = FactorChallenge(
            tenant: try row.next(),
            user: try row.next(),
            id: try row.next(),
            purpose: try row.next(),
            sessionEpoch: try row.next(),
            sealedContent: try row.next(),
            createdAt: try row.next(),
            expiresAt: try row.next(),
            consumedAt: try row.next(),
            attempts: try row.next()
        )
    }

    static func withID(_ id: [UInt8], of user: UserID, tenant: TenantID) -> Query<FactorChallengeRow> {
        """
        SELECT tenant_id, user_id, challenge_id, purpose, session_epoch, sealed_content, created_at, expires_at,
            consumed_at, attempts
        FROM factor_challenges
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND challenge_id = \(id)
        """
    }

    static func insert(_ challenge: FactorChallenge) -> SQL {
        """
        INSERT INTO factor_challenges (tenant_id, user_id, challenge_id, purpose, session_epoch, sealed_content,
            created_at, expires_at)
        VALUES (\(challenge.tenant), \(challenge.user), \(challenge.id),
            \(challenge.purpose), \(challenge.sessionEpoch), \(challenge.sealedContent),
            \(challenge.createdAt), \(challenge.expiresAt))
        """
    }

    /// Uses it up, unless somebody has, or it is locked: then nothing changes, and `assertUsed` must follow.
    static func use(
        _ id: [UInt8],
        of user: UserID,
        tenant: TenantID,
        by use: PostgresUUID,
        at now: Timestamp
    ) -> SQL {
        """
        UPDATE factor_challenges SET consumed_at = \(now), consumed_by = \(use)
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND challenge_id = \(id)
            AND consumed_at IS NULL AND attempts < \(FactorChallenge.attemptsMax)
        """
    }

    /// Raises 22012 (division by zero) unless `use` is what used it.
    static func assertUsed(_ id: [UInt8], of user: UserID, tenant: TenantID, by use: PostgresUUID) -> SQL {
        """
        SELECT 1 / count(*) FROM factor_challenges
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND challenge_id = \(id)
            AND consumed_by = \(use)
        """
    }

    /// Changes nothing when it is used or locked.
    static func countAttempt(_ id: [UInt8], of user: UserID, tenant: TenantID) -> SQL {
        """
        UPDATE factor_challenges SET attempts = attempts + 1
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND challenge_id = \(id)
            AND consumed_at IS NULL AND attempts < \(FactorChallenge.attemptsMax)
        """
    }

    static func deleteExpired(before cutoff: Timestamp, rowsMax: Int64) -> SQL {
        """
        DELETE FROM factor_challenges WHERE (tenant_id, user_id, challenge_id) IN (
            SELECT tenant_id, user_id, challenge_id FROM factor_challenges WHERE expires_at <= \(cutoff)
            ORDER BY expires_at LIMIT \(rowsMax) FOR UPDATE SKIP LOCKED
        )
        """
    }
}

extension AccountWrite.Companion {
    /// Uses a challenge up. Guarded: when somebody has used it, or it is locked, the whole write is undone.
    ///
    /// `use`: fresh for each request, the same on each of its attempts.
    package static func useUp(_ challenge: FactorChallenge, by use: PostgresUUID, at now: Timestamp) -> Self {
        let (id, user, tenant) = (challenge.id, challenge.user, challenge.tenant)
        return Self([
            FactorChallengeRow.use(id, of: user, tenant: tenant, by: use, at: now),
            FactorChallengeRow.assertUsed(id, of: user, tenant: tenant, by: use),
        ])
    }
}

extension AccountStore {
    /// Uses up what was shown for a sign-in that comes to nothing: in one transaction, all or none of it.
    /// - Returns: `.factsMoved` when a guard of `companions` stopped it.
    package func spend(_ companions: [AccountWrite.Companion]) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("factor-spend")
        for companion in companions { for statement in companion.statements { batch.append(statement) } }
        return try await applying(batch)
    }

    /// The challenge with `id`, whatever its state; `nil` when there is none. One round trip.
    package func factorChallenge(
        _ id: [UInt8],
        of user: UserID,
        tenant: TenantID
    ) async throws(PostgresError) -> FactorChallenge? {
        try await client.read(FactorChallengeRow.withID(id, of: user, tenant: tenant)).first?.record
    }

    /// Stores a challenge together with what else the first factor wrote, in one transaction.
    /// - Returns: `.factsMoved` when a guard of `companions` stopped it, or the user is gone.
    package func begin(
        _ challenge: FactorChallenge,
        companions: [AccountWrite.Companion] = []
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("factor-challenge")
        batch.append(FactorChallengeRow.insert(challenge))
        for companion in companions { for statement in companion.statements { batch.append(statement) } }
        do {
            _ = try await client.write(batch)
            return .applied
        } catch {
            if error.saysFactsMoved { return .factsMoved }
            // All went in together, so the challenge's presence answers for the rest.
            guard error.code == .commitOutcomeUnknown,
                try await factorChallenge(challenge.id, of: challenge.user, tenant: challenge.tenant) != nil
            else { throw error }
            return .applied
        }
    }

    /// Counts a wrong code against a challenge and, where it guesses at a factor of the user, against the user.
    ///
    /// `guessed`: what of the user; `nil` where there is nothing yet to guess at.
    /// - Returns: whether it was counted; a challenge that is used or locked, or a user that is locked, counts no more.
    package func countWrongCode(
        _ challenge: FactorChallenge,
        guessing guessed: Guessed?,
        at now: Timestamp
    ) async throws(PostgresError) -> Bool {
        var batch = WriteBatch("factor-attempt")
        let (user, tenant) = (challenge.user, challenge.tenant)
        batch.append(FactorChallengeRow.countAttempt(challenge.id, of: user, tenant: tenant))
        guard try await client.write(batch).affectedRows(0) == 1 else { return false }
        guard let guessed else { return true }
        // Only what was compared counts against the user.
        var guess = WriteBatch("password-attempt")
        guess.append(PasswordAttemptRow.count(guessed, tenant: tenant, at: now))
        return try await client.write(guess).affectedRows(0) == 1
    }
}
