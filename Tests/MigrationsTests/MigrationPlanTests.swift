import Testing

@testable import Migrations

@Suite struct MigrationPlanTests {
    private let three = tables(3)

    private func plan(_ applied: [AppliedMigration], _ target: MigrationTarget) -> [String] {
        outcome(MigrationPlan.make(available: three, applied: applied, target: target))
    }

    @Test(arguments: [
        (0, MigrationTarget.latest, ["0001_t1.up.sql", "0002_t2.up.sql", "0003_t3.up.sql"]),
        (1, .latest, ["0002_t2.up.sql", "0003_t3.up.sql"]),
        (3, .latest, []),
        (0, .up(to: 2), ["0001_t1.up.sql", "0002_t2.up.sql"]),
        (2, .up(to: 2), []),
        (0, .up(to: 0), []),
        (3, .down(to: 0), ["0003_t3.down.sql", "0002_t2.down.sql", "0001_t1.down.sql"]),
        (3, .down(to: 2), ["0003_t3.down.sql"]),
        (3, .down(to: 3), []),
        (0, .down(to: 0), []),
        (3, .up(to: 2), ["refused: the schema is at 3, beyond 2; `migrate down --to 2` goes back"]),
        (1, .down(to: 2), ["refused: the schema is at 1, before 2; `migrate up --to 2` goes there"]),
        (1, .up(to: 4), ["refused: there is no migration 4; the numbers go from 0 (nothing applied) to 3"]),
        (1, .up(to: -1), ["refused: there is no migration -1; the numbers go from 0 (nothing applied) to 3"]),
        (1, .down(to: -1), ["refused: there is no migration -1; the numbers go from 0 (nothing applied) to 3"]),
    ])
    func `a plan leads from what is applied to the target`(
        version: Int,
        target: MigrationTarget,
        expected: [String]
    ) {
        #expect(plan(ledger(of: three, through: version), target) == expected)
    }

    @Test(arguments: [
        (MigrationTarget.latest, ["0002_t2.down.sql", "0002_t2.up.sql", "0003_t3.up.sql"]),
        (.up(to: 2), ["0002_t2.down.sql", "0002_t2.up.sql"]),
        (.up(to: 1), ["0002_t2.down.sql"]),
        (.down(to: 1), ["0002_t2.down.sql"]),
        (.down(to: 0), ["0002_t2.down.sql", "0001_t1.down.sql"]),
    ])
    func `an interrupted migration is undone first`(target: MigrationTarget, expected: [String]) {
        #expect(plan(ledger(of: three, through: 2, interrupted: true), target) == expected)
    }

    @Test func `a changed file is refused by name in both directions`() {
        let applied = ledger(of: three, through: 2)
        for target in [MigrationTarget.latest, .up(to: 2), .down(to: 1)] {
            let refused = outcome(
                MigrationPlan.make(available: tables(3, changed: 2), applied: applied, target: target)
            )
            #expect(refused.count == 1)
            #expect(refused[0].hasPrefix("refused: 0002_t2.up.sql: changed after it was applied"))
        }
    }

    @Test func `an applied migration without a file is refused by name`() {
        let refused = outcome(
            MigrationPlan.make(available: tables(2), applied: ledger(of: three, through: 3), target: .latest)
        )
        #expect(refused == ["refused: \(MigrationRefusal.missing(recordedFile: "0003_t3.up.sql", foundInstead: nil))"])
    }

    @Test func `an applied migration whose file has another name is refused with both names`() throws {
        let renamed = migrationSet([
            "0001_tables.up.sql": "CREATE TABLE t1 (id integer);\n", "0001_tables.down.sql": "DROP TABLE t1;\n",
        ])
        let refused = outcome(
            MigrationPlan.make(available: renamed, applied: ledger(of: three, through: 1), target: .latest)
        )
        #expect(refused.count == 1)
        #expect(refused[0].contains("0001_t1.up.sql"))
        #expect(refused[0].contains("0001_tables.up.sql"))
    }

