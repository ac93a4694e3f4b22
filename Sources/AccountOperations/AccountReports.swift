package import AccountLinking
package import AccountStore
import JSON
package import Postgres
import Synchronization

/// What support needs to know of one account.
package struct AccountReport: Sendable {
    package let user: UserRecord
    package let statuses: [MethodStatus]
    /// Sessions, codes and conflicts among it.
    package let snapshot: AccountSnapshot
    /// What the rules about one account find.
    package let findings: [Finding]
    /// The sign-ins that were refused within 90 days, by day and reason, the newest first.
    package let refusals: [AccountSessions.Refusals]
    /// What was decided about it, the newest first.
    package let history: [Entry]

    /// One decision.
    package struct Entry: Sendable, Hashable {
        package let occurredAt: Timestamp
        /// What happened, in the past tense.
        package let kind: String
        package let rule: String
        /// What the rule says; `nil` for one that only another version knows.
        package let sentence: String?
    }
}

/// The accounts that something names.
package struct SearchedAccounts: Sendable {
    package var users: [UserRecord]
    /// Those that hold what cannot be read, with the columns.
    package var unreadable: [(id: UserID, columns: [String])]
}

/// Finds accounts by whatever somebody knows of them, and tells of one. Reads only.
package struct AccountReports: Sendable {
    private let store: AccountStore
    private let snapshots: AccountSnapshots
    private let terms: AuditTerms

    package init(_ store: AccountStore, _ snapshots: AccountSnapshots, terms: AuditTerms) {
        self.store = store
        self.snapshots = snapshots
        self.terms = terms
    }

    /// The accounts that `text` names, each once, in the order of their ids, at most some 200: as a uid; as an address, the
    /// account's own, its first, or one that a linked provider names; as a number; or as a provider's name of a user,
    /// written `google.com/SUBJECT`.
    package func accounts(namedBy text: String, tenant: TenantID) async throws -> SearchedAccounts {
        var search = UserSearch()
        search.ids = UserID(text).map { [$0] } ?? []
        search.phoneNumbers = PhoneNumber(text).map { [$0] } ?? []
        if let address = EmailAddress(text) {
            search.emails = [address]
            search.initialEmails = [text]
            search.ids += try await store.userIDs(linkedWithEmail: address, tenant: tenant)
        }
        let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
        if parts.count == 2, let provider = ProviderID(parts[0]),
            let identity = ProviderIdentity(provider: provider, subject: parts[1])
        {
            search.identities = [identity]
        }
        let (users, unreadable) = try await store.readableUsers(search, tenant: tenant)
        var found = SearchedAccounts(users: users, unreadable: [])
        for (id, error) in unreadable.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            found.unreadable.append((id, try await unreadableColumns(of: id, tenant: tenant, after: error)))
        }
        return found
    }

    /// The account that `id` is now, over all merges since; `nil` where it was merged into none.
    package func successor(of id: UserID, tenant: TenantID) async throws -> UserID? {
        try await store.merges(of: id, tenant: tenant, countMax: 1).current
    }

    /// The columns of an account that hold what cannot be read, as an audit names them.
    ///
    /// `error`: what reading the account came to. It names the first column that is come across; an audit looks at all it
    /// knows. Thrown where neither names any.
    package func unreadableColumns(
        of id: UserID,
        tenant: TenantID,
        after error: PostgresError
    ) async throws -> [String] {
        let columns = try await snapshot(of: id, tenant: tenant).unreadable
        if !columns.isEmpty { return columns }
        guard let column = error.column else { throw error }
        return [column]
    }

    private func snapshot(of id: UserID, tenant: TenantID) async throws -> AccountSnapshot {
        let read = Mutex<[AccountSnapshot]>([])
        try await snapshots.read(
            .users([id]),
            tenant: tenant,
            withStrayClaims: false,
            at: terms.now,
            work: { page in if case .accounts(let accounts) = page.content { try accounts.all() } else { [] } },
            take: { accounts in read.withLock { $0 += accounts } }
        )
        return read.withLock(\.first) ?? AccountSnapshot(tenant: tenant, id: id)
    }

    /// `nil` where there is no such account.
    ///
    /// - `historyMax`: how many decisions are told.
    package func report(on id: UserID, tenant: TenantID, historyMax: Int) async throws -> AccountReport? {
        guard let user = try await store.user(id, tenant: tenant) else { return nil }
        let snapshot = try await snapshot(of: id, tenant: tenant)
        let account = user.account
        let events = try await store.events(of: id, tenant: tenant, before: nil, countMax: historyMax)
        return AccountReport(
            user: user,
            statuses: methodStatuses(
                of: account,
                policy: terms.policy,
                enabledProviders: Set(account.linkedProviders.keys.filter(terms.isEnabled))
            ),
            snapshot: snapshot,
            findings: AuditRule.all.flatMap { $0.findings(in: snapshot, terms) },
            refusals: try await store.signInRefusals(
                of: id,
                tenant: tenant,
                countMax: AccountSessions.refusalsMax
            )
            .map(AccountSessions.Refusals.init),
            history: events.map { event in
                AccountReport.Entry(
                    occurredAt: event.occurredAt,
                    kind: event.kind,
                    rule: event.rule,
                    sentence: sentence(of: event)
                )
            }
        )
    }
}

/// What the rule says, and of a repair what the audit had found.
private func sentence(of event: StoredEvent) -> String? {
    let sentence = Rule(rawValue: event.rule)?.text.sentence
    guard let sentence, let id = event.details?["auditRule"]?.string, let rule = AuditRule.named(id) else {
        return sentence
    }
    return "\(sentence). \(id): \(rule.summary)"
}
