import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import Foundation
import JSON
import Postgres
import PostgresCluster
import Synchronization
import Testing

/// Plans of audits in a real database: their repairs, under concurrency, and their undo.
struct AuditRepairTests {
    /// Defects in addition to those of `AuditTests`, with the rule that finds each.
    private static let damages: [(rule: String, user: String, script: String)] = [
        (
            "method-older-than-proof", "user-0014",
            """
            UPDATE users SET email_proof = 'password-reset', email_proven_at = to_timestamp(1799995000)
                WHERE user_id = 'user-0014'
            """
        ),
        (
            "address-proven-by-nobody", "user-0015",
            """
            UPDATE users SET email_proof = 'administrator' WHERE user_id = 'user-0015';
            DELETE FROM linked_providers WHERE user_id = 'user-0015';
            DELETE FROM identifiers WHERE user_id = 'user-0015' AND kind = 'federated';
            DELETE FROM sign_in_methods WHERE user_id = 'user-0015' AND method = 'google.com'
            """
        ),
        (
            "overdue-records", "user-0016",
            """
            INSERT INTO one_time_codes (code_hash, kind, user_id, email, email_key, created_at, expires_at)
                VALUES (decode(repeat('16', 32), 'hex'), 'VERIFY_EMAIL', 'user-0016', 'a@b.cd', 'a@b.cd',
                    to_timestamp(1790000000), to_timestamp(1790003600));
            INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests,
                    sealed_credential, opened_at, expires_at, closed_at)
                VALUES ('user-0016', decode(repeat('16', 16), 'hex'), 'declined', 'email-already-in-use',
                    'facebook.com', decode(repeat('16', 32), 'hex'), '{}', '', to_timestamp(1790000000),
                    to_timestamp(1790003600), to_timestamp(1790003600))
            """
        ),
        (
            "unused-password", "user-0017",
            """
            UPDATE linked_providers SET linked_at = to_timestamp(1799991000) WHERE user_id = 'user-0017';
            UPDATE users SET last_login_at = to_timestamp(1799992000) WHERE user_id = 'user-0017'
            """
        ),
        (
            "stale-number", "user-0018",
            """
            UPDATE users SET phone_number = '+15550001818', created_at = to_timestamp(1700000000)
                WHERE user_id = 'user-0018';
            INSERT INTO identifiers (kind, value, user_id) VALUES ('phone', '+15550001818', 'user-0018');
            INSERT INTO sign_in_methods (user_id, method, proof, proven_at)
                VALUES ('user-0018', 'phone', 'message', to_timestamp(1700000000))
            """
        ),
        (
            "shared-number", "user-0019",
            "UPDATE users SET unproven_phone_number = '+15550001919' WHERE user_id IN ('user-0019', 'user-0020')"
        ),
        (
            "method-without-credential", "user-0021",
            "DELETE FROM password_credentials WHERE user_id = 'user-0021'"
        ),
        (
            "identifier-without-claim", "user-0022",
            "DELETE FROM identifiers WHERE user_id = 'user-0022'"
        ),
        (
            "record-without-user", "ghost-3",
            """
            INSERT INTO one_time_codes (code_hash, kind, user_id, email, email_key, created_at, expires_at)
                VALUES (decode(repeat('33', 32), 'hex'), 'VERIFY_EMAIL', 'ghost-3', 'a@b.cd', 'a@b.cd',
                    to_timestamp(1799990000), to_timestamp(1799993600))
            """
        ),
    ]

    /// Accounts with every defect that a rule finds.
    private static func corpus(in database: TestDatabase) async throws {
        try await AuditTests.fill(database, count: 1000)
        for damage in AuditTests.damages + damages where !damage.script.isEmpty {
            try await database.execute(damage.script)
        }
    }

    // MARK: Helpers for plans

    private static let plan = AppliedPlan.ID(high: 0x0199_0000_0000_7000, low: 0x8000_0000_0000_0001)

