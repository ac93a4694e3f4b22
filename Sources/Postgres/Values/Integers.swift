extension Bool: PostgresValue, PostgresArrayElement {
    package static var typeOID: UInt32 { 16 }
    package static var arrayTypeOID: UInt32 { 1000 }

    package func encode(into buffer: inout ParameterBuffer) {
        buffer.append(self ? UInt8(1) : 0)
    }

    package init(decoding bytes: RawSpan) throws(PostgresError) {
        self = try bytes.integer(UInt8.self) != 0
    }
}

extension Int16: PostgresValue, PostgresArrayElement {
    package static var typeOID: UInt32 { 21 }
    package static var arrayTypeOID: UInt32 { 1005 }
}

extension Int32: PostgresValue, PostgresArrayElement {
    package static var typeOID: UInt32 { 23 }
    package static var arrayTypeOID: UInt32 { 1007 }
}

extension Int64: PostgresValue, PostgresArrayElement {
    package static var typeOID: UInt32 { 20 }
    package static var arrayTypeOID: UInt32 { 1016 }
}

extension PostgresValue where Self: FixedWidthInteger & BitwiseCopyable {
    package func encode(into buffer: inout ParameterBuffer) {
        buffer.append(self)
    }

    package init(decoding bytes: RawSpan) throws(PostgresError) {
        self = try bytes.integer(Self.self)
    }
}

extension Double: PostgresValue, PostgresArrayElement {
    package static var typeOID: UInt32 { 701 }
    package static var arrayTypeOID: UInt32 { 1022 }

    package func encode(into buffer: inout ParameterBuffer) {
        buffer.append(bitPattern)
    }

    package init(decoding bytes: RawSpan) throws(PostgresError) {
        self.init(bitPattern: try bytes.integer(UInt64.self))
    }
}
