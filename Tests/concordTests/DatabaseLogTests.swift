import AccountTestSupport
import Logging
import Postgres
import Testing

@testable import concord

struct DatabaseLogTests {
    /// The log lines at the level of an operator.
    private func lines(of log: RecordedLog) -> [String] {
        log.entries.filter { $0.level >= .info }.map { entry in
            let lane = entry.metadata["lane"].map { " \($0)" } ?? ""
            let error = entry.metadata["error"].map { ": \($0)" } ?? ""
            return "\(entry.level)\(lane) \(entry.message)\(error)"
        }
    }

    private let lost = PostgresError(.connectionLost, "connection to the server lost")
    private let away = PostgresError(.unavailable, "nothing listens there")

    @Test func `an outage is logged once when it begins and once when it ends, for each lane`() {
        let recorded = RecordedLog()
        let log = DatabaseLog(logger: recorded.logger)
        for _ in 1...2 { log.postgresEvent(.connected(.write)) }
        log.postgresEvent(.connected(.read))
        #expect(lines(of: recorded).isEmpty)

        for _ in 1...8 { log.postgresEvent(.connectionLost(.write, lost)) }
        for _ in 1...100 { log.postgresEvent(.connectFailed(.write, away, retryIn: .seconds(1))) }
        log.postgresEvent(.transactionRepeated(name: "settings", lost))
        #expect(
            lines(of: recorded) == [
                "warning write database connection lost: connection_lost: connection to the server lost",
                "warning write database accepts no connection: unavailable: nothing listens there",
            ]
        )
        log.postgresEvent(.connectionLost(.read, lost))
        #expect(lines(of: recorded).count == 3)

        for _ in 1...8 { log.postgresEvent(.connected(.write)) }
        #expect(
            lines(of: recorded).dropFirst(3) == [
                "notice write database connected again", "notice write database accepts connections again",
            ]
        )
        log.postgresEvent(.connectionLost(.write, lost))
        #expect(lines(of: recorded).count == 6)
    }

    @Test func `refused writes are logged at their begin and end`() {
        let recorded = RecordedLog()
        let log = DatabaseLog(logger: recorded.logger)
        let refusal = PostgresError(.server(.readOnlyTransaction), "cannot execute INSERT in a read-only transaction")
        for _ in 1...2 { log.postgresEvent(.writesRefused(refusal)) }
        for _ in 1...2 { log.postgresEvent(.writesTaken) }
        #expect(
            lines(of: recorded) == [
                "warning database refuses writes: server_25006: cannot execute INSERT in a read-only transaction",
                "notice database accepts writes again",
            ]
        )
    }
}
