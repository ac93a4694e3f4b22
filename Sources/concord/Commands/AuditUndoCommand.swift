import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import JSON

/// `concord audit undo`
struct AuditUndoCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Undo the changes of a plan.",
        discussion: """
            Undoes the newest operation first. Lists and leaves out operations whose account was changed later. \
            Withdraws mails about what is undone, unless they were sent. If the command ends early, run it again to \
            finish. Exits with 1 if an operation stays or was not applied, or if you do not agree; with 75 on Ctrl-C.

            EXAMPLES
              concord audit undo plan.ndjson
              concord audit undo PLAN --step 17
            """
    )

    @OptionGroup var configuration: ConfigurationOptions

    @OptionGroup var progress: ProgressOptions

    @Flag(help: "Undo the plan without asking.")
    var yes = false

    @Option(help: ArgumentHelp("Only this operation, by its number.", valueName: "number"))
    var step: Int64?

    @Argument(help: ArgumentHelp("The plan: its id or its file.", valueName: "plan"))
    var plan: String

    func validate() throws {
        if let step, !(1...Int64(Int32.max)).contains(step) {
            throw ValidationError("--step: give the number of an operation")
        }
    }

    func perform() async throws {
        let configuration = try AuditConfiguration(try configuration.sources())
        let id = try AppliedPlan.ID(text: plan) ?? PlanReader(path: plan).header.plan
        let interrupt = Interrupt()
        try await withClient(configuration.database.postgres) { client in
            let store = AccountStore(client: client)
            guard let plan = try await store.plan(id) else {
                complain(
                    "no such plan was applied, or it can no longer be undone; to list plans: concord audit plans"
                )
                throw ExitCode.answerIsNo
            }
            // Loads the webhooks that receive the restored methods.
            try await store.refreshWebhooks()
            let count = try await self.count(in: plan, store)
            guard count > 0 else {
                try say("plan \(id.text): \(step.map { "operation \($0) was undone before" } ?? "nothing to undo")")
                return
            }
            try say("plan \(id.text), begun \(RFC3339.text(plan.beganAt)): \(operations(count)) to undo")
            try flushOutput()
            try await agree(to: "Undo \(operations(count))?", isAgreed: yes)
            let undo = RepairUndo(store: store, effects: .system)
            let left = try await interrupt.watching { try await walk(undo, store, id, until: interrupt) }
            guard left == 0 else { throw ExitCode.answerIsNo }
        }
    }

    /// Number of operations of the plan to undo.
    /// - Throws: `ExitCode`, after a report, if the named operation was never applied.
    private func count(in plan: AppliedPlan, _ store: AccountStore) async throws -> Int64 {
        guard let step else { return plan.applied - plan.undone }
        if let applied = try await store.step(step, of: plan.id) { return applied.isUndone ? 0 : 1 }
        let reason =
            step > plan.steps
            ? "the plan has \(operations(plan.steps)), and none is number \(step)" : "operation \(step) was not applied"
        complain("\(reason); nothing was changed")
        throw ExitCode.answerIsNo
    }

    /// Number of steps in a batch.
    private static let pageMax = 100

    /// - Returns: the number of operations that stay.
    private func walk(
        _ undo: RepairUndo,
        _ store: AccountStore,
        _ plan: AppliedPlan.ID,
        until interrupt: Interrupt
    ) async throws -> Int64 {
        let meter = ProgressMeter(total: nil, noun: "operations", isShown: progress.showsProgress)
        var (undone, left): (Int64, Int64) = (0, 0)
        var mails: [WithdrawnMail: Int64] = [:]
        func report() throws {
            meter.clear()
            try say("\(grouped(undone)) undone, \(grouped(left)) stay")
            if let text = Self.text(mails) { try say(text) }
        }
        var before = step.map { $0 + 1 } ?? Int64(Int32.max) + 1
        do {
            while true {
                let steps = try await waitingForDatabase {
                    if let step { return try await store.step(step, of: plan).map { [$0] } ?? [] }
                    return try await store.appliedSteps(of: plan, before: before, countMax: Self.pageMax)
                }
                for step in steps {
                    if interrupt.hasCome { throw Interrupted() }
                    let outcome = try await waitingForDatabase { try await undo.undo(step, of: plan) }
                    if let reason = outcome.reason {
                        left += 1
                        complain("operation \(step.number): \(step.user.rawValue): \(reason)")
                    } else {
                        undone += 1
                        if case .undone(let mail?) = outcome { mails[mail, default: 0] += 1 }
                    }
                    before = step.number
                    meter.show(undone + left)
                }
                if step != nil || steps.count < Self.pageMax { break }
            }
        } catch {
            try report()
            complain("\(error is Interrupted ? "interrupted" : "stopped"). Run the same command again to finish")
            throw error is Interrupted ? ExitCode.stopped : error
        }
        try report()
        return left
    }

    /// The number of sent and unsent mails about undone operations; `nil` if there were none.
    private static func text(_ mails: [WithdrawnMail: Int64]) -> String? {
        guard !mails.isEmpty else { return nil }
        let (withdrawn, hadLeft) = (mails[.withdrawn, default: 0], mails[.hadLeft, default: 0])
        return
            "\(grouped(withdrawn)) \(withdrawn == 1 ? "mail" : "mails") withdrawn, \(grouped(hadLeft)) sent before"
    }
}

extension UndoOutcome {
    /// The reason why the operation stays; `nil` if it does not.
    fileprivate var reason: String? {
        switch self {
        case .undone, .undoneBefore: nil
        case .expired: "it can no longer be undone"
        case .final: "deleted sessions, codes, conflicts and rows without an account cannot be restored"
        case .clashes(let clashes):
            "changed since: "
                + Set(LaterChange.all(clashes).map(\.part.words)).sorted().joined(separator: ", ")
        }
    }
}

/// `concord audit plans`
struct AuditPlansCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "plans",
        abstract: "List the applied plans, newest first.",
        discussion: """
            Lists a plan for as long as it can be undone.

            EXAMPLES
              concord audit plans
            """
    )

    @OptionGroup var configuration: ConfigurationOptions

    @Option(help: "Output format.")
    var format: ListFormat = .text

    /// Maximum number of listed plans.
    private static let countMax = 100

    func perform() async throws {
        let configuration = try DatabaseConfiguration(try configuration.sources())
        let plans = try await withClient(configuration.postgres) { client in
            try await AccountStore(client: client).plans(countMax: Self.countMax)
        }
        try Self.listing.write(plans, as: format)
    }

    private static var listing: Listing<AppliedPlan> {
        func count(_ number: Int64?) -> JSONValue? { number.map { .integer($0) } }
        return Listing(
            [
                .init("plan", "PLAN") { .string($0.id.text) },
                .init("madeAt", nil) { .string(RFC3339.text($0.madeAt)) },
                .init("begunAt", "BEGUN") { .string(RFC3339.text($0.beganAt)) },
                .init(
                    "finishedAt",
                    "FINISHED",
                    { $0.finishedAt.map { .string(RFC3339.text($0)) } },
                    text: { $0.finishedAt.map(RFC3339.text) ?? "no" }
                ),
                .init("steps", "STEPS", { count($0.steps) }, text: { grouped($0.steps) }),
                .init("applied", "APPLIED", { count($0.applied) }, text: { grouped($0.applied) }),
                .init("skipped", "SKIPPED", { count($0.skipped) }, text: { $0.skipped.map(grouped) ?? "" }),
                .init("undone", "UNDONE", { count($0.undone) }, text: { grouped($0.undone) }),
            ],
            none: "no plan was applied"
        )
    }
}
