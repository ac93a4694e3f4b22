/// A push to an app that its user does not see.
package struct SilentPush: Sendable, Hashable {
    /// A UUID, the same with every attempt.
    package let id: String
    /// The token of the app on its device at the push service: hexadecimal.
    package let deviceToken: String
    /// The app: its bundle identifier.
    package let topic: String
    /// True if the app was built for development.
    package let usesSandbox: Bool
    /// JSON, at most 4 KiB.
    package let payload: [UInt8]
    /// Seconds since 1970, until which the push service stores the push.
    package let expiresAt: Int64

    package init(
        id: String,
        deviceToken: String,
        topic: String,
        usesSandbox: Bool,
        payload: [UInt8],
        expiresAt: Int64
    ) {
        self.id = id
        self.deviceToken = deviceToken
        self.topic = topic
        self.usesSandbox = usesSandbox
        self.payload = payload
        self.expiresAt = expiresAt
    }
}

/// Sends silent pushes to the push service. Tests replace it.
package protocol PushSending: Sendable {
    /// Sends a push once, within `timeout`.
    ///
    /// - `seconds`: the time, since 1970.
    func send(_ push: SilentPush, at seconds: Int64, timeout: Duration) async -> DeliveryOutcome

    /// Closes the connections. No push can be sent afterwards.
    func shutDown() async
}
