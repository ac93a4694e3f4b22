import AsyncHTTPClient
import JSON
import NIOCore
import NIOHTTP1
import NIOPosix

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
        var request = HTTPClientRequest(url: url + path + query)
        request.method = method
        request.headers = headers
        if let authorization { request.headers.add(name: "Authorization", value: authorization) }
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body.text))
        }
        let response = try await httpClient.execute(request, timeout: .minutes(10))
        let bytes = Array(try await response.body.collect(upTo: 1 << 20).readableBytesView)
        return HTTPAnswer(
            status: Int(response.status.code),
            headers: response.headers,
            text: String(decoding: bytes, as: UTF8.self),
            json: (try? JSONValue(parsing: bytes)) ?? .null
        )
    }
}

/// Lives as long as the tests. As many connections as there are callers: none waits for another's answer.
private let httpClient: HTTPClient = {
    var configuration = HTTPClient.Configuration()
    configuration.httpVersion = .http1Only
    // Earlier than the server closes idle connections.
    configuration.connectionPool.idleTimeout = .seconds(5)
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 128
    configuration.connectionPool.retryConnectionEstablishment = false
    return HTTPClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
}()
