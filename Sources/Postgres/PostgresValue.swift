/// A type that one parameter or one column can hold, in PostgreSQL's binary format.
///
/// Types of other targets conform through `PostgresConvertible`.
package protocol PostgresValue: RowDecodable {
    /// The type a parameter is sent as (`pg_type.oid`).
    static var typeOID: UInt32 { get }
    /// Whether a column of type `oid` can be decoded. By default exactly `typeOID`.
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

/// A type of another target that is stored as one of the types this target knows.
///
/// A type whose raw value is storable conforms with an empty extension:
///
///     extension UserID: PostgresConvertible {
///         package var postgresForm: String { rawValue }
///         package init?(postgresForm: String) { self.init(postgresForm) }
///     }
package protocol PostgresConvertible: PostgresValue, PostgresArrayElement {
    associatedtype PostgresForm: PostgresValue & PostgresArrayElement
    /// What is stored.
    var postgresForm: PostgresForm { get }
    /// `nil` when what is stored is not a value of this type: the row is then refused with `.decoding`.
    init?(postgresForm: PostgresForm)
}

extension PostgresConvertible {
    package static var typeOID: UInt32 { PostgresForm.typeOID }
    package static var arrayTypeOID: UInt32 { PostgresForm.arrayTypeOID }
    package static func accepts(typeOID oid: UInt32) -> Bool { PostgresForm.accepts(typeOID: oid) }

    package func encode(into buffer: inout ParameterBuffer) {
        postgresForm.encode(into: &buffer)
    }

    package init(decoding bytes: RawSpan) throws(PostgresError) {
        guard let value = Self(postgresForm: try PostgresForm(decoding: bytes)) else {
            throw PostgresError(.decoding, "stored value is not a valid \(Self.self)")
        }
        self = value
    }
}

extension PostgresConvertible where Self: RawRepresentable, RawValue: PostgresValue & PostgresArrayElement {
    package var postgresForm: RawValue { rawValue }
    package init?(postgresForm: RawValue) { self.init(rawValue: postgresForm) }
}

/// Bytes of parameters, in network byte order.
package struct ParameterBuffer: Sendable, Hashable {
    private(set) var bytes: [UInt8]

    init(bytes: [UInt8] = []) {
        self.bytes = bytes
    }

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

    /// Appends what `body` appends, preceded by its length in bytes as four bytes.
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
