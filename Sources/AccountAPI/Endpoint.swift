import AccountLinking
import AccountOperations
import HTTPServer
import HTTPTypes
import JSON
import NIOCore
import NIOHTTP1

/// One route on the wire: authenticates the caller, reads the body up to its limit, and calls the handler.
struct Endpoint: Sendable {
    let route: Route
    let api: API

    /// True if the route is one of Concord's own.
    private var isOwn: Bool { route.service == .concord }

    @Sendable func respond(to request: RoutedRequest) async throws -> ServerResponse {
        guard case .ready(var operations, _) = api.service.state else { throw APIError.unavailable }
        operations.userAgent = request.http.headers.first(name: "User-Agent")
        let query = PercentEncoding.pairs(Array(request.query.utf8), plusIsSpace: false)
        let administrator = try await administrator(calling: request, query: query, operations: operations)
        let caller = administrator == nil ? Caller.client : .administrator
        if caller == .administrator, api.development != nil, let origin = request.http.headers.first(name: "Origin"),
            !API.isOfThisHost(origin: origin)
        {
            throw APIError.foreignPage
        }
        for text in query.values where text.utf8.contains(0) { throw APIError.containsNUL }
        let body = try body(of: request.http)
        try checkProject(request.captures, query: query, body, caller: caller, operations: operations)
        let answer = try await answer(
            to: APIRequest(
                route: "\(route.method.rawValue) \(route.path)",
                operations: operations,
                caller: caller,
                administrator: administrator,
                tenant: .project,
                captures: request.captures,
                query: query,
                body: body,
                scheme: api.scheme,
                authority: request.http.authority,
                publicURL: api.publicURL,
                locale: request.http.headers.first(name: "X-Firebase-Locale")
                    ?? (isOwn ? request.http.headers.first(name: "Accept-Language").flatMap(Self.firstLanguage) : nil),
                iOSBundleID: request.http.headers.first(name: "X-Ios-Bundle-Identifier"),
                apiKey: Self.apiKey(of: request, query: query),
                bearerToken: isOwn
                    ? request.http.headers.first(name: "Authorization").flatMap(Self.bearerToken) : nil,
                proofToken: isOwn ? request.http.headers.first(name: "Concord-Proof") : nil,
                idempotencyKeys: isOwn ? request.http.headers["Idempotency-Key"] : [],
                expectedVersion: isOwn ? ExpectedVersion(request.http.headers.first(name: "If-Match")) : .any,
                clientAddress: request.http.clientAddress(trusted: api.trustedProxies),
                serverVersion: api.version
            )
        )
        if let administrator {
            ChangeLog(logger: api.logger).record(administrator, route, query: query, body)
        }
        var response = ServerResponse(
            status: answer.location != nil ? .seeOther : answer.isAccepted ? .accepted : .ok,
            headers: ["Content-Type": answer.contentType],
            body: ByteBuffer(bytes: answer.body)
        )
        if let version = answer.version { response.headers.add(name: "ETag", value: "\"\(version)\"") }
        if let decision = answer.decision { response.headers.add(name: "Concord-Decision", value: decision.text) }
        if let location = answer.location { response.headers.add(name: "Location", value: location) }
        if let policy = answer.contentSecurityPolicy {
            response.headers.add(name: "Content-Security-Policy", value: policy)
        }
        let caching = answer.maxAgeSeconds.map { "public, max-age=\($0)" } ?? "no-store"
        response.headers.add(name: "Cache-Control", value: caching)
        return response
    }

    /// The handler's answer, on a tick if its time could reveal an account.
    private func answer(to request: APIRequest) async throws -> APIResponse {
        guard route.hidesAccounts, request.caller == .client,
            request.operations.project.settings.policy.protectsEmailEnumeration
        else { return try await route.handle(request) }
        let beginning = ContinuousClock.now
        do {
            let answer = try await route.handle(request)
            if answer.hidesAccount { await api.tick.wait(beginning) }
            return answer
        } catch {
            await api.tick.wait(beginning)
            throw error
        }
    }

