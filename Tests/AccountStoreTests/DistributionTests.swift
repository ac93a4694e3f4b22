import AccountStore
import AccountTestSupport
import Foundation
import Testing

/// The tables of `Distribution` and the constraints of the schema.
struct DistributionTests {
    @Test func `every table of the schema has a place`() throws {
        let schema = try StoredSchema()
        let listed = Distribution.tables.map(\.name)
        #expect(Set(listed).count == listed.count)
        #expect(schema.tables.subtracting(listed) == [], "add these to Distribution.tables")
        #expect(Set(listed).subtracting(schema.tables) == [], "remove these from Distribution.tables")
    }

    @Test func `every unique constraint has the key of its table`() throws {
        for unique in try StoredSchema().uniques {
            guard case .byKey(let key, _) = placement(of: unique.table) else { continue }
            #expect(unique.columns.contains(key), "\(unique.name) of \(unique.table) must have \(key)")
        }
    }

    @Test func `a foreign key stays on one node`() throws {
        let position = Dictionary(
            uniqueKeysWithValues: Distribution.tables.enumerated().map { ($0.element.name, $0.offset) }
        )
        for foreign in try StoredSchema().foreignKeys {
            let message: Comment = "\(foreign.name) of \(foreign.table)"
            switch (placement(of: foreign.table), placement(of: foreign.other)) {
            case (.byKey(let key, _), .byKey):
                #expect(group(of: foreign.table) == group(of: foreign.other), message)
                #expect(foreign.columns.contains(key), message)
            case (.byKey, .reference), (.oneShard, .reference), (.reference, .reference), (.local, .local):
                break
            case (let own, let other):
                Issue.record("\(foreign.name): \(own) cannot reference \(other)")
            }
            // Citus refuses a foreign key to a table that is not distributed yet.
            #expect(position[foreign.other, default: .max] < position[foreign.table, default: 0], message)
        }
    }

    @Test func `a table lies with one that comes before it and leads its group`() throws {
        var leaders: Set<String> = []
        for table in Distribution.tables {
            guard case .byKey(_, let other) = table.placement else { continue }
            if let other {
                #expect(leaders.contains(other), "\(table.name) lies with \(other)")
            } else {
                leaders.insert(table.name)
            }
        }
    }

    private func placement(of name: String) -> DistributedTable.Placement {
        Distribution.tables.first { $0.name == name }?.placement ?? .local
    }

    /// The table that leads the co-location group.
    private func group(of name: String) -> String {
        if case .byKey(_, let other?) = placement(of: name) { other } else { name }
    }
}

/// The tables, unique constraints and foreign keys in `migrations/schema.sql`.
private struct StoredSchema {
    struct Unique {
        var table: String
        var name: String
        var columns: Set<String>
    }

    struct ForeignKey {
        var table: String
        var name: String
        var columns: [String]
        var other: String
    }

    private(set) var tables: Set<String> = []
    private(set) var uniques: [Unique] = []
    private(set) var foreignKeys: [ForeignKey] = []

    init() throws {
        let text = try String(contentsOfFile: Repository.root + "/migrations/schema.sql", encoding: .utf8)
        // A partition lies where its parent lies.
        let partitions = Set(text.matches(of: #/ATTACH PARTITION public\.(\w+)/#).map { String($0.1) })
        func columns(_ list: Substring) -> [String] {
            list.split(separator: ",").map { column in
                column.trimmingCharacters(in: .whitespaces).trimmingCharacters(in: CharacterSet(charactersIn: "\""))
            }
        }
        for match in text.matches(of: #/CREATE TABLE public\.(\w+)/#) where !partitions.contains(String(match.1)) {
            tables.insert(String(match.1))
        }
        let constraint =
            #/ALTER TABLE (?:ONLY )?public\.(\w+)\s+ADD CONSTRAINT (\w+) (?:PRIMARY KEY|UNIQUE) \(([^)]*)\)/#
        for match in text.matches(of: constraint) where !partitions.contains(String(match.1)) {
            uniques.append(Unique(table: String(match.1), name: String(match.2), columns: Set(columns(match.3))))
        }
        let index = #/CREATE UNIQUE INDEX (\w+) ON (?:ONLY )?public\.(\w+) USING btree \(([^)]*)\)/#
        for match in text.matches(of: index) where !partitions.contains(String(match.2)) {
            uniques.append(Unique(table: String(match.2), name: String(match.1), columns: Set(columns(match.3))))
        }
        let reference =
            #/ALTER TABLE (?:ONLY )?public\.(\w+)\s+ADD CONSTRAINT (\w+) FOREIGN KEY \(([^)]*)\) REFERENCES public\.(\w+)/#
        for match in text.matches(of: reference) where !partitions.contains(String(match.1)) {
            foreignKeys.append(
                ForeignKey(
                    table: String(match.1),
                    name: String(match.2),
                    columns: columns(match.3),
                    other: String(match.4)
                )
            )
        }
        try #require(tables.count > 30 && uniques.count > 30 && foreignKeys.count > 10)
    }
}
