import AccountStore
import ArgumentParser
import JSON
import Migrations

extension Distribution {
    /// The tables that `concord migrate distribute` moves, in order.
    static var moved: [DistributionTable] {
        tables.compactMap { table in
            guard let place = table.place, let statement = table.statement else { return nil }
            return DistributionTable(name: table.name, place: place, statement: statement)
        }
    }
}

extension MigrateCommand {
    /// `concord migrate distribute`
    struct Distribute: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Distribute the tables over the workers of a Citus cluster.",
            discussion: """
                Run it on the coordinator after `concord migrate up`, and again after each upgrade that adds tables. Each \
                table moves in a separate transaction. If one fails, the ones before it stay moved, and the next run \
                continues. See docs/guides/citus.md.

                EXAMPLES
                  concord migrate distribute --dry-run
                  concord migrate distribute --shards 64
                """
        )

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var directory: MigrationDirectoryOptions
        @OptionGroup var execution: MigrationRunOptions

        @Option(help: ArgumentHelp("Shards of each table that is distributed by a key.", valueName: "number"))
        var shards = 32

        func validate() throws {
            guard (1...1024).contains(shards) else { throw ValidationError("--shards: give a number from 1 to 1024") }
        }

        func perform() async throws {
            let postgres = try DatabaseConfiguration(try configuration.sources()).postgres
            let distributor = Distributor(
                configuration: postgres,
                migrations: try directory.read(),
                tables: Distribution.moved,
                shards: shards,
                lockWait: execution.lockWait
            )
            try await namingDatabase(postgres) { try await perform(distributor) }
        }

        private func perform(_ distributor: Distributor) async throws {
            let refusals: [DistributionRefusal]
            if execution.dryRun {
                switch try await distributor.plan() {
                case .plan(let plan):
                    try say(execution.format == .json ? MigrateReport.json(plan) : MigrateReport.text(plan))
                    return
                case .refused(let reasons): refusals = reasons
                }
            } else {
                let isText = execution.format == .text
                switch try await distributor.run(onStep: { move in if isText { Self.report(move) } }) {
                case .done(let moves, let workers):
                    try say(
                        isText
                            ? MigrateReport.closing(moves, workers: workers)
                            : MigrateReport.json(moves, workers: workers)
                    )
                    return
                case .refused(let reasons): refusals = reasons
                }
            }
            if execution.format == .json { try say(MigrateReport.json(refusals, isDryRun: execution.dryRun)) }
            complain(refusals.map(\.description).joined(separator: "\n"))
            complain("nothing was changed")
            throw ExitCode.answerIsNo
        }

        /// Prints at once, also into a pipe. If the write fails, the run continues, and the command reports the failure at
        /// its end.
        private static func report(_ move: CompletedMove) {
            try? say(MigrateReport.text(move))
            try? flushOutput()
        }
    }
}

extension MigrateReport {
    /// The statements of a plan.
    static func text(_ plan: DistributionPlan) -> String {
        plan.tables.isEmpty ? "nothing to do" : plan.statements.joined(separator: "\n")
    }

    /// A moved table.
    static func text(_ move: CompletedMove) -> String {
        "\(move.table.name)  \(move.table.place)  \(move.milliseconds) ms"
    }

    /// The last line of a run.
    static func closing(_ moves: [CompletedMove], workers: Int) -> String {
        let nodes = workers == 1 ? "1 node" : "\(workers) nodes"
        return moves.isEmpty
            ? "nothing to do: every table is distributed over \(nodes)"
            : "every table is distributed over \(nodes)"
    }

    /// The last line of `migrate up` on Citus, if tables wait for their place; `nil` otherwise.
    static func text(_ state: DistributionState) -> String? {
        guard let problem = state.problem else { return nil }
        return "not ready: \(problem)"
    }

    /// One object: `dryRun`, and `tables` with each statement of the plan.
    static func json(_ plan: DistributionPlan) -> String {
        let tables = plan.tables.map { table in
            JSONValue.object([
                "table": .string(table.name), "place": .string(table.place), "statement": .string(table.statement),
            ])
        }
        return JSONValue.object([
            "dryRun": .bool(true), "tables": .array(tables), "refusals": .array([]),
            "shards": .integer(Int64(plan.shards)), "workers": .integer(Int64(plan.workers)),
        ]).text
    }

    /// The same of a finished run, with durations.
    static func json(_ moves: [CompletedMove], workers: Int) -> String {
        let tables = moves.map { move in
            JSONValue.object([
                "table": .string(move.table.name), "place": .string(move.table.place),
                "durationMilliseconds": .integer(move.milliseconds),
            ])
        }
        return JSONValue.object([
            "dryRun": .bool(false), "tables": .array(tables), "refusals": .array([]),
            "workers": .integer(Int64(workers)),
        ]).text
    }

    /// The same of a run that was refused.
    static func json(_ refusals: [DistributionRefusal], isDryRun: Bool) -> String {
        JSONValue.object([
            "dryRun": .bool(isDryRun), "tables": .array([]),
            "refusals": .array(refusals.map { .string($0.description) }),
        ]).text
    }
}
