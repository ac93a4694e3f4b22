import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:lookup` with an ID token (`spec/01` §3.1): exactly one user.
    static let lookUp = Route(.post, "/v1/accounts:lookup", legacyName: "getAccountInfo", access: .client) { request in
        let user = try await request.operations
            .lookUp(idToken: request.requiredIDToken(), tenant: request.tenant)
            .value()
        return .object { writer in
            writer.field("kind", "identitytoolkit#GetAccountInfoResponse")
            writer.field("users", array: [user]) { writer, user in writer.user(user) }
        }
    }
}
