import AccountLinking
import JSON
import Postgres

/// A type of values that a column can hold.
protocol ColumnValue: Sendable {
    associatedtype Stored: PostgresValue & PostgresArrayElement
    var stored: Stored { get }
    /// Returns `nil` for a value that this version does not write, for example one that was edited by hand.
    static func reading(_ stored: Stored) -> Self?
}

extension ColumnValue where Stored == Self {
    var stored: Self { self }
    static func reading(_ stored: Self) -> Self? { stored }
}

extension String: ColumnValue { typealias Stored = String }
extension Int32: ColumnValue { typealias Stored = Int32 }
extension Int64: ColumnValue { typealias Stored = Int64 }
extension Bool: ColumnValue { typealias Stored = Bool }
extension Bytes: ColumnValue { typealias Stored = Bytes }
extension PostgresUUID: ColumnValue { typealias Stored = PostgresUUID }
extension JSONText: ColumnValue { typealias Stored = JSONText }

/// A type of the model that a column can hold: the one place where it meets its column type.
///
/// Statements bind it, and rows read it, like a type of PostgreSQL's own:
///
///     let statement: SQL = "DELETE FROM sessions WHERE tenant_id = \(tenant) AND user_id = ANY(\(users))"
protocol StoredValue: ColumnValue {}

extension StoredValue where Self: RawRepresentable, RawValue: PostgresValue & PostgresArrayElement {
    var stored: RawValue { rawValue }
    static func reading(_ stored: RawValue) -> Self? { Self(rawValue: stored) }
}

extension StoredValue where Self: CheckedText {
    var stored: String { rawValue }
    static func reading(_ stored: String) -> Self? { Self(stored) }
}

/// A row of one column that must not be NULL.
struct SingleValueRow<Value: StoredValue>: RowDecodable {
    let value: Value

    init(row: inout RowDecoder) throws(PostgresError) {
        value = try row.next()
    }
}

extension SQL.Interpolation {
    mutating func appendInterpolation<Value: StoredValue>(_ value: Value) {
        appendInterpolation(value.stored)
    }

    mutating func appendInterpolation<Value: StoredValue>(_ value: Value?) {
        appendInterpolation(value?.stored)
    }

    mutating func appendInterpolation<Value: StoredValue>(_ values: [Value]) {
        appendInterpolation(values.map(\.stored))
    }

    mutating func appendInterpolation<Value: StoredValue>(_ values: [Value?]) {
        appendInterpolation(values.map { $0?.stored })
    }

    mutating func appendInterpolation<Value: StoredValue>(keys: [Value]) {
        appendInterpolation(keys: keys.map(\.stored))
    }
}

extension RowDecoder {
    /// The next column, which must not be NULL.
    ///
    /// - `table`: table that an error names with the column, if the statement reads several.
    mutating func next<Value: StoredValue>(of table: StaticString? = nil) throws(PostgresError) -> Value {
        try nextColumn(of: table)
    }

    /// The next column, `nil` for NULL.
    mutating func next<Value: StoredValue>(of table: StaticString? = nil) throws(PostgresError) -> Value? {
        try nextColumn(of: table)
    }

    mutating func nextColumn<Value: ColumnValue>(of table: StaticString?) throws(PostgresError) -> Value {
        let stored: Value.Stored = try next()
        guard let value = Value.reading(stored) else { throw unreadable(of: table) }
        return value
    }

    mutating func nextColumn<Value: ColumnValue>(of table: StaticString?) throws(PostgresError) -> Value? {
        guard let stored = try next(Value.Stored?.self) else { return nil }
        guard let value = Value.reading(stored) else { throw unreadable(of: table) }
        return value
    }

    private func unreadable(of table: StaticString?) -> PostgresError {
        .unreadable(table.map { "\($0).\(lastColumnName)" } ?? lastColumnName)
    }
}

extension PostgresError {
    static func unreadable(_ column: StaticString) -> PostgresError { .unreadable("\(column)" as String) }

    fileprivate static func unreadable(_ column: String) -> PostgresError {
        PostgresError(.decoding, "column \(column) holds a value this version cannot read", column: column)
    }
}

extension Timestamp: StoredValue {
    var stored: PostgresTimestamp { PostgresTimestamp(microsecondsSinceEpoch: microsecondsSinceEpoch) }

    static func reading(_ stored: PostgresTimestamp) -> Timestamp? { Timestamp(stored) }

    init(_ stored: PostgresTimestamp) {
        self.init(microsecondsSinceEpoch: stored.microsecondsSinceEpoch)
    }

    /// The start of its second, the unit of `valid_since`.
    var wholeSecond: Timestamp { Timestamp(secondsSinceEpoch: secondsSinceEpoch) }
}

extension JSONValue: StoredValue {
    var stored: JSONText { JSONText(text) }

    static func reading(_ stored: JSONText) -> JSONValue? { try? JSONValue(parsing: Array(stored.text.utf8)) }
}

/// The spelling of the owner. Keys are bound as `canonical`.
extension EmailAddress: StoredValue {
    var stored: String { raw }
    static func reading(_ stored: String) -> Self? { Self(stored) }
}

extension EmailProof: StoredValue {
    var stored: String { name }
    static func reading(_ stored: String) -> Self? { Self(name: stored) }
}

extension SignInMethod: StoredValue {
    var stored: String { name }
    static func reading(_ stored: String) -> Self? { Self(name: stored) }
}

extension MethodClass: StoredValue {
    var stored: String { rawValue }
    /// A class that only another version has is `.other`.
    static func reading(_ stored: String) -> MethodClass? { MethodClass(rawValue: stored) ?? .other }
}

extension TenantID: StoredValue {}
extension UserID: StoredValue {}
extension ProviderID: StoredValue {}
extension PhoneNumber: StoredValue {}
extension SecondFactorID: StoredValue {}
extension HashKeyID: StoredValue {}
extension Rule: StoredValue {}
extension AccountEvent.Kind: StoredValue {}
extension WebhookEvent.Kind: StoredValue {}
extension ConflictFacts.ShownState: StoredValue {}
extension OutboxMessage.Kind: StoredValue {}
extension OutboxMessage.State: StoredValue {}
extension OutboxMessage.DiscardReason: StoredValue {}
extension SigningKeyRecord.Purpose: StoredValue {}
extension WebhookEndpointRecord.DisabledReason: StoredValue {}
extension UserRecord.Proof: StoredValue {}
extension ConflictFacts.State: StoredValue {}
extension ConflictKind: StoredValue {}
extension ConflictProofKind: StoredValue {}
extension EmailCodeRecord.Kind: StoredValue {}
extension PhoneVerificationRecord.Purpose: StoredValue {}
extension FactorChallenge.Purpose: StoredValue {}
extension MergeState: StoredValue {}
extension MergeRequesterKind: StoredValue {}
extension MergeAbortReason: StoredValue {}
