package import AccountLinking
package import AccountStore
import Synchronization

/// Asks rules about accounts, many at once, and repairs nothing. Writes nothing to the database either.
package struct Audit: Sendable {
    /// How far a run has come.
    package struct Progress: Sendable, Hashable {
        /// Blocks of tables that were read; all of them before the first account.
        package var blocksRead: Int64 = 0
        package var blocksInAll: Int64 = 0
        package var accounts: Int64 = 0
        package var findings: [String: Int64] = [:]
        /// After this a later run goes on; `nil` before the first page, and once all accounts were read.
        package var place: AccountSnapshots.Place?

        package init() {}
    }

    private let snapshots: AccountSnapshots
    private let rules: [AuditRule]
    private let terms: AuditTerms
    private let temporaryFolder: String

    /// - `temporaryFolder`: where what does not fit into memory goes while a run lasts.
    package init(
        _ snapshots: AccountSnapshots,
        rules: [AuditRule],
        terms: AuditTerms,
        temporaryFolder: String
    ) {
        self.snapshots = snapshots
        self.rules = rules
        self.terms = terms
        self.temporaryFolder = temporaryFolder
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
        let unanswered = Set(Self.unanswered(rules, by: selection).map(\.id))
        let rules = rules.filter { !unanswered.contains($0.id) }
        let isGrouping = rules.contains(where: \.isAboutSeveral)
        let spill = Mutex<TraitSpill?>(try TraitSpill(in: temporaryFolder))
        let progress = Mutex(Progress())
        try await snapshots.read(
            selection,
            tenant: tenant,
            after: isGrouping ? nil : start,
            at: terms.now,
            reading: { done, total in
                let now = progress.withLock { progress in
                    (progress.blocksRead, progress.blocksInAll) = (done, total)
                    return progress
                }
                try report(now)
            },
            work: { page in Judged(page, rules, terms, after: start, gathers: isGrouping) },
            take: { judged in
                try spill.withLock { try $0?.append(judged.traits) }
                for finding in judged.findings { try tell(finding) }
                let now = progress.withLock { progress in
                    progress.count(judged.findings)
                    progress.accounts += Int64(judged.accounts)
                    if let end = judged.end { progress.place = end }
                    return progress
                }
                try report(now)
            }
        )
        progress.withLock { $0.place = nil }
        guard let spill = spill.withLock({ $0.take() }) else { return progress.withLock { $0 } }
        try spill.groups { group in
            guard let finding = rules[group.rule].finding(about: group.members, key: group.key, tenant: group.tenant)
            else { return }
            try tell(finding)
            progress.withLock { $0.count([finding]) }
        }
        return progress.withLock { $0 }
    }
}

extension Audit.Progress {
    fileprivate mutating func count(_ found: [Finding]) {
        for finding in found { findings[finding.rule, default: 0] += 1 }
    }
}

/// What the rules say of one page.
private struct Judged: Sendable {
    var findings: [Finding] = []
    var traits = TraitBatch()
    var accounts = 0
    var end: AccountSnapshots.Place?

    init(
        _ page: AccountSnapshots.Page,
        _ rules: [AuditRule],
        _ terms: AuditTerms,
        after start: AccountSnapshots.Place?,
        gathers: Bool
    ) {
        end = page.end
        switch page.content {
        case .accounts(let snapshots):
            for snapshot in snapshots {
                let isNew = start.map { $0.precedes(snapshot) } ?? true
                if isNew {
                    accounts += 1
                    for rule in rules { findings += rule.findings(in: snapshot, terms) }
                    if !snapshot.strayClaims.isEmpty {
                        for rule in rules { findings += rule.findings(inClaimsOf: snapshot) }
                    }
                }
                guard gathers else { continue }
                for (index, rule) in rules.enumerated() {
                    guard case .group(let traits, _) = rule.check else { continue }
                    for trait in traits(snapshot, terms) { self.traits.append(trait, of: snapshot, rule: index) }
                }
            }
        case .strayClaims(let snapshots):
            for snapshot in snapshots {
                for rule in rules { findings += rule.findings(inClaimsOf: snapshot) }
            }
        }
    }
}

extension AccountSnapshots.Place {
    /// In the order of the database, which compares bytes.
    fileprivate func precedes(_ snapshot: AccountSnapshot) -> Bool {
        if tenant != snapshot.tenant {
            return tenant.rawValue.utf8.lexicographicallyPrecedes(snapshot.tenant.rawValue.utf8)
        }
        return userID.utf8.lexicographicallyPrecedes(snapshot.id.rawValue.utf8)
    }
}
