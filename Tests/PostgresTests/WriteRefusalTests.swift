import Metrics
import MetricsTestKit
import Testing

@testable import Postgres

/// A client detects and reports a server that refuses writes.
@Suite(.timeLimit(.minutes(20))) struct WriteRefusalTests {
    private static let start = currentInstant()
    private static let readOnly = PostgresError(.server(.readOnlyTransaction), "read-only")
    private static let full = PostgresError(.server(.diskFull), "no space left")

    @Test func `an episode begins with the first refusal and ends with a write some time after the last`() {
        let refusals = WriteRefusals(quiet: .seconds(5))
        func at(_ seconds: Int) -> Instant { Self.start + .seconds(seconds) }
        #expect(!refusals.isUnderWay && refusals.error(now: at(0)) == nil)
        #expect(!refusals.taken(changedRows: true, now: at(0)), "none is under way")
        #expect(refusals.refused(Self.readOnly, now: at(0)))
        #expect(!refusals.refused(Self.full, now: at(3)))
        #expect(refusals.isUnderWay && refusals.error(now: at(7)) == Self.full)
        #expect(!refusals.taken(changedRows: true, now: at(7)), "another was refused just now")
        #expect(refusals.error(now: at(8)) == nil, "it may be tried again")
        #expect(refusals.isUnderWay)
        #expect(!refusals.taken(changedRows: false, now: at(8)), "needs no room on the disk")
        #expect(refusals.taken(changedRows: true, now: at(8)))
        #expect(!refusals.isUnderWay)
        #expect(refusals.refused(Self.readOnly, now: at(9)))
        #expect(refusals.taken(changedRows: false, now: at(14)), "a read-only database would have refused it")
    }

    @Test func `an error that refuses all writes differs from the failure of one write`() {
        func refuses(_ state: SQLState, in function: String) -> Bool {
            ServerFailure(severity: "ERROR", sqlState: state, message: "", sourceFunction: function).error.refusesWrites
        }
        #expect(refuses("25006", in: "PreventCommandIfReadOnly"))
        #expect(refuses("53100", in: "mdextend"))
        #expect(refuses("54000", in: "GetNewTransactionId"))
        #expect(refuses("54000", in: "GetNewMultiXactId"))
        #expect(!refuses("54000", in: "_bt_check_third_page"), "a row that is too long for an index")
        #expect(!refuses("23505", in: "_bt_check_unique"))
        #expect(!refuses("42501", in: "aclcheck_error"))
        #expect(!PostgresError(.connectionLost, "").refusesWrites)
    }

    private static let patient = Adjustment.adjusted { $0.reconnectDelayMax = .milliseconds(100) }

    private func add(_ number: Int64, _ client: PostgresClient) async throws {
        var batch = WriteBatch("thing-add")
        batch.append("INSERT INTO things VALUES (\(number))")
        _ = try await client.write(batch)
    }

    /// Sessions keep their read-only state, so only new connections can write again.
    @Test func `a database that was read-only accepts writes again over new connections`() async throws {
        let configuration = try await TestCluster.shared.get().makeDatabase()
        try await execute("CREATE TABLE things (n int8)", on: configuration)
        let database = try await PostgresConnection.withConnection(configuration) {
            try $0.query("SELECT current_database()::text" as Query<String>)[0]
        }
        try await execute("ALTER DATABASE \(database) SET default_transaction_read_only = on", on: configuration)
        let listener = Listener()
        try await withClient(Self.patient, of: configuration, observer: listener) { client, _ in
            for number in 0..<50 {
                let error = await failure { try await self.add(Int64(number), client) }
                #expect(error?.sqlState == .readOnlyTransaction)
            }
            let leased = await failure {
                try await client.transaction("thing-add") { tx throws(PostgresError) in
                    _ = try tx.execute("INSERT INTO things VALUES (1)")
                }
            }
            #expect(leased?.sqlState == .readOnlyTransaction)
            #expect(client.writeRefusal?.refusesWrites == true)
            #expect(client.state.areWritesRefused)
            #expect(listener.count { if case .writesRefused = $0 { true } else { false } } == 1)

            // From another database, because this one is read-only for the test too.
            try await execute(
                "ALTER DATABASE \(database) RESET default_transaction_read_only",
                on: TestCluster.shared.get().configuration()
            )
            try await eventually { await failure { try await self.add(100, client) } == nil }
            try await eventually {
                try? await self.add(101, client)
                return listener.heard { $0 == .writesTaken }
            }
            try await client.transaction("thing-add") { tx throws(PostgresError) in
                _ = try tx.execute("INSERT INTO things VALUES (102)")
            }
            #expect(client.writeRefusal == nil && !client.state.areWritesRefused)
            #expect(listener.count { $0 == .writesTaken } == 1)
            #expect(client.state.write.statistics.connectionsLost == 0, "no lost connections are reported")
        }
    }

    @Test func `a full disk is reported and measured until a write succeeds again`() async throws {
        var configuration = try await TestCluster.shared.get().makeDatabase()
        configuration.queueWait = .seconds(60)
        configuration.writeStatementTimeout = .seconds(60)
        configuration.reconnectDelayMax = .milliseconds(100)
        try await execute(
            """
            CREATE TABLE things (n int8);
            CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
            CREATE TRIGGER no_room BEFORE INSERT ON things EXECUTE FUNCTION no_room()
            """,
            on: configuration
        )
        let recorded = TestMetrics()
        let listener = Listener()
        let client = PostgresClient(
            configuration: configuration,
            observer: listener,
            metrics: PostgresMetrics(recorded, calls: [])
        )
        async let running: Void = client.run()
        func gauge() throws -> Double? {
            client.report()
            return try recorded.expectMeter(PostgresMetrics.writesRefused).lastValue
        }
        #expect(try gauge() == 0)
        for _ in 0..<3 { #expect(await failure { try await add(1, client) }?.sqlState == .diskFull) }
        #expect(try gauge() == 1)
        #expect(listener.count { if case .writesRefused = $0 { true } else { false } } == 1)
        try await execute("DROP TRIGGER no_room ON things", on: configuration)
        try await eventually {
            try await add(1, client)
            return listener.heard { $0 == .writesTaken }
        }
        #expect(try gauge() == 0)
        client.shutDown()
        await running
    }
}
