import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import HTTPTypes
import JSON
import Logging
import NIOCore
import NIOHTTP1
import Spans
import Testing

@testable import HTTPServer

/// The whole API, without a socket; everything else as served.
struct TestAPI: Sendable {
    let service: TestService
    let wire: Wire
    /// Everything the program logged.
    let log: RecordedLog

    /// Serves a separate database.
    static func with(
        settings: JSONValue = ProjectSettings.developmentDefaults,
        callers: any CallerAuthentication = RegisteredCallers(),
        development: DevelopmentRoutes? = DevelopmentRoutes(),
        developmentNumbers: DevelopmentNumbers? = nil,
        spans: Spans = .off,
        tick: AnswerTick = .standard,
        _ body: @Sendable (TestAPI) async throws -> Void
    ) async throws {
        try await TestService.with(settings: settings, spans: spans) { service in
            let handle = ServiceHandle()
            var operations = service.operations
            operations.developmentNumbers = developmentNumbers
            handle.state = .ready(operations, checkDatabase: { nil })
            let log = RecordedLog()
            try await Wire.with(
                service: handle,
                callers: callers,
                development: development,
                log: log,
                tick: tick
            ) { wire in
                try await body(TestAPI(service: service, wire: wire, log: log))
            }
        }
    }

    /// The API of the suite that a test runs in; see `APITrait`.
    @TaskLocal static var ofSuite: TestAPI?

    /// The API of the suite. Its other tests use it at the same time.
    static var shared: TestAPI {
        get throws { try #require(ofSuite, "the suite has no .api trait") }
    }

    typealias Answer = Wire.Answer

    /// Posts `body` as JSON with an API key, the project's unless given.
    func post(
        _ path: String,
        _ body: JSONValue,
        key: String? = TestService.apiKey,
        bearer: String? = nil,
        from peer: String? = nil
    ) async throws -> Answer {
        try await wire.post(path, body, key: key, bearer: bearer, from: peer)
    }

    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: [UInt8] = [],
        key: String? = TestService.apiKey,
        bearer: String? = nil,
        headers: HTTPFields = [:]
    ) async throws -> Answer {
        try await wire.send(method, path, body, key: key, bearer: bearer, headers: headers)
    }

    /// Signs up with a password and returns the answer.
    func signUp(_ email: String, password: String = TestService.password) async throws -> JSONValue {
        let answer = try await post("/v1/accounts:signUp", ["email": .string(email), "password": .string(password)])
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json
    }

    func signUpAnonymously() async throws -> JSONValue {
        let answer = try await post("/v1/accounts:signUp", [:])
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json
    }

    /// Changes the account an answer is about, as an administrator would.
    func disable(_ answer: JSONValue) async throws {
        let id = try #require(answer["localId"]?.string.flatMap(UserID.init))
        try await service.edit(id) { $0.isDisabled = true }
    }

    func endSessions(_ answer: JSONValue) async throws {
        let id = try #require(answer["localId"]?.string.flatMap(UserID.init))
        let now = service.clock.now
        try await service.edit(id) { $0.endSessions(at: now) }
    }
}

/// Requests and answers of a running API.
struct Wire: Sendable {
    private let responder: any Responder

    /// The limit of production.
    static let bodyBytesMax = 1 << 20

    static func with(
        service: ServiceHandle,
        audience: API.Audience = .everyone,
        callers: any CallerAuthentication = RegisteredCallers(),
        development: DevelopmentRoutes? = nil,
        log: RecordedLog = RecordedLog(),
        jsonDepthMax: Int = 64,
        tick: AnswerTick = .standard,
        _ body: @Sendable (Wire) async throws -> Void
    ) async throws {
        let api = API(
            service: service,
            audience: audience,
            callers: callers,
            development: development,
            jsonDepthMax: jsonDepthMax,
            trustedProxies: [],
            logger: log.logger,
            requests: RequestLog(.all, to: log.logger),
            tick: tick
        )
        try await body(Wire(responder: api.responder()))
    }

    /// The listener's audience, its scheme and the URL it is reached at.
    static func with(
        service: ServiceHandle,
        transport: (audience: API.Audience, scheme: String, publicURL: String?),
        _ body: @Sendable (Wire) async throws -> Void
    ) async throws {
        let api = API(
            service: service,
            audience: transport.audience,
            callers: RegisteredCallers(),
            development: nil,
            jsonDepthMax: 64,
            publicURL: transport.publicURL,
            scheme: transport.scheme,
            trustedProxies: [],
            logger: RecordedLog().logger
        )
        try await body(Wire(responder: api.responder()))
    }

