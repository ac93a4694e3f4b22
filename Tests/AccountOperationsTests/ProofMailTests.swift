import AccountLinking
import AccountOperations
import AccountTestSupport
import Postgres
import Testing

/// At most ten mails an hour about one account, for all callers and conflicts.
struct ProofMailTests {
    /// Counts of a mail's rows: the message, its slot, the event.
    private func mailCounts(_ service: TestService) async throws -> [Int64] {
        let database = service.database
        return [
            try await database.count("SELECT count(*) FROM outbox"),
            try await database.count("SELECT count(*) FROM proof_mails"),
            try await database.count("SELECT count(*) FROM account_events WHERE kind = 'conflict-proof-requested'"),
        ]
    }

    @Test func `64 callers with 16 conflicts on two servers cause ten mails`() async throws {
        try await TestService.withTwo { service, other in
            let ada = try await service.signUp("ada@example.com")
            _ = try await service.signUp("eve@example.com")
            var handles: [String] = []
            for number in 0..<16 {
                handles.append(try await service.openConflict(with: "ada@example.com", subject: "\(number)"))
            }
            let outcomes = try await service.race(with: other) { [handles] service, caller in
                try await service.startMailboxProof(handles[caller % 16])
            }
            #expect(outcomes.count { $0.denial == nil } == 10)
            #expect(outcomes.compactMap(\.denial?.mailWaitSeconds).count == 54)
            #expect(try await mailCounts(service) == [10, 10, 10])
            // Other accounts have their own limit, and the owner's session can still prove.
            let another = try await service.openConflict(with: "eve@example.com", subject: "666")
            #expect(try await service.startMailboxProof(another).denial == nil)
            #expect(try await service.prove(handles[0], by: ada).denial == nil)
            try await service.database.expectConsistency()
        }
    }

    @Test func `each mail counts for an hour, and a refusal says when to retry`() async throws {
        try await TestService.with { service in
            _ = try await service.signUp("ada@example.com")
            /// Requests in a new conflict each time, so that no conflict's limit is reached.
            func ask(_ number: Int) async throws -> Denial? {
                let handle = try await service.openConflict(with: "ada@example.com", subject: "\(number)")
                return try await service.startMailboxProof(handle).denial
            }
            for number in 1...4 { #expect(try await ask(number) == nil, "mail \(number)") }
            service.clock.advance(seconds: 1800)
            for number in 5...10 { #expect(try await ask(number) == nil, "mail \(number)") }
            // Requests are one second apart, so the first is 1810 seconds old.
            #expect(try await ask(11)?.mailWaitSeconds == 1790)
            service.clock.advance(seconds: 1788)
            #expect(try await ask(12)?.mailWaitSeconds == 1)
            for number in 13...16 { #expect(try await ask(number) == nil, "mail \(number)") }
            #expect(try await ask(17)?.mailWaitSeconds == 1800, "the mails of the second half hour still count")
            #expect(try await mailCounts(service) == [14, 10, 14])
        }
    }

    @Test func `an account without an address has the same limit`() async throws {
        try await TestService.with { service in
            let credential = service.credential(.twitter, subject: "77")
            _ = try await service.signIn(credential).signedIn()
            let eve = try await service.signUp("eve@example.com")
            var denials: [Denial?] = []
            for _ in 1...3 {
                let handle = try #require(try await service.signIn(credential, idToken: eve.tokens.idToken).refused().1)
                for _ in 1...4 { denials.append(try await service.startMailboxProof(handle).denial) }
                _ = try await service.decline(handle).success()
            }
            #expect(denials.prefix(10).allSatisfy { $0 == nil })
            #expect(denials.suffix(2).compactMap { $0?.mailWaitSeconds } == [3590, 3589])
            #expect(try await service.database.count("SELECT count(*) FROM outbox WHERE is_withheld") == 10)
        }
    }

    @Test func `deleting an account deletes its counts`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            _ = try await service.startMailboxProof(try await service.openConflict(with: "ada@example.com")).success()
            _ = try await service.operations.deleteAccount(idToken: ada.tokens.idToken, tenant: .project)
            #expect(try await service.database.count("SELECT count(*) FROM proof_mails") == 0)
        }
    }
}

extension Denial {
    /// Seconds until the next mail, if the limit is the reason.
    fileprivate var mailWaitSeconds: Int64? {
        if case .conflict(.tooManyMails(let seconds)) = self { seconds } else { nil }
    }
}
