package import AccountLinking
package import AccountStore
package import Delivery

package struct MailSender: Sendable, Hashable {
    package let from: Mailbox
    package let replyTo: Mailbox?
    /// Domain name at the end of `Message-ID`.
    package let idDomain: String

    package init(from: Mailbox, replyTo: Mailbox?, idDomain: String) {
        self.from = from
        self.replyTo = replyTo
        self.idDomain = idDomain
    }
}

/// Renders the mails in the outbox and sends them.
package struct MailChannel: OutboxChannel {
    private let mails: any MailSending
    private let sender: MailSender
    private let templates: MailTemplates
    private let project: ProjectCache
    private let publicURL: String?

    /// - `publicURL`: the configured URL of this service, without a slash at the end. Mails link to the account's page
    ///   there, and show the logo from there if it is `https`.
    package init(
        _ mails: any MailSending,
        from sender: MailSender,
        templates: MailTemplates,
        project: ProjectCache,
        publicURL: String? = nil
    ) {
        self.mails = mails
        self.sender = sender
        self.templates = templates
        self.project = project
        self.publicURL = publicURL
    }

    package var kind: OutboxMessage.Kind { .mail }
    package var concurrencyMax: Int { mails.concurrencyMax }
    package var sendSecondsMax: Int64 { mails.sendSecondsMax }

    package func send(_ content: [UInt8], id: OutboxMessage.ID, createdAt: Timestamp) async -> DeliveryOutcome {
        guard let mail = Mail(plaintext: content), let message = message(mail, id: id, createdAt: createdAt) else {
            return .refused(reason: "unreadable")
        }
        return await mails.send(message)
    }

    package func shutDown() async {
        await mails.shutDown()
    }

    /// Returns `nil` for a mail that cannot be rendered.
    func message(_ mail: Mail, id: OutboxMessage.ID, createdAt: Timestamp) -> MailMessage? {
        let settings = project.settings
        guard let to = EmailAddress(mail.to),
            let said = mail.said(
                by: templates,
                in: settings,
                senderName: sender.from.name,
                logosAt: publicURL.flatMap { $0.hasPrefix("https://") ? $0 : nil },
                accountsAt: publicURL
            )
        else { return nil }
        return MailMessage(
            id: "\(id.text)@\(sender.idDomain)",
            createdAt: createdAt,
            from: Mailbox(name: sender.from.name ?? settings.displayName, address: sender.from.address),
            replyTo: sender.replyTo,
            to: to,
            subject: said.subject,
            language: said.language,
            text: said.text,
            html: said.html
        )
    }
}

extension Mail {
    /// Renders the mail in the requested language; `nil` if it has no text.
    ///
    /// - `logoBase`: the URL below which the logo is; `nil`: mails have no logo.
    /// - `accountBase`: the URL below which the account's page is; `nil`: mails do not link to it.
    func said(
        by templates: MailTemplates,
        in settings: ProjectSettings,
        senderName: String?,
        logosAt logoBase: String?,
        accountsAt accountBase: String?
    ) -> MailTemplates.Rendered? {
        let wanted = [locale, settings.defaultLocale]
        let appName = settings.displayName ?? senderName ?? settings.projectID
        let language = templates.language(for: wanted, of: template.name)
        var values = values(appName: appName, language: language)
        values.text["ACCOUNT_URL"] = settings.accountURL(at: accountBase)
        values.text.merge(settings.branding.mailValues(in: language, logosAt: logoBase)) { own, _ in own }
        return templates.render(template.name, in: wanted, values)
    }

