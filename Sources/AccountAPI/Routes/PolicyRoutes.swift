import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `GET /concord/v1/policy`: the current rules, or with `version`, former ones.
    static let policy = Route(.get, "/concord/v1/policy", access: .administrator) { request in
        var version: Int64?
        if let text = request.query["version"] {
            guard let number = Int64(text), number > 0 else {
                throw Problem(.malformedRequest, "`version` must be a positive number.")
            }
            version = number
        }
        guard let policy = try await request.operations.policy(at: version) else {
            throw Problem(.noSuchRoute, "The configuration has no such version.")
        }
        return .policy(policy)
    }

    /// `PUT /concord/v1/policy`: replaces both tables as a whole, or names every mistake in them.
    static let replacePolicy = Route(.put, "/concord/v1/policy", access: .administrator) { request in
        let expectedVersion = try request.expectedVersion.version()
        let tables = ["emailTrust", "conflictProofs"]
        var mistakes = request.body.names.subtracting(tables).sorted()
            .map { "\($0.prefix(64)) is not part of the policy" }
        let body = JSONValue.object(["concord": request.body.json])
        do {
            let change = try ProjectConfigChange(
                body: body,
                mask: tables.map { "concord." + $0 }.joined(separator: ",")
            )
            if mistakes.isEmpty {
                let outcome = try await request.operations.replacePolicy(
                    change,
                    by: request.administrator ?? .emulator,
                    expectedVersion: expectedVersion
                )
                switch outcome {
                case .failure(.versionMismatch): throw Problem(.versionMismatch)
                case .failure(.testPhoneNumberInUse), .failure(.imageMissing): throw Problem(.internalError)
                case .success(let policy): return .policy(policy)
                }
            }
        } catch let found as ProjectConfigChange.Mistakes {
            mistakes += found.all.map(\.text)
        }
        var problem = Problem(.invalidPolicy)
        problem.errors = mistakes
        throw problem
    }
}

extension APIResponse {
    fileprivate static func policy(_ policy: StoredPolicy) -> APIResponse {
        .object(version: policy.version) { writer in
            writer.field("version", policy.version)
            writer.field("linkPolicy", policy.linkPolicy)
            writer.field("emailTrust", JSONValue.array(policy.emailTrust.map(\.json)))
            writer.field("emailTrustByDefault", JSONValue.array(policy.emailTrustByDefault.map(\.json)))
            writer.field("conflictProofs", JSONValue.array(policy.conflictProofs.map(\.json)))
        }
    }
}
