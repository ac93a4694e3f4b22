/// `uuid`: sixteen bytes.
package struct PostgresUUID: PostgresValue, PostgresArrayElement, Hashable {
    /// The first eight bytes, most significant first.
    package let high: UInt64
    /// The last eight bytes.
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package static var typeOID: UInt32 { 2950 }
    package static var arrayTypeOID: UInt32 { 2951 }

    package func encode(into buffer: inout ParameterBuffer) {
        buffer.append(high)
        buffer.append(low)
    }

    package init(decoding bytes: RawSpan) throws(PostgresError) {
        guard bytes.byteCount == 16 else { throw PostgresError(.decoding, "uuid of \(bytes.byteCount) bytes") }
        high = try bytes.integer(UInt64.self, at: 0)
        low = try bytes.integer(UInt64.self, at: 8)
    }
}
