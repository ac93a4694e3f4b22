import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// The mails and messages that Concord would have sent, the newest first: the content of `/inbox`. Development
    /// only.
    static let inboxMessages = Route(.get, "/inbox/messages", access: .anyone) { request in
        let messages = try await request.operations.inbox(tenant: request.tenant)
        return .object { writer in
            writer.field("messages", objects: messages) { writer, message in
                writer.field("id", message.id)
                writer.field("kind", message.kind)
                writer.field("type", message.type)
                writer.field("createTime", RFC3339.text(message.createdAt))
                writer.field("from", message.from)
                writer.field("to", message.to)
                writer.field("subject", message.subject)
                writer.field("code", message.code)
                writer.field("language", message.language)
                writer.field("text", message.text)
            }
        }
    }

    /// Empties `/inbox`. The codes in the messages stay usable. Development only.
    static let clearInbox = Route(.delete, "/inbox/messages", access: .anyone) { request in
        try await request.operations.clearInbox()
        return .object { _ in }
    }

    /// The HTML of a mail, which runs no scripts and loads only the project's logo. Development only.
    static let inboxMail = Route(.get, "/inbox/messages/{message}", access: .anyone) { request in
        let message = try await request.operations.inbox(tenant: request.tenant)
            .first { $0.id == request.captures["message"] }
        guard let html = message?.html else { throw APIError.notFound }
        // Its links open in a new tab, as those of a mail program do.
        let page = html.replacing("<head>", with: "<head><base target=\"_blank\">", maxReplacements: 1)
        var response = APIResponse(json: Array(page.utf8))
        response.contentType = "text/html; charset=utf-8"
        response.contentSecurityPolicy =
            "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'none'; frame-ancestors 'self'; "
            + "sandbox allow-popups allow-popups-to-escape-sandbox"
        return response
    }
}
