import AccountLinking
import AccountStore
import Delivery
package import IdentityProviders
import JSON

/// The result of one test event, which was sent to an endpoint and is not stored.
package struct WebhookTest: Sendable {
    /// The result of the request.
    package enum Outcome: Sendable, Hashable {
        /// The status of the answer.
        case answered(Int)
        case failed(ProviderUnavailable)
    }

    /// The `webhook-id` of the event.
    package let id: String
    package let type: String
    package let url: String
    package let outcome: Outcome
    package let duration: Duration

    /// The type of an event that receivers can ignore.
    package static let defaultType = "webhook.test"
    /// The types that can be sent.
    package static let types = [defaultType] + WebhookEvent.Kind.allCases.map(\.rawValue)

    /// True if the receiver accepted the event.
    package var isAccepted: Bool {
        if case .answered(let status) = outcome { (200..<300).contains(status) } else { false }
    }
}

extension AccountOperations {
    /// Sends one event without an account to an endpoint, also to a disabled one, and waits for the answer. Its
    /// deliveries, failures and state do not change.
    ///
    /// - `type`: one of `WebhookTest.types`.
    /// - Throws: `Sealer.OpeningFailure` if the secret cannot be opened.
    package func testWebhook(_ endpoint: String, type: String = WebhookTest.defaultType) async throws -> WebhookTest {
        let now = effects.now()
        guard let id = WebhookEndpointRecord.ID(text: endpoint), let record = try await store.webhookEndpoint(id),
            let sealed = try await store.webhookSecrets(of: id, at: now)
        else { throw Denial.webhook(.unknown) }
        let secrets = try sealed.compactMap {
            WebhookSecret(bytes: try sealer.open($0, context: WebhookSecret.context(id)))
        }
        let webhook = Webhook(
            id: "msg_" + effects.newEventID().text,
            body: JSONWriter.object { writer in
                writer.field("type", type)
                writer.field("timestamp", RFC3339.text(now))
                writer.field("data") { writer in writer.field("test", true) }
            }
        )
        let start = ContinuousClock.now
        let outcome: WebhookTest.Outcome
        do throws(ProviderUnavailable) {
            let status = try await webhooks.attempt(
                webhook,
                to: record.url,
                at: now.secondsSinceEpoch,
                secrets: secrets
            )
            outcome = .answered(status)
        } catch {
            outcome = .failed(error)
        }
        return WebhookTest(
            id: webhook.id,
            type: type,
            url: record.url,
            outcome: outcome,
            duration: start.duration(to: .now)
        )
    }
}
