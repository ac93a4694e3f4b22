import AccountLinking
import AccountStore
import JSON

/// The client that sends a password, as far as its request identifies it.
package struct PasswordClient: Sendable, Hashable {
    /// The network, as limits count: an IPv4 address, or the /64 of an IPv6 address. Clients of unknown networks count
    /// as one network.
    package var network: String
    /// The secret of a device on which any account was signed in to.
    package var deviceSecret: String?

    /// The network; `nil` if it is unknown, so that no limit counts by it.
    var address: String? { network.isEmpty ? nil : network }

    package static let unknown = PasswordClient(network: nil)

    package init(network: String?, deviceSecret: String? = nil) {
        self.network = network ?? ""
        self.deviceSecret = deviceSecret
    }
}

/// A device on which an account was signed in to. The client stores it sealed, beside its refresh token. Concord stores
/// nothing of it.
///
/// It becomes invalid when the sessions of its account end, because it contains their epoch. It grants no access: it
/// only prevents that wrong passwords of other clients lock the device out.
struct KnownDevice: Sendable, Hashable {
    var user: UserID
    var epoch: Int64
    /// Digest of the sign-in on the device. The device's own wrong passwords are counted by it, under one id however
    /// often the session refreshes.
    var id: String
    var expiresAt: Timestamp

    private static let context = "device-secret"
    /// A user id has at most 512 bytes.
    private static let lengthMax = 2048

    init(of user: UserRecord, in session: SessionRecord, sealer: Sealer, at now: Timestamp) {
        self.user = user.id
        epoch = user.sessionEpoch
        // A session that continues another is the same device. Otherwise its holder could open any number of devices.
        let signIn = session.lifetimeStart.map { String($0.secondsSinceEpoch) } ?? Base64URL.encode(session.id)
        let name = [user.tenant.rawValue, user.id.rawValue, signIn].joined(separator: "\u{1F}")
        id = Base64URL.encode(sealer.digest(name, context: "password-device"))
        expiresAt = now.adding(seconds: PasswordThrottling.knownSeconds)
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

    /// Returns true if `user` signed in on the device and the sessions of that time have not been ended.
    func isKnown(to user: UserRecord?, at now: Timestamp) -> Bool {
        guard let user else { return false }
        return user.id == self.user && user.sessionEpoch == epoch && now < expiresAt
    }
}

/// A password before it is compared, with its client and the counts that may lock the client.
struct PasswordAttempt: Sendable {
    let address: EmailAddress
    let tenant: TenantID
    let source: AttemptSource
    let counts: FailedAttemptCounts
    let caller: AttemptOrigin
    /// A client that the account knows uses places of the hash queue that strangers cannot.
    let hashCaller: HashCaller
    /// True if the network is known and its entry needs no renewal.
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

    /// The counts that may lock the client, in the order in which every writer locks their rows.
    var throttleKeys: [ThrottleKey] { throttling.compactMap { ThrottleKey($0, of: address, by: source) } }

    /// Fails a write if the client was locked meanwhile.
    func unlocked(at now: Timestamp) -> AccountWrite.SideWrite {
        .requireUnlocked(throttleKeys, tenant: tenant, at: now)
    }

    /// Resets the counts of wrong passwords before a correct one: the client's own, and that of all strangers. Stores
    /// the network as known. Empty if the counts are zero and the network is known.
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
    /// The ids by which passwords of `client` are counted, and the device whose secret it sends.
    func source(of client: PasswordClient) -> (source: AttemptSource, device: KnownDevice?) {
        let device = client.deviceSecret.flatMap { KnownDevice($0, sealer: sealer) }
        let network = Base64URL.encode(sealer.digest(client.network, context: "password-network"))
        return (AttemptSource(network: network, device: device?.id), device)
    }

    /// The secret that identifies the device of a sign-in at its next sign-in.
    package func newDeviceSecret(of signedIn: SignedIn) throws -> String {
        try newDeviceSecret(of: signedIn.user, in: signedIn.tokens.session)
    }

    /// The secret that identifies the device of `session` at its next sign-in.
    func newDeviceSecret(of user: UserRecord, in session: SessionRecord) throws -> String {
        try KnownDevice(of: user, in: session, sealer: sealer, at: effects.now()).secret(sealer)
    }
}
