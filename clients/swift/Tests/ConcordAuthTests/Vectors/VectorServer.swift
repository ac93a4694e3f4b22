import Foundation

@testable import ConcordAuth

/// Plays the server of one step: it checks requests against the step, and answers as the step says.
final class VectorServer: HTTPTransport {
    private struct Exchange {
        let request: JSONValue
        let answer: JSONValue
        var remaining: Int
    }

    private struct State {
        var values: VectorValues
        var exchanges: [Exchange] = []
        var problems: [String] = []
    }

    private let state: Locked<State>
    private let mayAdd: [String: JSONValue]

    init(mayAdd: [String: JSONValue], now: @escaping @Sendable () -> Date) {
        self.mayAdd = mayAdd
        state = Locked(State(values: VectorValues(now: now)))
    }

    var values: VectorValues {
        get { state.with { $0.values } }
        set { state.with { $0.values = newValue } }
    }

    /// Sets what may be sent now: the step's request, and those that may follow.
    func expect(_ main: JSONValue?, repeated: Int, then others: [JSONValue]) {
        state.with { state in
            state.problems = []
            state.exchanges = ([main].compactMap { $0 } + others).enumerated().compactMap { index, exchange in
                guard let request = exchange["request"], let answer = exchange["answer"] else { return nil }
                return Exchange(request: request, answer: answer, remaining: index == 0 && main != nil ? repeated : 1)
            }
        }
    }

    /// Differences since ``expect(_:repeated:then:)``, with a step's request that was not sent.
    func problems(needsMain: Bool) -> [String] {
        state.with { state in
            let isMissing = needsMain && (state.exchanges.first?.remaining ?? 0) > 0
            return state.problems + (isMissing ? ["the request was not sent"] : [])
        }
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try state.with { state in
            var differences: [String] = []
            for index in state.exchanges.indices where state.exchanges[index].remaining > 0 {
                if let difference = difference(request, state.exchanges[index].request, state.values) {
                    differences.append(difference)
                    continue
                }
                state.exchanges[index].remaining -= 1
                return try Self.answer(state.exchanges[index].answer, &state.values)
            }
            state.problems.append(
                "\(request.method) \(request.url.path): \(differences.first ?? "nothing is expected")"
            )
            throw URLError(.badServerResponse)
        }
    }

    private func difference(_ request: HTTPRequest, _ vector: JSONValue, _ values: VectorValues) -> String? {
        let expected = values.fill(vector)
        if let method = expected["method"]?.stringValue, method != request.method { return "the method is another" }
        let path = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.percentEncodedPath
        if expected["path"]?.stringValue != path { return "the path is not \(expected["path"]?.stringValue ?? "")" }
        if expected["key"] == true, request.headers["X-Goog-Api-Key"]?.isEmpty ?? true { return "the key is missing" }
        if let bearer = expected["bearer"]?.stringValue, request.headers["Authorization"] != "Bearer \(bearer)" {
            return "the bearer is another"
        }
        for (name, value) in expected["headers"]?.objectValue ?? [:]
        where request.headers[name] != value.stringValue { return "the header field \(name) is another" }
        if let query = expected["query"]?.objectValue {
            let items = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
            for (name, value) in query where items.first(where: { $0.name == name })?.value != value.stringValue {
                return "the query has another \(name)"
            }
        }
        if request.timeout <= 0 { return "there is no deadline" }
        if let form = expected["form"] {
            let sent = JSONValue.object(request.form.mapValues { .string($0) })
            return VectorComparison.difference(sent, form, mayAdd: mayAdd, at: "form")
        }
        let body = expected["body"] ?? [:]
        return VectorComparison.difference(request.body == nil ? [:] : request.json, body, mayAdd: mayAdd, at: "body")
    }

    private static func answer(_ answer: JSONValue, _ values: inout VectorValues) throws -> HTTPResponse {
        var headers: [String: String] = ["Content-Type": "application/json"]
        for (name, value) in answer["headers"]?.objectValue ?? [:] {
            headers[name] = values.makeUp(value).stringValue
        }
        let status = Int(answer["status"]?.integerValue ?? 200)
        if let text = answer["text"]?.stringValue {
            return HTTPResponse(status: status, headers: headers, body: Data(text.utf8))
        }
        return HTTPResponse(
            status: status,
            headers: headers,
            body: try JSONEncoder().encode(values.makeUp(answer["body"] ?? [:]))
        )
    }
}
