import AccountTestSupport
import NIOHTTP1
import OpenTelemetry
import Spans
import Testing
import Tracing

@testable import IdentityProviders

struct TracedFetchingTests {
    @Test func `a call to a provider is a span without path and query, and the provider gets no trace id`()
        async throws
    {
        let recorded = RecordedSpans()
        let http = TracedFetching(IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true)), recorded.spans)
        let answer: LocalServer.Answer = { request, _ in
            .text("{}", status: request.path == "/refused" ? .badRequest : .ok)
        }
        try await LocalServer.run(answer: answer) { server in
            try await recorded.spans.trace("request", .server) { _ in
                _ = try await http.document(at: server.address("/secret?a=secret"), deadline: .now + .seconds(60))
                let request = ProviderRequest(.post, server.address("/refused"), fields: [], body: [])
                #expect(try await http.answer(to: request, deadline: .now + .seconds(60)).status == 400)
                await #expect(throws: ProviderUnavailable.self) {
                    try await http.document(at: "http://10.0.0.1/secret", deadline: .now + .seconds(60))
                }
            }
            #expect(server.requests.allSatisfy { $0.headers["traceparent"].isEmpty })
            let spans = recorded.take()
            #expect(spans.map(\.name) == ["GET", "POST", "GET", "request"])
            #expect(spans.prefix(3).allSatisfy { $0.kind == .client && $0.parent == spans[3].context.span })
            #expect(spans[0].attributes.get("server.address") == .string("127.0.0.1"))
            #expect(spans[0].attributes.get("server.port") == .int64(Int64(server.port)))
            #expect(spans[0].status == nil && spans[1].status?.code == .error)
            #expect(spans[1].attributes.get("http.response.status_code") == .int64(400))
            #expect(spans[2].attributes.get("error.type") == .string("network-not-allowed"))
            for (name, value) in spans.flatMap(\.attributes.pairs) {
                #expect(!"\(value)".contains("secret"), "\(name)")
            }
        }
    }
}
