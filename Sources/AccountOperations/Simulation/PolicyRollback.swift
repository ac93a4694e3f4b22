package import AccountStore
import JSON
package import Postgres

/// A proposal that can be applied although it names logos that were deleted, and those logos.
package struct PolicyRollback: Sendable {
    /// The proposal without the deleted logos.
    package let proposal: PolicyProposal
    /// The fields of the deleted logos, with their digests.
    package let deleted: [(field: String, digest: String)]
}

extension AccountStore {
    /// Looks for logos of an earlier version that `proposal` names and that are no longer stored: only the newest logos
    /// are kept. A digest that no version had is not a rollback, and stays in the proposal.
    ///
    /// One round trip for each logo that the proposal changes, and one more if a logo is missing.
    package func rollback(
        by proposal: PolicyProposal,
        from present: ProjectRecord
    ) async throws(PostgresError) -> PolicyRollback {
        let unchanged = PolicyRollback(proposal: proposal, deleted: [])
        guard let settings = proposal.settings else { return unchanged }
        func logos(_ settings: JSONValue) -> [LogoPlace: String] {
            LogoPlace.allCases.reduce(into: [:]) { $0[$1] = settings[$1.field.path]?.string }
        }
        let proposed = logos(settings.applied(to: present.settings))
        guard proposed != logos(present.settings) else { return unchanged }
        var missing: [LogoPlace: String] = [:]
        for (place, digest) in proposed {
            guard try await !isStored(image: digest) else { continue }
            missing[place] = digest
        }
        guard !missing.isEmpty else { return unchanged }
        let known = Set(try await projectVersions(countMax: Self.comparedMax).flatMap { logos($0.settings).values })
        let deleted = LogoPlace.allCases.filter { missing[$0].map(known.contains) ?? false }
        return PolicyRollback(
            proposal: PolicyProposal(
                settings: settings.resetting(deleted.map(\.field)),
                providers: proposal.providers
            ),
            deleted: deleted.compactMap { place in missing[place].map { (place.field.name, $0) } }
        )
    }
}
