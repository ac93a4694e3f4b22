/// The state of every migration in the files or in the ledger.
package struct MigrationStatus: Sendable, Equatable {
    /// One migration.
    package struct Entry: Sendable, Equatable {
        package enum Condition: String, Sendable, Hashable {
            case applied
            case pending
            /// Applied, and its file has changed since.
            case changed
            /// Applied, and its file is missing.
            case missing
            /// Interrupted.
            case interrupted
        }

        package let version: Int
        package let name: String
        package let condition: Condition
        /// The row of the ledger, unless the migration is pending.
        package let applied: AppliedMigration?
    }

    /// Ascending by version.
    package let entries: [Entry]
    /// The reasons that prevent `up` and `down`.
    package let refusals: [MigrationRefusal]
    package let invalidIndexes: [InvalidIndex]

    package init(available: MigrationSet, applied: [AppliedMigration], invalidIndexes: [InvalidIndex] = []) {
        self.invalidIndexes = invalidIndexes
        let rows = Dictionary(applied.map { ($0.version, $0) }, uniquingKeysWith: { first, _ in first })
        var entries = available.migrations.map { migration in
            let row = rows[migration.version]
            return Entry(
                version: migration.version,
                name: migration.name,
                condition: Self.condition(of: migration, row: row),
                applied: row
            )
        }
        let known = Set(entries.map(\.version))
        entries += applied.filter { !known.contains($0.version) }
            .map { Entry(version: $0.version, name: $0.name, condition: .missing, applied: $0) }
        self.entries = entries.sorted { $0.version < $1.version }
        refusals = available.defects + MigrationPlan.disagreements(available: available, applied: applied)
    }

    /// True if every migration is applied and no file differs from its applied form.
    package var isUpToDate: Bool {
        refusals.isEmpty && entries.allSatisfy { $0.condition == .applied }
    }

    private static func condition(of migration: MigrationSet.Migration, row: AppliedMigration?) -> Entry.Condition {
        guard let row else { return .pending }
        if row.name != migration.name || row.checksum != migration.up.checksum { return .changed }
        return row.isFinished ? .applied : .interrupted
    }
}
