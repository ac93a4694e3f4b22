import AccountTestSupport
import Delivery
import IdentityProviders
import NIOHTTP1
import OpenTelemetry
import Spans
import Testing
import Tracing

struct WebhookTraceTests {
    @Test func `a webhook carries the trace of its delivery, and none if there is no trace`() async throws {
        let recorded = RecordedSpans()
        let sender = HTTPWebhookSender(
            http: IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true)),
            timeout: .seconds(60)
        )
        let answer: LocalServer.Answer = { _, _ in .text("") }
        try await LocalServer.run(answer: answer) { server in
            let webhook = Webhook(id: "one", body: Array("{}".utf8))
            #expect(await sender.send(webhook, to: server.address("/"), at: 1, secrets: []) == 200)
            await recorded.spans.trace("send webhook", .producer) { _ in
                #expect(await sender.send(webhook, to: server.address("/"), at: 1, secrets: []) == 200)
            }
            let span = try #require(recorded.take().first)
            #expect(server.requests.map { $0.headers["traceparent"] } == [[], [span.context.parent]])
        }
    }
}
