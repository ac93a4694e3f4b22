import Testing

@testable import Postgres

/// Conversations with a server: the statements sent, the results received, and the consequences for callers.
@Suite struct ConversationTests {
    private typealias Talk = Conversation<FakeJob, String>

    private func jobs(_ count: Int, sendCount: Int = 1) -> [QueuedJob<FakeJob>] {
        (0..<count).map { QueuedJob(job: FakeJob(id: $0), deadline: currentInstant(), sendCount: sendCount) }
    }

    /// Reads of one statement each that share a Sync.
    private func reads(_ count: Int, sendCount: Int = 1) -> Talk {
        var talk = Talk(.reads, jobs(count, sendCount: sendCount))
        for exchange in 0..<count { talk.expect(.statement(exchange: exchange, isLast: true)) }
        talk.expect(.sync(exchange: nil))
        return talk
    }

    /// A write of two statements, the first of which has to be prepared.
    private func write(sendCount: Int = 1) -> Talk {
        var talk = Talk(.writes, jobs(1, sendCount: sendCount))
        talk.expect(.prepare(statement: 7, exchange: 0))
        talk.expect(.begin(exchange: 0))
        talk.expect(.statement(exchange: 0, isLast: false))
        talk.expect(.statement(exchange: 0, isLast: true))
        talk.expect(.commit(exchange: 0))
        talk.expect(.sync(exchange: 0))
        return talk
    }

    private func reported(_ effect: Talk.Effect) -> String {
        switch effect {
        case .none: "-"
        case .answer(let job, let answers): "answer \(job.id): \(answers)"
        case .fail(let job, let error): "fail \(job.id): \(error.codeName)"
        case .sendAgain(let queued): "again \(queued.job.id)"
        case .broken: "broken"
        }
    }

    private func hear(_ talk: inout Talk, _ events: Talk.Event...) -> [String] {
        events.map { reported(talk.receive($0)) }
    }

    private func lose(_ talk: inout Talk) -> [String] {
        talk.lost().map(reported)
    }

    private func failure(_ state: SQLState?, severity: String = "ERROR", function: String? = nil) -> Talk.Event {
        .failed(ServerFailure(severity: severity, sqlState: state, message: "m", sourceFunction: function))
    }

    private func rows(_ text: String) -> Talk.Event { .completed(text, tag: nil) }
    private func command(_ tag: String) -> Talk.Event { .completed(tag, tag: tag) }

    // MARK: Reads

    @Test func `reads are answered as their results arrive`() {
        var talk = reads(3)
        #expect(hear(&talk, rows("a"), rows("b")) == ["answer 0: [\"a\"]", "answer 1: [\"b\"]"])
        #expect(talk.unsettled.map(\.id) == [2])
        #expect(hear(&talk, rows("c")) == ["answer 2: [\"c\"]"])
        #expect(!talk.isFinished)
        #expect(hear(&talk, .synced) == ["-"])
        #expect(talk.isFinished)
    }

    @Test func `success without a command tag is a broken connection, not an answer without rows`() {
        var talk = reads(2)
        #expect(hear(&talk, command("")) == ["broken"])
        #expect(lose(&talk) == ["again 0", "again 1"])
    }

