import Synchronization
import Testing

@testable import Postgres

/// A search for answers that reach the wrong caller: each statement carries a number, while backends are killed.
@Suite(.timeLimit(.minutes(30))) struct MixUpTests {
    private struct Counts: Sendable {
        var answered = 0
        var failed: [String: Int] = [:]
        /// The request and the answer, for every answer that belonged to another caller.
        var mixedUp: [String] = []
        var unknown = 0
        var applied: Set<Int64> = []
    }

    private final class Tally: Sendable {
        let sent = Counter()
        let killed = Counter()
        let counts = Mutex(Counts())
    }

    private let statementsMin = 100_000
    private let killsMin = 50

    @Test func `no caller gets another's answer while backends are killed`() async throws {
        try await withClient(
            .adjusted {
                $0.reconnectDelayMin = .milliseconds(1)
                $0.reconnectDelayMax = .milliseconds(20)
                $0.writeConnections = 4
            }
        ) { client, configuration in
            try await execute("CREATE TABLE writes (nonce int8 PRIMARY KEY, label text NOT NULL)", on: configuration)
            try await eventually { client.state.reachability == .connected }
            let tally = Tally()
            try await withThrowingTaskGroup(of: Void.self) { group in
                let callers = 64
                let isDone: @Sendable () -> Bool = {
                    tally.sent.value >= statementsMin && tally.killed.value >= killsMin
                }
                for caller in 0..<callers {
                    group.addTask {
                        var turn = 0
                        while !isDone() {
                            let nonce = Int64(caller) << 32 | Int64(turn)
                            turn += 1
                            await call(client, nonce, tally)
                        }
                    }
                }
                group.addTask { try await kill(configuration, tally.killed, until: isDone) }
                try await group.waitForAll()
            }
            let result = tally.counts.withLock { $0 }
            print(
                "mix-up hunt: \(tally.sent.value) statements, "
                    + "\(tally.killed.value) backends killed with statements in flight, "
                    + "\(result.answered) answered, failed: \(result.failed), mixed up: \(result.mixedUp.count), "
                    + "sent again: \(client.state.read.statistics.sentAgain)"
            )
            #expect(result.mixedUp == [])
            #expect(tally.sent.value >= statementsMin)
            #expect(tally.killed.value >= killsMin)
            // Successful writes are stored, failed ones are not, and unknown ones may be.
            let stored = Set(try await client.read("SELECT nonce FROM writes" as Query<Int64>))
            #expect(result.applied.isSubset(of: stored))
            #expect(stored.count - result.applied.count <= result.unknown)
        }
    }

    /// Makes a call of one of several kinds, and checks that the answer belongs to it.
    private func call(
        _ client: PostgresClient,
        _ nonce: Int64,
        _ tally: Tally
    ) async {
        let label = "n\(nonce)"
        do {
            var isOwn = true
            var came = ""
            switch Int.random(in: 0..<10) {
            case 0..<5:
                tally.sent.increment()
                let rows = try await client.read("SELECT \(nonce), \(label)" as Query<Pair<Int64, String>>)
                isOwn = rows.count == 1 && rows[0].first == nonce && rows[0].second == label
                came = "\(rows)"
            case 5:
                tally.sent.increment(by: 3)
                let (first, second, third) = try await client.read(
                    "SELECT \(nonce) + 1" as Query<Int64>,
                    "SELECT \(label) FROM generate_series(1, 3)" as Query<String>,
                    "SELECT \(nonce) + 2" as Query<Int64>
                )
                isOwn = first == [nonce + 1] && second == [label, label, label] && third == [nonce + 2]
                came = "\(first) \(second) \(third)"
            case 6:
                tally.sent.increment()
                let error = await failure {
                    try await client.read("SELECT \(nonce) / \(Int64(0)), \(label)" as Query<Pair<Int64, String>>)
                }
                isOwn = error != nil
                came = "no error"
            case 7:
                tally.sent.increment()
                let task = Task { try await client.read("SELECT \(nonce), \(label)" as Query<Pair<Int64, String>>) }
                task.cancel()
                if let rows = try? await task.value {
                    isOwn = rows.first?.first == nonce && rows.first?.second == label
                    came = "cancelled: \(rows)"
                }
            default:
                tally.sent.increment(by: 2)
                var batch = WriteBatch("mix")
                batch.append("INSERT INTO writes VALUES (\(nonce), \(label)) RETURNING nonce")
                batch.append("SELECT \(label)")
                let result = try await client.write(batch)
                let (nonces, labels): ([Int64], [String]) = (try result.rows(0), try result.rows(1))
                isOwn = nonces == [nonce] && labels == [label]
                came = "\(nonces) \(labels)"
                tally.counts.withLock { _ = $0.applied.insert(nonce) }
            }
            tally.counts.withLock { counts in
                counts.answered += 1
                if !isOwn { counts.mixedUp.append("\(nonce): \(came)") }
            }
        } catch {
            tally.counts.withLock { counts in
                counts.failed[error.codeName, default: 0] += 1
                if error.code == .commitOutcomeUnknown { counts.unknown += 1 }
            }
            // A lane without a connection refuses at once: avoids spinning.
            if error.code == .unavailable { try? await Task.sleep(for: .milliseconds(1)) }
        }
    }

    /// Kills backends of the client one after the other while they run a statement.
    private func kill(
        _ configuration: PostgresConfiguration,
        _ killed: Counter,
        until isDone: @escaping @Sendable () -> Bool
    ) async throws {
        while !isDone() {
            let count = try await PostgresConnection.withConnection(configuration) { connection in
                var count: Int64 = 0
                let victims: Query<Int64> = """
                    SELECT count(pg_terminate_backend(pid)) FROM (
                        SELECT pid FROM pg_stat_activity
                        WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'
                        ORDER BY random() LIMIT 1
                    ) victim
                    """
                for _ in 0..<10 where count == 0 { count += try connection.query(victims).first ?? 0 }
                return count
            }
            killed.increment(by: Int(count))
            try await Task.sleep(for: .milliseconds(.random(in: 1...20)))
        }
    }
}
