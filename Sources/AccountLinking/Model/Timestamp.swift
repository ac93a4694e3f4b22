/// An instant, in whole microseconds since 1970-01-01T00:00:00Z.
///
/// PostgreSQL's `timestamptz` has the same unit, so a stored instant reads back equal. Rules have no clock: the shell
/// passes the time of a request.
package struct Timestamp: Sendable, Hashable, Comparable {
    package var microsecondsSinceEpoch: Int64

    package init(microsecondsSinceEpoch: Int64) {
        self.microsecondsSinceEpoch = microsecondsSinceEpoch
    }

    package init(secondsSinceEpoch: Int64) {
        self.microsecondsSinceEpoch = secondsSinceEpoch * 1_000_000
    }

    package init(millisecondsSinceEpoch: Int64) {
        self.microsecondsSinceEpoch = millisecondsSinceEpoch * 1000
    }

    /// Whole seconds, rounded down: the unit of JWT claims and of `validSince`.
    package var secondsSinceEpoch: Int64 {
        (microsecondsSinceEpoch - (microsecondsSinceEpoch < 0 ? 999_999 : 0)) / 1_000_000
    }

    /// Whole milliseconds: the unit of `createdAt` and `lastLoginAt` on the wire.
    package var millisecondsSinceEpoch: Int64 { microsecondsSinceEpoch / 1000 }

    package static func < (lhs: Self, rhs: Self) -> Bool {
        lhs.microsecondsSinceEpoch < rhs.microsecondsSinceEpoch
    }

    package func adding(seconds: Int64) -> Self {
        Self(microsecondsSinceEpoch: microsecondsSinceEpoch + seconds * 1_000_000)
    }

    /// Whole seconds from `earlier` to `self`; negative if `earlier` is later.
    package func seconds(since earlier: Self) -> Int64 {
        (microsecondsSinceEpoch - earlier.microsecondsSinceEpoch) / 1_000_000
    }
}
