public import Foundation

/// A device that the account knows: with its token it learns how to sign in, without a mail.
///
/// The client gets a device token with every sign-in, stores it in the session store, and sends it where the API takes
/// it. The token survives signing out and signs in nowhere.
///
/// Source: `docs/concepts/sessions.md`, "A device outlives its sessions".
public struct KnownDevice: Sendable, Hashable, Decodable, Identifiable {
    /// The device's id.
    public let id: String
    /// `User-Agent` of the last use.
    public let device: String?
    /// The time of the first token.
    public let startTime: Date
    /// The time of the last token.
    public let lastUseTime: Date
    /// The account forgets the device then.
    public let expireTime: Date

    private enum CodingKeys: String, CodingKey {
        case device, startTime, lastUseTime, expireTime
        case id = "deviceId"
    }
}

extension User {
    private struct Revoked: Decodable, Sendable {
        let revoked: Bool
    }

    /// Returns the devices that the account knows, the latest use first.
    public func devices() async throws(AuthError) -> [KnownDevice] {
        try await sessions(pageSize: 1).devices
    }

    /// The account forgets the device. Sessions of the device continue: end them with ``endSession(_:version:)``.
    ///
    /// - Returns: False if the account did not know the device.
    @discardableResult
    public func forgetDevice(_ id: String, version: ResourceVersion? = nil) async throws(AuthError) -> Bool {
        let call = Call<Revoked>.delete("/concord/v1/account/devices/" + segment(id))
        return try await concord(call.matching(version).once()).value.revoked
    }
}
