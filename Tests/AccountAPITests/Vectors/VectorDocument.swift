import AccountTestSupport
import Foundation
import HTTPTypes
import JSON
import Testing

/// The journeys of `clients/vectors.json`. `clients/VECTORS.md` describes the format.
struct VectorDocument {
    let root: JSONValue
    let journeys: [VectorJourney]

    init() throws {
        let root = try JSONValue(parsing: Array(try Self.text(of: "vectors.json").utf8))
        let shared = root["shared"] ?? [:]
        self.root = root
        journeys = try (root["journeys"]?.array ?? []).map { try VectorJourney(Self.expanded($0, shared)) }
    }

    static func text(of file: String) throws -> String {
        try String(contentsOfFile: AccountTestSupport.Repository.root + "/clients/" + file, encoding: .utf8)
    }

    /// The value with each shared step and exchange in its place.
    private static func expanded(_ value: JSONValue, _ shared: JSONValue) -> JSONValue {
        switch value {
        case .object(let members):
            if let name = members["$shared"]?.string { return expanded(shared[name] ?? .null, shared) }
            return .object(members.mapValues { expanded($0, shared) })
        case .array(let elements):
            return .array(elements.map { expanded($0, shared) })
        default:
            return value
        }
    }
}

struct VectorJourney: Sendable, CustomTestStringConvertible {
    let name: String
    /// True if no server answers so.
    let isForClients: Bool
    let setup: JSONValue
    let steps: [VectorStep]

    init(_ journey: JSONValue) throws {
        name = try #require(journey["name"]?.string)
        isForClients = journey["only"] == "client"
        setup = journey["setup"] ?? [:]
        steps = try (journey["steps"]?.array ?? []).map(VectorStep.init)
    }

    var testDescription: String { name }
}

enum VectorStep: Sendable {
    /// An event, with its members.
    case event(String, JSONValue)
    /// A call of the app: the exchanges that it causes, and those that a client may add.
    case call(operation: String, exchanges: [VectorExchange], count: Int)

    init(_ step: JSONValue) throws {
        if let event = step["event"]?.string {
            self = .event(event, step)
        } else {
            let exchanges = step["request"] == nil ? [] : [step] + (step["then"]?.array ?? [])
            self = .call(
                operation: try #require(step["operation"]?.string, "\(step.text)"),
                exchanges: try exchanges.map(VectorExchange.init),
                count: step["repeat"]?.integer.map { Int($0) } ?? 1
            )
        }
    }
}

struct VectorExchange: Sendable {
    let method: HTTPRequest.Method
    /// Text, or `$text` with values in it.
    let path: JSONValue
    let hasKey: Bool
    /// `bearer`, `query`, `body` and `form`.
    let request: JSONValue
    let status: Int
    let headers: [String: JSONValue]
    let body: JSONValue?

    init(_ exchange: JSONValue) throws {
        let request = try #require(exchange["request"])
        let answer = try #require(exchange["answer"], "\(request.text)")
        method = try #require(HTTPRequest.Method(request["method"]?.string ?? ""))
        path = try #require(request["path"])
        hasKey = request["key"] == true
        self.request = request
        status = Int(try #require(answer["status"]?.integer))
        headers = answer["headers"]?.object ?? [:]
        body = answer["body"]
        try #require(body != nil || answer["text"] != nil, "\(request.text)")
    }

    /// Returns true if the request is one of the operation `GET /path/{name}` of an OpenAPI document.
    func isRequest(of operation: String) -> Bool {
        let parts = path["$text"]?.array ?? [path]
        let filled = parts.map { $0.string ?? "{}" }.joined()
        let pattern = "\(method.rawValue) \(filled)"
        let wanted = operation.replacing(#/\{[^}]*\}/#, with: "{}")
        guard wanted != pattern else { return true }
        // A value in the path may also be written out.
        let (left, right) = (wanted.split(separator: "/"), pattern.split(separator: "/"))
        return left.count == right.count && zip(left, right).allSatisfy { $0 == $1 || $0 == "{}" }
    }
}
