import AccountAPI
import AccountOperations
import AccountTestSupport
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JSON
import Logging
import NIOCore

/// The whole API over a database of its own, driven through Hummingbird's router.
struct TestAPI: Sendable {
    let service: TestService
    let client: any TestClientProtocol

    static func with(
        settings: JSONValue = ProjectSettings.developmentDefaults,
        callers: any CallerAuthentication = RegisteredCallers(),
        _ body: @Sendable (TestAPI) async throws -> Void
    ) async throws {
        try await TestService.with(settings: settings) { service in
            let handle = ServiceHandle()
            handle.state = .ready(service.operations, checkDatabase: { nil })
            let api = API(
                service: handle,
                callers: callers,
                limits: API.Limits(bodyBytesMax: 1 << 20, batchBodyBytesMax: 16 << 20),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let application = Application(responder: api.responder())
            try await application.test(.router) { client in
                try await body(TestAPI(service: service, client: client))
            }
        }
    }

    struct Answer: Sendable {
        let status: Int
        let headers: HTTPFields
        let text: String
        let json: JSONValue

        /// `error.message` of an envelope.
        var errorMessage: String? { json["error"]?["message"]?.string }
    }

    /// Posts `body` as JSON with the project's API key.
    func post(
        _ path: String,
        _ body: JSONValue,
        key: String? = TestService.apiKey,
        bearer: String? = nil
    ) async throws -> Answer {
        try await send(.post, path, Array(body.text.utf8), key: key, bearer: bearer)
    }

    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: [UInt8] = [],
        key: String? = TestService.apiKey,
        bearer: String? = nil,
        headers extra: HTTPFields = [:]
    ) async throws -> Answer {
        var headers = extra
        if headers[.contentType] == nil { headers[.contentType] = "application/json" }
        if let bearer { headers[.authorization] = "Bearer \(bearer)" }
        let uri = key.map { "\(path)\(path.contains("?") ? "&" : "?")key=\($0)" } ?? path
        return try await client.execute(uri: uri, method: method, headers: headers, body: ByteBuffer(bytes: body)) {
            response in
            let bytes = Array(response.body.readableBytesView)
            return Answer(
                status: Int(response.status.code),
                headers: response.headers,
                text: String(decoding: bytes, as: UTF8.self),
                json: (try? JSONValue(parsing: bytes)) ?? .null
            )
        }
    }

    /// Signs up with a password and returns the answer.
    func signUp(_ email: String, password: String = "correct horse") async throws -> JSONValue {
        try await post("/v1/accounts:signUp", ["email": .string(email), "password": .string(password)]).json
    }
}

/// The payload of a compact JWT, unverified.
func payload(of token: String?) throws -> JSONValue {
    let parts = (token ?? "").split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let bytes = Base64URL.decode(parts[1]) else { return .null }
    return try JSONValue(parsing: bytes)
}
