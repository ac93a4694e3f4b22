import FoundationEssentials
import HTTPServer
import HTTPTypes
import NIOHTTP1
import Spans
import Tracing

/// The span of each request. Health checks and scrapes have none.
struct RequestTracing: Sendable {
    static let off = RequestTracing(spans: .off, scheme: "http", publicURL: nil)

    private let spans: Spans
    private let scheme: String
    /// The host of the public URL, an IPv6 address without brackets; `nil` if it is not configured.
    private let serverAddress: String?

    init(spans: Spans, scheme: String, publicURL: String?) {
        self.spans = spans
        self.scheme = publicURL?.hasPrefix("https://") == true ? "https" : scheme
        serverAddress = publicURL.flatMap { URL(string: $0)?.host }
    }

    /// Returns true if the request gets a span.
    func traces(_ request: ServerRequest) -> Bool {
        spans.areOn && !API.ownPaths.contains(request.pathAndQuery.path)
    }

    /// Runs `answer` in a span that continues the trace of the client, if it sends one.
    func trace(
        _ request: ServerRequest,
        _ answer: (RequestSpan?) async -> ServerResponse
    ) async -> ServerResponse {
        let parent = TraceContext(
            parents: request.headers[TraceContext.parentField],
            states: request.headers[TraceContext.stateField]
        )
        return await spans.trace("HTTP", .server, continuing: parent) { span in
            await answer(span.map { RequestSpan(span: $0, scheme: scheme, serverAddress: serverAddress) })
        }
    }
}

/// The span of one request. It names the route, never the path.
struct RequestSpan: Sendable {
    let span: any Tracing.Span
    let scheme: String
    let serverAddress: String?

    var traceID: String? { span.context.trace?.trace.text }

    /// `route`: the declared path.
    func record(_ request: ServerRequest, _ response: ServerResponse, method: HTTPRequest.Method, route: String) {
        guard span.isRecording else { return }
        let name = RequestLog.knownName(of: method)
        let hasRoute = route != RequestLog.unmatched && route != RequestLog.preflight
        span.operationName = (name ?? "HTTP") + (hasRoute ? " " + route : "")
        let status = response.status.code
        var attributes: SpanAttributes = [:]
        attributes["http.request.method"] = name ?? "_OTHER"
        if hasRoute { attributes["http.route"] = route }
        attributes["http.response.status_code"] = status
        attributes["url.scheme"] = scheme
        if let serverAddress { attributes["server.address"] = serverAddress }
        attributes["concord.request_id"] = request.id.text
        if let decision = response.headers.first(name: "Concord-Decision") {
            attributes["concord.decision_id"] = decision
        }
        span.attributes = attributes
        if status >= 500 { span.fail(String(status)) }
    }
}
