import AccountLinking
import AccountOperations
import Synchronization
import Testing

/// Two clocks, read within one round trip.
struct ClockComparisonTests {
    /// Times in seconds: this process's before, PostgreSQL's, this process's after.
    private func comparison(_ before: Int64, _ database: Int64, _ after: Int64) -> ClockComparison {
        ClockComparison(
            before: Timestamp(secondsSinceEpoch: before),
            database: Timestamp(secondsSinceEpoch: database),
            after: Timestamp(secondsSinceEpoch: after)
        )
    }

    /// This process's clock, PostgreSQL's, this process's; true if they differ by too much.
    private static let roundTrips: [(Int64, Int64, Int64, Bool)] = [
        (1000, 1000, 1000, false), (1120, 1000, 1120, false), (1121, 1000, 1121, true), (880, 1000, 880, false),
        (879, 1000, 879, true),
        // The answer took minutes. The clocks may agree.
        (1000, 1001, 1900, false), (1000, 1899, 1900, false), (1100, 1000, 1900, false), (400, 1000, 990, false),
        // The round trip does not explain this difference.
        (1121, 1000, 1900, true), (100, 1000, 879, true),
        // The clock was set back during the query.
        (1500, 1000, 1100, false), (1500, 1000, 1200, true),
    ]

    @Test(arguments: roundTrips)
    func `a slow answer never counts as a wrong clock`(
        before: Int64,
        database: Int64,
        after: Int64,
        isTooLarge: Bool
    ) {
        #expect((comparison(before, database, after).disagreement != nil) == isTooLarge)
    }

    @Test func `the difference is measured at the middle of the round trip, and the earlier clock is used`() {
        let slow = comparison(1000, 1005, 1020)
        #expect(slow.secondsAhead == 5)
        #expect(slow.earlier == Timestamp(secondsSinceEpoch: 1000))
        #expect(comparison(1000, 990, 1001).earlier == Timestamp(secondsSinceEpoch: 990))
        #expect(comparison(1000, 990, 980).earlier == Timestamp(secondsSinceEpoch: 980))
    }

    private static let differences: [(Int64, String)] = [
        (3_456_000, "40 days ahead of"), (3_463_205, "40 days 2 hours ahead of"),
        (-200, "3 minutes 20 seconds behind"), (86_400, "1 day ahead of"), (3601, "1 hour ahead of"),
        (-3660, "1 hour 1 minute behind"),
    ]

    @Test(arguments: differences)
    func `the error names the difference in words and the fix`(seconds: Int64, words: String) {
        let disagreement = comparison(2_000_000_000 + seconds, 2_000_000_000, 2_000_000_000 + seconds).disagreement
        #expect(
            disagreement?.description
                == "this server's clock is \(words) PostgreSQL's: synchronise both machines (NTP). Until the clocks agree "
                + "within 2 minutes, this server deletes nothing"
        )
    }

    @Test func `clocks that are centuries apart can be compared`() {
        let ends = [Timestamp(microsecondsSinceEpoch: .min), Timestamp(microsecondsSinceEpoch: .max)]
        for (here, there) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            let comparison = ClockComparison(before: here, database: there, after: here)
            #expect(comparison.disagreement?.description.contains("days") == true)
            #expect(comparison.earlier == ends[0])
        }
    }

    @Test func `PostgreSQL is asked between two readings of this process's clock`() async throws {
        let calls = Mutex<[String]>([])
        let effects = Effects(
            now: {
                calls.withLock { $0.append("here") }
                return Timestamp(secondsSinceEpoch: 1)
            },
            randomBytes: Effects.system.randomBytes
        )
        _ = try await ClockComparison(effects) {
            calls.withLock { $0.append("PostgreSQL") }
            return Timestamp(secondsSinceEpoch: 1)
        }
        #expect(calls.withLock { $0 } == ["here", "PostgreSQL", "here"])
    }
}
