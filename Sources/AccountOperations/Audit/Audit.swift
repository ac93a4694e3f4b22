package import AccountLinking
package import AccountStore
import Synchronization

/// Asks rules about accounts, many at once, and repairs nothing. Writes nothing to the database either.
package struct Audit: Sendable {
    /// How far a run has come.
    package struct Progress: Sendable, Hashable {
        package var reading = ScanProgress()
        package var accounts: Int64 = 0
        package var findings: [String: Int64] = [:]
        /// The accounts, where some were named.
        package var users: Set<UserID> = []
        /// After this a later run goes on; `nil` before the first page, and once all accounts were read.
        package var place: AccountSnapshots.Place?

        package init() {}
    }

    private let snapshots: AccountSnapshots
    private let rules: [AuditRule]
    private let terms: AuditTerms

    package init(
        _ snapshots: AccountSnapshots,
        rules: [AuditRule],
        terms: AuditTerms
    ) {
        self.snapshots = snapshots
        self.rules = rules
        self.terms = terms
    }

    /// The rules that a selection cannot answer: those about several accounts need all of them.
    package static func unanswered(_ rules: [AuditRule], by selection: AccountSnapshots.Selection) -> [AuditRule] {
        if case .all = selection { return [] }
        return rules.filter(\.isAboutSeveral)
    }

    /// Reads the accounts of `selection` and tells of every finding: first those about one account, in the order of the
    /// accounts, then those about several, in an order that is the same for the same accounts.
    ///
    /// - Parameters:
    ///   - selection: which accounts.
    ///   - tenant: one tenant; all of them where it is `nil`.
    ///   - start: where an earlier run ended: what it told about single accounts is not told again. What is about several
    ///     is, of all.
    ///   - tell: called for each finding, never twice at once.
    ///   - report: called after each page, never beside `tell`; throws to stop.
    /// - Returns: what was looked at and found, in this run.
    /// - Throws: `PostgresError`, `SpillFailure`; what `tell` and `report` throw.
    package func run(
        _ selection: AccountSnapshots.Selection,
        tenant: TenantID?,
        after start: AccountSnapshots.Place? = nil,
        tell: @escaping @Sendable (Finding) throws -> Void,
        report: @escaping @Sendable (Progress) throws -> Void
    ) async throws -> Progress {
        try await walk(selection, tenant: tenant, after: start, .findings, tell: { try tell($0.finding) }, report)
    }

    /// As `run`, and tells with each finding what a plan does about it. What is proposed for one account comes in one row,
    /// but for what is about claims and about several accounts.
    ///
    /// - `planned`: the ids of the rules whose findings are planned; `nil` plans those of every rule. Findings of the other
    ///   rules are counted in the result, and nothing else.
    package func plan(
        _ selection: AccountSnapshots.Selection,
        tenant: TenantID?,
        planning planned: Set<String>? = nil,
        tell: @escaping @Sendable (Proposal) throws -> Void,
        report: @escaping @Sendable (Progress) throws -> Void
    ) async throws -> Progress {
        let telling = Telling.proposals(of: planned ?? Set(rules.map(\.id)))
        return try await walk(selection, tenant: tenant, after: nil, telling, tell: tell, report)
    }

    /// What is told of findings.
    fileprivate enum Telling: Sendable {
        /// The findings alone.
        case findings
        /// What a plan does about the findings of these rules.
        case proposals(of: Set<String>)
    }

    private func walk(
        _ selection: AccountSnapshots.Selection,
        tenant: TenantID?,
        after start: AccountSnapshots.Place?,
        _ telling: Telling,
        tell: @escaping @Sendable (Proposal) throws -> Void,
        _ report: @escaping @Sendable (Progress) throws -> Void
    ) async throws -> Progress {
        let unanswered = Set(Self.unanswered(rules, by: selection).map(\.id))
        let rules = rules.filter { !unanswered.contains($0.id) }
        let isGrouping = rules.contains(where: \.isAboutSeveral)
        let checks = AuditChecks(rules)
        let namesUsers = if case .users = selection { true } else { false }
        let spill = Mutex<TraitSpill?>(try TraitSpill(in: snapshots.temporaryFolder))
        let progress = Mutex(Progress())
        try await snapshots.read(
            selection,
            tenant: tenant,
            after: isGrouping ? nil : start,
            at: terms.now,
            reading: { reading in
                let now = progress.withLock { progress in
                    progress.reading = reading
                    return progress
                }
                try report(now)
            },
            work: { page in
                try Judged(
                    page,
                    rules,
                    checks,
                    terms,
                    after: start,
                    gathers: isGrouping,
                    telling: telling,
                    namesUsers: namesUsers
                )
            },
            take: { judged in
                try spill.withLock { try $0?.append(judged.traits) }
                for proposal in judged.proposals { try tell(proposal) }
                let now = progress.withLock { progress in
                    progress.count(judged.findings)
                    progress.accounts += Int64(judged.accounts)
                    progress.users.formUnion(judged.users)
                    if let end = judged.end { progress.place = end }
                    return progress
                }
                try report(now)
            }
        )
        progress.withLock { $0.place = nil }
        guard let spill = spill.withLock({ $0.take() }) else { return progress.withLock { $0 } }
        try await spill.groups { group in
            guard let finding = rules[group.rule].finding(about: group.members, key: group.key, tenant: group.tenant)
            else { return }
            let proposals: [Proposal] =
                switch telling {
                case .findings: [finding.unplanned]
                case .proposals(let planned):
                    planned.contains(finding.rule)
                        ? rules[group.rule].proposals(about: finding, members: group.members) : []
                }
            for proposal in proposals { try tell(proposal) }
            progress.withLock { $0.count([finding]) }
        }
        return progress.withLock { $0 }
    }
}

