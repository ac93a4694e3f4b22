@testable import Migrations

/// The rules for statements of migrations on tables that exist and have rows (ADR 0111): none reads or rewrites a table
/// while it blocks requests, and none writes rows of a table that grows with the accounts.
///
/// These rules read the text. `MigrationLocks` observes what PostgreSQL does.
struct MigrationRules {
    /// The tables whose size does not depend on the number of accounts.
    static let smallTables: Set<String> = [
        "api_keys", "hash_keys", "project_config", "project_config_versions", "project_images", "provider_configs",
        "schema_migrations", "service_accounts", "signing_keys", "webhook_endpoints",
    ]

    /// The tables of the migrations before the current one.
    private var existing: Set<String> = []
    /// The tables of the current migration, which have no rows.
    private var new: Set<String> = []
    private var partitioned: Set<String> = []
    /// The partitioned tables that have a default partition. A block of 0046 creates that of the events.
    private var withDefault: Set<String> = ["account_events"]
    /// The columns that constraints named `table.constraint` forbid to be NULL.
    private var notNullChecks: [String: String] = [:]
    /// The columns, `table.column`, for which an earlier migration validated such a constraint.
    private var neverNull: Set<String> = []

    /// Returns the violations of each file of `set`, by the file's name. Files without violations are left out.
    static func violations(in set: MigrationSet) -> [String: [String]] {
        var rules = Self()
        var found: [String: [String]] = [:]
        for migration in set.migrations {
            for file in [migration.up, migration.down] {
                let violations = rules.violations(in: file)
                if !violations.isEmpty { found[file.fileName.description] = violations }
            }
            rules.new = []
            for statement in migration.up.statements { rules.apply(statement) }
            rules.existing.formUnion(rules.new)
        }
        return found
    }

    private func violations(in file: MigrationFile) -> [String] {
        var rules = self
        rules.new = []
        var found: [String] = []
        for statement in file.statements {
            found += rules.violations(of: Words(statement.tokens)).map { "line \(statement.line): \($0)" }
            rules.applyTables(statement)
        }
        let validations = file.statements.filter { $0.tokens.contains("VALIDATE") }
        if !validations.isEmpty, validations.count < file.statements.count {
            found.append("VALIDATE CONSTRAINT reads a table: give it a migration without other statements")
        }
        return found
    }

    private mutating func apply(_ statement: SQLStatement) {
        applyTables(statement)
        var words = Words(statement.tokens)
        guard words.take("ALTER", "TABLE") else { return }
        words.skipIfExists()
        let table = words.name()
        for var action in words.actions() { note(&action, table) }
    }

    private mutating func applyTables(_ statement: SQLStatement) {
        var words = Words(statement.tokens)
        if words.take("CREATE", "TABLE") || words.take("CREATE", "UNLOGGED", "TABLE") {
            words.skipIfExists()
            let table = words.name()
            new.insert(table)
            if words.contains("PARTITION", "BY") { partitioned.insert(table) }
            if words.take("PARTITION", "OF") {
                let parent = words.name()
                if words.isDefaultPartition { withDefault.insert(parent) }
            }
        } else if words.take("ALTER", "TABLE") {
            words.skipIfExists()
            _ = words.take("ONLY")
            let table = words.name()
            if words.take("ATTACH", "PARTITION") {
                _ = words.name()
                if words.isDefaultPartition { withDefault.insert(table) }
            }
            guard words.take("RENAME", "TO") else { return }
            let renamed = words.name()
            if new.remove(table) != nil {
                new.insert(renamed)
            } else if existing.remove(table) != nil {
                existing.insert(renamed)
            }
        }
    }

    private mutating func note(_ action: inout Words, _ table: String) {
        if action.take("VALIDATE", "CONSTRAINT"), let column = notNullChecks["\(table).\(action.name())"] {
            neverNull.insert("\(table).\(column)")
        } else if action.take("ADD", "CONSTRAINT") {
            let constraint = "\(table).\(action.name())"
            guard action.take("CHECK", "(") else { return }
            let column = action.name()
            if action.take("IS", "NOT", "NULL", ")") { notNullChecks[constraint] = column }
        }
    }

    /// Returns true if `table` can have many rows when the migration begins.
    private func canBeLarge(_ table: String) -> Bool {
        existing.contains(table) && !new.contains(table) && !Self.smallTables.contains(table)
    }

