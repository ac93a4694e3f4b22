import AccountLinking
import AccountTestSupport
import Testing

@testable import Delivery

/// Deliveries to a local SMTP relay over sockets.
struct SMTPRelayTests {
    @Test func `a mail arrives as it was written`() async throws {
        try await LocalRelay.run { relay in
            let mail = try mail(to: "ada@example.com", "文")
            #expect(await relay.sending { await $0.send(mail) } == .delivered)
            let arrived = try #require(try await relay.mails(atLeast: 1).first)
            #expect(arrived.content == mail.bytes && arrived.defects.isEmpty)
            #expect(arrived.recipient == "ada@example.com" && arrived.sender == "no-reply@example.com")
            #expect(arrived["Subject"] == mail.subject && arrived["From"] == "\"Zoë (Ex)\" <no-reply@example.com>")
            #expect(arrived.messageID == "<\(mail.id)>" && arrived["Auto-Submitted"] == "auto-generated")
            #expect(arrived.text == mail.text && arrived.html == mail.html)
            #expect(!arrived.cameOverTLS && arrived.user == nil)
        }
    }

    @Test(arguments: [SMTPConfiguration.Security.startTLS, .tls])
    func `a mail is sent over TLS only with the right login and a trusted certificate`(
        _ security: SMTPConfiguration.Security
    ) async throws {
        try await LocalRelay.run(["--tls", security.rawValue, "--login"]) { relay in
            let mail = try mail(to: "ada@example.com")
            let login = SMTPConfiguration.Login(user: LocalRelay.user, password: LocalRelay.password)
            #expect(await relay.sending(security, login) { await $0.send(mail) } == .delivered)
            let arrived = try await relay.mails(atLeast: 1)
            #expect(arrived.map(\.user) == [LocalRelay.user] && arrived.allSatisfy(\.cameOverTLS))
            let wrong = SMTPConfiguration.Login(user: LocalRelay.user, password: "wrong")
            #expect(
                await relay.sending(security, wrong) { await $0.send(mail) } == .unavailable(reason: "535 5.7.8")
            )
            #expect(await relay.sending(security, nil) { await $0.send(mail) } == .unavailable(reason: "530 5.7.0"))
            #expect(
                await relay.sending(security, login, isBelieved: false) { await $0.send(mail) }
                    == .unavailable(reason: "certificate")
            )
            #expect(relay.mails.count == 1)
        }
    }

    @Test func `no mail is sent if TLS is configured and the relay does not offer it`() async throws {
        try await LocalRelay.run { relay in
            let mail = try mail(to: "ada@example.com")
            #expect(await relay.sending(.startTLS) { await $0.send(mail) } == .unavailable(reason: "no-starttls"))
            let outcome = await relay.sending(.tls) { await $0.send(mail) }
            #expect(outcome == .unavailable(reason: "tls"))
            #expect(relay.mails.isEmpty)
        }
    }

    @Test(arguments: [
        ("refused", DeliveryOutcome.refused(reason: "550 5.1.1")), ("later", .deferred(reason: "451 4.2.1")),
        ("spam", .refused(reason: "554 5.7.1")), ("gone", .deferred(reason: "connection-lost")),
        ("lost", .deferred(reason: "answer-lost")), ("hang", .deferred(reason: "answer-lost")),
        ("zoë", .refused(reason: "500")),
    ])
    func `each answer of a relay has its outcome, and the next mail is delivered`(
        _ recipient: String,
        _ outcome: DeliveryOutcome
    ) async throws {
        try await LocalRelay.run { relay in
            let (mail, other) = (try mail(to: "\(recipient)@example.com"), try mail(to: "ada@example.com"))
            await relay.sending(timeout: .seconds(10)) { smtp in
                #expect(await smtp.send(mail) == outcome)
                // The next mail is not affected.
                #expect(await smtp.send(other) == .delivered)
            }
        }
    }

    @Test func `a refusal of the sender makes the relay unavailable, so that no mail loses an attempt`() async throws {
        try await LocalRelay.run { relay in
            var mail = try mail(to: "ada@example.com")
            mail.from = Mailbox(name: nil, address: try #require(EmailAddress("nobody@example.com")))
            let outcome = await relay.sending { [mail] in await $0.send(mail) }
            #expect(outcome == .unavailable(reason: "550 5.7.60"))
        }
    }

    @Test func `a relay without a listener or an address is unavailable`() async throws {
        let mail = try mail(to: "ada@example.com")
        func outcome(_ host: String) async -> DeliveryOutcome {
            let relay = SMTPRelay(SMTPConfiguration(host: host, port: 9, security: .none, timeout: .seconds(5)))
            let outcome = await relay.send(mail)
            await relay.shutDown()
            return outcome
        }
        #expect(await outcome("127.0.0.1") == .unavailable(reason: "unreachable"))
        #expect(await outcome("::1") == .unavailable(reason: "unreachable"))
        #expect(await outcome("nowhere.invalid") == .unavailable(reason: "unresolved"))
    }

    @Test func `connections are reused, and a closed one costs no attempt`() async throws {
        let mail = try mail(to: "ada@example.com")
        try await LocalRelay.run { relay async throws in
            await relay.sending { smtp in
                for _ in 0..<3 { #expect(await smtp.send(mail) == .delivered) }
            }
            #expect(Set(try await relay.mails(atLeast: 3).map(\.peer)).count == 1)
        }
        let port = try freePort()
        let smtp = SMTPRelay(SMTPConfiguration(host: "127.0.0.1", port: port, security: .none, timeout: .seconds(5)))
        for _ in 0..<2 {
            // Each round has another relay: the connection of the round before is closed.
            try await LocalRelay.run(["--port", "\(port)"]) { relay async throws in
                #expect(await smtp.send(mail) == .delivered)
                #expect(try await relay.mails(atLeast: 1).count == 1)
            }
        }
        await smtp.shutDown()
    }

    @Test func `a recipient that is not ASCII is accepted if the relay supports SMTPUTF8`() async throws {
        try await LocalRelay.run(["--smtputf8"]) { relay in
            let mail = try mail(to: "zoë@bücher.example")
            #expect(await relay.sending { await $0.send(mail) } == .delivered)
            let arrived = try #require(try await relay.mails(atLeast: 1).first)
            #expect(arrived.recipient == "zoë@xn--bcher-kva.example" && arrived.usesSMTPUTF8)
            // Other recipients do not need SMTPUTF8.
            let plain = try self.mail(to: "ada@bücher.example")
            #expect(await relay.sending { await $0.send(plain) } == .delivered)
            let last = try #require(try await relay.mails(atLeast: 2).last)
            #expect(last.recipient == "ada@xn--bcher-kva.example" && !last.usesSMTPUTF8)
        }
    }

    @Test func `a cancelled delivery ends at once`() async throws {
        try await LocalRelay.run { relay in
            let mail = try mail(to: "hang@example.com")
            // Longer than the time limit of the test.
            try await relay.sending(timeout: .seconds(3600)) { smtp in
                let sending = Task { await smtp.send(mail) }
                while relay.hangingCount == 0 { try await Task.sleep(for: .milliseconds(20)) }
                sending.cancel()
                #expect(await sending.value != .delivered)
            }
        }
    }

    private func mail(to recipient: String, _ subject: String = "Hello") throws -> MailMessage {
        MailMessage(
            id: "\(UInt64.random(in: 0 ... .max))@example.com",
            createdAt: Timestamp(secondsSinceEpoch: 1_750_000_000),
            from: try #require(Mailbox("Zoë (Ex) <no-reply@example.com>")),
            replyTo: nil,
            to: try #require(EmailAddress(recipient)),
            subject: subject,
            language: "en",
            text: ".\n..a = b \n\n",
            html: "<p>\(String(repeating: "ä", count: 100))</p>\n"
        )
    }
}

extension LocalRelay {
    /// Runs `body` with a client of the relay, and closes its connections. The client trusts the self-signed
    /// certificate if `isBelieved`.
    fileprivate func sending<Output: Sendable>(
        _ security: SMTPConfiguration.Security = .none,
        _ login: SMTPConfiguration.Login? = nil,
        isBelieved: Bool = true,
        timeout: Duration = .seconds(20),
        _ body: @Sendable (SMTPRelay) async throws -> Output
    ) async rethrows -> Output {
        let relay = SMTPRelay(
            SMTPConfiguration(
                host: "127.0.0.1",
                port: port,
                security: security,
                login: login,
                certificateAuthoritiesPath: isBelieved ? certificatePath : nil,
                connectionsMax: 1,
                timeout: timeout
            )
        )
        do {
            let output = try await body(relay)
            await relay.shutDown()
            return output
        } catch {
            await relay.shutDown()
            throw error
        }
    }
}
