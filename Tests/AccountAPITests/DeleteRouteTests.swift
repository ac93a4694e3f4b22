import AccountTestSupport
import JSON
import Testing

struct DeleteRouteTests {
    private static let path = "/v1/accounts:delete"

    @Test func `the answers of accounts:delete equal the golden transcript`() async throws {
        try await TestAPI.with { api in
            let account = try await api.signUp("ann@example.com")
            let disabled = try await api.signUpAnonymously()
            try await api.disable(disabled)
            var transcript = Transcript(Self.path)
            try await transcript.post("no token", [:], to: api.wire)
            try await transcript.post("bad token", ["idToken": "nonsense"], to: api.wire)
            try await transcript.post("disabled", ["idToken": disabled["idToken"] ?? .null], to: api.wire)
            api.service.clock.advance(seconds: 301)
            try await transcript.post("signed in too long ago", ["idToken": account["idToken"] ?? .null], to: api.wire)
            let fresh = try await api.post(
                "/v1/accounts:signInWithPassword",
                ["email": "ann@example.com", "password": "correct horse"]
            ).json
            try await transcript.post("signed in just now", ["idToken": fresh["idToken"] ?? .null], to: api.wire)
            try await transcript.post("once more", ["idToken": fresh["idToken"] ?? .null], to: api.wire)
            try transcript.expect(matches: "delete.txt")
        }
    }

    @Test func `a project can forbid clients to delete their accounts`() async throws {
        let settings: JSONValue = [
            "signIn": ["anonymous": ["enabled": true]], "client": ["permissions": ["disabledUserDeletion": true]],
        ]
        try await TestAPI.with(settings: settings) { api in
            let account = try await api.signUpAnonymously()
            let answer = try await api.post(Self.path, ["idToken": account["idToken"] ?? .null])
            #expect(answer.errorMessage == "ADMIN_ONLY_OPERATION")
        }
    }
}
