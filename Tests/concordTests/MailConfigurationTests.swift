import AccountOperations
import AccountTestSupport
import Delivery
import Testing

@testable import concord

/// The mail settings, and the reports of mistakes in them.
struct MailConfigurationTests {
    private static let required = [
        "CONCORD_DATABASE_URL": "postgresql:///concord",
        "CONCORD_KEYS_ENCRYPTION": "1:" + String(repeating: "A", count: 43) + "=",
    ]

    private func configuration(
        _ mail: String,
        files: [String: String] = [:],
        folder: [String]? = nil
    ) throws -> ServeConfiguration {
        try ServeConfiguration(
            ConfigurationSources(
                file: ("concord.yaml", mail),
                environment: Self.required,
                readFile: { path in files[path].map { Array($0.utf8) } },
                listFolder: { $0 == "mails" ? folder : nil }
            )
        )
    }

    private func mistakes(_ mail: String, files: [String: String] = [:], folder: [String]? = nil) -> String {
        do {
            _ = try configuration(mail, files: files, folder: folder)
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test func `without a relay no mail is sent`() throws {
        #expect(try configuration("{}").mail == nil)
    }

    @Test func `a relay and a sender are enough`() throws {
        let mail = try #require(try configuration("mail: {host: smtp.example.com, from: no-reply@Example.com}").mail)
        #expect(
            mail.relay
                == SMTPConfiguration(
                    host: "smtp.example.com",
                    port: 587,
                    security: .startTLS,
                    connectionsMax: 2,
                    timeout: .seconds(15)
                )
        )
        #expect(mail.sender.idDomain == "example.com" && mail.sender.replyTo == nil && mail.sender.from.name == nil)
        #expect(mail.templates.languages == ["en", "th", "zh-TW"])
    }

    @Test func `every mail setting is read`() throws {
        let mail = try #require(
            try configuration(
                """
                mail:
                  host: 10.0.0.5
                  security: tls
                  user: u
                  password_file: secret
                  certificate_authorities: ca.pem
                  from: Ex Ample <no-reply@example.com>
                  reply_to: help@example.com
                  message_id_domain: Bücher.example
                  connections: 5
                  timeout: 2s
                  templates: mails
                """,
                files: [
                    "secret": "päss word\n", "ca.pem": "x", "mails/VERIFY_EMAIL.en.txt": "Subject: Mine\n\n{{LINK}}",
                ],
                folder: ["VERIFY_EMAIL.en.txt"]
            ).mail
        )
        #expect(mail.relay.port == 465 && mail.relay.security == .tls && mail.relay.connectionsMax == 5)
        #expect(mail.relay.login == SMTPConfiguration.Login(user: "u", password: "päss word"))
        #expect(mail.relay.certificateAuthoritiesPath == "ca.pem" && mail.relay.timeout == .seconds(2))
        #expect(mail.sender.from.text == "Ex Ample <no-reply@example.com>")
        #expect(mail.sender.idDomain == "xn--bcher-kva.example")
        #expect(mail.templates.render("VERIFY_EMAIL", in: ["en"], .init(text: [:]))?.subject == "Mine")
    }

    @Test(arguments: [
        ("{host: h.example.com}", "mail.from: required beside mail.host"),
        ("{host: h.example.com, from: postmaster}", "mail.from: \"postmaster\" is not allowed"),
        ("{host: h.example.com, from: \"A <a@b.example>, B <c@d.example>\"}", "mail.from: "),
        (
            "{host: h.example.com, from: a@b.example, security: none}",
            "mail.security: \"h.example.com\" is not this machine"
        ),
        ("{host: 10.0.0.5, from: a@b.example, security: none}", "mail.security: \"10.0.0.5\" is not this machine"),
        ("{host: h.example.com, from: a@b.example, security: ssl}", "mail.security: \"ssl\" is not allowed"),
        ("{host: h.example.com, from: a@b.example, user: u}", "mail.user: needs mail.password"),
        ("{host: h.example.com, from: a@b.example, password: p}", "mail.password: needs mail.user"),
        (
            "{host: h, from: a@b.example, user: u, password: p, password_file: f}",
            "mail.password_file: excludes mail.password"
        ),
        ("{host: h.example.com, from: a@b.example, port: 0}", "mail.port: \"0\" is not allowed"),
        ("{host: h.example.com, from: a@b.example, templates: nowhere}", "mail.templates: the folder cannot be read"),
        ("{host: h.example.com, from: a@b.example, templates: mails}", "mail.templates: VERIFY.txt is not a template"),
        ("{from: a@b.example, templates: mails}", "mail.templates: VERIFY.txt is not a template"),
    ])
    func `a mistake is reported`(_ mail: String, _ problem: String) {
        let reported = mistakes(
            "mail: \(mail)",
            files: ["mails/VERIFY.txt": "x", "f": "secret"],
            folder: ["VERIFY.txt"]
        )
        #expect(reported.contains(problem), "\(reported)")
    }

    @Test func `plain SMTP is allowed to this machine, and elsewhere if a setting permits it`() throws {
        for host in ["127.0.0.1", "localhost", "\"::1\""] {
            #expect(mistakes("mail: {host: \(host), from: a@b.example, security: none}") == "")
        }
        #expect(mistakes("mail: {host: h.example.com, from: a@b.example, security: none, allow_plain: true}") == "")
    }

    @Test func `the password is never shown`() {
        let sources = ConfigurationSources(
            file: ("concord.yaml", "mail: {user: u, password: hunter2}"),
            environment: [:],
            readFile: { _ in nil }
        )
        let lines = ConfigurationTable.effective(sources)
        #expect(lines.first { $0.name == "mail.password" }?.value == "(secret)")
        #expect(!ConfigCommand.text(lines).contains("hunter2"))
        #expect(!mistakes("mail: {user: u, password: [hunter2, hunter3]}").contains("hunter2"))
    }
}
