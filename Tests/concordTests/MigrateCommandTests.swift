import AccountOperations
import AccountStore
import AccountTestSupport
import ArgumentParser
import FoundationEssentials
import Postgres
import Testing

@testable import Migrations
@testable import concord

/// Five migrations of which the ledger knows four, one in each condition.
private let status: MigrationStatus = {
    let names = ["users", "sessions", "events", "indexes"]
    let set = MigrationSet(
        files: names.enumerated().flatMap { index, name in
            ["up", "down"].map { ("000\(index + 1)_\(name).\($0).sql", Array("SELECT \(index)".utf8)) }
        }
    )
    func row(_ version: Int, _ name: String, checksum: String?, appliedAt: String?) -> AppliedMigration {
        AppliedMigration(
            version: version,
            name: name,
            checksum: checksum ?? String(repeating: "0", count: 64),
            appliedAt: appliedAt,
            durationMilliseconds: appliedAt.map { _ in 12 },
            toolVersion: "1.2.3"
        )
    }
    let applied = [
        row(1, "users", checksum: set.migrations[0].up.checksum, appliedAt: "2026-01-02T03:04:05Z"),
        row(2, "sessions", checksum: nil, appliedAt: "2026-01-02T03:04:06Z"),
        row(3, "events", checksum: set.migrations[2].up.checksum, appliedAt: nil),
        row(5, "gone", checksum: nil, appliedAt: "2026-01-02T03:04:07Z"),
    ]
    return MigrationStatus(available: set, applied: applied)
}()

@Suite struct MigrateCommandTests {
    @Test func `the status is a table that ends with the next step`() throws {
        try golden.expect(MigrateReport.text(status) + "\n", matches: "migrate-status.txt")
    }

    @Test func `the JSON status has the same content`() throws {
        try golden.expect(MigrateReport.json(status) + "\n", matches: "migrate-status.json")
    }

    @Test func `the status names invalid indexes, and the next step`() throws {
        let set = MigrationSet(files: ["up", "down"].map { ("0001_a.\($0).sql", Array("SELECT 1".utf8)) })
        let applied = AppliedMigration(
            version: 1,
            name: "a",
            checksum: set.migrations[0].up.checksum,
            appliedAt: "2026-01-02T03:04:05Z",
            durationMilliseconds: 12,
            toolVersion: "1.2.3"
        )
        let index = InvalidIndex(name: "i_ccnew", table: "users")
        let status = MigrationStatus(available: set, applied: [applied], invalidIndexes: [index])
        #expect(status.isUpToDate)
        let lines = MigrateReport.text(status).split(separator: "\n").dropFirst()
        #expect(
            lines == [
                "warning: index i_ccnew of users is invalid: writes maintain it, and no query uses it",
                "Remove it: DROP INDEX CONCURRENTLY i_ccnew",
            ]
        )
        #expect(try MigrateReport.json(status).contains("\"i_ccnew\""))
        #expect(InvalidIndex(name: "i", table: "users").nextStep == "Rebuild it: REINDEX INDEX CONCURRENTLY i")
    }

    @Test func `a distribution is printed as statements, then table by table`() throws {
        let tables = Array(Distribution.moved.prefix(1)) + Distribution.moved.filter { $0.name == "users" }
        let plan = DistributionPlan(tables: tables, shards: 8, workers: 2)
        #expect(
            MigrateReport.text(plan) == """
                SET citus.shard_count = 8;
                SELECT create_reference_table('project_config');
                SELECT create_distributed_table('users', 'user_id', colocate_with => 'none');
                """
        )
        #expect(MigrateReport.text(DistributionPlan(tables: [], shards: 8, workers: 2)) == "nothing to do")
        let moves = tables.map { CompletedMove(table: $0, milliseconds: 12) }
        #expect(MigrateReport.text(moves[1]) == "users  by user_id  12 ms")
        #expect(MigrateReport.closing(moves, workers: 2) == "every table is distributed over 2 nodes")
        #expect(MigrateReport.closing([], workers: 1) == "nothing to do: every table is distributed over 1 node")
    }

    @Test func `the number of shards has limits`() throws {
        let refusal = try #require(throws: (any Error).self) { try MigrateCommand.Distribute.parse(["--shards", "0"]) }
        #expect(MigrateCommand.Distribute.message(for: refusal).contains("from 1 to 1024"))
        #expect(try MigrateCommand.Distribute.parse([]).shards == 32)
    }

    @Test func `a rollback needs a confirmation`() throws {
        let refusal = try #require(throws: (any Error).self) { try MigrateCommand.Down.parse(["--to", "1"]) }
        #expect(MigrateCommand.Down.exitCode(for: refusal) == .validationFailure)
        #expect(MigrateCommand.Down.message(for: refusal).contains("add --yes"))
        _ = try MigrateCommand.Down.parse(["--to", "1", "--yes"])
        _ = try MigrateCommand.Down.parse(["--to", "1", "--dry-run"])
    }

    @Test func `a wait needs its unit`() throws {
        let refusal = try #require(throws: (any Error).self) { try MigrateCommand.Up.parse(["--lock-wait", "5"]) }
        #expect(MigrateCommand.Up.message(for: refusal).contains("with its unit"))
        _ = try MigrateCommand.Up.parse(["--lock-wait", "5s", "--to", "3"])
    }

    @Test func `the program contains the migrations, and --migrations replaces them`() throws {
        #expect(try MigrationDirectoryOptions.parse([]).read() == .embedded)
        #expect(MigrationSet.embedded.latestVersion == SchemaVersion.required)
        let empty = FileManager.default.temporaryDirectory.appending(path: "concord-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: empty, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: empty) }
        #expect(try MigrationDirectoryOptions.parse(["--migrations", empty.path()]).read().migrations.isEmpty)
        let failure = #expect(throws: MigrationDirectoryError.self) {
            try MigrationDirectoryOptions.parse(["--migrations", "/nonexistent"]).read()
        }
        #expect(failure?.description.contains("--migrations") == true)
    }
}

