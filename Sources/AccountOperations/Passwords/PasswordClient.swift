import AccountLinking
import AccountStore
import JSON

package struct PasswordClient: Sendable, Hashable {
    /// The network that limits count: an IPv4 address, or the /64 of an IPv6 address. Unknown networks count as one.
    package var network: String
    /// Identifies a device on which any account was signed in to: a device secret, or a device token.
    package var deviceSecret: String?

    /// `nil` if unknown, so that no limit counts by it.
    var address: String? { network.isEmpty ? nil : network }

    package static let unknown = PasswordClient(network: nil)

    package init(network: String?, deviceSecret: String? = nil) {
        self.network = network ?? ""
        self.deviceSecret = deviceSecret
    }
}

/// A device on which an account was signed in to. The client stores it sealed; Concord stores nothing.
///
/// It contains the account's session epoch, and so ends with its sessions. It grants no access: it only stops wrong
/// passwords of other clients from locking the device out.
struct KnownDevice: Sendable, Hashable {
    var user: UserID
    var epoch: Int64
    /// Digest of the sign-in on the device, by which its wrong passwords are counted. A refresh does not change it.
    var id: String
    var expiresAt: Timestamp

    private static let context = "device-secret"
    /// A user id has at most 512 bytes.
    private static let lengthMax = 2048

    init(of user: UserRecord, in session: SessionRecord, sealer: Sealer, at now: Timestamp) {
        self.user = user.id
        epoch = user.sessionEpoch
        id = Base64URL.encode(Self.id(of: user, in: session, sealer: sealer))
        expiresAt = now.adding(seconds: PasswordThrottling.knownSeconds)
    }

    /// The device of a device token, which has the same id: both count together.
    init(_ device: Device, of user: UserRecord) {
        self.user = user.id
        epoch = device.sessionEpoch
        id = Base64URL.encode(device.id)
        expiresAt = device.expiresAt
    }

    /// The id of the device on which `session` began.
    static func id(of user: UserRecord, in session: SessionRecord, sealer: Sealer) -> [UInt8] {
        // A continued session is the same device. Otherwise its holder could open any number of devices.
        let signIn = session.lifetimeStart.map { String($0.secondsSinceEpoch) } ?? Base64URL.encode(session.id)
        let name = [user.tenant.rawValue, user.id.rawValue, signIn].joined(separator: "\u{1F}")
        return sealer.digest(name, context: "password-device")
    }

    /// `nil` for a text that Concord did not make.
    init?(_ secret: String, sealer: Sealer) {
        guard secret.utf8.count <= Self.lengthMax, let sealed = Base64URL.decode(secret),
            let bytes = try? sealer.open(sealed, context: Self.context), let content = try? JSONValue(parsing: bytes),
            let user = content["user"]?.string.flatMap(UserID.init), let epoch = content["epoch"]?.integer,
            let id = content["device"]?.string, let expiresAt = content["expires"]?.integer
        else { return nil }
        self.user = user
        self.epoch = epoch
        self.id = id
        self.expiresAt = Timestamp(microsecondsSinceEpoch: expiresAt)
    }

    func secret(_ sealer: Sealer) throws -> String {
        let content = JSONWriter.object { writer in
            writer.field("user", user.rawValue)
            writer.field("epoch", epoch)
            writer.field("device", id)
            writer.field("expires", expiresAt.microsecondsSinceEpoch)
        }
        return Base64URL.encode(try sealer.seal(content, context: Self.context))
    }

    /// False for another account, after expiry, and once the account's sessions were ended.
    func isKnown(to user: UserRecord?, at now: Timestamp) -> Bool {
        guard let user else { return false }
        return user.id == self.user && user.sessionEpoch == epoch && now < expiresAt
    }
}

/// A password before its comparison, with the counts that may lock its client.
struct PasswordAttempt: Sendable {
    let address: EmailAddress
    let tenant: TenantID
    let source: AttemptSource
    let counts: FailedAttemptCounts
    let caller: AttemptOrigin
    let hashCaller: HashCaller
    /// False if the network's entry needs to be renewed.
    private let isRemembered: Bool

    init(
        at address: EmailAddress,
        tenant: TenantID,
        source: AttemptSource,
        device: KnownDevice?,
        network: String,
        counts: FailedAttemptCounts,
        user: UserRecord?,
        at now: Timestamp
    ) {
        self.address = address
        self.tenant = tenant
        self.source = source
        self.counts = counts
        let known = counts.knownNetwork.flatMap { $0.epoch == user?.sessionEpoch && now < $0.until ? $0 : nil }
        let isDeviceKnown = device?.isKnown(to: user, at: now) ?? false
        caller = PasswordThrottling.caller(
            device: isDeviceKnown ? counts[.device] : nil,
            isNetworkKnown: known != nil
        )
        hashCaller = HashCaller(network: network, isKnown: caller != .stranger)
        let renewedBefore = now.adding(
            seconds: PasswordThrottling.knownSeconds - PasswordThrottling.knownRenewalSeconds
        )
        isRemembered = known.map { $0.until > renewedBefore } ?? false
    }

    private var throttling: [AttemptCounter] { PasswordThrottling.counters(throttling: caller) }

    var isLocked: Bool { throttling.contains { counts[$0].isLocked } }

    /// In the order in which every writer locks the rows.
    var throttleKeys: [ThrottleKey] { throttling.compactMap { ThrottleKey($0, of: address, by: source) } }

    /// Fails the write if the client was locked meanwhile.
    func unlocked(at now: Timestamp) -> AccountWrite.SideWrite {
        .requireUnlocked(throttleKeys, tenant: tenant, at: now)
    }

    /// Resets the client's count and the strangers', and stores the network as known. Empty if nothing changes.
    func afterSignIn(of user: UserRecord?, at now: Timestamp) -> [AccountWrite.SideWrite] {
        var sideWrites: [AccountWrite.SideWrite] = []
        func forget(_ count: AttemptCounter) {
            guard counts[count].failures > 0, let key = ThrottleKey(count, of: address, by: source) else { return }
            sideWrites.append(.resetFailedAttempts(at: key, tenant: tenant))
        }
        if caller == .knownDevice { forget(.device) } else { forget(.network) }
        let isForgotten = caller != .knownDevice && counts[.network].failures > 0
        if let user, !isRemembered || isForgotten {
            sideWrites.append(.remember(source, of: address, for: user, at: now))
        }
        // Strangers last: every writer locks the row of a network before theirs.
        forget(.strangers)
        return sideWrites
    }
}

extension AccountOperations {
    /// The ids by which the client's passwords are counted, and its device. No round trip; one for a device token.
    func source(
        of client: PasswordClient,
        tenant: TenantID
    ) async throws -> (source: AttemptSource, device: KnownDevice?) {
        var device: KnownDevice?
        if let secret = client.deviceSecret {
            device = KnownDevice(secret, sealer: sealer)
            if device == nil { device = try await passwordDevice(secret, tenant: tenant) }
        }
        let network = Base64URL.encode(sealer.digest(client.network, context: "password-network"))
        return (AttemptSource(network: network, device: device?.id), device)
    }

    package func newDeviceSecret(of signedIn: SignedIn) throws -> String {
        try newDeviceSecret(of: signedIn.user, in: signedIn.tokens.session)
    }

    /// Identifies the device of `session` at its next sign-in.
    func newDeviceSecret(of user: UserRecord, in session: SessionRecord) throws -> String {
        try KnownDevice(of: user, in: session, sealer: sealer, at: effects.now()).secret(sealer)
    }
}
