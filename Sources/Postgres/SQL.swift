/// A statement and the values bound to it.
///
/// Interpolating a value binds it as the next parameter (`$1`, `$2`, …). Interpolating another `SQL` splices its text
/// and its values. Identifiers and raw text cannot be interpolated. Statements of equal text and equal parameter types
/// are prepared once per connection, so build them from literals: at most `PostgresConfiguration.preparedStatementsMax`
/// texts are prepared, and others are parsed each time.
///
///     let statement: SQL = "SELECT \(UserRow.columns) FROM users WHERE id = \(userID)"
package struct SQL: Sendable {
    /// The position of a value in `values`.
    struct Parameter: Sendable, Hashable {
        var valueOffset: Int32
        /// `nil` binds NULL.
        var valueLength: Int32?
    }

    /// The statement without its values.
    private(set) var shape = Shape()
    private(set) var parameters: [Parameter] = []
    /// All parameters in binary format, one after the other.
    private(set) var values = ParameterBuffer()
    /// The part that repeats if several statements of this shape are merged (`MergedStatements.swift`); `nil` if they
    /// cannot be.
    private(set) var mergePoint: MergePoint?
    /// The first table that `\(table:)` names, for metrics; `nil` if none.
    private(set) var table: StaticString?
    /// Makes the other text of `init(_:onCitus:)`.
    private var citusForm: (@Sendable () -> SQL)?

    /// The part of a statement that stands for one of many.
    enum MergePoint: Sendable, Hashable {
        /// The pieces of `shape` that are a row of `VALUES`, with all of the parameters.
        case row(Range<Int>)
        /// The last parameter, an array of keys.
        case keys
    }

    /// A statement without parameters.
    package init(literal: StaticString) {
        shape.append(literal)
    }

    init(text: String) {
        shape.append(.text(text))
    }

    /// A statement with another text for Citus. Both return the same rows.
    ///
    /// Only for a statement whose best form on PostgreSQL is refused by Citus, or asks every shard there. The other
    /// text is made only on Citus.
    package init(_ statement: SQL, onCitus form: @autoclosure @escaping @Sendable () -> SQL) {
        self = statement
        citusForm = form
    }

    /// The text for Citus; `nil` if it is the same.
    package var onCitus: SQL? { citusForm?() }

    /// The statement without its form for Citus.
    package var onPostgres: SQL {
        var sql = self
        sql.citusForm = nil
        return sql
    }

    /// A statement of `shape` with the values of all of `statements`.
    init(_ shape: Shape, valuesOf statements: [SQL]) {
        self.shape = shape
        parameters.reserveCapacity(statements.reduce(0) { $0 + $1.parameters.count })
        table = statements.first?.table
        for statement in statements { appendValues(of: statement) }
    }

    fileprivate init(interpolationCount: Int) {
        shape.reserveCapacity(2 * interpolationCount + 1)
        parameters.reserveCapacity(interpolationCount)
    }

    /// The text that is sent, with `$n` placeholders. Built at each call.
    package var text: String { shape.text }

    /// The same text in one piece: for a fragment without parameters that is built once and spliced often.
    package var asOnePiece: SQL {
        precondition(parameters.isEmpty, "a parameter is no text")
        var sql = SQL(text: text)
        sql.table = table
        return sql
    }

    /// The type of each parameter, in order.
    var types: [UInt32] { shape.types }

    /// Appends `other`. Its parameters follow the existing ones.
    package mutating func append(_ other: SQL) {
        assert(other.citusForm == nil, "a part of a statement has one text")
        shape.append(other.shape)
        table = table ?? other.table
        appendValues(of: other)
    }

    private mutating func appendValues(of other: SQL) {
        let valueOffset = Int32(values.bytes.count)
        for var parameter in other.parameters {
            parameter.valueOffset += valueOffset
            parameters.append(parameter)
        }
        values.append(bytes: other.values.bytes)
    }

    fileprivate mutating func append(_ literal: StaticString) {
        shape.append(literal)
    }

    fileprivate mutating func append(table name: StaticString) {
        shape.append(name)
        table = table ?? name
    }

    fileprivate mutating func bind<Value: PostgresValue>(_ value: Value) {
        assert(mergePoint == nil, "a parameter after the row or the keys")
        shape.append(.parameter(type: Value.typeOID))
        let valueOffset = values.bytes.count
        value.encode(into: &values)
        parameters.append(
            Parameter(valueOffset: Int32(valueOffset), valueLength: Int32(values.bytes.count - valueOffset))
        )
    }

    fileprivate mutating func bindNull(type: UInt32) {
        assert(mergePoint == nil, "a parameter after the row or the keys")
        shape.append(.parameter(type: type))
        parameters.append(Parameter(valueOffset: Int32(values.bytes.count), valueLength: nil))
    }

    fileprivate mutating func append(row: SQL) {
        precondition(parameters.isEmpty, "the row has all parameters of its statement")
        let start = shape.count
        append(row)
        mergePoint = .row(start..<shape.count)
    }

    /// Declares that the last parameter holds keys, each of which finds its own rows.
    mutating func mergeByKeys() {
        mergePoint = .keys
    }

    /// Returns the same statement with another last value.
    func replacingLastValue(_ bytes: [UInt8]) -> SQL {
        guard let last = parameters.last else { return self }
        var copy = self
        copy.values = ParameterBuffer(bytes: Array(values.bytes.prefix(Int(last.valueOffset))) + bytes)
        copy.parameters[parameters.count - 1].valueLength = Int32(bytes.count)
        return copy
    }

    /// Returns `true` if no parameter is longer than `bytesMax`.
    func fits(valueBytesMax bytesMax: Int) -> Bool {
        values.bytes.count <= bytesMax || parameters.allSatisfy { Int($0.valueLength ?? 0) <= bytesMax }
    }
}

