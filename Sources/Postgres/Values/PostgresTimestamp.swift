/// `timestamptz`: microseconds since 1970-01-01T00:00:00Z.
///
/// `infinity` and `-infinity` are the largest and the smallest value. The server refuses an instant outside its range
/// (4713 BC to AD 294276) with 22008.
package struct PostgresTimestamp: PostgresValue, PostgresArrayElement, Hashable, Comparable {
    package var microsecondsSinceEpoch: Int64

    package init(microsecondsSinceEpoch: Int64) {
        self.microsecondsSinceEpoch = microsecondsSinceEpoch
    }

    package static let infinity = Self(microsecondsSinceEpoch: .max)
    package static let minusInfinity = Self(microsecondsSinceEpoch: .min)

    package static var typeOID: UInt32 { 1184 }
    package static var arrayTypeOID: UInt32 { 1185 }

    /// PostgreSQL counts from 2000-01-01T00:00:00Z.
    private static var postgresEpoch: Int64 { 946_684_800_000_000 }

    package func encode(into buffer: inout ParameterBuffer) {
        guard self != .infinity, self != .minusInfinity else {
            buffer.append(microsecondsSinceEpoch)
            return
        }
        let (shifted, overflows) = microsecondsSinceEpoch.subtractingReportingOverflow(Self.postgresEpoch)
        // An instant that cannot be shifted is out of range, and must not become -infinity, the smallest value. The
        // server refuses the next one.
        buffer.append(overflows || shifted == .min ? Int64.min + 1 : shifted)
    }

    package init(decoding bytes: RawSpan) throws(PostgresError) {
        let stored = try bytes.integer(Int64.self)
        guard stored != .max, stored != .min else {
            microsecondsSinceEpoch = stored
            return
        }
        let (shifted, overflows) = stored.addingReportingOverflow(Self.postgresEpoch)
        guard !overflows else { throw PostgresError(.decoding, "timestamp out of range") }
        microsecondsSinceEpoch = shifted
    }

    package static func < (lhs: Self, rhs: Self) -> Bool {
        lhs.microsecondsSinceEpoch < rhs.microsecondsSinceEpoch
    }
}
