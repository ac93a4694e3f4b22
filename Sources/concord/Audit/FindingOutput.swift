import AccountLinking
import AccountOperations
import ArgumentParser
import FoundationEssentials
import Glibc
import JSON
import Synchronization

/// The forms in which findings are printed.
enum FindingFormat: String, CaseIterable, ExpressibleByArgument {
    /// For people: columns, in colour on a terminal.
    case text
    /// One JSON object a line, and one with the summary.
    case ndjson
    /// RFC 4180, with a heading.
    case csv
    /// SARIF 2.1.0, for systems that display results of checks.
    case sarif
}

/// The findings that are printed.
enum FindingExtent: Sendable, Hashable {
    /// All, each at once, and the counts at the end.
    case all
    /// The counts, then at most this many findings, the most serious first.
    case first(Int)
    case countsOnly

    /// Number of findings that a terminal shows.
    static let shownByDefault = 50
}

/// Prints each finding at once, or holds as many as are printed after the counts, so that memory does not grow.
final class FindingOutput: Sendable {
    private struct Held {
        var findings: [AuditRule.Severity: [[String]]] = [:]
    }

    private let format: FindingFormat
    private let extent: FindingExtent
    private let rules: [AuditRule]
    private let style: Style
    private let now: Timestamp
    private let count = Mutex(0)
    private let held = Mutex(Held())

    init(
        _ format: FindingFormat,
        _ extent: FindingExtent,
        rules: [AuditRule],
        showsIdentifiers: Bool,
        isColored: Bool,
        at now: Timestamp
    ) {
        self.format = format
        self.extent = extent
        self.rules = rules
        self.now = now
        style = Style(
            showsIdentifiers: showsIdentifiers,
            isColored: format == .text && isColored
        )
    }

    /// Prints the text before the first finding.
    func begin() throws {
        switch format {
        case .text, .ndjson: break
        case .csv: try say("rule,severity,tenant,user,others,evidence", terminator: "\r\n")
        case .sarif: try say(SARIF.beginning(rules), terminator: "")
        }
    }

    func report(_ finding: Finding) throws {
        try report(style.cells(finding), finding.severity) { format in
            switch format {
            case .text: style.line(finding)
            case .ndjson: JSONWriter.text { style.write(finding, to: &$0) }
            case .csv: style.csv(finding)
            case .sarif: SARIF.result(finding, rules, style)
            }
        }
    }

    /// Prints a finding about the project's configuration, which names no account.
    func report(_ finding: ProjectFinding) throws {
        try report(style.cells(finding), finding.rule.severity) { format in
            switch format {
            case .text: style.line(finding)
            case .ndjson: JSONWriter.text { style.write(finding, to: &$0) }
            case .csv: style.csv(finding)
            case .sarif: SARIF.result(finding, style)
            }
        }
    }

    private func report(
        _ cells: @autoclosure () -> [String],
        _ severity: AuditRule.Severity,
        _ text: (FindingFormat) -> String
    ) throws {
        switch extent {
        case .all: break
        case .countsOnly: return
        case .first(let limit):
            return held.withLock { held in
                if held.findings[severity, default: []].count < limit {
                    held.findings[severity, default: []].append(cells())
                }
            }
        }
        let index = count.withLock { count in
            count += 1
            return count - 1
        }
        switch format {
        case .text:
            if index == 0 { try say(style.heading) }
            try say(text(format))
        case .ndjson: try say(text(format))
        case .csv: try say(text(format), terminator: "\r\n")
        case .sarif: try say((index == 0 ? "\n" : ",\n") + text(format), terminator: "")
        }
    }

