import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import JSON
import Synchronization

/// The output formats of a simulation.
enum SimulationFormat: String, CaseIterable, ExpressibleByArgument {
    /// For people: the number of accounts for each effect, then some examples.
    case text
    /// A JSON object for each account and effect, one for each different answer, and one with the summary.
    case ndjson
    /// RFC 4180, with a heading: a row for each account and effect.
    case csv
}

/// Prints the results of a simulation at once. For people, it stores only counts and a few examples, so that memory
/// does not grow.
final class SimulationOutput: Sendable {
    /// The subject of the simulation.
    struct Subject: Sendable {
        var file: String
        var version: Int64
        var changes: [PolicyState.Change]
        /// Parts of the simulation that run.
        var simulated: Set<PolicyState.Change.Effect>
        var since: Timestamp
        var now: Timestamp
    }

    /// The parts of the simulation that follow the accounts.
    struct Afterwards: Sendable {
        /// The sessions that would end at once.
        var sessions: UnusedSessions
        var history: PolicySimulation.History
    }

    private static let examplesMax = 10

    private let format: SimulationFormat
    private let subject: Subject
    private let style: Style
    private let examples = Mutex<[SimulatedEffect: [Prediction]]>([:])

    init(_ format: SimulationFormat, _ subject: Subject, showsIdentifiers: Bool, isColored: Bool) {
        self.format = format
        self.subject = subject
        style = Style(showsIdentifiers: showsIdentifiers, isColored: format == .text && isColored)
    }

    /// Prints the text before the first account.
    func begin() throws {
        switch format {
        case .text:
            try say("Version \(subject.version) is in force; \(subject.file) proposes:")
            if subject.changes.isEmpty { try say("  no change") }
            for line in PolicyText.lines(subject.changes, simulated: subject.simulated) { try say("  \(line)") }
        case .ndjson: break
        case .csv: try say("effect,tenant,user,others,evidence", terminator: "\r\n")
        }
    }

    func report(_ prediction: Prediction) throws {
        switch format {
        case .text:
            examples.withLock { examples in
                guard examples[prediction.effect, default: []].count < Self.examplesMax else { return }
                examples[prediction.effect, default: []].append(prediction)
            }
        case .ndjson:
            try say(
                JSONWriter.text { writer in
                    writer.field("type", "effect")
                    writer.field("effect", prediction.effect.rawValue)
                    style.write(prediction.evidence, of: prediction.user, tenant: prediction.tenant, to: &writer)
                }
            )
        case .csv:
            try say(
                style.csv(
                    [prediction.effect.rawValue],
                    prediction.evidence,
                    of: prediction.user,
                    tenant: prediction.tenant
                ),
                terminator: "\r\n"
            )
        }
    }

    /// Prints the text after the last account.
    ///
    /// `afterwards`: `nil` if the run was stopped.
    func end(_ result: PolicySimulation.Progress, _ afterwards: Afterwards?) throws {
        switch format {
        case .text:
            try say("\n" + accounts(result, isComplete: afterwards != nil))
            guard let afterwards else { break }
            if judgesSessions { try report(afterwards.sessions) }
            try say("\n" + text(afterwards.history))
        case .ndjson:
            if let afterwards {
                for (change, count) in Self.ordered(afterwards.history) {
                    try say(JSONWriter.text { write(change, count, to: &$0) })
                }
                try say(JSONWriter.text { write(result, afterwards, to: &$0) })
            }
        case .csv: break
        }
        try flushOutput()
    }

    /// Prints the number of sessions that would end at once, for people.
    func report(_ sessions: UnusedSessions) throws {
        try say("\n" + Self.ending(sessions))
    }

    /// Prints the number of simulated accounts and of accounts with each effect, for people.
    func endWithCounts(_ result: PolicySimulation.Progress) throws {
        try say("\n" + counts(result, isComplete: true).joined(separator: "\n"))
        try flushOutput()
    }

    private var judgesSessions: Bool { subject.changes.contains { $0.judges == .sessions } }

    // MARK: For people

    private static func ending(_ ended: UnusedSessions) -> String {
        guard ended.sessions > 0 else { return "no session would end" }
        let accounts = count(ended.accounts, "account")
        return "\(count(ended.sessions, "session")) of \(accounts) would end at once: unused for the proposed limit"
    }

    private static func found(_ result: PolicySimulation.Progress) -> [(effect: SimulatedEffect, count: Int64)] {
        SimulatedEffect.allCases.compactMap { effect in result.effects[effect].map { (effect: effect, count: $0) } }
    }

    private func counts(_ result: PolicySimulation.Progress, isComplete: Bool) -> [String] {
        var lines = ["\(Self.count(result.accounts, "account"))\(isComplete ? "" : ", before it was stopped")"]
        if result.unreadable > 0 {
            lines.append(
                "\(grouped(result.unreadable)) of them hold unreadable values and were not judged"
            )
        }
        let found = Self.found(result)
        guard !found.isEmpty else { return lines + ["no account is affected"] }
        let nameWidth = found.map(\.effect.rawValue.count).max() ?? 0
        let countWidth = found.map { grouped($0.count).count }.max() ?? 0
        for (effect, count) in found {
            let name = style.colored(padded(effect.rawValue, to: nameWidth), effect.severity)
            lines.append("  \(padded(grouped(count), to: countWidth, onLeft: true))  \(name)  \(effect.summary)")
        }
        return lines
    }

