package import AccountLinking
import AccountStore
import Crypto
import JSON
import Postgres

/// Requests a silent push, which proves an app for iOS (`accounts:verifyIosClient`).
package struct AppPushRequest: Sendable {
    /// In hexadecimal.
    package var deviceToken: String
    /// True if the app was built for development.
    package var usesSandbox: Bool
    package var iOSBundleID: String?
    package var apiKey: String?
    package var clientAddress: String?

    package init(
        deviceToken: String,
        usesSandbox: Bool,
        iOSBundleID: String?,
        apiKey: String?,
        clientAddress: String?
    ) {
        self.deviceToken = deviceToken
        self.usesSandbox = usesSandbox
        self.iOSBundleID = iOSBundleID
        self.apiKey = apiKey
        self.clientAddress = clientAddress
    }
}

package struct RequestedAppPush: Sendable, Hashable {
    /// The public half of the push.
    package let receipt: String
    /// After that the app tries something else.
    package let waitSeconds: Int64
}

extension AccountOperations {
    /// Pushes a receipt and its secret to an app, which later presents both.
    ///
    /// Every refusal has the code after which SDKs continue with a challenge. After any other code they stop.
    /// - Throws: a database error, or `Contention`.
    package func requestAppPush(_ request: AppPushRequest, tenant: TenantID) async throws -> RequestedAppPush {
        guard let bundleID = request.iOSBundleID, apps.pushTopics.contains(bundleID),
            let device = AppPush.device(request.deviceToken)
        else { throw Denial.phone(.invalidAppCredential) }
        let now = effects.now()
        let secret = Base64URL.encode(effects.randomBytes(32))
        let receipt = try AppReceipt(
            bundleID: bundleID,
            apiKey: request.apiKey ?? "",
            secretDigest: AppReceipt.digest(of: secret),
            expiresAt: now.adding(seconds: Lifetimes.appReceiptSeconds)
        ).sealed(by: sealer)
        let push = AppPush(
            device: device,
            bundleID: bundleID,
            usesSandbox: request.usesSandbox,
            receipt: receipt,
            secret: secret
        )
        let message = try push.message(
            id: effects.newEventID(),
            tenant: tenant,
            createdAt: now,
            expiresAt: now.adding(seconds: Lifetimes.appPushSeconds),
            sealer: sealer
        )
        let limits = AppPush.limits.limiting(.message(.push), to: device, from: request.clientAddress)
        return try await retrying(effects) {
            guard try await store.reached(limits, tenant: tenant, at: now).isEmpty else {
                throw Denial.phone(.invalidAppCredential)
            }
            try await store.enqueue(message, counting: limits, at: now).requireApplied()
            return RequestedAppPush(receipt: receipt, waitSeconds: Lifetimes.appPushSeconds)
        }
    }
}

/// The outbox holds it sealed.
struct AppPush: Sendable, Hashable {
    var device: String
    var bundleID: String
    var usesSandbox: Bool
    var receipt: String
    var secret: String

    /// A push is free and invisible. The limits stop strangers from waking a phone all day.
    static let limits = [
        MessageLimit(.recipient, windowSeconds: 3600, countMax: 20),
        MessageLimit(.address, windowSeconds: 60, countMax: 50),
        MessageLimit(.address, windowSeconds: 3600, countMax: 500),
        MessageLimit(.project, windowSeconds: 60, countMax: 3000),
    ]

    /// One form for each device; `nil` if invalid. Tokens have 32 bytes, and Apple says that they may grow.
    static func device(_ text: String) -> String? {
        guard (2...400).contains(text.utf8.count), let bytes = Hexadecimal.decode(Array(text.lowercased().utf8))
        else { return nil }
        return Hexadecimal.encode(bytes)
    }

    /// The SDK recognizes this key and hides the push from the app.
    var payload: [UInt8] {
        JSONWriter.object { writer in
            writer.field("aps") { $0.field("content-available", 1) }
            writer.field("com.google.firebase.auth") { writer in
                writer.field("receipt", receipt)
                writer.field("secret", secret)
            }
        }
    }

    var plaintext: [UInt8] {
        JSONWriter.object { writer in
            writer.field("to", device)
            writer.field("bundleId", bundleID)
            writer.field("isSandbox", usesSandbox)
            writer.field("receipt", receipt)
            writer.field("secret", secret)
        }
    }
}

extension AppPush: SealedContent {
    static var kind: OutboxMessage.Kind { .push }

    init?(plaintext: [UInt8]) {
        guard let value = try? JSONValue(parsing: plaintext), let device = value["to"]?.string,
            let bundleID = value["bundleId"]?.string, let usesSandbox = value["isSandbox"]?.bool,
            let receipt = value["receipt"]?.string, let secret = value["secret"]?.string
        else { return nil }
        self.init(device: device, bundleID: bundleID, usesSandbox: usesSandbox, receipt: receipt, secret: secret)
    }
}

/// The public half of a push, with the secret's digest sealed in. Any server can verify the pair, as often as it is
/// presented, and nothing is stored.
struct AppReceipt: Sendable {
    let bundleID: String
    let apiKey: String
    let secretDigest: [UInt8]
    let expiresAt: Timestamp

    private static let context = "app-receipt/1"
    private static let bytesMax = 4096

    static func digest(of secret: String) -> [UInt8] { Array(SHA256.hash(data: Array(secret.utf8))) }

    func sealed(by sealer: Sealer) throws -> String {
        let content: JSONValue = .array([
            .string(bundleID), .string(apiKey), .string(Base64URL.encode(secretDigest)),
            .integer(expiresAt.secondsSinceEpoch),
        ])
        return Base64URL.encode(try sealer.seal(Array(content.text.utf8), context: Self.context))
    }
}

extension AppReceipt {
    /// `nil` for a text that Concord did not seal.
    init?(_ text: String, sealer: Sealer) {
        guard text.utf8.count <= Self.bytesMax, let sealed = Base64URL.decode(text),
            let content = try? sealer.open(sealed, context: Self.context),
            let parts = (try? JSONValue(parsing: content))?.array, parts.count == 4,
            let bundleID = parts[0].string, let apiKey = parts[1].string,
            let secretDigest = parts[2].string.flatMap({ Base64URL.decode($0) }), let expiresAt = parts[3].integer
        else { return nil }
        self.init(
            bundleID: bundleID,
            apiKey: apiKey,
            secretDigest: secretDigest,
            expiresAt: Timestamp(secondsSinceEpoch: expiresAt)
        )
    }
}

/// Accepts a pushed receipt and secret for a week. SDKs store them and request no other push.
package struct AppReceiptVerifier: AppVerifying {
    private let sealer: Sealer
    private let effects: Effects

    package init(sealer: Sealer, effects: Effects = .system) {
        self.sealer = sealer
        self.effects = effects
    }

    package func isGenuine(_ request: AppRequest) async throws -> Bool {
        guard case .push(let text, let secret) = request.credential, let receipt = AppReceipt(text, sealer: sealer),
            effects.now() < receipt.expiresAt, receipt.bundleID == request.iOSBundleID,
            receipt.apiKey == request.apiKey ?? ""
        else { return false }
        return SHA256.hash(data: Array(secret.utf8)).equals(receipt.secretDigest)
    }
}
