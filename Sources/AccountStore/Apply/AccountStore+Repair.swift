package import AccountLinking
package import Postgres

/// One step of a plan, to be applied.
package struct RepairWrite: Sendable {
    package let number: Int64
    /// The audit rule.
    package let rule: String
    package let tenant: TenantID
    package let user: UserID
    package let repair: Repair
    package let event: AccountEvent
    /// The write to the account; `nil` if there is no account.
    package let account: AccountWrite?
    /// The step can be undone until then.
    package let retainedUntil: Timestamp

    /// - `account`: has the same event.
    package init(
        number: Int64,
        rule: String,
        tenant: TenantID,
        user: UserID,
        repair: Repair,
        event: AccountEvent,
        account: AccountWrite?,
        retainedUntil: Timestamp
    ) {
        self.number = number
        self.rule = rule
        self.tenant = tenant
        self.user = user
        self.repair = repair
        self.event = event
        self.account = account
        self.retainedUntil = retainedUntil
    }
}

/// The facts to decide some steps of a plan.
package struct RepairSituation: Sendable {
    /// By tenant and id, without the accounts in `unreadable`.
    package var accounts: [TenantID: [UserID: UserRecord]] = [:]
    package var unreadable: [TenantID: Set<UserID>] = [:]
    /// The requested steps that were applied before.
    package var applied: [Int64: AppliedStep] = [:]
    /// The last step of the plan that was applied to each account and not undone.
    package var last: [TenantID: [UserID: AppliedStep]] = [:]
}

extension AccountStore {
    /// Records that the application of a plan begins. Does nothing if it began before.
    package func beginPlan(
        _ plan: AppliedPlan.ID,
        madeAt: Timestamp,
        steps: Int64,
        at now: Timestamp,
        retainedUntil: Timestamp
    ) async throws(PostgresError) {
        let statement = AuditPlanRow.begin(plan, madeAt: madeAt, steps: steps, at: now, retainedUntil: retainedUntil)
        try await client.write(WriteBatch("audit-plan", [statement]))
    }

    /// Records that a plan was applied completely.
    package func finishPlan(_ plan: AppliedPlan.ID, skipped: Int64, at now: Timestamp) async throws(PostgresError) {
        try await client.write(WriteBatch("audit-plan", [AuditPlanRow.finish(plan, skipped: skipped, at: now)]))
    }

    /// The applied plans, newest first.
    package func plans(countMax: Int) async throws(PostgresError) -> [AppliedPlan] {
        try await client.read(AuditPlanRow.newest(Int64(countMax))).map(\.plan)
    }

    /// A plan whose application has begun; `nil` if there is none.
    package func plan(_ id: AppliedPlan.ID) async throws(PostgresError) -> AppliedPlan? {
        try await client.read(AuditPlanRow.withID(id)).first?.plan
    }

    /// An applied step of a plan; `nil` if the step was not applied.
    package func step(_ number: Int64, of plan: AppliedPlan.ID) async throws(PostgresError) -> AppliedStep? {
        try await client.read(AuditStepRow.of(plan, numbers: [number])).first?.step
    }

    /// The steps of a plan before step `number` that are applied and not undone, newest first.
    package func appliedSteps(
        of plan: AppliedPlan.ID,
        before number: Int64,
        countMax: Int
    ) async throws(PostgresError) -> [AppliedStep] {
        try await client.read(AuditStepRow.applied(plan, before: number, countMax: Int64(countMax))).map(\.step)
    }

    /// The facts to decide the steps `numbers` of a plan, which concern `users`. Two round trips for each tenant, and
    /// one.
    ///
    /// Later reads may include steps that earlier reads do not.
    package func repairSituation(
        _ plan: AppliedPlan.ID,
        numbers: [Int64],
        users: [TenantID: Set<UserID>]
    ) async throws(PostgresError) -> RepairSituation {
        var situation = RepairSituation()
        for (tenant, ids) in users {
            let ids = ids.sorted { $0.rawValue < $1.rawValue }
            let (records, unreadable) = try await readable(ids, tenant: tenant)
            situation.accounts[tenant] = Dictionary(records.map { ($0.id, $0) }) { first, _ in first }
            situation.unreadable[tenant] = Set(unreadable.keys)
            // Read after the accounts: an earlier step of the plan is then never taken for another writer's change.
            for row in try await client.read(AuditStepRow.last(of: plan, users: ids, tenant: tenant)) {
                situation.last[tenant, default: [:]][row.step.user] = row.step
            }
        }
        for row in try await client.read(AuditStepRow.of(plan, numbers: numbers)) {
            situation.applied[row.step.number] = row.step
        }
        return situation
    }

