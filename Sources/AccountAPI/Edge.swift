import AccountOperations
package import HTTPServer
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1

/// A request with its route's captures.
struct RoutedRequest: Sendable {
    let http: ServerRequest
    /// The path's captured segments, by name.
    let captures: [String: String]
    /// The part of the target after the first question mark; empty if there is none.
    let query: Substring
}

/// The last step of every answer: errors become envelopes, and browsers get access (docs/reference/protocol.md,
/// "Error envelope" and "CORS").
///
/// No call uses cookies, so any origin may read any answer that it has the credentials for. In development every page
/// knows the administrator's token, so only pages of this machine may call the privileged routes.
package struct Edge: Responder {
    typealias Handler = @Sendable (RoutedRequest) async throws -> ServerResponse

    /// A responder and its metrics.
    struct Target: Sendable {
        let handler: Handler
        let series: HTTPMetrics.Series
        /// The declared path, for the log.
        let path: String
        /// True for routes of administrators and of development.
        var isPrivileged = false
        /// True if the log leaves out successes: health checks, scrapes and polls.
        var isQuiet = false
    }

    /// The route of a request, for metrics and log.
    private struct Match {
        var series: HTTPMetrics.Series
        var path: String
        var isQuiet = false
    }

    let table: RouteTable<Target>
    let audience: API.Audience
    let trustedProxies: [IPNetwork]
    let logger: Logger
    let requests: RequestLog
    var tracing = RequestTracing.off
    let metrics: HTTPMetrics
    let isDevelopment: Bool
    /// True if clients reach the service over TLS, which the service or a proxy ends.
    let isSecure: Bool
    /// True if the limit of connections is reached. Then the server refuses everything but the operators' paths.
    private(set) var isFull = false

    package func respond(to request: ServerRequest) async -> ServerResponse {
        await RequestID.$current.withValue(request.id) {
            guard tracing.traces(request) else { return await answer(request, in: nil) }
            return await tracing.trace(request) { span in await answer(request, in: span) }
        }
    }

    /// `span`: the span of the request; `nil` if tracing is off.
    private func answer(_ request: ServerRequest, in span: RequestSpan?) async -> ServerResponse {
        let start = ContinuousClock.now
        var match = Match(series: metrics.unmatched, path: RequestLog.unmatched)
        var response = await respond(to: request, &match)
        // Browsers must not read JSON as a page (Fetch, "should response be blocked due to nosniff").
        response.headers.add(name: "X-Content-Type-Options", value: "nosniff")
        // One year, for this host alone (RFC 6797 §6.1).
        if isSecure { response.headers.add(name: "Strict-Transport-Security", value: "max-age=31536000") }
        response.headers.add(name: RequestID.fieldName, value: request.id.text)
        match.series.record(response.status, since: start)
        requests.record(
            request,
            response,
            method: request.meantMethod,
            route: match.path,
            isQuiet: match.isQuiet,
            traceID: span?.traceID,
            since: start
        )
        span?.record(request, response, method: request.meantMethod, route: match.path)
        return response
    }

    /// `match`: receives the route that answers.
    private func respond(to request: ServerRequest, _ match: inout Match) async -> ServerResponse {
        let origin = request.headers.first(name: "Origin")
        if audience == .operators, origin != nil || !API.isThisHost(request.authority) {
            return answer(.notForBrowsers, to: request)
        }
        if request.method == .options {
            match = Match(series: metrics.preflight, path: RequestLog.preflight)
            return preflight(request, origin: origin)
        }
        var response: ServerResponse
        do {
            response = try await route(request, &match)
        } catch let problem as Problem {
            response = answer(problem)
        } catch let denial as Denial {
            response = answer(denial, to: request)
        } catch let error as APIError {
            response = answer(error, to: request)
        } catch {
            response = answer(failure: error, to: request)
        }
        allow(origin, in: &response)
        return response
    }

    private func route(_ request: ServerRequest, _ match: inout Match) async throws -> ServerResponse {
        let (path, query) = request.pathAndQuery
        guard let (target, captures) = table.find(request.meantMethod, path) else { throw APIError.notFound }
        match = Match(series: target.series, path: target.path, isQuiet: target.isQuiet)
        if target.isPrivileged, refusesPage(of: request) { throw APIError.foreignPage }
        if isFull, !API.ownPaths.contains(path) { throw APIError.unavailable }
        return try await target.handler(RoutedRequest(http: request, captures: captures, query: query))
    }

    private func clientMetadata(of request: ServerRequest) -> Logger.Metadata {
        request.clientAddress(trusted: trustedProxies).map { ["client.address": "\($0)"] } ?? [:]
    }

    /// Returns true if, in development, a page from another machine sends the request.
    private func refusesPage(of request: ServerRequest) -> Bool {
        isDevelopment && request.headers.first(name: "Origin").map(API.isOfThisHost(origin:)) == false
    }

    private func preflight(_ request: ServerRequest, origin: String?) -> ServerResponse {
        if refusesPage(of: request),
            let method = request.headers.first(name: "Access-Control-Request-Method").flatMap({ HTTPRequest.Method($0) }
            ),
            table.find(method, request.pathAndQuery.path)?.target.isPrivileged == true
        {
            return answer(.foreignPage, to: request)
        }
        var response = ServerResponse(status: .noContent)
        allow(origin, in: &response)
        response.headers.add(name: "Access-Control-Allow-Methods", value: "GET,HEAD,PUT,PATCH,POST,DELETE")
        let fields = request.headers[canonicalForm: "Access-Control-Request-Headers"]
        if !fields.isEmpty {
            response.headers.add(name: "Access-Control-Allow-Headers", value: fields.joined(separator: ","))
        }
        response.headers.add(name: "Access-Control-Max-Age", value: "3600")
        if request.headers.first(name: "Access-Control-Request-Private-Network") == "true" {
            response.headers.add(name: "Access-Control-Allow-Private-Network", value: "true")
        }
        return response
    }

    private func allow(_ origin: String?, in response: inout ServerResponse) {
        response.headers.add(name: "Access-Control-Allow-Origin", value: origin ?? "*")
        response.headers.add(
            name: "Access-Control-Expose-Headers",
            value: "Concord-Decision, ETag, Retry-After, WWW-Authenticate, X-Request-Id"
        )
        response.headers.add(name: "Vary", value: "Origin")
    }

    /// The one place that turns refusals of operations into answers.
    private func answer(_ denial: Denial, to request: ServerRequest) -> ServerResponse {
        request.isForOwnRoute ? answer(denial.problem) : answer(denial.apiError, to: request)
    }

    private func answer(failure error: any Error, to request: ServerRequest) -> ServerResponse {
        switch Failure(error) {
        case .unavailable, .cancelled:
            return answer(.unavailable, to: request)
        case .bug:
            // The type of an error is a name from the code. Its description may quote what a client sent.
            var metadata: Logger.Metadata = ["error.type": "\(type(of: error))"]
            if let description = Failure.safeDescription(of: error) { metadata["error"] = "\(description)" }
            metadata.merge(clientMetadata(of: request)) { own, _ in own }
            logger.error("request failed", metadata: metadata)
            return answer(.unexpected, to: request)
        }
    }

    /// While the database is unreachable, callers without a bearer token get plain text, because web clients sign their
    /// user out on any JSON error while a page loads.
    private func answer(_ error: APIError, to request: ServerRequest) -> ServerResponse {
        if error.isThrottled { logger.notice("too many attempts", metadata: clientMetadata(of: request)) }
        if request.isForOwnRoute { return answer(Problem(error)) }
        guard error.status == APIError.unavailable.status else {
            return .json(error.body, status: error.status)
        }
        var response =
            request.headers.contains(name: "Authorization")
            ? ServerResponse.json(error.body, status: error.status)
            : .text("The service is currently unavailable. Try again soon.\n", status: error.status)
        response.headers.add(name: "Retry-After", value: "1")
        return response
    }
}

