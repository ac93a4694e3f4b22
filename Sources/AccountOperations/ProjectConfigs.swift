package import AccountLinking
import AccountStore
package import JSON

package enum ProjectConfigDenial: Error, Sendable, Hashable {
    /// An account owns the number, so it cannot become a test number.
    case testPhoneNumberInUse(PhoneNumber)
    /// The settings would name an image that is not stored.
    case imageMissing(String)
    /// The caller has seen another version than the one in force.
    case versionMismatch
}

extension AccountOperations {
    /// The settings as stored now, not as cached by this server.
    package func projectConfig() async throws -> JSONValue {
        guard let (project, _) = try await store.project() else { throw MissingProject() }
        return project.settings
    }

    /// Changes the settings. This server uses them at once if it can read them again, others within
    /// `ProjectCache.stalenessSeconds`.
    ///
    /// Concurrent changes of different fields all survive, from any number of servers.
    /// - `administrator`: author of the new version.
    /// - `expectedVersion`: version that the caller has seen; `nil` accepts any.
    package func updateProjectConfig(
        _ change: ProjectConfigChange,
        by administrator: Administrator,
        expectedVersion: Int64? = nil
    ) async throws -> Result<JSONValue, ProjectConfigDenial> {
        try await write(change, by: administrator, expectedVersion: expectedVersion).map(\.settings)
    }

    /// Changes tables of the policy, like `updateProjectConfig`.
    /// - Returns: the policy as this change left it, even if it has changed again since.
    package func replacePolicy(
        _ change: ProjectConfigChange,
        by administrator: Administrator,
        expectedVersion: Int64? = nil
    ) async throws -> Result<StoredPolicy, ProjectConfigDenial> {
        try await write(change, by: administrator, expectedVersion: expectedVersion).map {
            StoredPolicy(version: $0.version, settings: $0.settings)
        }
    }

    /// Changes the settings to a logo, or to none, like `updateProjectConfig`.
    /// - `logo`: `nil` removes the logo.
    /// - Returns: the version in force.
    package func replaceLogo(
        _ place: LogoPlace,
        with logo: LogoImage?,
        by administrator: Administrator,
        expectedVersion: Int64? = nil
    ) async throws -> Result<Int64, ProjectConfigDenial> {
        let image = logo.map { $0.stored(at: effects.now()) }
        let change = ProjectConfigChange(field: place.field, value: image.map { .string($0.digest) })
        return try await write(
            change,
            by: administrator,
            expectedVersion: expectedVersion,
            images: image.map { [$0] } ?? []
        ).map(\.version)
    }

    /// - Returns: the project as written.
    private func write(
        _ change: ProjectConfigChange,
        by administrator: Administrator,
        expectedVersion: Int64?,
        images: [ProjectImage] = []
    ) async throws -> Result<ProjectRecord, ProjectConfigDenial> {
        let outcome = try await store.changeProjectSettings(
            at: effects.now(),
            by: Attribution(author: String(administrator.author.prefix(Attribution.lengthMax))),
            expectedVersion: expectedVersion,
            images: images
        ) { change.change(of: $0) }
        switch outcome {
        // The change names no provider.
        case .missing, .providerNotRegistered: throw MissingProject()
        case .otherVersion: return .failure(.versionMismatch)
        case .phoneNumberOwned(let number): return .failure(.testPhoneNumberInUse(number))
        case .imageMissing(let digest): return .failure(.imageMissing(digest))
        case .written(let project), .unchanged(let project):
            for image in images { logos.forgetAbsence(of: image.digest) }
            await self.project.takeNoteOfStoredChange()
            return .success(project)
        }
    }
}

/// The project existed when this server started, and is gone.
private struct MissingProject: Error {}

extension ProjectConfigChange {
    /// The settings after the change, and the numbers that no account may own for it.
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
