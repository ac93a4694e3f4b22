import FoundationEssentials
package import IdentityProviders
import Spans
import Tracing

/// Sends webhooks. Tests replace it.
package protocol WebhookSending: Sendable {
    /// Returns true if events may be sent to `url`, judged by its text.
    func accepts(_ url: String) -> Bool

    /// Sends once, within the timeout.
    /// - Returns: the status of the answer.
    /// - Throws: `ProviderUnavailable` if there was no answer.
    func attempt(
        _ webhook: Webhook,
        to url: String,
        at seconds: Int64,
        secrets: [WebhookSecret]
    ) async throws(ProviderUnavailable) -> Int
}

extension WebhookSending {
    /// The same, but `nil` if there was no answer.
    package func send(_ webhook: Webhook, to url: String, at seconds: Int64, secrets: [WebhookSecret]) async -> Int? {
        try? await attempt(webhook, to: url, at: seconds, secrets: secrets)
    }
}

/// Sends over the network with the rules for issuers: HTTPS, to addresses that the policy allows, pinned after name
/// resolution, without following redirects.
package struct HTTPWebhookSender: WebhookSending {
    private let http: IssuerHTTPClient
    private let timeout: Duration

    /// `timeout`: the limit for one attempt.
    package init(
        http: IssuerHTTPClient = IssuerHTTPClient(policy: NetworkPolicy(), resolver: .webhooks),
        timeout: Duration = .seconds(5)
    ) {
        self.http = http
        self.timeout = timeout
    }

    package func accepts(_ url: String) -> Bool {
        // Operators see the URL of a receiver, so it is printable ASCII. A fragment would never be sent.
        url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && !url.contains("#") && http.allows(url)
    }

    package func attempt(
        _ webhook: Webhook,
        to url: String,
        at seconds: Int64,
        secrets: [WebhookSecret]
    ) async throws(ProviderUnavailable) -> Int {
        var fields = webhook.fields(at: seconds, secrets: secrets)
        // A receiver is the operator's, so its spans may join the trace.
        if let trace = ServiceContext.current?.trace { fields.append((TraceContext.parentField, trace.parent)) }
        return try await http.post(
            webhook.body,
            fields: fields,
            to: url,
            deadline: .now + timeout
        )
    }
}
