package import HTTPServer
import HTTPTypes
package import Metrics
import NIOHTTP1

/// The dimensions of request metrics: the route that answered and the class of its status. Both are closed sets, so
/// that requests cannot create time series.
package struct HTTPMetrics: Sendable {
    package static let requests = "concord_http_requests_total"
    package static let seconds = "concord_http_request_seconds"
    package static let statusClasses = ["2xx", "3xx", "4xx", "5xx"]

    /// The metrics of one route.
    struct Series: Sendable {
        let byStatusClass: [Counter]
        let timer: Timer

        func record(_ status: HTTPResponse.Status, since start: ContinuousClock.Instant) {
            byStatusClass[min(max(status.code / 100, 2), 5) - 2].increment()
            timer.record(duration: start.duration(to: .now))
        }
    }

    private let series: [String: Series]
    /// Requests that no route answers.
    let unmatched: Series
    let preflight: Series

    private static let unmatchedName = "unmatched"
    private static let preflightName = "OPTIONS"
    static let unimplementedName = "unimplemented"

    /// The label values of requests: the method and path pattern of each route, and a word for requests without a
    /// route.
    package static func routes(_ development: DevelopmentRoutes?) -> [String] {
        (API.routes + (development?.routes ?? [])).map(\.name) + API.ownPaths.map { "GET " + $0 }
            + [preflightName, unimplementedName, unmatchedName]
    }

    /// - `development`: the routes of development, if they are served.
    package init(_ factory: any MetricsFactory, _ development: DevelopmentRoutes?) {
        func series(_ route: String) -> Series {
            Series(
                byStatusClass: Self.statusClasses.map {
                    Counter(label: Self.requests, dimensions: [("route", route), ("status", $0)], factory: factory)
                },
                timer: Timer(label: Self.seconds, dimensions: [("route", route)], factory: factory)
            )
        }
        self.series = Dictionary(uniqueKeysWithValues: Self.routes(development).map { ($0, series($0)) })
        unmatched = series(Self.unmatchedName)
        preflight = series(Self.preflightName)
    }

    /// The series of a route by its name; `unmatched` for any other name.
    func series(of route: String) -> Series { series[route] ?? unmatched }
}

extension Route {
    /// The method and the pattern of the path. Other paths of the same endpoint have the same name.
    var name: String { "\(method.rawValue) \(path)" }
}

/// The responder of a listener for metrics only. Scrapers need no credential, so operators choose where this listener
/// is reachable. It is never public by default.
package struct MetricsResponder: Responder {
    private let exposition: MetricsExposition

    package init(_ exposition: MetricsExposition) {
        self.exposition = exposition
    }

    package func respond(to request: ServerRequest) async -> ServerResponse {
        var response = answer(to: request)
        response.headers.add(name: RequestID.fieldName, value: request.id.text)
        return response
    }

    private func answer(to request: ServerRequest) -> ServerResponse {
        let path = request.target.prefix { $0 != "?" }
        guard path == API.metricsPath, request.method == .get || request.method == .head else {
            return .text("not found\n", status: APIError.notFound.status)
        }
        return exposition.response
    }
}

/// All metrics, in the text format of Prometheus.
package struct MetricsExposition: Sendable {
    private let contentType: String
    private let text: @Sendable () -> String

    package init(contentType: String, text: @escaping @Sendable () -> String) {
        self.contentType = contentType
        self.text = text
    }

    var response: ServerResponse {
        var response = ServerResponse.text(text(), status: .ok)
        response.headers.replaceOrAdd(name: "Content-Type", value: contentType)
        return response
    }
}
