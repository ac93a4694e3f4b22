/// The content of a device token that names a row. The row decides; the token only finds it.
package struct PresentedDevice: Sendable, Hashable {
    package var id: [UInt8]
    /// `Device.createdAt` of the row for which the token was made.
    package var createdAt: Timestamp

    package init(id: [UInt8], createdAt: Timestamp) {
        self.id = id
        self.createdAt = createdAt
    }
}

/// The reason why a device token counts as absent. Callers get one answer for all of them.
package enum DeviceObstacle: Sendable, Hashable, CaseIterable {
    /// The account was deleted or merged into another.
    case accountGone
    case accountDisabled
    /// The owner revoked the device, a newer device took its place, or its row was purged.
    case forgotten
    /// The device was revoked and registered again: only the newer token counts.
    case registeredAgain
    /// All sessions of the account ended since the last use of the device.
    case sessionsEnded
    case expired
    /// The request is about another address than the account's.
    case otherAddress
}

/// Returns the obstacle to a device token; `nil` if the account knows the device.
///
/// - `device`: the row with the id of the token, among those of `account`; `nil` if there is none.
package func obstacle(
    to presented: PresentedDevice,
    device: Device?,
    of account: Account?,
    now: Timestamp
) -> DeviceObstacle? {
    guard let account else { return .accountGone }
    if account.isDisabled { return .accountDisabled }
    guard let device, device.id == presented.id else { return .forgotten }
    guard device.createdAt == presented.createdAt else { return .registeredAgain }
    guard device.sessionEpoch == account.sessionEpoch else { return .sessionsEnded }
    return device.isLive(sessionEpoch: account.sessionEpoch, at: now) ? nil : .expired
}

/// Returns the obstacle to reporting the methods of `account` to a request about `address`; `nil` if the device may
/// know them.
///
/// The owner of `address` is never read, so the answer to any other address depends on the caller's own account alone.
package func obstacleToMethods(
    of account: Account?,
    for presented: PresentedDevice,
    device: Device?,
    about address: EmailAddress,
    now: Timestamp
) -> DeviceObstacle? {
    if let obstacle = obstacle(to: presented, device: device, of: account, now: now) { return obstacle }
    return account?.email?.address == address ? nil : .otherAddress
}

/// The place of a device among those of its account.
package enum DevicePlace: Sendable, Hashable {
    /// The account knows the device: its row is renewed, and its tokens stay valid.
    case renew(Device)
    /// The slot is free.
    case take(slot: Int32)
    /// The row is deleted and its slot taken.
    case replace(Device)
}

/// Decides the place of the device `id` among those of its account.
///
/// In this order: its own row, a free slot, the row of a device that is no longer known, the row with the earliest last
/// use. Its own row is replaced if it is no longer known, so that earlier tokens stay void.
///
/// - `signedInAt`: the sign-in that the session of the device began with, or continues.
/// - Returns: the place; `nil` if a device was revoked since that sign-in. Then only a device that is known is renewed:
///   the revoked one stays revoked until a new sign-in.
package func decideDevicePlace(
    of id: [UInt8],
    among known: AccountDevices,
    sessionEpoch: Int64,
    signedInAt: Timestamp,
    now: Timestamp
) -> DevicePlace? {
    let own = known.devices.first { $0.id == id }
    if let own, own.isLive(sessionEpoch: sessionEpoch, at: now) { return .renew(own) }
    if let revocation = known.revocation, revocation.sessionEpoch == sessionEpoch, signedInAt <= revocation.revokedAt {
        return nil
    }
    if let own { return .replace(own) }
    let taken = Set(known.devices.map(\.slot) + [known.revocation?.slot].compactMap(\.self))
    if let free = (1...Device.countMax).first(where: { !taken.contains($0) }) { return .take(slot: free) }
    let ordered = known.devices.sorted { ($0.lastUsedAt, $0.slot) < ($1.lastUsedAt, $1.slot) }
    let ended = ordered.first { !$0.isLive(sessionEpoch: sessionEpoch, at: now) }
    // Every slot is taken, so there is a first.
    return (ended ?? ordered.first).map(DevicePlace.replace) ?? .take(slot: 1)
}
