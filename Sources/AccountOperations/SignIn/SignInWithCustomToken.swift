package import AccountLinking
import AccountStore

extension AccountOperations {
    /// Signs in by a token of a trusted backend (`accounts:signInWithCustomToken`). Creates the account if there is
    /// none. If an account with the id existed before, the new one has another epoch, so that old sessions stay dead.
    package func signInWithCustomToken(_ text: String, tenant: TenantID) async throws -> SignedIn {
        try await counting(.custom) {
            let token = try await customTokens.verify(text, at: effects.now())
            guard token.tenant == tenant else { throw Denial.tenantMismatch }
            var attempt = SignInAttempt(
                effects: effects,
                sampling: project.settings.factSampling,
                tenant: tenant,
                session: NewSession(effects: effects, signInProvider: "custom", claims: token.claims),
                methodProof: .session,
                newUserID: token.user
            )
            attempt.keepsRefusals = true
            return try await retrying(effects) { [attempt] in
                var attempt = attempt
                let existing = try await store.user(token.user, tenant: tenant)
                let isMergedAway = existing == nil ? try await store.isMergedAway(token.user, tenant: tenant) : false
                let verdict = attempt.ask(
                    SignInWithCustomTokenQuestion(existing: existing?.account, isMergedAway: isMergedAway),
                    policy
                )
                return try await applySignIn(verdict, loaded: [existing], attempt)
            }
        }
    }
}
