import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

// Concord's own API for conflicts. The handle that names a conflict is a secret: it is sent in the `Authorization`
// field, never in an address.

extension Route {
    /// `GET /concord/v1/conflict`: the conflict as the holder of the handle may see it. With the token of a proof, in
    /// `Concord-Proof`, also the owner's sign-in methods.
    static let conflict = Route(.get, "/concord/v1/conflict", access: .anyone, hidesAccounts: true) { request in
        let view = try await request.operations
            .conflict(request.conflictHandle(), proofToken: request.proofToken, tenant: request.tenant)
        return .hidingAccount(.conflict(view))
    }

    /// `POST /concord/v1/conflict/proof`: requests a proof by mail, or gives one with a session.
    static let startConflictProof = Route(.post, "/concord/v1/conflict/proof", access: .anyone) { request in
        let handle = try request.conflictHandle()
        let version = try request.expectedVersion.version()
        switch try request.body.nonEmptyString("kind").flatMap(ConflictProofKind.init(rawValue:)) {
        case .mailbox:
            return try await request.answer(boundTo: handle, as: APIResponse.accepted) { idempotent in
                try await request.operations.startMailboxProof(
                    handle,
                    ChangeRequest(tenant: request.tenant, expectedVersion: version, idempotent: idempotent),
                    locale: request.locale,
                    requestedFrom: request.clientAddress
                )
            }
        case .session:
            guard let idToken = try request.body.nonEmptyString("idToken") else {
                throw Problem(.malformedRequest, "`idToken` is required.")
            }
            return try await request.answer(boundTo: handle, as: APIResponse.proven) { idempotent in
                try await request.operations.proveBySession(
                    handle,
                    idToken: idToken,
                    ChangeRequest(tenant: request.tenant, expectedVersion: version, idempotent: idempotent)
                )
            }
        case nil:
            throw Problem(.malformedRequest, "`kind` must be `mailbox` or `session`.")
        }
    }

    /// `POST /concord/v1/conflict/proof:complete`: gives a proof with the mailed code or the secret of the link.
    static let completeConflictProof = Route(.post, "/concord/v1/conflict/proof:complete", access: .anyone) { request in
        let answer: ConflictProofAnswer
        switch (try request.body.nonEmptyString("code"), try request.body.nonEmptyString("linkSecret")) {
        case (let code?, nil): answer = .code(code)
        case (nil, let secret?): answer = .linkSecret(secret)
        default: throw Problem(.malformedRequest, "Either `code` or `linkSecret` is required.")
        }
        let handle = try request.conflictHandle()
        return try await request.answer(boundTo: handle, as: APIResponse.proven) { idempotent in
            try await request.operations.completeMailboxProof(
                handle,
                answer,
                from: request.subscriber,
                request.change(idempotent)
            )
        }
    }

    /// `POST /concord/v1/conflict:resolve`: links the credential and signs in, in one step.
    static let resolveConflict = Route(
        .post,
        "/concord/v1/conflict:resolve",
        access: .anyone,
        hidesAccounts: true
    ) { request in
        let handle = try request.conflictHandle()
        let deviceRequest = try request.deviceRequest()
        return try await request.answer(boundTo: handle, as: APIResponse.resolved) { idempotent in
            var signedIn = try await request.operations.resolveConflict(
                handle,
                proofToken: request.body.nonEmptyString("proofToken"),
                from: request.passwordClient(),
                request.change(idempotent)
            )
            signedIn.deviceToken = try await request.deviceToken(deviceRequest, of: signedIn)
            return signedIn
        }
    }

    /// `POST /concord/v1/conflict:decline`: the conflict's credential can no longer be used.
    static let declineConflict = Route(
        .post,
        "/concord/v1/conflict:decline",
        access: .anyone,
        hidesAccounts: true
    ) { request in
        let handle = try request.conflictHandle()
        let answer = try await request.answer(boundTo: handle, as: APIResponse.conflict) { idempotent in
            try await request.operations.declineConflict(
                handle,
                request.change(idempotent)
            )
        }
        return .hidingAccount(answer)
    }
}