    /// Values for the mail's template, with names in `language`.
    fileprivate func values(appName: String, language: String) -> MailTemplates.Values {
        var text = ["EMAIL": email, "APP_NAME": appName]
        text["NEW_EMAIL"] = newEmail
        text["LINK"] = link
        text["NUMBER"] = numberEnding
        if template == .code(.lookUp), link == nil { text["NO_ACCOUNT"] = "true" }
        switch door {
        case .password?: text["WRONG_PASSWORD"] = "true"
        case .link?: text["LINKS_OFF"] = "true"
        case .signUp?: text["SIGNED_UP"] = "true"
        case nil: break
        }
        if !ways.isEmpty { text["HAS_WAYS"] = "true" }
        if suspendsWays { text["SUSPENDS_WAYS"] = "true" }
        text["DISPLAY_NAME"] = displayName.flatMap(shownName)
        // The codes of links appear only in links.
        text["CODE"] = typedCode
        if let requester {
            text["PROVIDER"] = methodName(requester.provider, in: language)
            text["ASKING_NAME"] = requester.name.flatMap(shownName)
            text["ASKING_FROM"] = requester.from
        }
        if let suspended {
            text["UNTIL"] = toTheMinute(suspended.until)
            switch QuarantineReason(rawValue: suspended.reason) {
            case .passwordReset?: text["AFTER_RESET"] = "true"
            case .audit?: text["AFTER_AUDIT"] = "true"
            case .addressRecovered?: text["AFTER_RECOVERY"] = "true"
            case .addressProven?, nil: text["AFTER_PROOF"] = "true"
            }
        }
        func named(_ methods: [String]?, numberEnding: String? = nil) -> [String] {
            methods?.map { method in
                let name = methodName(method, in: language)
                guard method == SignInMethod.phone.name, let numberEnding else { return name }
                return "\(name) (…\(numberEnding))"
            } ?? []
        }
        if let changed {
            text["AT"] = toTheMinute(changed.at)
            text["UNTIL"] = changed.until.map(toTheMinute)
            if changed.replacesPassword { text["PASSWORD_CHANGED"] = "true" }
            if changed.isUndone { text["AFTER_UNDO"] = "true" }
        }
        if let merged {
            text["UNTIL"] = toTheMinute(merged.undoUntil)
            if merged.isByOperator { text["BY_OPERATOR"] = "true" }
        }
        if isUndoneByOwner { text["BY_OWNER"] = "true" }
        return MailTemplates.Values(
            text: text,
            methods: named(suspended?.methods),
            added: named(changed?.added, numberEnding: changed?.addedNumberEnding),
            removed: named(changed?.removed, numberEnding: changed?.removedNumberEnding),
            ways: ways.map { way in
                let kind =
                    switch way.method {
                    case SignInMethod.password.name: way.setsPassword ? "SETS_PASSWORD" : "BY_PASSWORD"
                    case SignInMethod.emailLink.name: "BY_LINK"
                    case SignInMethod.phone.name: "BY_PHONE"
                    default: "BY_PROVIDER"
                    }
                return ["URL": way.link, "METHOD": methodName(way.method, in: language), kind: "true"]
            }
        )
    }
}

extension ProjectSettings {
    /// The page where people see and change their account; `nil` if it is switched off.
    func accountURL(at base: String?) -> String? {
        offersAccountPage ? base.map { $0 + "/account" } : nil
    }
}

extension Branding {
    /// The values of the frame of mails. Without branding there are none.
    package func mailValues(in language: String, logosAt base: String?) -> [String: String] {
        var values: [String: String] = [:]
        if let light = palettes[.light] {
            values["ACCENT"] = light.accent.text
            values["ON_ACCENT"] = light.onAccent.text
        }
        if let dark = palettes[.dark] {
            values["ACCENT_DARK"] = dark.accent.text
            values["ON_ACCENT_DARK"] = dark.onAccent.text
        }
        // The digest makes mail programs fetch a new logo. The old mails' address shows the new one too.
        if let base, let digest = logo(.light) {
            values["LOGO_URL"] = "\(base)\(LogoPlace.light.path)?v=\(digest.prefix(8))"
        }
        values["FOOTER"] = text(.footer, in: language)?.text
        for (link, name) in [(BrandingLink.support, "SUPPORT"), (.privacy, "PRIVACY"), (.terms, "TERMS")] {
            guard let url = links[link] else { continue }
            values[name + "_URL"] = url
            values[name + "_LABEL"] = link.label(in: language)
        }
        return values
    }
}

/// `2026-11-22 05:20 UTC`
private func toTheMinute(_ time: String) -> String {
    time.prefix(16).replacing("T", with: " ") + " UTC"
}

/// Returns a name that one user chose, if it may appear in a mail to another. Attackers would write advertisements
/// there, and mail programs turn text that resembles an address into a link.
func shownName(_ name: String) -> String? {
    guard (1...64).contains(name.unicodeScalars.count) else { return nil }
    var previous: Unicode.Scalar = " "
    for scalar in name.unicodeScalars {
        // Accept "J. R.", not "example.com".
        if previous == ".", scalar != " " { return nil }
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark:
            break
        default:
            guard " .'’-".unicodeScalars.contains(scalar) else { return nil }
        }
        previous = scalar
    }
    return name
}
