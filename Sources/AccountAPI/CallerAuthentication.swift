package import AccountOperations

/// Authenticates the caller by an API key and a bearer token (docs/reference/protocol.md, "Callers").
package protocol CallerAuthentication: Sendable {
    /// Returns true if `apiKey` names the project.
    func accepts(apiKey: String, operations: AccountOperations) -> Bool
    /// The administrator whose token `token` is; `nil` if no administrator has this token.
    func administrator(bearer token: String, operations: AccountOperations) async throws -> Administrator?
}

extension CallerAuthentication {
    package func accepts(apiKey: String, operations: AccountOperations) -> Bool {
        operations.project.holds(apiKey: apiKey)
    }
}

/// The callers of production: registered API keys, and bearer tokens of registered service accounts.
package struct RegisteredCallers: CallerAuthentication {
    package init() {}

    package func administrator(bearer token: String, operations: AccountOperations) async throws -> Administrator? {
        try await operations.serviceAccount(accessToken: token)
    }
}

/// The callers of the administrators' listener: as production, and `owner` as administrator, because reaching the
/// listener is the credential.
package struct OperatorCallers: CallerAuthentication {
    package init() {}

    package func administrator(bearer token: String, operations: AccountOperations) async throws -> Administrator? {
        if token == "owner" { return .owner }
        return try await operations.serviceAccount(accessToken: token)
    }
}

/// The callers of `concord dev`: any API key, `owner` as administrator, and service accounts as in production.
///
/// INVARIANT: constructed by the `dev` command only; `serve` has no way to reach it.
package struct DevelopmentCallers: CallerAuthentication {
    package init() {}

    package func accepts(apiKey: String, operations: AccountOperations) -> Bool { !apiKey.isEmpty }

    package func administrator(bearer token: String, operations: AccountOperations) async throws -> Administrator? {
        if token == "owner" { return .owner }
        return try await operations.serviceAccount(accessToken: token)
    }
}
