import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:signInWithPassword` (`spec/01` §2.2).
    static let signInWithPassword = Route(
        .post,
        "/v1/accounts:signInWithPassword",
        legacyName: "verifyPassword",
        access: .client
    ) { request in
        let body = request.body
        guard request.operations.project.settings.policy.allowsPasswordSignIn else {
            throw APIError.code(.passwordLoginDisabled)
        }
        guard let email = try body.nonEmptyString("email") else { throw APIError.code(.missingEmail) }
        guard let address = EmailAddress(email) else { throw APIError.code(.invalidEmail) }
        guard let password = try body.nonEmptyString("password") else { throw APIError.code(.missingPassword) }
        let result = try await request.operations
            .signInWithPassword(
                email: address,
                password: password,
                pendingToken: body.nonEmptyString("pendingToken"),
                tenant: request.tenant
            )
            .value()
        return .object(after: result.decision) { writer in
            writer.field("kind", "identitytoolkit#VerifyPasswordResponse")
            writer.field("registered", true)
            writer.field("localId", result.user.id.rawValue)
            writer.field("email", result.user.email?.address.lowercased)
            writer.field("displayName", result.user.profile.displayName ?? "")
            writer.field("profilePicture", result.user.profile.photoURL)
            writer.field("linkedProviderId", result.linkedProvider?.rawValue)
            writer.tokens(result.tokens)
        }
    }
}
