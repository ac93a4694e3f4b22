import Foundation

@testable import ConcordAuth

/// A server that a test writes: a closure for each path. It records every request, and every request without a
/// deadline.
final class ScriptedTransport: HTTPTransport {
    typealias Answer = @Sendable (HTTPRequest) async throws -> HTTPResponse

    private struct State {
        var answers: [String: Answer] = [:]
        var requests: [HTTPRequest] = []
    }

    private let state = Locked(State())

    var requests: [HTTPRequest] { state.with { $0.requests } }
    var withoutDeadline: Int { requests.count { !($0.timeout > 0 && $0.timeout <= Rig.patience) } }

    /// Requests of a path.
    func count(_ path: String) -> Int { requests.count { $0.url.path == path } }

    /// Sets the answer of a path.
    func on(_ path: String, _ answer: @escaping Answer) { state.with { $0.answers[path] = answer } }

    func on(_ path: String, _ status: Int = 200, _ body: JSONValue, headers: [String: String] = [:]) {
        on(path) { _ in .json(status, body, headers: headers) }
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let answer = state.with { state in
            state.requests.append(request)
            return state.answers[request.url.path]
        }
        guard let answer else { throw URLError(.cannotConnectToHost) }
        return try await answer(request)
    }
}

extension HTTPResponse {
    static func json(_ status: Int = 200, _ body: JSONValue, headers: [String: String] = [:]) -> HTTPResponse {
        let bytes = (try? JSONEncoder().encode(body)) ?? Data()
        let type = ["Content-Type": "application/json"]
        return HTTPResponse(status: status, headers: headers.merging(type) { own, _ in own }, body: bytes)
    }

    /// An error of the compatible API.
    static func error(_ message: String, status: Int = 400) -> HTTPResponse {
        .json(status, ["error": ["code": .integer(Int64(status)), "message": .string(message)]])
    }
}

extension HTTPRequest {
    var json: JSONValue { body.flatMap(JSONValue.parse) ?? .null }
    var form: [String: String] { body.flatMap { FormEncoding.fields(String(decoding: $0, as: UTF8.self)) } ?? [:] }
}
