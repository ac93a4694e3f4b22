import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

// Concord's own API for the sign-in methods of the caller's account. The credential is the session: its ID token in the
// `Authorization` field.

extension Route {
    private static let accountMethodsPath = "/concord/v1/account/methods"

    /// `GET /concord/v1/account/methods`: every method of the account, its proof, and whether it works now.
    static let accountMethods = Route(.get, accountMethodsPath, access: .anyone) { request in
        let methods = try await request.operations
            .methods(idToken: request.sessionToken(), tenant: request.tenant)
        return .methods(methods)
    }

    /// `DELETE /concord/v1/account/methods/{method}`: removes a method, but never the last working one.
    static let removeAccountMethod = Route(.delete, accountMethodsPath + "/{method}", access: .anyone) { request in
        let idToken = try request.sessionToken()
        let method = try request.signInMethod()
        return try await request.answer(boundTo: "", as: APIResponse.methods) { idempotent in
            try await request.operations.removeMethod(
                method,
                idToken: idToken,
                request.change(idempotent)
            )
        }
    }
}

extension APIRequest {
    /// The ID token of the caller's session.
    func sessionToken() throws(Problem) -> String {
        guard let bearerToken else {
            throw Problem(.invalidSession, "The ID token of a session is required: Authorization: Bearer TOKEN")
        }
        return bearerToken
    }

    /// The sign-in method that the path names.
    func signInMethod() throws(Problem) -> SignInMethod {
        guard let method = captures["method"].flatMap(SignInMethod.init(name:)) else {
            throw Problem(.malformedRequest, "The path does not name a sign-in method.")
        }
        return method
    }
}

extension APIResponse {
    @Sendable static func methods(_ account: AccountMethods) -> APIResponse {
        .object(version: account.version) { writer in
            writer.methods(account.methods)
        }
    }
}

extension JSONWriter {
    mutating func methods(_ methods: [AccountMethods.Method]) {
        field("methods", objects: methods) { writer, method in
            writer.field("method", method.status.method.name)
            writer.field("works", method.status.obstacle == nil)
            writer.field("obstacle", method.status.obstacle?.rawValue)
            writer.field("proof", method.proof?.proof.rawValue)
            writer.field("proveTime", method.proof.map { RFC3339.text($0.provenAt) })
        }
    }
}
