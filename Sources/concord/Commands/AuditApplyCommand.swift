import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import JSON

/// `concord audit apply`
struct AuditApplyCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Show what a plan would do now, and apply it.",
        discussion: """
            States what the plan means for users, and asks. Checks the whole file before it changes anything. Leaves \
            out an operation if its account has changed since the plan was made. If the command ends early, run it \
            again to finish: it does nothing twice. Exits with 1 if an operation was left out or undone before, or if \
            you do not agree; with 75 on Ctrl-C.

            EXAMPLES
              concord audit apply --dry-run plan.ndjson
              concord audit apply plan.ndjson
            """
    )

    @OptionGroup var configuration: ConfigurationOptions

    @OptionGroup var progress: ProgressOptions

    @Flag(help: "Apply the plan without asking.")
    var yes = false

    @Flag(help: "Show what the plan would do and what it means for users, and change nothing.")
    var dryRun = false

    @Option(help: "Output format.")
    var format: OutputFormat = .text

    @Option(help: ArgumentHelp("Number of operations in one transaction.", valueName: "number"))
    var batch = 20

    @Argument(help: ArgumentHelp("The plan, as concord audit plan wrote it.", valueName: "file"))
    var plan: String

    func validate() throws {
        guard (1...AuditRepairs.stepsMax).contains(batch) else {
            throw ValidationError("--batch: give a number from 1 to \(AuditRepairs.stepsMax)")
        }
        guard !dryRun || !yes else { throw ValidationError("give --dry-run or --yes, not both") }
        guard plan != "-" else { throw ValidationError("give a file: the plan is read more than once") }
    }

    func perform() async throws {
        let sources = try configuration.sources()
        let serving = try ServeConfiguration(sources)
        let registry = try AuditConfiguration(sources).providerRegistry
        let interrupt = Interrupt()
        try await withSealingStore(serving) { store, sealer in
            let project = try await AuditedProject.load(store, registry)
            let (header, count) = try check(project)
            // Loads the webhooks that receive the suspensions.
            try await store.refreshWebhooks()
            let repairs = AuditRepairs(
                store: store,
                terms: AuditRepairs.Terms(
                    settings: project.settings,
                    isEnabled: project.isEnabled,
                    undoSeconds: serving.purge.keepUndo.components.seconds
                ),
                sealer: sealer,
                effects: .system
            )
            let application = PlanApplication(
                repairs,
                path: plan,
                header,
                count: count,
                batch: batch,
                showsProgress: progress.showsProgress
            )
            let forecast = try await interrupt.watching { try await application.rehearse(until: interrupt) }
            if dryRun {
                try say(format == .json ? forecast.json(isDryRun: true) : forecast.forecast)
                guard forecast.isComplete else { throw ExitCode.answerIsNo }
                return
            }
            try await ask(about: forecast)
            try await repairs.begin(header.plan, madeAt: header.madeAt, steps: forecast.total)
            let result = try await interrupt.watching { try await application.apply(until: interrupt) }
            try await repairs.finish(header.plan, skipped: result.skippedCount)
            try say(format == .json ? result.json(isDryRun: false) : result.report)
            if format == .text, result.count(of: .applied) > 0 {
                try say("to undo it: concord audit undo \(header.plan.text)")
            }
            let undone = result.count(of: .undoneBefore)
            if undone > 0 {
                complain(
                    "not applied again, because undone before: \(operations(undone)); make a new plan: concord audit plan"
                )
            }
            guard result.isComplete else { throw ExitCode.answerIsNo }
        }
    }

    /// Asks for agreement. The question contains the consequences, because standard output may be a file.
    /// - Throws: `ExitCode`, after a report, if the operator does not agree.
    private func ask(about forecast: PlanOutcome) async throws {
        let needsConsent = !yes && canAsk && forecast.count(of: .applied) > 0
        if format == .text { try say(needsConsent ? forecast.summary : forecast.forecast) }
        try flushOutput()
        guard forecast.count(of: .applied) > 0 else { return }
        let sentences = forecast.consequences.map { $0.sentence + "\n" }.joined()
        let question = "\(sentences)Apply \(operations(forecast.count(of: .applied)))?"
        try await agree(to: question, isAgreed: yes)
    }

    /// Reads the whole file without changing the database.
    private func check(_ project: AuditedProject) throws -> (header: PlanFile.Header, count: Int64) {
        let reader = try PlanReader(path: plan)
        guard reader.header.project == project.id else {
            throw AccountFileError.broken("is a plan of another project", line: 1)
        }
        var count: Int64 = 0
        while try reader.next() != nil { count += 1 }
        return (reader.header, count)
    }
}