    // MARK: Statements

    private func violations(of statement: Words) -> [String] {
        var words = statement
        if words.take("CREATE", "INDEX") || words.take("CREATE", "UNIQUE", "INDEX") { return index(words) }
        if words.take("ALTER", "TABLE") { return alteration(words) }
        if words.take("CREATE", "TABLE") || words.take("CREATE", "UNLOGGED", "TABLE") { return creation(words) }
        for change in [
            ["INSERT", "INTO"], ["UPDATE"], ["DELETE", "FROM"], ["TRUNCATE"], ["MERGE", "INTO"], ["COPY"],
        ]
        where words.take(change) {
            _ = words.take("TABLE") || words.take("ONLY")
            let table = words.name()
            return canBeLarge(table)
                ? ["\(change[0]) of \(table): let servers fill the rows in batches, or at their next write"] : []
        }
        if words.take("VACUUM"), !statement.contains("FULL") { return [] }
        if words.take("REINDEX"), statement.contains("CONCURRENTLY") { return [] }
        let harmless = [
            ["CREATE", "VIEW"], ["CREATE", "OR"], ["CREATE", "FUNCTION"],
            ["CREATE", "TYPE"], ["CREATE", "SEQUENCE"], ["CREATE", "SCHEMA"], ["CREATE", "STATISTICS"],
            ["CREATE", "TRIGGER"], ["CREATE", "EXTENSION"], ["ALTER", "INDEX"], ["ALTER", "SEQUENCE"],
            ["ALTER", "FUNCTION"], ["ALTER", "VIEW"], ["DROP"], ["COMMENT"], ["GRANT"], ["REVOKE"], ["SELECT"], ["SET"],
            ["ANALYZE"],
        ]
        if harmless.contains(where: { words.take($0) }) { return [] }
        return ["\(statement.beginning): not known to be harmless on a large table"]
    }

    private func index(_ statement: Words) -> [String] {
        var words = statement
        if words.take("CONCURRENTLY") { return [] }
        words.skip(to: "ON")
        let isOnly = words.take("ONLY")
        let table = words.name()
        if !canBeLarge(table) || isOnly && partitioned.contains(table) { return [] }
        return ["CREATE INDEX on \(table) blocks its writes: use CONCURRENTLY, outside a transaction"]
    }

    /// A partition of a table with a default partition: PostgreSQL reads the default partition while it blocks the table.
    private func creation(_ statement: Words) -> [String] {
        var words = statement
        words.skipIfExists()
        let table = words.name()
        guard words.take("PARTITION", "OF") else { return [] }
        let parent = words.name()
        guard canBeLarge(parent), withDefault.contains(parent) else { return [] }
        return ["partition \(table) reads the default partition of \(parent): let servers create partitions"]
    }

    private func alteration(_ statement: Words) -> [String] {
        var words = statement
        words.skipIfExists()
        _ = words.take("ONLY")
        let table = words.name()
        guard canBeLarge(table) else { return [] }
        return words.actions().flatMap { violations(of: $0, table) }
    }

    private func violations(of action: Words, _ table: String) -> [String] {
        var words = action
        if words.take("ADD") {
            if words.take("CONSTRAINT") { return constraint(words, table) }
            if ["CHECK", "FOREIGN", "UNIQUE", "PRIMARY", "EXCLUDE"].contains(where: { words.take($0) }) {
                return ["\(action.beginning) on \(table): name the constraint, and add NOT VALID"]
            }
            return column(words, table)
        }
        if words.take("ALTER") {
            _ = words.take("COLUMN")
            let column = words.name()
            if words.take("SET", "NOT", "NULL") {
                return neverNull.contains("\(table).\(column)")
                    ? []
                    : ["SET NOT NULL reads \(table): validate CHECK (\(column) IS NOT NULL) in an earlier migration"]
            }
            if words.take("SET", "DATA") || words.take("TYPE") || words.take("ADD") {
                return ["\(action.beginning) rewrites \(table): add a column instead"]
            }
            return []
        }
        if words.take("ATTACH", "PARTITION") {
            let partition = words.name()
            guard canBeLarge(partition) || withDefault.contains(table) else { return [] }
            return ["ATTACH PARTITION reads \(partition), and a default partition of \(table), while it blocks them"]
        }
        let harmless = [
            ["DROP"], ["RENAME"], ["OWNER"], ["VALIDATE"], ["DETACH"], ["RESET"], ["SET", "("], ["ENABLE"],
            ["DISABLE"], ["REPLICA"],
        ]
        return harmless.contains { words.take($0) }
            ? [] : ["\(action.beginning) on \(table): not known to be harmless on a large table"]
    }

