/// A statement and the values bound to it.
///
/// Interpolating a value binds it as the next parameter (`$1`, `$2`, …); interpolating another `SQL` splices its text
/// and its values; there is no way to interpolate an identifier or raw text. Statements of equal text and equal
/// parameter types are prepared once per connection, so build them from literals: the number of distinct texts is
/// bounded by `PostgresConfiguration.preparedStatementsMax`, and those beyond it are parsed each time.
///
///     let statement: SQL = "SELECT \(UserRow.columns) FROM users WHERE id = \(userID)"
package struct SQL: Sendable {
    /// Where a value stands in `values`, and where its placeholder stands in `text`.
    struct Parameter: Sendable, Hashable {
        var textOffset: Int32
        var valueOffset: Int32
        /// `nil` binds NULL.
        var valueLength: Int32?
    }

    /// What is sent, with `$n` placeholders.
    package private(set) var text: String
    /// The type of each parameter, in order.
    private(set) var types: [UInt32]
    private(set) var parameters: [Parameter]
    /// All parameters in binary format, one after the other.
    private(set) var values: ParameterBuffer

    /// A statement without parameters.
    package init(literal: StaticString) {
        self.init(text: literal.description)
    }

    init(text: String) {
        self.text = text
        types = []
        parameters = []
        values = ParameterBuffer()
    }

    /// Appends `other`, renumbering its placeholders.
    package mutating func append(_ other: SQL) {
        guard !other.parameters.isEmpty else {
            text += other.text
            return
        }
        let textOffset = Int32(text.utf8.count)
        let valueOffset = Int32(values.bytes.count)
        if parameters.isEmpty {
            text += other.text
            for parameter in other.parameters {
                parameters.append(parameter.shifted(text: textOffset, values: valueOffset))
            }
        } else {
            appendRenumbered(other, valueOffset: valueOffset)
        }
        types += other.types
        values.append(bytes: other.values.bytes)
    }

    private mutating func appendRenumbered(_ other: SQL, valueOffset: Int32) {
        let otherText = other.text.utf8
        let first = parameters.count
        var copied = otherText.startIndex
        var copiedOffset = 0
        for (index, parameter) in other.parameters.enumerated() {
            let start = otherText.index(copied, offsetBy: Int(parameter.textOffset) - copiedOffset)
            text += other.text[copied..<start]
            let placeholderLength = 1 + decimalDigits(index + 1)
            copied = otherText.index(start, offsetBy: placeholderLength)
            copiedOffset = Int(parameter.textOffset) + placeholderLength
            var moved = parameter
            moved.textOffset = Int32(text.utf8.count)
            moved.valueOffset += valueOffset
            parameters.append(moved)
            text += "$\(first + index + 1)"
        }
        text += other.text[copied...]
    }

    private func decimalDigits(_ number: Int) -> Int {
        number < 10 ? 1 : number < 100 ? 2 : number < 1000 ? 3 : number < 10_000 ? 4 : 5
    }

    private mutating func bind(type: UInt32, value: (inout ParameterBuffer) -> Void) {
        let valueOffset = values.bytes.count
        value(&values)
        appendPlaceholder(type: type, valueOffset: valueOffset, valueLength: Int32(values.bytes.count - valueOffset))
    }

    private mutating func appendPlaceholder(type: UInt32, valueOffset: Int, valueLength: Int32?) {
        parameters.append(
            Parameter(
                textOffset: Int32(text.utf8.count),
                valueOffset: Int32(valueOffset),
                valueLength: valueLength
            )
        )
        types.append(type)
        text += "$"
        text += String(parameters.count)
    }

    /// The same statement with another last value.
    func replacingLastValue(_ bytes: [UInt8]) -> SQL {
        guard let last = parameters.last else { return self }
        var copy = self
        copy.values = ParameterBuffer(bytes: Array(values.bytes.prefix(Int(last.valueOffset))) + bytes)
        copy.parameters[parameters.count - 1].valueLength = Int32(bytes.count)
        return copy
    }

    /// Whether no parameter is longer than `bytesMax`.
    func fits(valueBytesMax bytesMax: Int) -> Bool {
        values.bytes.count <= bytesMax || parameters.allSatisfy { Int($0.valueLength ?? 0) <= bytesMax }
    }
}

extension SQL.Parameter {
    fileprivate func shifted(text: Int32, values: Int32) -> Self {
        Self(textOffset: textOffset + text, valueOffset: valueOffset + values, valueLength: valueLength)
    }
}

extension SQL: ExpressibleByStringInterpolation {
    package init(stringLiteral value: String) {
        self.init(text: value)
    }

    package init(stringInterpolation: Interpolation) {
        self = stringInterpolation.sql
    }

    /// Collects the pieces of a literal. Only values and other `SQL` can be interpolated.
    package struct Interpolation: StringInterpolationProtocol, Sendable {
        fileprivate var sql = SQL(text: "")

        package init(literalCapacity: Int, interpolationCount: Int) {
            sql.text.reserveCapacity(literalCapacity + 3 * interpolationCount)
            sql.types.reserveCapacity(interpolationCount)
            sql.parameters.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: String) {
            sql.text += literal
        }

        /// Binds `value` as the next parameter.
        package mutating func appendInterpolation<Value: PostgresValue>(_ value: Value) {
            sql.bind(type: Value.typeOID) { value.encode(into: &$0) }
        }

        /// Binds `value`, or NULL, as the next parameter.
        package mutating func appendInterpolation<Value: PostgresValue>(_ value: Value?) {
            guard let value else {
                sql.appendPlaceholder(type: Value.typeOID, valueOffset: sql.values.bytes.count, valueLength: nil)
                return
            }
            sql.bind(type: Value.typeOID) { value.encode(into: &$0) }
        }

        /// Splices the text and the values of `fragment`.
        package mutating func appendInterpolation(_ fragment: SQL) {
            sql.append(fragment)
        }
    }
}
