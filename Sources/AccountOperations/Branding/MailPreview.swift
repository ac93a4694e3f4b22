import Delivery

/// A mail with made-up values and the project's branding. For development.
package struct MailPreview: Sendable, Hashable {
    package let subject: String
    package let text: String
    package let html: String

    /// The types of mails that can be previewed.
    package static let types = MailTemplates.types
}

extension AccountOperations {
    /// Returns `nil` for an unknown type.
    package func mailPreview(_ type: String, language: String) throws -> MailPreview? {
        let settings = project.settings
        var values = MailTemplates.Values(
            text: [
                "LINK": mailLinks.base + "/__/auth/action", "EMAIL": "ada@example.com", "NEW_EMAIL": "ada@example.org",
                "APP_NAME": settings.displayName ?? settings.projectID, "DISPLAY_NAME": "Ada", "CODE": "12345678",
                "PROVIDER": "Google", "UNTIL": "2030-01-02 03:04 UTC", "AT": "2030-01-01 03:04 UTC",
                "AFTER_PROOF": "true",
            ],
            methods: ["Google", "GitHub"],
            added: ["GitHub"],
            removed: ["Google"],
            ways: [
                ["URL": mailLinks.base + "/signin", "METHOD": "Google", "BY_PROVIDER": "true"],
                ["URL": mailLinks.base + "/signin", "BY_LINK": "true"],
            ]
        )
        if type == "WRONG_DOOR" { values.text.merge(["WRONG_PASSWORD": "true", "HAS_WAYS": "true"]) { $1 } }
        values.text["ACCOUNT_URL"] = settings.accountURL(at: mailLinks.base)
        values.text.merge(settings.branding.mailValues(in: language, logosAt: mailLinks.base)) { own, _ in own }
        return try Self.inboxTemplates.get().render(type, in: [language], values).map {
            MailPreview(subject: $0.subject, text: $0.text, html: $0.html)
        }
    }
}
