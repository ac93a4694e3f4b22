import AccountTestSupport
import OpenTelemetry
import Spans
import Testing
import Tracing

@testable import Postgres

@Suite(.timeLimit(.minutes(20))) struct SpanTests {
    @Test func `each statement is a span of its caller's trace, named as in metrics`() async throws {
        let recorded = RecordedSpans()
        var configuration = try await TestCluster.shared.get().makeDatabase()
        configuration.queueWait = .seconds(60)
        configuration.readStatementTimeout = .seconds(60)
        configuration.writeStatementTimeout = .seconds(60)
        try await execute("CREATE TABLE things (n int8 PRIMARY KEY)", on: configuration)
        let client = PostgresClient(configuration: configuration, spans: recorded.spans)
        async let running: Void = client.run()
        func add(_ numbers: [Int64]) async throws {
            var batch = WriteBatch("thing-add")
            for number in numbers { batch.append("INSERT INTO things VALUES (\(number))") }
            _ = try await client.write(batch)
        }
        func lookUp(_ number: Int64) -> Query<Int64> {
            Query(keyColumn: 0, "SELECT n FROM \(table: "things") WHERE n = ANY(\([number]))")
        }
        // Outside of a trace there is no span.
        try await add([41, 42])
        #expect(recorded.take().isEmpty)
        try await recorded.spans.trace("request", .server) { _ in
            try await add([1, 2])
            _ = try await client.read(lookUp(41))
            _ = try await client.read(lookUp(42), "SELECT 1::int8" as Query<Int64>)
            try await client.transaction("thing-change") { tx throws(PostgresError) in
                _ = try tx.execute("UPDATE things SET n = n + 100")
            }
            await #expect(throws: PostgresError.self) { try await add([141]) }
            await #expect(throws: PostgresError.self) {
                _ = try await client.read("SELECT (1 / (n - n))::int8 FROM \(table: "things")" as Query<Int64>)
            }
        }
        let spans = recorded.take()
        let request = try #require(spans.last)
        let children = spans.dropLast()
        #expect(children.allSatisfy { $0.parent == request.context.span && $0.kind == .client })
        #expect(Set(children.map(\.context.trace)) == [request.context.trace])
        #expect(
            children.map(\.name).sorted()
                == ["other", "read-things", "read-things", "read-things", "thing-add", "thing-add", "thing-change"]
        )
        #expect(children.allSatisfy { $0.attributes.get("db.system.name") == .string("postgresql") })
        let reads = children.filter { $0.name == "read-things" }
        #expect(reads.allSatisfy { $0.attributes.get("db.collection.name") == .string("things") })
        #expect(children.first?.attributes.get("db.operation.batch.size") == .int64(2))
        let failed = children.filter { $0.status?.code == .error }
        #expect(failed.map(\.name).sorted() == ["read-things", "thing-add"])
        let states = failed.compactMap { $0.attributes.get("error.type") }
        #expect(states.contains(.string("23505")) && states.contains(.string("22012")))
        client.shutDown()
        await running
    }

    @Test func `a refused read is a failed span`() async throws {
        let recorded = RecordedSpans()
        let client = PostgresClient(
            configuration: try await TestCluster.shared.get().makeDatabase(),
            spans: recorded.spans
        )
        client.shutDown()
        await recorded.spans.trace("request", .server) { _ in
            _ = await #expect(throws: PostgresError.self) { try await client.read("SELECT 1::int8" as Query<Int64>) }
        }
        let spans = recorded.take()
        #expect(spans.map(\.name) == ["other", "request"])
        #expect(spans.first?.status?.code == .error && spans.last?.status == nil)
        #expect(spans.first?.attributes.get("error.type") == .string("shutDown"))
    }

    @Test func `callers that share a statement have a span each`() async throws {
        let recorded = RecordedSpans()
        var configuration = try await TestCluster.shared.get().makeDatabase()
        configuration.queueWait = .seconds(60)
        configuration.readStatementTimeout = .seconds(60)
        try await execute("CREATE TABLE things (n int8 PRIMARY KEY)", on: configuration)
        let client = PostgresClient(configuration: configuration, spans: recorded.spans)
        async let running: Void = client.run()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    try await recorded.spans.trace("request", .server) { _ in
                        let lookUp = Query<Int64>(
                            keyColumn: 0,
                            "SELECT n FROM \(table: "things") WHERE n = ANY(\([Int64(number)]))"
                        )
                        _ = try await client.read(lookUp)
                    }
                }
            }
            try await group.waitForAll()
        }
        let spans = recorded.take()
        #expect(spans.count == 100 && Set(spans.map(\.context.trace)).count == 50)
        client.shutDown()
        await running
    }
}
