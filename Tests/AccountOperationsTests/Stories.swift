import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

// Short names for operations, and outcomes that unwrap.

extension TestService {
    func signUp(_ email: EmailAddress, password: String = TestService.password) async throws -> Outcome<SignedIn> {
        try await outcome(await operations.signUp(.password(email, password), tenant: .project))
    }

    func signUpAnonymously() async throws -> SignedIn {
        try await operations.signUp(.anonymous, tenant: .project)
    }

    func link(
        _ email: EmailAddress,
        password: String = TestService.password,
        idToken: String
    ) async throws -> Outcome<SignedIn> {
        try await outcome(await operations.signUp(.link(email, password, idToken: idToken), tenant: .project))
    }

    func signIn(
        _ email: EmailAddress,
        password: String = TestService.password,
        from client: PasswordClient = .unknown
    ) async throws -> Outcome<SignedIn> {
        try await outcome(
            await operations.signInWithPassword(email: email, password: password, from: client, tenant: .project)
        )
        .signedIn()
    }

    func lookUp(_ idToken: String) async throws -> Outcome<UserRecord> {
        try await outcome(await operations.lookUp(idToken: idToken, tenant: .project))
    }

    func delete(_ idToken: String) async throws -> Outcome<UserID> {
        try await outcome(await operations.deleteAccount(idToken: idToken, tenant: .project))
    }

    func refresh(_ refreshToken: String) async throws -> Outcome<AccountOperations.RefreshSession.Result> {
        try await outcome(await operations.refreshSession(refreshToken))
    }

    /// Kinds and rules of a user's events, sorted.
    func events(of id: UserID) async throws -> [String] {
        try await database.rows(
            "SELECT kind || ' ' || rule FROM account_events WHERE user_id = \(id.rawValue) ORDER BY 1" as Query<String?>
        ).compactMap { $0 }
    }

    func sessionCount(of id: UserID) async throws -> Int64 {
        try await database.count("SELECT count(*) FROM sessions WHERE user_id = \(id.rawValue)")
    }
}

/// An operation was denied where the test needs its success.
struct Denied: Error {
    let denial: Denial
}

extension Outcome {
    var value: Value {
        get throws {
            switch self {
            case .success(let value): return value
            case .denied(let denial): throw Denied(denial: denial)
            }
        }
    }
}

/// The claims of an ID token, unverified.
func claims(_ idToken: String) throws -> JSONValue {
    let parts = idToken.split(separator: ".", omittingEmptySubsequences: false)
    try #require(parts.count == 3)
    return try JSONValue(parsing: try #require(Base64URL.decode(parts[1])))
}

extension Outcome where Value == SignInOutcome {
    /// The sign-in, if it ended in tokens.
    func signedIn() throws -> Outcome<SignedIn> {
        switch self {
        case .denied(let denial): .denied(denial)
        case .success(let ending): .success(try #require(ending.signedIn, "a second factor is required"))
        }
    }
}
