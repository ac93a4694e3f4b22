public import Foundation

/// The time for which a sign-in allows a sensitive operation.
///
/// Source: `ReauthenticationPolicy` of `docs/openapi.json`.
public struct ReauthenticationRule: Sendable, Hashable, Decodable {
    /// The operation, such as `delete-account` or `remove-method`.
    public let operation: String
    /// Seconds that the sign-in of the session may be old.
    public let maxAge: Int
    /// Kinds of accounts that need no recent sign-in: `anonymous`.
    public let exemptions: [String]
}

/// The parts of the project's configuration that a sign-in form needs.
///
/// Source: `SignInPage` of `docs/openapi.json`.
public struct SignInOptions: Sendable, Hashable, Decodable {
    /// A way to sign in.
    public struct Method: Sendable, Hashable, Decodable {
        /// `password`, `emailLink`, `phone`, or a provider id.
        public let method: String
        /// The name of a provider that the project registered itself.
        public let displayName: String?
    }

    /// Sign-ups by clients.
    public struct SignUp: Sendable, Hashable, Decodable {
        /// True if clients may create accounts.
        public let allowed: Bool
        /// `mailbox` if an account with a password is created from a mail: ``PendingSignUp``. Otherwise `none`.
        public let requires: String
    }

    /// The first factors by which clients can sign in now.
    public let methods: [Method]
    /// Sign-ups by clients.
    public let signUp: SignUp
}

/// The outcome of a refused or allowed request, as its client may know it.
public struct DecisionSummary: Sendable, Hashable, Decodable {
    /// The decision's name: ``AuthError/decision``.
    public let decisionId: String
    /// The time of the decision.
    public let decisionTime: Date
    /// `signed-in`, `conflict`, `refused` or `changed`.
    public let outcome: String?
}

extension Auth {
    private struct Policy: Decodable, Sendable {
        let operations: [ReauthenticationRule]
    }

    /// Returns the time for which a sign-in allows each sensitive operation.
    public func reauthenticationRules() async throws(AuthError) -> [ReauthenticationRule] {
        let policy: Policy = try await backend.call(.get("/concord/v1/reauthentication-policy"))
        return policy.operations
    }

    /// Returns the sign-in methods of the project, for a form.
    public func signInOptions() async throws(AuthError) -> SignInOptions {
        try await backend.call(.get("/concord/v1/signIn"))
    }

    /// Returns the outcome of a decision.
    ///
    /// - Parameter id: ``AuthError/decision``.
    /// - Returns: The outcome.
    /// - Throws: `notFound` for a decision that the project does not keep.
    public func decision(_ id: String) async throws(AuthError) -> DecisionSummary {
        try await backend.call(.get("/concord/v1/decisions/" + segment(id)))
    }
}
