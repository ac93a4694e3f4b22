import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import IdentityProviders
import Logging

/// The options that choose rules and accounts.
struct AuditSelectionOptions: ParsableArguments {
    @Option(
        name: .customLong("rule"),
        help: ArgumentHelp("Only this rule; may be repeated.", valueName: "id")
    )
    var ruleIDs: [String] = []

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp("Only this account; may be repeated.", valueName: "uid")
    )
    var users: [String] = []

    @Option(
        help: ArgumentHelp(
            "Only the accounts that own the addresses in this file, one per line; - reads standard input.",
            valueName: "file"
        )
    )
    var emails: String?

    @Option(
        help: ArgumentHelp(
            "Only accounts that changed since a time, such as 2026-11-22T08:00:00Z, 36h or 7d.",
            valueName: "time"
        )
    )
    var since: String?

    func validate() throws {
        for id in ruleIDs where AuditRule.named(id) == nil {
            let question = Suggestion.question(about: id, among: AuditRule.all.map(\.id))
            throw ValidationError(
                "--rule: there is no rule \(id)\(question.isEmpty ? ";" : question) concord audit rules lists them"
            )
        }
        guard [!users.isEmpty, emails != nil, since != nil].filter(\.self).count <= 1 else {
            throw ValidationError("give one of --user, --emails and --since")
        }
        for user in users where UserID(user) == nil { throw ValidationError("--user: not a uid: \(user)") }
        if let since { try SnapshotOptions.validate(since: since) }
    }

    /// The rules to check. Reports chosen rules that cannot be checked for `selection`.
    func rules(for selection: AccountSnapshots.Selection) -> [AuditRule] {
        let rules = ruleIDs.isEmpty ? AuditRule.all : AuditRule.all.filter { ruleIDs.contains($0.id) }
        let unanswered = Set(Audit.unanswered(rules, by: selection).map(\.id))
        if !unanswered.isEmpty {
            let ids = rules.map(\.id).filter(unanswered.contains)
            complain("rules left out, because they need all accounts: \(ids.joined(separator: ", "))")
        }
        // With named accounts, rules about the project are checked only if they are named too.
        let namesAccounts = if case .users = selection { ruleIDs.isEmpty } else { false }
        return rules.filter { !unanswered.contains($0.id) && !(namesAccounts && $0.isAboutProject) }
    }

    /// The accounts to check. Reports addresses that no account has.
    func selection(
        _ store: AccountStore,
        _ reading: SnapshotOptions,
        before now: Timestamp
    ) async throws -> AuditSelection {
        try await reading.checkTenant(store)
        if let since { return AuditSelection(.changed(since: SnapshotOptions.instant(since, before: now) ?? now)) }
        if let emails { return try await selection(of: AddressList(path: emails).addresses, reading, store) }
        return AuditSelection(users.isEmpty ? .all : .users(users.compactMap(UserID.init)))
    }

    private func selection(
        of addresses: [AddressList.Line],
        _ reading: SnapshotOptions,
        _ store: AccountStore
    ) async throws -> AuditSelection {
        let (tenant, style) = (reading.tenantID ?? .project, Style(showsIdentifiers: reading.showIdentifiers))
        var owners: [UserID] = []
        var unowned = Absent()
        for start in stride(from: 0, to: addresses.count, by: 1000) {
            let some = addresses[start..<min(start + 1000, addresses.count)]
            let found = try await store.owners(of: some.map(\.address), tenant: tenant)
            for line in some {
                if let owner = found[line.address] {
                    owners.append(owner)
                } else {
                    unowned.count("\(style.text(.address(line.address.raw))) (line \(line.number))")
                }
            }
        }
        if unowned.count > 0 {
            let all = addresses.count == 1 ? "the only address" : "the \(grouped(Int64(addresses.count))) addresses"
            complain("no account has \(grouped(unowned.count)) of \(all): \(unowned.text)")
        }
        return AuditSelection(.users(owners), lacksAddresses: unowned.count > 0)
    }

    /// Reports the uids that no account has.
    /// - Returns: true if every named account exists.
    func foundAll(_ selection: AuditSelection, _ result: Audit.Progress) -> Bool {
        var absent = Absent()
        for user in Set(users).sorted() where UserID(user).map(result.users.contains) != true { absent.count(user) }
        guard absent.count > 0 else { return !selection.lacksAddresses }
        complain("no account has the \(absent.count == 1 ? "uid" : "uids") \(absent.text)")
        return false
    }
}

/// The accounts to check.
struct AuditSelection: Sendable {
    let accounts: AccountSnapshots.Selection
    /// True if no account has one of the named addresses.
    let lacksAddresses: Bool

    init(_ accounts: AccountSnapshots.Selection, lacksAddresses: Bool = false) {
        self.accounts = accounts
        self.lacksAddresses = lacksAddresses
    }
}

/// Names without an account: counts all of them and lists the first ones.
private struct Absent {
    private static let namedMax = 10

    private(set) var count: Int64 = 0
    private var named: [String] = []

    mutating func count(_ name: String) {
        count += 1
        if named.count < Self.namedMax { named.append(name) }
    }

    var text: String {
        let rest = count - Int64(named.count)
        return named.joined(separator: ", ") + (rest > 0 ? " and \(grouped(rest)) more" : "")
    }
}

/// The project whose accounts are checked, as it is configured now.
struct AuditedProject: Sendable {
    let id: String
    let settings: ProjectSettings
    /// Returns true if users can sign in with a provider now.
    let isEnabled: @Sendable (ProviderID) -> Bool
    /// Registered providers with which users can sign in now.
    let enabledProviders: [ProviderID]

    /// - Throws: `StartupFailure` if the database has no project.
    static func load(
        _ store: AccountStore,
        _ registry: ProviderRegistry
    ) async throws -> AuditedProject {
        guard let project = try await ProjectCache.load(store: store, trust: .preset) else {
            throw StartupFailure.noProject
        }
        // Computed once, because every account needs it.
        let registered = project.registeredProviders.reduce(into: [:]) { answers, provider in
            answers[provider] = registry.canSignIn(provider, configuration: project.configuration(of: provider))
        }
        return AuditedProject(
            id: project.settings.projectID,
            settings: project.settings,
            isEnabled: { registered[$0] ?? registry.canSignIn($0, configuration: nil) },
            enabledProviders: registered.filter(\.value).keys.sorted { $0.rawValue < $1.rawValue }
        )
    }

    /// The terms of the project for the rules.
    func terms(at now: Timestamp) -> AuditTerms {
        var terms = AuditTerms(policy: settings.policy, isEnabled: isEnabled, now: now)
        terms.enabledProviders = enabledProviders
        terms.authorizedDomains = settings.authorizedDomains
        return terms
    }
}
