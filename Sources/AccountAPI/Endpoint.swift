import AccountLinking
import AccountOperations
import HTTPTypes
import Hummingbird
import HummingbirdCore
import JSON
import NIOCore

/// One route on the wire: authenticates the caller, reads the body within its bound, calls the handler.
struct Endpoint: Sendable {
    let route: Route
    let api: API

    func respond(to request: Request, context: APIContext) async throws -> Response {
        guard case .ready(let operations, _) = api.service.state else { throw APIError.unavailable }
        let query = Self.parameters(request.uri.query)
        let captures = Dictionary(
            context.parameters.map { (String($0.key), String($0.value)) },
            uniquingKeysWith: { first, _ in first }
        )
        let caller = try await caller(of: request, captures: captures, query: query, operations: operations)
        let body = try await body(of: request)
        try checkProject(captures, query: query, body, caller: caller, operations: operations)
        let answer = try await route.handle(
            APIRequest(
                operations: operations,
                caller: caller,
                tenant: .project,
                captures: captures,
                query: query,
                body: body,
                baseURL: api.publicURL ?? "\(api.scheme)://\(request.head.authority ?? "localhost")",
                publicURL: api.publicURL,
                locale: request.headers[.firebaseLocale]
            )
        )
        var response = Response(
            status: answer.location == nil ? .ok : .seeOther,
            headers: [.contentType: answer.contentType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body))
        )
        response.headers[.location] = answer.location
        response.headers[.cacheControl] =
            answer.maxAgeSeconds.map { "public, max-age=\($0)" } ?? "no-store"
        return response
    }

    private func caller(
        of request: Request,
        captures: [String: String],
        query: [String: String],
        operations: AccountOperations
    ) async throws -> Caller {
        if route.access == .anyone { return .client }
        // Only administrators name the project.
        let needsAdministrator = route.access == .administrator || captures["project"] != nil
        // Other schemes than Bearer are ignored; with both a key and a bearer token the bearer wins.
        if let authorization = request.headers[.authorization], let token = Self.bearerToken(authorization) {
            guard try await api.callers.isAdministrator(bearer: token, operations: operations) else {
                throw APIError.invalidCredentials
            }
            return .administrator
        }
        guard let apiKey = query["key"] ?? request.headers[.googAPIKey], !apiKey.isEmpty else {
            if needsAdministrator { throw APIError.missingCredentials }
            throw APIError.missingAPIKey
        }
        guard api.callers.accepts(apiKey: apiKey, operations: operations) else { throw APIError.invalidAPIKey }
        if needsAdministrator { throw APIError.onlyAdministratorsNameAProject }
        return .client
    }

    /// One project per database, no tenants yet (`spec/01` §1.3; docs/differences.md).
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

    private static func bearerToken(_ authorization: String) -> String? {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }

    private func body(of request: Request) async throws -> RequestBody {
        guard route.method != .get else { return .empty }
        let bytesMax = api.limits.bodyBytesMax
        let length = request.headers[.contentLength].flatMap { Int($0) }
        if let length, length > bytesMax { throw APIError.bodyTooLarge }
        var bytes: [UInt8] = []
        for try await buffer in request.body {
            guard bytes.count + buffer.readableBytes <= bytesMax else { throw APIError.bodyTooLarge }
            bytes += buffer.readableBytesView
        }
        // A connection that was cut in the middle must not pass for a shorter request.
        try Task.checkCancellation()
        if let length, bytes.count < length { throw APIError.malformedJSON("The body is incomplete.") }
        // What begins like an object is one, whatever it is called: `curl -d` calls everything a form.
        let isForm = request.headers[.contentType]?.lowercased().hasPrefix("application/x-www-form-urlencoded") ?? false
        let isObject = bytes.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "{")
        return isForm && !isObject
            ? try Self.form(bytes) : try RequestBody(parsing: bytes, depthMax: api.limits.jsonDepthMax)
    }

    private static func form(_ bytes: [UInt8]) throws(APIError) -> RequestBody {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .malformedJSON("The form is not valid UTF-8.")
        }
        let members = parameters(String(text.map { $0 == "+" ? " " : $0 }))
        guard !members.contains(where: { $0.key.utf8.contains(0) || $0.value.utf8.contains(0) }) else {
            throw .malformedJSON("Strings must not contain U+0000.")
        }
        return RequestBody(members: members.mapValues(JSONValue.string))
    }

    /// The decoded `name=value` pairs; of repeated names the first wins.
    private static func parameters(_ query: String?) -> [String: String] {
        guard let query, !query.isEmpty else { return [:] }
        return Dictionary(
            URI("/?\(query)").queryParameters.map { (String($0.key), String($0.value)) },
            uniquingKeysWith: { first, _ in first }
        )
    }
}

extension HTTPField.Name {
    fileprivate static let googAPIKey = named("X-Goog-Api-Key")
    fileprivate static let firebaseLocale = named("X-Firebase-Locale")

    /// A field name written in this source. Every one of them is a token, as RFC 9110 §5.1 wants.
    static func named(_ name: StaticString) -> Self {
        guard let name = HTTPField.Name(name.description) else { preconditionFailure("not a field name: \(name)") }
        return name
    }
}
