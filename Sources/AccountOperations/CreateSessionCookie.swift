package import AccountLinking

extension AccountOperations {
    /// Creates a session cookie for the session of an ID token (`createSessionCookie`).
    ///
    /// - `lifetimeSeconds`: within `Lifetimes.sessionCookieSeconds`. If the project limits sessions, the cookie expires
    ///   no later than the session would without further use.
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
