import ArgumentParser
import Glibc
import JSON

/// `make bench`: measures Concord on a real PostgreSQL, and `pgbench` on the same server in the same minute.
@main
struct ConcordBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "concord-bench",
        abstract: "Measure Concord against pgbench on a private PostgreSQL.",
        discussion: """
            Run by scripts/bench. Every benchmark alternates with its reference, and medians are printed; \
            docs/internals/benchmarks.md says how to read them. The benchmarks, and the rows of those that have several:

            \(Benchmark.all.map(\.line).joined(separator: "\n"))
            """
    )

    @Option(help: "How many accounts the database holds.")
    var users = 1_000_000

    @Option(help: "How long each measurement lasts, in seconds.")
    var seconds = 8.0

    @Option(help: "How often product and reference are measured in turn.")
    var rounds = 5

    @Option(help: "How many callers there are at once.")
    var clients = 32

    @Option(help: "How many expired conflicts conflict-open-aged adds.")
    var expiredConflicts = 10_000_000

    @Option(help: ArgumentHelp("Measure this row or benchmark only; may be repeated.", valueName: "name"))
    var only: [String] = []

    @Option(help: ArgumentHelp("Write the results to this file as JSON.", valueName: "path"))
    var json: String?

    @Option(help: ArgumentHelp("Where concord and concord-demo are.", valueName: "directory"))
    var binaries = ".build/release"

    @Option(help: ArgumentHelp("Where the scripts for psql and pgbench are.", valueName: "directory"))
    var scripts = "Benchmarks/SQL"

    @Option(help: ArgumentHelp("The file of the values that rows have to reach.", valueName: "path"))
    var thresholds = "Benchmarks/thresholds.json"

    @Flag(help: "End with an error if a row misses its threshold.")
    var check = false

    @Option(help: ArgumentHelp("A directory for the cluster; its user has to be able to enter it.", valueName: "path"))
    var directory: String

    func validate() throws {
        guard users >= 20_000 else { throw ValidationError("--users: at least 20000, or tokens repeat too soon") }
        guard expiredConflicts > 0 else { throw ValidationError("--expired-conflicts is positive") }
        guard seconds >= 1, rounds >= 1, (1...64).contains(clients) else {
            throw ValidationError("--seconds and --rounds are positive, and there are 1 to 64 clients")
        }
        for name in only where !Benchmark.all.contains(where: { $0.rows.contains(name) || $0.name == name }) {
            throw ValidationError("--only: there is no row or benchmark \(name). --help lists them")
        }
    }

    func run() async throws {
        let plan = Plan(
            users: users,
            seconds: seconds,
            rounds: rounds,
            clients: clients,
            expiredConflicts: expiredConflicts
        )
        let thresholds = try Threshold.all(at: thresholds)
        let chosen = Benchmark.all.map { ($0, rows: rows(of: $0)) }.filter { !$0.rows.isEmpty }
        for name in chosen.flatMap(\.rows) where thresholds[name] == nil {
            throw BenchmarkFailure("\(self.thresholds) has no row \(name)")
        }
        let lab = try await Lab.open(plan, directory: directory, binaries: binaries, scripts: scripts)
        var outcomes: [Outcome] = []
        do {
            for (benchmark, rows) in chosen {
                for var outcome in try await benchmark.measure(lab) {
                    guard benchmark.rows.contains(outcome.name) else {
                        throw BenchmarkFailure("\(benchmark.name) does not name its row \(outcome.name)")
                    }
                    guard rows.contains(outcome.name) else { continue }
                    outcome.threshold = thresholds[outcome.name] ?? nil
                    lab.note(outcome.line)
                    outcomes.append(outcome)
                }
            }
        } catch {
            await lab.close()
            throw error
        }
        await lab.close()
        print(Outcome.table(outcomes))
        if let json { try write(Outcome.document(outcomes, plan).text + "\n", to: json) }
        if check, !outcomes.allSatisfy(\.isMet) { throw ExitCode.failure }
    }

    /// The rows of `benchmark` that `--only` names; all of them if it names the benchmark or is absent.
    private func rows(of benchmark: Benchmark) -> [String] {
        only.isEmpty || only.contains(benchmark.name) ? benchmark.rows : benchmark.rows.filter(only.contains)
    }
}

extension Benchmark {
    fileprivate var line: String {
        let line = "  \(name)".padded(to: 18) + summary
        return rows == [name] ? line : line + "\n".padded(to: 19) + rows.joined(separator: ", ")
    }
}

/// The amount of work.
struct Plan: Sendable {
    let users: Int
    let seconds: Double
    let rounds: Int
    let clients: Int
    let expiredConflicts: Int

    /// Users with an identity at the issuer and a session.
    var linked: Int { users / 5 }
    /// Users with a password.
    var passwords: Int { users / 20 }
}
