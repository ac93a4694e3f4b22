import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// What a person reads about the account.
struct AccountHistoryTests {
    @Test func `every event has a kind of entry, or is hidden, and every kind of entry occurs`() {
        let hidden: Set<AccountEvent.Kind> = [.refused, .conflictProofFailed, .userDeleted]
        var shown: Set<HistoryKind> = []
        for kind in AccountEvent.Kind.allCases {
            #expect((HistoryKind(kind, nil) == nil) == hidden.contains(kind), "\(kind)")
            for rule in [nil] + Rule.allCases.map(Optional.some) {
                let entry = HistoryKind(kind, rule)
                #expect((entry == nil) == hidden.contains(kind))
                if let entry { shown.insert(entry) }
            }
        }
        #expect(shown == Set(HistoryKind.allCases))
    }

    @Test func `no kind of entry is a rule's code`() {
        let codes = Set(Rule.allCases.map { $0.rawValue.lowercased() })
        for kind in HistoryKind.allCases { #expect(!codes.contains(kind.rawValue)) }
    }

    @Test func `a page continues where the one before ended, and hides refusals`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            var session = ada
            for _ in 0..<6 {
                service.clock.advance(seconds: 60)
                session = try await service.signIn("ada@example.com").success()
            }
            func page(_ token: String?, _ count: Int) async throws -> AccountHistory? {
                try await service.operations.history(
                    idToken: session.tokens.idToken,
                    tenant: .project,
                    after: token,
                    countMax: count
                )
            }
            let whole = try #require(try await page(nil, 100))
            #expect(whole.next == nil)
            #expect(whole.entries.map(\.kind) == Array(repeating: .signedIn, count: 6) + [.accountCreated])
            #expect(whole.entries.first?.method == .password)
            var (paged, token) = ([DecisionID](), String?.none)
            repeat {
                let next = try #require(try await page(token, 2))
                #expect(next.entries.count <= 2)
                paged += next.entries.map(\.id)
                token = next.next
            } while token != nil
            #expect(paged == whole.entries.map(\.id))

            let first = try #require(try await page(nil, 2)?.next)
            let eve = try await service.signUp("eve@example.com")
            for foreign in ["", "x", first + "A", whole.entries[3].id.text] {
                #expect(try await page(foreign, 2) == nil, "\(foreign)")
            }
            let stolen = try await service.operations.history(
                idToken: eve.tokens.idToken,
                tenant: .project,
                after: first,
                countMax: 2
            )
            #expect(stolen == nil, "a place of another account")
        }
    }

    @Test func `an account sees no history of an earlier one with the same uid`() async throws {
        try await TestService.with { service in
            let id = try #require(UserID("reused"))
            func signIn() async throws -> SignedIn {
                try await service.operations.signInWithCustomToken(
                    JSONValue.object(["uid": .string(id.rawValue)]).text,
                    tenant: .project
                )
            }
            let first = try await signIn()
            service.clock.advance(seconds: 1)
            _ = try await signIn()
            service.clock.advance(seconds: 1)
            _ = try await service.delete(first.tokens.idToken).value
            service.clock.advance(seconds: 60)
            let second = try await signIn()
            #expect(first.user.createdAt != second.user.createdAt)
            let later = try #require(try await service.user(id))
            let history = try await service.operations.history(of: later, countMax: 1000)
            #expect(history.entries.count == 1 && history.next == nil, "\(history.entries)")
        }
    }

    @Test func `the export has the account's data and no secret of it`() async throws {
        try await TestService.with { service in
            let google = service.credential(.google, subject: "g-1", email: "ada@gmail.com", isVerified: true)
            let ada = try await service.signIn(google).signedIn()
            let second = try await service.signIn(google).signedIn()
            let data = try await service.operations.ownData(idToken: second.tokens.idToken, tenant: .project)
            #expect(data.user.id == ada.user.id)
            #expect(data.methods.map(\.status.method) == [.provider(.google)])
            #expect(data.sessions.count == 2 && data.sessions.count { $0.isCurrent } == 1)
            // Both sign-ins are of one time, so their order is that of random ids.
            #expect(data.history.entries.count == 2)
            #expect(Set(data.history.entries.map(\.kind)) == [.signedIn, .accountCreated])
            #expect(data.history.entries.allSatisfy { $0.method == .provider(.google) })
            #expect(data.suspendedMethods.isEmpty && data.merges.isEmpty)
            let forged = try await outcome(await service.operations.ownData(idToken: "forged", tenant: .project))
            #expect(forged.denial == .invalidIDToken)
        }
    }
}
