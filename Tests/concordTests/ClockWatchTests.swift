import AccountLinking
import AccountOperations
import AccountTestSupport
import Postgres
import PrometheusMetrics
import Synchronization
import Testing

@testable import concord

/// A server beside a PostgreSQL whose clock says something else.
struct ClockWatchTests {
    @Test func `a differing clock makes the server not ready, and is logged at its begin and end`()
        async throws
    {
        let recorded = RecordedLog()
        let measurements = Measurements(nil)
        let now = Timestamp(secondsSinceEpoch: 2_000_000_000)
        let behind = Mutex<Int64?>(0)
        let watch = ClockWatch(
            recorded.logger,
            measurements.clocks,
            effects: Effects(now: { now }, randomBytes: Effects.system.randomBytes),
            databaseClock: {
                guard let seconds = behind.withLock({ $0 }) else { throw PostgresError(.unavailable, "away") }
                return now.adding(seconds: -seconds)
            }
        )
        func gauge(_ name: String = ClockMetrics.difference) -> String? {
            measurements.registry.text().split(separator: "\n").first { $0.hasPrefix(name + " ") }.map(String.init)
        }
        #expect(gauge(ClockMetrics.reachable) == "concord_database_up 0")
        #expect(await watch.problem() == nil)
        #expect(gauge(ClockMetrics.reachable) == "concord_database_up 1")
        #expect(recorded.entries.isEmpty)

        behind.withLock { $0 = 40 * 86_400 }
        for _ in 1...3 {
            let problem = await watch.problem()
            #expect(problem?.hasPrefix("this server's clock is 40 days ahead of PostgreSQL's: ") == true)
        }
        #expect(gauge() == "concord_clock_difference_seconds 3456000")
        // What the purge measured counts alike.
        watch.note(ClockComparison(before: now, database: now.adding(seconds: 200), after: now))
        #expect(gauge() == "concord_clock_difference_seconds -200")
        #expect(recorded.entries.map(\.message) == ["clock differs from PostgreSQL's: expired rows are not deleted"])
        #expect(recorded.lines.first?.contains("40 days ahead") == true)

        // While PostgreSQL is away nothing is known of its clock: that it is away others report.
        behind.withLock { $0 = nil }
        #expect(await watch.problem() == nil)
        #expect(gauge() == "concord_clock_difference_seconds -200" && recorded.entries.count == 1)
        #expect(gauge(ClockMetrics.reachable) == "concord_database_up 0")

        behind.withLock { $0 = 119 }
        for _ in 1...3 { #expect(await watch.problem() == nil) }
        #expect(
            recorded.entries.map(\.message) == [
                "clock differs from PostgreSQL's: expired rows are not deleted", "clock agrees with PostgreSQL's again",
            ]
        )
    }
}
