import FoundationEssentials
package import Spans
import Tracing

/// Makes a span for each call to a provider. The span names the host and holds no path, parameter or answer. The
/// provider does not get the id of the trace, because it is another organisation's.
///
/// Callers share the refresh of an issuer's keys: its span is in the trace of the first.
package struct TracedFetching: HTTPFetching {
    private let http: any HTTPFetching
    private let spans: Spans

    package init(_ http: any HTTPFetching, _ spans: Spans) {
        self.http = http
        self.spans = spans
    }

    package func document(
        at address: String,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> HTTPDocument {
        let span = span(.get, address)
        defer { span?.end() }
        do throws(ProviderUnavailable) {
            return try await http.document(at: address, deadline: deadline)
        } catch {
            span?.fail(error.rawValue)
            throw error
        }
    }

    package func answer(
        to request: ProviderRequest,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> ProviderAnswer {
        let span = span(request.method, request.address)
        defer { span?.end() }
        do throws(ProviderUnavailable) {
            let answer = try await http.answer(to: request, deadline: deadline)
            if let span {
                span.attributes["http.response.status_code"] = answer.status
                if answer.status >= 400 { span.fail(String(answer.status)) }
            }
            return answer
        } catch {
            span?.fail(error.rawValue)
            throw error
        }
    }

    private func span(_ method: ProviderRequest.Method, _ address: String) -> (any Tracing.Span)? {
        guard let span = spans.child(method.rawValue, .client) else { return nil }
        var attributes: SpanAttributes = [:]
        attributes["http.request.method"] = method.rawValue
        if let url = URL(string: address), let host = url.host() {
            attributes["server.address"] = host
            if let port = url.port { attributes["server.port"] = port }
        }
        span.attributes = attributes
        return span
    }
}
