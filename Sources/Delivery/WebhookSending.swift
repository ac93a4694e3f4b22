import FoundationEssentials
package import IdentityProviders

/// Sends webhooks. A port, so that a test can stand in for the network.
package protocol WebhookSending: Sendable {
    /// Returns true if events may be sent to `url`, judged by its text.
    func accepts(_ url: String) -> Bool

    /// Sends once, within the time it takes at most.
    /// - Returns: the status that was answered; `nil` when there was no answer.
    func send(_ webhook: Webhook, to url: String, at seconds: Int64, secrets: [WebhookSecret]) async -> Int?
}

/// Sends over the network, within the rules that hold for issuers: HTTPS, to addresses that the policy allows, pinned
/// after they were resolved; no redirect is followed.
package struct HTTPWebhookSender: WebhookSending {
    private let http: IssuerHTTPClient
    private let timeout: Duration

    /// `timeout`: for everything that sending once takes.
    package init(
        http: IssuerHTTPClient = IssuerHTTPClient(policy: NetworkPolicy(), resolver: .webhooks),
        timeout: Duration = .seconds(5)
    ) {
        self.http = http
        self.timeout = timeout
    }

    package func accepts(_ url: String) -> Bool {
        // What a receiver is called by is shown to operators; a fragment is never sent.
        url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && !url.contains("#") && http.allows(url)
    }

    package func send(_ webhook: Webhook, to url: String, at seconds: Int64, secrets: [WebhookSecret]) async -> Int? {
        try? await http.post(
            webhook.body,
            fields: webhook.fields(at: seconds, secrets: secrets),
            to: url,
            deadline: .now + timeout
        )
    }
}
