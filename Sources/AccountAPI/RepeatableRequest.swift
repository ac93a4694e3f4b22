import AccountOperations
import JSON

// Requests that a client may retry after a lost answer: those with an Idempotency-Key
// (draft-ietf-httpapi-idempotency-key-header).

extension APIRequest {
    /// Runs an operation of one of Concord's own routes and answers with its outcome. If a request was applied before
    /// under the same key, its stored answer is sent.
    ///
    /// - `credential`: the credential of the caller, so that keys of different callers differ; empty for a session,
    ///   because its account stores the answer.
    /// - `response`: the answer to a success.
    func answer<Value: Sendable>(
        boundTo credential: String,
        as response: @escaping @Sendable (Value) -> APIResponse,
        _ operation: (IdempotentRequest<Value>?) async throws -> Value
    ) async throws -> APIResponse {
        let idempotent = try idempotencyKey().map { key in
            IdempotentRequest<Value>(
                key: key,
                credential: credential,
                route: route + JSONValue.object(captures.mapValues(JSONValue.string)).text,
                request: body.json.text
            ) { response($0).stored }
        }
        do {
            return response(try await operation(idempotent))
        } catch Denial.answeredBefore(let stored) {
            return try APIResponse(stored: stored)
        }
    }

    /// Returns a change of the resource under the preconditions of the request.
    func change<Value>(_ idempotent: IdempotentRequest<Value>?) throws(Problem) -> ChangeRequest<Value> {
        ChangeRequest(tenant: tenant, expectedVersion: try expectedVersion.version(), idempotent: idempotent)
    }

    private func idempotencyKey() throws(Problem) -> IdempotencyKey? {
        guard let text = idempotencyKeys.first else { return nil }
        guard idempotencyKeys.count == 1, let key = IdempotencyKey(text) else {
            throw Problem(.malformedRequest, "Idempotency-Key must be one value of 1 to 255 visible ASCII characters.")
        }
        return key
    }
}

extension APIResponse {
    /// The stored form of the answer.
    fileprivate var stored: [UInt8] {
        JSONWriter.object { writer in
            writer.field("isAccepted", isAccepted)
            writer.field("version", version)
            writer.field("decision", decision?.text)
            writer.field("body", String(decoding: body, as: UTF8.self))
        }
    }

    fileprivate init(stored: [UInt8]) throws {
        let fields = try JSONValue(parsing: stored)
        guard let body = fields["body"]?.string, let isAccepted = fields["isAccepted"]?.bool else {
            throw UnreadableStoredResponse()
        }
        self.init(json: Array(body.utf8))
        self.isAccepted = isAccepted
        self.version = fields["version"]?.integer
        self.decision = fields["decision"]?.string.flatMap { DecisionID($0) }
    }
}

/// A stored answer in a form that this version cannot read.
struct UnreadableStoredResponse: Error, Sendable {}
