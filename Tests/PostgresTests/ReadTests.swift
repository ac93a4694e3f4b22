import Synchronization
import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(20))) struct ReadTests {
    @Test func `a read returns its rows`() async throws {
        try await withClient { client, _ in
            let numbers = try await client.read("SELECT n FROM generate_series(1, \(Int64(5))) n" as Query<Int64>)
            #expect(numbers == [1, 2, 3, 4, 5])
            let nothing = try await client.read("SELECT 1::int8 WHERE false" as Query<Int64>)
            #expect(nothing.isEmpty)
        }
    }

    @Test func `several queries are sent together and keep their types`() async throws {
        try await withClient { client, _ in
            let (numbers, texts, pairs) = try await client.read(
                "SELECT \(Int64(7))" as Query<Int64>,
                "SELECT \("seven")" as Query<String>,
                "SELECT 'a', 1::int4 UNION ALL SELECT 'b', 2 ORDER BY 1" as Query<Pair<String, Int32>>
            )
            #expect(numbers == [7])
            #expect(texts == ["seven"])
            #expect(pairs.map(\.first) == ["a", "b"])
            #expect(pairs.map(\.second) == [1, 2])
            #expect(client.state.read.statistics.batches == 1)
        }
    }

    @Test func `a list of queries keeps its order, with lookups among them`() async throws {
        try await withClient { client, _ in
            func lookup(_ key: String) -> Query<String> {
                Query(keyColumn: 0, "SELECT key FROM unnest(\([key])) AS wanted (key)")
            }
            let queries = ["SELECT 'a'" as Query<String>, lookup("b"), "SELECT 'c'", lookup("d")]
            let answers = try await client.read(queries)
            #expect(answers == [["a"], ["b"], ["c"], ["d"]])
            let none: [Query<String>] = []
            let nothing = try await client.read(none)
            #expect(nothing.isEmpty)
            #expect(client.state.read.statistics.accepted == 3)
        }
    }

    @Test func `each of 64 callers gets its own answer`() async throws {
        try await withClient { client, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<64 {
                    group.addTask {
                        for turn in 0..<100 {
                            let nonce = Int64(task * 1000 + turn)
                            let answer = try await client.read(
                                "SELECT \(nonce), \("t\(nonce)")" as Query<Pair<Int64, String>>
                            )
                            #expect(answer.first?.first == nonce)
                            #expect(answer.first?.second == "t\(nonce)")
                        }
                    }
                }
                try await group.waitForAll()
            }
            let statistics = client.state.read.statistics
            #expect(statistics.accepted == 6400)
            #expect(statistics.batches < 6400, "statements that gather travel together")
        }
    }

    @Test func `lookups by different keys share statements, and each caller gets the rows of its key`() async throws {
        try await withClient(.adjusted { $0.readConnections = 1 }) { client, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<64 {
                    group.addTask {
                        for turn in 0..<50 {
                            // Some keys have no row, one row or several, and some callers use the same key.
                            let key = Int32((task * 7 + turn) % 40)
                            let rows = try await client.read(multiples(of: key))
                            #expect(rows.map(\.first) == Array(repeating: key, count: Int(key) % 4))
                            #expect(rows.map(\.second) == (0..<(Int(key) % 4)).map { "\(key).\($0)" })
                        }
                    }
                }
                try await group.waitForAll()
            }
            let statistics = client.state.read.statistics
            #expect(statistics.accepted == 3200)
            #expect(statistics.answered == 3200)
        }
    }

    @Test func `lookups and other queries of one call return their rows in the order of the call`() async throws {
        try await withClient(.adjusted { $0.readConnections = 1 }) { client, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<64 {
                    group.addTask {
                        let (key, other) = (Int32(task % 40), Int32((task + 1) % 40))
                        let (first, number, second, text) = try await client.read(
                            multiples(of: key),
                            "SELECT \(key)" as Query<Int32>,
                            multiples(of: other),
                            "SELECT \("t\(task)")" as Query<String>
                        )
                        #expect(first.map(\.first) == Array(repeating: key, count: Int(key) % 4))
                        #expect(number == [key])
                        #expect(second.map(\.first) == Array(repeating: other, count: Int(other) % 4))
                        #expect(text == ["t\(task)"])
                    }
                }
                try await group.waitForAll()
            }
            let statistics = client.state.read.statistics
            #expect(statistics.accepted == 64 * 3 && statistics.answered == 64 * 3)
        }
    }

    @Test func `a lookup that fails fails its call`() async throws {
        try await withClient { client, _ in
            let error = await failure {
                try await client.read("SELECT 1::int8" as Query<Int64>, quotients(of: 0), quotients(of: 1))
            }
            #expect(error?.sqlState == .divisionByZero)
            let rows = try await client.read(quotients(of: 1))
            #expect(rows.map(\.second) == [1000])
        }
    }

    @Test func `a lookup that fails fails alone`() async throws {
        try await withClient(.adjusted { $0.readConnections = 1 }) { client, _ in
            let failures = try await withThrowingTaskGroup(of: Bool.self) { group in
                for task in 0..<200 {
                    group.addTask {
                        let key = Int32(task % 20 == 0 ? 0 : task)
                        do {
                            let rows = try await client.read(quotients(of: key))
                            #expect(rows.map(\.second) == [1000 / key])
                            return false
                        } catch let error as PostgresError {
                            #expect(key == 0 && error.sqlState == .divisionByZero)
                            return true
                        }
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(failures == 10)
        }
    }

    @Test(arguments: [true, false])
    func `lookups with other values get their own rows, merged or not`(isMerging: Bool) async throws {
        @Sendable func adjust(_ configuration: inout PostgresConfiguration) {
            configuration.readConnections = 1
            configuration.mergesStatements = isMerging
        }
        try await withClient(.adjusted(adjust)) { client, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<200 {
                    group.addTask {
                        let label = "label-\(task % 3)"
                        let rows = try await client.read(
                            Query<Pair<Int32, String>>(
                                keyColumn: 0,
                                "SELECT k, \(label) FROM generate_series(1, 300) AS k WHERE k = ANY(\([Int32(task + 1)]))"
                            )
                        )
                        #expect(rows.map(\.first) == [Int32(task + 1)])
                        #expect(rows.map(\.second) == [label])
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `a failing statement does not affect other callers`() async throws {
        try await withClient(.adjusted { $0.readConnections = 1 }) { client, _ in
            let failures = try await withThrowingTaskGroup(of: Bool.self) { group in
                for task in 0..<400 {
                    group.addTask {
                        guard task % 5 == 0 else {
                            let answer = try await client.read("SELECT \(Int64(task))" as Query<Int64>)
                            #expect(answer == [Int64(task)])
                            return false
                        }
                        let error = await failure { try await client.read("SELECT 1 / \(Int64(0))" as Query<Int64>) }
                        #expect(error?.code == .server(.divisionByZero))
                        return true
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(failures == 80)
            #expect(client.state.read.statistics.sentAgain > 0, "some neighbours must have been skipped")
        }
    }

    @Test func `a failure in one of several queries fails the call and only this call`() async throws {
        try await withClient { client, _ in
            let error = await failure {
                try await client.read(
                    "SELECT 1::int8" as Query<Int64>,
                    "SELECT nowhere.x" as Query<Int64>,
                    "SELECT 2::int8" as Query<Int64>
                )
            }
            #expect(error?.sqlState == "42P01")
            try await client.expect("SELECT 3::int8" as Query<Int64>, returns: [3])
        }
    }

    @Test func `the server refuses a read that writes`() async throws {
        try await withClient { client, configuration in
            try await execute("CREATE TABLE t (x int8)", on: configuration)
            let error = await failure { try await client.read("INSERT INTO t VALUES (1) RETURNING x" as Query<Int64>) }
            #expect(error?.code == .server(.readOnlyTransaction))
        }
    }

    @Test func `a statement that runs too long is ended by the server`() async throws {
        try await withClient(.adjusted { $0.readStatementTimeout = .milliseconds(500) }) { client, _ in
            let error = await failure { try await client.read("SELECT true FROM pg_sleep(60)" as Query<Bool>) }
            #expect(error?.code == .server(.queryCanceled))
            try await client.expect("SELECT true" as Query<Bool>, returns: [true])
        }
    }

    @Test func `a transaction that a read leaves open is ended before the connection is used again`() async throws {
        try await withClient(.adjusted { $0.readConnections = 1 }) { client, _ in
            let session: Query<Pair<Int32, PostgresTimestamp>> = "SELECT pg_backend_pid(), now()"
            _ = await failure { try await client.read("BEGIN" as Query<Int32>) }
            let first = try await client.read(session)
            _ = try await client.read("SELECT true FROM pg_sleep(0.001)" as Query<Bool>)
            let second = try await client.read(session)
            #expect(first.first?.first == second.first?.first, "the connection is the same")
            #expect(first.first?.second != second.first?.second, "the transaction is not")
        }
    }

    @Test func `a result with more rows than allowed is an error`() async throws {
        try await withClient(.adjusted { $0.rowsMax = 10 }) { client, _ in
            let query: Query<Int64> = "SELECT n FROM generate_series(1, \(Int64(10))) n"
            try await client.expect(query, returns: Array(1...10))
            let error = await failure {
                try await client.read("SELECT n FROM generate_series(1, \(Int64(11))) n" as Query<Int64>)
            }
            #expect(error?.code == .tooManyRows)
        }
    }

    @Test func `a parameter longer than allowed is not sent`() async throws {
        try await withClient(.adjusted { $0.valueBytesMax = 100 }) { client, _ in
            let long = String(repeating: "x", count: 101)
            let error = await failure { try await client.read("SELECT \(long)" as Query<String>) }
            #expect(error?.code == .valueTooLarge)
            let texts = try await client.read(
                "SELECT \(String(long.dropLast())), \("short")" as Query<Pair<String, String>>
            )
            #expect(texts.first?.first.count == 100)
        }
    }

    @Test func `large parameters and large results are transferred at the same time`() async throws {
        try await withClient { client, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<16 {
                    group.addTask {
                        let bytes = Bytes(repeating: UInt8(task), count: 3_000_000 + task)
                        let back = try await client.read("SELECT \(bytes)" as Query<Bytes>)
                        #expect(back == [bytes])
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `statements beyond the limit of prepared ones are parsed each time`() async throws {
        try await withClient(
            .adjusted {
                $0.preparedStatementsMax = 3
                $0.readConnections = 1
            }
        ) { client, _ in
            for _ in 0..<2 {
                for column in 0..<10 {
                    let query = Query<Int64>(SQL(text: "SELECT \(column)::int8"))
                    try await client.expect(query, returns: [Int64(column)])
                }
            }
            let prepared = try await client.read("SELECT count(*) FROM pg_prepared_statements" as Query<Int64>)
            #expect(prepared == [3])
        }
    }

    @Test func `a plan that a changed table made stale is prepared again`() async throws {
        try await withClient(.adjusted { $0.readConnections = 1 }) { client, configuration in
            try await execute("CREATE TABLE t (id int8); INSERT INTO t VALUES (1)", on: configuration)
            let query: Query<Int64> = "SELECT * FROM t WHERE id > \(Int64(0))"
            for _ in 0..<20 { try await client.expect(query, returns: [1]) }
            try await execute("ALTER TABLE t ADD name text NOT NULL DEFAULT 'x'", on: configuration)
            let pairs = Query<Pair<Int64, String>>(query.sql)
            for _ in 0..<20 {
                let pair = try await client.read(pairs)
                #expect(pair.first?.second == "x")
            }
            try await execute("ALTER TABLE t DROP name", on: configuration)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<64 { group.addTask { try await client.expect(query, returns: [1]) } }
                try await group.waitForAll()
            }
            #expect(client.state.read.statistics.sentAgain >= 2)
            #expect(client.state.read.statistics.connectionsLost == 0)
        }
    }

    @Test func `prepared statements that the session lost are prepared again`() async throws {
        try await withClient(.adjusted { $0.readConnections = 1 }) { client, _ in
            let query: Query<Int64> = "SELECT \(Int64(5)) + 0"
            try await client.expect(query, returns: [5])
            _ = await failure { try await client.read("DEALLOCATE ALL" as Query<Int64>) }
            try await client.expect(query, returns: [5])
            #expect(client.state.read.statistics.connectionsLost == 0)
        }
    }

    @Test func `COPY fails on a lane, and the lane recovers`() async throws {
        try await withClient { client, _ in
            let error = await failure { try await client.read("COPY (SELECT 1) TO STDOUT" as Query<Int64>) }
            #expect(error != nil)
            try await client.expect("SELECT 1::int8" as Query<Int64>, returns: [1])
        }
    }
}

/// Returns `key % 4` rows.
private func multiples(of key: Int32) -> Query<Pair<Int32, String>> {
    Query(
        keyColumn: 0,
        """
        SELECT k, k || '.' || n FROM generate_series(0, 39) AS k, generate_series(0, 3) AS n
        WHERE n < k % 4 AND k = ANY(\([key])) ORDER BY k, n
        """
    )
}

/// Fails for zero.
private func quotients(of key: Int32) -> Query<Pair<Int32, Int32>> {
    Query(
        keyColumn: 0,
        "SELECT k, 1000 / k FROM generate_series(0, 300) AS k WHERE k = ANY(\([key]))"
    )
}
