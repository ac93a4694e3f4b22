package import AccountLinking
package import Postgres

/// The wrong passwords that were counted for an address.
package struct CountedAttempts: Sendable, Hashable {
    /// Since the last right one; 0 where there is nothing to forget.
    package var failures: Int
    /// Whether no password is tried now.
    package var isLocked: Bool

    static let none = CountedAttempts(failures: 0, isLocked: false)
}

/// What judging a password needs.
package struct PasswordFacts: Sendable {
    /// The account that owns the address.
    package var user: UserRecord?
    /// `nil` when the account has no password.
    package var passwordHash: String?
    package var attempts: CountedAttempts

    init(attempts: CountedAttempts) {
        self.attempts = attempts
    }
}

/// What somebody may guess at again and again, and is held off.
package enum Guessed: Sendable, Hashable {
    /// The password of whoever has the address, or of nobody.
    case password(of: EmailAddress)
    /// The code of an app that is a second factor of the user: of any of them.
    case totpCode(of: UserID)
    /// The code of a message to a number that is a second factor of the user: to any of them. Apart from an app's, so that
    /// who guesses at one keeps the owner from one alone.
    case messageCode(of: UserID)

    /// No address has a control character.
    fileprivate var name: String {
        switch self {
        case .password(let address): address.canonical
        case .totpCode(let user): "totp\u{1F}" + user.rawValue
        case .messageCode(let user): "message\u{1F}" + user.rawValue
        }
    }
}

struct PasswordAttemptRow: RowDecodable {
    let attempts: CountedAttempts

    init(row: inout RowDecoder) throws(PostgresError) {
        attempts = CountedAttempts(failures: Int(try row.next(Int32.self)), isLocked: try row.next(Bool.self))
    }

    static func of(_ guessed: Guessed, tenant: TenantID, at now: Timestamp) -> Query<PasswordAttemptRow> {
        Query(
            """
            SELECT failures, locked_until > \(now.stored) FROM password_attempts
            WHERE tenant_id = \(tenant.rawValue) AND address_digest = \(digest(of: guessed))
            """
        )
    }

    /// Counts a wrong password, unless the address is locked: then nothing changes. One statement, so that of many at
    /// once each is counted; where the address stands afterwards is looked up in `PasswordAttempts`.
    static func count(_ guessed: Guessed, tenant: TenantID, at now: Timestamp) -> SQL {
        let standings = (1...PasswordAttempts.failuresMax).map { PasswordAttempts.standing(afterFailures: $0, at: now) }
        let locks = standings.map(\.lockedUntil.stored)
        let ends = standings.map(\.forgottenAt.stored)
        return """
            INSERT INTO password_attempts AS counted (tenant_id, address_digest, failures, locked_until, forgotten_at)
            VALUES (\(tenant.rawValue), \(digest(of: guessed)), 1, (\(locks))[1], (\(ends))[1])
            ON CONFLICT (tenant_id, address_digest) DO UPDATE SET (failures, locked_until, forgotten_at) = (
                SELECT next, (\(locks))[next], (\(ends))[next]
                FROM (SELECT CASE WHEN counted.forgotten_at > \(now.stored) THEN counted.failures + 1 ELSE 1 END) AS n (next)
            )
            WHERE counted.locked_until <= \(now.stored)
            """
    }

    /// Raises 22012 (division by zero) while the address is locked.
    static func assertUnlocked(_ guessed: Guessed, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        SELECT 1 / (1 - count(*)) FROM password_attempts
        WHERE tenant_id = \(tenant.rawValue) AND address_digest = \(digest(of: guessed))
            AND locked_until > \(now.stored)
        """
    }

    static func clear(_ guessed: Guessed, tenant: TenantID) -> SQL {
        """
        DELETE FROM password_attempts
        WHERE tenant_id = \(tenant.rawValue) AND address_digest = \(digest(of: guessed))
        """
    }

    static func deleteForgotten(before cutoff: Timestamp, rowsMax: Int64) -> SQL {
        """
        DELETE FROM password_attempts WHERE (tenant_id, address_digest) IN (
            SELECT tenant_id, address_digest FROM password_attempts WHERE forgotten_at <= \(cutoff.stored)
            ORDER BY forgotten_at LIMIT \(rowsMax) FOR UPDATE SKIP LOCKED
        )
        """
    }

    private static func digest(of guessed: Guessed) -> SQL {
        "sha256(convert_to(\(guessed.name), 'UTF8'))"
    }
}

extension AccountWrite.Companion {
    /// Undoes the write if nothing is tried now: a right guess that came too late.
    package static func requireUnlocked(_ guessed: Guessed, tenant: TenantID, at now: Timestamp) -> Self {
        Self([PasswordAttemptRow.assertUnlocked(guessed, tenant: tenant, at: now)])
    }

    /// Counting wrong guesses begins anew.
    package static func forgetWrongGuesses(at guessed: Guessed, tenant: TenantID) -> Self {
        Self([PasswordAttemptRow.clear(guessed, tenant: tenant)])
    }
}

extension AccountStore {
    /// The wrong guesses that were counted. One round trip.
    package func wrongGuesses(
        at guessed: Guessed,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> CountedAttempts {
        try await client.read(PasswordAttemptRow.of(guessed, tenant: tenant, at: now)).first?.attempts ?? .none
    }

    /// Counts a wrong password for `address`.
    /// - Returns: `false` when the address is locked: the password counts for nothing then.
    package func countWrongPassword(
        for address: EmailAddress,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> Bool {
        var batch = WriteBatch("password-attempt")
        batch.append(PasswordAttemptRow.count(.password(of: address), tenant: tenant, at: now))
        return try await client.write(batch).affectedRows(0) == 1
    }
}
