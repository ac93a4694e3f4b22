extension JSONValue {
    /// Decodes a value. A Boolean member that is absent is false; other values have to be there.
    /// - Throws: `DecodingError`, or what the type itself throws.
    package func decode<T: Decodable>(_ type: T.Type) throws -> T { try T(from: ValueDecoder(value: self)) }

    fileprivate func required<T>(_ value: T?) throws -> T {
        guard let value else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no \(T.self)"))
        }
        return value
    }
}

private struct ValueDecoder: Decoder {
    let value: JSONValue
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Members(members: try value.required(value.object)))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        Elements(elements: try value.required(value.array))
    }
    func singleValueContainer() -> any SingleValueDecodingContainer { One(value: value) }
}

private struct One: SingleValueDecodingContainer {
    let value: JSONValue
    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { value == .null }
    func decode(_ type: Bool.Type) throws -> Bool { try value.required(value.bool) }
    func decode(_ type: String.Type) throws -> String { try value.required(value.string) }

    func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
        try value.required(value.integer.flatMap(T.init(exactly:)))
    }

    func decode<T: BinaryFloatingPoint & Decodable>(_ type: T.Type) throws -> T {
        if case .double(let number) = value { T(number) } else { T(try value.required(value.integer)) }
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T { try value.decode(type) }
}

private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [String: JSONValue]
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { members.keys.compactMap(Key.init(stringValue:)) }

    private func one(_ key: Key) throws -> One {
        One(value: try JSONValue.null.required(members[key.stringValue]))
    }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try one(key).decodeNil() }
    func decode(_ type: Bool.Type, forKey key: Key) -> Bool { members[key.stringValue]?.bool ?? false }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try one(key).decode(type) }
    func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try one(key).decode(type)
    }

    func decode<T: BinaryFloatingPoint & Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try one(key).decode(type)
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try one(key).decode(type) }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        guard let value = members[key.stringValue], value != .null else { return nil }
        return try value.decode(type)
    }

    func nestedContainer<Nested>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
        try ValueDecoder(value: one(key).value).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try ValueDecoder(value: one(key).value).unkeyedContainer()
    }

    func superDecoder() -> any Decoder { ValueDecoder(value: .object(members)) }
    func superDecoder(forKey key: Key) throws -> any Decoder { ValueDecoder(value: try one(key).value) }
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

    private mutating func next() throws -> One {
        let element: JSONValue? = isAtEnd ? nil : elements[currentIndex]
        currentIndex += 1
        return One(value: try JSONValue.null.required(element))
    }

    mutating func decodeNil() -> Bool {
        guard !isAtEnd, elements[currentIndex] == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try next().decode(type) }
    mutating func decode(_ type: String.Type) throws -> String { try next().decode(type) }
    mutating func decode<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T { try next().decode(type) }
    mutating func decode<T: BinaryFloatingPoint & Decodable>(_ type: T.Type) throws -> T { try next().decode(type) }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next().decode(type) }

    mutating func nestedContainer<Nested>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
        try ValueDecoder(value: next().value).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try ValueDecoder(value: next().value).unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder { ValueDecoder(value: try next().value) }
}
