import AccountLinking
import Postgres

/// A table that audits read.
enum AuditedTable: UInt8, ScannedTable {
    /// First: accounts are put together beginning with their own rows.
    case users, passwords, providers, methods, factors, sessions, codes, conflicts, claims

    var name: String {
        switch self {
        case .users: "users"
        case .passwords: "password_credentials"
        case .providers: "linked_providers"
        case .methods: "sign_in_methods"
        case .factors: "second_factors"
        case .sessions: "sessions"
        case .codes: "one_time_codes"
        case .conflicts: "conflicts"
        case .claims: "identifiers"
        }
    }

    static func read(for extent: AccountSnapshots.Extent) -> [AuditedTable] {
        switch extent {
        case .everything: allCases
        case .judged: [.users, .passwords, .providers, .methods, .factors, .conflicts]
        }
    }

    /// The types of the columns that are read of it: of the user's id, then those that its row reads.
    var types: [any PostgresValue.Type] {
        typealias Time = PostgresTimestamp
        let columns: [any PostgresValue.Type] =
            switch self {
            case .users:
                [
                    Int64.self, Int64.self, String.self, String.self, Time.self, String.self, String.self, Int32.self,
                    Time.self, Time.self, Time.self,
                ]
            case .passwords: [Time.self, String.self]
            case .providers: [String.self, String.self, String.self, String.self, Time.self]
            case .methods: [String.self, String.self, Time.self]
            case .factors: [String.self]
            case .sessions: [Int64.self, String.self, Time.self]
            case .codes: [String.self, Time.self, Time.self]
            case .conflicts: [String.self, String.self, Bool.self, Bool.self, Time.self, Time.self]
            case .claims: [String.self, String.self]
            }
        return [String.self] + columns
    }

    /// Asks for its rows. Whose each is stands in the first column.
    func rows(_ scope: TableScope, tenant: String, at now: Timestamp) -> SQL {
        switch self {
        case .users: AuditedUserRow.of(scope, tenant: tenant)
        case .passwords: AuditedPasswordRow.of(scope, tenant: tenant)
        case .providers: AuditedProviderRow.of(scope, tenant: tenant)
        case .methods: AuditedMethodRow.of(scope, tenant: tenant)
        case .factors: AuditedFactorRow.of(scope, tenant: tenant)
        case .sessions: AuditedSessionRow.of(scope, tenant: tenant)
        case .codes: AuditedCodeRow.of(scope, tenant: tenant)
        case .conflicts: AuditedConflictRow.of(scope, tenant: tenant, at: now)
        case .claims: AuditedClaimRow.of(scope, tenant: tenant)
        }
    }
}

typealias AuditedRows = PackedRows<AuditedTable>
