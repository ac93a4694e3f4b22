/// The target version of a run of migrations.
package enum MigrationTarget: Sendable, Hashable {
    /// The newest version.
    case latest
    /// Up to and including this version.
    case up(to: Int)
    /// Down to this version, which stays applied; 0 undoes everything.
    case down(to: Int)
}

/// The files to run, in order. Empty if nothing is to be done.
package struct MigrationPlan: Sendable, Equatable {
    package let steps: [MigrationFile]

    /// Returns the plan from the applied migrations to `target`, or all reasons against it.
    ///
    /// Pure and total. Checks all files and the whole ledger, also the migrations that the plan does not run, because
    /// files that differ from the database in one place may do so in another.
    ///
    /// The ledger shows if a migration outside a transaction was interrupted. The plan first runs its down file, which
    /// therefore must work on a partial change (`DROP INDEX CONCURRENTLY IF EXISTS`), and then the up file again.
    ///
    /// `distributed`: the tables with a place on Citus. No down file runs on them: earlier schemas have unique indexes that
    /// Citus refuses.
    package static func make(
        available: MigrationSet,
        applied: [AppliedMigration],
        target: MigrationTarget,
        distributed: [String] = []
    ) -> MigrationVerdict {
        let applied = applied.sorted { $0.version < $1.version }
        var refusals = available.defects + disagreements(available: available, applied: applied)
        let current = applied.last { $0.isFinished }?.version ?? 0
        refusals += refusal(of: target, current: current, started: applied.last?.version ?? 0, in: available)
        guard refusals.isEmpty else { return .refused(refusals) }
        let steps = steps(available: available, applied: applied, target: target)
        if case .down = target, !steps.isEmpty, !distributed.isEmpty {
            return .refused([.distributed(tables: distributed)])
        }
        return .plan(Self(steps: steps))
    }

    /// Returns all differences between ledger and files, by version. Empty if the file of each applied migration is
    /// unchanged.
    package static func disagreements(
        available: MigrationSet,
        applied: [AppliedMigration]
    ) -> [MigrationRefusal] {
        let byVersion = Dictionary(grouping: available.migrations, by: \.version).compactMapValues(\.first)
        var refusals: [MigrationRefusal] = []
        for row in applied.sorted(by: { $0.version < $1.version }) {
            guard let migration = byVersion[row.version], migration.name == row.name else {
                let found = byVersion[row.version]?.up.fileName.description
                refusals.append(.missing(recordedFile: row.fileName, foundInstead: found))
                continue
            }
            if migration.up.checksum != row.checksum {
                refusals.append(
                    .changed(file: row.fileName, recorded: row.checksum, found: migration.up.checksum)
                )
            }
        }
        let appliedVersions = Set(applied.map(\.version))
        if let last = applied.max(by: { $0.version < $1.version }) {
            for migration in available.migrations
            where migration.version < last.version && !appliedVersions.contains(migration.version) {
                refusals.append(
                    .outOfOrder(file: migration.up.fileName.description, alreadyApplied: last.fileName)
                )
            }
        }
        return refusals
    }

    private static func refusal(
        of target: MigrationTarget,
        current: Int,
        started: Int,
        in available: MigrationSet
    ) -> [MigrationRefusal] {
        switch target {
        case .latest: return []
        case .up(let version):
            guard (0...available.latestVersion).contains(version) else {
                return [.unknownTarget(version: version, latest: available.latestVersion)]
            }
            return version < current ? [.targetBehind(version: version, current: current)] : []
        case .down(let version):
            guard (0...max(available.latestVersion, started)).contains(version) else {
                return [.unknownTarget(version: version, latest: available.latestVersion)]
            }
            return version > current ? [.targetAhead(version: version, current: current)] : []
        }
    }

    private static func steps(
        available: MigrationSet,
        applied: [AppliedMigration],
        target: MigrationTarget
    ) -> [MigrationFile] {
        let finished = Set(applied.filter(\.isFinished).map(\.version))
        let interrupted = Set(applied.filter { !$0.isFinished }.map(\.version))
        let undone = available.migrations.reversed().filter { interrupted.contains($0.version) }.map(\.down)
        switch target {
        case .latest:
            return undone + available.migrations.filter { !finished.contains($0.version) }.map(\.up)
        case .up(let version):
            return undone
                + available.migrations.filter { $0.version <= version && !finished.contains($0.version) }.map(\.up)
        case .down(let version):
            let started = finished.union(interrupted)
            return available.migrations.reversed()
                .filter { $0.version > version && started.contains($0.version) }
                .map(\.down)
        }
    }
}

/// The result of planning.
package enum MigrationVerdict: Sendable, Equatable {
    case plan(MigrationPlan)
    /// The reasons, at least one. No file may run.
    case refused([MigrationRefusal])
}
