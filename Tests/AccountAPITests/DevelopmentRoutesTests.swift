import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

struct DevelopmentRoutesTests {
    private let path = "/emulator/v1/projects/\(TestService.projectID)/accounts"

    @Test func `in development everybody may delete every account`() async throws {
        try await TestAPI.withAdministrator { api in
            _ = try await api.signUp("ann@example.com")
            _ = try await api.signUp("bob@example.com")
            let answer = try await api.send(.delete, path, key: nil)
            #expect(answer.status == 200)
            #expect(answer.json == [:])
            #expect(try await api.service.database.count("SELECT count(*) FROM users") == 0)
            #expect(try await api.service.database.count("SELECT count(*) FROM identifiers") == 0)
            let deleted = try await api.service.database.count(
                "SELECT count(*) FROM account_events WHERE kind = 'user-deleted'"
            )
            #expect(deleted == 2)
            #expect(try await api.signUp("ann@example.com")["localId"]?.string != nil)
        }
    }

    @Test func `in production there is no such endpoint`() async throws {
        try await TestAPI.with(development: nil) { api in
            _ = try await api.signUp("ann@example.com")
            #expect(try await api.send(.delete, path, key: nil).status == 404)
            #expect(try await api.service.database.count("SELECT count(*) FROM users") == 1)
        }
    }
}
