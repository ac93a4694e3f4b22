package import AccountLinking
package import AccountStore
import JSON

/// One step of a plan, as somebody reviewed it.
package struct PlannedStep: Sendable, Hashable {
    /// From 1; a plan's steps come in the order of their numbers.
    package var number: Int64
    /// Of the audit.
    package var rule: String
    package var tenant: TenantID
    package var user: UserID
    /// Of the account when the plan was made; `nil` where there was none.
    package var version: Int64?
    package var repair: Repair

    package init(
        number: Int64,
        rule: String,
        tenant: TenantID,
        user: UserID,
        version: Int64?,
        repair: Repair
    ) {
        self.number = number
        self.rule = rule
        self.tenant = tenant
        self.user = user
        self.version = version
        self.repair = repair
    }
}

/// What became of a step, or would.
package enum StepOutcome: Sendable, Hashable {
    case applied
    case appliedBefore
    /// Applied once, and taken back: it is not applied again.
    case undoneBefore
    case skipped(RepairRefusal)
    /// The account holds what cannot be read.
    case unreadable
}

/// The outcome of a step, and whether the account's owner gets a mail about it.
package struct StepResult: Sendable, Hashable {
    package var outcome: StepOutcome
    package var isOwnerMailed: Bool
}

/// Applies the plans of audits to accounts, step by step, and takes them back.
///
/// Each step is judged by the rules again, on the account as it is, and guarded by its version. So any number of processes
/// may apply one plan, and be ended at any point: a step is applied once.
package struct AuditRepairs: Sendable {
    /// What steps are judged by.
    package struct Terms: Sendable {
        package var settings: ProjectSettings
        /// Whether somebody can be signed in by a provider now.
        package var isEnabled: @Sendable (ProviderID) -> Bool
        /// How long what is applied can be undone.
        package var undoSeconds: Int64

        package init(
            settings: ProjectSettings,
            isEnabled: @escaping @Sendable (ProviderID) -> Bool,
            undoSeconds: Int64
        ) {
            self.settings = settings
            self.isEnabled = isEnabled
            self.undoSeconds = undoSeconds
        }
    }

    /// Steps that are judged and applied together.
    package static let stepsMax = 50

    private let store: AccountStore
    private let terms: Terms
    private let sealer: Sealer
    private let effects: Effects

    /// - `sealer`: for the mails to owners whose methods are suspended.
    package init(store: AccountStore, terms: Terms, sealer: Sealer, effects: Effects) {
        self.store = store
        self.terms = terms
        self.sealer = sealer
        self.effects = effects
    }

    /// What applying the steps would do now. Reads only.
    ///
    /// `steps`: in the order of their numbers, at most `stepsMax`.
    package func rehearse(_ steps: [PlannedStep], of plan: AppliedPlan.ID) async throws -> [StepResult] {
        try await retrying(effects) { try await judge(steps, of: plan).results }
    }

    /// Applies the steps, in one transaction where nobody interferes, else each in its own.
    ///
    /// `steps`: in the order of their numbers, at most `stepsMax`.
    /// - Throws: `Contention`, or what the database could not do; each step is applied whole or not at all then.
    package func apply(_ steps: [PlannedStep], of plan: AppliedPlan.ID) async throws -> [StepResult] {
        do {
            return try await attempt(steps, of: plan)
        } catch is FactsMoved {
            // Another request changed one of the accounts: all others need not wait for that one to be judged again.
            var results: [StepResult] = []
            for step in steps { results += try await retrying(effects) { try await attempt([step], of: plan) } }
            return results
        }
    }

    private func attempt(_ steps: [PlannedStep], of plan: AppliedPlan.ID) async throws -> [StepResult] {
        let judged = try await judge(steps, of: plan)
        try await store.applyRepairs(judged.writes, of: plan).requireApplied()
        return judged.results
    }

    /// Notes that the plan is applied from now on.
    ///
    /// - `steps`: as the plan was made.
    package func begin(_ plan: AppliedPlan.ID, madeAt: Timestamp, steps: Int64) async throws {
        let now = effects.now()
        let end = now.adding(seconds: terms.undoSeconds)
        try await store.beginPlan(plan, madeAt: madeAt, steps: steps, at: now, retainedUntil: end)
    }

    /// Notes that the plan was applied to its end.
    package func finish(_ plan: AppliedPlan.ID, skipped: Int64) async throws {
        try await store.finishPlan(plan, skipped: skipped, at: effects.now())
    }

    private struct Judged: Sendable {
        var results: [StepResult] = []
        var writes: [RepairWrite] = []

        mutating func append(_ outcome: StepOutcome, isOwnerMailed: Bool = false) {
            results.append(StepResult(outcome: outcome, isOwnerMailed: isOwnerMailed))
        }
    }

    /// - Throws: `FactsMoved` if another request applies the plan right now, and was faster than the reading.
    private func judge(_ steps: [PlannedStep], of plan: AppliedPlan.ID) async throws -> Judged {
        var users: [TenantID: Set<UserID>] = [:]
        for step in steps { users[step.tenant, default: []].insert(step.user) }
        var situation = try await store.repairSituation(plan, numbers: steps.map(\.number), users: users)
        let now = effects.now()
        var judged = Judged()
        for step in steps {
            if let before = situation.applied[step.number] {
                judged.append(before.isUndone ? .undoneBefore : .appliedBefore)
                continue
            }
            if situation.unreadable[step.tenant]?.contains(step.user) == true {
                judged.append(.unreadable)
                continue
            }
            let user = situation.accounts[step.tenant]?[step.user]
            let last = situation.last[step.tenant]?[step.user]
            if let user, let version = last?.version, version > user.version { throw FactsMoved() }
            let owner = try await owner(of: step, user)
            // It may own that by this very step, applied by somebody else since.
            if owner != nil, owner == user?.id, try await isApplied(step, of: plan) { throw FactsMoved() }
            let verdict = decideRepair(
                step.repair,
                of: user?.account,
                plannedVersion: last.map(\.version) ?? step.version,
                owner: owner,
                policy: terms.settings.policy,
                enabledProviders: Set(user?.linkedProviders.keys.filter(terms.isEnabled) ?? []),
                now: now
            )
            switch verdict.decision {
            case .skip(let refusal): judged.append(.skipped(refusal))
            case .apply(let change):
                let write = try self.write(step, of: plan, user, change, verdict.rule, at: now)
                judged.append(.applied, isOwnerMailed: write.account?.ownerMail != nil)
                judged.writes.append(write)
                // The plan's next step of the same account meets what this one leaves.
                guard var next = write.account?.user else { continue }
                next.version += 1
                situation.accounts[step.tenant, default: [:]][step.user] = next
                situation.last[step.tenant, default: [:]][step.user] = write.step
            }
        }
        return judged
    }

    /// Whose it is that the step claims.
    private func owner(of step: PlannedStep, _ user: UserRecord?) async throws -> UserID? {
        guard case .claim(let claimed) = step.repair, let identifier = user?.account.identifier(claimed) else {
            return nil
        }
        return try await store.owner(of: identifier, tenant: step.tenant)
    }

    private func isApplied(_ step: PlannedStep, of plan: AppliedPlan.ID) async throws -> Bool {
        try await store.repairSituation(plan, numbers: [step.number], users: [:]).applied[step.number] != nil
    }

    private func write(
        _ step: PlannedStep,
        of plan: AppliedPlan.ID,
        _ user: UserRecord?,
        _ change: AccountChange,
        _ rule: Rule,
        at now: Timestamp
    ) throws -> RepairWrite {
        let event = AccountEvent(
            id: effects.newEventID(),
            occurredAt: now,
            kind: .accountRepaired,
            rule: rule,
            details: repairDetails(of: plan, step.number, step.rule)
        )
        var account: AccountWrite?
        if let user {
            let write = AccountWrite(previous: user, user: user.repaired(by: step.repair, at: now), event: event)
            account = try write.suspendingMethods(change, settings: terms.settings, sealer: sealer)
        }
        return RepairWrite(
            number: step.number,
            rule: step.rule,
            tenant: step.tenant,
            user: step.user,
            repair: step.repair,
            event: event,
            account: account,
            retainedUntil: now.adding(seconds: terms.undoSeconds)
        )
    }
}

