package import AccountLinking
import AccountStore
import JSON
import Postgres

/// The public name of a device, in lists and in the path that revokes it. It asks for nothing.
package struct DeviceID: Sendable, Hashable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// `nil` for text that is no such name.
    package init?(_ text: String) {
        guard let bytes = Base64URL.decode(text), bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    package var text: String { Base64URL.encode(bytes) }
}

/// A device as its owner and administrators see it.
package struct ListedDevice: Sendable {
    package let id: DeviceID
    /// `User-Agent` of the last use.
    package let name: String?
    package let startedAt: Timestamp
    package let lastUsedAt: Timestamp
    package let expiresAt: Timestamp

    init(_ device: Device) {
        id = DeviceID(device.id)
        name = device.name
        startedAt = device.createdAt
        lastUsedAt = device.lastUsedAt
        expiresAt = device.expiresAt
    }
}

/// A client's request for a device token.
package enum DeviceRequest: Sendable, Hashable {
    case none
    /// - `presenting`: the token that the device stored, of any account.
    case token(presenting: String?)
}

extension AccountOperations {
    /// The account of a device token, for a request about `address`.
    ///
    /// `nil` without a token, and for a token of another account or project, or of a device that the account does not
    /// know: the caller then answers as if there were no token. The owner of `address` is not read. One round trip for a
    /// token that Concord sealed, otherwise none.
    package func knownDevice(
        _ token: String?,
        asking address: EmailAddress,
        tenant: TenantID
    ) async throws -> KnownAccount? {
        guard let presented = openDeviceToken(token, tenant: tenant) else { return nil }
        let now = effects.now()
        let read = try await store.device(presented.device.id, of: presented.user, tenant: tenant)
        let obstacle = obstacleToMethods(
            of: read.user?.account,
            for: presented.device,
            device: read.device,
            about: address,
            now: now
        )
        guard obstacle == nil, let user = read.user else { return nil }
        return KnownAccount(email: user.email?.address ?? address, ways: ways(to: user, []), lastUsed: nil)
    }

    /// The device of a token, for counting wrong passwords; `nil` if its account does not know it.
    func passwordDevice(_ token: String, tenant: TenantID) async throws -> KnownDevice? {
        guard let presented = openDeviceToken(token, tenant: tenant) else { return nil }
        let (device, user) = try await store.device(presented.device.id, of: presented.user, tenant: tenant)
        guard let device, let user,
            obstacle(to: presented.device, device: device, of: user.account, now: effects.now()) == nil
        else { return nil }
        return KnownDevice(device, of: user)
    }

    /// `nil` without a token, for a token that this project did not seal, and if the project knows no devices.
    private func openDeviceToken(_ token: String?, tenant: TenantID) -> DeviceToken? {
        guard project.settings.deviceSeconds > 0, let token, let opened = DeviceToken(token, sealer: sealer),
            opened.tenant == tenant
        else { return nil }
        return opened
    }
}

extension AccountOperations {
    /// The token that a sign-in asks for; `nil` unless it does.
    package func newDeviceToken(_ request: DeviceRequest, of signedIn: SignedIn) async throws -> String? {
        try await newDeviceToken(request, of: signedIn.user.id, in: signedIn.tokens.session)
    }

    package func newDeviceToken(_ request: DeviceRequest, of handed: HandedSession) async throws -> String? {
        try await newDeviceToken(request, of: handed.user, in: handed.tokens.session)
    }

