import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:delete`, with an ID token or by an administrator.
    static let delete = Route(
        .post,
        "/v1/accounts:delete",
        legacyName: "deleteAccount",
        aliases: projectPaths("accounts:delete"),
        access: .client
    ) { request in
        // An administrator names the account with `localId`. An ID token next to the bearer token is ignored, because
        // it may be there by mistake.
        if request.caller == .administrator {
            _ = try await request.operations
                .deleteAccount(request.requiredLocalID(), tenant: request.tenant)
        } else {
            _ = try await request.operations
                .deleteAccount(idToken: request.requiredIDToken(), tenant: request.tenant)
        }
        return .object { writer in writer.field("kind", "identitytoolkit#DeleteAccountResponse") }
    }
}
