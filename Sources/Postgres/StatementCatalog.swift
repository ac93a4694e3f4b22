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

    private init(_ number: Int, _ text: String) {
        self.number = number
        self.text = text
    }

    // What every write needs. Not from the catalog, which may be full.
    static let begin = PreparedName(-1, "begin")
    static let commit = PreparedName(-2, "commit")
}

/// The names of statements, the same on all connections of a client. Each connection prepares a statement when it first
/// meets its name.
final class StatementCatalog: Sendable {
    private struct Names {
        var byText: [StatementKey: PreparedName] = [:]
        /// The same names, found without looking at the text.
        var byShape: [SQL.Shape: PreparedName] = [:]
    }

    private let names = Mutex(Names())
    private let namesMax: Int

    init(namesMax: Int) {
        self.namesMax = namesMax
    }

    /// `nil` when the catalog is full: the statement is then parsed each time.
    func name(of statement: SQL) -> PreparedName? {
        names.withLock { names in
            if let name = names.byShape[statement.shape] { return name }
            let key = StatementKey(statement)
            guard let name = names.byText[key] ?? newName(names.byText.count) else { return nil }
            names.byText[key] = name
            // A text put together in many ways would have many shapes.
            if names.byShape.count < 2 * namesMax { names.byShape[statement.shape] = name }
            return name
        }
    }

    private func newName(_ number: Int) -> PreparedName? {
        number < namesMax ? PreparedName(number) : nil
    }
}

/// A statement on its way to a connection.
struct NamedStatement: Sendable {
    let sql: SQL
    /// `nil` for a statement that is parsed each time.
    let name: PreparedName?
}