    /// Prints the text after the last finding.
    func end(_ result: Audit.Progress) throws {
        switch format {
        case .text:
            let total = result.findings.values.reduce(0, +)
            if extent == .all, total > 0 { try say("") }
            try say(style.summary(result, rules))
            try sayHeld(of: total)
        case .ndjson:
            try say(
                JSONWriter.text { writer in
                    writer.field("type", "summary")
                    writer.field("at", RFC3339.text(now))
                    writer.field("accounts", result.accounts)
                    writer.field("findings") { writer in
                        for rule in rules { writer.field(rule.id, result.findings[rule.id, default: 0]) }
                    }
                }
            )
        case .csv: break
        case .sarif: try say(SARIF.end(result, at: now, isComplete: true))
        }
        try flushOutput()
    }

    /// Prints the held findings, the most serious first.
    ///
    /// - `total`: number of all findings.
    private func sayHeld(of total: Int64) throws {
        guard case .first(let limit) = extent, total > 0 else { return }
        let findings = held.withLock(\.findings)
        let rows = AuditRule.Severity.allCases.reversed().flatMap { severity in
            findings[severity, default: []].map { (severity, $0) }
        }
        .prefix(limit)
        if !rows.isEmpty {
            try say("")
            let lines = TextTable.lines([Style.headings] + rows.map(\.1), fitting: Terminal.width, whole: [0, 2])
            try say(lines[0])
            for (row, line) in zip(rows, lines.dropFirst()) { try say(style.coloringSeverity(of: line, row.0)) }
        }
        let rest = total - Int64(rows.count)
        if rest > 0 { try say("and \(grouped(rest)) more: --limit shows more, --format ndjson lists all") }
    }

    /// Prints the text after the last finding of a run that was stopped.
    func breakOff() throws {
        if format == .text { try sayHeld(of: Int64(held.withLock { $0.findings.values.reduce(0) { $0 + $1.count } })) }
        if format == .sarif { try say(SARIF.end(Audit.Progress(), at: now, isComplete: false)) }
        try flushOutput()
    }
}

/// The style in which findings are printed.
struct Style: Sendable {
    let showsIdentifiers: Bool
    var isColored = false

    private static let ruleWidth = AuditRule.all.map(\.id.count).max() ?? 0
    static let userWidth = 28

    static let headings = ["SEVERITY", "RULE", "USER", "FOUND"]

    /// The columns of a finding.
    func cells(_ finding: Finding) -> [String] {
        let user = Self.name(of: finding.user, tenant: finding.tenant)
        return [finding.severity.rawValue, finding.rule, user, found(finding.evidence)]
    }

    func cells(_ finding: ProjectFinding) -> [String] {
        [finding.rule.severity.rawValue, finding.rule.id, Self.project, found(finding.evidence)]
    }

    /// Colours the first column of a line.
    func coloringSeverity(of line: String, _ severity: AuditRule.Severity) -> String {
        let name = severity.rawValue
        return line.hasPrefix(name) ? colored(name, severity) + line.dropFirst(name.count) : line
    }

    var heading: String {
        "\(padded("SEVERITY", to: 8))  \(padded("RULE", to: Self.ruleWidth))  \(padded("USER", to: Self.userWidth))  FOUND"
    }

    func line(_ finding: Finding) -> String {
        let user = Self.name(of: finding.user, tenant: finding.tenant)
        return line(finding.rule, finding.severity, user, finding.evidence)
    }

    func line(_ finding: ProjectFinding) -> String {
        line(finding.rule.id, finding.rule.severity, Self.project, finding.evidence)
    }

    /// The text in the place of an account.
    private static let project = "(project)"

    private func line(_ rule: String, _ severity: AuditRule.Severity, _ user: String, _ evidence: Evidence) -> String {
        let shown = colored(padded(severity.rawValue, to: 8), severity)
        return "\(shown)  \(padded(rule, to: Self.ruleWidth))  \(padded(user, to: Self.userWidth))  \(found(evidence))"
    }

    static func name(of user: UserID, tenant: TenantID) -> String {
        tenant == .project ? user.rawValue : "\(tenant.rawValue)/\(user.rawValue)"
    }

