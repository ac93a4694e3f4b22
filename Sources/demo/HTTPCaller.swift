import HTTPClient
import JSON
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
        var fields: [(name: String, value: String)] = []
        if let bearer { fields.append(("Authorization", "Bearer \(bearer)")) }
        if body != nil { fields.append(("Content-Type", "application/json")) }
        let request = HTTPTransport.Request(
            method.rawValue,
            url + path,
            fields: fields,
            body: body.map { Array(JSONValue.object($0).text.utf8) } ?? [],
            responseBody: .collected(bytesMax: 1 << 20),
            deadline: .now + .seconds(20)
        )
        let response = try await HTTPTransport.shared.response(to: request)
        return Answer(status: response.status, json: (try? JSONValue(parsing: response.body)) ?? .null)
    }
}