    private func constraint(_ action: Words, _ table: String) -> [String] {
        var words = action
        let name = words.name()
        if action.ends(with: "NOT", "VALID") || action.contains("USING", "INDEX") { return [] }
        return ["constraint \(name) reads \(table): add NOT VALID, and validate it in a later migration"]
    }

    private func column(_ action: Words, _ table: String) -> [String] {
        var words = action
        _ = words.take("COLUMN")
        words.skipIfExists()
        let name = words.name()
        var found: [String] = []
        let types = ["SERIAL", "BIGSERIAL", "SMALLSERIAL"]
        for word in ["CHECK", "UNIQUE", "PRIMARY", "REFERENCES", "GENERATED", "CONSTRAINT"] + types
        where words.contains(word) {
            found.append("column \(name) of \(table) with \(word): add the plain column, then the constraint")
        }
        let hasDefault = words.contains("DEFAULT")
        if words.contains("NOT", "NULL"), !hasDefault {
            found.append("column \(name) of \(table) is NOT NULL: add a default")
        }
        if hasDefault {
            words.skip(to: "DEFAULT")
            if !words.isConstant { found.append("the default of column \(name) rewrites \(table): use a constant") }
        }
        return found
    }
}

/// The tokens of a statement that are left to read. Names are in lower case.
private struct Words {
    private var tokens: ArraySlice<String>
    private let all: [String]

    init(_ tokens: [String]) {
        all = tokens
        self.tokens = tokens[...]
    }

    /// The first words of the statement.
    var beginning: String { all.prefix(4).joined(separator: " ") }

    /// Returns true if the next tokens are `words`, and removes them.
    mutating func take(_ words: [String]) -> Bool {
        guard tokens.starts(with: words) else { return false }
        tokens = tokens.dropFirst(words.count)
        return true
    }

    mutating func take(_ words: String...) -> Bool { take(words) }

    mutating func skipIfExists() { _ = take("IF", "NOT", "EXISTS") || take("IF", "EXISTS") }

    mutating func skip(to word: String) { tokens = tokens.drop { $0 != word }.dropFirst() }

    /// Removes the next name, and returns it without its schema.
    mutating func name() -> String {
        var name = tokens.popFirst() ?? ""
        while take(".") { name = tokens.popFirst() ?? "" }
        return name.lowercased()
    }

    var isDefaultPartition: Bool { tokens.starts(with: ["DEFAULT"]) }

    func contains(_ words: String...) -> Bool {
        tokens.indices.contains { tokens[$0...].starts(with: words) }
    }

    func ends(with words: String...) -> Bool { tokens.suffix(words.count).elementsEqual(words) }

    /// The parts between the commas outside parentheses.
    func actions() -> [Words] {
        var parts: [[String]] = [[]]
        var depth = 0
        for token in tokens {
            if token == "(" { depth += 1 }
            if token == ")" { depth -= 1 }
            if token == ",", depth == 0 {
                parts.append([])
            } else {
                parts[parts.count - 1].append(token)
            }
        }
        return parts.map(Words.init)
    }

    /// Returns true if the expression after `DEFAULT` is a literal, or the time of the transaction.
    var isConstant: Bool {
        let clauses = ["CHECK", "NOT", "CONSTRAINT", "UNIQUE", "PRIMARY", "REFERENCES", "COLLATE", "GENERATED"]
        let expression = Array(tokens.prefix { !clauses.contains($0) })
        if expression == ["NOW", "(", ")"] { return true }
        let first = expression.first { $0 != "-" } ?? ""
        let isLiteral =
            ["''", "TRUE", "FALSE", "NULL", "CURRENT_TIMESTAMP"].contains(first)
            || first.utf8.first.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } == true
        return isLiteral && !expression.contains("(") && !expression.contains("|")
    }
}
