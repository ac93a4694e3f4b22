import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:delete` with an ID token (`spec/01` §3.3).
    static let delete = Route(.post, "/v1/accounts:delete", legacyName: "deleteAccount", access: .client) { request in
        _ = try await request.operations
            .deleteAccount(idToken: request.requiredIDToken(), tenant: request.tenant)
            .value()
        return .object { writer in writer.field("kind", "identitytoolkit#DeleteAccountResponse") }
    }
}
