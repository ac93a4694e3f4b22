import Foundation

/// One call of the server's API, with the type of its answer.
struct Call<Answer: Decodable & Sendable>: Sendable {
    enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    var method: Method
    /// The path after the server's address, for example `/v1/accounts:lookup`.
    var path: String
    var query: [URLQueryItem] = []
    var headers: [String: String] = [:]
    var body: JSONValue?
    /// The body in form encoding, instead of ``body``.
    var form: [String: String]?
    /// The secret of the `Authorization` field: an ID token, or the handle of a conflict.
    var bearer: String?
    /// Returns true if sending the request twice has the effect of sending it once.
    var isRepeatable: Bool
    /// The `Idempotency-Key` of the request. A call that has one may be sent again.
    var idempotencyKey: String?

    var mayBeSentAgain: Bool { isRepeatable || idempotencyKey != nil }

    static func get(_ path: String, query: [URLQueryItem] = [], bearer: String? = nil) -> Call {
        Call(method: .get, path: path, query: query, bearer: bearer, isRepeatable: true)
    }

    static func post(_ path: String, _ body: [String: JSONValue?] = [:], bearer: String? = nil) -> Call {
        Call(method: .post, path: path, body: .members(body), bearer: bearer, isRepeatable: false)
    }

    static func delete(_ path: String, bearer: String? = nil) -> Call {
        Call(method: .delete, path: path, bearer: bearer, isRepeatable: false)
    }
}

/// An answer whose members do not matter.
struct Nothing: Decodable, Sendable {
    init() {}
    init(from decoder: any Decoder) throws {}
}

/// A decoded answer, with the parts of the HTTP answer that matter to some calls.
struct Answered<Value: Sendable>: Sendable {
    let value: Value
    let status: Int
    /// The version of the resource, for `If-Match`.
    let entityTag: String?
    /// The decision that the server applied, from `Concord-Decision`.
    let decision: String?
    /// The server's time, from `Date`.
    let serverTime: Date?
}