    @Test func `a pending migration below an applied one is out of order`() {
        let applied = ledger(of: three, through: 3).filter { $0.version != 2 }
        let expected = MigrationRefusal.outOfOrder(file: "0002_t2.up.sql", alreadyApplied: "0003_t3.up.sql")
        for target in [MigrationTarget.latest, .up(to: 3), .down(to: 0)] {
            #expect(plan(applied, target) == ["refused: \(expected)"])
        }
    }

    @Test func `all reasons are reported at once`() {
        let available = migrationSet([
            "0001_t1.up.sql": "SELECT 2", "0001_t1.down.sql": "SELECT 1", "0004_late.up.sql": "SELECT 1",
        ])
        let refused = outcome(
            MigrationPlan.make(available: available, applied: ledger(of: three, through: 2), target: .up(to: 9))
        )
        #expect(refused.count == 5)
        #expect(refused.contains { $0.contains("0004_late.up.sql: number 0002 is missing before it") })
        #expect(refused.contains { $0.contains("0004_late.up.sql: its .down.sql is missing") })
        #expect(refused.contains { $0.contains("0001_t1.up.sql: changed") })
        #expect(refused.contains { $0.contains("0002_t2.up.sql: applied, but not in the directory") })
        #expect(refused.contains { $0.contains("there is no migration 9") })
    }

    @Test func `every plan either reaches its target or is refused`() {
        for version in 0...3 {
            for interrupted in [false, true] where version > 0 || !interrupted {
                let applied = ledger(of: three, through: version, interrupted: interrupted)
                for target in [MigrationTarget.latest] + (0...3).flatMap({ [.up(to: $0), .down(to: $0)] }) {
                    guard
                        case .plan(let plan) = MigrationPlan.make(available: three, applied: applied, target: target)
                    else { continue }
                    var done = Set(applied.map(\.version))
                    for step in plan.steps {
                        switch step.fileName.direction {
                        case .up: #expect(done.insert(step.fileName.version).inserted)
                        case .down: #expect(done.remove(step.fileName.version) != nil)
                        }
                    }
                    let end =
                        switch target {
                        case .latest: 3
                        case .up(let version), .down(let version): version
                        }
                    #expect(done == Set(1..<(end + 1)), "\(version) \(interrupted) \(target)")
                }
            }
        }
    }
}

@Suite struct MigrationStatusTests {
    @Test func `each migration is applied, pending or interrupted`() {
        let applied = ledger(of: tables(5), through: 5).filter { $0.version != 3 }
        let status = MigrationStatus(available: tables(4, changed: 2), applied: applied)
        #expect(status.entries.map(\.condition) == [.applied, .changed, .pending, .applied, .missing])
        #expect(!status.isUpToDate)
        #expect(status.refusals.count == 3)
    }

    @Test func `a database with everything applied is up to date`() {
        #expect(MigrationStatus(available: tables(2), applied: ledger(of: tables(2), through: 2)).isUpToDate)
        #expect(!MigrationStatus(available: tables(2), applied: ledger(of: tables(2), through: 1)).isUpToDate)
        let interrupted = ledger(of: tables(2), through: 2, interrupted: true)
        let status = MigrationStatus(available: tables(2), applied: interrupted)
        #expect(status.entries.map(\.condition) == [.applied, .interrupted])
        #expect(!status.isUpToDate)
    }
}

@Suite struct SchemaStateTests {
    @Test(arguments: [
        (2, false, 2, SchemaReadiness.ready), (0, false, 2, .behind(version: 0, required: 2)),
        (1, false, 2, .behind(version: 1, required: 2)), (3, false, 2, .ahead(version: 3, required: 2)),
        (2, true, 2, .interrupted("0002_t2.up.sql")), (3, true, 2, .ahead(version: 3, required: 2)),
        (3, true, 1, .ahead(version: 3, required: 1)), (3, true, 3, .interrupted("0003_t3.up.sql")),
    ])
    func `the required schema is ready, and so is a newer one, even if it was interrupted`(
        version: Int,
        interrupted: Bool,
        required: Int,
        expected: SchemaReadiness
    ) {
        let state = SchemaState(applied: ledger(of: tables(3), through: version, interrupted: interrupted))
        #expect(state.readiness(required: required) == expected)
        // During a rolling update, old servers run on the new schema.
        #expect(expected.canBeServed == (interrupted ? version > required : version >= required))
    }
}
