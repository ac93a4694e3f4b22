import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:signInWithEmailLink`: signs in, signs up, or attaches the address to a session.
    static let signInWithEmailLink = Route(
        .post,
        "/v1/accounts:signInWithEmailLink",
        legacyName: "emailLinkSignin",
        access: .client,
        hidesAccounts: true
    ) { request in
        let body = request.body
        let signIn = EmailLinkSignIn(
            email: try body.nonEmptyString("email"),
            code: try body.nonEmptyString("oobCode"),
            idToken: try body.nonEmptyString("idToken"),
            pendingToken: try body.nonEmptyString("pendingToken"),
            clientAddress: request.subscriber
        )
        let deviceRequest = try request.deviceRequest()
        let result = try await request.operations
            .signInWithEmailLink(signIn, tenant: request.tenant, locale: request.locale)
        let deviceToken = try await request.deviceToken(deviceRequest, of: result.signedIn)
        return .object(after: result.signedIn?.decision) { writer in
            writer.field("kind", "identitytoolkit#EmailLinkSigninResponse")
            writer.field("email", result.user.email?.address.lowercased)
            writer.field("localId", result.user.id.rawValue)
            writer.field("isNewUser", result.signedIn?.isNewUser ?? false)
            writer.field("linkedProviderId", result.signedIn?.linkedProvider?.rawValue)
            writer.ending(result)
            writer.field("deviceToken", deviceToken)
        }
    }
}
