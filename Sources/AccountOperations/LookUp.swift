package import AccountLinking
import AccountStore

extension AccountOperations {
    /// The account of a session (`accounts:lookup` with an ID token). One round trip.
    package func lookUp(idToken: String, tenant: TenantID) async throws -> Outcome<UserRecord> {
        switch try await authenticate(idToken: idToken, tenant: tenant) {
        case .denied(let denial): .denied(denial)
        case .success(let session): .success(session.user)
        }
    }
}
