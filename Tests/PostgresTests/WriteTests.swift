import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(20))) struct WriteTests {
    private let schema = """
        CREATE TABLE users (id int8 PRIMARY KEY, version int8 NOT NULL, name text UNIQUE);
        CREATE TABLE children (user_id int8 REFERENCES users, deferred int8 UNIQUE DEFERRABLE INITIALLY DEFERRED);
        """

    private func insert(_ id: Int64, name: String? = nil) -> SQL {
        "INSERT INTO users VALUES (\(id), 1, \(name))"
    }

    private let usersCount: Query<Int64> = "SELECT count(*) FROM users"

    @Test func `a batch is applied and returns the result of each statement`() async throws {
        try await withClient { client, configuration in
            try await execute(schema, on: configuration)
            var batch = WriteBatch("test")
            batch.append(insert(1, name: "a"))
            batch.append(insert(2, name: "b"))
            batch.append("UPDATE users SET version = version + 1 WHERE id < \(Int64(10)) RETURNING id, version")
            batch.append("DELETE FROM users WHERE id = \(Int64(77))")
            let result = try await client.write(batch)
            #expect((0..<4).map(result.affectedRows) == [1, 1, 2, 0])
            let rows = try result.rows(2, as: Pair<Int64, Int64>.self)
            #expect(rows.map(\.first) == [1, 2])
            #expect(rows.map(\.second) == [2, 2])
            try await client.expect(usersCount, returns: [2])
            _ = try await client.write(WriteBatch("nothing"))
            #expect(client.state.write.statistics.accepted == 1, "an empty batch is not sent")
        }
    }

    @Test func `a late failure rolls back earlier statements, and the caller gets the failure`() async throws {
        try await withClient { client, configuration in
            try await execute(schema, on: configuration)
            var batch = WriteBatch("test")
            batch.append(insert(1))
            batch.append(insert(2, name: "b"))
            batch.append(insert(3, name: "b"))
            let error = await failure { try await client.write(batch) }
            #expect(error?.code == .server(.uniqueViolation))
            #expect(error?.constraint == "users_name_key")
            #expect(error?.table == "users")
            #expect(error.map { "\($0)" }?.contains("\"b\"") == false, "no value may be quoted")
            try await client.expect(usersCount, returns: [0])
            var good = WriteBatch("good")
            good.append(insert(1))
            for _ in 0..<1 { _ = try await client.write(good) }
            try await client.expect(usersCount, returns: [1])
        }
    }

    @Test func `a constraint that is checked at the commit fails the batch`() async throws {
        try await withClient { client, configuration in
            try await execute(schema, on: configuration)
            var batch = WriteBatch("test")
            batch.append(insert(1))
            batch.append("INSERT INTO children VALUES (1, 5), (1, 5)")
            let error = await failure { try await client.write(batch) }
            #expect(error?.code == .server(.uniqueViolation))
            try await client.expect(usersCount, returns: [0])
        }
    }

    @Test func `a batch that ends its own transaction is an error`() async throws {
        try await withClient(.adjusted { $0.writeConnections = 1 }) { client, configuration in
            try await execute(schema, on: configuration)
            var batch = WriteBatch("test")
            batch.append(insert(1))
            batch.append("ROLLBACK")
            let error = await failure { [batch] in try await client.write(batch) }
            #expect(error?.code == .misuse)
            try await client.expect(usersCount, returns: [0])
            var good = WriteBatch("good")
            good.append(insert(2))
            _ = try await client.write(good)
            try await client.expect(usersCount, returns: [1])
        }
    }

    /// The guard of every write to a user: it must raise if the row has changed or is gone.
    @Test(arguments: [
        (expected: Int64(1), id: Int64(1), state: nil as SQLState?),
        (expected: 7, id: 1, state: .notNullViolation),
        (expected: 1, id: 2, state: .divisionByZero),
    ])
    func `a version guard raises on a stale row and on a missing row`(
        expected: Int64,
        id: Int64,
        state: SQLState?
    ) async throws {
        try await withClient { client, configuration in
            try await execute(schema + "INSERT INTO users VALUES (1, 1, 'before')", on: configuration)
            var batch = WriteBatch("guarded")
            batch.append("UPDATE users SET name = 'after' WHERE id = 1")
            batch.append(
                """
                UPDATE users SET version = CASE WHEN version = \(expected) THEN version + 1 END WHERE id = \(id)
                """
            )
            batch.append("SELECT 1 / count(*) FROM users WHERE id = \(id) AND version = \(expected + 1)")
            let error = await failure { try await client.write(batch) }
            #expect(error?.sqlState == state)
            let name = try await client.read("SELECT name FROM users WHERE id = 1" as Query<String>)
            #expect(name == [state == nil ? "after" : "before"])
        }
    }

    @Test func `if many batches claim the same key, one wins`() async throws {
        try await withClient { client, configuration in
            try await execute(schema, on: configuration)
            for round in 0..<20 {
                let winners = await withTaskGroup(of: Bool.self) { group in
                    for task in 0..<32 {
                        group.addTask {
                            var batch = WriteBatch("claim")
                            batch.append(insert(Int64(round * 100 + task)))
                            batch.append(
                                "UPDATE users SET name = \("n\(round)") WHERE id = \(Int64(round * 100 + task))"
                            )
                            let error = await failure { try await client.write(batch) }
                            if let error { #expect(error.code == .server(.uniqueViolation)) }
                            return error == nil
                        }
                    }
                    return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
                #expect(winners == 1)
            }
            try await client.expect(usersCount, returns: [20])
            #expect(client.state.write.statistics.connectionsLost == 0)
        }
    }

    // MARK: Shared batches

    private func shared(_ id: Int64, name: String? = nil) -> WriteBatch {
        var batch = WriteBatch("shared", isShared: true)
        batch.append("INSERT INTO users VALUES \(row: "(\(id), 1, \(name))")")
        batch.append("SELECT 1 / (count(*) = 0)::integer FROM children WHERE deferred = ANY(\(keys: [id]))")
        batch.append("INSERT INTO children VALUES (\(id), \(id))")
        return batch
    }

    /// The outcome of each of `batches`, all written at once.
    private func outcomes(_ batches: [WriteBatch], _ client: PostgresClient) async -> [PostgresError?] {
        await withTaskGroup(of: (Int, PostgresError?).self) { group in
            for (index, batch) in batches.enumerated() {
                group.addTask { (index, await failure { try await client.write(batch) }) }
            }
            return await group.reduce(into: Array(repeating: nil, count: batches.count)) { $0[$1.0] = $1.1 }
        }
    }

    @Test func `waiting shared batches are applied in one transaction`() async throws {
        try await withClient(.adjusted { $0.writeConnections = 1 }) { client, configuration in
            try await execute(schema, on: configuration)
            let outcomes = await outcomes((0..<300).map { shared($0, name: "n\($0)") }, client)
            #expect(outcomes.compactMap { $0 }.isEmpty)
            try await client.expect(
                "SELECT count(*) FROM users JOIN children ON user_id = id AND deferred = id WHERE name = 'n' || id",
                returns: [Int64(300)]
            )
            let statistics = client.state.write.statistics
            #expect(statistics.accepted == 300 && statistics.answered == 300)
            #expect(statistics.batches < 300, "some were applied together")
            let transactions: Query<Int64> = "SELECT count(DISTINCT xmin::text) FROM users"
            let count = try await client.read(transactions)[0]
            #expect(count == statistics.batches)
        }
    }

    @Test func `without merging, each shared batch is a separate transaction`() async throws {
        @Sendable func adjust(_ configuration: inout PostgresConfiguration) {
            configuration.writeConnections = 1
            configuration.mergesStatements = false
        }
        try await withClient(.adjusted(adjust)) { client, configuration in
            try await execute(schema, on: configuration)
            let outcomes = await outcomes((0..<100).map { shared($0) }, client)
            #expect(outcomes.compactMap { $0 }.isEmpty)
            try await client.expect(usersCount, returns: [100])
            #expect(client.state.write.statistics.batches == 100)
        }
    }

    @Test func `shared batches in one transaction are applied in their order`() async throws {
        try await withClient(.adjusted { $0.writeConnections = 1 }) { client, configuration in
            try await execute(schema + "CREATE TABLE steps (n bigserial, place int8)", on: configuration)
            let batches = (0..<300).map { number in
                let place = Int64(number * 7919 % 256)
                var batch = WriteBatch("shared", isShared: true)
                batch.order = [UInt8(place)]
                batch.append("INSERT INTO users VALUES \(row: "(\(Int64(number)), 1, \(String?.none))")")
                batch.append("INSERT INTO steps (place) VALUES (\(place))")
                return batch
            }
            #expect(await outcomes(batches, client).compactMap { $0 }.isEmpty)
            try await client.expect("SELECT count(*) FROM steps", returns: [Int64(300)])
            try await client.expect(
                """
                SELECT count(*) FROM steps AS earlier JOIN steps AS later
                    ON later.xmin = earlier.xmin AND later.n > earlier.n AND later.place < earlier.place
                """,
                returns: [Int64(0)]
            )
            #expect(client.state.write.statistics.batches < 300, "some were applied together")
        }
    }

    @Test func `a failing shared batch fails alone`() async throws {
        try await withClient(.adjusted { $0.writeConnections = 1 }) { client, configuration in
            // 40 has a child that prevents its deletion; each tenth has the name of another.
            try await execute(schema + "INSERT INTO users VALUES (1000, 1, 'taken'), (40, 1, NULL)", on: configuration)
            try await execute("INSERT INTO children VALUES (1000, 41)", on: configuration)
            let batches = (0..<200).map { shared($0, name: $0 % 10 == 0 ? "taken" : nil) }
            let outcomes = await outcomes(batches, client)
            for (id, error) in outcomes.enumerated() {
                switch id {
                case 41: #expect(error?.code == .server(.divisionByZero))
                case _ where id % 10 == 0: #expect(error?.code == .server(.uniqueViolation))
                default: #expect(error == nil)
                }
            }
            try await client.expect(
                "SELECT count(*) FROM users JOIN children ON user_id = id AND deferred = id",
                returns: [Int64(200 - 20 - 1)]
            )
            #expect(client.state.write.statistics.sentAgain > 0, "some had a neighbour that failed")
        }
    }

    @Test func `a shared batch that ends its connection does not fail the others`() async throws {
        try await withClient(.adjusted { $0.writeConnections = 1 }) { client, configuration in
            try await execute(schema, on: configuration)
            var batches = (0..<64).map { shared($0) }
            for id in [5, 33] {
                var batch = WriteBatch("shared", isShared: true)
                batch.append("INSERT INTO users VALUES \(row: "(\(Int64(id)), 1, \(String?.none))")")
                batch.append("SELECT FROM children WHERE deferred = ANY(\(keys: [Int64(id)]))")
                batch.append("SELECT pg_terminate_backend(pg_backend_pid())")
                batches[id] = batch
            }
            let outcomes = await outcomes(batches, client)
            #expect(outcomes.indices.filter { outcomes[$0] != nil } == [5, 33])
            try await client.expect(usersCount, returns: [62])
        }
    }

    @Test func `a batch that waits too long for a lock fails and is rolled back`() async throws {
        try await withClient(.adjusted { $0.lockTimeout = .milliseconds(50) }) { client, configuration in
            try await execute(schema + "INSERT INTO users VALUES (1, 1, 'x')", on: configuration)
            let held = Wakeup()
            let released = Wakeup()
            async let holder: Void = PostgresConnection.withConnection(configuration) { connection in
                try connection.execute(script: "BEGIN; UPDATE users SET name = 'held' WHERE id = 1")
                held.signal()
                released.wait()
                try connection.execute(script: "ROLLBACK")
            }
            await runOnNewThread { held.wait() }
            var batch = WriteBatch("locked")
            batch.append(insert(2))
            batch.append("UPDATE users SET name = 'waits' WHERE id = 1")
            let error = await failure { [batch] in try await client.write(batch) }
            #expect(error?.code == .server(.lockNotAvailable))
            released.signal()
            try await holder
            try await client.expect(usersCount, returns: [1])
        }
    }

    @Test func `a stale plan in a batch is prepared again and the batch applied once`() async throws {
        try await withClient(.adjusted { $0.writeConnections = 1 }) { client, configuration in
            try await execute(schema, on: configuration)
            func batch(_ id: Int64) -> WriteBatch {
                var batch = WriteBatch("returning")
                batch.append(insert(id))
                batch.append("SELECT * FROM users WHERE id = \(id)")
                return batch
            }
            _ = try await client.write(batch(1))
            try await execute("ALTER TABLE users ADD extra int4", on: configuration)
            let result = try await client.write(batch(2))
            #expect(result.affectedRows(0) == 1)
            try await client.expect(usersCount, returns: [2])
            #expect(client.state.write.statistics.sentAgain == 1)
            #expect(client.state.write.statistics.connectionsLost == 0)
        }
    }
}