    private func accounts(_ result: PolicySimulation.Progress, isComplete: Bool) -> String {
        var lines = counts(result, isComplete: isComplete)
        let examples = examples.withLock { $0 }
        for (effect, count) in Self.found(result) {
            let some = examples[effect, default: []]
            lines += ["", style.colored(effect.rawValue, effect.severity)]
            for prediction in some {
                let user = Style.name(of: prediction.user, tenant: prediction.tenant)
                lines.append("  \(padded(user, to: Style.userWidth))  \(style.found(prediction.evidence))")
            }
            let rest = count - Int64(some.count)
            if rest > 0 { lines.append("  and \(grouped(rest)) more; --format ndjson lists all") }
        }
        return lines.joined(separator: "\n")
    }

    private func text(_ history: PolicySimulation.History) -> String {
        var lines = [
            """
            Since \(RFC3339.text(subject.since)): repeated \(Self.count(history.events, "decision")), \
            \(Self.count(history.questions, "question"))
            """
        ]
        if history.unreadable > 0 {
            lines.append("\(grouped(history.unreadable)) of them are known only to another version of Concord")
        }
        if history.answeredOtherwiseNow > 0 {
            lines.append(
                "\(grouped(history.answeredOtherwiseNow)) of them have another answer under version \(subject.version) than they had then"
            )
        }
        if history.withoutFacts > 0 {
            lines.append(
                """
                not repeated: \(Self.count(history.withoutFacts, "ordinary sign-in")) without stored facts; the effects on \
                accounts above include them
                """
            )
        }
        let changes = Self.ordered(history)
        guard !changes.isEmpty else { return (lines + ["no answer would change"]).joined(separator: "\n") }
        let rows =
            [["COUNT", "ACCOUNTS", "PROVIDER", "NOW", "PROPOSED", "FOR EXAMPLE"]]
            + changes.map { change, count in
                [
                    grouped(count.questions), Self.accounts(count), change.provider?.rawValue ?? "-",
                    "\(change.ruleBefore.title) \(change.before.text)",
                    "\(change.ruleAfter.title) \(change.after.text)",
                    count.examples.prefix(1).map { "\($0.user.rawValue), \($0.decision.text)" }.joined(),
                ]
            }
        let width = Terminal.width.map { $0 - 2 }
        lines += TextTable.lines(rows, rightAligned: 2, fitting: width, whole: [0, 1, 5]).map { "  \($0)" }
        return lines.joined(separator: "\n")
    }

    private static func accounts(_ count: PolicySimulation.HistoryCount) -> String {
        grouped(Int64(count.accounts)) + (count.accounts == PolicySimulation.HistoryCount.accountsMax ? "+" : "")
    }

    private static func count(_ number: Int64, _ noun: String) -> String {
        "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// Sorted by frequency, the most frequent first.
    private static func ordered(
        _ history: PolicySimulation.History
    ) -> [(PolicySimulation.HistoryChange, PolicySimulation.HistoryCount)] {
        func name(_ change: PolicySimulation.HistoryChange) -> String {
            let provider = change.provider?.rawValue ?? ""
            return "\(change.ruleBefore.rawValue) \(change.ruleAfter.rawValue) \(provider) \(change.after.text)"
        }
        return history.changes.map { ($0.key, $0.value) }.sorted { left, right in
            left.1.questions == right.1.questions
                ? name(left.0) < name(right.0) : left.1.questions > right.1.questions
        }
    }

    // MARK: For programs

    private func write(
        _ change: PolicySimulation.HistoryChange,
        _ count: PolicySimulation.HistoryCount,
        to writer: inout JSONWriter
    ) {
        writer.field("type", "history")
        writer.field("provider", change.provider?.rawValue)
        writer.field("ruleNow", change.ruleBefore.rawValue)
        writer.field("now", change.before.text)
        writer.field("ruleProposed", change.ruleAfter.rawValue)
        writer.field("proposed", change.after.text)
        writer.field("questions", count.questions)
        writer.field("accounts", Int64(count.accounts))
        writer.field("examples", objects: count.examples) { writer, example in
            writer.field("decision", example.decision.text)
            writer.field("occurredAt", RFC3339.text(example.occurredAt))
            writer.field("tenant", example.tenant.rawValue)
            writer.field("user", example.user.rawValue)
        }
    }

    private func write(
        _ result: PolicySimulation.Progress,
        _ afterwards: Afterwards,
        to writer: inout JSONWriter
    ) {
        let (sessions, history) = (afterwards.sessions, afterwards.history)
        writer.field("type", "summary")
        writer.field("at", RFC3339.text(subject.now))
        writer.field("version", subject.version)
        writer.field("accounts", result.accounts)
        writer.field("unreadable", result.unreadable)
        writer.field("effects") { writer in
            for effect in SimulatedEffect.allCases {
                writer.field(effect.rawValue, result.effects[effect, default: 0])
            }
        }
        writer.field("sessionsEnded") { writer in
            writer.field("sessions", sessions.sessions)
            writer.field("accounts", sessions.accounts)
        }
        writer.field("history") { writer in
            writer.field("since", RFC3339.text(subject.since))
            writer.field("decisions", history.events)
            writer.field("questions", history.questions)
            writer.field("unreadable", history.unreadable)
            writer.field("answeredOtherwiseNow", history.answeredOtherwiseNow)
            writer.field("withoutFacts", history.withoutFacts)
            writer.field("changed", history.changes.values.reduce(0) { $0 + $1.questions })
        }
    }
}

extension SimulatedEffect {
    /// The severity of the effect.
    fileprivate var severity: AuditRule.Severity {
        switch self {
        case .lockedOut: .error
        case .methodLost, .wouldSplit, .wouldConflict, .wouldBeTakenOver, .wouldBeRefused, .proofLost, .conflictStuck,
            .addressShared, .secondFactorAsked, .secondFactorSkipped:
            .warning
        case .wouldLink, .wouldBeVerified, .methodGained, .letIn: .note
        }
    }
}
