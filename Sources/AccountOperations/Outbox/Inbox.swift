package import AccountLinking
package import AccountStore
import Delivery

/// A message as its recipient would see it.
package struct InboxMessage: Sendable, Hashable {
    package let id: String
    /// Name of the channel: `mail` or `sms`.
    package let kind: String
    /// Name of the mail's template, such as `PASSWORD_RESET`; `VERIFICATION_CODE` for a text message.
    package let type: String
    package let createdAt: Timestamp
    /// Name of the sender. Only of a mail.
    package let from: String?
    /// E-mail address or phone number.
    package let to: String
    /// Only of a mail.
    package let subject: String?
    /// The code that the recipient types in; `nil` if there is none.
    package let code: String?
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
    static let inboxTemplates = Result { try MailTemplates() }

    /// The newest waiting mails and messages, newest first, as they would be sent. Links lead to the pages for people,
    /// even if test suites get other links. For development: it opens sealed messages.
    ///
    /// `isWanted`: false for messages that the caller already has.
    package func inbox(
        tenant: TenantID,
        where isWanted: (WaitingMessage) -> Bool = { _ in true }
    ) async throws -> [InboxMessage] {
        let templates = try Self.inboxTemplates.get()
        let settings = project.settings
        let mails = try await store.waitingMessages(.mail, countMax: Self.inboxMessagesMax, tenant: tenant)
        let texts = try await store.waitingMessages(.sms, countMax: Self.inboxMessagesMax, tenant: tenant)
        var shown: [InboxMessage] = []
        for message in mails where isWanted(message) {
            guard let waiting = Mail(opening: message, tenant: tenant, sealer: sealer),
                var mail = try await resolve(waiting, tenant: tenant)
            else { continue }
            mail.link = mail.link.map(mailLinks.forPeople)
            let said = mail.said(
                by: templates,
                in: settings,
                senderName: nil,
                logosAt: mailLinks.base,
                accountsAt: mailLinks.base
            )
            guard let said else { continue }
            shown.append(
                InboxMessage(
                    id: message.id.text,
                    kind: OutboxMessage.Kind.mail.rawValue,
                    type: mail.template.name,
                    createdAt: message.createdAt,
                    from: settings.displayName ?? settings.projectID,
                    to: mail.to,
                    subject: said.subject,
                    code: mail.typedCode,
                    language: said.language,
                    text: said.text,
                    html: said.html
                )
            )
        }
        shown +=
            texts.filter(isWanted).compactMap { message -> InboxMessage? in
                guard let sms = SMS(opening: message, tenant: tenant, sealer: sealer) else { return nil }
                return InboxMessage(
                    id: message.id.text,
                    kind: OutboxMessage.Kind.sms.rawValue,
                    type: "VERIFICATION_CODE",
                    createdAt: message.createdAt,
                    from: nil,
                    to: sms.to.rawValue,
                    subject: nil,
                    code: sms.code,
                    language: sms.locale,
                    text: sms.text,
                    html: nil
                )
            }
        return shown.sorted { ($1.createdAt, $1.id) < ($0.createdAt, $0.id) }
    }

    /// Discards all waiting mails and text messages. Codes in them stay usable. For development.
    package func clearInbox() async throws {
        let outbox = OutboxListing(store, sealer: nil)
        let now = effects.now()
        for kind in [OutboxMessage.Kind.mail, .sms] {
            _ = try await outbox.discard(.pending(kind, writtenUntil: now), at: now)
        }
    }
}

extension Mail {
    /// The code to type in; `nil` if the mail has only a link.
    var typedCode: String? { template == .conflictProof ? code : shortCode }
}
