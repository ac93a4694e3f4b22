package import AccountLinking
import AccountStore
package import JSON

/// The two tables of the policy in one version of the project's configuration.
package struct StoredPolicy: Sendable, Hashable {
    package let version: Int64
    /// The operator's rules, which add to the built-in ones.
    package let emailTrust: [EmailTrustRule]
    package let conflictProofs: [ConflictProofRule]
    /// The preset, and the value of each rule that it governs, by the field names of the configuration.
    package let linkPolicy: JSONValue
    /// The built-in rules of trust. They apply if the operator has no rule for the same scope.
    package let emailTrustByDefault: [EmailTrustRule]

    init(version: Int64, settings: JSONValue) {
        self.version = version
        let shown = ProjectConfigChange.shown(settings)["linkPolicy"] ?? .object([:])
        linkPolicy = shown
        let table = shown["emailTrust"]?.string.flatMap(LinkPolicyPreset.init(rawValue:)) ?? .strict
        emailTrustByDefault = EmailTrustBase.preset.table(of: table).rules
        // Stored values were validated when they were written.
        var mistakes: [ProjectConfigMistake] = []
        emailTrust =
            settings[["concord", "emailTrust"]]
            .map { PolicyRuleReader.emailTrust($0, at: "", &mistakes) } ?? []
        conflictProofs =
            settings[["concord", "conflictProofs"]]
            .map { PolicyRuleReader.conflictProofs($0, at: "", &mistakes) } ?? []
    }
}

extension AccountOperations {
    /// The policy as stored now, not as cached by this server, or as it was at `version`. One round trip.
    /// - Returns: `nil` if the version never existed.
    package func policy(at version: Int64?) async throws -> StoredPolicy? {
        guard let version else {
            return try await store.project().map {
                StoredPolicy(version: $0.project.version, settings: $0.project.settings)
            }
        }
        return try await store.projectSettings(at: version).map { StoredPolicy(version: version, settings: $0) }
    }
}