extension Edge {
    /// The responder for connections above the limit: health checks as usual, 503 for everything else.
    package var whenFull: any Responder {
        var edge = self
        edge.isFull = true
        return edge
    }

    private func answer(_ problem: Problem) -> ServerResponse {
        var response = ServerResponse(
            status: problem.type.status,
            headers: ["Content-Type": Problem.contentType, "Cache-Control": "no-store"],
            body: ByteBuffer(bytes: problem.body)
        )
        if let challenge = problem.challenge { response.headers.add(name: "WWW-Authenticate", value: challenge) }
        if let seconds = problem.retryAfterSeconds {
            response.headers.add(name: "Retry-After", value: String(seconds))
        }
        return response
    }
}

extension API {
    /// Returns true if the client called the service by a name of this host.
    static func isThisHost(_ authority: String?) -> Bool {
        guard let authority else { return false }
        let host =
            authority.hasPrefix("[") ? authority.prefix { $0 != "]" }.dropFirst() : authority.prefix { $0 != ":" }
        // All of 127/8 is this host (RFC 1122 §3.2.1.3). A name of digits and dots alone cannot be registered.
        let isIPv4 = host.hasPrefix("127.") && host.utf8.allSatisfy { "0123456789.".utf8.contains($0) }
        return isIPv4 || host == "::1" || host.lowercased() == "localhost"
    }
}

