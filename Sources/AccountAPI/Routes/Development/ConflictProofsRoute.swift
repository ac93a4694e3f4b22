import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// The mails that prove conflicts, with their codes and links. Development only.
    static let conflictProofs = Route(
        .get,
        "/emulator/v1/projects/{project}/conflictProofs",
        access: .anyone
    ) { request in
        let mails = try await request.operations.mailsThatProveConflicts(tenant: request.tenant)
        return .object { writer in
            writer.field("conflictProofs", objects: mails) { writer, mail in
                writer.field("email", mail.email)
                writer.field("providerId", mail.requester?.provider)
                writer.field("name", mail.requester?.name)
                writer.field("requestedFrom", mail.requester?.from)
                writer.field("code", mail.code)
                writer.field("link", mail.link)
            }
        }
    }
}
