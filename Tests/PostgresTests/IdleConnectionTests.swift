import Testing

@testable import Postgres

/// Connections that close while they are unused.
@Suite(.timeLimit(.minutes(20))) struct IdleConnectionTests {
    private static let settings = Adjustment.adjusted {
        $0.readConnections = 4
        $0.writeConnections = 4
        $0.idleTimeout = .milliseconds(100)
    }

    private static func openConnections(_ client: PostgresClient) -> [Int] {
        [client.state.read.connections, client.state.write.connections]
    }

    @Test func `unused connections close, and open again without a failure`() async throws {
        try await withClient(Self.settings) { client, configuration in
            try await execute("CREATE TABLE t (x int8 PRIMARY KEY)", on: configuration)
            for round in Int64(0)..<3 {
                try await eventually { Self.openConnections(client) == [1, 1] }
                // The server has closed them too.
                let sessions: Query<Int64> = """
                    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'concord'
                    """
                try await eventually { try await client.read(sessions) == [2] }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in Int64(0)..<64 {
                        group.addTask {
                            try await client.expect("SELECT \(number)" as Query<Int64>, returns: [number])
                        }
                        group.addTask {
                            var batch = WriteBatch("insert")
                            batch.append("INSERT INTO t VALUES (\(round * 64 + number))")
                            try await client.write(batch)
                        }
                    }
                    try await group.waitForAll()
                }
            }
            try await client.expect("SELECT count(*) FROM t" as Query<Int64>, returns: [192])
            #expect(client.state.read.statistics.connectionsLost == 0)
            #expect(client.state.write.statistics.connectionsLost == 0)
        }
    }

    @Test func `writes that wait open all connections`() async throws {
        try await withClient(Self.settings) { client, configuration in
            try await eventually { Self.openConnections(client) == [1, 1] }
            let blocker = try PostgresConnection(configuration)
            try blocker.execute(script: "SELECT pg_advisory_lock(1)")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        var batch = WriteBatch("wait")
                        batch.append("SELECT pg_advisory_xact_lock(1)")
                        try await client.write(batch)
                    }
                }
                try await eventually { client.state.write.busyConnections == 4 }
                try blocker.execute(script: "SELECT pg_advisory_unlock(1)")
                try await group.waitForAll()
            }
        }
    }

    @Test func `without a timeout connections stay open`() async throws {
        let settings = Adjustment.adjusted {
            Self.settings.apply(&$0)
            $0.idleTimeout = nil
        }
        try await withClient(settings) { client, _ in
            try await eventually { Self.openConnections(client) == [4, 4] }
            try await Task.sleep(for: .milliseconds(300))
            #expect(Self.openConnections(client) == [4, 4])
        }
    }
}
