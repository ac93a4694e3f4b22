package import AccountLinking
package import AccountStore
package import Delivery

package struct SMSChannel: OutboxChannel {
    private let sender: any SMSSending
    private let effects: Effects
    private let timeout: Duration
    package let concurrencyMax: Int

    /// - `timeout`: for one message.
    /// - `concurrencyMax`: messages sent at once.
    package init(_ sender: any SMSSending, timeout: Duration, concurrencyMax: Int, effects: Effects = .system) {
        self.sender = sender
        self.effects = effects
        self.timeout = timeout
        self.concurrencyMax = concurrencyMax
    }

    package var kind: OutboxMessage.Kind { .sms }

    /// Rounded up.
    package var sendSecondsMax: Int64 { timeout.components.seconds + 1 }

    package func send(_ content: [UInt8], id: OutboxMessage.ID, createdAt: Timestamp) async -> DeliveryOutcome {
        guard let sms = SMS(plaintext: content) else { return .refused(reason: "unreadable") }
        let message = OutgoingSMS(
            id: "msg_" + id.text,
            to: sms.to.rawValue,
            text: sms.text,
            code: sms.code,
            locale: sms.locale
        )
        return await sender.send(message, at: effects.now().secondsSinceEpoch, deadline: .now + timeout)
    }

    package func shutDown() async {}
}
