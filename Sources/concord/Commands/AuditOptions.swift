import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import IdentityProviders
import Logging

/// Which rules are asked about which accounts.
struct AuditSelectionOptions: ParsableArguments {
    @Option(
        name: .customLong("rule"),
        help: ArgumentHelp("Only this rule; may be repeated. All of them by default.", valueName: "id")
    )
    var ruleIDs: [String] = []

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp("Only this account; may be repeated.", valueName: "uid")
    )
    var users: [String] = []

    @Option(
        help: ArgumentHelp(
            "Only the accounts that own the addresses in this file, one a line; - reads standard input.",
            valueName: "file"
        )
    )
    var emails: String?

    @Option(
        help: ArgumentHelp(
            "Only accounts that something happened to since: a time as 2026-11-22T08:00:00Z, or 36h, 7d.",
            valueName: "time"
        )
    )
    var since: String?

    func validate() throws {
        for id in ruleIDs where AuditRule.named(id) == nil {
            throw ValidationError("--rule: there is no rule \(id); concord audit rules lists them")
        }
        guard [!users.isEmpty, emails != nil, since != nil].filter(\.self).count <= 1 else {
            throw ValidationError("give one of --user, --emails and --since")
        }
        for user in users where UserID(user) == nil { throw ValidationError("--user: no uid: \(user)") }
        if let since { try SnapshotOptions.validate(since: since) }
    }

    /// The rules that were chosen; those that `selection` cannot answer are told.
    func rules(for selection: AccountSnapshots.Selection) -> [AuditRule] {
        let rules = ruleIDs.isEmpty ? AuditRule.all : AuditRule.all.filter { ruleIDs.contains($0.id) }
        let unanswered = Audit.unanswered(rules, by: selection)
        if !unanswered.isEmpty {
            complain("not asked, because they need all accounts: \(unanswered.map(\.id).joined(separator: ", "))")
        }
        return rules
    }

    func selection(
        _ store: AccountStore,
        tenant: TenantID?,
        before now: Timestamp
    ) async throws -> AccountSnapshots.Selection {
        if let since { return .changed(since: SnapshotOptions.instant(since, before: now) ?? now) }
        if let emails {
            let lines = try AddressList(path: emails).addresses
            return .users(try await owners(of: lines, tenant: tenant ?? .project, store))
        }
        return users.isEmpty ? .all : .users(users.compactMap(UserID.init))
    }

    /// Who owns the addresses; those that nobody owns are told.
    private func owners(
        of addresses: [AddressList.Line],
        tenant: TenantID,
        _ store: AccountStore
    ) async throws -> [UserID] {
        var owners: [UserID] = []
        for start in stride(from: 0, to: addresses.count, by: 1000) {
            let some = addresses[start..<min(start + 1000, addresses.count)]
            let found = try await store.owners(of: some.map(\.address), tenant: tenant)
            for line in some {
                if let owner = found[line.address] {
                    owners.append(owner)
                } else {
                    complain("no account has the address on line \(line.number)")
                }
            }
        }
        return owners
    }
}

/// The project whose accounts are looked at, as it is configured now.
struct AuditedProject: Sendable {
    let id: String
    let settings: ProjectSettings
    /// Whether somebody can be signed in by a provider now.
    let isEnabled: @Sendable (ProviderID) -> Bool

    /// - Throws: `StartupFailure` where the database holds none.
    static func load(
        _ store: AccountStore,
        _ registry: ProviderRegistry
    ) async throws -> AuditedProject {
        guard let project = try await ProjectCache.load(store: store, trust: .declared) else {
            throw StartupFailure.noProject
        }
        // Asked of every account: answered beforehand.
        let registered = project.registeredProviders.reduce(into: [:]) { answers, provider in
            answers[provider] = registry.canSignIn(provider, configuration: project.configuration(of: provider))
        }
        return AuditedProject(
            id: project.settings.projectID,
            settings: project.settings,
            isEnabled: { registered[$0] ?? registry.canSignIn($0, configuration: nil) }
        )
    }

    /// What the project makes of its accounts.
    func terms(at now: Timestamp) -> AuditTerms {
        AuditTerms(policy: settings.policy, isEnabled: isEnabled, now: now)
    }
}