    /// A plan of every possible repair, and the findings left to people.
    private static func planned(
        _ database: TestDatabase,
        terms: AuditTerms = AuditTests.terms
    ) async throws -> (steps: [PlannedStep], left: [String]) {
        let proposals = Mutex<[Proposal]>([])
        let snapshots = AccountSnapshots(database.configuration, temporaryFolder: "/tmp")
        _ = try await Audit(snapshots, rules: AuditRule.all, terms: terms).plan(
            .all,
            tenant: nil,
            onProposal: { proposal in proposals.withLock { $0.append(proposal) } },
            report: { _ in }
        )
        var steps: [PlannedStep] = []
        var left: [String] = []
        for proposal in proposals.withLock({ $0 }) {
            switch proposal.offer {
            case .repair(let repair):
                steps.append(
                    PlannedStep(
                        number: Int64(steps.count + 1),
                        rule: proposal.finding.rule,
                        tenant: proposal.finding.tenant,
                        user: proposal.user,
                        version: proposal.version,
                        repair: repair
                    )
                )
            case .person: left.append("\(proposal.finding.rule) \(proposal.user.rawValue)")
            }
        }
        return (steps, left)
    }

    private static let effects = Effects(now: { AuditTests.now }, randomBytes: Effects.system.randomBytes)

    private static func repairs(
        _ store: AccountStore,
        isEnabled: @escaping @Sendable (ProviderID) -> Bool = { _ in true }
    ) throws -> AuditRepairs {
        let key = try #require(Sealer.Key(id: "test", bytes: Array(repeating: 7, count: 32)))
        let settings = ProjectSettings(
            projectID: TestService.projectID,
            projectNumber: 1,
            stored: ProjectSettings.developmentDefaults,
            version: 1,
            trust: .preset,
            registrations: []
        )
        return AuditRepairs(
            store: store,
            terms: AuditRepairs.Terms(settings: settings, isEnabled: isEnabled, undoSeconds: 30 * 86_400),
            sealer: Sealer(sealingKey: key),
            effects: effects
        )
    }

    private static func apply(
        _ steps: [PlannedStep],
        _ repairs: AuditRepairs,
        batch: Int = AuditRepairs.stepsMax
    ) async throws -> [StepOutcome] {
        try await repairs.begin(plan, madeAt: AuditTests.now, steps: Int64(steps.count))
        var outcomes: [StepOutcome] = []
        for start in stride(from: 0, to: steps.count, by: batch) {
            outcomes += try await repairs.apply(Array(steps[start..<min(start + batch, steps.count)]), of: plan)
                .map(\.outcome)
        }
        return outcomes
    }

    /// - Returns: the steps that were not undone, by number.
    private static func undo(_ store: AccountStore) async throws -> [Int64: UndoOutcome] {
        let undo = RepairUndo(store: store, effects: effects)
        var left: [Int64: UndoOutcome] = [:]
        for step in try await store.appliedSteps(of: plan, before: .max >> 32, countMax: 1000) {
            let outcome = try await undo.undo(step, of: plan)
            guard case .undone = outcome else {
                left[step.number] = outcome
                continue
            }
        }
        return left
    }

    /// Every row of every account, without columns that only grow.
    private static func rows(_ database: TestDatabase) async throws -> [String] {
        let query: Query<String?> = """
            SELECT line FROM (
                SELECT 'users ' || (to_jsonb(t) - '{version,session_epoch,valid_since}'::text[])::text AS line FROM users AS t
                UNION ALL SELECT 'conflicts ' || to_jsonb(t)::text FROM conflicts AS t
                UNION ALL SELECT 'factor_challenges ' || to_jsonb(t)::text FROM factor_challenges AS t
                UNION ALL SELECT 'identifiers ' || to_jsonb(t)::text FROM identifiers AS t
                UNION ALL SELECT 'kept_answers ' || to_jsonb(t)::text FROM kept_answers AS t
                UNION ALL SELECT 'linked_providers ' || to_jsonb(t)::text FROM linked_providers AS t
                UNION ALL SELECT 'one_time_codes ' || to_jsonb(t)::text FROM one_time_codes AS t
                UNION ALL SELECT 'password_credentials ' || to_jsonb(t)::text FROM password_credentials AS t
                UNION ALL SELECT 'proof_mails ' || to_jsonb(t)::text FROM proof_mails AS t
                UNION ALL SELECT 'quarantined_methods ' || to_jsonb(t)::text FROM quarantined_methods AS t
                UNION ALL SELECT 'second_factors ' || to_jsonb(t)::text FROM second_factors AS t
                UNION ALL SELECT 'sessions ' || to_jsonb(t)::text FROM sessions AS t
                UNION ALL SELECT 'sign_in_methods ' || to_jsonb(t)::text FROM sign_in_methods AS t
            ) AS lines ORDER BY line COLLATE "C"
            """
        return try await database.rows(query).compactMap { $0 }
    }