    @Test func `a read of several statements is answered with the last`() {
        var talk = Talk(.reads, jobs(1))
        talk.expect(.prepare(statement: 1, exchange: 0))
        talk.expect(.statement(exchange: 0, isLast: false))
        talk.expect(.statement(exchange: 0, isLast: true))
        talk.expect(.sync(exchange: nil))
        #expect(
            hear(&talk, command("PREPARE"), rows("a"), rows("b"), .synced) == [
                "-", "-", "answer 0: [\"a\", \"b\"]", "-",
            ]
        )
        #expect(talk.prepared == [1])
    }

    @Test func `a failing read fails alone, and the reads that were skipped with it are sent again`() {
        var talk = reads(4)
        #expect(
            hear(&talk, rows("a"), failure("22012"), .skipped, .skipped, .synced)
                == ["answer 0: [\"a\"]", "fail 1: server_22012", "again 2", "again 3", "-"]
        )
        #expect(talk.unsettled.isEmpty)
    }

    @Test func `a read of several statements that is skipped is sent again once`() {
        var talk = Talk(.reads, jobs(2))
        talk.expect(.statement(exchange: 0, isLast: true))
        talk.expect(.prepare(statement: 4, exchange: 1))
        talk.expect(.statement(exchange: 1, isLast: false))
        talk.expect(.statement(exchange: 1, isLast: true))
        talk.expect(.sync(exchange: nil))
        #expect(
            hear(&talk, failure("42P01"), .skipped, .skipped, .skipped, .synced) == [
                "fail 0: server_42P01", "again 1", "-", "-", "-",
            ]
        )
        #expect(talk.prepared.isEmpty)
    }

    @Test func `with a Sync each, a failure does not affect the next statement`() {
        var talk = Talk(.reads, jobs(2))
        for exchange in 0..<2 {
            talk.expect(.settings(exchange: exchange))
            talk.expect(.statement(exchange: exchange, isLast: true))
            talk.expect(.sync(exchange: exchange))
        }
        #expect(hear(&talk, rows("set"), failure("22012"), .synced) == ["-", "fail 0: server_22012", "-"])
        #expect(hear(&talk, rows("set"), rows("b"), .synced) == ["-", "answer 1: [\"b\"]", "-"])
        #expect(talk.isFinished)
    }

    @Test func `if settings for the whole batch fail, its jobs are sent again one by one`() {
        var talk = Talk(.reads, jobs(2))
        talk.expect(.settings(exchange: nil))
        talk.expect(.statement(exchange: 0, isLast: true))
        talk.expect(.statement(exchange: 1, isLast: true))
        talk.expect(.sync(exchange: nil))
        #expect(hear(&talk, failure("42704"), .skipped, .skipped, .synced) == ["-", "again 0", "again 1", "-"])
    }

    @Test(arguments: [
        (state: SQLState("26000"), function: nil as String?),
        (state: "42P05", function: nil),
        (state: "0A000", function: "RevalidateCachedQuery"),
    ])
    func `a read with a stale prepared statement is sent again a limited number of times`(
        state: SQLState,
        function: String?
    ) {
        var talk = reads(2)
        #expect(hear(&talk, failure(state, function: function), .skipped, .synced) == ["again 0", "again 1", "-"])
        #expect(talk.hasStalePreparation)
        var last = reads(1, sendCount: 3)
        #expect(hear(&last, failure(state, function: function), .synced) == ["fail 0: server_\(state)", "-"])
    }

    @Test func `an unsupported feature is not a stale prepared statement`() {
        var talk = reads(1)
        #expect(hear(&talk, failure("0A000", function: "transformStmt"), .synced) == ["fail 0: server_0A000", "-"])
        #expect(!talk.hasStalePreparation)
    }

    @Test func `reads without an answer are sent again a limited number of times if the connection is lost`() {
        var talk = reads(3)
        #expect(hear(&talk, rows("a"), failure("57P01", severity: "FATAL")) == ["answer 0: [\"a\"]", "broken"])
        #expect(lose(&talk) == ["again 1", "again 2"])
        #expect(lose(&talk).isEmpty)
        var last = reads(1, sendCount: 3)
        #expect(lose(&last) == ["fail 0: connection_lost"])
    }

    // MARK: Writes

    @Test func `a write is answered at its Sync and not earlier`() {
        var talk = write()
        #expect(
            hear(&talk, command("PREPARE"), command("BEGIN"), rows("a"), rows("b"), command("COMMIT"))
                == ["-", "-", "-", "-", "-"]
        )
        #expect(hear(&talk, .synced) == ["answer 0: [\"a\", \"b\"]"])
        #expect(talk.isFinished)
        #expect(talk.prepared == [7])
    }

    @Test func `a commit answered with ROLLBACK is a failure`() {
        var talk = write()
        _ = hear(&talk, command("PREPARE"), command("BEGIN"), rows("a"), rows("b"), command("ROLLBACK"))
        #expect(hear(&talk, .synced) == ["fail 0: rolled_back"])
    }

    @Test func `a failing statement fails the write with its own error, at the Sync`() {
        var talk = write()
        #expect(
            hear(&talk, command("PREPARE"), command("BEGIN"), rows("a"), failure("23505"), .skipped, .synced)
                == ["-", "-", "-", "-", "-", "fail 0: server_23505"]
        )
    }

    @Test func `a failing commit fails the write`() {
        var talk = write()
        _ = hear(&talk, command("PREPARE"), command("BEGIN"), rows("a"), rows("b"), failure("40001"))
        #expect(hear(&talk, .synced) == ["fail 0: server_40001"])
    }

    @Test func `if preparing fails, the write is skipped and fails`() {
        var talk = write()
        #expect(
            hear(&talk, failure("42601"), .skipped, .skipped, .skipped, .skipped, .synced)
                == ["-", "-", "-", "-", "-", "fail 0: server_42601"]
        )
        #expect(talk.prepared.isEmpty)
    }

    @Test func `a write with a stale prepared statement is sent again, because it was rolled back`() {
        var talk = write()
        _ = hear(&talk, command("PREPARE"), command("BEGIN"), failure("0A000", function: "RevalidateCachedQuery"))
        #expect(hear(&talk, .skipped, .skipped, .synced) == ["-", "-", "again 0"])
        #expect(talk.hasStalePreparation)
    }

    @Test func `if the connection is lost without an error of the server, the outcome is unknown at every point`() {
        let answers: [Talk.Event] = [command("PREPARE"), command("BEGIN"), rows("a"), rows("b"), command("COMMIT")]
        for heard in 0...answers.count {
            var talk = write()
            for event in answers.prefix(heard) { _ = talk.receive(event) }
            #expect(lose(&talk) == ["fail 0: commit_outcome_unknown"])
            var reported = write()
            for event in answers.prefix(heard) { _ = reported.receive(event) }
            // libpq's report of a broken connection has no SQLSTATE.
            #expect(hear(&reported, failure(nil)) == ["broken"])
            #expect(lose(&reported) == ["fail 0: commit_outcome_unknown"])
        }
    }

    @Test func `a server that ends the session before the commit has not committed`() {
        let answers: [Talk.Event] = [command("PREPARE"), command("BEGIN"), rows("a"), rows("b"), command("COMMIT")]
        for heard in 0...answers.count {
            var talk = write()
            for event in answers.prefix(heard) { _ = talk.receive(event) }
            #expect(hear(&talk, failure("57P01", severity: "FATAL")) == ["broken"])
            #expect(lose(&talk) == [heard < 4 ? "fail 0: connection_lost" : "fail 0: commit_outcome_unknown"])
        }
    }

    @Test func `if the connection is lost after a failure, the caller gets that failure`() {
        var talk = write()
        _ = hear(&talk, command("PREPARE"), command("BEGIN"), failure("23505"))
        #expect(lose(&talk) == ["fail 0: server_23505"])
    }

    // MARK: Order

    @Test func `an unexpected result breaks the connection`() {
        var talk = reads(1)
        _ = hear(&talk, rows("a"), .synced)
        #expect(hear(&talk, rows("b")) == ["broken"])
        var early = reads(1)
        #expect(hear(&early, .synced) == ["broken"])
        var late = reads(1)
        #expect(hear(&late, rows("a"), rows("b")) == ["answer 0: [\"a\"]", "broken"])
    }

    @Test func `a failing clean-up breaks the connection`() {
        var talk = Talk(.reads, [])
        talk.expect(.cleanUp)
        talk.expect(.sync(exchange: nil))
        #expect(hear(&talk, command("ROLLBACK"), .synced) == ["-", "-"])
        #expect(talk.isFinished)
        var failing = Talk(.reads, [])
        failing.expect(.cleanUp)
        #expect(hear(&failing, failure("XX000")) == ["broken"])
    }
}
