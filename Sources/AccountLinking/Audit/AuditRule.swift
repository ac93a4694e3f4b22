/// One thing an audit looks for: what it is, why it matters, how it is repaired, and the check.
///
/// Checks are pure and total, ask the same predicates as the decisions, and repair nothing. The id is written once and
/// never renamed or given to another rule.
package struct AuditRule: Sendable {
    package enum Severity: String, Sendable, Hashable, CaseIterable, Comparable {
        /// Worth knowing; nothing has to be done.
        case note
        /// A risk to an account or its owner.
        case warning
        /// The tables contradict each other.
        case error

        package static func < (lhs: Self, rhs: Self) -> Bool { lhs.rank < rhs.rank }

        private var rank: Int {
            switch self {
            case .note: 0
            case .warning: 1
            case .error: 2
            }
        }
    }

    /// The contribution of an account to a rule about several accounts.
    package struct Trait: Sendable, Hashable {
        /// Accounts with the same are put together.
        package var key: String
        /// The account's part in the trait.
        package var detail: String

        package init(key: String, detail: String) {
            self.key = key
            self.detail = detail
        }
    }

    /// One account of several, with what it contributed.
    package struct Member: Sendable, Hashable {
        package var user: UserID
        /// The account's version.
        package var version: Int64
        package var detail: String

        package init(user: UserID, version: Int64, detail: String) {
            self.user = user
            self.version = version
            self.detail = detail
        }
    }

    package enum Check: Sendable {
        /// About one account: the evidence of each finding.
        case account(@Sendable (AccountSnapshot, AuditTerms) -> [Evidence])
        /// About the project's configuration: the evidence of each finding. It names no account.
        case project(@Sendable (AuditTerms) -> [Evidence])
        /// About stray claims: the evidence of each finding. Also asked if the account has unreadable values.
        case claims(@Sendable (AccountSnapshot) -> [Evidence])
        /// About several: the traits of each account, and the evidence if those with the same key are a finding. The members come
        /// in the order of their ids, each as often as it has the trait, two accounts at least.
        case group(
            traits: @Sendable (AccountSnapshot, AuditTerms) -> [Trait],
            evidence: @Sendable (_ key: String, _ members: [Member]) -> Evidence?
        )
    }

    package let id: String
    package let severity: Severity
    /// The finding in one sentence.
    package let summary: String
    /// Which attack or pain it stands for.
    package let reason: String
    package let repair: String
    /// The plan's action for a finding.
    package let remedy: Remedy
    package let check: Check
}

extension AuditRule {
    /// Every rule, in the order in which they are listed.
    package static let all: [AuditRule] = [
        // The project's configuration lets strangers in, or keeps its own apps out.
        .compatibilityPreset, .authorizedSharedHost, .noAuthorizedDomain,
        // The tables contradict each other.
        .unreadableValue, .recordWithoutUser, .methodWithoutCredential, .identifierWithoutClaim, .claimWithoutOwner,
        // The owner cannot sign in, or a stranger can.
        .userWithoutSignInMethod, .addressProvenByNobody, .addressProvenByUntrustedProvider,
        .unprovenAddressWithProviders, .methodOlderThanProof, .secondFactorOnUnprovenAddress, .disabledWithLiveSessions,
        .weakPasswordHash, .unusedPassword,
        // Accounts that may belong together, or must not be taken for each other.
        .sameAddress, .lookAlikeAddresses, .providerAddressDiffers, .identityWantedByTwo, .recycledAddress,
        .sharedNumber, .staleNumber,
        // What should have come to an end.
        .staleEmailChange, .overdueRecords,
        // The next one goes here.
    ]

    /// The rule with `id`; `nil` when there is none.
    package static func named(_ id: String) -> AuditRule? { all.first { $0.id == id } }
}

/// The terms by which an audit judges accounts.
package struct AuditTerms: Sendable {
    package var policy: LinkPolicy
    /// Returns true if users can sign in with a provider now.
    package var isEnabled: @Sendable (ProviderID) -> Bool
    /// Providers that are registered and enabled; not those that only development has.
    package var enabledProviders: [ProviderID] = []
    /// Hosts that codes and sessions may go to.
    package var authorizedDomains: [AuthorizedDomain] = []
    package var now: Timestamp
    /// Seconds that a change of address may wait for its confirmation.
    package var emailChangeSeconds: Int64 = 7 * 86_400
    /// After how long without a sign-in an account counts as left alone.
    package var dormantSeconds: Int64 = 365 * 86_400
    /// Seconds that expired records may stay: far longer than a running server leaves them.
    package var overdueSeconds: Int64 = 30 * 86_400

    package init(policy: LinkPolicy, isEnabled: @escaping @Sendable (ProviderID) -> Bool, now: Timestamp) {
        self.policy = policy
        self.isEnabled = isEnabled
        self.now = now
    }
}

/// The facts that a rule found, by name. Values that identify a person are marked, so that they can be masked.
package struct Evidence: Sendable, Hashable {
    package enum Value: Sendable, Hashable {
        case text(String)
        case count(Int64)
        case instant(Timestamp)
        case address(String)
        case addresses([String])
        case number(String)
        /// A provider's name of a user.
        case subject(String)
    }

    package struct Item: Sendable, Hashable {
        package var name: String
        package var value: Value
    }

    package var items: [Item]
    /// The other accounts that it is about.
    package var others: [UserID]

    package init(_ items: KeyValuePairs<String, Value>, others: [UserID] = []) {
        self.items = items.map { Item(name: $0.key, value: $0.value) }
        self.others = others
    }
}

/// That an account, or several, break a rule.
package struct Finding: Sendable, Hashable {
    package var rule: String
    package var severity: AuditRule.Severity
    package var tenant: TenantID
    package var user: UserID
    package var evidence: Evidence

    package init(_ rule: AuditRule, tenant: TenantID, user: UserID, evidence: Evidence) {
        self.rule = rule.id
        self.severity = rule.severity
        self.tenant = tenant
        self.user = user
        self.evidence = evidence
    }
}

/// That the project's configuration breaks a rule. It is about no account in particular.
package struct ProjectFinding: Sendable {
    package let rule: AuditRule
    package let evidence: Evidence
}

extension AuditRule {
    /// True if the rule needs all accounts.
    package var isAboutSeveral: Bool {
        switch check {
        case .group: true
        case .account, .claims, .project: false
        }
    }

    /// Returns true if it asks the project's configuration, not accounts.
    package var isAboutProject: Bool {
        switch check {
        case .project: true
        case .account, .claims, .group: false
        }
    }

    /// Findings of the rule in the project's configuration; none for a rule about accounts.
    package func findings(inProjectOf terms: AuditTerms) -> [ProjectFinding] {
        guard case .project(let check) = check else { return [] }
        return check(terms).map { ProjectFinding(rule: self, evidence: $0) }
    }

    /// The rule's findings in one account; `AuditChecks` runs many rules.
    package func findings(in snapshot: AccountSnapshot, _ terms: AuditTerms) -> [Finding] {
        AuditChecks([self]).findings(in: snapshot, terms)
    }

    /// The finding about `members`, which share `key`; `nil` where there is none, or only one account.
    package func finding(about members: [Member], key: String, tenant: TenantID) -> Finding? {
        guard case .group(_, let evidence) = check else { return nil }
        var users: [UserID] = []
        for member in members where users.last != member.user { users.append(member.user) }
        guard users.count > 1, var found = evidence(key, members) else { return nil }
        found.others = Array(users.dropFirst())
        return Finding(self, tenant: tenant, user: users[0], evidence: found)
    }
}
