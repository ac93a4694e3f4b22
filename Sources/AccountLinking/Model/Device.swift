/// A device on which a person signed in. It may ask for the sign-in methods of that account, and signs in nowhere.
package struct Device: Sendable, Hashable {
    /// 32 bytes: the digest of the sign-in that made the device known.
    package var id: [UInt8]
    /// The device's place among those of its account, from 1 to `countMax`.
    package var slot: Int32
    /// The account's epoch at the last use.
    package var sessionEpoch: Int64
    /// `User-Agent` of the last use.
    package var name: String?
    package var createdAt: Timestamp
    /// When the device last got its token, at a sign-in or a refresh.
    package var lastUsedAt: Timestamp
    package var expiresAt: Timestamp

    /// Maximum number of devices of one account; one fewer after a revocation.
    package static let countMax: Int32 = 20

    package init(
        id: [UInt8],
        slot: Int32,
        sessionEpoch: Int64,
        name: String?,
        createdAt: Timestamp,
        lastUsedAt: Timestamp,
        expiresAt: Timestamp
    ) {
        self.id = id
        self.slot = slot
        self.sessionEpoch = sessionEpoch
        self.name = name
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.expiresAt = expiresAt
    }

    /// Returns true if the device is known at `now` to an account with this epoch.
    package func isLive(sessionEpoch: Int64, at now: Timestamp) -> Bool {
        self.sessionEpoch == sessionEpoch && now < expiresAt
    }
}

/// The latest time at which a device of an account was revoked. Sessions that had begun by then make no device known.
package struct DeviceRevocation: Sendable, Hashable {
    /// The place that it takes among those of the devices.
    package var slot: Int32
    /// The account's epoch then. A later epoch has no session from before.
    package var sessionEpoch: Int64
    package var revokedAt: Timestamp

    package init(slot: Int32, sessionEpoch: Int64, revokedAt: Timestamp) {
        self.slot = slot
        self.sessionEpoch = sessionEpoch
        self.revokedAt = revokedAt
    }
}

/// The devices of an account, known or not, with their latest revocation.
package struct AccountDevices: Sendable, Hashable {
    package var devices: [Device]
    /// `nil` if no device was revoked yet.
    package var revocation: DeviceRevocation?

    package init(_ devices: [Device], revocation: DeviceRevocation? = nil) {
        self.devices = devices
        self.revocation = revocation
    }
}
