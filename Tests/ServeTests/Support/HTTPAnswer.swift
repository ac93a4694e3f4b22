import HTTPClient
import JSON
import NIOHTTP1

/// The answer that came back over the socket.
struct HTTPAnswer: Sendable {
    let status: Int
    let headers: HTTPHeaders
    let text: String
    /// `null` when the body is no JSON.
    let json: JSONValue

    /// The code of an envelope, without its explanation; `nil` for a success.
    var code: String? {
        json["error"]?["message"]?.string.map { $0.split(separator: " ").first.map(String.init) ?? "" }
    }
}

extension ServeProcess {
    static let apiKey = "AIza-test-key-of-the-project"

    /// The same process at another of its addresses.
    func at(_ url: String) -> ServeProcess {
        ServeProcess(url: url, processID: processID, log: log)
    }

    /// Posts `body` as JSON with the project's API key.
    func post(_ path: String, _ body: JSONValue) async throws -> HTTPAnswer {
        try await send(.POST, path, body)
    }

    /// - Throws: when no answer comes back, or none within the time in which a server that is not stuck gives one.
    func send(
        _ method: HTTPMethod,
        _ path: String,
        _ body: JSONValue? = nil,
        key: String? = ServeProcess.apiKey,
        authorization: String? = nil,
        headers: HTTPHeaders = [:]
    ) async throws -> HTTPAnswer {
        let query = key.map { "\(path.contains("?") ? "&" : "?")key=\($0)" } ?? ""
        var headers = headers
        if let authorization { headers.add(name: "Authorization", value: authorization) }
        if body != nil { headers.add(name: "Content-Type", value: "application/json") }
        let response = try await HTTPTransport.shared.response(
            to: HTTPTransport.Request(
                method.rawValue,
                url + path + query,
                fields: headers.map { ($0.name, $0.value) },
                body: body.map { Array($0.text.utf8) } ?? [],
                responseBody: .collected(bytesMax: 1 << 20),
                deadline: .now + .seconds(600)
            )
        )
        return HTTPAnswer(
            status: response.status,
            headers: HTTPHeaders(response.fields.map { ($0.name, $0.value) }),
            text: String(decoding: response.body, as: UTF8.self),
            json: (try? JSONValue(parsing: response.body)) ?? .null
        )
    }

    /// The status of the answer to a GET request over a Unix socket.
    func status(of path: String, overSocket socket: String) async throws -> Int {
        var request = HTTPTransport.Request(
            "GET",
            "http://localhost\(path)",
            responseBody: .ignored,
            deadline: .now + .seconds(600)
        )
        request.destination = .unixSocket(path: socket)
        return try await HTTPTransport.shared.response(to: request).status
    }
}
