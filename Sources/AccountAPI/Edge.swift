import AccountOperations
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// What every answer passes on its way out: errors become envelopes, and browsers are let in (`spec/01` §1.4, §1.5).
///
/// Cookies play no part in any call, so any origin may read any answer it has the credentials for.
struct Edge<Next: HTTPResponder>: HTTPResponder where Next.Context == APIContext {
    let next: Next
    let service: ServiceHandle
    let audience: API.Audience
    /// From the head of a request to its answer. What has not been answered by then is cancelled and answered like a
    /// service that is away.
    ///
    /// Nothing is half done then: a transaction that was sent is committed or not, as a whole, and one that was not sent
    /// never will be.
    let deadlines: Deadlines
    let trustedProxies: [IPNetwork]

    func respond(to request: Request, context: APIContext) async throws -> Response {
        let origin = request.headers[.origin]
        if audience == .operators, origin != nil || !API.isThisHost(request.head.authority) {
            return answer(.notForBrowsers, to: request)
        }
        if request.method == .options { return preflight(request, origin: origin) }
        var response: Response
        do {
            response = try await deadlines.run { try await next.respond(to: request, context: context) }
        } catch let error as APIError {
            if error.isThrottled {
                context.logger.notice("too many attempts", metadata: clientMetadata(of: request, context: context))
            }
            response = answer(error, to: request)
        } catch {
            response = answer(failure: error, to: request, context: context)
        }
        allow(origin, in: &response)
        return response
    }

    private func clientMetadata(of request: Request, context: APIContext) -> Logger.Metadata {
        let forwardedFor = request.headers[values: .forwardedFor]
        let address = clientAddress(
            peer: context.peer,
            forwardedFor: forwardedFor.isEmpty ? nil : forwardedFor.joined(separator: ","),
            trusted: trustedProxies
        )
        return address.map { ["client.address": "\($0)"] } ?? [:]
    }

    private func preflight(_ request: Request, origin: String?) -> Response {
        var response = Response(status: .noContent)
        allow(origin, in: &response)
        response.headers[.accessControlAllowMethods] = "GET,HEAD,PUT,PATCH,POST,DELETE"
        response.headers[.accessControlAllowHeaders] = request.headers[.accessControlRequestHeaders]
        response.headers[.accessControlMaxAge] = "3600"
        if request.headers[.accessControlRequestPrivateNetwork] == "true" {
            response.headers[.accessControlAllowPrivateNetwork] = "true"
        }
        return response
    }

    private func allow(_ origin: String?, in response: inout Response) {
        response.headers[.accessControlAllowOrigin] = origin ?? "*"
        response.headers[.vary] = "Origin"
    }

    private func answer(failure error: any Error, to request: Request, context: APIContext) -> Response {
        switch Failure(error) {
        case .unavailable, .cancelled:
            return answer(.unavailable, to: request)
        case .bug:
            // The type of an error is ours; its description may quote what a client sent.
            var metadata: Logger.Metadata = ["error.type": "\(type(of: error))"]
            if let description = Failure.safeDescription(of: error) { metadata["error"] = "\(description)" }
            metadata.merge(clientMetadata(of: request, context: context)) { own, _ in own }
            context.logger.error("request failed", metadata: metadata)
            return answer(.unexpected, to: request)
        }
    }

    /// While the database is away, callers without a bearer token get plain text: web clients sign their user out on any
    /// JSON error while a page loads (`spec/07` §5).
    private func answer(_ error: APIError, to request: Request) -> Response {
        guard error.status == APIError.unavailable.status else {
            return Response.json(error.body, status: error.status)
        }
        var response =
            request.headers[.authorization] == nil
            ? Response.text("The service is currently unavailable. Try again soon.\n", status: error.status)
            : Response.json(error.body, status: error.status)
        response.headers[.retryAfter] = "1"
        return response
    }
}

extension API {
    /// Whether the name a client called the service by is one of this host's own.
    static func isThisHost(_ authority: String?) -> Bool {
        guard let authority else { return false }
        let host =
            authority.hasPrefix("[") ? authority.prefix { $0 != "]" }.dropFirst() : authority.prefix { $0 != ":" }
        // All of 127/8 is this host (RFC 1122 §3.2.1.3); digits and dots alone are no name anybody can register.
        let isIPv4 = host.hasPrefix("127.") && host.utf8.allSatisfy { "0123456789.".utf8.contains($0) }
        return isIPv4 || host == "::1" || host.lowercased() == "localhost"
    }
}

extension Response {
    static func text(_ text: String, status: HTTPResponse.Status) -> Response {
        Response(
            status: status,
            headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }

    static func json(_ body: [UInt8], status: HTTPResponse.Status) -> Response {
        Response(
            status: status,
            headers: [.contentType: "application/json; charset=UTF-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body))
        )
    }
}

extension HTTPField.Name {
    fileprivate static let forwardedFor = named("X-Forwarded-For")
    fileprivate static let accessControlRequestPrivateNetwork = named("Access-Control-Request-Private-Network")
    fileprivate static let accessControlAllowPrivateNetwork = named("Access-Control-Allow-Private-Network")
}
