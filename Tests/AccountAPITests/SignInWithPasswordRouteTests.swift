import AccountAPI
import AccountOperations
import AccountTestSupport
import JSON
import Testing

struct SignInWithPasswordRouteTests {
    private static let path = "/v1/accounts:signInWithPassword"

    @Test func `the answers of accounts:signInWithPassword equal the golden transcript`() async throws {
        try await TestAPI.with { api in
            let account = try await api.signUp("Ann@example.com")
            var transcript = Transcript(Self.path)
            try await transcript.post("no address", ["password": "x"], to: api.wire)
            try await transcript.post("bad address", ["email": "nonsense"], to: api.wire)
            try await transcript.post("no password", ["email": "ann@example.com", "password": ""], to: api.wire)
            try await transcript.post("unknown", ["email": "b@example.com", "password": "x"], to: api.wire)
            try await transcript.post("wrong password", ["email": "ann@example.com", "password": "x"], to: api.wire)
            try await transcript.post(
                "right password",
                ["email": "ANN@example.com", "password": "correct horse", "returnSecureToken": true],
                to: api.wire
            )
            try await api.disable(account)
            try await transcript.post(
                "disabled is answered before the password is checked",
                ["email": "ann@example.com", "password": "x"],
                to: api.wire
            )
            try transcript.expect(matches: "sign-in-with-password.txt")
        }
    }

    @Test func `if addresses are protected, a wrong password and an unknown address get the same response`()
        async throws
    {
        try await TestAPI.with(settings: ["signIn": ["email": ["enabled": true]]]) { api in
            _ = try await api.signUp("ann@example.com")
            let wrong = try await api.post(Self.path, ["email": "ann@example.com", "password": "x"])
            let unknown = try await api.post(Self.path, ["email": "bob@example.com", "password": "x"])
            #expect(wrong.errorMessage == "INVALID_LOGIN_CREDENTIALS")
            #expect(wrong.text == unknown.text && wrong.status == unknown.status)
        }
    }

    @Test func `after too many wrong passwords known and unknown addresses are refused alike`() async throws {
        try await TestAPI.with(settings: ["signIn": ["email": ["enabled": true]]]) { api in
            _ = try await api.signUp("ann@example.com")
            for email: JSONValue in ["ann@example.com", "bob@example.com"] {
                for _ in 0..<10 {
                    let wrong = try await api.post(Self.path, ["email": email, "password": "x"])
                    #expect(wrong.errorMessage == "INVALID_LOGIN_CREDENTIALS")
                }
                let refused = try await api.post(Self.path, ["email": email, "password": "correct horse"])
                #expect(refused.status == 400)
                #expect(refused.errorMessage?.hasPrefix("TOO_MANY_ATTEMPTS_TRY_LATER : Access to this account") == true)
            }
        }
    }

    @Test func `a password reset by mail opens a locked address at once`() async throws {
        try await TestAPI.with { api in
            _ = try await api.signUp("ann@example.com")
            for _ in 0..<11 { _ = try await api.post(Self.path, ["email": "ann@example.com", "password": "x"]) }
            let code = try await api.code("PASSWORD_RESET", for: "ann@example.com")
            #expect(try await api.reset(code, to: "another horse").status == 200)
            #expect(try await api.signIn("ann@example.com", password: "another horse").status == 200)
        }
    }

    @Test func `a project without passwords refuses before every other check`() async throws {
        try await TestAPI.with(settings: ProjectSettings.productionDefaults) { api in
            let answer = try await api.post(Self.path, [:])
            #expect(answer.errorMessage == "PASSWORD_LOGIN_DISABLED")
        }
    }
}
