package import AccountLinking
package import Postgres

/// An audit plan whose application has begun.
package struct AppliedPlan: Sendable, Hashable {
    package typealias ID = PostgresUUID

    package let id: ID
    /// When the audit read the accounts.
    package let madeAt: Timestamp
    package let beganAt: Timestamp
    /// When the plan was last applied completely; `nil` if it never was.
    package let finishedAt: Timestamp?
    package let steps: Int64
    /// Number of steps that the last complete run skipped.
    package let skipped: Int64?
    package let applied: Int64
    /// Number of applied steps that were undone.
    package let undone: Int64
}

struct AuditPlanRow: RowDecodable {
    let plan: AppliedPlan

    init(row: inout RowDecoder) throws(PostgresError) {
        plan = AppliedPlan(
            id: try row.next(),
            madeAt: try row.next(),
            beganAt: try row.next(),
            finishedAt: try row.next(),
            steps: try row.next(),
            skipped: try row.next(),
            applied: try row.next(),
            undone: try row.next()
        )
    }

    private static let select: SQL = """
        SELECT plan_id, made_at, began_at, finished_at, steps::bigint, skipped::bigint, counts.applied, counts.undone
        FROM \(table: "audit_plans") CROSS JOIN LATERAL (
            SELECT count(*), count(undone_at) FROM \(table: "audit_steps") WHERE audit_steps.plan_id = audit_plans.plan_id
        ) AS counts (applied, undone)
        """

    static func withID(_ plan: AppliedPlan.ID) -> Query<AuditPlanRow> {
        Query("\(select) WHERE plan_id = \(plan)")
    }

    /// The newest first.
    static func newest(_ countMax: Int64) -> Query<AuditPlanRow> {
        Query("\(select) ORDER BY began_at DESC, plan_id LIMIT \(countMax)")
    }

    /// Records the begin of an application. A later begin extends the retention of the plan.
    static func begin(
        _ plan: AppliedPlan.ID,
        madeAt: Timestamp,
        steps: Int64,
        at now: Timestamp,
        retainedUntil: Timestamp
    ) -> SQL {
        """
        INSERT INTO audit_plans (plan_id, made_at, began_at, steps, kept_until)
        VALUES (\(plan), \(madeAt), \(now), \(steps)::integer, \(retainedUntil))
        ON CONFLICT (plan_id) DO UPDATE SET kept_until = greatest(audit_plans.kept_until, excluded.kept_until)
        """
    }

    static func finish(_ plan: AppliedPlan.ID, skipped: Int64, at now: Timestamp) -> SQL {
        """
        UPDATE audit_plans SET finished_at = \(now), skipped = \(skipped)::integer WHERE plan_id = \(plan)
        """
    }

    /// Deletes expired plans without steps. Steps are deleted before their plan.
    static func deleteOld(before cutoff: Timestamp, rowsMax: Int64) -> SQL {
        """
        DELETE FROM audit_plans
        WHERE \(SQL.first(
            rowsMax,
            of: "audit_plans",
            key: "plan_id",
            where: """
                kept_until <= \(cutoff)
                AND NOT EXISTS (SELECT 1 FROM audit_steps WHERE audit_steps.plan_id = audit_plans.plan_id)
                """,
            by: "kept_until"
        ))
        """
    }
}

/// A step of a plan that was applied.
package struct AppliedStep: Sendable, Hashable {
    package let number: Int64
    package let tenant: TenantID
    package let user: UserID
    /// The name of the audit rule.
    package let rule: String
    /// The account's version after the step; `nil` if there is no account.
    package let version: Int64?
    /// The method that the step suspended; `nil` if none.
    package let suspendedMethod: SignInMethod?
    package let canUndo: Bool
    package let isUndone: Bool
    /// The mail that notified the owner; `nil` if there was none, or an earlier version applied the step.
    package let mail: PostgresUUID?

    /// The step's entry in the journal.
    package func journal(of plan: AppliedPlan.ID) -> JournalStep {
        JournalStep(tenant: tenant, change: plan, number: Int32(clamping: number))
    }
}

struct AuditStepRow: RowDecodable {
    let step: AppliedStep

    init(row: inout RowDecoder) throws(PostgresError) {
        step = AppliedStep(
            number: try row.next(),
            tenant: try row.next(),
            user: try row.next(),
            rule: try row.next(),
            version: try row.next(),
            suspendedMethod: try row.next(),
            canUndo: try row.next(),
            isUndone: try row.next(),
            mail: try row.next()
        )
    }

    private static let columns: SQL = """
        step::bigint, tenant_id, user_id, rule, version, suspended_method, can_undo, undone_at IS NOT NULL, message_id
        """
    private static let select: SQL = "SELECT \(columns) FROM \(table: "audit_steps")"

    static func of(_ plan: AppliedPlan.ID, numbers: [Int64]) -> Query<AuditStepRow> {
        Query("\(select) WHERE plan_id = \(plan) AND step = ANY(\(numbers))")
    }

    /// The last step that was applied to each user and not undone.
    static func last(of plan: AppliedPlan.ID, users: [UserID], tenant: TenantID) -> Query<AuditStepRow> {
        """
        SELECT DISTINCT ON (user_id) \(columns) FROM \(table: "audit_steps")
        WHERE plan_id = \(plan) AND tenant_id = \(tenant) AND user_id = ANY(\(users))
            AND undone_at IS NULL
        ORDER BY user_id, step DESC
        """
    }

    /// The steps before `step` that are applied and not undone, newest first.
    static func applied(_ plan: AppliedPlan.ID, before step: Int64, countMax: Int64) -> Query<AuditStepRow> {
        """
        \(select) WHERE plan_id = \(plan) AND step < \(step) AND undone_at IS NULL
        ORDER BY step DESC LIMIT \(countMax)
        """
    }

    /// Raises 23505 if the step was applied before.
    static func insert(_ plan: AppliedPlan.ID, _ step: AppliedStep, at now: Timestamp, retainedUntil: Timestamp) -> SQL
    {
        """
        INSERT INTO audit_steps (plan_id, step, tenant_id, user_id, rule, version, suspended_method, can_undo,
            applied_at, kept_until, message_id)
        VALUES (\(plan), \(step.number)::integer, \(step.tenant), \(step.user), \(step.rule),
            \(step.version), \(step.suspendedMethod?.name), \(step.canUndo), \(now), \(retainedUntil),
            \(step.mail))
        """
    }

    /// Raises 22012 (division by zero) unless the step is applied and not undone.
    static func markUndone(_ plan: AppliedPlan.ID, _ number: Int64, at now: Timestamp) -> SQL {
        """
        WITH marked AS (
            UPDATE audit_steps SET undone_at = \(now)
            WHERE plan_id = \(plan) AND step = \(number) AND undone_at IS NULL RETURNING 1
        )
        SELECT \(SQL.assertExists) FROM marked
        """
    }
}

extension AccountWrite.SideWrite {
    /// Records that a step was undone. If another process undid it, the whole write is undone.
    package static func undone(_ step: AppliedStep, of plan: AppliedPlan.ID, at now: Timestamp) -> Self {
        Self(
            [AuditStepRow.markUndone(plan, step.number, at: now)],
            announcing: step.suspendedMethod.map { [.about($0, .methodRestored)] } ?? []
        )
    }
}
