import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import ArgumentParser
import JSON
import Postgres
import Testing

@testable import concord

/// `concord outbox`: what operators see of messages, and what they can do about them.
struct OutboxCommandTests {
    /// A mail to `address` in the outbox, with a code in it.
    private func mail(to address: String, in service: TestService) async throws {
        var settings = EmailCodeSettings()
        settings.continueURL = "http://localhost/x"
        settings.handlesCodeInApp = true
        let asked = try await outcome(
            await service.operations.sendEmailCode(
                EmailCodeRequest(
                    action: .emailSignIn(try #require(EmailAddress(address))),
                    settings: settings,
                    locale: nil,
                    isAdministrator: false,
                    returnsLink: false,
                    tenant: .project
                )
            )
        )
        guard case .success = asked else {
            Issue.record("refused")
            return
        }
    }

    @Test func `a message is listed without its content`() async throws {
        try await TestService.with { service in
            try await mail(to: "ada.lovelace@example.com", in: service)
            service.clock.advance(seconds: 7300)
            try await mail(to: "bob@example.org", in: service)
            try await service.database.execute(
                """
                UPDATE outbox SET message_id = '00000000-0000-4000-8000-000000000001', state = 'failed', attempts = 3,
                    reason = '550 5.1.1' WHERE created_at = (SELECT min(created_at) FROM outbox)
                """
            )
            let listing = OutboxListing(service.operations.store, sealer: service.operations.sealer)
            let failed = try await listing.messages(.failed, countMax: 10)
            let pending = try await listing.messages(.pending, countMax: 10)
            // Sealed for another id: as good as a key that is gone.
            #expect(failed.map(\.recipient) == [nil] && pending.map(\.recipient) == ["b…@example.org"])
            #expect(failed.map(\.reason) == ["550 5.1.1"] && pending.map(\.attempts) == [0])
            let text = OutboxCommand.text(failed, at: service.clock.now)
            #expect(
                text.split(separator: "\n").last
                    == "00000000-0000-4000-8000-000000000001  failed  mail  2h   3         550 5.1.1  -"
            )
            let json = try JSONValue(parsing: Array(OutboxCommand.json(pending).utf8))
            #expect(
                Set(json.array?.first?.object?.keys ?? [:].keys)
                    == ["id", "state", "kind", "attempts", "createdAt", "expiresAt", "nextAttemptAt", "to"]
            )
            #expect(!json.text.contains("bob") && !json.text.contains("oobCode"))
            let blind = try await OutboxListing(service.operations.store, sealer: nil).messages(.pending, countMax: 10)
            #expect(blind.map(\.recipient) == [nil])
            #expect(OutboxCommand.text([], at: service.clock.now) == "no message is pending or failed")
        }
    }

    @Test func `dead letters can be retried by id or all at once`() async throws {
        try await TestService.with { service in
            for number in 0..<5 { try await mail(to: "user\(number)@example.com", in: service) }
            try await service.database.execute("UPDATE outbox SET state = 'failed', attempts = 3")
            let listing = OutboxListing(service.operations.store, sealer: nil)
            let ids = try await listing.messages(.failed, countMax: 10).map(\.id)
            let now = service.clock.now
            #expect(try await listing.retry(["1"], at: now) == nil)
            #expect(try await listing.retry([ids[0], "00000000-0000-4000-8000-000000000000"], at: now) == 1)
            #expect(try await listing.retry([ids[0]], at: now) == 0)
            #expect(try await listing.retry(nil, at: now) == 4)
            let due: Query<Int64?> = "SELECT count(*) FROM outbox WHERE state = 'pending' AND attempts = 0"
            #expect(try await service.database.count(due) == 5)
        }
    }

    private static let id = "00000000-0000-4000-8000-000000000001"

    @Test func `the result of a discard is shown as text and as JSON`() async throws {
        try await TestService.with { service in
            for number in 0..<3 { try await mail(to: "user\(number)@example.com", in: service) }
            let now = service.clock.now
            let listing = OutboxListing(service.operations.store, sealer: service.operations.sealer)
            let shown = try await listing.discardable(.pending(nil, writtenUntil: now), at: now, countMax: 2)
            #expect(shown.map(\.recipient) == ["u…@example.com", "u…@example.com"])
            let outcome = DiscardOutcome(shown: shown, matching: 3, named: 0)
            #expect(outcome.table(at: now).hasSuffix("\nand 1 more"))
            #expect(outcome.forecast(claimed: 0) == "3 messages would be discarded")
            #expect(
                outcome.report(discarded: 1, claimed: 2) == "1 message discarded, 2 left to the worker that is sending"
            )
            let named = DiscardOutcome(shown: [], matching: 1, named: 3)
            #expect(
                named.report(discarded: 1, claimed: 1)
                    == "1 message discarded, 1 left to the worker that is sending, "
                    + "1 not found: sent, discarded or deleted before"
            )
            #expect(!named.isWhole(2) && named.isWhole(3) && outcome.isWhole(1) && !outcome.isWhole(0))
            let json = try JSONValue(parsing: Array(outcome.json(discarded: 3, claimed: 1).utf8))
            #expect(Set(json.object?.keys ?? [:].keys) == ["dryRun", "discarded", "claimed", "messages"])
            #expect(json["discarded"] == 3 && json["claimed"] == 1 && json["messages"]?.array?.count == 2)
            #expect(!json.text.contains("user0") && !json.text.contains("oobCode"))
        }
    }

    @Test func `a command line with no selection, or two, is refused`() {
        for arguments in [
            ["retry"], ["retry", "x", "--failed"], ["list", "--max", "0"], ["list", "--state", "sent"],
            ["discard"], ["discard", "x"], ["discard", Self.id, "--all-pending"],
            ["discard", Self.id, "--kind", "mail"],
            ["discard", "--kind", "letter"], ["discard", "--older-than", "soon"],
            ["discard", "--all-pending", "--yes", "--dry-run"],
        ] {
            #expect(throws: (any Error).self) { try Concord.parseAsRoot(["outbox"] + arguments) }
        }
        for arguments in [
            ["retry", "--failed"], ["discard", Self.id], ["discard", "--all-pending"],
            ["discard", "--kind", "mail", "--older-than", "7d"], ["discard", "--older-than", "2026-11-22T08:00:00Z"],
        ] {
            #expect(throws: Never.self) { try Concord.parseAsRoot(["outbox"] + arguments) }
        }
    }
}
