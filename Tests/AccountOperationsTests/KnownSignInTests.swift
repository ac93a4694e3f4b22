import AccountLinking
import AccountStore
import AccountTestSupport
import IdentityProviders
import Testing

@testable import AccountOperations
@testable import Postgres

/// The cost of a known account's sign-in.
struct KnownSignInTests {
    /// The place and the writer of each row of an account, which every update changes.
    private static let rows: Query<String?> = """
        SELECT concat_ws(' ', 'users', ctid, xmin) FROM users
        UNION ALL SELECT concat_ws(' ', 'identifiers', ctid, xmin) FROM identifiers
        UNION ALL SELECT concat_ws(' ', 'linked_providers', ctid, xmin) FROM linked_providers
        UNION ALL SELECT concat_ws(' ', 'password_credentials', ctid, xmin) FROM password_credentials
        UNION ALL SELECT concat_ws(' ', 'sign_in_methods', ctid, xmin) FROM sign_in_methods
        ORDER BY 1
        """

    @Test func `a provider's sign-in with nothing new reads four times and writes no row of the account`()
        async throws
    {
        try await TestService.with { service in
            func signIn(name: String) async throws {
                let credential = service.credential(
                    .google,
                    subject: "ada",
                    email: "ada@gmail.com",
                    isVerified: true,
                    name: name
                )
                _ = try await service.signIn(credential).signedIn()
            }
            func rows() async throws -> [String?] { try await service.database.rows(Self.rows) }
            try await signIn(name: "Ada")
            let before = try await rows()
            let (reads, writes) = (service.client.state.read, service.client.state.write)
            try await signIn(name: "Ada")
            #expect(try await rows() == before)
            let after = service.client.state
            // The claims on identity and address, the account, and a conflict that waits for it.
            #expect(after.read.statistics.accepted - reads.statistics.accepted == 4)
            #expect(after.write.statistics.accepted - writes.statistics.accepted == 1)
            try await signIn(name: "Ada L.")
            #expect(try await rows() != before)
        }
    }
}
