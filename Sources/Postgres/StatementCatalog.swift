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

/// The numbers of statements, one for all connections of a client. Each connection prepares a statement when it first
/// meets its number.
final class StatementCatalog: Sendable {
    private let numbers = Mutex<[StatementKey: Int]>([:])
    private let numbersMax: Int

    init(numbersMax: Int) {
        self.numbersMax = numbersMax
    }

    /// `nil` when the catalog is full: the statement is then parsed each time.
    func number(of statement: SQL) -> Int? {
        let key = StatementKey(statement)
        return numbers.withLock { numbers in
            if let number = numbers[key] { return number }
            guard numbers.count < numbersMax else { return nil }
            numbers[key] = numbers.count
            return numbers.count - 1
        }
    }
}

/// A statement on its way to a connection.
struct NumberedStatement: Sendable {
    let sql: SQL
    /// `nil` for a statement that is parsed each time.
    let number: Int?
}
