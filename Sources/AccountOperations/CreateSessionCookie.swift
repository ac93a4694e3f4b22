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
    ) async throws -> String {
        let session = try await authenticate(idToken: idToken, tenant: tenant)
        let now = effects.now()
        let left = session.times.flatMap { project.settings.sessionLifetimes.secondsLeft(of: $0, usedAt: now) }
        let cookie = try cookies.mint(
            fromVerified: idToken,
            lifetimeSeconds: min(lifetimeSeconds, left ?? lifetimeSeconds),
            at: now
        )
        guard let cookie else { throw Denial.invalidIDToken }
        return cookie
    }
}
