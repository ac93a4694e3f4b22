import AccountLinking
import AccountOperations
import Delivery

/// The settings of outgoing mails.
struct MailConfiguration: Sendable {
    let relay: SMTPConfiguration
    let sender: MailSender
    let templates: MailTemplates
}

extension MailConfiguration {
    static let entries: [ConfigurationEntry] = [
        hostKey.entry, portKey.entry, securityKey.entry, allowPlainKey.entry, userKey.entry, passwordKey.entry,
        certificateAuthoritiesKey.entry, fromKey.entry, replyToKey.entry, idDomainKey.entry,
        connectionsKey.entry, timeoutKey.entry, templatesKey.entry,
    ]

    private static let hostKey = ConfigurationKey(
        optional: "mail.host",
        .text("a host name or address such as smtp.example.com"),
        "SMTP relay; without one, mails wait until they expire"
    )
    private static let portKey = ConfigurationKey(
        optional: "mail.port",
        .wholeNumber(1...65535),
        absent: "as mail.security has it",
        "Port of the relay; by default 587 with `starttls`, 465 with `tls`, 25 with `none`"
    )
    private static let securityKey = ConfigurationKey(
        "mail.security",
        .choice,
        default: SMTPConfiguration.Security.startTLS,
        "Encryption of the connection; if the relay does not offer it, nothing is sent"
    )
    private static let allowPlainKey = ConfigurationKey(
        "mail.allow_plain",
        .truth,
        default: false,
        "Allows `none` for a relay on another machine"
    )
    private static let userKey = ConfigurationKey(
        optional: "mail.user",
        .text("a user name"),
        "User name at the relay; needs a password"
    )
    private static let passwordKey = ConfigurationKey(
        optional: "mail.password",
        .text("the relay's password for mail.user"),
        secrecy: .hidden,
        "Password of `mail.user`"
    )
    private static let certificateAuthoritiesKey = ConfigurationKey(
        optional: "mail.certificate_authorities",
        .path,
        "PEM certificates of the authorities to trust for the relay, instead of the system's"
    )
    private static let fromKey = ConfigurationKey(
        optional: "mail.from",
        .mailbox,
        "Sender of mails; the relay has to accept it"
    )
    private static let replyToKey = ConfigurationKey(
        optional: "mail.reply_to",
        .mailbox,
        "Address for replies"
    )
    private static let idDomainKey = ConfigurationKey(
        optional: "mail.message_id_domain",
        .domainName,
        absent: "that of mail.from",
        "Domain at the end of `Message-ID`"
    )
    private static let connectionsKey = ConfigurationKey(
        "mail.connections",
        .wholeNumber(1...32),
        default: 2,
        "Connections from one server to the relay"
    )
    private static let timeoutKey = ConfigurationKey(
        "mail.timeout",
        .duration(milliseconds: 1000...300_000),
        default: .seconds(15),
        "Time for sending one mail"
    )
    private static let templatesKey = ConfigurationKey(
        optional: "mail.templates",
        .text("the path of a folder"),
        "Templates in place of those in the program; docs/guides/mail.md"
    )

    /// Reads the `mail` keys; `nil` if there is no relay or a mistake, which the reader records.
    static func read(_ reader: inout ConfigurationReader) -> Self? {
        let host = reader.value(hostKey)
        let security = reader.value(securityKey)
        let port = reader.value(portKey) ?? [.startTLS: 587, .tls: 465, .none: 25][security] ?? 587
        let allowsPlain = reader.value(allowPlainKey)
        let login = login(reading: &reader)
        let authorities = reader.value(certificateAuthoritiesKey)
        if let authorities { _ = reader.contents(of: authorities, named: certificateAuthoritiesKey) }
        let from = reader.value(fromKey)
        let replyTo = reader.value(replyToKey)
        let idDomain = reader.value(idDomainKey)
        let connections = reader.value(connectionsKey)
        let timeout = reader.value(timeoutKey)
        let templates = templates(reading: &reader, isNeeded: host != nil)
        guard let host else { return nil }
        if security == .none, !allowsPlain, !isLoopback(host: host) {
            reader.refuse(
                securityKey,
                "\(host.debugDescription) is not this machine, and codes would be sent unencrypted; use starttls or tls, "
                    + "or set mail.allow_plain: true if something else protects the connection"
            )
        }
        guard let from else {
            reader.refuse(fromKey, "required beside mail.host; give \(fromKey.entry.allowed)")
            return nil
        }
        guard let templates else { return nil }
        return Self(
            relay: SMTPConfiguration(
                host: host,
                port: port,
                security: security,
                login: login,
                certificateAuthoritiesPath: authorities,
                connectionsMax: connections,
                timeout: timeout
            ),
            sender: MailSender(
                from: from,
                replyTo: replyTo,
                idDomain: idDomain ?? String(from.address.domain)
            ),
            templates: templates
        )
    }

    private static func login(reading reader: inout ConfigurationReader) -> SMTPConfiguration.Login? {
        let user = reader.value(userKey)
        let password = reader.value(passwordKey)
        switch (user, password) {
        case (let user?, let password?): return SMTPConfiguration.Login(user: user, password: password)
        case (_?, nil): reader.refuse(userKey, "needs mail.password or mail.password_file beside it")
        case (nil, _?): reader.refuse(passwordKey, "needs mail.user beside it")
        case (nil, nil): break
        }
        return nil
    }

    /// - `isNeeded`: true if mails are sent. Otherwise the built-in templates are not parsed, which takes half of the
    ///   start of a command.
    private static func templates(reading reader: inout ConfigurationReader, isNeeded: Bool) -> MailTemplates? {
        var files: [(name: String, text: String)] = []
        let path = reader.value(templatesKey)
        guard isNeeded || path != nil else { return nil }
        if let path {
            guard let names = reader.fileNames(in: path, named: templatesKey) else { return nil }
            for name in names {
                guard let bytes = reader.contents(of: "\(path)/\(name)", named: templatesKey) else { return nil }
                guard let text = String(validating: bytes, as: UTF8.self) else {
                    reader.refuse(templatesKey, "\(name) is not UTF-8 text")
                    return nil
                }
                files.append((name, text))
            }
        }
        do throws(MailTemplates.Mistakes) {
            return try MailTemplates(files: files)
        } catch {
            for mistake in error.all { reader.refuse(templatesKey, "\(mistake.file) \(mistake.problem)") }
            return nil
        }
    }
}

extension ConfigurationForm where Value == Mailbox {
    fileprivate static let mailbox = Self(
        allowed: "an address such as no-reply@example.com or \"Example <no-reply@example.com>\"",
        parse: { Mailbox($0) },
        format: \.text
    )
}

extension ConfigurationForm where Value == String {
    fileprivate static let domainName = Self(
        allowed: "a domain name such as example.com",
        parse: { text in EmailAddress("id@\(text)").map { String($0.domain) } },
        format: { $0 }
    )
}
