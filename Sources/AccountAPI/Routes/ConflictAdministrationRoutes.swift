import AccountLinking
package import AccountOperations
import HTTPTypes
package import JSON

// Conflicts for administrators, who need no handle. The id of a conflict is not a secret.

extension Route {
    static let conflictAdministration: [Route] = [
        Route(.get, path, access: .administrator) { request in
            let page = try await request.operations.conflicts.conflicts(
                try request.conflictFilter(),
                after: request.query["pageToken"],
                count: try request.conflictCount(),
                tenant: request.tenant
            )
            guard let page else { throw Problem(.malformedRequest, "`pageToken` is not a token of this list.") }
            return .object { writer in
                writer.field("conflicts", objects: page.conflicts) { $0.fields(of: $1) }
                writer.field("nextPageToken", page.next)
            }
        },
        Route(.get, item, access: .administrator) { request in
            let conflict = try await request.operations.conflicts.conflict(request.conflictID, tenant: request.tenant)
            guard let conflict else { throw Problem(.conflictUnknown) }
            return .reported(conflict)
        },
        Route(.post, item + "/decline", access: .administrator) { request in
            let declined = try await request.operations.conflicts
                .decline(
                    request.conflictID,
                    expectedVersion: request.expectedVersion.version(),
                    tenant: request.tenant
                )
            var response = APIResponse.reported(declined.conflict)
            response.decision = declined.decision
            return response
        },
    ]

    private static let path = "/concord/v1/conflicts"
    private static let item = path + "/{id}"
}

extension APIRequest {
    fileprivate var conflictID: String { captures["id"] ?? "" }

    fileprivate func conflictCount() throws(Problem) -> Int {
        guard let text = query["pageSize"] else { return ConflictAdministration.countByDefault }
        guard let count = Int(text), (1...ConflictAdministration.countMax).contains(count) else {
            throw Problem(
                .malformedRequest,
                "`pageSize` must be a number from 1 to \(ConflictAdministration.countMax)."
            )
        }
        return count
    }

    fileprivate func conflictFilter() throws(Problem) -> ConflictFilter {
        var filter = ConflictFilter()
        filter.state = try filtered(
            by: "state",
            "one of \(ConflictFacts.ShownState.allCases.map(\.rawValue).joined(separator: ", "))",
            ConflictFacts.ShownState.init(rawValue:)
        )
        filter.user = try filtered(by: "localId", "a uid", UserID.init)
        filter.provider = try filtered(by: "providerId", "the id of a provider", ProviderID.init)
        filter.kind = try filtered(
            by: "kind",
            "one of \(ConflictKind.allCases.map(\.rawValue).joined(separator: ", "))",
            ConflictKind.init(rawValue:)
        )
        filter.openedSince = try filtered(by: "openedSince", "an RFC 3339 time", RFC3339.instant)
        filter.openedBefore = try filtered(by: "openedBefore", "an RFC 3339 time", RFC3339.instant)
        return filter
    }

    /// The value of a query parameter; `nil` if it is absent.
    private func filtered<Value>(
        by name: String,
        _ expected: String,
        _ parse: (String) -> Value?
    ) throws(Problem) -> Value? {
        guard let text = query[name] else { return nil }
        guard let value = parse(text) else { throw Problem(.malformedRequest, "`\(name)` must be \(expected).") }
        return value
    }
}

extension APIResponse {
    fileprivate static func reported(_ conflict: ReportedConflict) -> APIResponse {
        .object(version: conflict.version) { writer in writer.fields(of: conflict) }
    }
}

extension JSONWriter {
    /// A conflict as operators see it, on the wire and in a command's JSON.
    package mutating func fields(of conflict: ReportedConflict) {
        field("id", conflict.id)
        field("localId", conflict.user.rawValue)
        field("state", conflict.state.rawValue)
        field("kind", conflict.kind.rawValue)
        field("providerId", conflict.provider.rawValue)
        field("email", conflict.maskedEmail)
        field("accountMethod", conflict.accountMethod.rawValue)
        field("openTime", RFC3339.text(conflict.openedAt))
        field("expireTime", RFC3339.text(conflict.expiresAt))
        field("closeTime", conflict.closedAt.map { RFC3339.text($0) })
        field("proofsStarted", Int64(conflict.proofsStarted))
        if let proof = conflict.proof {
            field("proof") { writer in
                writer.field("kind", proof.binding.kind.rawValue)
                writer.field("attemptsLeft", Int64(max(0, ConflictProofFacts.attemptsMax - proof.attempts)))
                writer.field("expireTime", RFC3339.text(proof.expiresAt))
            }
        }
    }
}