/// The fate of a mail about something that was undone.
package enum WithdrawnMail: Sendable, Hashable {
    /// It never leaves.
    case withdrawn
    /// It was sent, or a worker had it.
    case hadLeft
}

/// What became of a step that was to be taken back.
package enum UndoOutcome: Sendable, Hashable {
    /// - `mail`: the fate of the mail that told the owner; `nil` where there was none.
    case undone(mail: WithdrawnMail?)
    case undoneBefore
    /// Somebody has changed since what it had changed, here; it stays.
    case clashes([JournalClash])
    /// Its time is over.
    case expired
    /// What it deleted the database would not take back.
    case final
}

/// Takes steps of plans back that were applied.
package struct RepairUndo: Sendable {
    private let store: AccountStore
    private let effects: Effects

    package init(store: AccountStore, effects: Effects) {
        self.store = store
        self.effects = effects
    }

    /// Puts back what `step` has changed, in one transaction, unless somebody has changed it since.
    ///
    /// A plan's steps are taken back the newest first: what an earlier one has left is there again then. Of any number that
    /// undo one step at once, one does. The mail that told the owner of the step is withdrawn in the same transaction, unless a
    /// worker has it.
    /// - Throws: `Contention`, or what the database could not do.
    package func undo(_ step: AppliedStep, of plan: AppliedPlan.ID) async throws -> UndoOutcome {
        if step.isUndone { return .undoneBefore }
        guard step.canUndo else { return .final }
        let journal = step.journal(of: plan)
        let (now, id) = (effects.now(), effects.newEventID())
        return try await retrying(effects) {
            let situation = try await store.undoSituation(of: journal)
            guard situation.isKnown else {
                return try await store.step(step.number, of: plan)?.isUndone == true ? .undoneBefore : .expired
            }
            let verdict = decideUndoRepair(hasClash: !situation.clashes.isEmpty)
            guard verdict.decision else { return .clashes(situation.clashes) }
            let event = AccountEvent(
                id: id,
                occurredAt: now,
                kind: .repairUndone,
                rule: verdict.rule,
                details: repairDetails(of: plan, step.number, step.rule)
            )
            var sideWrites: [AccountWrite.SideWrite] = [.undone(step, of: plan, at: now)]
            if let mail = step.mail {
                sideWrites.append(.withdraw(mail, tenant: step.tenant, because: .undone, at: now))
            }
            let write = UndoWrite(journal, of: step.user, event: event, sideWrites: sideWrites)
            try await store.undo(write).requireApplied()
            return .undone(mail: try await fate(of: step))
        }
    }
}

extension RepairUndo {
    /// What became of the mail about a step that was undone.
    private func fate(of step: AppliedStep) async throws -> WithdrawnMail? {
        guard let mail = step.mail else { return nil }
        return try await store.messageState(mail, tenant: step.tenant) == .discarded ? .withdrawn : .hadLeft
    }
}

/// What an event says of a repair.
private func repairDetails(of plan: AppliedPlan.ID, _ number: Int64, _ rule: String) -> JSONValue {
    .object(["plan": .string(plan.text), "step": .integer(number), "auditRule": .string(rule)])
}

extension Effects {
    /// The id of a new plan.
    package func newPlanID() -> AppliedPlan.ID { newEventID() }
}
