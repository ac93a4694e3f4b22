extension JSONWriter {
    /// Writes a value whose encoding never throws.
    ///
    /// A member whose key begins with `+` is inlined: its members replace it.
    ///
    /// - `omittedFalse`: names of members that are omitted if they are false. An optional member is written if it has a
    ///   value.
    package mutating func value(encoding value: some Encodable, omittingFalse omittedFalse: Set<String> = []) {
        let encoder = ValueEncoder(omittedFalse)
        swap(&encoder.writer, &self)
        do {
            try encoder.encode(value)
        } catch {
            preconditionFailure("\(type(of: value)) refuses to be encoded")
        }
        swap(&encoder.writer, &self)
    }
}

extension JSONValue {
    /// Returns a document of a value whose encoding never throws.
    package init(encoding value: some Encodable) throws(ParseFailure) {
        var writer = JSONWriter()
        writer.value(encoding: value)
        try self.init(parsing: writer.bytes)
    }
}

extension CodingKey {
    var isInPlace: Bool { stringValue.utf8.first == UInt8(ascii: "+") }
}

private let noNestedContainers = "a nested value is encoded by its own type"

private final class ValueEncoder: Encoder, SingleValueEncodingContainer {
    var writer = JSONWriter(capacity: 0)
    let omittedFalse: Set<String>
    /// The bracket that ends the current value, if it is an object or an array.
    private var closing: Unicode.Scalar?
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ omittedFalse: Set<String>) {
        self.omittedFalse = omittedFalse
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

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() { writer.value(.null) }
    func encode(_ value: String) { writer.string(value) }
    func encode(_ value: Bool) { writer.value(.bool(value)) }
    func encode<T: BinaryInteger & Encodable>(_ value: T) { writer.value(.integer(Int64(value))) }
    func encode<T: BinaryFloatingPoint & Encodable>(_ value: T) { writer.value(.double(Double(value))) }

    func encode<T: Encodable>(_ value: T) throws {
        let outer = closing
        closing = nil
        try value.encode(to: self)
        if let closing { writer.end(closing) }
        closing = outer
    }
}

private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ValueEncoder
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) { encoder.writer.field(key.stringValue, JSONValue.null) }
    func encode(_ value: String, forKey key: Key) { encoder.writer.field(key.stringValue, value) }
    func encodeIfPresent(_ value: Bool?, forKey key: Key) { encoder.writer.field(key.stringValue, value) }

    func encode(_ value: Bool, forKey key: Key) {
        if value || !encoder.omittedFalse.contains(key.stringValue) { encoder.writer.field(key.stringValue, value) }
    }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        if key.isInPlace { return try value.encode(to: encoder) }
        encoder.writer.name(key.stringValue)
        try encoder.encode(value)
    }

    func nestedContainer<Nested>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
        preconditionFailure(noNestedContainers)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        preconditionFailure(noNestedContainers)
    }
    func superEncoder() -> any Encoder { encoder }
    func superEncoder(forKey key: Key) -> any Encoder { encoder }
}

private struct Elements: UnkeyedEncodingContainer {
    let encoder: ValueEncoder
    var count = 0
    var codingPath: [any CodingKey] { [] }

    init(encoder: ValueEncoder) {
        self.encoder = encoder
    }

    func encodeNil() { encoder.encodeNil() }
    func encode<T: Encodable>(_ value: T) throws { try encoder.encode(value) }

    func nestedContainer<Nested>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        preconditionFailure(noNestedContainers)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { preconditionFailure(noNestedContainers) }
    func superEncoder() -> any Encoder { encoder }
}
