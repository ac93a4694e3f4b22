import AsyncHTTPClient
import JSON
import NIOCore
import NIOHTTP1

/// Sends and receives JSON over HTTP.
struct HTTPCaller: Sendable {
    /// The address to which paths are appended, without a slash at the end.
    let url: String

    struct Answer: Sendable {
        let status: Int
        /// The body; `null` if it is not JSON.
        let json: JSONValue

        /// The answer in a few words: the error's message, if there is one.
        var summary: String {
            let message = json["error"]?["message"]?.string ?? json["errorMessage"]?.string
            return message.map { "\(status) \($0)" }
                ?? "\(status) with \(json.object?.keys.sorted().joined(separator: ", ") ?? "no JSON object")"
        }
    }

    /// - Throws: if no answer arrives.
    func send(
        _ method: HTTPMethod,
        _ path: String,
        _ body: [String: JSONValue]? = nil,
        bearer: String? = nil
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url + path)
        request.method = method
        if let bearer { request.headers.add(name: "Authorization", value: "Bearer \(bearer)") }
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: JSONValue.object(body).text))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return Answer(
            status: Int(response.status.code),
            json: (try? JSONValue(parsing: Array(bytes.readableBytesView))) ?? .null
        )
    }
}