@Suite struct ExitCodeTests {
    @Test func `each kind of error has an exit code`() throws {
        let unreachable = PostgresError(.unavailable, "no server")
        let refused = PostgresError(.server("42601"), "syntax error")
        let file = try #require(MigrationFileName("0001_a.up.sql"))
        #expect(ExitCode(for: unreachable) == .databaseUnreachable)
        #expect(ExitCode(for: PostgresError(.server("57P03"), "starting up")) == .databaseUnreachable)
        #expect(ExitCode(for: refused) == .bug)
        #expect(ExitCode(for: PostgresError(.server("42501"), "permission denied")) == .badConfiguration)
        #expect(ExitCode(for: OutputFailure("standard output")) == .cannotWrite)
        #expect(ExitCode(for: PostgresError(.configuration, "bad connection string")) == .badConfiguration)
        let place = MigrationPlace(file: file, line: 1)
        let tableInUse = MigrationFailure.tableInUse(place, waited: .seconds(60), serverProcessID: 7)
        #expect(ExitCode(for: MigrationFailure.stepFailed(place, cause: refused)) == .answerIsNo)
        #expect(ExitCode(for: MigrationFailure.stepFailed(place, cause: unreachable)) == .databaseUnreachable)
        #expect(ExitCode(for: tableInUse) == .answerIsNo)
        #expect(ExitCode(for: MigrationFailure.busy(waited: .seconds(1), serverProcessID: 1)) == .answerIsNo)
        #expect(ExitCode(for: DistributionFailure(table: "users", cause: refused)) == .answerIsNo)
        #expect(ExitCode(for: DistributionFailure(table: "users", cause: unreachable)) == .databaseUnreachable)
        #expect(ExitCode(for: ConfigurationMistakes(all: [])) == .badConfiguration)
        #expect(ExitCode(for: Sealer.OpeningFailure.notAuthentic) == .badConfiguration)
        #expect(ExitCode(for: MigrationDirectoryError.unreadable(path: "x")) == .badConfiguration)
        #expect(ExitCode(for: MigrationDirectoryError.nameNotAllowed("X")) == .validationFailure)
        #expect(ExitCode(for: ValidationError("x")) == .validationFailure)
        #expect(ExitCode(for: ExitCode.answerIsNo) == .answerIsNo)
        #expect(ExitCode(for: CancellationError()) == .bug)
    }
}
