import Synchronization

/// What identifies a prepared statement: equal text with other types is another statement.
struct StatementKey: Sendable, Hashable {
    let text: String
    let types: [UInt32]

    init(_ statement: SQL) {
        text = statement.text
        types = statement.types
    }
}

/// Under what a statement is prepared.
struct PreparedName: Sendable, Hashable {
    let number: Int
    let text: String

    init(_ number: Int) {
        self.number = number
        text = "c\(number)"
    }
}

/// The names of statements, the same on all connections of a client. Each connection prepares a statement when it first
/// meets its name.
final class StatementCatalog: Sendable {
    private let names = Mutex<[StatementKey: PreparedName]>([:])
    private let namesMax: Int

    init(namesMax: Int) {
        self.namesMax = namesMax
    }

    /// `nil` when the catalog is full: the statement is then parsed each time.
    func name(of statement: SQL) -> PreparedName? {
        let key = StatementKey(statement)
        return names.withLock { names in
            if let name = names[key] { return name }
            guard names.count < namesMax else { return nil }
            let name = PreparedName(names.count)
            names[key] = name
            return name
        }
    }
}

/// A statement on its way to a connection.
struct NamedStatement: Sendable {
    let sql: SQL
    /// `nil` for a statement that is parsed each time.
    let name: PreparedName?
}
