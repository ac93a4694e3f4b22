package import AccountLinking
package import Postgres

/// The sealed secret of an enrolled factor, and the time step of the code that confirmed it.
package struct NewTOTPSecret: Sendable, Hashable {
    package var sealed: [UInt8]
    package var acceptedStep: Int64

    package init(sealed: [UInt8], acceptedStep: Int64) {
        self.sealed = sealed
        self.acceptedStep = acceptedStep
    }
}

/// A factor from another account.
struct MovedFactor: Sendable, Hashable {
    let from: UserID
    /// The secret of a factor without a number, sealed for the receiving account.
    let sealedSecret: [UInt8]?
}

/// The secret that verifies the codes of a factor.
package struct StoredTOTPSecret: Sendable, Hashable {
    package var sealed: [UInt8]
    /// The last step whose code was accepted: only a later one counts.
    package var lastStep: Int64
}

struct TOTPSecretRow: RowDecodable {
    let secret: StoredTOTPSecret

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = SecondFactorRow.secrets.values(&row)
        guard let sealed = try values(\.secret?.sealed), let lastStep = try values(\.secret?.acceptedStep)
        else { throw .unreadable("second_factors.sealed_secret") }
        secret = StoredTOTPSecret(sealed: sealed, lastStep: lastStep)
    }
}

/// Second factors of a user. `UserRow` reads them; this reads their secrets when needed.
struct SecondFactorRow {
    fileprivate let tenant: TenantID
    fileprivate let user: UserID
    fileprivate let factor: SecondFactor
    /// The slot among the user's factors, from 1.
    fileprivate let slot: Int32
    /// The secret of a factor without a number.
    fileprivate var secret: NewTOTPSecret?

    private static let user: [Column<SecondFactorRow>] = [
        Column("tenant_id", \.tenant), Column("user_id", \.user),
    ]
    private static let id = Column<SecondFactorRow>("enrollment_id", \.factor.id)
    private static let slot = Column<SecondFactorRow>("slot", \.slot)
    private static let number = Column<SecondFactorRow>("number", \.factor.number)
    private static let secret: [Column<SecondFactorRow>] = [
        Column("sealed_secret", \.secret?.sealed), Column("last_step", \.secret?.acceptedStep),
    ]
    private static let shown: [Column<SecondFactorRow>] = [
        Column("display_name", \.factor.displayName), Column("enrolled_at", \.factor.enrolledAt),
    ]

    private static let inserted = Columns(of: "second_factors", user + [id, slot, number] + secret + shown)
    private static let withoutSecret = Columns(of: "second_factors", user + [id, slot, number] + shown)
    fileprivate static let secrets = Columns(of: "second_factors", secret)
    private static let updated = Columns(of: "second_factors", [slot, number] + shown)
    fileprivate static let joined = Columns(of: "second_factors", [slot, id, number] + shown)

    /// The columns that `readSecondFactor` reads.
    static var names: SQL { joined.qualifiedNames }

    /// `slot`: the slot among the user's factors. `secret`: for a factor without a number.
    static func insert(
        _ factor: SecondFactor,
        slot: Int32,
        secret: NewTOTPSecret?,
        for id: UserID,
        tenant: TenantID
    ) -> SQL {
        inserted.insert(SecondFactorRow(tenant: tenant, user: id, factor: factor, slot: slot, secret: secret))
    }

    /// Factors with numbers of many users, each with its slot.
    static func insertNumbers(_ factors: [(UserID, Int32, SecondFactor)], tenant: TenantID) -> SQL {
        withoutSecret.insertMany(
            factors.map { SecondFactorRow(tenant: tenant, user: $0, factor: $2, slot: $1) },
            tenant: tenant
        )
    }

    static func deleteAll(of ids: [UserID], tenant: TenantID) -> SQL {
        """
        DELETE FROM second_factors
        WHERE tenant_id = \(tenant) AND user_id = ANY(\(ids))
        """
    }

    static func update(_ factor: SecondFactor, slot: Int32, of id: UserID, tenant: TenantID) -> SQL {
        let row = SecondFactorRow(tenant: tenant, user: id, factor: factor, slot: slot)
        return """
            UPDATE second_factors SET \(updated, from: row)
            WHERE tenant_id = \(tenant) AND user_id = \(id) AND enrollment_id = \(factor.id)
            """
    }

