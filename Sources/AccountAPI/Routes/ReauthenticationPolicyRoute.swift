import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

/// The kinds of accounts that need no reauthentication, by name.
private let exemptions: [String] = ["anonymous"]

extension Route {
    /// `GET /concord/v1/reauthentication-policy`: the maximum age of a sign-in for each sensitive operation, on these
    /// routes and on the compatible ones, so that an app can reauthenticate before a refusal.
    static let reauthenticationPolicy = Route(.get, "/concord/v1/reauthentication-policy", access: .anyone) { request in
        let policy = request.operations.project.settings.policy
        let limits = SensitiveOperation.allCases.compactMap { operation -> (SensitiveOperation, Int64)? in
            guard case .required(let seconds) = policy.reauthentication(for: operation) else { return nil }
            return (operation, seconds)
        }
        return .object { writer in
            writer.field("operations", objects: limits) { writer, limit in
                writer.field("operation", limit.0.rawValue)
                writer.field("maxAge", limit.1)
                writer.field("exemptions", exemptions)
            }
        }
    }
}
