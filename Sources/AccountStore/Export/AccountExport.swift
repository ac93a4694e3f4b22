package import AccountLinking
package import Postgres

/// Reads all accounts of a tenant for an export, as of one instant.
///
/// The snapshot is held while tables are read, and let go before the first account is handed on: how long whoever takes them
/// takes is nothing to the database (ADR 0069).
package struct AccountExport: Sendable {
    private let readers: SnapshotReaders
    private let temporaryFolder: String
    private let withHashes: Bool
    private let rangeSize: Int

    /// - Parameters:
    ///   - configuration: the database.
    ///   - connections: how many tables, and then ranges of accounts, are worked on at once.
    ///   - temporaryFolder: where what is read goes, in a file without a name.
    ///   - withHashes: whether the hashes of passwords are read.
    ///   - rangeSize: about how many accounts are put together at once.
    package init(
        _ configuration: PostgresConfiguration,
        connections: Int,
        temporaryFolder: String,
        withHashes: Bool,
        rangeSize: Int = 1000
    ) {
        readers = SnapshotReaders(configuration, connections: connections, applicationName: "concord export")
        self.temporaryFolder = temporaryFolder
        self.withHashes = withHashes
        self.rangeSize = rangeSize
    }

    /// About how many accounts there are, without counting them.
    /// - Throws: `PostgresError`.
    package func estimatedCount() async throws -> Int64 { try await readers.estimatedUserCount() }

    /// - Parameters:
    ///   - tenant: whose accounts.
    ///   - reading: told how far the tables are read; throws to stop. Never beside itself.
    ///   - write: makes something of some accounts, beside others.
    ///   - take: given that, in the order of ids, never twice at once; may block.
    /// - Throws: what `reading`, `write` or `take` throws; `PostgresError`, also for a value that cannot be read;
    ///   `SpillFailure`.
    package func read<Output: Sendable>(
        _ tenant: TenantID,
        reading: @escaping @Sendable (ScanProgress) throws -> Void,
        write: @escaping @Sendable (StoredAccounts) throws -> Output,
        take: @escaping @Sendable (Output) throws -> Void
    ) async throws {
        let scan = try await scan(tenant, reading)
        let order = InOrder(take)
        let gate = ReadersGate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<readers.count {
                group.addTask {
                    try await runOnNewThread {
                        Result {
                            do {
                                while let range = scan.nextRange() {
                                    try scan.forEachPart(ofRange: range) { rows in
                                        try gate.check()
                                        try order.deliver(range, try write(StoredAccounts(rows, tenant)), gate)
                                    }
                                    try order.finish(range)
                                }
                            } catch {
                                throw gate.fail(error)
                            }
                        }
                    }.get()
                }
            }
            try await group.waitForAll()
        }
    }

    /// The tables of `tenant`, read.
    private func scan(
        _ tenant: TenantID,
        _ reading: @escaping @Sendable (ScanProgress) throws -> Void
    ) async throws -> TableScan<StoredTable> {
        let shared = Shared<TableScan<StoredTable>>()
        try await readers.run { connection, gate in
            let scan = try shared.value {
                try TableScan(
                    StoredTable.allCases,
                    tenant: tenant.rawValue,
                    rangeSize: rangeSize,
                    readers: readers.count,
                    folder: temporaryFolder,
                    connection
                ) { table, scope in table.rows(scope, tenant: tenant.rawValue, withHashes: withHashes) }
            }
            try scan.read(connection, gate, progress: reading)
        }
        return try shared.value { throw PostgresError(.misuse, "no reader has run") }
    }
}

/// A table that exports read.
enum StoredTable: UInt8, ScannedTable {
    case users, passwords, providers, emailLinks, factors

    var name: String {
        switch self {
        case .users: "users"
        case .passwords: "password_credentials"
        case .providers: "linked_providers"
        case .emailLinks: "sign_in_methods"
        case .factors: "second_factors"
        }
    }

    var types: [any PostgresValue.Type] {
        switch self {
        case .users: StoredUserRow.types
        case .passwords: StoredPasswordRow.types
        case .providers: StoredProviderRow.types
        case .emailLinks: StoredEmailLinkRow.types
        case .factors: StoredFactorRow.types
        }
    }

    func rows(_ scope: TableScope, tenant: String, withHashes: Bool) -> SQL {
        switch self {
        case .users: StoredUserRow.of(scope, tenant: tenant)
        case .passwords: StoredPasswordRow.of(scope, tenant: tenant, withHashes: withHashes)
        case .providers: StoredProviderRow.of(scope, tenant: tenant)
        case .emailLinks: StoredEmailLinkRow.of(scope, tenant: tenant)
        case .factors: StoredFactorRow.of(scope, tenant: tenant)
        }
    }
}
