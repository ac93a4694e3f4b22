import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `POST /concord/v1/emailCode:disown`: the owner of a mailbox, with a code that would verify the address, states
    /// that the account is not theirs.
    ///
    /// Requires no API key: the code is the secret.
    static let disownAccount = Route(.post, "/concord/v1/emailCode:disown", access: .anyone) { request in
        guard let code = try request.body.nonEmptyString("oobCode") else {
            throw Problem(.malformedRequest, "`oobCode` is required.")
        }
        return try await request.answer(boundTo: code, as: APIResponse.disowned) { idempotent in
            try await request.operations.disownAccount(code, tenant: request.tenant, idempotent: idempotent)
        }
    }
}

extension APIResponse {
    @Sendable fileprivate static func disowned(_ disowned: DisownedAccount) -> APIResponse {
        .object(after: disowned.decision) { writer in
            writer.field("email", disowned.email.lowercased)
            writer.suspensions(disowned.suspended)
            writer.field("gaveAddressUp", disowned.isAddressReleased)
        }
    }
}