    /// The accounts with `ids`. An account that cannot be decoded does not hide the others.
    func readable(
        _ ids: [UserID],
        tenant: TenantID
    ) async throws(PostgresError) -> (records: [UserRecord], unreadable: [UserID: PostgresError]) {
        do throws(PostgresError) {
            return (try await client.read(UserRow.withManyIDs(ids, tenant: tenant)).records, [:])
        } catch {
            guard error.code == .decoding else { throw error }
        }
        var records: [UserRecord] = []
        var unreadable: [UserID: PostgresError] = [:]
        for id in ids {
            do throws(PostgresError) {
                records += try await client.read(UserRow.withID(id, tenant: tenant)).records
            } catch {
                guard error.code == .decoding else { throw error }
                unreadable[id] = error
            }
        }
        return (records, unreadable)
    }

    /// Applies steps of a plan in one transaction: all of them, or none if any fact has changed.
    ///
    /// Each step is guarded by its account's version, by the primary key of `identifiers` if it claims an identifier,
    /// and by the step's row, which is inserted once. The journal records the changes.
    package func applyRepairs(_ writes: [RepairWrite], of plan: AppliedPlan.ID) async throws(PostgresError) -> Applied {
        guard let first = writes.first else { return .applied }
        var batch = WriteBatch("audit-repair")
        for write in writes { append(write, of: plan, to: &batch) }
        // All or nothing: one step shows the outcome of all.
        let applied = try await applying(batch) { () throws(PostgresError) in
            try await client.read(AuditStepRow.of(plan, numbers: [first.number])).isEmpty ? .factsMoved : .applied
        }
        if applied == .applied { for write in writes { observer?.applied(write.event) } }
        return applied
    }

    private func append(_ write: RepairWrite, of plan: AppliedPlan.ID, to batch: inout WriteBatch) {
        let (id, tenant) = (write.user, write.tenant)
        let step = write.step
        let journal = JournalEntry(
            step: step.journal(of: plan),
            users: [id.rawValue],
            claims: (write.account?.previous?.identifiers ?? []).map(JournalEntry.Claim.init)
                + write.repair.journaledClaims,
            retainedUntil: write.retainedUntil
        )
        batch.append(journal.opening)
        if var account = write.account {
            account.raisesVersion = true
            batch.append(account.statements())
            announce(account.announcements, as: write.event, of: id, tenant: tenant, in: &batch)
            batch.append(write.repair.statements(for: account.user))
        } else {
            batch.append(RepairRow.assertNoUser(id, tenant: tenant))
            batch.append(write.repair.statementsWithoutAccount(of: id, tenant: tenant))
            batch.append(AccountEventRow.insert(write.event, of: id, tenant: tenant))
        }
        batch.append(AuditStepRow.insert(plan, step, at: write.event.occurredAt, retainedUntil: write.retainedUntil))
        batch.append(journal.closing)
    }
}

extension RepairWrite {
    /// The step as it is stored after it is applied.
    package var step: AppliedStep {
        AppliedStep(
            number: number,
            tenant: tenant,
            user: user,
            rule: rule,
            version: account.map { $0.user.version + 1 },
            suspendedMethod: account?.quarantinedMethods.first,
            canUndo: repair.canBeUndone,
            isUndone: false,
            mail: account?.ownerMail
        )
    }
}

extension Repair {
    /// The key that the repair releases. The account need not own it.
    fileprivate var journaledClaims: [JournalEntry.Claim] {
        if case .release(let kind, let key) = self { [JournalEntry.Claim(kind: kind, value: key)] } else { [] }
    }
}
