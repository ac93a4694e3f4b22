/// Hands mails over. A port, so that a test can stand in for the relay.
package protocol MailSending: Sendable {
    /// Mails that may be under way at once.
    var concurrencyMax: Int { get }
    /// The most seconds that sending one mail may take.
    var sendSecondsMax: Int64 { get }

    /// Sends a mail once. If the task is cancelled, it is unknown whether the mail was accepted.
    func send(_ mail: MailMessage) async -> DeliveryOutcome

    /// Ends what it keeps; nothing is sent afterwards.
    func shutDown() async
}

extension SMTPRelay: MailSending {
    package var concurrencyMax: Int { configuration.connectionsMax }

    /// Twice the time of one attempt: a connection that was kept may turn out to be gone.
    package var sendSecondsMax: Int64 { configuration.timeout.components.seconds * 2 + 2 }

    package func send(_ mail: MailMessage) async -> DeliveryOutcome {
        await send(mail.bytes, from: mail.from.address.forTransport, to: mail.to.forTransport)
    }
}
