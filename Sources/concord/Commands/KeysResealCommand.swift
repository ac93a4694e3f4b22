import AccountOperations
import AccountStore
import ArgumentParser
import JSON

extension KeysCommand {
    /// `concord keys reseal`
    struct Reseal: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Seal the values of older keys with the current key, so that the older keys can be removed.",
            discussion: """
                Run it once every server has the new key at the front. Servers keep running. Each batch is a \
                transaction. If a server changes a value at the same time, the server's value stays, and the \
                command tries again. Ctrl-C ends after the current batch; run the command again to continue.

                Values that no configured key opens stay as they are, and are counted with the reason.

                Exits with 1 if a value of another key is left, or if you do not agree; with 75 after Ctrl-C.

                EXAMPLES
                  concord keys reseal --dry-run
                  concord keys reseal --yes
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: ArgumentHelp("Number of rows that are read at once.", valueName: "number"))
        var batch = 500

        @Flag(help: "Show what would be sealed again, and change nothing.")
        var dryRun = false

        @Flag(help: "Seal without asking.")
        var yes = false

        @Option(help: "Output format.")
        var format: OutputFormat = .text

        @OptionGroup var progress: ProgressOptions

        func validate() throws {
            guard (1...10_000).contains(batch) else { throw ValidationError("--batch: give a number from 1 to 10000") }
            guard !dryRun || !yes else { throw ValidationError("give --dry-run or --yes, not both") }
        }

        func perform() async throws {
            let serving = try ServeConfiguration(try configuration.sources())
            try await withSealingStore(serving) { store, sealer in
                try await reseal(SealedValues(store: store, sealer: sealer), current: sealer.sealingKey.id)
            }
        }

        private func reseal(_ sealed: SealedValues, current: String) async throws {
            let before = try await sealed.uses()
            let older = before.filter { $0.keyID != current }.reduce(0) { $0 + $1.count }
            let question = "Seal \(values(older)) of other keys with key \(current)?"
            if format == .text { try say(ResealReport.uses(before, current: current)) }
            try flushOutput()
            if older > 0, !dryRun { try await agree(to: question, isAgreed: yes) }
            let interrupt = Interrupt(saying: "stopping after this batch")
            let meter = ProgressMeter(
                total: before.reduce(0) { $0 + $1.count },
                noun: "rows",
                isShown: progress.showsProgress
            )
            let outcome = try await interrupt.watching {
                defer { meter.clear() }
                guard older > 0 else { return SealedValues.Outcome() }
                return try await sealed.reseal(
                    batch: batch,
                    dryRun: dryRun,
                    progress: { meter.show($0) },
                    mustStop: { interrupt.hasCome }
                )
            }
            let after = dryRun ? before : try await sealed.uses()
            let report = ResealReport(outcome: outcome, uses: after, current: current, isDryRun: dryRun)
            try say(format == .json ? report.json.text : report.text)
            guard outcome.isFinished else { throw ExitCode.stopped }
            guard dryRun ? outcome.unreadableCount == 0 : report.leftCount == 0 else { throw ExitCode.answerIsNo }
        }
    }
}

/// The outcome of resealing, in its output formats.
struct ResealReport {
    let outcome: SealedValues.Outcome
    /// The uses of keys afterwards.
    let uses: [SealedValues.Use]
    let current: String
    let isDryRun: Bool

    /// Number of values that other keys seal.
    var leftCount: Int64 { uses.filter { $0.keyID != current }.reduce(0) { $0 + $1.count } }

    /// A line for each key that seals values.
    static func uses(_ uses: [SealedValues.Use], current: String) -> String {
        let counts = Dictionary(uses.map { ($0.keyID, $0.count) }, uniquingKeysWith: +)
        guard !counts.isEmpty else { return "there is no sealed value" }
        return counts.sorted { KeyOrder.precedes($0.key, $1.key) }
            .map { id, count in
                "\(id.map { "key \($0)" } ?? "no key"): \(values(count))\(id == current ? ", current" : "")"
            }
            .joined(separator: "\n")
    }

    var text: String {
        var lines: [String] = []
        if isDryRun {
            lines.append("\(values(outcome.resealed)) would be sealed with key \(current)")
        } else {
            lines.append("\(values(outcome.resealed)) sealed with key \(current)")
        }
        if outcome.skipped > 0 { lines.append("\(values(outcome.skipped)) changed meanwhile, and tried again") }
        if !outcome.isFinished { lines.append("stopped before the end: run the command again to continue") }
        for (column, reason, count) in unreadable {
            lines.append("\(values(count)) of \(column.rawValue) cannot be opened: \(reason.nextStep)")
        }
        let others = uses.filter { $0.keyID != current }
        if !isDryRun, outcome.isFinished, !others.isEmpty {
            lines.append("\(values(leftCount)) of other keys left:")
            lines += others.map {
                "  \($0.column.rawValue): \(values($0.count)) of \($0.keyID.map { "key \($0)" } ?? "no key")"
            }
        }
        return lines.joined(separator: "\n")
    }

    private var unreadable: [(column: SealedColumn, reason: SealedValues.Obstacle, count: Int64)] {
        SealedColumn.allCases.flatMap { column in
            (outcome.unreadable[column] ?? [:]).map { (column, $0.key, $0.value) }
                .sorted { $0.1.nextStep < $1.1.nextStep }
        }
    }

    var json: JSONValue {
        .object([
            "dryRun": .bool(isDryRun), "key": .string(current), "resealed": .integer(outcome.resealed),
            "skipped": .integer(outcome.skipped), "finished": .bool(outcome.isFinished), "left": .integer(leftCount),
            "unreadable": .array(
                unreadable.map { column, reason, count in
                    .object([
                        "column": .string(column.rawValue), "reason": .string(reason.code),
                        "key": reason.keyID.map { .string($0) } ?? .null, "values": .integer(count),
                    ])
                }
            ),
        ])
    }
}

extension SealedValues.Obstacle {
    /// The reason and the next step.
    fileprivate var nextStep: String {
        switch self {
        case .unknownKey(let id):
            "key \(id) is not configured. Add it to keys.encryption behind the current key, and run the command again"
        case .wrongKey(let id):
            "key \(id ?? "?") has other bytes than the key that sealed them, or they were modified. "
                + "Compare the key with your copy of it"
        case .malformed: "not sealed values. Restore them from a backup"
        }
    }

    fileprivate var code: String {
        switch self {
        case .unknownKey: "unknownKey"
        case .wrongKey: "wrongKey"
        case .malformed: "malformed"
        }
    }

    fileprivate var keyID: String? {
        switch self {
        case .unknownKey(let id): id
        case .wrongKey(let id): id
        case .malformed: nil
        }
    }
}
