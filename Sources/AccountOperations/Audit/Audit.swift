package import AccountLinking
package import AccountStore

/// Checks accounts by rules. Repairs nothing, and writes nothing to the database.
package struct Audit: Sendable {
    /// The progress of a run.
    package struct Progress: Sendable, Hashable {
        package var accounts: Int64 = 0
        package var findings: [String: Int64] = [:]
        /// The accounts that were found, if the selection names users.
        package var users: Set<UserID> = []
        /// The place after which a later run continues; `nil` before the first account and after the last one.
        package var place: AccountSnapshots.Place?

        package init() {}
    }

    private let snapshots: AccountSnapshots
    private let rules: [AuditRule]
    private let terms: AuditTerms
    /// Number of accounts between reports if there is no finding.
    private let reportInterval: Int64

    package init(
        _ snapshots: AccountSnapshots,
        rules: [AuditRule],
        terms: AuditTerms,
        reportInterval: Int64 = 1000
    ) {
        self.snapshots = snapshots
        self.rules = rules
        self.terms = terms
        self.reportInterval = reportInterval
    }

    /// The rules that a selection cannot answer. A rule about several accounts needs all of them.
    package static func unanswered(_ rules: [AuditRule], by selection: AccountSnapshots.Selection) -> [AuditRule] {
        if case .all = selection { return [] }
        return rules.filter(\.isAboutSeveral)
    }

    /// Reads the accounts of `selection` and reports every finding. Findings about one account come first, in the order
    /// of accounts. Findings about several accounts follow, in the same order every time.
    ///
    /// - Parameters:
    ///   - selection: the accounts.
    ///   - tenant: one tenant; `nil` for all tenants.
    ///   - start: the place where an earlier run ended. Its findings about one account are not repeated; those about
    ///     several are.
    ///   - check: called several times a second while PostgreSQL sorts; throws to stop.
    ///   - onFinding: called for each finding.
    ///   - report: called after the findings of an account, and every `reportInterval` accounts; throws to stop.
    /// - Returns: the accounts and findings of this run.
    /// - Throws: `PostgresError`, `TemporaryFileFailure`; the error of `check`, `onFinding` or `report`.
    package func run(
        _ selection: AccountSnapshots.Selection,
        tenant: TenantID?,
        after start: AccountSnapshots.Place? = nil,
        check: @escaping @Sendable () throws -> Void = {},
        onFinding: @escaping @Sendable (Finding) throws -> Void,
        report: @escaping @Sendable (Progress) throws -> Void
    ) async throws -> Progress {
        try await walk(selection, tenant, after: start, check, report) { found, _ in
            for finding in found { try onFinding(finding) }
        } ofGroup: { finding, _ in
            try onFinding(finding)
        }
    }

    /// Reads accounts like `run`, and reports what a plan does about each finding. The proposals for one account follow
    /// each other, except those of rules about several accounts.
    ///
    /// - `planned`: ids of the rules whose findings are planned; `nil` for all rules. Findings of other rules are only
    ///   counted.
    package func plan(
        _ selection: AccountSnapshots.Selection,
        tenant: TenantID?,
        planning planned: Set<String>? = nil,
        check: @escaping @Sendable () throws -> Void = {},
        onProposal: @escaping @Sendable (Proposal) throws -> Void,
        report: @escaping @Sendable (Progress) throws -> Void
    ) async throws -> Progress {
        let planned = planned ?? Set(rules.map(\.id))
        let (rules, terms) = (rules, terms)
        return try await walk(selection, tenant, after: nil, check, report) { found, snapshot in
            let findings = found.filter { planned.contains($0.rule) }
            for proposal in snapshot.proposals(about: findings, terms) { try onProposal(proposal) }
        } ofGroup: { finding, members in
            guard planned.contains(finding.rule), let rule = rules.first(where: { $0.id == finding.rule }) else {
                return
            }
            for proposal in rule.proposals(about: finding, members: members) { try onProposal(proposal) }
        }
    }

    private func walk(
        _ selection: AccountSnapshots.Selection,
        _ tenant: TenantID?,
        after start: AccountSnapshots.Place?,
        _ check: @escaping @Sendable () throws -> Void,
        _ report: @escaping @Sendable (Progress) throws -> Void,
        ofAccount onAccount: @escaping @Sendable ([Finding], AccountSnapshot) throws -> Void,
        ofGroup onGroup: @escaping @Sendable (Finding, [AuditRule.Member]) throws -> Void
    ) async throws -> Progress {
        let unanswered = Set(Self.unanswered(rules, by: selection).map(\.id))
        let rules = rules.filter { !unanswered.contains($0.id) }
        let isGrouping = rules.contains(where: \.isAboutSeveral)
        return try await snapshots.read(
            selection,
            tenant: tenant,
            after: isGrouping ? nil : start,
            at: terms.now,
            check: check
        ) { accounts in
            let checks = AuditChecks(rules)
            var shared = try SharedTraits(in: snapshots.temporaryFolder)
            var progress = Progress()
            while var snapshot = try accounts.next() {
                try checks.forEachTrait(of: snapshot, terms) { try shared.append($1, rule: $0, of: snapshot) }
                if let start, !start.precedes(snapshot) { continue }
                var found = checks.findings(in: snapshot, terms)
                // On Citus, a finding about an account that changed while it was read may be none.
                if !found.isEmpty, let newer = try accounts.newerState(of: snapshot) {
                    snapshot = newer
                    found = checks.findings(in: snapshot, terms)
                }
                if !found.isEmpty { try onAccount(found, snapshot) }
                progress.count(found)
                if let account = snapshot.account {
                    progress.accounts += 1
                    if case .users = selection { progress.users.insert(account.id) }
                }
                progress.place = AccountSnapshots.Place(tenant: snapshot.tenant, userID: snapshot.id.rawValue)
                if !found.isEmpty || progress.accounts.isMultiple(of: reportInterval) { try report(progress) }
            }
            progress.place = nil
            try shared.groups { group in
                let rule = rules[group.rule]
                guard let finding = rule.finding(about: group.members, key: group.key, tenant: group.tenant) else {
                    return
                }
                try onGroup(finding, group.members)
                progress.count([finding])
            }
            return progress
        }
    }
}

extension Audit.Progress {
    fileprivate mutating func count(_ found: [Finding]) {
        for finding in found { findings[finding.rule, default: 0] += 1 }
    }
}

extension AccountSnapshots.Place {
    /// Returns `true` if the place is before `snapshot` in the order of the database, which compares bytes.
    func precedes(_ snapshot: AccountSnapshot) -> Bool {
        if tenant != snapshot.tenant {
            return tenant.rawValue.utf8.lexicographicallyPrecedes(snapshot.tenant.rawValue.utf8)
        }
        return userID.utf8.lexicographicallyPrecedes(snapshot.id.rawValue.utf8)
    }
}
