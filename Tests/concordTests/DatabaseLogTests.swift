import Logging
import Postgres
import Synchronization
import Testing

@testable import concord

struct DatabaseLogTests {
    private final class Lines: Sendable {
        private let kept = Mutex<[String]>([])

        var all: [String] { kept.withLock { $0 } }

        func append(_ line: String) { kept.withLock { $0.append(line) } }
    }

    private struct Handler: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        init(lines: Lines) { self.lines = lines }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let lane = event.metadata?["lane"].map { " \($0)" } ?? ""
            let error = event.metadata?["error"].map { ": \($0)" } ?? ""
            lines.append("\(event.level)\(lane) \(event.message)\(error)")
        }
    }

    private let lost = PostgresError(.connectionLost, "connection to the server lost")
    private let away = PostgresError(.unavailable, "nobody listens")

    @Test func `an outage is told once when it begins and once when it ends, for each lane`() {
        let lines = Lines()
        let log = DatabaseLog(logger: Logger(label: "test") { _ in Handler(lines: lines) })
        for _ in 1...2 { log.postgresEvent(.connected(.write)) }
        log.postgresEvent(.connected(.read))
        #expect(lines.all.isEmpty)

        for _ in 1...8 { log.postgresEvent(.connectionLost(.write, lost)) }
        for _ in 1...100 { log.postgresEvent(.connectFailed(.write, away, retryIn: .seconds(1))) }
        log.postgresEvent(.transactionRepeated(name: "settings", lost))
        #expect(
            lines.all == [
                "warning write database connection lost: connection_lost: connection to the server lost",
                "warning write database does not accept a connection: unavailable: nobody listens",
            ]
        )
        log.postgresEvent(.connectionLost(.read, lost))
        #expect(lines.all.count == 3)

        for _ in 1...8 { log.postgresEvent(.connected(.write)) }
        #expect(
            lines.all.dropFirst(3) == [
                "warning write database connected again", "warning write database accepts again",
            ]
        )
        log.postgresEvent(.connectionLost(.write, lost))
        #expect(lines.all.count == 6)
    }
}
