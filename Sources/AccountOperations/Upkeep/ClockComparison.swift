package import AccountLinking

/// This process's clock compared with PostgreSQL's.
///
/// PostgreSQL reads its clock between `before` and `after`. A slow answer widens these bounds instead of appearing as a
/// wrong clock.
package struct ClockComparison: Sendable, Hashable {
    package let before: Timestamp
    package let database: Timestamp
    package let after: Timestamp

    /// Largest difference between synchronised clocks.
    package static let differenceSecondsMax: Int64 = 120

    package init(before: Timestamp, database: Timestamp, after: Timestamp) {
        self.before = before
        self.database = database
        self.after = after
    }

    /// Reads this process's clock before and after PostgreSQL's.
    /// - Throws: the errors of `databaseClock`.
    package init(_ effects: Effects, _ databaseClock: () async throws -> Timestamp) async throws {
        before = effects.now()
        database = try await databaseClock()
        after = effects.now()
    }

    /// A row that has expired by this time has expired by both clocks.
    package var earlier: Timestamp { min(before, database, after) }

    /// At the middle of the round trip. Negative if this process is behind.
    package var secondsAhead: Double { (microseconds(to: before) + microseconds(to: after)) / 2e6 }

    /// The reason not to delete rows, and the fix; `nil` while the clocks may be within the limit.
    package var disagreement: ClockSkew? {
        let bounds = [microseconds(to: before) / 1e6, microseconds(to: after) / 1e6]
        let max = Double(Self.differenceSecondsMax)
        guard bounds.allSatisfy({ $0 > max }) || bounds.allSatisfy({ $0 < -max }) else { return nil }
        return ClockSkew(secondsAhead: Int64(secondsAhead.rounded()))
    }

    /// A `Double`, because two clocks may be further apart than 64 bits of microseconds.
    private func microseconds(to time: Timestamp) -> Double {
        Double(time.microsecondsSinceEpoch) - Double(database.microsecondsSinceEpoch)
    }
}

/// A difference between two clocks that is too large for deletions.
package struct ClockSkew: Error, Sendable, Hashable, CustomStringConvertible {
    /// Negative if this process's clock is behind.
    package let secondsAhead: Int64

    package var description: String {
        """
        this server's clock is \(Self.words(secondsAhead.magnitude)) \(secondsAhead < 0 ? "behind" : "ahead of") \
        PostgreSQL's: synchronise both machines (NTP). Until the clocks agree within \
        \(ClockComparison.differenceSecondsMax / 60) minutes, this server deletes nothing
        """
    }

    /// The two largest units, such as "40 days 2 hours".
    private static func words(_ seconds: UInt64) -> String {
        let units: [(name: String, count: UInt64)] = [
            ("day", seconds / 86_400), ("hour", seconds / 3600 % 24), ("minute", seconds / 60 % 60),
            ("second", seconds % 60),
        ]
        return units.drop { $0.count == 0 }.prefix(2).filter { $0.count > 0 }
            .map { "\($0.count) \($0.name)\($0.count == 1 ? "" : "s")" }
            .joined(separator: " ")
    }
}
