import FoundationEssentials
import JSON
import Migrations

/// The texts that `concord migrate` prints.
enum MigrateReport {
    /// A plan, one line for each file.
    static func text(_ plan: MigrationPlan) -> String {
        guard !plan.steps.isEmpty else { return "nothing to do" }
        return plan.steps.map { "would run \($0.fileName)" }.joined(separator: "\n")
    }

    /// A finished step.
    static func text(_ step: CompletedStep) -> String {
        "\(step.file)  \(step.milliseconds) ms"
    }

    /// The last line of a run.
    static func closing(_ steps: [CompletedStep], _ state: SchemaState) -> String {
        steps.isEmpty
            ? "nothing to do: the schema is at \(state.version)"
            : "the schema is at \(state.version)"
    }

    /// One object: `dryRun`, and `migrations` with each file of the plan.
    static func json(_ plan: MigrationPlan) -> String {
        let files = plan.steps.map { JSONValue.object(["file": .string("\($0.fileName)")]) }
        return JSONValue.object(["dryRun": .bool(true), "migrations": .array(files), "refusals": .array([])]).text
    }

    /// The same of a finished run, with durations and the version of the schema.
    static func json(_ steps: [CompletedStep], _ state: SchemaState) -> String {
        let files = steps.map { step in
            JSONValue.object([
                "file": .string("\(step.file)"), "durationMilliseconds": .integer(Int64(step.milliseconds)),
            ])
        }
        return JSONValue.object([
            "dryRun": .bool(false), "migrations": .array(files), "refusals": .array([]),
            "version": .integer(Int64(state.version)),
        ]).text
    }

    /// The same of a run that was refused.
    static func json(_ refusals: [MigrationRefusal], isDryRun: Bool) -> String {
        JSONValue.object([
            "dryRun": .bool(isDryRun), "migrations": .array([]),
            "refusals": .array(refusals.map { .string($0.description) }),
        ]).text
    }

    /// A table of all migrations, the refusals, and a last line with the next step.
    ///
    /// - `width`: the number of columns of the terminal; `nil` for no limit. Names are cut until a line fits.
    static func text(_ status: MigrationStatus, fitting width: Int? = nil) -> String {
        let nameWidth = status.entries.map(\.name.displayWidth).max() ?? 0
        var lines = entries(of: status, nameWidth: nameWidth)
        let excess = width.map { (lines.map(\.displayWidth).max() ?? 0) - $0 } ?? 0
        if excess > 0 { lines = entries(of: status, nameWidth: max(10, nameWidth - excess)) }
        lines += status.refusals.map { "refused: \($0)" }
        lines += status.invalidIndexes.map { "warning: \($0)" }
        lines.append(summary(of: status))
        return lines.joined(separator: "\n")
    }

    private static func entries(of status: MigrationStatus, nameWidth: Int) -> [String] {
        status.entries.map { entry in
            let name = padded(entry.name.cut(to: nameWidth), to: nameWidth)
            var line = "\(fourDigits(entry.version))  \(name)  \(entry.condition.rawValue)"
            if let row = entry.applied, let appliedAt = row.appliedAt, let milliseconds = row.durationMilliseconds {
                let condition = String(repeating: " ", count: max(0, 11 - entry.condition.rawValue.count))
                line += "\(condition)  \(appliedAt)  \(milliseconds) ms  concord \(row.toolVersion)"
            }
            return line
        }
    }

    private static func summary(of status: MigrationStatus) -> String {
        guard status.refusals.isEmpty else { return "nothing will run until the above is fixed" }
        let pending = status.entries.filter { $0.condition == .pending || $0.condition == .interrupted }.count
        guard pending == 0 else { return "\(pending) to run: concord migrate up" }
        return status.invalidIndexes.first?.nextStep ?? "up to date"
    }

    /// One object: `upToDate`, `migrations`, `refusals`, `invalidIndexes`.
    static func json(_ status: MigrationStatus) throws -> String {
        struct Report: Encodable {
            struct Migration: Encodable {
                let version: Int
                let name: String
                let condition: String
                let checksum: String?
                let appliedAt: String?
                let durationMilliseconds: Int64?
                let toolVersion: String?
            }
            let upToDate: Bool
            let migrations: [Migration]
            let refusals: [String]
            let invalidIndexes: [String]
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let migrations = status.entries.map { entry in
            Report.Migration(
                version: entry.version,
                name: entry.name,
                condition: entry.condition.rawValue,
                checksum: entry.applied?.checksum,
                appliedAt: entry.applied?.appliedAt,
                durationMilliseconds: entry.applied?.durationMilliseconds,
                toolVersion: entry.applied?.toolVersion
            )
        }
        let report = Report(
            upToDate: status.isUpToDate,
            migrations: migrations,
            refusals: status.refusals.map(\.description),
            invalidIndexes: status.invalidIndexes.map(\.name)
        )
        return String(decoding: try encoder.encode(report), as: UTF8.self)
    }

    private static func fourDigits(_ version: Int) -> String {
        let digits = String(version)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
