extension JSONWriter {
    /// Writes a value that never refuses to be encoded. Foundation's encoder takes several times as long.
    ///
    /// - `omittedFalse`: names of members that are left out when they are false. An optional member is written whenever there is one.
    package mutating func value(encoding value: some Encodable, omittingFalse omittedFalse: Set<String> = []) {
        let encoder = ValueEncoder(omittedFalse)
        swap(&encoder.writer, &self)
        do {
            try encoder.write(value)
        } catch {
            preconditionFailure("\(type(of: value)) refuses to be encoded")
        }
        swap(&encoder.writer, &self)
    }
}

extension JSONValue {
    /// A value that never refuses to be encoded, as a document.
    package init(encoding value: some Encodable) throws(ParseFailure) {
        var writer = JSONWriter()
        writer.value(encoding: value)
        try self.init(parsing: writer.bytes)
    }
}

private final class ValueEncoder: Encoder {
    var writer = JSONWriter(capacity: 0)
    let omittedFalse: Set<String>
    /// The bracket that ends the present value, if it has begun an object or an array.
    private var closing: Unicode.Scalar?

    init(_ omittedFalse: Set<String>) {
        self.omittedFalse = omittedFalse
    }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func write(_ value: some Encodable) throws {
        let outer = closing
        closing = nil
        try value.encode(to: self)
        if let closing { writer.end(closing) }
        closing = outer
    }

    /// A second container of the same value continues its object.
    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if closing == nil {
            writer.begin("{")
            closing = "}"
        }
        return KeyedEncodingContainer(Members(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        writer.begin("[")
        closing = "]"
        return Elements(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { Elements(encoder: self) }
}

private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ValueEncoder
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) { encoder.writer.field(key.stringValue, JSONValue.null) }
    func encode(_ value: String, forKey key: Key) { encoder.writer.field(key.stringValue, value) }

    func encode(_ value: Bool, forKey key: Key) {
        if value || !encoder.omittedFalse.contains(key.stringValue) { encoder.writer.field(key.stringValue, value) }
    }

    func encodeIfPresent(_ value: Bool?, forKey key: Key) { encoder.writer.field(key.stringValue, value) }

    func encode<T: BinaryInteger & Encodable>(_ value: T, forKey key: Key) {
        encoder.writer.field(key.stringValue, Int64(value))
    }

    func encode<T: BinaryFloatingPoint & Encodable>(_ value: T, forKey key: Key) {
        encoder.writer.field(key.stringValue, JSONValue.double(Double(value)))
    }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        encoder.writer.name(key.stringValue)
        try encoder.write(value)
    }

    func nestedContainer<Nested>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
        preconditionFailure("a nested value is encoded by its own type")
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        preconditionFailure("a nested value is encoded by its own type")
    }

    func superEncoder() -> any Encoder { encoder }
    func superEncoder(forKey key: Key) -> any Encoder { encoder }
}

/// The elements of an array, or one value.
private struct Elements: UnkeyedEncodingContainer, SingleValueEncodingContainer {
    let encoder: ValueEncoder
    var count = 0
    var codingPath: [any CodingKey] { [] }

    init(encoder: ValueEncoder) {
        self.encoder = encoder
    }

    func encodeNil() { encoder.writer.value(.null) }
    func encode(_ value: String) { encoder.writer.string(value) }
    func encode(_ value: Bool) { encoder.writer.value(.bool(value)) }
    func encode<T: BinaryInteger & Encodable>(_ value: T) { encoder.writer.value(.integer(Int64(value))) }
    func encode<T: BinaryFloatingPoint & Encodable>(_ value: T) { encoder.writer.value(.double(Double(value))) }
    func encode<T: Encodable>(_ value: T) throws { try encoder.write(value) }

    func nestedContainer<Nested>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        preconditionFailure("a nested value is encoded by its own type")
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        preconditionFailure("a nested value is encoded by its own type")
    }

    func superEncoder() -> any Encoder { encoder }
}
