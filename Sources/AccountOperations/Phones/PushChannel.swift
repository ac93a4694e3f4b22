package import AccountLinking
package import AccountStore
package import Delivery

package struct PushChannel: OutboxChannel {
    private let sender: any PushSending
    private let effects: Effects
    private let timeout: Duration
    package let concurrencyMax: Int

    /// - `timeout`: for one push.
    /// - `concurrencyMax`: pushes sent at once.
    package init(_ sender: any PushSending, timeout: Duration, concurrencyMax: Int, effects: Effects = .system) {
        self.sender = sender
        self.effects = effects
        self.timeout = timeout
        self.concurrencyMax = concurrencyMax
    }

    package var kind: OutboxMessage.Kind { .push }

    /// Rounded up.
    package var sendSecondsMax: Int64 { timeout.components.seconds + 1 }

    package func send(_ content: [UInt8], id: OutboxMessage.ID, createdAt: Timestamp) async -> DeliveryOutcome {
        guard let push = AppPush(plaintext: content) else { return .refused(reason: "unreadable") }
        let message = SilentPush(
            id: id.text,
            deviceToken: push.device,
            topic: push.bundleID,
            usesSandbox: push.usesSandbox,
            payload: push.payload,
            expiresAt: createdAt.adding(seconds: Lifetimes.appPushSeconds).secondsSinceEpoch
        )
        return await sender.send(message, at: effects.now().secondsSinceEpoch, timeout: timeout)
    }

    package func shutDown() async {
        await sender.shutDown()
    }
}
