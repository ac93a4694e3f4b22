package import AccountLinking
import AccountStore
import Delivery

/// A message as its recipient would see it.
package struct InboxMessage: Sendable, Hashable {
    package let id: String
    /// Name of the channel: `mail` or `sms`.
    package let kind: String
    package let createdAt: Timestamp
    /// E-mail address or phone number.
    package let to: String
    /// Only of a mail.
    package let subject: String?
    /// Language of the text: a BCP 47 tag.
    package let language: String
    package let text: String
    /// Only of a mail.
    package let html: String?
}

extension AccountOperations {
    /// Limit of the messages shown of each kind.
    private static let inboxMessagesMax: Int64 = 100

    /// The built-in templates.
    private static let inboxTemplates = Result { try MailTemplates() }

    /// The newest waiting mails and messages, newest first, as they would be sent. Links lead to the pages for people,
    /// even if test suites get other links. For development: it opens sealed messages.
    package func inbox(tenant: TenantID) async throws -> [InboxMessage] {
        let templates = try Self.inboxTemplates.get()
        let settings = project.settings
        let mails = try await store.waitingMessages(.mail, countMax: Self.inboxMessagesMax, tenant: tenant)
        let texts = try await store.waitingMessages(.sms, countMax: Self.inboxMessagesMax, tenant: tenant)
        let shown =
            mails.compactMap { message -> InboxMessage? in
                guard var mail = Mail(opening: message, tenant: tenant, sealer: sealer)
                else {
                    return nil
                }
                mail.link = mail.link.map(mailLinks.forPeople)
                guard let said = mail.said(by: templates, in: settings, senderName: nil) else { return nil }
                return InboxMessage(
                    id: message.id.text,
                    kind: OutboxMessage.Kind.mail.rawValue,
                    createdAt: message.createdAt,
                    to: mail.to,
                    subject: said.subject,
                    language: said.language,
                    text: said.text,
                    html: said.html
                )
            }
            + texts.compactMap { message -> InboxMessage? in
                guard let sms = SMS(opening: message, tenant: tenant, sealer: sealer) else { return nil }
                return InboxMessage(
                    id: message.id.text,
                    kind: OutboxMessage.Kind.sms.rawValue,
                    createdAt: message.createdAt,
                    to: sms.to.rawValue,
                    subject: nil,
                    language: sms.locale,
                    text: sms.text,
                    html: nil
                )
            }
        return shown.sorted { ($1.createdAt, $1.id) < ($0.createdAt, $0.id) }
    }
}