extension API {
    /// Returns true if this machine served the page of `origin`; false for an opaque origin, `null`.
    static func isOfThisHost(origin: String) -> Bool {
        guard let scheme = origin.firstRange(of: "://") else { return false }
        let authority = String(origin[scheme.upperBound...])
        return isThisHost(authority) || authority.prefix { $0 != ":" }.lowercased().hasSuffix(".localhost")
    }
}

extension ServerResponse {
    static func text(_ text: String, status: HTTPResponse.Status) -> ServerResponse {
        ServerResponse(
            status: status,
            headers: ["Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"],
            body: ByteBuffer(string: text)
        )
    }

    static func json(_ body: [UInt8], status: HTTPResponse.Status) -> ServerResponse {
        ServerResponse(
            status: status,
            headers: ["Content-Type": "application/json; charset=UTF-8", "Cache-Control": "no-store"],
            body: ByteBuffer(bytes: body)
        )
    }
}

extension ServerRequest {
    /// The client's network address, from the peer or from trusted proxies.
    func clientAddress(trusted: [IPNetwork]) -> String? {
        let forwardedFor = headers[canonicalForm: "X-Forwarded-For"]
        return AccountAPI.clientAddress(
            peer: peer?.ipAddress.flatMap(IPAddress.init),
            forwardedFor: forwardedFor.isEmpty ? nil : forwardedFor.joined(separator: ","),
            trusted: trusted
        ).map { "\($0)" }
    }

    /// The method, or the method in `X-HTTP-Method-Override`: Java's HTTP client does not support PATCH, so the Admin
    /// SDK for Java sends a POST with this field.
    fileprivate var meantMethod: HTTPRequest.Method {
        method == .post && headers.first(name: "X-HTTP-Method-Override") == "PATCH" ? .patch : method
    }

    /// The host and optional port that the client called (RFC 9110 §7.2); `nil` if the request does not name it.
    var authority: String? { headers.first(name: "Host") }

    /// True if the path is one of Concord's own routes, whose failures are problems. Reads the path as `RouteTable`
    /// does.
    fileprivate var isForOwnRoute: Bool {
        let segments = RouteTable<Edge.Target>.decodedSegments(of: pathAndQuery.path) ?? []
        return segments.starts(with: Problem.pathPrefix.split(separator: "/").map(String.init))
    }

    /// The path, and the part after the first question mark.
    var pathAndQuery: (path: String, query: Substring) {
        var target = target[...]
        // A proxy's client may send the whole URL (RFC 9112 §3.2.2).
        if !target.hasPrefix("/"), let scheme = target.firstRange(of: "://") {
            let afterScheme = target[scheme.upperBound...]
            target = afterScheme[(afterScheme.firstIndex { $0 == "/" || $0 == "?" } ?? afterScheme.endIndex)...]
        }
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (String(target), "") }
        return (String(target[..<mark]), target[target.utf8.index(after: mark)...])
    }
}
