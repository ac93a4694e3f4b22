import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

// Sign-ups that wait for their mailbox. The handle that names one is a secret: it is sent in the `Authorization` field,
// never in an address.

extension Route {
    private static let pendingSignUpPath = "/concord/v1/signUp/pending"

    /// The routes that continue a sign-up from its mail.
    static let pendingSignUps: [Route] = [
        // The mailed code or the secret of the link proves the mailbox.
        Route(.post, pendingSignUpPath + ":prove", access: .anyone) { request in
            let answer: ConflictProofAnswer
            switch (try request.body.nonEmptyString("code"), try request.body.nonEmptyString("linkSecret")) {
            case (let code?, nil): answer = .code(code)
            case (nil, let secret?): answer = .linkSecret(secret)
            default: throw Problem(.malformedRequest, "Either `code` or `linkSecret` is required.")
            }
            let proven = try await request.operations
                .proveSignUp(
                    request.signUpHandle(),
                    answer,
                    from: request.subscriber,
                    tenant: request.tenant
                )
            return .object { writer in
                writer.field("email", proven.email.lowercased)
                writer.field("providerId", proven.provider?.rawValue)
                writer.field("accountExists", proven.accountExists)
                writer.field("proofToken", proven.proofToken)
                writer.field("expireTime", RFC3339.text(proven.expiresAt))
            }
        },
        // Creates the account and signs in, in one step.
        Route(.post, pendingSignUpPath + ":create", access: .anyone) { request in
            let handle = try request.signUpHandle()
            let body = request.body
            let name = try body.nonEmptyString("displayName", lengthMax: Profile.displayNameLengthMax)
            let password = try body.nonEmptyString("password")
            let proofToken = try body.nonEmptyString("proofToken")
            let client = try request.passwordClient()
            let deviceRequest = try request.deviceRequest()
            return try await request.answer(boundTo: handle, as: APIResponse.signedUp) { idempotent in
                var signedIn = try await request.operations
                    .createAccount(
                        ofSignUp: handle,
                        proofToken: proofToken,
                        password: password,
                        displayName: name,
                        from: client,
                        request.change(idempotent)
                    )
                signedIn.deviceToken = try await request.deviceToken(deviceRequest, of: signedIn)
                return signedIn
            }
        },
        // The credential becomes a conflict of the account with the address, which its mailbox has proven.
        Route(.post, pendingSignUpPath + ":link", access: .anyone) { request in
            let handle = try request.signUpHandle()
            let proofToken = try request.body.nonEmptyString("proofToken")
            return try await request.answer(boundTo: handle, as: APIResponse.linkable) { idempotent in
                try await request.operations
                    .linkSignUp(handle, proofToken: proofToken, request.change(idempotent))
            }
        },
    ]
}

extension APIRequest {
    fileprivate func signUpHandle() throws(Problem) -> String {
        guard let bearerToken else {
            throw Problem(.codeUnusable, "The handle of a sign-up is required: Authorization: Bearer HANDLE")
        }
        return bearerToken
    }
}

extension APIResponse {
    @Sendable fileprivate static func signedUp(_ signedIn: SignedIn) -> APIResponse {
        .object(after: signedIn.decision) { writer in
            writer.field("localId", signedIn.user.id.rawValue)
            writer.field("email", signedIn.user.email?.address.lowercased)
            writer.tokens(signedIn.tokens)
            writer.field("deviceToken", signedIn.deviceToken)
        }
    }

    @Sendable fileprivate static func linkable(_ linkable: LinkableSignUp) -> APIResponse {
        .object { writer in
            writer.field("pendingToken", linkable.pendingToken)
            writer.field("proofToken", linkable.conflict.proofToken)
            writer.field("conflict") { writer in writer.fields(of: linkable.conflict.view) }
        }
    }
}
