import Glibc
import Postgres
import Synchronization

/// Several connections that see the database as of one instant, each on a thread of its own. They can write nothing.
struct SnapshotReaders: Sendable {
    private let configuration: PostgresConfiguration
    /// How many there are, at least 1.
    let count: Int

    /// - `applicationName`: what the database calls the connections.
    init(_ configuration: PostgresConfiguration, connections: Int, applicationName: String) {
        var configuration = configuration
        configuration.applicationName = applicationName
        self.configuration = configuration
        count = max(1, connections)
    }

    /// About how many accounts there are, without counting them.
    func estimatedUserCount() async throws -> Int64 {
        try await PostgresConnection.withConnection(configuration) { connection in
            max(0, try connection.query(SnapshotTransaction.userEstimate).first.flatMap(\.self) ?? 0)
        }
    }

    /// Runs `body` on each of the connections. They are closed, and what they saw is let go of, when all have returned.
    func run(_ body: @escaping @Sendable (PostgresConnection, ReadersGate) throws -> Void) async throws {
        let gate = ReadersGate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            // The first shows the others what it sees, and stays until they all have seen it.
            for index in 0..<count {
                group.addTask {
                    do {
                        try await PostgresConnection.withConnection(configuration) { connection in
                            takeTurnsWithServer()
                            try begin(connection, index == 0, gate)
                            try body(connection, gate)
                            _ = try connection.execute(SnapshotTransaction.end)
                        }
                    } catch {
                        throw gate.fail(error)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Lets the server go on when rows have come, until the scheduler takes its turn away: otherwise this thread would be woken for
    /// every eight kilobytes. Whoever does work that somebody waits for goes first as well.
    private func takeTurnsWithServer() {
        // SCHED_BATCH of sched(7), which the C library hides.
        let batch: Int32 = 3
        var parameters = sched_param()
        // Where it is refused all is as it would be without.
        _ = sched_setscheduler(0, batch, &parameters)
    }

    private func begin(_ connection: PostgresConnection, _ isFirst: Bool, _ gate: ReadersGate) throws {
        try connection.execute(SnapshotTransaction.begin)
        if isFirst {
            gate.open(with: try connection.query(SnapshotTransaction.exportSnapshot).first.flatMap(\.self) ?? "")
            try gate.waitForFollowers(count - 1)
        } else {
            try connection.execute(script: try SnapshotTransaction.adopt(try gate.snapshot()))
            gate.follow()
        }
        try connection.execute(SnapshotTransaction.goByIndexes)
    }
}

/// Where the readers of one snapshot wait for one another.
final class ReadersGate: Sendable {
    private struct State: Sendable {
        var snapshot: String?
        var followers = 0
        var failure: (any Error)?
    }

    private static let pollMicroseconds: useconds_t = 1000
    private let state = Mutex(State())

    func open(with snapshot: String) { state.withLock { $0.snapshot = snapshot } }
    func follow() { state.withLock { $0.followers += 1 } }

    /// Lets all others fail as well. Returns why the first did.
    func fail(_ error: any Error) -> any Error {
        state.withLock { state in
            let first = state.failure ?? error
            state.failure = first
            return first
        }
    }

    /// - Throws: what another reader failed with.
    func check() throws {
        if let failure = state.withLock(\.failure) { throw failure }
    }

    /// Blocks until `condition` holds.
    /// - Throws: what another reader failed with.
    func wait(until condition: () -> Bool) throws {
        while !condition() {
            try check()
            usleep(Self.pollMicroseconds)
        }
    }

    func waitForFollowers(_ count: Int) throws {
        try wait { state.withLock { $0.followers == count } }
    }

    func snapshot() throws -> String {
        try wait { state.withLock { $0.snapshot != nil } }
        return state.withLock(\.snapshot) ?? ""
    }
}
