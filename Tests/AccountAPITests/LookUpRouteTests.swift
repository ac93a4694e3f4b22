import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Testing

struct LookUpRouteTests {
    private static let path = "/v1/accounts:lookup"

    @Test func `the answers of accounts:lookup equal the golden transcript`() async throws {
        try await TestAPI.with { api in
            let anonymous = try await api.signUpAnonymously()
            let account = try await api.signUp("Ann@example.com")
            var transcript = Transcript(Self.path)
            try await transcript.post("no token", [:], to: api.wire)
            try await transcript.post("empty token", ["idToken": ""], to: api.wire)
            try await transcript.post("bad token", ["idToken": "nonsense"], to: api.wire)
            try await transcript.post("anonymous", ["idToken": anonymous["idToken"] ?? .null], to: api.wire)
            try await transcript.post("with a password", ["idToken": account["idToken"] ?? .null], to: api.wire)

            let id = try #require(account["localId"]?.string.flatMap(UserID.init))
            try await api.service.edit(id) { user in
                user.profile = Profile(
                    displayName: "Ann",
                    photoURL: "https://example.com/a.png",
                    screenName: "ann",
                    language: "de",
                    timeZone: "Europe/Zurich",
                    dateOfBirth: "1990-01-02"
                )
                user.phoneNumber = PhoneNumber("+16505553434")
                user.customAttributes = #"{"role":"editor"}"#
                user.initialEmail = "first@example.com"
                user.email?.proof = .emailCode
                user.emailProvenAt = user.createdAt
            }
            try await transcript.post("everything set", ["idToken": account["idToken"] ?? .null], to: api.wire)
            try await api.endSessions(account)
            try await transcript.post("sessions ended", ["idToken": account["idToken"] ?? .null], to: api.wire)
            try await api.disable(account)
            try await transcript.post("disabled", ["idToken": account["idToken"] ?? .null], to: api.wire)
            _ = try await api.post("/v1/accounts:delete", ["idToken": anonymous["idToken"] ?? .null])
            try await transcript.post("account gone", ["idToken": anonymous["idToken"] ?? .null], to: api.wire)
            try transcript.expect(matches: "lookup.txt")
        }
    }

    @Test func `an expired token is reported as expired`() async throws {
        try await TestAPI.with { api in
            let account = try await api.signUpAnonymously()
            api.service.clock.advance(seconds: 3600)
            let answer = try await api.post(Self.path, ["idToken": account["idToken"] ?? .null])
            #expect(answer.status == 400 && answer.errorMessage == "TOKEN_EXPIRED")
        }
    }
}