extension Route {
    private static let returnPath = "/concord/v1/conflict/return"

    /// `POST /concord/v1/conflict/return`: stores the app's page, to which the page of the conflict returns.
    static let setConflictReturn = Route(.post, returnPath, access: .anyone) { request in
        let handle = try request.conflictHandle()
        let destination = try request.appReturn()
        return try await request.answer(boundTo: handle, as: APIResponse.wayBack) { idempotent in
            try await request.operations.setReturn(destination, of: handle, request.change(idempotent))
        }
    }

    /// `POST /concord/v1/conflict/return:issueCode`: the app's page with a code for the session that resolved the
    /// conflict.
    static let issueSessionCode = Route(.post, returnPath + ":issueCode", access: .anyone) { request in
        let handle = try request.conflictHandle()
        guard let idToken = try request.body.nonEmptyString("idToken") else {
            throw Problem(.malformedRequest, "`idToken` is required.")
        }
        return try await request.answer(boundTo: handle, as: APIResponse.wayBack) { idempotent in
            try await request.operations.issueSessionCode(handle, idToken: idToken, request.change(idempotent))
        }
    }
}

extension APIRequest {
    fileprivate func conflictHandle() throws(Problem) -> String {
        guard let bearerToken else {
            throw Problem(.conflictUnknown, "The handle of a conflict is required: Authorization: Bearer HANDLE")
        }
        return bearerToken
    }
}

extension APIResponse {
    /// A mail will be sent.
    @Sendable fileprivate static func accepted(_ view: ConflictView) -> APIResponse {
        var response = conflict(view)
        response.isAccepted = true
        return response
    }

    @Sendable fileprivate static func resolved(_ signedIn: SignedIn) -> APIResponse {
        .object(after: signedIn.decision) { writer in
            writer.field("localId", signedIn.user.id.rawValue)
            writer.tokens(signedIn.tokens)
            writer.field("deviceToken", signedIn.deviceToken)
            writer.suspensions(signedIn.suspended)
            writer.field("replaced", signedIn.replaced.map(\.rawValue))
        }
    }

    @Sendable fileprivate static func conflict(_ view: ConflictView) -> APIResponse {
        .object(version: view.version) { writer in writer.fields(of: view) }
    }

    @Sendable fileprivate static func wayBack(_ view: ConflictReturnView) -> APIResponse {
        .object { writer in writer.fields(of: view) }
    }

    @Sendable static func proven(_ proven: ProvenConflict) -> APIResponse {
        .object(version: proven.view.version) { writer in
            writer.field("conflict") { writer in writer.fields(of: proven.view) }
            writer.field("proofToken", proven.proofToken)
        }
    }
}

extension JSONWriter {
    mutating func fields(of view: ConflictView) {
        field("state", view.isExpired ? "expired" : view.state.rawValue)
        field("kind", view.kind.rawValue)
        field("providerId", view.provider.rawValue)
        field("email", view.maskedEmail)
        field("openTime", RFC3339.text(view.openedAt))
        field("expireTime", RFC3339.text(view.expiresAt))
        if let proof = view.proof {
            field("proof") { writer in
                writer.field("kind", proof.kind.rawValue)
                writer.field("attemptsLeft", Int64(proof.attemptsLeft))
                writer.field("expireTime", RFC3339.text(proof.expiresAt))
            }
        }
        if let methods = view.signInMethods { field("signInMethods", methods.map(\.name)) }
        if let suspended = view.suspended { suspensions(suspended) }
        if let replaced = view.replaced { field("replaced", replaced.map(\.rawValue)) }
        if let wayBack = view.wayBack { field("return") { writer in writer.fields(of: wayBack) } }
    }

    fileprivate mutating func fields(of view: ConflictReturnView) {
        field("url", view.url)
        field("givesCode", view.givesCode)
    }
}