extension Finding {
    /// Where nobody asks what to do about it.
    fileprivate var unplanned: Proposal { Proposal(finding: self, user: user, version: nil, offer: .person("")) }
}

extension Audit.Progress {
    fileprivate mutating func count(_ found: [Finding]) {
        for finding in found { findings[finding.rule, default: 0] += 1 }
    }
}

/// What the rules say of one page.
private struct Judged: Sendable {
    var findings: [Finding] = []
    var proposals: [Proposal] = []
    var traits = TraitBatch()
    var accounts = 0
    /// The accounts that are there, where somebody wants to know.
    var users: [UserID] = []
    var end: AccountSnapshots.Place?

    init(
        _ page: AccountSnapshots.Page,
        _ rules: [AuditRule],
        _ checks: AuditChecks,
        _ terms: AuditTerms,
        after start: AccountSnapshots.Place?,
        gathers: Bool,
        telling: Audit.Telling,
        namesUsers: Bool
    ) throws {
        end = page.end
        switch page.content {
        case .accounts(let snapshots):
            var contributed = TraitList()
            try snapshots.visit { snapshot in
                judge(snapshot, rules, checks, terms, after: start, telling)
                if gathers {
                    checks.gather(from: snapshot, terms, into: &contributed)
                    traits.append(contributed, of: snapshot)
                }
                if namesUsers, let user = snapshot.account?.id { users.append(user) }
            }
        case .strayClaims(let snapshots):
            for snapshot in snapshots {
                tell(rules.flatMap { $0.findings(inClaimsOf: snapshot) }, of: snapshot, terms, telling)
            }
        }
    }

    private mutating func judge(
        _ snapshot: AccountSnapshot,
        _ rules: [AuditRule],
        _ checks: AuditChecks,
        _ terms: AuditTerms,
        after start: AccountSnapshots.Place?,
        _ telling: Audit.Telling
    ) {
        if let start, !start.precedes(snapshot) { return }
        // What hangs off nobody is judged, and is no account.
        if snapshot.hasAccount { accounts += 1 }
        var found = checks.findings(in: snapshot, terms)
        if !snapshot.strayClaims.isEmpty { found += rules.flatMap { $0.findings(inClaimsOf: snapshot) } }
        if !found.isEmpty { tell(found, of: snapshot, terms, telling) }
    }

    private mutating func tell(
        _ found: [Finding],
        of snapshot: AccountSnapshot,
        _ terms: AuditTerms,
        _ telling: Audit.Telling
    ) {
        findings += found
        switch telling {
        case .findings: proposals += found.map(\.unplanned)
        case .proposals(let planned):
            proposals += snapshot.proposals(about: found.filter { planned.contains($0.rule) }, terms)
        }
    }
}

extension AccountSnapshots.Place {
    /// In the order of the database, which compares bytes.
    func precedes(_ snapshot: AccountSnapshot) -> Bool {
        if tenant != snapshot.tenant {
            return tenant.rawValue.utf8.lexicographicallyPrecedes(snapshot.tenant.rawValue.utf8)
        }
        return userID.utf8.lexicographicallyPrecedes(snapshot.id.rawValue.utf8)
    }
}
