package import AccountLinking
import AccountStore
import Delivery

/// A webhook endpoint for operators. Its id is a UUID.
package struct WebhookEndpoint: Sendable {
    package enum State: String, Sendable {
        case enabled
        /// It answered 410 (Gone).
        case gone
        /// It has failed for 5 days.
        case failing
    }

    package let id: String
    package let url: String
    package let state: State
    package let createdAt: Timestamp
    /// Start of the current series of failed attempts; `nil` while attempts succeed.
    package let failingSince: Timestamp?
    /// Messages that wait, and messages that were given up and not yet deleted; counted up to 10,000.
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
    /// Status of the last attempt; `nil` if no response came.
    package let lastStatus: Int64?
}

/// A secret of an endpoint, new or rotated. It is shown only this once.
package struct NewWebhookSecret: Sendable {
    package let endpoint: String
    /// `whsec_` and base64.
    package let secret: String
}

package enum WebhookDenial: Sendable, Hashable {
    /// Messages may not be sent to this URL.
    case refusedURL
    /// There are already 10 endpoints.
    case tooMany
    /// The endpoint does not exist.
    case unknown
}

extension AccountOperations {
    /// Time in which the replaced secret still signs beside the new one.
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

    /// Adds an endpoint with a new secret.
    ///
    /// - `idempotent`: set if the caller may repeat the request. The same holds for the other changes.
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

    /// Rotates the secret of an endpoint. For a day both secrets sign.
    ///
    /// - `expectedVersion`: the version that the caller has seen; `nil` accepts any. The same holds for the other
    ///   changes.
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

    /// Deletes an endpoint and its waiting messages.
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

    /// Enables a disabled endpoint. Its waiting messages are sent.
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

    /// The same for an existing endpoint: refused if it has another version than expected.
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

    /// Runs `change` and stores `value` as its answer, unless the request was applied before.
    ///
    /// - `reason`: the denial if `change` changed nothing.
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
            // The same request may have been applied since the first check.
            case .nothing:
                throw try await storedAnswer(to: idempotent, of: nil, tenant: .project, at: now) ?? .webhook(reason)
            }
        }
    }

    /// The newest messages to an endpoint that were given up, at most 100.
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

/// The random source returned too few bytes.
struct UnusableWebhookSecret: Error, Sendable {}

extension WebhookSecret {
    /// The context that binds a sealed secret to its endpoint.
    static func context(_ endpoint: WebhookEndpointRecord.ID) -> String {
        SealingContext.webhookSecret(endpoint: endpoint.text)
    }

    init?(sealed: [UInt8], of endpoint: WebhookEndpointRecord.ID, sealer: Sealer) {
        guard let bytes = try? sealer.open(sealed, context: Self.context(endpoint)) else { return nil }
        self.init(bytes: bytes)
    }
}
