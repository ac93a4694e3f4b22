package import AccountLinking
package import Postgres

/// The secret of a factor that is enrolled, sealed, and the time step whose code showed that the app has it.
package struct NewTOTPSecret: Sendable, Hashable {
    package var sealed: [UInt8]
    package var acceptedStep: Int64

    package init(sealed: [UInt8], acceptedStep: Int64) {
        self.sealed = sealed
        self.acceptedStep = acceptedStep
    }
}

/// A factor that comes from another account.
struct MovedFactor: Sendable, Hashable {
    let from: UserID
    /// Of a factor without a number, sealed for the account that it becomes part of.
    let sealedSecret: [UInt8]?
}

/// What the codes of a factor are checked by.
package struct StoredTOTPSecret: Sendable, Hashable {
    package var sealed: [UInt8]
    /// The last step whose code was accepted: only a later one counts.
    package var lastStep: Int64
}

struct TOTPSecretRow: RowDecodable {
    let secret: StoredTOTPSecret

    init(row: inout RowDecoder) throws(PostgresError) {
        secret = StoredTOTPSecret(sealed: try row.next(Bytes.self), lastStep: try row.next(Int64.self))
    }
}

/// Second factors of a user. `UserRow` reads them; what they are checked by is read here, when it is needed.
enum SecondFactorRow {
    /// `slot`: its place among those of the user. `secret`: of a factor without a number.
    static func insert(
        _ factor: SecondFactor,
        slot: Int32,
        secret: NewTOTPSecret?,
        for id: UserID,
        tenant: TenantID
    ) -> SQL {
        """
        INSERT INTO second_factors (tenant_id, user_id, enrollment_id, slot, number, sealed_secret, last_step,
            display_name, enrolled_at)
        VALUES (\(tenant), \(id), \(factor.id), \(slot), \(factor.number),
            \(secret?.sealed), \(secret?.acceptedStep), \(factor.displayName), \(factor.enrolledAt))
        """
    }

    /// Factors with numbers, of many users, each with its place.
    static func insertNumbers(_ factors: [(UserID, Int32, SecondFactor)], tenant: TenantID) -> SQL {
        """
        INSERT INTO second_factors (tenant_id, user_id, enrollment_id, slot, number, display_name, enrolled_at)
        SELECT \(tenant), new.*
        FROM unnest(\(factors.map(\.0)), \(factors.map(\.2.id)), \(factors.map(\.1)),
            \(factors.map { $0.2.number }), \(factors.map(\.2.displayName)),
            \(factors.map(\.2.enrolledAt))) AS new
        """
    }

    static func deleteAll(of ids: [UserID], tenant: TenantID) -> SQL {
        """
        DELETE FROM second_factors
        WHERE tenant_id = \(tenant) AND user_id = ANY(\(ids))
        """
    }

    static func update(_ factor: SecondFactor, slot: Int32, of id: UserID, tenant: TenantID) -> SQL {
        """
        UPDATE second_factors SET slot = \(slot), number = \(factor.number),
            display_name = \(factor.displayName), enrolled_at = \(factor.enrolledAt)
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND enrollment_id = \(factor.id)
        """
    }

    /// Makes a factor another account's, with what was accepted of it.
    static func move(
        _ factor: SecondFactor,
        _ moved: MovedFactor,
        slot: Int32,
        to id: UserID,
        tenant: TenantID
    ) -> SQL {
        """
        UPDATE second_factors SET user_id = \(id), slot = \(slot), sealed_secret = \(moved.sealedSecret),
            enrolled_at = \(factor.enrolledAt)
        WHERE tenant_id = \(tenant) AND user_id = \(moved.from)
            AND enrollment_id = \(factor.id)
        """
    }

    static func delete(_ factor: SecondFactorID, of id: UserID, tenant: TenantID) -> SQL {
        """
        DELETE FROM second_factors
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND enrollment_id = \(factor)
        """
    }

    /// Whether a number is somebody's second factor.
    static func isEnrolled(_ number: PhoneNumber, tenant: TenantID) -> Query<Bool> {
        """
        SELECT EXISTS (
            SELECT FROM \(table: "second_factors") WHERE tenant_id = \(tenant) AND number = \(number)
        )
        """
    }

    /// No row for a factor that has a number, or is gone.
    static func secret(of factor: SecondFactorID, of id: UserID, tenant: TenantID) -> Query<TOTPSecretRow> {
        """
        SELECT sealed_secret, last_step FROM \(table: "second_factors")
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND enrollment_id = \(factor)
            AND sealed_secret IS NOT NULL
        """
    }

    /// Accepts the code of `step`, unless that of it or of a later one was accepted: then nothing changes, and
    /// `assertAccepted` must follow.
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

extension AccountWrite.SideWrite {
    /// Accepts the code of a time step. Guarded: when that of it or of a later one was accepted, the whole write is undone.
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
    /// What a code of `factor` is checked by, with the wrong codes that were counted for its user; `nil` for a factor that
    /// has none. One round trip.
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