    struct Answer: Sendable {
        let status: Int
        let headers: HTTPFields
        let text: String
        /// `null` when the body is no JSON.
        let json: JSONValue

        /// `headers` without the id of the request, which is random.
        var equalHeaders: HTTPFields {
            var fields = headers
            if let id = HTTPField.Name("X-Request-Id") { fields[id] = nil }
            return fields
        }

        /// `error.message` of an envelope.
        var errorMessage: String? { json["error"]?["message"]?.string }
    }

    /// Posts `body` as JSON with an API key, the project's unless given.
    func post(
        _ path: String,
        _ body: JSONValue,
        key: String? = TestService.apiKey,
        bearer: String? = nil,
        from peer: String? = nil
    ) async throws -> Answer {
        try await send(.post, path, Array(body.text.utf8), key: key, bearer: bearer, from: peer)
    }

    /// Posts an empty object under idempotency keys as they stand, those no client library would send among them.
    func sendRaw(_ path: String, bearer: String, keys: [String]) async throws -> Answer {
        try await respond(
            to: .post,
            path,
            Array("{}".utf8),
            headers: [("Host", "localhost"), ("Authorization", "Bearer \(bearer)")]
                + keys.map { ("Idempotency-Key", $0) }
        )
    }

    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: [UInt8] = [],
        key: String? = TestService.apiKey,
        bearer: String? = nil,
        host: String = "localhost",
        headers extra: HTTPFields = [:],
        from peer: String? = nil
    ) async throws -> Answer {
        var headers = extra
        if headers[.contentType] == nil { headers[.contentType] = "application/json" }
        if let bearer { headers[.authorization] = "Bearer \(bearer)" }
        let uri = key.map { "\(path)\(path.contains("?") ? "&" : "?")key=\($0)" } ?? path
        return try await respond(
            to: method,
            uri,
            body,
            headers: [("Host", host)] + headers.map { ($0.name.rawName, $0.value) },
            from: peer
        )
    }

    private func respond(
        to method: HTTPRequest.Method,
        _ target: String,
        _ body: [UInt8],
        headers: [(String, String)],
        from peer: String? = nil
    ) async throws -> Answer {
        let response = await responder.respond(
            to: ServerRequest(
                method: method,
                target: target,
                headers: HTTPHeaders(headers),
                body: body.count > Self.bodyBytesMax ? .tooLarge : .complete(ByteBuffer(bytes: body)),
                peer: try peer.map { try SocketAddress(ipAddress: $0, port: 1) }
            )
        )
        let bytes = Array(response.body.readableBytesView)
        var fields = HTTPFields()
        for (name, value) in response.headers {
            fields.append(HTTPField(name: try #require(.init(name)), value: value))
        }
        return Answer(
            status: Int(response.status.code),
            headers: fields,
            text: String(decoding: bytes, as: UTF8.self),
            json: (try? JSONValue(parsing: bytes)) ?? .null
        )
    }
}

/// Gives all tests of a suite one `TestAPI`, which `TestAPI.shared` returns.
struct APITrait: SuiteTrait, TestScoping {
    let settings: JSONValue
    let callers: any CallerAuthentication

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await TestAPI.with(settings: settings, callers: callers) { api in
            try await TestAPI.$ofSuite.withValue(api) { try await function() }
        }
    }
}

extension Trait where Self == APITrait {
    /// One API for the suite, with every method on and addresses not protected.
    static var api: Self { .api() }

    static func api(
        settings: JSONValue = ProjectSettings.developmentDefaults,
        callers: any CallerAuthentication = RegisteredCallers()
    ) -> Self {
        APITrait(settings: settings, callers: callers)
    }
}

/// The payload of a compact JWT, unverified.
func payload(of token: JSONValue?) throws -> JSONValue {
    try payload(of: token?.string)
}

/// The payload of a compact JWT, unverified.
func payload(of token: String?) throws -> JSONValue {
    let parts = (token ?? "").split(separator: ".", omittingEmptySubsequences: false)
    try #require(parts.count == 3)
    return try JSONValue(parsing: try #require(Base64URL.decode(parts[1])))
}
