/// A type that one parameter or one column can hold, in PostgreSQL's binary format.
package protocol PostgresValue: RowDecodable {
    /// The type that a parameter is sent as (`pg_type.oid`).
    static var typeOID: UInt32 { get }
    /// Returns `true` if a column of type `oid` can be decoded. By default exactly `typeOID`.
    static func accepts(typeOID oid: UInt32) -> Bool
    /// Appends the binary form.
    func encode(into buffer: inout ParameterBuffer)
    /// - Throws: `.decoding` when `bytes` is not a value of this type.
    init(decoding bytes: RawSpan) throws(PostgresError)
}

extension PostgresValue {
    package static func accepts(typeOID oid: UInt32) -> Bool { oid == typeOID }

    /// A row of one column.
    package init(row: inout RowDecoder) throws(PostgresError) {
        self = try row.next(Self.self)
    }
}

/// Bytes of parameters, in network byte order.
package struct ParameterBuffer: Sendable, Hashable {
    private(set) var bytes: [UInt8] = []

    package mutating func append<Integer: FixedWidthInteger>(_ integer: Integer) {
        var shift = Integer.bitWidth
        while shift > 0 {
            shift -= 8
            bytes.append(UInt8(truncatingIfNeeded: integer >> Integer(shift)))
        }
    }

    package mutating func append(utf8 text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    package mutating func append(bytes more: [UInt8]) {
        bytes.append(contentsOf: more)
    }

    /// Appends the output of `body`, preceded by its length in four bytes.
    mutating func appendLengthPrefixed(_ body: (inout Self) -> Void) {
        let start = bytes.count
        append(Int32(0))
        body(&self)
        let length = UInt32(bytes.count - start - 4)
        for index in 0..<4 {
            bytes[start + index] = UInt8(truncatingIfNeeded: length >> UInt32(24 - 8 * index))
        }
    }
}
