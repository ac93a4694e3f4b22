import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `GET /concord/v1/decisions/{id}`: why Concord decided so. Operators see everything that is stored. Other callers
    /// with the name of a decision see only what they could see when it was taken.
    static let decision = Route(.get, "/concord/v1/decisions/{decision}", access: .client) { request in
        let id = request.captures["decision"].flatMap { DecisionID($0) }
        switch request.caller {
        case .administrator:
            guard let id, let decision = try await request.operations.decision(id) else {
                throw Problem(.noSuchRoute, "The decision does not exist.")
            }
            return .object { writer in writer.fields(of: decision) }
        case .client:
            guard let id, let summary = try await request.operations.decisionSummary(id) else {
                throw Problem(.noSuchRoute, "The decision does not exist.")
            }
            return .object { writer in
                writer.field("decisionId", summary.id.text)
                writer.field("decisionTime", RFC3339.text(summary.occurredAt))
                writer.field("outcome", summary.outcome.rawValue)
            }
        }
    }

    /// `GET /concord/v1/decisions?localId=`: the decisions about an account, the newest first.
    static let decisions = Route(.get, "/concord/v1/decisions", access: .administrator) { request in
        guard let user = request.query["localId"].flatMap(UserID.init) else {
            throw Problem(.malformedRequest, "`localId` is required.")
        }
        guard let size = Int(request.query["pageSize"] ?? "50"), (1...100).contains(size) else {
            throw Problem(.malformedRequest, "`pageSize` must be a number from 1 to 100.")
        }
        var before: DecisionID?
        if let token = request.query["pageToken"] {
            guard let id = DecisionID(token) else {
                throw Problem(.malformedRequest, "`pageToken` is not a token of this list.")
            }
            before = id
        }
        let decisions = try await request.operations
            .decisions(about: user, tenant: request.tenant, before: before, countMax: size)
        return .object { writer in
            writer.field("decisions", objects: decisions) { $0.fields(of: $1) }
            if decisions.count == size { writer.field("nextPageToken", decisions.last?.id.text) }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func fields(of decision: ExplainedDecision) {
        field("decisionId", decision.id.text)
        field("decisionTime", RFC3339.text(decision.occurredAt))
        field("localId", decision.user.rawValue)
        field("kind", decision.kind)
        field("rule", decision.rule)
        field("policyVersion", decision.policyVersion)
        if decision.omitsFacts { field("omitsFacts", true) }
        field("provider", decision.provider)
        field("secondFactor", decision.secondFactor)
        field("questions", array: zip(decision.questions, decision.rulesToday)) { writer, question in
            let (kept, today) = question
            writer.object { writer in
                for name in ["rule", "answer", "facts", "policy", "alternatives"] { writer.field(name, kept[name]) }
                writer.field("ruleToday", today?.rawValue)
            }
        }
    }
}
