package import AccountLinking
import AccountStore

extension AccountOperations {
    /// A sign-in by a token that a trusted backend made (`accounts:signInWithCustomToken`). Creates the account when
    /// there is none with that id: also where there once was one, under another epoch, so that nothing old revives.
    package func signInWithCustomToken(_ text: String, tenant: TenantID) async throws -> SignedIn {
        let token = try await customTokens.verify(text, at: effects.now())
        guard token.tenant == tenant else { throw Denial.tenantMismatch }
        var attempt = SignInAttempt(
            effects: effects,
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
