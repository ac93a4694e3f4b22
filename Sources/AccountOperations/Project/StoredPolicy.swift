package import AccountLinking
import AccountStore
package import JSON

/// The two tables of the policy, as a version of the project's configuration has them.
package struct StoredPolicy: Sendable, Hashable {
    package let version: Int64
    /// An operator's own rules, which stand beside those that hold anyway.
    package let emailTrust: [EmailTrustRule]
    package let conflictProofs: [ConflictProofRule]
    /// The preset and the value of each rule that it governs, by the names of the configuration's fields.
    package let linkPolicy: JSONValue
    /// The rules of trust that hold where the operator has none for the same scope.
    package let emailTrustByDefault: [EmailTrustRule]

    init(version: Int64, settings: JSONValue) {
        self.version = version
        let shown = ProjectConfigChange.shown(settings)["linkPolicy"] ?? .object([:])
        linkPolicy = shown
        let table = shown["emailTrust"]?.string.flatMap(LinkPolicyPreset.init(rawValue:)) ?? .strict
        emailTrustByDefault = EmailTrustBase.preset.table(of: table).rules
        // What is stored was read before, so nothing is wrong with it.
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
    /// The policy as it is stored now, whatever this server has in memory, or as it was at `version`. One round trip.
    /// - Returns: `nil` where there never was such a version.
    package func policy(at version: Int64?) async throws -> StoredPolicy? {
        guard let version else {
            return try await store.project().map {
                StoredPolicy(version: $0.project.version, settings: $0.project.settings)
            }
        }
        return try await store.projectSettings(at: version).map { StoredPolicy(version: version, settings: $0) }
    }
}
