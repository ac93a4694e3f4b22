package import AccountLinking
package import JSON
package import Postgres

/// The one project this database serves.
package struct ProjectRecord: Sendable, Hashable {
    package var projectID: String
    /// A project number in Google's form. It is no token's audience; clients read it as `projectId`.
    package var projectNumber: Int64
    /// The stored settings, in the wire format (docs/reference/project-configuration.md). Absent members have their
    /// defaults.
    package var settings: JSONValue
    /// Raised by every change of the settings.
    package var version: Int64

    package init(projectID: String, projectNumber: Int64, settings: JSONValue, version: Int64 = 1) {
        self.projectID = projectID
        self.projectNumber = projectNumber
        self.settings = settings
        self.version = version
    }
}

/// The author of a change of the project's configuration, and the reason.
package struct Attribution: Sendable, Hashable {
    /// The longest author and the longest reason that are stored, in characters.
    package static let lengthMax = 500

    /// `cli:USER@HOST`, `service-account:EMAIL/KEY-ID`, `owner` or `emulator`; `nil` if unknown.
    package var author: String?
    /// An operator's own words; `nil` if none were given.
    package var reason: String?

    package init(author: String?, reason: String? = nil) {
        self.author = author
        self.reason = reason
    }
}

struct ProjectConfigRow: RowDecodable {
    let record: ProjectRecord

    private static let columns = Columns<ProjectRecord>(
        of: "project_config",
        [
            Column("project_id", \.projectID), Column("project_number", \.projectNumber),
            Column("settings", \.settings), Column(read: "version", \.version),
        ]
    )

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        record = ProjectRecord(
            projectID: try values(\.projectID),
            projectNumber: try values(\.projectNumber),
            settings: try values(\.settings),
            version: try values(\.version)
        )
    }

    static let only = Query<ProjectConfigRow>(columns.select)

    /// Locks the project against other changes until the transaction ends.
    static let locked: Query<ProjectConfigRow> = "\(columns.select) FOR UPDATE"

    /// Replaces the settings of a project that was `locked` in the same transaction.
    static func update(_ record: ProjectRecord, at now: Timestamp) -> SQL {
        """
        UPDATE project_config
        SET settings = \(record.settings), version = \(record.version), updated_at = \(now)
        """
    }

    /// Stores a version that has just come into force.
    static func keepVersion(
        _ record: ProjectRecord,
        _ attribution: Attribution,
        providerChanges: [ProviderID: ProviderStateChange],
        at now: Timestamp
    ) -> SQL {
        ProjectVersionRow.columns.insert(
            ProjectVersion(
                version: record.version,
                settings: record.settings,
                changedAt: now,
                attribution: attribution,
                providerChanges: providerChanges
            )
        )
    }

    /// Stores the version a project was created with, unless it is stored already.
    static func keepFirstVersion(_ attribution: Attribution) -> SQL {
        """
        INSERT INTO project_config_versions (version, settings, changed_at, author, reason)
        SELECT version, settings, created_at, \(attribution.author), \(attribution.reason) FROM project_config
        ON CONFLICT (version) DO NOTHING
        """
    }

    /// Does nothing if a project exists.
    static func insertIfAbsent(_ record: ProjectRecord) -> SQL {
        "\(columns.insert(record))\nON CONFLICT (singleton) DO NOTHING"
    }
}

/// The settings of a version that is or was in force.
enum ProjectConfigVersionRow {
    static func numbered(_ version: Int64) -> Query<SingleValueRow<JSONValue>> {
        Query("SELECT settings FROM \(table: "project_config_versions") WHERE version = \(version)")
    }
}

/// A version that is or was in force, and who made it.
package struct ProjectVersion: Sendable, Hashable {
    package let version: Int64
    package let settings: JSONValue
    package let changedAt: Timestamp
    package let attribution: Attribution
    /// Providers that were enabled, disabled or removed with this version.
    package let providerChanges: [ProviderID: ProviderStateChange]
}

/// The states of a provider's registration before and after a version.
package struct ProviderStateChange: Sendable, Hashable {
    package var before: ProviderState
    package var after: ProviderState

    package init(before: ProviderState, after: ProviderState) {
        self.before = before
        self.after = after
    }
}

/// The state of a provider's registration.
package enum ProviderState: String, Sendable, Hashable {
    case enabled
    case disabled
    case notRegistered = "not registered"
}

extension [ProviderID: ProviderStateChange] {
    /// The value of the column; `nil` if nothing changed.
    fileprivate var stored: JSONValue? {
        guard !isEmpty else { return nil }
        let members = map { provider, change in
            let states: [String: JSONValue] = [
                "before": .string(change.before.rawValue), "after": .string(change.after.rawValue),
            ]
            return (provider.rawValue, JSONValue.object(states))
        }
        return .object([String: JSONValue](uniqueKeysWithValues: members))
    }

