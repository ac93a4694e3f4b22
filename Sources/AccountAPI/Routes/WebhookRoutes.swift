import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

// The endpoints that receive events, for administrators. docs/guides/webhooks.md describes the events.

extension Route {
    static let webhooks: [Route] = [
        Route(.post, path, access: .administrator) { request in
            guard let url = try request.body.nonEmptyString("url") else {
                throw Problem(.malformedRequest, "`url` is required.")
            }
            return try await request.answer(boundTo: request.bearerToken ?? "", as: APIResponse.secret) { idempotent in
                try await request.operations.addWebhookEndpoint(url: url, idempotent: idempotent)
            }
        },
        Route(.get, path, access: .administrator) { request in
            let endpoints = try await request.operations.webhookEndpoints()
            return .object { writer in
                writer.field("webhooks", objects: endpoints) { $0.fields(of: $1) }
            }
        },
        Route(.get, item, access: .administrator) { request in
            let endpoint = try await request.operations.webhookEndpoint(request.webhook)
            return .object(version: endpoint.version) { writer in writer.fields(of: endpoint) }
        },
        Route(.delete, item, access: .administrator) { request in
            try await request.answer(boundTo: request.bearerToken ?? "", as: APIResponse.done) { idempotent in
                try await request.operations.deleteWebhookEndpoint(
                    request.webhook,
                    expectedVersion: request.expectedVersion.version(),
                    idempotent: idempotent
                )
            }
        },
        Route(.post, item + "/secret", access: .administrator) { request in
            try await request.answer(boundTo: request.bearerToken ?? "", as: APIResponse.secret) { idempotent in
                try await request.operations.rotateWebhookSecret(
                    of: request.webhook,
                    expectedVersion: request.expectedVersion.version(),
                    idempotent: idempotent
                )
            }
        },
        Route(.post, item + "/enable", access: .administrator) { request in
            try await request.answer(boundTo: request.bearerToken ?? "", as: APIResponse.done) { idempotent in
                try await request.operations.enableWebhookEndpoint(
                    request.webhook,
                    expectedVersion: request.expectedVersion.version(),
                    idempotent: idempotent
                )
            }
        },
        Route(.get, item + "/failures", access: .administrator) { request in
            let failures = try await request.operations.failedWebhooks(of: request.webhook)
            return .object { writer in
                writer.field("failures", array: failures) { writer, failure in writer.failedWebhook(failure) }
            }
        },
    ]

    private static let path = "/concord/v1/webhooks"
    private static let item = path + "/{id}"
}

extension APIRequest {
    fileprivate var webhook: String { captures["id"] ?? "" }
}

extension APIResponse {
    /// The answer has no content.
    @Sendable fileprivate static func done(_: Void) -> APIResponse { .object { _ in } }

    @Sendable fileprivate static func secret(_ secret: NewWebhookSecret) -> APIResponse {
        .object { writer in
            writer.field("id", secret.endpoint)
            writer.field("secret", secret.secret)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func fields(of endpoint: WebhookEndpoint) {
        field("id", endpoint.id)
        field("url", endpoint.url)
        field("state", endpoint.state.rawValue)
        field("createTime", RFC3339.text(endpoint.createdAt))
        field("failingSince", endpoint.failingSince.map { RFC3339.text($0) })
        field("waiting", endpoint.waitingCount)
        field("failed", endpoint.failedCount)
    }

    fileprivate mutating func failedWebhook(_ failure: FailedWebhook) {
        object { writer in
            writer.field("id", failure.id)
            writer.field("type", failure.type)
            writer.field("userId", failure.user.rawValue)
            writer.field("timestamp", RFC3339.text(failure.occurredAt))
            writer.field("attempts", failure.attempts)
            writer.field("lastStatus", failure.lastStatus)
        }
    }
}
