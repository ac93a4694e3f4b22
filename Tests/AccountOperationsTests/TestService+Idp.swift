import AccountLinking
import AccountOperations
import AccountTestSupport
import IdentityProviders
import JSON

extension TestService {
    /// Another server process on the same database, with separate connections, caches and keys.
    func withSecondProcess<Output: Sendable>(_ body: (TestService) async throws -> Output) async throws -> Output {
        try await database.withClient { client in
            let other = try await TestService.make(
                database: database,
                client: client,
                settings: ProjectSettings.developmentDefaults
            )
            let output = try await body(other)
            await other.operations.passwords.shutDown()
            return output
        }
    }

    /// A fake credential of a provider, as development accepts it.
    func credential(
        _ provider: ProviderID,
        subject: String,
        email: String? = nil,
        isVerified: Bool = false,
        name: String? = nil
    ) -> ProviderCredential {
        var claims: JSONValue = ["sub": .string(subject), "email_verified": .bool(isVerified)]
        if case .object(var members) = claims {
            if let email { members["email"] = .string(email) }
            if let name { members["name"] = .string(name) }
            claims = .object(members)
        }
        return ProviderCredential(provider: provider, idToken: claims.text)
    }

    func signIn(
        _ credential: ProviderCredential,
        idToken: String? = nil,
        createsUsers: Bool = true
    ) async throws -> Outcome<SignInWithIdp.Result> {
        try await outcome(
            await operations.signInWithIdp(
                SignInWithIdp(source: .credential(credential), idToken: idToken, createsUsers: createsUsers),
                tenant: .project
            )
        )
    }

    func signIn(
        pendingToken: String,
        idToken: String? = nil
    ) async throws -> Outcome<SignInWithIdp.Result> {
        try await outcome(
            await operations.signInWithIdp(
                SignInWithIdp(source: .pendingToken(pendingToken), idToken: idToken, createsUsers: true),
                tenant: .project
            )
        )
    }

    func signUp(_ email: String, _ password: String = "correct horse") async throws -> SignedIn {
        guard let address = EmailAddress(email) else { throw UnexpectedEnding("not an address") }
        return try await operations.signUp(.password(address, password), tenant: .project)
    }

    /// A code that resets the password of the account with `email`, requested by an administrator.
    func resetCode(for email: String) async throws -> String {
        guard let address = EmailAddress(email) else { throw UnexpectedEnding("not an address") }
        let request = EmailCodeRequest(
            action: .passwordReset(address),
            settings: EmailCodeSettings(),
            locale: nil,
            isAdministrator: true,
            returnsLink: true,
            tenant: .project
        )
        guard let code = try await operations.sendEmailCode(request).returned?.code else {
            throw UnexpectedEnding("no code")
        }
        return code
    }

    func signIn(
        _ email: String,
        _ password: String = "correct horse",
        pendingToken: String? = nil
    ) async throws -> Outcome<SignedIn> {
        guard let address = EmailAddress(email) else { throw UnexpectedEnding("not an address") }
        return try await outcome(
            await operations.signInWithPassword(
                email: address,
                password: password,
                pendingToken: pendingToken,
                tenant: .project
            )
        ).signedIn()
    }
}

/// An operation did not end as the test requires.
struct UnexpectedEnding: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension Outcome {
    func success() throws -> Value {
        switch self {
        case .success(let value): return value
        case .denied(let denial): throw UnexpectedEnding("denied: \(denial)")
        }
    }
}

extension Outcome<SignInWithIdp.Result> {
    func signedIn() throws -> SignedIn {
        guard case .signedIn(let signedIn) = try success().ending else {
            throw UnexpectedEnding("not signed in: \(self)")
        }
        return signedIn
    }

    /// The account and the handle of a conflict.
    func confirmation() throws -> (account: UserID, pendingToken: String) {
        guard case .needsConfirmation(let account, _, let pendingToken) = try success().ending else {
            throw UnexpectedEnding("no conflict: \(self)")
        }
        return (account, pendingToken)
    }

    func refused() throws -> (refusal: Refusal, pendingToken: String?) {
        guard case .refused(let refusal, let pendingToken) = try success().ending else {
            throw UnexpectedEnding("not refused: \(self)")
        }
        return (refusal, pendingToken)
    }
}