extension SQL {
    /// Text and parameter types of a statement, which identify a prepared statement.
    ///
    /// The text consists of pieces: literals of the program, which are compared by their addresses. So comparing two
    /// statements costs the same for any length of text. Literals of equal text at different addresses count as
    /// different.
    struct Shape: Sendable, Hashable {
        enum Piece: Sendable {
            case literal(StaticString)
            case text(String)
            case parameter(type: UInt32)
        }

        private var pieces: [Piece] = []
        /// A hash of the pieces.
        private var fingerprint: UInt = 0

        mutating func reserveCapacity(_ count: Int) {
            pieces.reserveCapacity(count)
        }

        mutating func append(_ literal: StaticString) {
            guard !literal.isEmpty else { return }
            append(.literal(literal))
        }

        mutating func append(_ piece: Piece) {
            pieces.append(piece)
            fingerprint = (fingerprint ^ piece.fingerprint) &* 0x9E37_79B9_7F4A_7C15
            fingerprint ^= fingerprint >> 29
        }

        mutating func append(_ other: Shape) {
            for piece in other.pieces { append(piece) }
        }

        var count: Int { pieces.count }

        /// Returns the shape with some of its pieces `count` times, separated by commas.
        func repeating(_ range: Range<Int>, count: Int) -> Shape {
            var shape = Shape()
            shape.reserveCapacity(pieces.count + (count - 1) * (range.count + 1))
            for piece in pieces[..<range.upperBound] { shape.append(piece) }
            for _ in 1..<count {
                shape.append(", ")
                for piece in pieces[range] { shape.append(piece) }
            }
            for piece in pieces[range.upperBound...] { shape.append(piece) }
            return shape
        }

        var text: String { text { "$\($0 + 1)" } }

        /// Returns the text, with the result of `parameter` for each parameter. The first is 0.
        func text<Failure>(_ parameter: (Int) throws(Failure) -> String) throws(Failure) -> String {
            var text = ""
            var parameters = 0
            for piece in pieces {
                switch piece {
                case .literal(let literal): text += literal.description
                case .text(let piece): text += piece
                case .parameter:
                    text += try parameter(parameters)
                    parameters += 1
                }
            }
            return text
        }