    /// The administrator who calls; `nil` for a client.
    private func administrator(
        calling request: RoutedRequest,
        query: [String: String],
        operations: AccountOperations
    ) async throws -> Administrator? {
        if route.access == .anyone { return nil }
        if route.access == .administratorOrSession {
            guard let token = request.http.headers.first(name: "Authorization").flatMap(Self.bearerToken) else {
                throw APIError.missingCredentials
            }
            return try await api.callers.administrator(bearer: token, operations: operations)
        }
        // Only administrators name the project.
        let needsAdministrator = route.access == .administrator || request.captures["project"] != nil
        // Schemes other than Bearer are ignored. A bearer token takes precedence over a key.
        if let authorization = request.http.headers.first(name: "Authorization"),
            let token = Self.bearerToken(authorization)
        {
            guard let administrator = try await api.callers.administrator(bearer: token, operations: operations) else {
                throw APIError.invalidCredentials
            }
            return administrator
        }
        // An API key does not authorize administrators' requests to Concord's own routes.
        if isOwn, needsAdministrator { throw APIError.missingCredentials }
        guard let apiKey = Self.apiKey(of: request, query: query) else {
            if needsAdministrator { throw APIError.missingCredentials }
            throw APIError.missingAPIKey
        }
        guard api.callers.accepts(apiKey: apiKey, operations: operations) else { throw APIError.invalidAPIKey }
        if needsAdministrator { throw APIError.onlyAdministratorsNameAProject }
        return nil
    }

    private static func apiKey(of request: RoutedRequest, query: [String: String]) -> String? {
        let keys = [query["key"], request.http.headers.first(name: "X-Goog-Api-Key")]
        return keys.compactMap { $0 }.first { !$0.isEmpty }
    }

    /// One project per database, no tenants yet (docs/reference/differences.md).
    private func checkProject(
        _ captures: [String: String],
        query: [String: String],
        _ body: RequestBody,
        caller: Caller,
        operations: AccountOperations
    ) throws(APIError) {
        let target = try body.nonEmptyString("targetProjectId")
        if target != nil, caller == .client, route.access != .anyone { throw .onlyAdministratorsNameAProject }
        for named in [captures["project"], target] {
            if let named, named != operations.project.settings.projectID { throw .code(.projectNotFound) }
        }
        let tenants = [captures["tenant"], query["tenantId"], try body.nonEmptyString("tenantId")]
        if tenants.contains(where: { $0?.isEmpty == false }) { throw .code(.tenantNotFound) }
    }

    /// The first language that a client names (RFC 9110 §12.5.4), without its weight.
    private static func firstLanguage(_ acceptLanguage: String) -> String? {
        let first = acceptLanguage.prefix { $0 != "," && $0 != ";" }
        return first.isEmpty || first == "*" ? nil : String(first)
    }

    private static func bearerToken(_ authorization: String) -> String? {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        // Any number of spaces may precede the token (RFC 6750 §2.1).
        return String(parts[1].drop { $0 == " " })
    }

    private func body(of request: ServerRequest) throws -> RequestBody {
        guard route.method != .get else { return .empty }
        guard case .complete(let buffer) = request.body else { throw APIError.bodyTooLarge }
        let bytes = Array(buffer.readableBytesView)
        // A body that begins like an object is one, with any content type: `curl -d` sends everything as a form.
        let isObject = bytes.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "{")
        return !isObject && route.acceptsForm && isForm(request)
            ? try Self.form(bytes) : try RequestBody(parsing: bytes, depthMax: api.jsonDepthMax)
    }

    private func isForm(_ request: ServerRequest) -> Bool {
        request.headers.first(name: "Content-Type")?.lowercased().hasPrefix("application/x-www-form-urlencoded")
            ?? false
    }

    private static func form(_ bytes: [UInt8]) throws(APIError) -> RequestBody {
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw .malformedJSON("The form is not valid UTF-8.")
        }
        let members = PercentEncoding.pairs(bytes, plusIsSpace: true)
        guard !members.contains(where: { $0.key.utf8.contains(0) || $0.value.utf8.contains(0) }) else {
            throw .containsNUL
        }
        return RequestBody(members: members.mapValues(JSONValue.string))
    }
}