/// `1 operation`, `2 operations`.
func operations(_ count: Int64) -> String { "\(grouped(count)) \(count == 1 ? "operation" : "operations")" }

/// Processes the file of a plan in batches.
struct PlanApplication: Sendable {
    private let repairs: AuditRepairs
    private let path: String
    private let header: PlanFile.Header
    private let count: Int64
    private let batch: Int
    private let showsProgress: Bool

    /// - `count`: number of operations in the file.
    init(
        _ repairs: AuditRepairs,
        path: String,
        _ header: PlanFile.Header,
        count: Int64,
        batch: Int,
        showsProgress: Bool
    ) {
        self.repairs = repairs
        self.path = path
        self.header = header
        self.count = count
        self.batch = batch
        self.showsProgress = showsProgress
    }

    /// Returns the outcome that applying the plan would have now. Changes no data.
    func rehearse(until interrupt: Interrupt) async throws -> PlanOutcome {
        try await walk(until: interrupt, isForecast: true) { try await repairs.rehearse($0, of: header.plan) }
    }

    /// Applies the operations that are not applied yet.
    func apply(until interrupt: Interrupt) async throws -> PlanOutcome {
        try await walk(until: interrupt, isForecast: false) { try await repairs.apply($0, of: header.plan) }
    }

    private func walk(
        until interrupt: Interrupt,
        isForecast: Bool,
        _ body: ([PlannedStep]) async throws -> [StepResult]
    ) async throws -> PlanOutcome {
        let reader = try PlanReader(path: path)
        guard reader.header == header else { throw AccountFileError.broken("has changed meanwhile", line: 1) }
        var outcome = PlanOutcome(header)
        let meter = ProgressMeter(total: count, noun: "operations", isShown: showsProgress)
        defer { meter.clear() }
        while true {
            var lines: [PlanReader.Line] = []
            while lines.count < batch, let line = try reader.next() { lines.append(line) }
            guard let first = lines.first else { break }
            do {
                if interrupt.hasCome { throw Interrupted() }
                let results = try await waitingForDatabase { try await body(lines.map(\.step)) }
                for (line, result) in zip(lines, results) {
                    outcome.count(result, line)
                    if !isForecast, let reason = result.outcome.reason {
                        complain("line \(line.number): \(line.step.user.rawValue): \(reason)")
                    }
                }
                meter.show(outcome.seen)
            } catch {
                meter.clear()
                let end = error is Interrupted ? "interrupted" : "stopped"
                complain(
                    isForecast
                        ? "\(end); nothing was changed"
                        : "\(end) before line \(first.number). Run the same command again to finish"
                )
                throw error is Interrupted ? ExitCode.stopped : error
            }
        }
        outcome.total = reader.operationCount ?? 0
        return outcome
    }
}

/// The actual or predicted outcome of a plan's operations.
struct PlanOutcome: Sendable {
    private struct Row: Hashable {
        var rule: String
        var operation: String
    }

    private let header: PlanFile.Header
    /// Number of operations of the original plan. Some lines may have been deleted since.
    var total: Int64 = 0
    private(set) var seen: Int64 = 0
    private var counts: [StepOutcome: Int64] = [:]
    private var applied: [Row: Int64] = [:]
    private var examples: [StepOutcome: [PlanReader.Line]] = [:]
    private var tally = ConsequenceTally()

    private static let examplesMax = 3

    init(_ header: PlanFile.Header) {
        self.header = header
    }

