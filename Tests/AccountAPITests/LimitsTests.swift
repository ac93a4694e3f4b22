import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// Bounds on what one request may cost.
struct LimitsTests {
    private func with(
        jsonDepthMax: Int = 64,
        _ body: @Sendable (TestService, Wire) async throws -> Void
    ) async throws {
        try await TestService.with { service in
            let handle = ServiceHandle()
            handle.state = .ready(service.operations, checkDatabase: { nil })
            try await Wire.with(service: handle, jsonDepthMax: jsonDepthMax) { wire in try await body(service, wire) }
        }
    }

    @Test func `the maximum nesting of a body is configurable`() async throws {
        try await with(jsonDepthMax: 8) { _, wire in
            func nested(_ depth: Int) -> JSONValue {
                // The body itself is one of them.
                [
                    "returnSecureToken": true,
                    "x": (2..<depth).reduce(JSONValue.array([])) { inner, _ in .array([inner]) },
                ]
            }
            #expect(try await wire.post("/v1/accounts:signUp", nested(8)).status == 200)
            let refused = try await wire.post("/v1/accounts:signUp", nested(9))
            #expect(refused.status == 400)
            #expect(refused.errorMessage?.contains("nested too deeply") == true)
        }
    }

    @Test func `a cancelled request gets 503 at once, and is applied completely or not at all`() async throws {
        try await with { service, wire in
            // Another program holds the tables for as long as the test wants.
            let holder = Task {
                try await service.database.execute(
                    "BEGIN; LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3600); COMMIT"
                )
            }
            let held: Query<Int64?> = """
                SELECT count(*) FROM pg_locks JOIN pg_database AS d ON d.oid = database
                WHERE d.datname = current_database() AND relation = 'sessions'::regclass
                    AND mode = 'AccessExclusiveLock' AND granted
                """
            while try await service.database.count(held) == 0 { try await Task.sleep(for: .milliseconds(20)) }
            let answers = try await withThrowingTaskGroup { group in
                for number in 0..<8 {
                    group.addTask {
                        number.isMultiple(of: 2)
                            ? try await wire.post("/v1/accounts:signUp", [:])
                            : try await wire.post(
                                "/v1/accounts:signUp",
                                ["email": .string("a\(number)@example.com"), "password": "correct horse"]
                            )
                    }
                }
                let waits: Query<Int64?> = """
                    SELECT count(*) FROM pg_locks JOIN pg_database AS d ON d.oid = database
                    WHERE d.datname = current_database() AND relation = 'sessions'::regclass AND NOT granted
                    """
                while try await service.database.count(waits) == 0 { try await Task.sleep(for: .milliseconds(20)) }
                // What the server does when a request's time is over.
                group.cancelAll()
                return try await group.reduce(into: [Wire.Answer]()) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 503 && $0.headers[.retryAfter] == "1" })
            // They were not waited for: what they needed is held still.
            #expect(try await service.database.count(held) == 1)
            let cancelled: [Bool?] = try await service.database.rows(
                """
                SELECT pg_cancel_backend(pid) FROM pg_locks JOIN pg_database AS d ON d.oid = database
                WHERE d.datname = current_database() AND relation = 'sessions'::regclass AND mode = 'AccessExclusiveLock' AND granted
                """
            )
            #expect(cancelled == [true])
            _ = await holder.result
            // What had been sent goes on by itself; ask until it is over.
            let running: Query<Int64?> = """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()
                """
            while try await service.database.count(running) > 0 { try await Task.sleep(for: .milliseconds(20)) }
            #expect(try await service.database.inconsistencies() == [])
            let counts = try await service.database.rowCounts()
            #expect(counts["users"] == counts["sessions"] && counts["users"] == counts["account_events"])
        }
    }
}
