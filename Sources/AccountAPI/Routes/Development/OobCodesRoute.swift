import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// The mailed codes that can still be used. Development only.
    static let oobCodes = Route(.get, "/emulator/v1/projects/{project}/oobCodes", access: .anyone, handle: list)

    static let oobCodesOfTenant = Route(
        .get,
        "/emulator/v1/projects/{project}/tenants/{tenant}/oobCodes",
        access: .anyone,
        handle: list
    )

    @Sendable
    private static func list(_ request: APIRequest) async throws -> APIResponse {
        let mails = try await request.operations.mailsWithUsableCodes(tenant: request.tenant)
        return .object { writer in
            writer.field("oobCodes", objects: mails) { writer, mail in
                writer.field("email", mail.email)
                writer.field("newEmail", mail.newEmail)
                if case .code(let kind) = mail.template { writer.field("requestType", kind.rawValue) }
                writer.field("oobCode", mail.code)
                writer.field("oobLink", mail.link)
            }
        }
    }
}
