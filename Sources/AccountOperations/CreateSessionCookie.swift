package import AccountLinking

extension AccountOperations {
    /// A session cookie for the session of an ID token (`createSessionCookie`).
    ///
    /// `lifetimeSeconds`: within `Lifetimes.sessionCookieSeconds`. Where the project limits sessions, the cookie does not outlive
    /// what is left of the session without another use.
    package func createSessionCookie(
        idToken: String,
        lifetimeSeconds: Int64,
        tenant: TenantID
    ) async throws -> Outcome<String> {
        let session: AuthenticatedSession
        switch try await authenticate(idToken: idToken, tenant: tenant) {
        case .denied(let denial): return .denied(denial)
        case .success(let authenticated): session = authenticated
        }
        let now = effects.now()
        let left = session.times.flatMap { project.settings.sessionLifetimes.secondsLeft(of: $0, usedAt: now) }
        let cookie = try cookies.mint(
            fromVerified: idToken,
            lifetimeSeconds: min(lifetimeSeconds, left ?? lifetimeSeconds),
            at: now
        )
        guard let cookie else { return .denied(.invalidIDToken) }
        return .success(cookie)
    }
}