    /// The evidence, and the other accounts.
    func found(_ evidence: Evidence) -> String {
        var found = evidence.items.map { "\($0.name): \(text($0.value))" }
        if !evidence.others.isEmpty {
            found.append("with: \(evidence.others.map(\.rawValue).joined(separator: ", "))")
        }
        return found.joined(separator: "; ")
    }

    func summary(_ result: Audit.Progress, _ rules: [AuditRule]) -> String {
        let total = result.findings.values.reduce(0, +)
        let accounts = "\(grouped(result.accounts)) \(result.accounts == 1 ? "account" : "accounts")"
        guard total > 0 else {
            return "\(accounts), nothing found by \(rules.count) \(rules.count == 1 ? "rule" : "rules")"
        }
        var lines = ["\(accounts), \(grouped(total)) \(total == 1 ? "finding" : "findings")"]
        for severity in AuditRule.Severity.allCases.reversed() {
            for rule in rules where rule.severity == severity {
                guard let count = result.findings[rule.id], count > 0 else { continue }
                lines.append(
                    "  \(colored(padded(severity.rawValue, to: 8), severity))  \(padded(rule.id, to: Self.ruleWidth))  \(grouped(count))"
                )
            }
        }
        lines.append("to explain a rule: concord audit rules RULE")
        return lines.joined(separator: "\n")
    }

    func write(_ finding: Finding, to writer: inout JSONWriter) {
        writer.field("type", "finding")
        writer.field("rule", finding.rule)
        writer.field("severity", finding.severity.rawValue)
        write(finding.evidence, of: finding.user, tenant: finding.tenant, to: &writer)
    }

    func write(_ finding: ProjectFinding, to writer: inout JSONWriter) {
        writer.field("type", "finding")
        writer.field("rule", finding.rule.id)
        writer.field("severity", finding.rule.severity.rawValue)
        writer.field("evidence") { write(finding.evidence, to: &$0) }
    }

    /// An account and its findings.
    func write(_ evidence: Evidence, of user: UserID, tenant: TenantID, to writer: inout JSONWriter) {
        writer.field("tenant", tenant.rawValue)
        writer.field("user", user.rawValue)
        if !evidence.others.isEmpty { writer.field("others", evidence.others.map(\.rawValue)) }
        writer.field("evidence") { write(evidence, to: &$0) }
    }

    private func write(_ evidence: Evidence, to writer: inout JSONWriter) {
        for item in evidence.items {
            switch item.value {
            case .count(let count): writer.field(item.name, count)
            case .addresses(let addresses): writer.field(item.name, addresses.map { shown($0) })
            case .text, .instant, .address, .number, .subject: writer.field(item.name, text(item.value))
            }
        }
    }

    func csv(_ finding: Finding) -> String {
        csv([finding.rule, finding.severity.rawValue], finding.evidence, of: finding.user, tenant: finding.tenant)
    }

    func csv(_ finding: ProjectFinding) -> String {
        csv([finding.rule.id, finding.rule.severity.rawValue, "", "", ""], finding.evidence)
    }

    /// A row about an account: the given columns, then the account and the evidence.
    func csv(_ columns: [String], _ evidence: Evidence, of user: UserID, tenant: TenantID) -> String {
        let others = evidence.others.map(\.rawValue).joined(separator: " ")
        return csv(columns + [tenant.rawValue, user.rawValue, others], evidence)
    }

    private func csv(_ columns: [String], _ evidence: Evidence) -> String {
        let json = JSONWriter.text { write(evidence, to: &$0) }
        return (columns + [json]).map(Self.csvField).joined(separator: ",")
    }

