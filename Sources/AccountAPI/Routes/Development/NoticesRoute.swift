import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// The mails that only inform and carry no code. Development only.
    static let notices = Route(.get, "/emulator/v1/projects/{project}/notices", access: .anyone) { request in
        let mails = try await request.operations.notices(tenant: request.tenant)
        return .object { writer in
            writer.field("notices", objects: mails) { writer, mail in
                writer.field("kind", mail.template.name)
                writer.field("email", mail.email)
                writer.field("locale", mail.locale)
                if let suspended = mail.suspended {
                    writer.field("methods", suspended.methods)
                    writer.field("reason", suspended.reason)
                    writer.field("until", suspended.until)
                }
                if let merged = mail.merged {
                    writer.field("byOperator", merged.isByOperator)
                    writer.field("until", merged.undoUntil)
                }
            }
        }
    }
}
