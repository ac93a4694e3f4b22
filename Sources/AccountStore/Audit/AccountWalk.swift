package import AccountLinking

/// Some accounts in the order of their ids, put together one after the other as they are asked for.
///
/// SAFETY: accounts that are still rows point into them: not to be used after the closure that it was given to has returned.
package struct AccountWalk {
    private enum Source {
        case accounts([AccountSnapshot])
        case rows(RowsByAccount<AuditedTable>, Range<Int>, PageReader)
    }

    /// Accounts that wait for an answer about who owns what they show.
    private static let waitingMax = 256

    private let source: Source

    init(_ accounts: [AccountSnapshot]) {
        source = .accounts(accounts)
    }

    init(_ some: Range<Int>, of rows: RowsByAccount<AuditedTable>, _ reader: PageReader) {
        source = .rows(rows, some, reader)
    }

    /// Calls `body` with one account after the other.
    ///
    /// - Throws: `PostgresError`; what `body` throws.
    package func visit(_ body: (AccountSnapshot) throws -> Void) throws {
        switch source {
        case .accounts(let accounts):
            for account in accounts { try body(account) }
        case .rows(let rows, let some, let reader):
            var assembly = AccountAssembly(tenant: TenantID(reader.tenant))
            var waiting: [AccountSnapshot] = []
            for account in some where try assembly.assemble(account, of: rows) {
                if waiting.isEmpty && assembly.snapshot.unclaimed.isEmpty {
                    try body(assembly.snapshot)
                } else {
                    // Asked of several at once; those behind them wait with them.
                    waiting.append(assembly.snapshot)
                    if waiting.count == Self.waitingMax { try handOn(&waiting, reader, body) }
                }
            }
            if !waiting.isEmpty { try handOn(&waiting, reader, body) }
        }
    }

    private func handOn(
        _ waiting: inout [AccountSnapshot],
        _ reader: PageReader,
        _ body: (AccountSnapshot) throws -> Void
    ) throws {
        try reader.noteOwners(in: &waiting)
        for account in waiting { try body(account) }
        waiting.removeAll()
    }

    /// - Returns: all of them.
    /// - Throws: as `visit`.
    package func all() throws -> [AccountSnapshot] {
        var accounts: [AccountSnapshot] = []
        try visit { accounts.append($0) }
        return accounts
    }
}
