package import AccountLinking

extension AccountOperations {
    /// The account of a session (`accounts:lookup` with an ID token). One round trip.
    package func lookUp(idToken: String, tenant: TenantID) async throws -> UserRecord {
        try await authenticate(idToken: idToken, tenant: tenant).user
    }
}
