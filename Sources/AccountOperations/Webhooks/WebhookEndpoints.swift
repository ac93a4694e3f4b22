package import AccountLinking
import AccountStore
import Delivery
import JSON

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
    package let version: Int64
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

/// Why an endpoint is not changed.
package enum WebhookDenial: Sendable, Hashable {
    /// The address may not be sent to.
    case refusedURL
    /// There are ten.
    case tooMany
    /// There is no such endpoint.
    case unknown
}

extension AccountOperations {
    /// How long the secret that was replaced signs beside the new one.
    private static let webhookRotationSeconds: Int64 = 86_400
    private static let webhookURLBytesMax = 2048

    package func webhookEndpoints() async throws -> [WebhookEndpoint] {
        try await store.webhookEndpoints().map(WebhookEndpoint.init)
    }

    package func webhookEndpoint(_ endpoint: String) async throws -> WebhookEndpoint {
        guard let id = WebhookEndpointRecord.ID(text: endpoint), let record = try await store.webhookEndpoint(id) else {
            throw Denial.webhook(.unknown)
        }
        return WebhookEndpoint(record)
    }

    /// Adds an endpoint, whose secret is made here.
    ///
    /// `idempotent`: where the caller may repeat the request; so with all changes here.
    package func addWebhookEndpoint(
        url: String,
        idempotent: IdempotentRequest<NewWebhookSecret>? = nil
    ) async throws -> NewWebhookSecret {
        let now = effects.now()
        guard url.utf8.count <= Self.webhookURLBytesMax, webhooks.accepts(url) else {
            throw try await storedAnswer(to: idempotent, of: nil, tenant: .project, at: now) ?? .webhook(.refusedURL)
        }
        let id = effects.newEventID()
        let (secret, sealed) = try newWebhookSecret(of: id)
        let made = NewWebhookSecret(endpoint: id.text, secret: secret)
        return try await changeWebhooks(made, idempotent: idempotent, otherwise: .tooMany, at: now) { sideWrites in
            try await store.addWebhookEndpoint(id, url: url, sealedSecret: sealed, at: now, sideWrites: sideWrites)
        }
    }

    /// Gives an endpoint another secret. For a day both sign.
    ///
    /// `expectedVersion`: the version the caller has seen; `nil` accepts any. So with the other changes.
    package func rotateWebhookSecret(
        of endpoint: String,
        expectedVersion: Int64? = nil,
        idempotent: IdempotentRequest<NewWebhookSecret>? = nil
    ) async throws -> NewWebhookSecret {
        guard let id = WebhookEndpointRecord.ID(text: endpoint) else { throw Denial.webhook(.unknown) }
        let now = effects.now()
        let (secret, sealed) = try newWebhookSecret(of: id)
        let until = now.adding(seconds: Self.webhookRotationSeconds)
        let made = NewWebhookSecret(endpoint: endpoint, secret: secret)
        return try await changeWebhooks(id, made, idempotent: idempotent, expectedVersion, at: now) { sideWrites in
            try await store.replaceWebhookSecret(
                of: id,
                version: expectedVersion,
                by: sealed,
                until: until,
                sideWrites: sideWrites
            )
        }
    }

    /// Deletes an endpoint, with what waits for it.
    package func deleteWebhookEndpoint(
        _ endpoint: String,
        expectedVersion: Int64? = nil,
        idempotent: IdempotentRequest<Void>? = nil
    ) async throws {
        guard let id = WebhookEndpointRecord.ID(text: endpoint) else { throw Denial.webhook(.unknown) }
        try await changeWebhooks(id, (), idempotent: idempotent, expectedVersion, at: effects.now()) { sideWrites in
            try await store.deleteWebhookEndpoint(id, version: expectedVersion, sideWrites: sideWrites)
        }
    }

    /// Has an endpoint that is off be sent to again, what waited for it included.
    package func enableWebhookEndpoint(
        _ endpoint: String,
        expectedVersion: Int64? = nil,
        idempotent: IdempotentRequest<Void>? = nil
    ) async throws {
        guard let id = WebhookEndpointRecord.ID(text: endpoint) else { throw Denial.webhook(.unknown) }
        try await changeWebhooks(id, (), idempotent: idempotent, expectedVersion, at: effects.now()) { sideWrites in
            try await store.enableWebhookEndpoint(id, version: expectedVersion, sideWrites: sideWrites)
        }
    }

    /// The same for an endpoint there is: in the version that was named, or not at all.
    private func changeWebhooks<Value>(
        _ id: WebhookEndpointRecord.ID,
        _ value: Value,
        idempotent: IdempotentRequest<Value>?,
        _ expectedVersion: Int64?,
        at now: Timestamp,
        _ change: ([AccountWrite.SideWrite]) async throws -> AccountStore.WebhookChange
    ) async throws -> Value {
        do {
            return try await changeWebhooks(value, idempotent: idempotent, otherwise: .unknown, at: now, change)
        } catch let denial as Denial where denial == .webhook(.unknown) && expectedVersion != nil {
            throw try await store.webhookEndpoint(id) == nil ? denial : .versionMismatch
        }
    }

    /// Runs `change`, which answers with `value` and keeps that, unless the request was applied before.
    ///
    /// `reason`: why nothing was changed, where nothing was.
    private func changeWebhooks<Value>(
        _ value: Value,
        idempotent: IdempotentRequest<Value>?,
        otherwise reason: WebhookDenial,
        at now: Timestamp,
        _ change: ([AccountWrite.SideWrite]) async throws -> AccountStore.WebhookChange
    ) async throws -> Value {
        let sideWrites = try storeAnswer(value, to: idempotent, of: nil, tenant: .project, at: now)
        return try await retrying(effects) {
            if let denial = try await storedAnswer(to: idempotent, of: nil, tenant: .project, at: now) { throw denial }
            switch try await change(sideWrites) {
            case .applied: return value
            case .factsMoved: throw FactsMoved()
            // Another request of the key may have done it since it was looked for.
            case .nothing:
                throw try await storedAnswer(to: idempotent, of: nil, tenant: .project, at: now) ?? .webhook(reason)
            }
        }
    }

    /// The newest messages to an endpoint that were given up, a hundred at most.
    package func failedWebhooks(of endpoint: String) async throws -> [FailedWebhook] {
        guard let id = WebhookEndpointRecord.ID(text: endpoint) else { return [] }
        return try await store.failedWebhookMessages(to: id, countMax: 100).map(FailedWebhook.init)
    }

    private func newWebhookSecret(of id: WebhookEndpointRecord.ID) throws -> (text: String, sealed: [UInt8]) {
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
            failedCount: record.failedCount,
            version: record.version
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
    static func context(_ endpoint: WebhookEndpointRecord.ID) -> String { "webhook-secret:\(endpoint.text)" }

    init?(sealed: [UInt8], of endpoint: WebhookEndpointRecord.ID, sealer: Sealer) {
        guard let bytes = try? sealer.open(sealed, context: Self.context(endpoint)) else { return nil }
        self.init(bytes: bytes)
    }
}
