package import AccountLinking
import AccountStore

/// A client's sign-up (`accounts:signUp`).
package enum SignUp: Sendable {
    case anonymous
    case password(EmailAddress, String)
    /// Adds address and password to the account of the session, keeping its id.
    case link(EmailAddress, String, idToken: String)
}

extension AccountOperations {
    /// A new account with a password, an anonymous one, or a password for the account of a session.
    /// - Throws: `PasswordHasher.Overloaded`, `Contention`, or what the database could not do.
    package func signUp(_ request: SignUp, tenant: TenantID) async throws -> Outcome<SignedIn> {
        switch request {
        case .anonymous: return try await createAnonymous(tenant: tenant)
        case .password(let email, let password):
            return try await create(email: email, password: password, tenant: tenant)
        case .link(let email, let password, let idToken):
            return try await link(email: email, password: password, idToken: idToken, tenant: tenant)
        }
    }

    private func createAnonymous(tenant: TenantID) async throws -> Outcome<SignedIn> {
        let attempt = SignInAttempt(
            effects: effects,
            tenant: tenant,
            session: NewSession(effects: effects, signInProvider: "anonymous"),
            methodProof: .signUp
        )
        return try await decideAndApply {
            let verdict = decideSignUp(policy: policy, request: .anonymous, emailOwner: nil)
            return try await complete(verdict, loaded: [], attempt)
        }
    }

    private func create(
        email: EmailAddress,
        password: String,
        tenant: TenantID
    ) async throws -> Outcome<SignedIn> {
        let request = SignUpRequest.password(email)
        // A look first: hashing for an address that is taken would be work for nothing.
        let owner = try await store.user(owning: .email(email), tenant: tenant)
        let outlook = decideSignUp(policy: policy, request: request, emailOwner: owner?.account)
        if case .refuse(let refusal) = outlook.decision { return .denied(.refusal(refusal)) }
        if let objection = objection(toNew: password) { return .denied(objection) }

        let hash = try await passwords.hash(password)
        let attempt = SignInAttempt(
            effects: effects,
            tenant: tenant,
            session: NewSession(effects: effects, signInProvider: "password"),
            methodProof: .signUp,
            passwordHash: hash
        )
        return try await decideAndApply {
            let owner = try await store.user(owning: .email(email), tenant: tenant)
            let verdict = decideSignUp(policy: policy, request: request, emailOwner: owner?.account)
            return try await complete(verdict, loaded: [], attempt)
        }
    }

    private func link(
        email: EmailAddress,
        password: String,
        idToken: String,
        tenant: TenantID
    ) async throws -> Outcome<SignedIn> {
        if let objection = objection(toNew: password) { return .denied(objection) }
        let caller: AuthenticatedSession
        switch try await authenticate(idToken: idToken, tenant: tenant) {
        case .denied(let denial): return .denied(denial)
        case .success(let session): caller = session
        }
        let hash = try await passwords.hash(password)
        let attempt = SignInAttempt(
            effects: effects,
            tenant: tenant,
            session: NewSession(
                effects: effects,
                signInProvider: "password",
                secondFactor: caller.token.secondFactor
            ),
            methodProof: .session,
            passwordHash: hash
        )
        return try await decideAndApply {
            let target: UserRecord
            switch caller.stillHolds(try await store.user(caller.user.id, tenant: tenant)) {
            case .denied(let denial): return .denied(denial)
            case .success(let user): target = user
            }
            let owner = try await store.user(owning: .email(email), tenant: tenant)
            let verdict = decideSignUp(
                policy: policy,
                request: .linkPassword(
                    email,
                    to: target.account,
                    isSessionRecent: caller.isRecent(for: .changePassword, policy: policy, now: attempt.now)
                ),
                emailOwner: owner?.account
            )
            return try await complete(verdict, loaded: [target], attempt)
        }
    }
}
