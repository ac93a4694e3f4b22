import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `accounts:signInWithPassword`.
    static let signInWithPassword = Route(
        .post,
        "/v1/accounts:signInWithPassword",
        legacyName: "verifyPassword",
        access: .client,
        hidesAccounts: true
    ) { request in
        let body = request.body
        guard request.operations.project.settings.policy.allowsPasswordSignIn else {
            try await request.mailRightDoor(after: .password)
            throw APIError.code(.passwordLoginDisabled)
        }
        guard let email = try body.nonEmptyString("email") else { throw APIError.code(.missingEmail) }
        guard let address = EmailAddress(email) else { throw APIError.code(.invalidEmail) }
        guard let password = try body.nonEmptyString("password") else { throw APIError.code(.missingPassword) }
        let deviceRequest = try request.deviceRequest()
        let result = try await request.operations
            .signInWithPassword(
                email: address,
                password: password,
                pendingToken: body.nonEmptyString("pendingToken"),
                from: request.passwordClient(),
                tenant: request.tenant,
                locale: request.locale
            )
        // Concord's own, for clients that know it: only beside a refresh token.
        let returnsDeviceSecret = try body.bool("returnDeviceSecret") ?? false
        let deviceSecret = try result.signedIn.flatMap { signedIn in
            returnsDeviceSecret ? try request.operations.newDeviceSecret(of: signedIn) : nil
        }
        let deviceToken = try await request.deviceToken(deviceRequest, of: result.signedIn)
        return .object(after: result.signedIn?.decision) { writer in
            let user = result.user
            writer.field("kind", "identitytoolkit#VerifyPasswordResponse")
            writer.field("registered", true)
            writer.field("localId", user.id.rawValue)
            writer.field("email", user.email?.address.lowercased)
            writer.field("displayName", user.profile.displayName ?? "")
            writer.field("profilePicture", user.profile.photoURL)
            writer.field("linkedProviderId", result.signedIn?.linkedProvider?.rawValue)
            writer.ending(result)
            writer.field("deviceSecret", deviceSecret)
            writer.field("deviceToken", deviceToken)
        }
    }
}
