import Testing

@testable import Migrations

/// Returns the migrations of `files`: pairs of file name and text.
func migrationSet(_ files: KeyValuePairs<String, String>) -> MigrationSet {
    MigrationSet(files: files.map { ($0.key, Array($0.value.utf8)) })
}

/// Returns migrations that create one table each: `0001_t1`, `0002_t2`, …
func tables(_ count: Int, changed: Int? = nil) -> MigrationSet {
    MigrationSet(
        files: (1...count).flatMap { number in
            let type = number == changed ? "bigint" : "integer"
            return [
                ("000\(number)_t\(number).up.sql", Array("CREATE TABLE t\(number) (id \(type));\n".utf8)),
                ("000\(number)_t\(number).down.sql", Array("DROP TABLE t\(number);\n".utf8)),
            ]
        }
    )
}

/// Returns the ledger after the migrations of `set` up to `version`. The last one is unfinished if `interrupted`.
func ledger(of set: MigrationSet, through version: Int, interrupted: Bool = false) -> [AppliedMigration] {
    set.migrations.filter { $0.version <= version }.map { migration in
        let isFinished = !interrupted || migration.version < version
        return AppliedMigration(
            version: migration.version,
            name: migration.name,
            checksum: migration.up.checksum,
            appliedAt: isFinished ? "2026-01-02T03:04:05Z" : nil,
            durationMilliseconds: isFinished ? 7 : nil,
            toolVersion: "1.0.0"
        )
    }
}

/// Returns the file names of a plan, or the texts of its refusals.
func outcome(_ verdict: MigrationVerdict) -> [String] {
    switch verdict {
    case .plan(let plan): plan.steps.map(\.fileName.description)
    case .refused(let refusals): refusals.map { "refused: \($0)" }
    }
}
