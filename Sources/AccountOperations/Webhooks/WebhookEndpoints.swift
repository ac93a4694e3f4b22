package import AccountLinking
import AccountStore
import Delivery
import JSON
import Postgres

/// A webhook endpoint as operators see it. Its id is a UUID.
package struct WebhookEndpoint: Sendable {
    package enum State: String, Sendable {
        case enabled
        /// It answered that it is gone (410).
        case gone
        /// It has failed for five days.
        case failing
    }

    package let id: String
    package let url: String
    package let state: State
    package let createdAt: Timestamp
    /// Since when every attempt has failed; `nil` while they succeed.
    package let failingSince: Timestamp?
    /// Messages that wait to be sent, and those that were given up and are not deleted yet; counted up to ten thousand.
    package let waitingCount: Int64
    package let failedCount: Int64
}

/// A message that was given up.
package struct FailedWebhook: Sendable {
    package let id: String
    package let type: String
    package let user: UserID
    package let occurredAt: Timestamp
    package let attempts: Int64
    /// What the last attempt was answered; `nil` where no answer came.
    package let lastStatus: Int64?
}

/// A webhook endpoint as it was made or given another secret: the only time the secret is told.
package struct NewWebhookSecret: Sendable {
    package let endpoint: String
    /// `whsec_` and base64.
    package let secret: String
}

/// What came of adding an endpoint.
package enum AddedWebhookEndpoint: Sendable {
    case added(NewWebhookSecret)
    /// The address may not be sent to.
    case refusedURL
    /// There are ten.
    case tooMany
}

extension AccountOperations {
    /// How long the secret that was replaced signs beside the new one.
    private static let webhookRotationSeconds: Int64 = 86_400
    private static let webhookURLBytesMax = 2048

    package func webhookEndpoints() async throws -> [WebhookEndpoint] {
        try await store.webhookEndpoints().map(WebhookEndpoint.init)
    }

    /// Adds an endpoint, whose secret is made here.
    package func addWebhookEndpoint(url: String) async throws -> AddedWebhookEndpoint {
        guard url.utf8.count <= Self.webhookURLBytesMax, webhooks.accepts(url) else { return .refusedURL }
        let id = effects.newEventID()
        let (secret, sealed) = try newWebhookSecret(of: id)
        guard try await store.addWebhookEndpoint(id, url: url, sealedSecret: sealed, at: effects.now()) else {
            return .tooMany
        }
        return .added(NewWebhookSecret(endpoint: id.text, secret: secret))
    }

    /// Gives an endpoint another secret. For a day both sign.
    /// - Returns: `nil` when there is no such endpoint.
    package func rotateWebhookSecret(of endpoint: String) async throws -> NewWebhookSecret? {
        guard let id = PostgresUUID(text: endpoint) else { return nil }
        let (secret, sealed) = try newWebhookSecret(of: id)
        let until = effects.now().adding(seconds: Self.webhookRotationSeconds)
        guard try await store.replaceWebhookSecret(of: id, by: sealed, until: until) else { return nil }
        return NewWebhookSecret(endpoint: endpoint, secret: secret)
    }

    /// Deletes an endpoint, with what waits for it.
    /// - Returns: whether there was such an endpoint.
    package func deleteWebhookEndpoint(_ endpoint: String) async throws -> Bool {
        guard let id = PostgresUUID(text: endpoint) else { return false }
        return try await store.deleteWebhookEndpoint(id)
    }

    /// Has an endpoint that is off be sent to again, what waited for it included.
    /// - Returns: whether there is such an endpoint.
    package func enableWebhookEndpoint(_ endpoint: String) async throws -> Bool {
        guard let id = PostgresUUID(text: endpoint) else { return false }
        return try await store.enableWebhookEndpoint(id)
    }

    /// The newest messages to an endpoint that were given up, a hundred at most.
    package func failedWebhooks(of endpoint: String) async throws -> [FailedWebhook] {
        guard let id = PostgresUUID(text: endpoint) else { return [] }
        return try await store.failedWebhookMessages(to: id, countMax: 100).map(FailedWebhook.init)
    }

    private func newWebhookSecret(of id: PostgresUUID) throws -> (text: String, sealed: [UInt8]) {
        let bytes = effects.randomBytes(32)
        guard let secret = WebhookSecret(bytes: bytes) else { throw UnusableWebhookSecret() }
        return (secret.text, try sealer.seal(bytes, context: WebhookSecret.context(id)))
    }
}

extension WebhookEndpoint {
    fileprivate init(_ record: WebhookEndpointRecord) {
        self.init(
            id: record.id.text,
            url: record.url,
            state: record.disabledReason.flatMap { State(rawValue: $0.rawValue) } ?? .enabled,
            createdAt: record.createdAt,
            failingSince: record.failingSince,
            waitingCount: record.waitingCount,
            failedCount: record.failedCount
        )
    }
}

extension FailedWebhook {
    fileprivate init(_ record: WebhookMessageRecord) {
        self.init(
            id: "msg_" + record.id.text,
            type: record.kind.rawValue,
            user: record.user,
            occurredAt: record.occurredAt,
            attempts: Int64(record.attempts),
            lastStatus: record.lastStatus.map { Int64($0) }
        )
    }
}

/// The random source gave too few bytes.
struct UnusableWebhookSecret: Error, Sendable {}

extension WebhookSecret {
    /// What a sealed secret is bound to.
    static func context(_ endpoint: PostgresUUID) -> String { "webhook-secret:\(endpoint.text)" }

    init?(sealed: [UInt8], of endpoint: PostgresUUID, sealer: Sealer) {
        guard let bytes = try? sealer.open(sealed, context: Self.context(endpoint)) else { return nil }
        self.init(bytes: bytes)
    }
}

extension PostgresUUID {
    /// As RFC 9562 writes it, in lower case.
    var text: String {
        let digits = Hexadecimal.encode(
            [high, low].flatMap { word in (0..<8).reversed().map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
        )
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        return text
    }

    /// The inverse of `text`; `nil` for anything else.
    init?(text: String) {
        let digits = text.filter { $0 != "-" }
        guard digits.utf8.count == 32, let high = UInt64(digits.prefix(16), radix: 16),
            let low = UInt64(digits.suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
        guard self.text == text else { return nil }
    }
}
