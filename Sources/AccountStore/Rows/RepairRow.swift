import AccountLinking
import Postgres

/// Statements of repairs on rows that decisions do not change.
enum RepairRow {
    /// Raises 22012 (division by zero) if the user exists.
    static func assertNoUser(_ id: UserID, tenant: TenantID) -> SQL {
        """
        SELECT 1 / (NOT EXISTS (
            SELECT 1 FROM users WHERE tenant_id = \(tenant) AND user_id = \(id)
        ))::integer
        """
    }

    /// Deletes rows that name a user who does not exist.
    static func deleteOrphans(in table: Repair.OrphanTable, of id: UserID, tenant: TenantID) -> SQL {
        let beginning: SQL =
            switch table {
            case .linkedProviders: "DELETE FROM linked_providers"
            case .signInMethods: "DELETE FROM sign_in_methods"
            case .secondFactors: "DELETE FROM second_factors"
            case .passwordCredentials: "DELETE FROM password_credentials"
            case .sessions: "DELETE FROM sessions"
            case .oneTimeCodes: "DELETE FROM one_time_codes"
            case .conflicts: "DELETE FROM conflicts"
            }
        return """
            \(beginning) WHERE tenant_id = \(tenant) AND user_id = \(id) AND NOT EXISTS (
                SELECT 1 FROM users WHERE tenant_id = \(tenant) AND user_id = \(id)
            )
            """
    }

    /// Releases a stored key, even if it is no valid identifier. A reservation stays.
    static func release(kind: String, key: String, of id: UserID, tenant: TenantID) -> SQL {
        """
        DELETE FROM identifiers
        WHERE tenant_id = \(tenant) AND kind = \(kind) AND value = \(key) AND user_id = \(id)
            AND reserved_until IS NULL
        """
    }

    static func deleteUnusedCodes(
        of kind: EmailCodeRecord.Kind,
        madeBefore cutoff: Timestamp,
        user: UserID,
        tenant: TenantID
    ) -> SQL {
        """
        DELETE FROM one_time_codes
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND kind = \(kind)
            AND consumed_at IS NULL AND created_at < \(cutoff)
        """
    }

    static func deleteCodes(
        of kind: EmailCodeRecord.Kind,
        expiredBefore cutoff: Timestamp,
        user: UserID,
        tenant: TenantID
    ) -> SQL {
        """
        DELETE FROM one_time_codes
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND kind = \(kind)
            AND expires_at < \(cutoff)
        """
    }

    static func deleteConflicts(expiredBefore cutoff: Timestamp, user: UserID, tenant: TenantID) -> SQL {
        """
        DELETE FROM conflicts
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND expires_at < \(cutoff)
        """
    }
}

extension Repair {
    /// The statements in addition to those for the account's record.
    func statements(for user: UserRecord) -> [SQL] {
        let (id, tenant) = (user.id, user.tenant)
        switch self {
        case .claim(let claimed):
            return user.account.identifier(claimed).map { [IdentifierRow.claim($0, for: id, tenant: tenant)] } ?? []
        case .voidCodes(let kind, let cutoff):
            return [RepairRow.deleteUnusedCodes(of: kind, madeBefore: cutoff, user: id, tenant: tenant)]
        case .deleteOverdue(.codes(let kind), let cutoff):
            return [RepairRow.deleteCodes(of: kind, expiredBefore: cutoff, user: id, tenant: tenant)]
        case .deleteOverdue(.conflicts, let cutoff):
            return [RepairRow.deleteConflicts(expiredBefore: cutoff, user: id, tenant: tenant)]
        case .deleteOverdue(.sessions, _):
            return [SessionRow.deleteEnded(of: id, tenant: tenant, epoch: user.sessionEpoch)]
        case .release, .deleteRecords: return statementsWithoutAccount(of: id, tenant: tenant)
        case .forgetMethod, .recordMethod, .unproveAddress, .suspend, .endSessions, .forgetNumber: return []
        }
    }

    /// The statements if there is no account.
    func statementsWithoutAccount(of id: UserID, tenant: TenantID) -> [SQL] {
        switch self {
        case .release(let kind, let key): [RepairRow.release(kind: kind, key: key, of: id, tenant: tenant)]
        case .deleteRecords(let table): [RepairRow.deleteOrphans(in: table, of: id, tenant: tenant)]
        case .claim, .forgetMethod, .recordMethod, .unproveAddress, .suspend, .endSessions, .forgetNumber, .voidCodes,
            .deleteOverdue:
            []
        }
    }
}
