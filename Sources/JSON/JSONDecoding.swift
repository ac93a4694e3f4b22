extension JSONValue {
    /// Decodes a value, as `JSONWriter.value(encoding:omittingFalse:)` writes it: a Boolean member that is absent is
    /// false.
    /// - Throws: `DecodingError`, or an error of the type.
    package func decode<T: Decodable>(_ type: T.Type) throws -> T { try T(from: ValueDecoder(value: self)) }
}

private func required<T>(_ value: T?) throws -> T {
    if let value { return value }
    throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no \(T.self)"))
}

private struct ValueDecoder: Decoder, SingleValueDecodingContainer {
    let value: JSONValue
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Members(members: try required(value.object)))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { Elements(elements: try required(value.array)) }
    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { value == .null }
    func decode(_ type: Bool.Type) throws -> Bool { try required(value.bool) }
    func decode(_ type: String.Type) throws -> String { try required(value.string) }

    func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
        try required(value.integer.flatMap(T.init(exactly:)))
    }

    func decode<T: BinaryFloatingPoint & Decodable>(_ type: T.Type) throws -> T {
        if case .double(let number) = value { T(number) } else { T(try required(value.integer)) }
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T { try value.decode(type) }
}

private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [String: JSONValue]
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { members.keys.compactMap(Key.init(stringValue:)) }

    private func decoder(_ key: Key) throws -> ValueDecoder {
        ValueDecoder(value: key.isInPlace ? .object(members) : try required(members[key.stringValue]))
    }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { members[key.stringValue] == .null }
    func decode(_ type: Bool.Type, forKey key: Key) -> Bool { members[key.stringValue]?.bool ?? false }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try T(from: decoder(key)) }

    /// An inlined value is absent if its required members are.
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        if key.isInPlace { return try? T(from: decoder(key)) }
        guard let value = members[key.stringValue], value != .null else { return nil }
        return try value.decode(type)
    }

    func nestedContainer<Nested>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
        try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder { ValueDecoder(value: .object(members)) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}

private struct Elements: UnkeyedDecodingContainer {
    let elements: [JSONValue]
    var currentIndex = 0
    var codingPath: [any CodingKey] { [] }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex == elements.count }

    init(elements: [JSONValue]) {
        self.elements = elements
    }

    private mutating func next() throws -> ValueDecoder {
        let element = try required(isAtEnd ? nil : elements[currentIndex])
        currentIndex += 1
        return ValueDecoder(value: element)
    }

    mutating func decodeNil() -> Bool {
        guard !isAtEnd, elements[currentIndex] == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try T(from: next()) }

    mutating func nestedContainer<Nested>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
        try next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try next().unkeyedContainer() }
    mutating func superDecoder() throws -> any Decoder { try next() }
}
