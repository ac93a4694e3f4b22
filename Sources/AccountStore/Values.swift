import AccountLinking
import JSON
import Postgres

// How the model's own types are stored: the one place where each meets its column type.

extension Timestamp {
    var stored: PostgresTimestamp { PostgresTimestamp(microsecondsSinceEpoch: microsecondsSinceEpoch) }

    init(_ stored: PostgresTimestamp) {
        self.init(microsecondsSinceEpoch: stored.microsecondsSinceEpoch)
    }

    /// The second it falls in: the unit of `valid_since`.
    var wholeSecond: Timestamp { Timestamp(secondsSinceEpoch: secondsSinceEpoch) }
}

extension RowDecoder {
    mutating func timestamp() throws(PostgresError) -> Timestamp {
        let stored: PostgresTimestamp = try next()
        return Timestamp(stored)
    }

    mutating func optionalTimestamp() throws(PostgresError) -> Timestamp? {
        let stored: PostgresTimestamp? = try next()
        return stored.map { Timestamp($0) }
    }

    /// A stored text that must parse as `Value`; anything else means that somebody edited the database by hand.
    mutating func parsed<Value>(_ column: StaticString, _ parse: (String) -> Value?) throws(PostgresError) -> Value {
        let text: String = try next()
        guard let value = parse(text) else { throw .unreadable(column) }
        return value
    }

    mutating func optionallyParsed<Value>(
        _ column: StaticString,
        _ parse: (String) -> Value?
    ) throws(PostgresError) -> Value? {
        let stored: String? = try next()
        guard let text = stored else { return nil }
        guard let value = parse(text) else { throw .unreadable(column) }
        return value
    }
}

extension RowDecoder {
    mutating func optionalJSON(_ column: StaticString) throws(PostgresError) -> JSONValue? {
        guard let stored = try next(JSONText?.self) else { return nil }
        do {
            return try JSONValue(parsing: Array(stored.text.utf8))
        } catch {
            throw .unreadable(column)
        }
    }
}

extension PostgresError {
    static func unreadable(_ column: StaticString) -> PostgresError {
        PostgresError(.decoding, "column \(column) holds a value this version cannot read", column: "\(column)")
    }
}
