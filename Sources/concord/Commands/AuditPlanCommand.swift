import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import JSON
import Synchronization

/// `concord audit plan`
struct AuditPlanCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Write a plan that repairs what the rules find, for a review.",
        discussion: """
            Plans repairs of findings of severity error. --rule plans those of the rules that you name, and --all \
            those of every rule. They can cost users their sign-in methods, so read the consequences that concord \
            audit apply states.

            Writes nothing to the database. Each line of standard output is one operation; delete lines, or comment \
            them out with #. Standard error lists the findings that need a person's decision. Run concord audit apply \
            next. Exits with 1 if no account has a uid or an address that --user or --emails names; the plan for the \
            other accounts is still complete. Exits with 64 if the tenant does not exist.

            EXAMPLES
              concord audit plan >plan.ndjson
              concord audit plan --rule unused-password >plan.ndjson
            """
    )

    @OptionGroup var configuration: ConfigurationOptions
    @OptionGroup var selecting: AuditSelectionOptions
    @OptionGroup var reading: SnapshotOptions

    @Flag(help: "Plan repairs of findings of every severity.")
    var all = false

    func validate() throws {
        guard !all || selecting.ruleIDs.isEmpty else { throw ValidationError("give --rule or --all, not both") }
    }

    func perform() async throws {
        let configuration = try AuditConfiguration(try configuration.sources())
        let postgres = configuration.database.postgres
        // Times in a plan have milliseconds.
        let now = Timestamp(millisecondsSinceEpoch: Effects.system.now().millisecondsSinceEpoch)
        let (project, selection) = try await withClient(postgres) { client in
            let store = AccountStore(client: client)
            return (
                try await AuditedProject.load(store, configuration.providerRegistry),
                try await selecting.selection(store, reading, before: now)
            )
        }
        try await namingDatabase(postgres) {
            try await plan(reading.snapshots(postgres), project, selection, at: now)
        }
    }

    private func plan(
        _ snapshots: AccountSnapshots,
        _ project: AuditedProject,
        _ selected: AuditSelection,
        at now: Timestamp
    ) async throws {
        let selection = selected.accounts
        let terms = project.terms(at: now)
        let rules = selecting.rules(for: selection)
        let audit = Audit(
            snapshots,
            rules: rules,
            terms: terms
        )
        let total: Int64? = if case .all = selection { try await snapshots.estimatedCount() } else { nil }
        let header = PlanFile.Header(plan: Effects.system.newPlanID(), project: project.id, madeAt: now)
        let writer = PlanWriter(header, showsIdentifiers: reading.showIdentifiers)
        let walk = SnapshotWalk(
            total: total,
            advice: "the plan is incomplete; make it again",
            showsProgress: reading.readers.progress.showsProgress
        )
        let summary = Mutex(PlanSummary())
        let planned = all || !selecting.ruleIDs.isEmpty ? rules : rules.filter { $0.severity == .error }
        let inProject = rules.flatMap { $0.findings(inProjectOf: terms) }
        let plannedIDs = Set(planned.map(\.id))
        for finding in inProject where plannedIDs.contains(finding.rule.id) { summary.withLock { $0.count(finding) } }
        try writer.begin(options: options, terms: terms)
        let result = try await walk.run {
            try await audit.plan(
                selection,
                tenant: reading.tenantID,
                planning: plannedIDs,
                check: walk.checkForEnd,
                onProposal: { proposal in
                    if case .repair(let repair) = proposal.offer { try writer.write(repair, proposal) }
                    summary.withLock { $0.count(proposal) }
                },
                report: { try walk.report($0.accounts, at: nil) }
            )
        }
        try writer.end()
        complain(summary.withLock { $0.text(accounts: result.accounts) })
        let found = inProject.reduce(into: result.findings) { $0[$1.rule.id, default: 0] += 1 }
        if let unplanned = Self.unplanned(rules, plannedIDs, found) { complain(unplanned) }
        guard selecting.foundAll(selected, result) else { throw ExitCode.answerIsNo }
    }

    /// The findings without an operation, and the option that plans them; `nil` if there are none.
    private static func unplanned(
        _ rules: [AuditRule],
        _ planned: Set<String>,
        _ findings: [String: Int64]
    ) -> String? {
        let rows = rules.filter { !planned.contains($0.id) && findings[$0.id, default: 0] > 0 }
        guard !rows.isEmpty else { return nil }
        let total = rows.reduce(0) { $0 + findings[$1.id, default: 0] }
        let width = rows.map(\.id.count).max() ?? 0
        return
            (["left out: \(grouped(total)) \(total == 1 ? "finding" : "findings") of lower severity than error"]
            + rows.map {
                "\(PlanSummary.number(findings[$0.id, default: 0]))  \(padded($0.id, to: width))  \($0.severity.rawValue)"
            }
            + ["to plan the findings of one rule: --rule ID; of all rules: --all"])
            .joined(separator: "\n")
    }

    private var options: JSONValue {
        var options: [String: JSONValue] = [:]
        if all { options["all"] = .bool(true) }
        if !selecting.ruleIDs.isEmpty { options["rules"] = .array(selecting.ruleIDs.map { .string($0) }) }
        options["tenant"] = reading.tenant.map { .string($0) }
        if !selecting.users.isEmpty { options["users"] = .array(selecting.users.map { .string($0) }) }
        options["since"] = selecting.since.map { .string($0) }
        options["emails"] = selecting.emails.map { .string($0) }
        return .object(options)
    }
}

/// The operations of a plan and the findings for a person to decide, rule by rule.
struct PlanSummary: Sendable {
    private struct Row: Hashable {
        var rule: String
        /// The operation, or the reason for none.
        var text: String
    }

    private var repairs: [Row: Int64] = [:]
    private var left: [Row: Int64] = [:]

    mutating func count(_ proposal: Proposal) {
        switch proposal.offer {
        case .repair(let repair): repairs[Row(rule: proposal.finding.rule, text: repair.name), default: 0] += 1
        case .person(let reason): left[Row(rule: proposal.finding.rule, text: reason), default: 0] += 1
        }
    }

    /// No plan changes the configuration of a project.
    mutating func count(_ finding: ProjectFinding) {
        left[Row(rule: finding.rule.id, text: finding.rule.repair), default: 0] += 1
    }

    func text(accounts: Int64) -> String {
        func total(_ rows: [Row: Int64]) -> Int64 { rows.values.reduce(0, +) }
        var lines = ["\(grouped(accounts)) \(accounts == 1 ? "account" : "accounts"), \(operations(total(repairs)))"]
        lines += Self.lines(repairs)
        if !left.isEmpty {
            lines.append("for a person to decide: \(grouped(total(left)))")
            lines += Self.lines(left)
        }
        return lines.joined(separator: "\n")
    }

    private static func lines(_ rows: [Row: Int64]) -> [String] {
        let width = rows.keys.map(\.rule.count).max() ?? 0
        let order = Dictionary(uniqueKeysWithValues: AuditRule.all.enumerated().map { ($1.id, $0) })
        return rows.sorted { (order[$0.key.rule] ?? 0, $0.key.text) < (order[$1.key.rule] ?? 0, $1.key.text) }
            .map { row, count in "\(number(count))  \(padded(row.rule, to: width))  \(row.text)" }
    }

    /// Aligns a number to the right in 9 characters.
    static func number(_ count: Int64) -> String {
        padded(grouped(count), to: 9, onLeft: true)
    }
}
