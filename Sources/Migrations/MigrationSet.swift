/// All migrations, in order, and the defects of their files.
package struct MigrationSet: Sendable, Equatable {
    /// One migration: an up file and a down file.
    package struct Migration: Sendable, Equatable {
        package let up: MigrationFile
        package let down: MigrationFile

        package var version: Int { up.fileName.version }
        package var name: String { up.fileName.name }
    }

    /// The complete pairs, ascending by version. `defects` names the others.
    package let migrations: [Migration]
    /// The defects of the files. Any defect prevents `up` and `down`.
    package let defects: [MigrationRefusal]

    /// Sorts and pairs `files`, names with contents in any order.
    ///
    /// Ignores names that do not end in `.sql`, and `schema.sql`, the golden dump of the schema.
    package init(files: [(name: String, bytes: [UInt8])]) {
        var defects: [MigrationRefusal] = []
        var groups: [Int: [MigrationFileName: [UInt8]]] = [:]
        for (name, bytes) in files.sorted(by: { $0.name < $1.name })
        where name.hasSuffix(".sql") && name != "schema.sql" {
            if let fileName = MigrationFileName(name) {
                groups[fileName.version, default: [:]][fileName] = bytes
            } else {
                defects.append(.unrecognisedName(file: name))
            }
        }
        var migrations: [Migration] = []
        var expected = 1
        for (version, group) in groups.sorted(by: { $0.key < $1.key }) {
            let names = group.keys.sorted { $0.description < $1.description }
            if version > expected {
                defects.append(.gap(missingVersion: expected, before: names[0].description))
            }
            expected = version + 1
            switch Self.pair(names, contents: group) {
            case .success(let migration): migrations.append(migration)
            case .failure(let refusals): defects += refusals.all
            }
        }
        self.migrations = migrations
        self.defects = defects
        highestNumber = expected - 1
    }

    /// The highest number of a complete pair; 0 if there is none.
    package var latestVersion: Int { migrations.last?.version ?? 0 }

    /// The highest number of any file, also of an incomplete pair; 0 if there is none.
    package let highestNumber: Int

    private struct Refusals: Error {
        var all: [MigrationRefusal]
    }

    private static func pair(
        _ names: [MigrationFileName],
        contents: [MigrationFileName: [UInt8]]
    ) -> Result<Migration, Refusals> {
        guard Set(names.map(\.name)).count == 1 else {
            let files = names.map(\.description)
            return .failure(Refusals(all: [.duplicateNumber(version: names[0].version, files: files)]))
        }
        let parsed = names.map { MigrationFile.parse($0, bytes: contents[$0] ?? []) }
        var refusals = parsed.compactMap { result -> MigrationRefusal? in
            guard case .failure(let refusal) = result else { return nil }
            return refusal
        }
        if names.count == 1 {
            let file = names[0].description
            refusals.append(names[0].direction == .up ? .downMissing(upFile: file) : .upMissing(downFile: file))
        }
        let files = parsed.compactMap { try? $0.get() }
        guard refusals.isEmpty, let up = files.first(where: { $0.fileName.direction == .up }),
            let down = files.first(where: { $0.fileName.direction == .down })
        else { return .failure(Refusals(all: refusals)) }
        return .success(Migration(up: up, down: down))
    }
}
