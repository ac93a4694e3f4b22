package import AccountLinking
package import Postgres

/// Reads all accounts of a tenant for an export, one at a time, as of one instant (on Citus: ADR 0107).
///
/// The snapshot is held until the last account was taken (docs/guides/import-export.md).
package struct AccountExport: Sendable {
    private let configuration: PostgresConfiguration
    private let withHashes: Bool

    /// - Parameters:
    ///   - configuration: the database.
    ///   - withHashes: true to read the hashes of passwords.
    package init(_ configuration: PostgresConfiguration, withHashes: Bool) {
        var configuration = configuration
        configuration.applicationName = "concord export"
        self.configuration = configuration
        self.withHashes = withHashes
    }

    /// About how many accounts there are, without counting them.
    /// - Throws: `PostgresError`.
    package func estimatedCount() async throws -> Int64 {
        try await SnapshotConnections.estimatedUserCount(configuration)
    }

    /// Calls `take` with each account and the hash of its password, in the order of ids, on one thread.
    ///
    /// - `check`: called several times a second while PostgreSQL sorts; throws to stop.
    /// - Throws: the error of `check` or `take`; `PostgresError`, also for a value that cannot be read.
    package func read(
        _ tenant: TenantID,
        check: @escaping @Sendable () throws -> Void = {},
        take: @escaping @Sendable (ShownAccount, _ passwordHash: String?) throws -> Void
    ) async throws {
        let tables = ExportTables.all(tenant: tenant, withHashes: withHashes)
        try await SnapshotConnections.with(configuration, tables: tables.count) { connections in
            var merge = try AccountMerge(tables, AccountScope(tenant: tenant), connections, check: check)
            defer { merge.cancel() }
            while var account = try merge.next(StoredAccount.init(id:)) {
                account.finishReading()
                // Rows of an account that does not exist are left out.
                if let shown = account.shown { try take(shown, account.passwordHash) }
            }
        }
    }
}
