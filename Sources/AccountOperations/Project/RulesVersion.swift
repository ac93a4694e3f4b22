import AccountLinking
package import AccountStore
import JSON
package import Postgres

extension AccountStore {
    /// Number of changes that `rulesVersion` looks back over.
    private static let changesMax: Int64 = 50

    /// The first version since which only the look of pages and messages has changed: the version that proofs of
    /// conflicts are bound to. One round trip.
    ///
    /// It depends on the stored history alone, so every server has the same one, also after a restart. After more than
    /// `changesMax` changes of the look in a row, each further one counts as a change of the rules.
    package func rulesVersion(of project: ProjectRecord) async throws(PostgresError) -> Int64 {
        let newest = try await projectVersions(
            after: project.version - Self.changesMax - 1,
            countMax: Int(2 * Self.changesMax)
        )
        // A change that was stored after `project` was read does not count.
        let versions = newest.filter { $0.version <= project.version }
        var first = project.version
        for (later, earlier) in zip(versions, versions.dropFirst()) {
            guard later.version == first, earlier.version == first - 1, later.providerChanges.isEmpty,
                later.settings.withoutLook == earlier.settings.withoutLook
            else { break }
            first = earlier.version
        }
        return first
    }
}

extension JSONValue {
    /// Settings that no rule reads: how pages and messages look.
    private static let look = [["concord", "branding"], ["concord", "displayName"]]

    fileprivate var withoutLook: JSONValue {
        Self.look.reduce(self) { settings, path in settings.setting(nil, at: path[...]) }
    }
}
