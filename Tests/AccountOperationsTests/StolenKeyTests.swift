import AccountLinking
import AccountOperations
import AccountTestSupport
import Foundation
import Testing

/// The steps of docs/guides/operations.md after a theft of signing keys.
struct StolenKeyTests {
    @Test func `after the manual's statements every earlier token is refused`() async throws {
        let manual = try String(contentsOfFile: Repository.root + "/docs/guides/operations.md", encoding: .utf8)
        let advice = try #require(manual.components(separatedBy: "**A key was stolen.**").last)
        let fence = advice.components(separatedBy: "```sql\n")
        let statements = try #require(fence.dropFirst().first?.components(separatedBy: "```").first)
        try await TestService.with { first in
            let before = try await first.signUp("ada@example.com")
            #expect(try await first.lookUp(before.tokens.idToken).success().id == before.user.id)
            try await first.database.execute(statements)
            try await first.database.withClient { client in
                // A restarted server.
                let second = try await TestService.make(
                    database: first.database,
                    client: client,
                    settings: ProjectSettings.developmentDefaults
                )
                #expect(try await second.lookUp(before.tokens.idToken).isDenied)
                #expect(try await outcome(await second.operations.refreshSession(before.tokens.refreshToken)).isDenied)
                // The statements write the real time, which is later than the test's.
                let ahead = Int64(Date().timeIntervalSince1970) - second.clock.now.secondsSinceEpoch + 1
                second.clock.advance(seconds: ahead)
                let after = try await second.signIn("ada@example.com").success()
                #expect(try await second.lookUp(after.tokens.idToken).success().id == before.user.id)
                await second.operations.passwords.shutDown()
            }
            #expect(try await first.database.inconsistencies() == [])
        }
    }
}

extension Outcome {
    fileprivate var isDenied: Bool {
        switch self {
        case .denied: true
        case .success: false
        }
    }
}
