/// The version at which a run of migrations should end.
package enum MigrationTarget: Sendable, Hashable {
    /// Every migration there is.
    case latest
    /// Upwards, up to and including this version.
    case up(to: Int)
    /// Downwards, until this version is the last one applied; 0 removes everything.
    case down(to: Int)
}

/// The files to run, in order. Empty: there is nothing to do.
package struct MigrationPlan: Sendable, Equatable {
    package let steps: [MigrationFile]

    /// The plan that leads from what is applied to `target`, or everything that stands in the way.
    ///
    /// Pure and total. Checks all files and the whole ledger, also the part the target does not touch: a checkout that
    /// disagrees with the database in one place is not trusted in another.
    ///
    /// A migration outside a transaction can be interrupted halfway; its ledger row says so. It is first taken back by
    /// its down file, which therefore has to bear running on a half-made change (`DROP INDEX CONCURRENTLY IF EXISTS`),
    /// and then run again.
    package static func make(
        available: MigrationSet,
        applied: [AppliedMigration],
        target: MigrationTarget
    ) -> MigrationVerdict {
        let applied = applied.sorted { $0.version < $1.version }
        var refusals = available.defects + disagreements(available: available, applied: applied)
        let current = applied.last { $0.isFinished }?.version ?? 0
        refusals += refusal(of: target, current: current, started: applied.last?.version ?? 0, in: available)
        guard refusals.isEmpty else { return .refused(refusals) }
        return .plan(Self(steps: steps(available: available, applied: applied, target: target)))
    }

    /// Every place where the ledger and the files disagree, in order of version. Empty means that each applied migration
    /// is there as it was when it was applied.
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
    /// At least one reason; nothing may be run.
    case refused([MigrationRefusal])
}