    /// Makes the device of a session known to its account, and returns the device's token.
    ///
    /// Runs after the sign-in, which stays in any case: the client would lose its session, and its code, to an error.
    /// So `nil` if the database fails or too many devices register at once. Also `nil` if all sessions of the account
    /// have ended, for an account without an address, and if accounts know no devices. And `nil` for a session that began
    /// before the latest revocation, unless its device is known: a revoked device stays revoked until a new sign-in.
    ///
    /// A device that presents its valid token is renewed. Without one, all sessions that continue one sign-in count as
    /// one device: handing a session over ends it, so only the last one is live. Otherwise its holder could make any
    /// number of devices known, and guess passwords on each. A sign-in makes a new device, in place of the one with the
    /// earliest use if all places are taken. Two round trips.
    func newDeviceToken(
        _ request: DeviceRequest,
        of user: UserID,
        in session: SessionRecord
    ) async throws -> String? {
        let seconds = project.settings.deviceSeconds
        guard case .token(let text) = request, seconds > 0 else { return nil }
        let presented = openDeviceToken(text, tenant: session.tenant).flatMap { $0.user == user ? $0.device : nil }
        let now = effects.now()
        do {
            return try await retrying(effects) { () async throws -> String? in
                let (devices, found) = try await store.devicesAndUser(user, tenant: session.tenant)
                guard let found, found.sessionEpoch == session.epoch, found.email != nil else { return nil }
                let known = presented.flatMap { presented in
                    let device = devices.devices.first { $0.id == presented.id }
                    return obstacle(to: presented, device: device, of: found.account, now: now) == nil ? device : nil
                }
                let id = known?.id ?? KnownDevice.id(of: found, in: session, sealer: sealer)
                let place = decideDevicePlace(
                    of: id,
                    among: devices,
                    sessionEpoch: session.epoch,
                    signedInAt: session.times.startedAt,
                    now: now
                )
                guard let place else { return nil }
                var device = Device(
                    id: id,
                    slot: place.slot,
                    sessionEpoch: session.epoch,
                    name: userAgent.flatMap(NewSession.device),
                    createdAt: now,
                    lastUsedAt: now,
                    expiresAt: now.adding(seconds: seconds)
                )
                if case .renew(let known) = place { device.createdAt = known.createdAt }
                try await store.remember(device, at: place, of: user, tenant: session.tenant).requireApplied()
                return try DeviceToken(of: device, tenant: session.tenant, user: user).sealed(by: sealer)
            }
        } catch is Contention {
            return nil
        } catch is PostgresError {
            return nil
        }
    }

    /// The devices that an account knows at `now`, latest use first. One round trip.
    func devices(of user: UserRecord, at now: Timestamp) async throws -> [ListedDevice] {
        try await store.devices(of: user.id, tenant: user.tenant)
            .filter { $0.isLive(sessionEpoch: user.sessionEpoch, at: now) }
            .sorted { ($1.lastUsedAt, $0.slot) < ($0.lastUsedAt, $1.slot) }
            .map(ListedDevice.init)
    }

    /// Revokes a device of a session's account. No recent sign-in is required, as for ending a session: it reveals
    /// nothing, and the owner of a lost device must not lose time.
    ///
    /// The sessions of the account stay, but none of them makes the device known again. If it is lost, its session must
    /// end too. Of several callers that revoke the same device, one succeeds.
    /// - Returns: `true` if the account knew the device.
    /// - Throws: `Contention`, or a database error.
    package func revokeDevice(
        _ id: DeviceID,
        idToken: String,
        _ request: ChangeRequest<Bool>
    ) async throws -> Bool {
        let session = try await authenticate(idToken: idToken, tenant: request.tenant)
        let now = effects.now()
        return try await changeAccount(of: session, request, at: now) { user in
            let (device, _) = try await store.device(id.bytes, of: user.id, tenant: user.tenant)
            guard let device, device.isLive(sessionEpoch: user.sessionEpoch, at: now) else { return false }
            let kept = try storeAnswer(true, to: request.idempotent, of: user.id, tenant: user.tenant, at: now)
            try await store.revoke(device, of: user.id, tenant: user.tenant, at: now, sideWrites: kept)
                .requireApplied()
            return true
        }
    }
}

extension DevicePlace {
    fileprivate var slot: Int32 {
        switch self {
        case .renew(let device), .replace(let device): device.slot
        case .take(let slot): slot
        }
    }
}