    /// Moves a factor to another account, with its last accepted step: stores it there, then deletes it here. Both
    /// accounts must be locked.
    static func move(
        _ factor: SecondFactor,
        _ moved: MovedFactor,
        slot: Int32,
        to id: UserID,
        tenant: TenantID
    ) -> [SQL] {
        [
            """
            INSERT INTO second_factors (tenant_id, user_id, enrollment_id, slot, number, sealed_secret, last_step,
                accepted_by, display_name, enrolled_at)
            SELECT tenant_id, \(id), enrollment_id, \(slot), number, \(moved.sealedSecret), last_step,
                accepted_by, display_name, \(factor.enrolledAt)
            FROM second_factors
            WHERE tenant_id = \(tenant) AND user_id = \(moved.from) AND enrollment_id = \(factor.id)
            """,
            delete(factor.id, of: moved.from, tenant: tenant),
        ]
    }

    static func delete(_ factor: SecondFactorID, of id: UserID, tenant: TenantID) -> SQL {
        """
        DELETE FROM second_factors
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND enrollment_id = \(factor)
        """
    }

    /// True if a number is a second factor of an account.
    static func isEnrolled(_ number: PhoneNumber, tenant: TenantID) -> Query<Bool> {
        """
        SELECT EXISTS (
            SELECT 1 FROM \(table: "second_factors") WHERE tenant_id = \(tenant) AND number = \(number)
        )
        """
    }

    /// The secret of a factor. A factor with a number, or a deleted one, has no row.
    static func secret(of factor: SecondFactorID, of id: UserID, tenant: TenantID) -> Query<TOTPSecretRow> {
        """
        \(secrets.select)
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND enrollment_id = \(factor)
            AND sealed_secret IS NOT NULL
        """
    }

    /// Accepts the code of `step`, unless a code of that step or a later one was accepted. `assertAccepted` must
    /// follow.
    static func accept(
        _ step: Int64,
        of factor: SecondFactorID,
        of id: UserID,
        tenant: TenantID,
        by use: PostgresUUID
    ) -> SQL {
        """
        UPDATE second_factors SET last_step = \(step), accepted_by = \(use)
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND enrollment_id = \(factor)
            AND last_step < \(step)
        """
    }

    /// Raises 22012 (division by zero) unless the code of `step` was accepted from `use`.
    static func assertAccepted(
        _ step: Int64,
        of factor: SecondFactorID,
        of id: UserID,
        tenant: TenantID,
        by use: PostgresUUID
    ) -> SQL {
        """
        SELECT \(SQL.assertExists) FROM second_factors
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND enrollment_id = \(factor)
            AND last_step = \(step) AND accepted_by = \(use)
        """
    }
}

extension UserRecord {
    /// Reads the second factor in the next columns of an outer join, if there is one.
    ///
    /// - Returns: the slot.
    mutating func readSecondFactor(_ row: inout RowDecoder) throws(PostgresError) -> Int32? {
        var values = SecondFactorRow.joined.values(&row)
        guard let id = try values.optional(\.factor.id) else { return nil }
        let factor = SecondFactor(
            id: id,
            method: try values(\.factor.number).map(SecondFactor.Method.phone) ?? .totp,
            displayName: try values(\.factor.displayName),
            enrolledAt: try values(\.factor.enrolledAt)
        )
        secondFactors = [factor]
        return try values(\.slot)
    }
}

extension AccountWrite.SideWrite {
    /// Accepts the code of a time step. If a code of that step or a later one was accepted, the whole write is undone.
    ///
    /// `use`: fresh for each request, the same on each of its attempts.
    package static func accept(
        step: Int64,
        of factor: SecondFactorID,
        of user: UserID,
        tenant: TenantID,
        by use: PostgresUUID
    ) -> Self {
        Self([
            SecondFactorRow.accept(step, of: factor, of: user, tenant: tenant, by: use),
            SecondFactorRow.assertAccepted(step, of: factor, of: user, tenant: tenant, by: use),
        ])
    }
}

extension AccountStore {
    /// The secret of `factor`, `nil` if it has none, and the counts of wrong codes of its user. One round trip.
    package func totpFacts(
        of factor: SecondFactorID,
        of user: UserID,
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> (secret: StoredTOTPSecret?, attempts: FailedAttempts) {
        let (secrets, attempts) = try await client.read(
            SecondFactorRow.secret(of: factor, of: user, tenant: tenant),
            PasswordAttemptRow.of(.totpCode(of: user), tenant: tenant, at: now)
        )
        return (secrets.first?.secret, attempts.first?.attempts ?? .none)
    }
}
