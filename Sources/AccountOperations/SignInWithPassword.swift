package import AccountLinking
import AccountStore

extension AccountOperations {
    /// A sign-in with address and password (`accounts:signInWithPassword`).
    ///
    /// An unknown address costs the same work as a known one: a hash is verified either way.
    /// - Throws: `PasswordHasher.Overloaded`, `Contention`, or what the database could not do.
    package func signInWithPassword(
        email: EmailAddress,
        password: String,
        tenant: TenantID
    ) async throws -> Outcome<SignedIn> {
        let policy = policy
        guard policy.allowsPasswordSignIn else { return .denied(.refusal(.operationNotAllowed)) }
        return try await decideAndApply {
            let found = try await store.userWithPassword(owning: .email(email), tenant: tenant)
            let matches = try await passwords.verify(password, against: found?.passwordHash)
            let verdict = decideSignInWithPassword(
                policy: policy,
                owner: found?.user.account,
                passwordMatches: matches,
                secondFactorProvenBy: nil
            )
            // Only somebody who knows the password learns that it is not good enough any more.
            if case .signIn = verdict.decision, let objection = objection(toSignInWith: password) {
                return .denied(objection)
            }
            // The time of the sign-in is when the password was found right, not when it began to wait for a thread.
            let attempt = SignInAttempt(
                effects: effects,
                tenant: tenant,
                session: NewSession(effects: effects, signInProvider: "password"),
                methodProof: .session
            )
            return try await complete(verdict, loaded: [found?.user], attempt)
        }
    }
}