    // MARK: Plan, repair and undo

    @Test func `a plan repairs its findings, a second audit does not find them, and an undo restores all but codes`()
        async throws
    {
        try await TestDatabase.with { database in
            try await Self.corpus(in: database)
            let before = try await Self.rows(database)
            let found = try await database.findings(AuditTests.terms)
            let (steps, left) = try await Self.planned(database)
            #expect(steps.count == 19, "\(steps.map { "\($0.rule) \($0.user.rawValue) \($0.repair)" })")
            try await database.withClient { client in
                let store = AccountStore(client: client)
                let repairs = try Self.repairs(store)
                let forecast = try await repairs.rehearse(steps, of: Self.plan)
                #expect(try await Self.rows(database) == before, "a rehearsal writes nothing")
                let outcomes = try await Self.apply(steps, repairs, batch: 7)
                let mailed = zip(steps, forecast).filter { $1.isOwnerMailed }.map { $0.0.rule }
                #expect(mailed.sorted() == ["method-older-than-proof", "stale-number", "unused-password"])
                #expect(outcomes == forecast.map(\.outcome) && outcomes.allSatisfy { $0 == .applied }, "\(outcomes)")

                // The remaining findings were left to people, or were hidden by repaired ones.
                let repaired = Set(steps.map { "\($0.rule) \($0.user.rawValue)" })
                let second = try await database.findings(AuditTests.terms)
                let again = second.map { "\($0.rule) \($0.user.rawValue)" }
                #expect(again.filter(repaired.contains) == [])
                #expect(Set(left).isSubset(of: again), "\(left) \(again)")
                let errors = second.filter { $0.severity == .error }.map { "\($0.rule) \($0.user.rawValue)" }
                #expect(errors == ["identifier-without-claim user-0004", "unreadable-value user-0006"])
                #expect(
                    try await Self.apply(steps, repairs).allSatisfy { $0 == .appliedBefore },
                    "a repeated plan applies nothing"
                )

                // Rows without an account, sessions, codes and conflicts are not restored.
                let final = steps.filter { !$0.repair.canBeUndone }
                #expect(
                    try await Self.undo(store) == Dictionary(uniqueKeysWithValues: final.map { ($0.number, .final) })
                )
                #expect(Set(["ghost-1", "ghost-3", "user-0016"]).isSubset(of: final.map(\.user.rawValue)))
                let lost = Set(final.map { "\($0.rule) \($0.user.rawValue)" })
                    .union(["disabled-with-live-sessions user-0008"])
                #expect(
                    try await database.findings(AuditTests.terms)
                        == found.filter { !lost.contains("\($0.rule) \($0.user.rawValue)") }
                )
                let after = try await Self.rows(database)
                #expect(Set(after).subtracting(before) == [])
                let gone = Set(before).subtracting(after)
                #expect(!gone.isEmpty && gone.allSatisfy { !TestService.isRestored($0) }, "\(gone.sorted())")
                #expect(try await Self.undo(store).count == final.count)
                let reapplied = try await Self.apply(steps, repairs)
                #expect(reapplied.filter { $0 == .undoneBefore }.count == steps.count - final.count)
            }
            let versions = try await database.count("SELECT count(*) FROM users WHERE version > 1")
            #expect(
                versions == Int64(Set(steps.filter { $0.version != nil }.map(\.user)).count),
                "no other account changed"
            )
        }
    }

    /// This step waits between reading the steps and the address's owner, while another process applies it.
    @Test func `an address claimed by a concurrent run of the same step does not count as taken`() async throws {
        try await TestDatabase.with { database in
            try await Self.corpus(in: database)
            let steps = try await Self.planned(database).steps.filter { $0.rule == "identifier-without-claim" }
            let step = try #require(steps.first { $0.user.rawValue == "user-0022" })
            try await database.withClient { client in
                let store = AccountStore(client: client)
                let repairs = try Self.repairs(store)
                try await repairs.begin(Self.plan, madeAt: AuditTests.now, steps: 1)
                let blocker = try PostgresConnection(database.configuration)
                try blocker.execute(script: "BEGIN; LOCK TABLE identifiers IN ACCESS EXCLUSIVE MODE")
                async let outcomes = repairs.apply([step], of: Self.plan)
                while try await database.count(
                    "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'identifiers'::regclass"
                ) == 0 { try await Task.sleep(for: .milliseconds(5)) }
                try blocker.execute(
                    script: """
                        INSERT INTO identifiers (kind, value, user_id)
                            SELECT 'email', email, user_id FROM users WHERE user_id = 'user-0022';
                        UPDATE users SET version = version + 1 WHERE user_id = 'user-0022';
                        INSERT INTO audit_steps (plan_id, step, tenant_id, user_id, rule, version, can_undo, applied_at,
                                kept_until)
                            SELECT plan_id, \(step.number), '', 'user-0022', 'identifier-without-claim', 2, true, now(),
                                kept_until FROM audit_plans;
                        COMMIT
                        """
                )
                #expect(try await outcomes.map(\.outcome) == [.appliedBefore])
            }
        }
    }

    @Test func `concurrent runs of one plan apply every repair once`() async throws {
        try await TestDatabase.with { database in
            try await Self.corpus(in: database)
            let (steps, _) = try await Self.planned(database)
            try await database.withClient { client in
                let store = AccountStore(client: client)
                let repairs = try Self.repairs(store)
                let outcomes = try await withThrowingTaskGroup { group in
                    for racer in 0..<8 {
                        group.addTask { try await Self.apply(steps, repairs, batch: 3 + racer) }
                    }
                    var all: [[StepOutcome]] = []
                    for try await one in group { all.append(one) }
                    return all
                }
                for place in steps.indices {
                    let ofStep = outcomes.map { $0[place] }
                    #expect(ofStep.filter { $0 == .applied }.count == 1, "\(steps[place]) \(ofStep)")
                    #expect(ofStep.allSatisfy { $0 == .applied || $0 == .appliedBefore }, "\(steps[place]) \(ofStep)")
                }
                let events = try await database.count(
                    "SELECT count(*) FROM account_events WHERE kind = 'account-repaired' AND rule = 'O6'"
                )
                #expect(events == Int64(steps.count))
                #expect(try await database.count("SELECT count(*) FROM audit_steps") == Int64(steps.count))
                // Concurrent undos.
                try await withThrowingTaskGroup { group in
                    for _ in 0..<8 { group.addTask { _ = try await Self.undo(store) } }
                    try await group.waitForAll()
                }
                let undone = try await database.count(
                    "SELECT count(*) FROM account_events WHERE kind = 'repair-undone'"
                )
                let final = steps.filter { !$0.repair.canBeUndone }.map(\.number)
                #expect(undone == Int64(steps.count - final.count))
                let left = try await database.count(
                    "SELECT count(*) FROM account_journal WHERE step::bigint <> ALL (\(final))"
                )
                #expect(left == 0)
            }
        }
    }

    @Test func `an account that changed after planning is skipped and reported`() async throws {
        try await TestDatabase.with { database in
            try await Self.corpus(in: database)
            let (steps, _) = try await Self.planned(database)
            try await database.execute(
                """
                UPDATE users SET display_name = 'Ann', version = version + 1 WHERE user_id = 'user-0014';
                DELETE FROM users WHERE user_id = 'user-0012';
                INSERT INTO users (user_id, session_epoch, valid_since, created_at)
                    VALUES ('ghost-2', 7, to_timestamp(1799990000), to_timestamp(1799990000));
                INSERT INTO identifiers (kind, value, user_id) SELECT 'email', email, 'user-0999' FROM users
                    WHERE user_id = 'user-0003';
                DELETE FROM linked_providers WHERE user_id = 'user-0017';
                UPDATE users SET email_proof = 'a friend' WHERE user_id = 'user-0015'
                """
            )
            try await database.withClient { client in
                let outcomes = try await Self.apply(steps, try Self.repairs(AccountStore(client: client)))
                var byUser: [String: Set<StepOutcome>] = [:]
                for (step, outcome) in zip(steps, outcomes) { byUser[step.user.rawValue, default: []].insert(outcome) }
                #expect(byUser["user-0014"] == [.skipped(.accountChanged)])
                #expect(byUser["user-0012"] == [.skipped(.accountGone)])
                #expect(byUser["ghost-2"] == [.skipped(.accountAppeared)])
                #expect(byUser["user-0003"] == [.skipped(.identifierTaken)])
                // The other method was deleted manually, without a new version.
                #expect(byUser["user-0017"] == [.skipped(.lastSignInMethod)])
                #expect(byUser["user-0015"] == [.unreadable])
                #expect(outcomes.filter { $0 == .applied }.count == steps.count - 6, "\(outcomes)")
            }
            let named = try await database.rows(
                "SELECT display_name FROM users WHERE user_id = 'user-0014'" as Query<String?>
            )
            #expect(named == ["Ann"])
        }
    }

    @Test func `accounts are repaired in their tenant, and a plan of one tenant changes no other`()
        async throws
    {
        try await TestDatabase.with { database in
            try await database.execute(
                """
                INSERT INTO users (tenant_id, user_id, session_epoch, email, email_proof, email_proven_at, valid_since,
                        created_at)
                    SELECT t, 'ann', 7, 'ann@example.com', 'mailed-code', to_timestamp(1799990000),
                        to_timestamp(1799990000), to_timestamp(1799990000) FROM unnest(ARRAY['', 'one', 'two']) AS t
                """
            )
            let (steps, _) = try await Self.planned(database)
            #expect(steps.map(\.tenant.rawValue) == ["", "one", "two"])
            try await database.withClient { client in
                let store = AccountStore(client: client)
                let repairs = try Self.repairs(store)
                #expect(try await Self.apply([steps[1]], repairs) == [.applied])
                let claimed = try await database.rows("SELECT tenant_id FROM identifiers" as Query<String?>)
                #expect(claimed == ["one"])
                #expect(try await Self.apply(steps, repairs) == [.applied, .appliedBefore, .applied])
                #expect(try await database.findings(AuditTests.terms).filter { $0.severity == .error } == [])
                #expect(try await Self.undo(store) == [:])
                #expect(try await database.count("SELECT count(*) FROM identifiers") == 0)
            }
        }
    }

    @Test func `an edited plan takes nothing from an account`() async throws {
        try await TestDatabase.with { database in
            try await AuditTests.fill(database, count: 3)
            let before = try await Self.rows(database)
            let user = try #require(UserID("user-0001"))
            let repairs: [Repair] = [
                .release(kind: "federated", key: "google.com\u{1F}s-user-0001"), .forgetMethod(.password),
                .claim(.email), .claim(.phone), .recordMethod(.phone), .deleteRecords(.sessions),
                .deleteOverdue(.conflicts, endedBefore: AuditTests.now.adding(seconds: 1)),
            ]
            let steps = repairs.enumerated().map { place, repair in
                PlannedStep(
                    number: Int64(place + 1),
                    rule: "stale-number",
                    tenant: .project,
                    user: user,
                    version: 1,
                    repair: repair
                )
            }
            try await database.withClient { client in
                let outcomes = try await Self.apply(steps, try Self.repairs(AccountStore(client: client)))
                for (step, outcome) in zip(steps, outcomes) {
                    guard case .skipped = outcome else {
                        Issue.record("\(step.repair) was \(outcome)")
                        continue
                    }
                }
            }
            #expect(try await Self.rows(database) == before)
        }
    }

    @Test func `a provider disabled after planning does not count as another sign-in method`() async throws {
        try await TestDatabase.with { database in
            try await Self.corpus(in: database)
            let (steps, _) = try await Self.planned(database)
            let unused = steps.filter { $0.rule == "unused-password" }
            try await database.withClient { client in
                let repairs = try Self.repairs(AccountStore(client: client), isEnabled: { $0 != .google })
                #expect(try await Self.apply(unused, repairs) == [.skipped(.lastSignInMethod)])
            }
        }
    }

    @Test func `an undo keeps later changes and restores everything else`() async throws {
        try await TestDatabase.with { database in
            try await Self.corpus(in: database)
            let (steps, _) = try await Self.planned(database)
            try await database.withClient { client in
                let store = AccountStore(client: client)
                _ = try await Self.apply(steps, try Self.repairs(store))
                try await database.execute(
                    """
                    UPDATE users SET email_proof = 'mailed-code', email_proven_at = now(), version = version + 1
                        WHERE user_id = 'user-0015';
                    UPDATE users SET display_name = 'Ann', version = version + 1 WHERE user_id = 'user-0017'
                    """
                )
                let left = try await Self.undo(store).filter { $0.value != .final }
                let unproved = steps.filter { $0.user.rawValue == "user-0015" }.map(\.number)
                #expect(Array(left.keys) == unproved)
                guard case .clashes(let clashes)? = left.values.first else {
                    Issue.record("\(left)")
                    return
                }
                #expect(clashes.map(\.subject) == ["email_proof", "email_proven_at"])
                #expect(LaterChange.all(clashes).map(\.part.words) == ["e-mail address or its proof"])
                let named = try await database.count(
                    """
                    SELECT count(*) FROM users JOIN password_credentials USING (user_id)
                    WHERE user_id = 'user-0017' AND display_name = 'Ann'
                    """
                )
                #expect(named == 1, "the later name stays, the password is restored")
            }
        }
    }

    @Test func `an undo gives no proof to an address that was set later`() async throws {
        try await TestDatabase.with { database in
            try await Self.corpus(in: database)
            let (steps, _) = try await Self.planned(database)
            let unproved = steps.filter { $0.repair == .unproveAddress }
            let user = try #require(unproved.first?.user.rawValue)
            try await database.withClient { client in
                let store = AccountStore(client: client)
                #expect(try await Self.apply(unproved, try Self.repairs(store)).allSatisfy { $0 == .applied })
                try await database.execute(
                    """
                    DELETE FROM identifiers WHERE kind = 'email' AND user_id = '\(user)';
                    INSERT INTO identifiers (kind, value, user_id) VALUES ('email', 'new@example.com', '\(user)');
                    UPDATE users SET email = 'new@example.com', version = version + 1 WHERE user_id = '\(user)'
                    """
                )
                guard case .clashes(let clashes)? = try await Self.undo(store)[unproved[0].number] else {
                    Issue.record("it was undone")
                    return
                }
                #expect(clashes.map(\.subject) == ["email_proof", "email_proven_at"])
            }
            let proven = try await database.count(
                "SELECT count(*) FROM users WHERE email = 'new@example.com' AND email_proof IS NOT NULL"
            )
            #expect(proven == 0)
        }
    }

    @Test func `a suspension and its undo are reported to webhook receivers, and the owner's mail is withdrawn`()
        async throws
    {
        try await TestDatabase.with { database in
            try await Self.corpus(in: database)
            let (steps, _) = try await Self.planned(database)
            try await database.execute(
                """
                INSERT INTO webhook_endpoints (endpoint_id, slot, url, sealed_secret, created_at)
                    VALUES (gen_random_uuid(), 1, 'https://example.com', '', now())
                """
            )
            try await database.withClient { client in
                let store = AccountStore(client: client)
                try await store.refreshWebhooks()
                _ = try await Self.apply(steps, try Self.repairs(store))
                let suspended = steps.filter { if case .suspend = $0.repair { true } else { false } }
                #expect(suspended.count == 3)
                let kept = try await database.count("SELECT count(*) FROM quarantined_methods WHERE rule = 'O6'")
                let mails = try await database.count("SELECT count(*) FROM outbox WHERE kind = 'mail'")
                let reported = try await database.count(
                    "SELECT count(*) FROM webhook_messages WHERE type = 'method.quarantined'"
                )
                #expect([kept, mails, reported] == [3, 3, 3])
                let steps = try await store.appliedSteps(of: Self.plan, before: .max >> 32, countMax: 1000)
                #expect(steps.filter { $0.mail != nil }.count == 3)
                _ = try await Self.undo(store)
                // The undo withdraws the unsent mails.
                let withdrawn: Query<Int64?> = """
                    SELECT count(*) FROM outbox
                    WHERE state = 'discarded' AND sealed_payload IS NULL AND reason = 'undone' AND attempts = 0
                    """
                #expect(try await database.count(withdrawn) == 3)
                let back = try await database.count(
                    "SELECT count(*) FROM webhook_messages WHERE type = 'method.restored'"
                )
                #expect(back == 3)
                #expect(try await database.count("SELECT count(*) FROM quarantined_methods") == 0)
            }
        }
    }

    @Test func `a plan and its rehearsal write nothing, not even to the database's log`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("concord-plan-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let cluster = PostgresCluster(dataDirectory: folder, settings: .disposable)
        let connection = try await cluster.start()
        do {
            _ = try await cluster.createDatabase("audited")
            try await TestDatabase.migrated(connection.url(database: "audited")) { database in
                try await Self.corpus(in: database)
                // The first reader of a page cleans up dead or unseen rows.
                try await database.execute("VACUUM (FREEZE, ANALYZE)")
                try await database.execute("CHECKPOINT")
                try await database.withClient { client in
                    let repairs = try Self.repairs(AccountStore(client: client))
                    let (steps, _) = try await Self.planned(database)
                    _ = try await repairs.rehearse(steps, of: Self.plan)
                    let before = try await database.rows("SELECT pg_current_wal_insert_lsn()::text" as Query<String?>)
                    let (again, _) = try await Self.planned(database)
                    #expect(again == steps)
                    _ = try await repairs.rehearse(steps, of: Self.plan)
                    let after = try await database.rows("SELECT pg_current_wal_insert_lsn()::text" as Query<String?>)
                    #expect(before == after)
                }
            }
        } catch {
            try await cluster.stop()
            throw error
        }
        try await cluster.stop()
    }

    @Test func `plans and their steps are purged after the undo period and then cannot be undone`() async throws {
        try await TestDatabase.with { database in
            try await Self.corpus(in: database)
            let (steps, _) = try await Self.planned(database)
            try await database.withClient { client in
                let store = AccountStore(client: client)
                _ = try await Self.apply(steps, try Self.repairs(store))
                let step = try #require(try await store.step(steps[3].number, of: Self.plan))
                let end = AuditTests.now.adding(seconds: 30 * 86_400)
                for kind in [AccountStore.Purgeable.journal, .auditSteps, .auditPlans] {
                    let early = end.adding(seconds: -1)
                    #expect(try await store.purge(kind, endedBefore: early, rowsMax: 1000) == 0)
                }
                #expect(
                    try await store.purge(.auditPlans, endedBefore: end, rowsMax: 1000) == 0,
                    "its steps are purged first"
                )
                #expect(try await store.purge(.journal, endedBefore: end, rowsMax: 10_000) > 0)
                let outcome = try await RepairUndo(store: store, effects: Self.effects).undo(step, of: Self.plan)
                #expect(outcome == .expired)
                #expect(try await store.purge(.auditSteps, endedBefore: end, rowsMax: 1000) == steps.count)
                #expect(try await store.purge(.auditPlans, endedBefore: end, rowsMax: 1000) == 1)
                #expect(try await store.plan(Self.plan) == nil)
            }
        }
    }
}
