package import AccountLinking
package import AccountStore
import JSON
package import Postgres

/// One account as support needs to see it.
package struct AccountReport: Sendable {
    package let user: UserRecord
    package let statuses: [MethodStatus]
    /// Includes sessions, codes and conflicts.
    package let snapshot: AccountSnapshot
    /// Findings of the audit rules about a single account.
    package let findings: [Finding]
    /// Sign-ins refused within 90 days, by day and reason, newest first.
    package let refusals: [AccountSessions.Refusals]
    /// Decisions about the account, newest first.
    package let history: [Entry]

    package struct Entry: Sendable, Hashable {
        package let occurredAt: Timestamp
        /// Event kind, in the past tense.
        package let kind: String
        package let rule: String
        /// The rule's sentence; `nil` for a rule that only another version has.
        package let sentence: String?
    }
}

/// The accounts that a search text names.
package struct SearchedAccounts: Sendable {
    package var users: [UserRecord]
    /// Accounts with columns that cannot be decoded, and these columns.
    package var unreadable: [(id: UserID, columns: [String])]
}

/// Finds accounts by id, address, number or provider identity, and reports on one. Only reads.
package struct AccountReports: Sendable {
    private let store: AccountStore
    private let snapshots: AccountSnapshots
    private let terms: AuditTerms

    package init(_ store: AccountStore, _ snapshots: AccountSnapshots, terms: AuditTerms) {
        self.store = store
        self.snapshots = snapshots
        self.terms = terms
    }

    /// The accounts that `text` names, each once, sorted by id; about 200 at most. `text` is one of these:
    /// - a uid
    /// - an e-mail address: the account's own, its first, or one of a linked provider
    /// - a phone number
    /// - a provider's identity, written `google.com/SUBJECT`
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

    /// The account that `id` is now, after all merges; `nil` if it was never merged.
    package func successor(of id: UserID, tenant: TenantID) async throws -> UserID? {
        try await store.merges(of: id, tenant: tenant, countMax: 1).current
    }

    /// The columns of an account that cannot be decoded, by their audit names.
    ///
    /// - `error`: the error of reading the account. It names the first such column alone; an audit checks all that it
    ///   covers. Thrown if neither names a column.
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
        try await snapshots.read(.users([id]), tenant: tenant, extent: .withoutClaims, at: terms.now) { accounts in
            try accounts.next() ?? AccountSnapshot(tenant: tenant, id: id)
        }
    }

    /// Returns `nil` if there is no such account.
    ///
    /// - `historyMax`: number of decisions to report.
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

/// The rule's sentence, and for a repair the summary of the audit rule behind it.
private func sentence(of event: StoredEvent) -> String? {
    let sentence = Rule(rawValue: event.rule)?.text.sentence
    guard let sentence, let id = event.details?["auditRule"]?.string, let rule = AuditRule.named(id) else {
        return sentence
    }
    return "\(sentence). \(id): \(rule.summary)"
}