    fileprivate init(stored: JSONValue?) {
        self.init()
        for (name, states) in stored?.object ?? [:] {
            guard let provider = ProviderID(name), let before = states["before"]?.string.flatMap(ProviderState.init),
                let after = states["after"]?.string.flatMap(ProviderState.init)
            else { continue }
            self[provider] = ProviderStateChange(before: before, after: after)
        }
    }
}

struct ProjectVersionRow: RowDecodable {
    let version: ProjectVersion

    fileprivate static let columns = Columns<ProjectVersion>(
        of: "project_config_versions",
        [
            Column("version", \.version), Column("settings", \.settings), Column("changed_at", \.changedAt),
            Column("author", \.attribution.author), Column("reason", \.attribution.reason),
            Column("provider_changes", \.providerChanges.stored),
        ]
    )

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        version = ProjectVersion(
            version: try values(\.version),
            settings: try values(\.settings),
            changedAt: try values(\.changedAt),
            attribution: Attribution(
                author: try values(\.attribution.author),
                reason: try values(\.attribution.reason)
            ),
            providerChanges: [ProviderID: ProviderStateChange](stored: try values(\.providerChanges.stored))
        )
    }

    /// The newest versions after `version`, the newest first.
    static func newest(after version: Int64, countMax: Int64) -> Query<ProjectVersionRow> {
        """
        \(columns.select)
        WHERE version > \(version) ORDER BY version DESC LIMIT \(countMax)
        """
    }
}

enum APIKeyRow {
    static let all: Query<String> = "SELECT api_key FROM \(table: "api_keys")"
}

extension AccountStore {
    /// The project and its API keys; `nil` before the project is initialised. One round trip.
    package func project() async throws(PostgresError) -> (project: ProjectRecord, apiKeys: Set<String>)? {
        let (projects, keys) = try await client.read(ProjectConfigRow.only, APIKeyRow.all)
        guard let project = projects.first else { return nil }
        return (project.record, Set(keys))
    }

    /// The settings of `version`; `nil` if there never was such a version. One round trip.
    package func projectSettings(at version: Int64) async throws(PostgresError) -> JSONValue? {
        try await client.read(ProjectConfigVersionRow.numbered(version)).first?.value
    }

    /// The newest versions after `version`, the newest first. One round trip.
    package func projectVersions(
        after version: Int64 = 0,
        countMax: Int
    ) async throws(PostgresError) -> [ProjectVersion] {
        try await client.read(ProjectVersionRow.newest(after: version, countMax: Int64(countMax))).map(\.version)
    }

    /// Creates the project unless one exists; safe to call from several processes at once.
    ///
    /// - `apiKey`: stored with a project that this call created.
    /// - `attribution`: the author of its first version.
    /// - Returns: `true` if this call created it.
    package func createProject(
        _ project: ProjectRecord,
        apiKey: String,
        by attribution: Attribution = Attribution(author: nil)
    ) async throws(PostgresError) -> Bool {
        var batch = WriteBatch("project-create")
        batch.append(ProjectConfigRow.insertIfAbsent(project))
        batch.append(ProjectConfigRow.keepFirstVersion(attribution))
        batch.append(
            """
            INSERT INTO api_keys (api_key, display_name)
            SELECT \(apiKey), 'first key' WHERE NOT EXISTS (SELECT 1 FROM api_keys)
            """
        )
        return try await client.write(batch).affectedRows(0) == 1
    }
}

/// The result of a change of the project's settings.
package enum ProjectSettingsChange: Sendable, Hashable {
    case written(ProjectRecord)
    /// The settings were already the same: nothing was written.
    case unchanged(ProjectRecord)
    /// An account has the number that would become fictional, for sign-in or as a second factor.
    case phoneNumberOwned(PhoneNumber)
    /// The settings would name an image that is not stored.
    case imageMissing(String)
    /// The caller read another version than the current one.
    case otherVersion
    /// A provider to change is not registered.
    case providerNotRegistered(ProviderID)
    /// The database holds no project.
    case missing
}

/// A change of a provider's registration together with the settings.
package enum ProviderSwitch: Sendable, Hashable {
    case on
    case off
    /// The registration is removed. Linked identities stay, and cannot be used until the provider is registered again.
    case removed
}

