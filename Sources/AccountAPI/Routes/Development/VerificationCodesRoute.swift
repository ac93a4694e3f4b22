import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// The codes sent to numbers that can still be used. Development only.
    static let verificationCodes = Route(
        .get,
        "/emulator/v1/projects/{project}/verificationCodes",
        access: .anyone,
        handle: list
    )

    static let verificationCodesOfTenant = Route(
        .get,
        "/emulator/v1/projects/{project}/tenants/{tenant}/verificationCodes",
        access: .anyone,
        handle: list
    )

    @Sendable
    private static func list(_ request: APIRequest) async throws -> APIResponse {
        let messages = try await request.operations.messagesWithUsableCodes(tenant: request.tenant)
        return .object { writer in
            writer.field("verificationCodes", objects: messages) { writer, message in
                writer.field("phoneNumber", message.to.rawValue)
                writer.field("code", message.code)
                writer.field("sessionInfo", message.sessionInfo)
            }
        }
    }
}
