import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import Postgres
import Testing

/// Concurrent imports, and imports that race with other writes. Checked in the tables.
struct ImportRaceTests {
    private func account(_ id: String, email: String? = nil, name: String? = nil) -> ImportedAccount {
        var account = ImportedAccount()
        account.id = id
        account.email = email
        account.profile.displayName = name
        return account
    }

    private static let options = AccountImport.Options(tenant: .project)

    @Test func `concurrent imports of the same accounts create each once`() async throws {
        try await TestService.withTwo { first, second in
            let rows = (0..<40).map { account("user-\($0)", email: "user\($0)@example.com", name: "Name") }
            let outcomes = try await first.race(with: second, count: 16) { service, caller in
                // In different orders, like different files.
                let own = caller.isMultiple(of: 3) ? Array(rows.reversed()) : rows
                return try await service.operations.accountImport.apply(own, Self.options)
            }
            #expect(outcomes.allSatisfy { $0.refused.isEmpty })
            #expect(outcomes.map(\.created).reduce(0, +) == 40)
            #expect(outcomes.map(\.unchanged).reduce(0, +) == 40 * 15)
            #expect(try await first.database.count("SELECT count(*) FROM users") == 40)
            #expect(try await first.database.count("SELECT count(*) FROM account_events") == 40)
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `when imported accounts share an address, one gets it and the others are refused`() async throws {
        try await TestService.withTwo { first, second in
            let outcomes = try await first.race(with: second, count: 16) { service, caller in
                let rows = (0..<10).map { account("user-\(caller)-\($0)", email: "user\($0)@example.com") }
                return try await service.operations.accountImport.apply(rows, Self.options)
            }
            #expect(outcomes.map(\.created).reduce(0, +) == 10)
            let refusals = outcomes.flatMap { $0.refused.map(\.refusal) }
            #expect(refusals.count == 150)
            #expect(refusals.allSatisfy { $0 == .emailTaken })
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `imports that race with sign-ups, changes and deletions keep the tables consistent`() async throws {
        try await TestService.withTwo { first, second in
            let id = try await first.signUp(first.newAddress()).value.user.id
            _ = try await first.race(with: second, count: 32) { service, caller in
                switch caller % 4 {
                case 0:
                    let rows = [
                        account(id.rawValue, email: "mine\(caller)@example.com", name: "\(caller)"),
                        account("other", email: "shared@example.com"),
                    ]
                    _ = try await service.operations.accountImport.apply(rows, Self.options)
                case 1:
                    var update = AdminUpdateAccount()
                    update.email = "changed\(caller)@example.com"
                    update.password = "another password"
                    _ = try await outcome(await service.operations.updateAccount(update, of: id, tenant: .project))
                case 2:
                    if let address = EmailAddress("shared@example.com") { _ = try await service.signUp(address) }
                default:
                    _ = try await outcome(
                        await service.operations.deleteAccount(UserID("other") ?? id, tenant: .project)
                    )
                }
            }
            #expect(try await first.database.inconsistencies() == [])
        }
    }
}
