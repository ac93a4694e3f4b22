/// A rule of audits: its check, the reason why a finding matters, and the repair.
///
/// Checks are pure and total, use the predicates of the decisions, and repair nothing. An id is never renamed or
/// reused.
package struct AuditRule: Sendable {
    package enum Severity: String, Sendable, Hashable, CaseIterable, Comparable {
        /// Information; no action is needed.
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
        /// Accounts with the same key form a group.
        package var key: String
        /// The account's part in the trait.
        package var detail: String
    }

    /// An account of a group, with its trait.
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
        /// Returns the evidence of each finding about one account.
        case account(@Sendable (AccountSnapshot, AuditTerms) -> [Evidence])
        /// Returns the evidence of each finding about the project's configuration. It names no account.
        case project(@Sendable (AuditTerms) -> [Evidence])
        /// Returns the evidence of each finding about stray claims. Also runs if the account has unreadable values.
        case claims(@Sendable (AccountSnapshot) -> [Evidence])
        /// Returns the traits of each account, and the evidence if the accounts with one key are a finding. A group has
        /// at least two accounts. Members are in the order of their ids, one for each trait.
        case group(
            traits: @Sendable (AccountSnapshot, AuditTerms) -> [Trait],
            evidence: @Sendable (_ key: String, _ members: [Member]) -> Evidence?
        )
    }

    package let id: String
    package let severity: Severity
    /// The finding in one sentence.
    package let summary: String
    /// The attack or problem behind the finding.
    package let reason: String
    package let repair: String
    /// The plan's action for a finding.
    package let remedy: Remedy
    package let check: Check
}

extension AuditRule {
    /// Every rule, in the order in which they are listed.
    package static let all: [AuditRule] = [
        // The project's configuration lets strangers sign in, or blocks the project's apps.
        .compatibilityPreset, .authorizedSharedHost, .noAuthorizedDomain,
        // The tables contradict each other.
        .unreadableValue, .recordWithoutUser, .methodWithoutCredential, .identifierWithoutClaim, .claimWithoutOwner,
        // The owner cannot sign in, or a stranger can.
        .userWithoutSignInMethod, .addressProvenByNobody, .addressProvenByUntrustedProvider,
        .unprovenAddressWithProviders, .methodOlderThanProof, .secondFactorOnUnprovenAddress, .disabledWithLiveSessions,
        .weakPasswordHash, .unusedPassword,
        // Several accounts may belong to one person, or could be confused.
        .sameAddress, .lookAlikeAddresses, .providerAddressDiffers, .identityWantedByTwo, .recycledAddress,
        .sharedNumber, .staleNumber,
        // Records should have expired.
        .staleEmailChange, .overdueRecords,
        // Add a rule here.
    ]

    /// The rule with `id`; `nil` if there is none.
    package static func named(_ id: String) -> AuditRule? { all.first { $0.id == id } }
}

/// The settings and limits that an audit checks accounts against.
package struct AuditTerms: Sendable {
    package var policy: LinkPolicy
    /// Returns `true` if users can sign in with a provider now.
    package var isEnabled: @Sendable (ProviderID) -> Bool
    /// Providers that are registered and enabled, without the simulated ones of development.
    package var enabledProviders: [ProviderID] = []
    /// Hosts that may receive codes and sessions.
    package var authorizedDomains: [AuthorizedDomain] = []
    package var now: Timestamp
    /// Maximum seconds that a change of address may wait for its confirmation.
    package var emailChangeSeconds: Int64 = 7 * 86_400
    /// Seconds without a sign-in after which an account counts as dormant.
    package var dormantSeconds: Int64 = 365 * 86_400
    /// Maximum seconds that expired records may remain. A running server deletes them much sooner.
    package var overdueSeconds: Int64 = 30 * 86_400

    package init(policy: LinkPolicy, isEnabled: @escaping @Sendable (ProviderID) -> Bool, now: Timestamp) {
        self.policy = policy
        self.isEnabled = isEnabled
        self.now = now
    }
}

/// The facts that a rule found, by name. The case of a value says if it identifies a person and must be masked.
package struct Evidence: Sendable, Hashable {
    package enum Value: Sendable, Hashable {
        case text(String)
        case count(Int64)
        case instant(Timestamp)
        case address(String)
        case addresses([String])
        case number(String)
        /// A provider's subject.
        case subject(String)
    }

    package struct Item: Sendable, Hashable {
        package var name: String
        package var value: Value
    }

    package var items: [Item]
    /// The other accounts of the finding.
    package var others: [UserID]

    package init(_ items: KeyValuePairs<String, Value>, others: [UserID] = []) {
        self.items = items.map { Item(name: $0.key, value: $0.value) }
        self.others = others
    }
}

/// A violation of a rule by an account, or by several.
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

/// A violation of a rule by the project's configuration.
package struct ProjectFinding: Sendable {
    package let rule: AuditRule
    package let evidence: Evidence
}

extension AuditRule {
    /// True if the rule compares accounts, and needs all of them.
    package var isAboutSeveral: Bool {
        switch check {
        case .group: true
        case .account, .claims, .project: false
        }
    }

    /// True if the rule checks the project's configuration, not accounts.
    package var isAboutProject: Bool {
        switch check {
        case .project: true
        case .account, .claims, .group: false
        }
    }

    /// The rule's findings in the project's configuration; none for a rule about accounts.
    package func findings(inProjectOf terms: AuditTerms) -> [ProjectFinding] {
        guard case .project(let check) = check else { return [] }
        return check(terms).map { ProjectFinding(rule: self, evidence: $0) }
    }

    /// The rule's findings in one account. `AuditChecks` runs many rules.
    package func findings(in snapshot: AccountSnapshot, _ terms: AuditTerms) -> [Finding] {
        AuditChecks([self]).findings(in: snapshot, terms)
    }

    /// The finding about `members`, which share `key`; `nil` if there is none or they are one account.
    package func finding(about members: [Member], key: String, tenant: TenantID) -> Finding? {
        guard case .group(_, let evidence) = check else { return nil }
        var users: [UserID] = []
        for member in members where users.last != member.user { users.append(member.user) }
        guard users.count > 1, var found = evidence(key, members) else { return nil }
        found.others = Array(users.dropFirst())
        return Finding(self, tenant: tenant, user: users[0], evidence: found)
    }
}
