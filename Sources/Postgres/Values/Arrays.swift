/// `bytea`.
package typealias Bytes = [UInt8]

/// A type that can be the element of an array. `[Int64]` is `int8[]`, and `[String?]` is `text[]` that may hold NULLs.
/// `[UInt8]` is no array in PostgreSQL but `bytea`, so this differs from `PostgresValue`.
package protocol PostgresArrayElement: Sendable {
    /// The type of the array.
    static var arrayTypeOID: UInt32 { get }
    /// Returns `true` if a column of type `oid` can be decoded as an array. By default exactly `arrayTypeOID`.
    static func acceptsArray(typeOID oid: UInt32) -> Bool
    static func encodeArray(_ array: [Self], into buffer: inout ParameterBuffer)
    static func decodeArray(_ bytes: RawSpan) throws(PostgresError) -> [Self]
}

extension PostgresArrayElement {
    package static func acceptsArray(typeOID oid: UInt32) -> Bool { oid == arrayTypeOID }
}

extension PostgresArrayElement where Self: PostgresValue {
    package static func encodeArray(_ array: [Self], into buffer: inout ParameterBuffer) {
        encodeHeader(count: array.count, mayHoldNull: false, elementOID: typeOID, into: &buffer)
        for element in array {
            buffer.appendLengthPrefixed { element.encode(into: &$0) }
        }
    }

    package static func decodeArray(_ bytes: RawSpan) throws(PostgresError) -> [Self] {
        var array: [Self] = []
        var reader = try ArrayReader(bytes, accepting: Self.self)
        array.reserveCapacity(reader.remaining)
        while reader.remaining > 0 {
            guard let element: Self = try reader.next(from: bytes) else {
                throw PostgresError(.decoding, "array holds NULL")
            }
            array.append(element)
        }
        return array
    }
}

extension Optional: PostgresArrayElement where Wrapped: PostgresValue & PostgresArrayElement {
    package static var arrayTypeOID: UInt32 { Wrapped.arrayTypeOID }
    package static func acceptsArray(typeOID oid: UInt32) -> Bool { Wrapped.acceptsArray(typeOID: oid) }

    package static func encodeArray(_ array: [Wrapped?], into buffer: inout ParameterBuffer) {
        encodeHeader(count: array.count, mayHoldNull: true, elementOID: Wrapped.typeOID, into: &buffer)
        for element in array {
            if let element {
                buffer.appendLengthPrefixed { element.encode(into: &$0) }
            } else {
                buffer.append(Int32(-1))
            }
        }
    }

    package static func decodeArray(_ bytes: RawSpan) throws(PostgresError) -> [Wrapped?] {
        var array: [Wrapped?] = []
        var reader = try ArrayReader(bytes, accepting: Wrapped.self)
        array.reserveCapacity(reader.remaining)
        while reader.remaining > 0 {
            array.append(try reader.next(from: bytes))
        }
        return array
    }
}

extension UInt8: PostgresArrayElement {
    package static var arrayTypeOID: UInt32 { 17 }

    package static func encodeArray(_ array: [UInt8], into buffer: inout ParameterBuffer) {
        buffer.append(bytes: array)
    }

    package static func decodeArray(_ bytes: RawSpan) throws(PostgresError) -> [UInt8] {
        bytes.bytes()
    }
}

/// `bytea[]`.
extension Array: PostgresArrayElement where Element == UInt8 {
    package static var arrayTypeOID: UInt32 { 1001 }
}

extension Array: RowDecodable where Element: PostgresArrayElement {}

extension Array: PostgresValue where Element: PostgresArrayElement {
    package static var typeOID: UInt32 { Element.arrayTypeOID }
    package static func accepts(typeOID oid: UInt32) -> Bool { Element.acceptsArray(typeOID: oid) }

    package func encode(into buffer: inout ParameterBuffer) {
        Element.encodeArray(self, into: &buffer)
    }

    package init(decoding bytes: RawSpan) throws(PostgresError) {
        self = try Element.decodeArray(bytes)
    }
}

/// An array of one dimension in binary form, split without regard to its element type.
struct EncodedArray {
    /// The size of the length that precedes each element.
    static let lengthBytes = 4

    /// The part of the header that depends only on the element type.
    private let type: ArraySlice<UInt8>
    let count: Int
    /// The elements, each preceded by its length.
    let elements: ArraySlice<UInt8>

    /// Returns `nil` if `bytes` is empty or not an array of one dimension.
    init?(_ bytes: ArraySlice<UInt8>) {
        func integer(at offset: Int) -> UInt32 {
            bytes.dropFirst(offset).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
        }
        guard bytes.count >= 20, integer(at: 0) == 1 else { return nil }
        type = bytes.prefix(12)
        count = Int(integer(at: 12))
        elements = bytes.dropFirst(20)
    }

    /// Returns one array with the elements of all of `arrays`, which have one type.
    static func concatenating(_ arrays: [EncodedArray]) -> [UInt8] {
        guard let first = arrays.first else { return [] }
        var buffer = ParameterBuffer(bytes: Array(first.type))
        buffer.append(Int32(clamping: arrays.reduce(0) { $0 + $1.count }))
        buffer.append(Int32(1))
        return buffer.bytes + arrays.flatMap(\.elements)
    }
}

/// Appends the dimensions, the NULL flag, the element type, the length and the lower bound (`array_send`).
private func encodeHeader(count: Int, mayHoldNull: Bool, elementOID: UInt32, into buffer: inout ParameterBuffer) {
    buffer.append(Int32(count == 0 ? 0 : 1))
    buffer.append(Int32(mayHoldNull ? 1 : 0))
    buffer.append(elementOID)
    guard count > 0 else { return }
    buffer.append(Int32(clamping: count))
    buffer.append(Int32(1))
}

/// Reads an array of one dimension.
private struct ArrayReader {
    private(set) var remaining: Int
    private var offset: Int

    init<Element: PostgresValue>(_ bytes: RawSpan, accepting element: Element.Type) throws(PostgresError) {
        let dimensions = try bytes.integer(Int32.self, at: 0)
        guard Element.accepts(typeOID: try bytes.integer(UInt32.self, at: 8)) else {
            throw PostgresError(.decoding, "array of another element type")
        }
        guard dimensions > 0 else {
            remaining = 0
            offset = 12
            return
        }
        let count = try bytes.integer(Int32.self, at: 12)
        // Each element has a length of four bytes, so a larger count is malformed.
        guard dimensions == 1, count >= 0, Int(count) <= bytes.byteCount / 4 else {
            throw PostgresError(.decoding, "array of \(dimensions) dimensions")
        }
        remaining = Int(count)
        offset = 20
    }

    /// Returns the next element; `nil` for NULL.
    mutating func next<Element: PostgresValue>(from bytes: RawSpan) throws(PostgresError) -> Element? {
        let length = try bytes.integer(Int32.self, at: offset)
        offset += 4
        remaining -= 1
        guard length >= 0 else { return nil }
        guard Int(length) <= bytes.byteCount - offset else { throw PostgresError(.decoding, "array is cut short") }
        let element = try Element(decoding: bytes.extracting(offset..<offset + Int(length)))
        offset += Int(length)
        return element
    }
}