extension AccountStore {
    /// Changes the settings under a lock, so that of two changes at once the second sees the first.
    ///
    /// Unchanged settings are not written, and raise no version; their images are stored again. `change` returns the new settings and the numbers that
    /// no account may have. It may run again.
    ///
    /// - Parameters:
    ///   - now: the time of the change.
    ///   - attribution: stored with the new version.
    ///   - expectedVersion: the version that the caller read; `nil` for any.
    ///   - expectedProviders: the registrations that the caller read, by provider id; `nil` for any.
    ///   - providers: changes of registrations in the same transaction. If one of them changes, the version also grows.
    ///   - images: images that the change brings. The settings may name these and the stored ones.
    ///   - change: returns the new settings for the current ones.
    /// - Returns: the change, or the reason why nothing was changed.
    /// - Throws: like `PostgresClient.transaction`.
    package func changeProjectSettings(
        at now: Timestamp,
        by attribution: Attribution,
        expectedVersion: Int64? = nil,
        expectedProviders: [ProviderConfigRecord]? = nil,
        providers: [ProviderID: ProviderSwitch] = [:],
        images: [ProjectImage] = [],
        _ change: @escaping @Sendable (JSONValue) -> (settings: JSONValue, numbersToBeFree: Set<PhoneNumber>)
    ) async throws(PostgresError) -> ProjectSettingsChange {
        try await client.transaction("project-settings") { tx throws(PostgresError) in
            guard var project = try tx.fetch(ProjectConfigRow.locked).first?.record else { return .missing }
            if let expectedVersion, expectedVersion != project.version { return .otherVersion }
            if let expectedProviders {
                let present = try tx.fetch(ProviderConfigRow.allLocked(tenant: .project)).map(\.record)
                guard present == expectedProviders else { return .otherVersion }
            }
            let (settings, numbers) = change(project.settings)
            for number in numbers.sorted(by: { $0.rawValue < $1.rawValue }) {
                let owners = try tx.fetch(IdentifierRow.owner(of: .phone(number), tenant: .project))
                let isFactor = try tx.fetch(SecondFactorRow.isEnrolled(number, tenant: .project)).first ?? false
                guard owners.isEmpty, !isFactor else { return .phoneNumberOwned(number) }
            }
            let digests = ProjectImage.digests(in: settings)
            let brought = images.filter { digests.contains($0.digest) }
            if digests != ProjectImage.digests(in: project.settings) {
                for digest in digests where !brought.contains(where: { $0.digest == digest }) {
                    guard try tx.fetch(ProjectImageRow.isStored(digest)).first ?? false else {
                        return .imageMissing(digest)
                    }
                }
            }
            var switched: [SQL] = []
            var changes: [ProviderID: ProviderStateChange] = [:]
            // In one order, so that two changes cannot deadlock.
            for (provider, state) in providers.sorted(by: { $0.key < $1.key }) {
                let found = try tx.fetch(ProviderConfigRow.locked(provider, tenant: .project)).first?.record
                guard let record = found else { return .providerNotRegistered(provider) }
                guard let statement = record.changed(to: state, at: now) else { continue }
                switched.append(statement)
                changes[provider] = ProviderStateChange(before: record.state, after: state.state)
            }
            guard settings != project.settings || !switched.isEmpty else {
                // A migration down deletes the images that the settings still name.
                for image in brought { try tx.execute(ProjectImageRow.keep(image)) }
                return .unchanged(project)
            }
            for statement in switched { try tx.execute(statement) }
            if !brought.isEmpty {
                for image in brought { try tx.execute(ProjectImageRow.keep(image)) }
                try tx.execute(ProjectImageRow.prune(inUse: digests))
            }
            project.settings = settings
            project.version += 1
            try tx.execute(ProjectConfigRow.update(project, at: now))
            try tx.execute(ProjectConfigRow.keepVersion(project, attribution, providerChanges: changes, at: now))
            return .written(project)
        }
    }
}

extension AccountStore {
    /// The first of `numbers` that an account has, for sign-in or as a second factor: `changeProjectSettings` would
    /// refuse it. One round trip for each number.
    package func ownedNumber(among numbers: Set<PhoneNumber>) async throws(PostgresError) -> PhoneNumber? {
        for number in numbers.sorted(by: { $0.rawValue < $1.rawValue }) {
            let (owners, isFactor) = try await client.read(
                IdentifierRow.owner(of: .phone(number), tenant: .project),
                SecondFactorRow.isEnrolled(number, tenant: .project)
            )
            guard owners.isEmpty, !(isFactor.first ?? false) else { return number }
        }
        return nil
    }
}

extension ProviderSwitch {
    fileprivate var state: ProviderState {
        switch self {
        case .on: .enabled
        case .off: .disabled
        case .removed: .notRegistered
        }
    }
}

extension ProviderConfigRecord {
    fileprivate var state: ProviderState { isEnabled ? .enabled : .disabled }

    /// The statement for the change of the registration; `nil` if it is already the same.
    fileprivate func changed(to state: ProviderSwitch, at now: Timestamp) -> SQL? {
        var record = self
        switch state {
        case .removed: return ProviderConfigRow.delete(provider, tenant: .project)
        case .on: record.isEnabled = true
        case .off: record.isEnabled = false
        }
        return record == self ? nil : ProviderConfigRow.update(record, tenant: .project, at: now)
    }
}
