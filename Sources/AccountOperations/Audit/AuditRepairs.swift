package import AccountLinking
package import AccountStore
import JSON

/// One step of a reviewed plan.
package struct PlannedStep: Sendable, Hashable {
    /// From 1, in the order of the plan.
    package var number: Int64
    /// The id of the audit rule.
    package var rule: String
    package var tenant: TenantID
    package var user: UserID
    /// The account's version when the plan was made; `nil` if there was no account.
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

/// The outcome of a step, or the expected outcome in a rehearsal.
package enum StepOutcome: Sendable, Hashable {
    case applied
    case appliedBefore
    /// The step was applied and undone. It is not applied again.
    case undoneBefore
    case skipped(RepairRefusal)
    /// The account holds an unreadable value.
    case unreadable
}

/// The outcome of a step, and whether the account's owner gets a mail about it.
package struct StepResult: Sendable, Hashable {
    package var outcome: StepOutcome
    package var isOwnerMailed: Bool
}

/// Applies the steps of audit plans to accounts.
///
/// Each step is decided again on the current account, and guarded by the account's version. Any number of processes may
/// apply a plan and stop at any point: each step is applied once.
package struct AuditRepairs: Sendable {
    /// The settings by which steps are decided.
    package struct Terms: Sendable {
        package var settings: ProjectSettings
        /// Returns `true` if users can sign in with a provider now.
        package var isEnabled: @Sendable (ProviderID) -> Bool
        /// Seconds that an applied step can be undone.
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

    /// Maximum number of steps of one call.
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

    /// Returns what `apply` would do now. Writes nothing.
    ///
    /// `steps`: in the order of their numbers, at most `stepsMax`.
    package func rehearse(_ steps: [PlannedStep], of plan: AppliedPlan.ID) async throws -> [StepResult] {
        try await retrying(effects) { try await judge(steps, of: plan).results }
    }

    /// Applies the steps in one transaction. If another request changes one of the accounts meanwhile, applies each
    /// step in a separate transaction.
    ///
    /// `steps`: in the order of their numbers, at most `stepsMax`.
    /// - Throws: `Contention`, `PostgresError`. Each step is then applied completely or not at all.
    package func apply(_ steps: [PlannedStep], of plan: AppliedPlan.ID) async throws -> [StepResult] {
        do {
            return try await attempt(steps, of: plan)
        } catch is FactsMoved {
            // Another request changed one of the accounts. Do not repeat the steps of the others with it.
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

    /// Records that the application of the plan begins.
    ///
    /// - `steps`: number of steps when the plan was made.
    package func begin(_ plan: AppliedPlan.ID, madeAt: Timestamp, steps: Int64) async throws {
        let now = effects.now()
        let end = now.adding(seconds: terms.undoSeconds)
        try await store.beginPlan(plan, madeAt: madeAt, steps: steps, at: now, retainedUntil: end)
    }

    /// Records that the plan was applied completely.
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

    /// - Throws: `FactsMoved` if another process applied a step of the plan during the reads.
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
            // Another process may have applied this step since, so that the account owns the identifier.
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
                // The next step of the same account is decided on the result of this one.
                guard var next = write.account?.user else { continue }
                next.version += 1
                situation.accounts[step.tenant, default: [:]][step.user] = next
                situation.last[step.tenant, default: [:]][step.user] = write.step
            }
        }
        return judged
    }

    /// The owner of the identifier that the step claims; `nil` if there is none or the step claims none.
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

/// The state of the mail that reported an undone step.
package enum WithdrawnMail: Sendable, Hashable {
    /// The mail will not be sent.
    case withdrawn
    /// The mail was sent, or a worker is sending it.
    case hadLeft
}

/// The outcome of an undo.
package enum UndoOutcome: Sendable, Hashable {
    /// - `mail`: the state of the mail that notified the owner; `nil` if there was none.
    case undone(mail: WithdrawnMail?)
    case undoneBefore
    /// Another request changed these values after the step. Nothing was undone.
    case clashes([JournalClash])
    /// The retention of the step has ended.
    case expired
    /// The step cannot be undone (`Repair.canBeUndone`).
    case final
}

/// Undoes applied steps of plans.
package struct RepairUndo: Sendable {
    private let store: AccountStore
    private let effects: Effects

    package init(store: AccountStore, effects: Effects) {
        self.store = store
        self.effects = effects
    }

    /// Restores everything that `step` changed, in one transaction, unless it changed again since.
    ///
    /// Undo the steps of a plan newest first, so that each finds the state that it left. If several processes undo one
    /// step at once, one succeeds. The same transaction withdraws the mail that notified the owner, unless a worker is
    /// sending it.
    /// - Throws: `Contention`, `PostgresError`.
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
    /// The state of the mail about an undone step; `nil` if there was none.
    private func fate(of step: AppliedStep) async throws -> WithdrawnMail? {
        guard let mail = step.mail else { return nil }
        return try await store.messageState(mail, tenant: step.tenant) == .discarded ? .withdrawn : .hadLeft
    }
}

/// The details of an event about a repair.
private func repairDetails(of plan: AppliedPlan.ID, _ number: Int64, _ rule: String) -> JSONValue {
    .object(["plan": .string(plan.text), "step": .integer(number), "auditRule": .string(rule)])
}

extension Effects {
    /// The id of a new plan.
    package func newPlanID() -> AppliedPlan.ID { newEventID() }
}
