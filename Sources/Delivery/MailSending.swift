/// Sends mails. Tests replace the relay with another implementation.
package protocol MailSending: Sendable {
    /// Maximum number of mails in flight.
    var concurrencyMax: Int { get }
    /// The most seconds that sending one mail may take.
    var sendSecondsMax: Int64 { get }

    /// Sends a mail once. If the task is cancelled, it is unknown whether the mail was accepted.
    func send(_ mail: MailMessage) async -> DeliveryOutcome

    /// Closes the connections. No mail can be sent afterwards.
    func shutDown() async
}

extension SMTPRelay: MailSending {
    package var concurrencyMax: Int { configuration.connectionsMax }

    /// Twice the time of one attempt: a reused connection may turn out to be closed.
    package var sendSecondsMax: Int64 { configuration.timeout.components.seconds * 2 + 2 }

    package func send(_ mail: MailMessage) async -> DeliveryOutcome {
        await send(mail.bytes, from: mail.from.address.forTransport, to: mail.to.forTransport)
    }
}
