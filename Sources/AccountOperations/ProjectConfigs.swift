package import AccountLinking
import AccountStore
package import JSON

/// Why a change of the project configuration is not made.
package enum ProjectConfigDenial: Error, Sendable, Hashable {
    /// An account owns the number, so that it cannot become a fictional one.
    case testPhoneNumberInUse(PhoneNumber)
    /// The caller has seen another version than the one in force.
    case versionMismatch
}

extension AccountOperations {
    /// The settings as they are stored now, whatever this server has in memory.
    package func projectConfig() async throws -> JSONValue {
        guard let (project, _) = try await store.project() else { throw MissingProject() }
        return project.settings
    }

    /// Changes the settings: in use on this server at once, where it can read them again, and on others within
    /// `ProjectCache.stalenessSeconds`.
    ///
    /// Changes of different fields at once both survive, from however many servers. `administrator`: the author of the new
    /// version. `expectedVersion`: what the caller has seen; `nil` for any.
    package func updateProjectConfig(
        _ change: ProjectConfigChange,
        by administrator: Administrator,
        expectedVersion: Int64? = nil
    ) async throws -> Result<JSONValue, ProjectConfigDenial> {
        try await write(change, by: administrator, expectedVersion: expectedVersion).map(\.settings)
    }

    /// Changes tables of the policy; as `updateProjectConfig`.
    /// - Returns: the policy as this change left it, whoever changes it again since.
    package func replacePolicy(
        _ change: ProjectConfigChange,
        by administrator: Administrator,
        expectedVersion: Int64? = nil
    ) async throws -> Result<StoredPolicy, ProjectConfigDenial> {
        try await write(change, by: administrator, expectedVersion: expectedVersion).map {
            StoredPolicy(version: $0.version, settings: $0.settings)
        }
    }

    /// - Returns: the project as it was written.
    private func write(
        _ change: ProjectConfigChange,
        by administrator: Administrator,
        expectedVersion: Int64?
    ) async throws -> Result<ProjectRecord, ProjectConfigDenial> {
        let outcome = try await store.changeProjectSettings(
            at: effects.now(),
            by: Attribution(author: String(administrator.author.prefix(Attribution.lengthMax))),
            expectedVersion: expectedVersion
        ) { change.change(of: $0) }
        switch outcome {
        // No provider is named.
        case .missing, .providerNotRegistered: throw MissingProject()
        case .otherVersion: return .failure(.versionMismatch)
        case .phoneNumberOwned(let number): return .failure(.testPhoneNumberInUse(number))
        case .written(let project), .unchanged(let project):
            await self.project.takeNoteOfStoredChange()
            return .success(project)
        }
    }
}

/// The project was there when this server started and has gone since.
private struct MissingProject: Error {}

extension ProjectConfigChange {
    /// The settings that `stored` becomes, and the numbers that no account may have for them.
    package func change(of stored: JSONValue) -> (settings: JSONValue, numbersToBeFree: Set<PhoneNumber>) {
        let settings = applied(to: stored)
        return (settings, settings.testPhoneNumbers.subtracting(stored.testPhoneNumbers))
    }
}

extension JSONValue {
    fileprivate var testPhoneNumbers: Set<PhoneNumber> {
        let stored = self["signIn"]?["phoneNumber"]?["testPhoneNumbers"]?.object ?? [:]
        return Set(stored.keys.compactMap { PhoneNumber($0) })
    }
}
