import Metrics
import Synchronization

/// The identity of a prepared statement: equal text with other types is another statement.
struct StatementKey: Sendable, Hashable {
    let text: String
    let types: [UInt32]

    init(_ statement: SQL) {
        text = statement.text
        types = statement.types
    }
}

/// The name under which a statement is prepared.
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

    // Every transaction needs these. They are not in the catalog, which may be full.
    static let begin = PreparedName(-1, "begin")
    static let commit = PreparedName(-2, "commit")
    static let readSettings = PreparedName(-3, "read_settings")
    static let writeSettings = PreparedName(-4, "write_settings")
}

/// The names of statements, the same on all connections of a client. Each connection prepares a statement at its first
/// use.
final class StatementCatalog: Sendable {
    /// The name and the timer of a statement.
    struct Entry: Sendable {
        let name: PreparedName
        /// Measures reads; `nil` without metrics.
        let timer: Timer?
    }

    private struct Entries {
        var byText: [StatementKey: Entry] = [:]
        /// The same entries, found without building the text.
        var byShape: [SQL.Shape: Entry] = [:]
    }

    private let entries = Mutex(Entries())
    private let namesMax: Int
    private let metrics: PostgresMetrics?

    init(namesMax: Int, metrics: PostgresMetrics? = nil) {
        self.namesMax = namesMax
        self.metrics = metrics
    }

    /// Returns `nil` if the catalog is full: the statement is then parsed each time.
    func name(of statement: SQL) -> PreparedName? { entry(of: statement)?.name }

    /// Returns `nil` if the catalog is full.
    func entry(of statement: SQL) -> Entry? {
        entries.withLock { entries in
            if let entry = entries.byShape[statement.shape] { return entry }
            let key = StatementKey(statement)
            guard let entry = entries.byText[key] ?? newEntry(entries.byText.count, statement) else { return nil }
            entries.byText[key] = entry
            // A text that is built in many ways would have many shapes.
            if entries.byShape.count < 2 * namesMax { entries.byShape[statement.shape] = entry }
            return entry
        }
    }

    private func newEntry(_ number: Int, _ statement: SQL) -> Entry? {
        guard number < namesMax else { return nil }
        return Entry(name: PreparedName(number), timer: metrics?.timer(ofReadFrom: statement.table))
    }
}

/// A statement to send.
struct NamedStatement: Sendable {
    let sql: SQL
    /// `nil` for a statement that is parsed each time.
    let name: PreparedName?
    /// Measures reads; `nil` without metrics.
    var timer: Timer?
}
