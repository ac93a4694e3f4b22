package import AccountLinking
package import AccountStore
package import Postgres

/// A version of the policy: its author, time, reason and changes.
package struct PolicyVersion: Sendable, Hashable {
    package let version: Int64
    package let changedAt: Timestamp
    package let attribution: Attribution
    /// Differences from the version before; empty for the first version.
    package let changes: [PolicyState.Change]
}

extension AccountStore {
    /// The newest `countMax` versions of the policy, newest first. One round trip.
    ///
    /// Registrations that were changed apart from the policy raise no version. They are not included.
    package func policyHistory(countMax: Int) async throws(PostgresError) -> [PolicyVersion] {
        // Read one more than is returned, to compare the last one with.
        let versions = try await projectVersions(countMax: countMax + 1)
        return versions.prefix(countMax).enumerated().map { index, version in
            let earlier = versions.dropFirst(index + 1).first
            let fields = earlier.map { PolicyState.Change.ofSettings($0.settings, version.settings) } ?? []
            let providers = version.providerChanges.sorted { $0.key < $1.key }.map { PolicyState.Change($0, $1) }
            return PolicyVersion(
                version: version.version,
                changedAt: version.changedAt,
                attribution: version.attribution,
                changes: fields + providers
            )
        }
    }
}
