/// The reason why migrations are not run. A person must fix it first. No file has run.
///
/// The description names the file and the next step.
package enum MigrationRefusal: Error, Sendable, Hashable {
    // Defects of files.
    case unrecognisedName(file: String)
    case notText(file: String)
    case noStatement(file: String)
    case unknownDirective(file: String, line: String)
    case notOneStatement(file: String, count: Int)
    case controlsTransaction(file: String, statement: String)
    case duplicateNumber(version: Int, files: [String])
    case gap(missingVersion: Int, before: String)
    case downMissing(upFile: String)
    case upMissing(downFile: String)

    // Differences between files and ledger.
    case changed(file: String, recorded: String, found: String)
    case missing(recordedFile: String, foundInstead: String?)
    case outOfOrder(file: String, alreadyApplied: String)

    // Invalid targets.
    case unknownTarget(version: Int, latest: Int)
    case targetBehind(version: Int, current: Int)
    case targetAhead(version: Int, current: Int)

    // The state of the database.
    case distributed(tables: [String])
}

extension MigrationRefusal: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unrecognisedName(let file):
            "\(file): not a migration's name; use NNNN_snake_case.up.sql and .down.sql"
        case .notText(let file):
            "\(file): not UTF-8 text without NUL"
        case .noStatement(let file):
            "\(file): holds no statement; a migration that does nothing can say SELECT 1"
        case .unknownDirective(let file, let line):
            "\(file): unknown directive \"\(line)\"; the only one is \"\(MigrationFile.noTransactionDirective)\""
        case .notOneStatement(let file, let count):
            "\(file): a no-transaction migration is exactly one statement, here are \(count); split it"
        case .controlsTransaction(let file, let statement):
            "\(file): \(statement) would leave the migration's own transaction; remove it"
        case .duplicateNumber(let version, let files):
            "\(files.joined(separator: ", ")): one number, \(MigrationFileName.fourDigits(version)), "
                + "for several migrations; renumber the newer one"
        case .gap(let missingVersion, let before):
            "\(before): number \(MigrationFileName.fourDigits(missingVersion)) is missing before it; "
                + "numbers have no gaps"
        case .downMissing(let upFile):
            "\(upFile): its .down.sql is missing"
        case .upMissing(let downFile):
            "\(downFile): its .up.sql is missing"
        case .changed(let file, let recorded, let found):
            "\(file): changed after it was applied (recorded \(recorded.prefix(12)), now \(found.prefix(12))); "
                + "restore it and put the change into a new migration"
        case .missing(let recordedFile, let foundInstead?):
            "\(recordedFile): applied, but the directory has \(foundInstead) under its number; restore the name"
        case .missing(let recordedFile, nil):
            "\(recordedFile): applied, but not in the directory; is this checkout older than the database?"
        case .outOfOrder(let file, let alreadyApplied):
            "\(file): pending, but \(alreadyApplied) after it is applied; give it the next free number"
        case .unknownTarget(let version, let latest):
            "there is no migration \(version); the numbers go from 0 (nothing applied) to \(latest)"
        case .targetBehind(let version, let current):
            "the schema is at \(current), beyond \(version); `migrate down --to \(version)` goes back"
        case .targetAhead(let version, let current):
            "the schema is at \(current), before \(version); `migrate up --to \(version)` goes there"
        case .distributed(let tables):
            "\(tables.count == 1 ? "1 table is" : "\(tables.count) tables are") distributed on Citus, which refuses "
                + "indexes of earlier schemas; take back each table first: "
                + tables.map { "SELECT undistribute_table('\($0)', cascade_via_foreign_keys => true);" }
                .joined(separator: " ")
        }
    }
}