    /// Quotes a field if RFC 4180 requires it.
    private static func csvField(_ text: String) -> String {
        let quote = UInt8(ascii: "\"")
        guard text.utf8.contains(where: { $0 == UInt8(ascii: ",") || $0 == quote || $0 == 0x0A || $0 == 0x0D }) else {
            return text
        }
        var quoted = [quote]
        for byte in text.utf8 {
            if byte == quote { quoted.append(quote) }
            quoted.append(byte)
        }
        quoted.append(quote)
        return String(decoding: quoted, as: UTF8.self)
    }

    func text(_ value: Evidence.Value) -> String {
        switch value {
        case .text(let text): text
        case .count(let count): grouped(count)
        case .instant(let instant): RFC3339.text(instant)
        case .address(let address): shown(address)
        case .addresses(let addresses): addresses.map { shown($0) }.joined(separator: ", ")
        case .number(let number): shown(number)
        case .subject(let subject): showsIdentifiers ? subject : maskedSubject(subject)
        }
    }

    private func shown(_ address: String) -> String { showsIdentifiers ? address : maskedAddress(address) }

    /// The provider, and the beginning of the name.
    private func maskedSubject(_ subject: String) -> String {
        let parts = subject.split(separator: "/", maxSplits: 1)
        guard parts.count == 2 else { return "…" }
        return "\(parts[0])/\(parts[1].prefix(2))…"
    }

    func colored(_ text: String, _ severity: AuditRule.Severity) -> String {
        guard isColored else { return text }
        let code =
            switch severity {
            case .note: "2"
            case .warning: "33"
            case .error: "31;1"
            }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}

/// Static Analysis Results Interchange Format 2.1.0 (OASIS), written piece by piece.
enum SARIF {
    static func beginning(_ rules: [AuditRule]) -> String {
        let described = rules.map { rule in
            JSONWriter.text { writer in
                writer.field("id", rule.id)
                writer.field("shortDescription") { $0.field("text", rule.summary) }
                writer.field("fullDescription") { $0.field("text", rule.reason) }
                writer.field("help") { $0.field("text", rule.repair) }
                writer.field("defaultConfiguration") { $0.field("level", rule.severity.rawValue) }
            }
        }
        .joined(separator: ",")
        return """
            {"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{"tool":{"driver":\
            {"name":"concord","version":"\(ConcordVersion.current)","rules":[\(described)]}},"results":[
            """
    }

    static func result(_ finding: Finding, _ rules: [AuditRule], _ style: Style) -> String {
        let rule = rules.first { $0.id == finding.rule }
        let users = [finding.user] + finding.evidence.others
        return result(
            finding.rule,
            finding.severity,
            rule?.summary ?? finding.rule,
            finding.evidence,
            style,
            at: users.map { "\(finding.tenant.rawValue)/\($0.rawValue)" }
        )
    }

    static func result(_ finding: ProjectFinding, _ style: Style) -> String {
        let rule = finding.rule
        return result(rule.id, rule.severity, rule.summary, finding.evidence, style, at: ["project"])
    }

    private static func result(
        _ rule: String,
        _ severity: AuditRule.Severity,
        _ summary: String,
        _ evidence: Evidence,
        _ style: Style,
        at places: [String]
    ) -> String {
        let found = evidence.items.map { "\($0.name): \(style.text($0.value))" }.joined(separator: "; ")
        return JSONWriter.text { writer in
            writer.field("ruleId", rule)
            writer.field("level", severity.rawValue)
            writer.field("message") { $0.field("text", "\(summary) \(found)") }
            writer.field("locations", objects: places) { writer, place in
                writer.field("logicalLocations", objects: [place]) { writer, place in
                    writer.field("fullyQualifiedName", place)
                    writer.field("kind", "resource")
                }
            }
        }
    }

    static func end(_ result: Audit.Progress, at now: Timestamp, isComplete: Bool) -> String {
        let invocation = JSONWriter.text { writer in
            writer.field("executionSuccessful", isComplete)
            writer.field("startTimeUtc", RFC3339.text(now))
        }
        return "\n],\"invocations\":[\(invocation)]}]}"
    }
}
