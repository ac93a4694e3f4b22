package import AccountLinking

extension AccountOperations {
    /// A session cookie for the session of an ID token (`createSessionCookie`).
    ///
    /// `lifetimeSeconds`: within `Lifetimes.sessionCookieSeconds`.
    package func createSessionCookie(
        idToken: String,
        lifetimeSeconds: Int64,
        tenant: TenantID
    ) async throws -> Outcome<String> {
        switch try await authenticate(idToken: idToken, tenant: tenant) {
        case .denied(let denial): return .denied(denial)
        case .success: break
        }
        let cookie = try cookies.mint(fromVerified: idToken, lifetimeSeconds: lifetimeSeconds, at: effects.now())
        guard let cookie else { return .denied(.invalidIDToken) }
        return .success(cookie)
    }
}