    mutating func count(_ result: StepResult, _ line: PlanReader.Line) {
        let (outcome, step) = (result.outcome, line.step)
        seen += 1
        counts[outcome, default: 0] += 1
        if outcome == .applied {
            applied[Row(rule: step.rule, operation: step.repair.name), default: 0] += 1
            tally.count(step.repair, of: step.user, in: step.tenant, isMailed: result.isOwnerMailed)
        }
        if outcome.reason != nil, examples[outcome, default: []].count < Self.examplesMax {
            examples[outcome, default: []].append(line)
        }
    }

    func count(of outcome: StepOutcome) -> Int64 { counts[outcome, default: 0] }

    var skippedCount: Int64 { counts.reduce(0) { $0 + ($1.key.reason == nil ? 0 : $1.value) } }

    /// Returns true if no operation was skipped or undone before.
    var isComplete: Bool { skippedCount == 0 && count(of: .undoneBefore) == 0 }

    /// The consequences of the applied operations, the most serious first.
    var consequences: [ConsequenceTally.Entry] { tally.entries }

    /// The predicted changes and their consequences.
    var forecast: String { ([summary] + consequences.map(\.sentence)).joined(separator: "\n") }

    /// The predicted changes.
    var summary: String {
        var lines = [
            "plan \(header.plan.text), made \(RFC3339.text(header.madeAt)): \(operations(seen))",
            "\(PlanSummary.number(count(of: .applied)))  would be applied",
        ]
        let width = applied.keys.map(\.rule.count).max() ?? 0
        for (row, count) in appliedRows {
            lines.append("      \(PlanSummary.number(count))  \(padded(row.rule, to: width))  \(row.operation)")
        }
        return (lines + others).joined(separator: "\n")
    }

    /// The applied changes.
    var report: String {
        (["\(operations(seen))", "\(PlanSummary.number(count(of: .applied)))  applied"] + others)
            .joined(separator: "\n")
    }

    /// The same outcome as one JSON object.
    func json(isDryRun: Bool) -> String {
        let leftOut = counts.compactMap { outcome, count in outcome.reason.map { (outcome, $0, count) } }
            .sorted { $0.1 < $1.1 }
        return JSONValue.object([
            "plan": .string(header.plan.text), "madeAt": .string(RFC3339.text(header.madeAt)),
            "dryRun": .bool(isDryRun), "operations": .integer(seen), "applied": .integer(count(of: .applied)),
            "appliedBefore": .integer(count(of: .appliedBefore)), "undoneBefore": .integer(count(of: .undoneBefore)),
            "changes": .array(
                appliedRows.map { row, count in
                    .object(["rule": .string(row.rule), "do": .string(row.operation), "operations": .integer(count)])
                }
            ),
            "consequences": .array(consequences.map(\.json)),
            "leftOut": .array(
                leftOut.map { outcome, reason, count in
                    .object([
                        "reason": .string(reason), "operations": .integer(count),
                        "examples": .array(
                            examples[outcome, default: []].map { line in
                                .object([
                                    "line": .integer(Int64(line.number)), "user": .string(line.step.user.rawValue),
                                ])
                            }
                        ),
                    ])
                }
            ),
        ]).text
    }

    private var appliedRows: [(key: Row, value: Int64)] {
        applied.sorted { ($0.key.rule, $0.key.operation) < ($1.key.rule, $1.key.operation) }
    }

    private var others: [String] {
        var lines: [String] = []
        for (outcome, words) in [(StepOutcome.appliedBefore, "applied before"), (.undoneBefore, "undone before")] {
            if count(of: outcome) > 0 { lines.append("\(PlanSummary.number(count(of: outcome)))  \(words)") }
        }
        for (outcome, count) in counts.sorted(by: { ($0.key.reason ?? "") < ($1.key.reason ?? "") }) {
            guard let reason = outcome.reason else { continue }
            lines.append("\(PlanSummary.number(count))  left out: \(reason)")
            let named = examples[outcome, default: []].map { "line \($0.number): \($0.step.user.rawValue)" }
            lines.append("           for example \(named.joined(separator: ", "))")
        }
        return lines
    }
}

extension StepOutcome {
    /// The reason why the operation was skipped; `nil` if it was not.
    var reason: String? {
        switch self {
        case .applied, .appliedBefore, .undoneBefore: nil
        case .skipped(let refusal): refusal.words
        case .unreadable: "the account holds an unreadable value"
        }
    }
}