        var types: [UInt32] {
            pieces.compactMap { if case .parameter(let type) = $0 { type } else { nil } }
        }

        static func == (lhs: Self, rhs: Self) -> Bool {
            lhs.fingerprint == rhs.fingerprint && lhs.pieces.count == rhs.pieces.count
                && zip(lhs.pieces, rhs.pieces).allSatisfy { $0.isSame(as: $1) }
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(fingerprint)
        }
    }
}

extension SQL.Shape.Piece {
    fileprivate var fingerprint: UInt {
        switch self {
        case .literal(let literal): literal.address
        case .text(let text): UInt(bitPattern: text.utf8.count)
        case .parameter(let type): UInt(type)
        }
    }

    fileprivate func isSame(as other: Self) -> Bool {
        switch (self, other) {
        // Two literals can share an address if one is the beginning of the other.
        case (.literal(let own), .literal(let other)): own.address == other.address && own.size == other.size
        case (.text(let own), .text(let other)): own == other
        case (.parameter(let own), .parameter(let other)): own == other
        case (.literal, _), (.text, _), (.parameter, _): false
        }
    }
}

extension StaticString {
    /// The address of the literal, or the character itself if the literal is a single character stored in place.
    fileprivate var address: UInt {
        hasPointerRepresentation ? UInt(bitPattern: utf8Start) : UInt(unicodeScalar.value)
    }

    fileprivate var size: Int { hasPointerRepresentation ? utf8CodeUnitCount : 1 }

    fileprivate var isEmpty: Bool { size == 0 }
}

extension SQL: ExpressibleByStringInterpolation {
    /// Only literals of the program can be statements: text made at run time has no `StaticString`.
    package init(stringLiteral value: StaticString) {
        self.init(literal: value)
    }

    package init(stringInterpolation: Interpolation) {
        self = stringInterpolation.sql
    }

    /// Collects the pieces of a literal. Only values and other `SQL` can be interpolated.
    package struct Interpolation: StringInterpolationProtocol, Sendable {
        fileprivate var sql: SQL

        package init(literalCapacity: Int, interpolationCount: Int) {
            sql = SQL(interpolationCount: interpolationCount)
        }

        package mutating func appendLiteral(_ literal: StaticString) {
            sql.append(literal)
        }

        /// Binds `value` as the next parameter.
        package mutating func appendInterpolation<Value: PostgresValue>(_ value: Value) {
            sql.bind(value)
        }

        /// Binds `value`, or NULL, as the next parameter.
        package mutating func appendInterpolation<Value: PostgresValue>(_ value: Value?) {
            if let value {
                sql.bind(value)
            } else {
                sql.bindNull(type: Value.typeOID)
            }
        }

        /// Splices the text and the values of `fragment`.
        package mutating func appendInterpolation(_ fragment: SQL) {
            sql.append(fragment)
        }

        /// Appends the name of a table. A read is measured under the first table named like this.
        package mutating func appendInterpolation(table name: StaticString) {
            sql.append(table: name)
        }

        /// Splices the row of an `INSERT … VALUES`, in parentheses. Statements of several callers can be merged into
        /// one with several rows (`WriteBatch.isShared`), so every parameter of the statement must be in its row.
        package mutating func appendInterpolation(row: SQL) {
            sql.append(row: row)
        }

        /// Binds, as the last parameter, keys that the statement compares with by `= ANY(…)`. Each finds its own rows.
        /// Statements of several callers can be merged into one with all keys (`WriteBatch.isShared`).
        package mutating func appendInterpolation<Key: PostgresArrayElement>(keys: [Key]) where [Key]: PostgresValue {
            sql.bind(keys)
            sql.mergeByKeys()
        }
    }
}
