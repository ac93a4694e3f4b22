package import AccountLinking
package import JSON
import Postgres

/// The accounts of a range of ids, whose texts lie where the rows were read to.
package struct StoredAccounts {
    private let rows: PackedRows<StoredTable>
    private let tenant: TenantID

    init(_ rows: PackedRows<StoredTable>, _ tenant: TenantID) {
        self.rows = rows
        self.tenant = tenant
    }

    /// Calls `body` with each account and the hash of its password, in the order of ids. Rows of users who are not there are
    /// nobody's.
    ///
    /// The texts are good until `body` returns.
    /// - Throws: `PostgresError`, `.decoding`, for a value that this version cannot read.
    package func visit(
        _ body: (ShownAccount<BorrowedText>, _ passwordHash: BorrowedText?) -> Void
    ) throws {
        try rows.withAccounts { rows in
            var addresses = StoredAddresses()
            for account in rows.ids.indices {
                guard let place = rows.places(account, .users).first else { continue }
                var columns = rows[place]
                var shown = try columns.account(rows.ids[account], of: tenant, &addresses)
                var hash: BorrowedText?
                if let place = rows.places(account, .passwords).first {
                    var columns = rows[place]
                    let password = try columns.password()
                    shown.passwordUpdatedAt = password.updatedAt
                    hash = password.hash
                }
                for place in rows.places(account, .providers) {
                    var columns = rows[place]
                    shown.providers.append(try columns.provider(&addresses))
                }
                if shown.providers.count > 1 {
                    shown.providers.sort { $0.id.bytes.lexicographicallyPrecedes($1.id.bytes) }
                }
                shown.hasEmailLink = !rows.places(account, .emailLinks).isEmpty
                shown.secondFactors = try secondFactors(rows, rows.places(account, .factors))
                body(shown, hash)
            }
        }
    }

    private func secondFactors(
        _ rows: RowsByAccount<StoredTable>,
        _ places: Range<Int>
    ) throws(PostgresError) -> [SecondFactor] {
        var factors: [(slot: Int32, factor: SecondFactor)] = []
        for place in places {
            var columns = rows[place]
            factors.append(try columns.factor())
        }
        return factors.isEmpty ? [] : factors.sorted { $0.slot < $1.slot }.map(\.factor)
    }
}
