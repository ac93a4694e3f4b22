import AccountTestSupport
import Foundation
import Testing

@testable import AccountLinking

/// Each audit rule finds its defect, and nothing in a healthy account.
struct AuditRuleTests {
    private static let day: Int64 = 86_400
    private static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
    private static let terms = AuditTerms(policy: LinkPolicy(), isEnabled: { $0 != .gitHub }, now: now)

    private static func ago(days: Int64) -> Timestamp { now.adding(seconds: -days * day) }

    /// A healthy account: an address that was proven by mail, a password, Google, a number and a session.
    private static func well(_ id: String = "ann") -> AccountSnapshot {
        var snapshot = AccountSnapshot(tenant: .project, id: user(id), createdAt: ago(days: 90))
        snapshot.account = Account.fixture(
            id,
            email: ann,
            proof: .emailCode,
            password: true,
            phone: true,
            providers: [.google: "g-1"]
        )
        snapshot.emailProvenAt = ago(days: 89)
        snapshot.lastLoginAt = ago(days: 1)
        snapshot.passwordUpdatedAt = ago(days: 90)
        snapshot.passwordScheme = "\(AuditRule.currentPasswordScheme)c2FsdHNhbHRz"
        snapshot.linkedProviders = [
            .init(identity: identity(.google, "g-1"), issuer: nil, email: ann, linkedAt: ago(days: 80))
        ]
        let methods: [SignInMethod] = [.password, .provider(.google), .phone]
        for method in methods { snapshot.methodProofs[method] = .init(proof: .session, provenAt: ago(days: 80)) }
        snapshot.sessions = [.init(epoch: 7, signInProvider: "password", count: 1, lastAuthTime: ago(days: 1))]
        return snapshot
    }

    private static func changed(_ change: (inout AccountSnapshot) -> Void) -> AccountSnapshot {
        var snapshot = well()
        change(&snapshot)
        return snapshot
    }

    private static func findings(_ rule: AuditRule, _ snapshot: AccountSnapshot) -> [Finding] {
        rule.findings(in: snapshot, terms)
    }

    /// Accounts with defects for the rules about one account, with the number of findings.
    private static let ill: [(rule: String, count: Int, snapshot: AccountSnapshot)] = [
        ("unreadable-value", 2, changed { $0.unreadable = ["users.email", "users.email_proof"] }),
        (
            "record-without-user", 3,
            changed {
                $0.account = nil
                $0.methodProofs = [:]
            }
        ),
        (
            "method-without-credential", 2,
            changed {
                $0.methodProofs[.password] = nil
                $0.account?.phoneNumber = nil
            }
        ),
        ("identifier-without-claim", 1, changed { $0.unclaimed = [.init(identifier: .email(ann), owner: nil)] }),
        (
            "identifier-without-claim", 1,
            changed { $0.unclaimed = [.init(identifier: .phone(annsNumber), owner: user("bob"))] }
        ),
        (
            "claim-without-owner", 1,
            changed { $0.orphanedIdentifiers = [.init(kind: "email", value: "ann@old.example")] }
        ),
        (
            "claim-without-owner", 1,
            changed {
                $0.account = nil
                $0.orphanedIdentifiers = [.init(kind: "federated", value: "google.com\u{1F}g-1")]
            }
        ),
        (
            "user-without-sign-in-method", 1,
            changed { $0.account = .fixture("ann", email: bob, providers: [.gitHub: "h-1"]) }
        ),
        ("user-without-sign-in-method", 1, changed { $0.account = .fixture("ann", email: bob) }),
        ("address-proven-by-nobody", 1, changed { $0.account?.email?.proof = .administrator }),
        ("address-proven-by-untrusted-provider", 1, changed { $0.account?.email?.proof = .provider(.gitHub) }),
        ("unproven-address-with-providers", 1, changed { $0.account?.email?.proof = nil }),
        (
            "method-older-than-proof", 2,
            changed { snapshot in
                snapshot.account?.email?.proof = .passwordReset
                snapshot.emailProvenAt = ago(days: 1)
            }
        ),
        (
            "second-factor-on-unproven-address", 1,
            changed {
                $0.account?.email?.proof = nil
                $0.account?.hasSecondFactor = true
            }
        ),
        ("disabled-with-live-sessions", 1, changed { $0.account?.isDisabled = true }),
        ("weak-password-hash", 1, changed { $0.passwordScheme = "$2b$10$N9qo8uLOickgx2ZMRZoMye" }),
        ("weak-password-hash", 1, changed { $0.passwordScheme = "$argon2id$v=19$m=4096,t=1,p=1$c2Fs" }),
        ("unused-password", 1, changed { $0.sessions = [] }),
        (
            "provider-address-differs", 1,
            changed { $0.linkedProviders[0].email = address("ann@work.example") }
        ),
        (
            "identity-wanted-by-two-accounts", 1,
            changed { $0.conflicts = [conflict(.credentialAlreadyInUse, .facebook, live: 1)] }
        ),
        (
            "recycled-address", 1,
            changed { $0.conflicts = [conflict(.accountExistsWithDifferentCredential, .google, live: 0)] }
        ),
        (
            "stale-number", 1,
            changed { snapshot in
                snapshot.createdAt = ago(days: 800)
                snapshot.lastLoginAt = ago(days: 400)
                snapshot.methodProofs[.phone]?.provenAt = ago(days: 700)
            }
        ),
        (
            "stale-email-change", 1,
            changed { $0.codes = [codes(.verifyAndChangeEmail, waitingSince: ago(days: 8), expiring: ago(days: 5))] }
        ),
        (
            "overdue-records", 3,
            changed { snapshot in
                snapshot.codes = [codes(.passwordReset, waitingSince: nil, expiring: ago(days: 31))]
                snapshot.conflicts = [conflict(.emailAlreadyInUse, .facebook, live: 0, expiring: ago(days: 31))]
                snapshot.sessions.append(
                    .init(epoch: 6, signInProvider: "google.com", count: 2, lastAuthTime: ago(days: 60))
                )
                snapshot.validSince = ago(days: 31)
            }
        ),
    ]

    private static func conflict(
        _ kind: ConflictKind,
        _ provider: ProviderID,
        live: Int64,
        isResolved: Bool = false,
        expiring: Timestamp = now
    ) -> AccountSnapshot.Conflicts {
        .init(
            kind: kind,
            provider: provider,
            count: 1,
            liveCount: live,
            unresolvedCount: isResolved ? 0 : 1,
            lastOpenedAt: isResolved ? nil : ago(days: 40),
            firstExpiry: expiring
        )
    }

    private static func codes(
        _ kind: EmailCodeRecord.Kind,
        waitingSince: Timestamp?,
        expiring: Timestamp
    ) -> AccountSnapshot.Codes {
        .init(kind: kind, count: 1, waitingSince: waitingSince, firstExpiry: expiring)
    }

    @Test func `a healthy account breaks no rule`() {
        for rule in AuditRule.all { #expect(Self.findings(rule, Self.well()) == [], "\(rule.id)") }
    }

    @Test func `each rule finds its defect`() {
        for (id, count, snapshot) in Self.ill {
            let found = AuditRule.named(id).map { Self.findings($0, snapshot) } ?? []
            #expect(found.count == count, "\(id): \(found)")
            #expect(found.allSatisfy { $0.rule == id && $0.user == snapshot.id })
        }
        let alone = AuditRule.all.filter { !$0.isAboutSeveral && !$0.isAboutProject }.map(\.id)
        #expect(Set(Self.ill.map(\.rule)) == Set(alone), "every rule has an account that breaks it")
    }

    // MARK: The project's configuration

    /// Findings about a project with these domains, as rule and evidence.
    private static func found(
        _ domains: [String],
        providers: [ProviderID] = [],
        allowsEmailLinks: Bool = false
    ) -> [String] {
        var terms = terms
        terms.authorizedDomains = domains.compactMap(AuthorizedDomain.init)
        terms.enabledProviders = providers
        terms.policy.allowsEmailLinkSignIn = allowsEmailLinks
        return AuditRule.all.flatMap { $0.findings(inProjectOf: terms) }.map { finding in
            "\(finding.rule.id): " + finding.evidence.items.map { "\($0.value)" }.joined(separator: " ")
        }
    }

    @Test func `a domain below a shared host is found`() {
        #expect(
            Self.found(["app.example.com", "my-project.web.app", "a.b.vercel.app", "localhost", "notweb.app"]) == [
                #"authorized-shared-host: text("my-project.web.app") text("web.app")"#,
                #"authorized-shared-host: text("a.b.vercel.app") text("vercel.app")"#,
            ]
        )
    }

    @Test func `a project under the compatible preset is found`() {
        var terms = Self.terms
        terms.policy = .firebase
        #expect(AuditRule.compatibilityPreset.findings(inProjectOf: terms).count == 1)
        terms.policy = LinkPolicy()
        #expect(AuditRule.compatibilityPreset.findings(inProjectOf: terms).isEmpty)
    }

    @Test func `a project without a domain is found if something needs one`() {
        #expect(Self.found([]) == [])
        #expect(Self.found(["app.example.com"], providers: [.google], allowsEmailLinks: true) == [])
        #expect(
            Self.found([], providers: [.google], allowsEmailLinks: true) == [
                #"no-authorized-domain: text("e-mail links, google.com")"#
            ]
        )
    }

    @Test func `shared hosts are host names, and cover the hosts below them`() {
        for host in SharedHosts.all {
            #expect(AuthorizedDomain(host)?.text == host)
            #expect(SharedHosts.sharedHost(of: "my-project.\(host)") == host)
            #expect(SharedHosts.sharedHost(of: "A.B.\(host.uppercased())") == host)
            #expect(SharedHosts.sharedHost(of: "not\(host)") == nil)
        }
        #expect(SharedHosts.sharedHost(of: "app.example.com") == nil && SharedHosts.sharedHost(of: "app") == nil)
    }

    @Test func `a rule has a descriptive name and three sentences`() {
        #expect(Set(AuditRule.all.map(\.id)).count == AuditRule.all.count)
        for rule in AuditRule.all {
            #expect(rule.id.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x2D }, "\(rule.id)")
            for text in [rule.summary, rule.reason, rule.repair] { #expect(text.hasSuffix("."), "\(rule.id): \(text)") }
        }
    }

    @Test func `the document lists every rule with its text`() throws {
        let document = try String(contentsOfFile: Repository.root + "/docs/guides/audits.md", encoding: .utf8)
        let rows = document.split(separator: "\n").filter { $0.hasPrefix("| `") && $0.split(separator: "|").count == 3 }
            .filter { $0.contains("| error |") || $0.contains("| warning |") || $0.contains("| note |") }
        #expect(
            rows.map(String.init) == AuditRule.all.map { "| `\($0.id)` | \($0.severity.rawValue) | \($0.summary) |" }
        )
    }

    // MARK: What a plan does about it

    /// The repairs that are offered for the accounts with defects, by rule, in the order of the table above.
    private static let offered: [(rule: String, offers: [RepairOffer?])] = {
        let overdue = ago(days: 30)
        return [
            ("unreadable-value", [nil, nil]),
            (
                "record-without-user",
                [.linkedProviders, .passwordCredentials, .sessions].map { .repair(.deleteRecords($0)) }
            ),
            ("method-without-credential", [.repair(.recordMethod(.password)), .repair(.forgetMethod(.phone))]),
            ("identifier-without-claim", [.repair(.claim(.email)), nil]),
            (
                "claim-without-owner",
                [
                    .repair(.release(kind: "email", key: "ann@old.example")),
                    .repair(.release(kind: "federated", key: "google.com\u{1F}g-1")),
                ]
            ),
            ("user-without-sign-in-method", [nil, nil]),
            ("address-proven-by-nobody", [.repair(.unproveAddress)]),
            ("address-proven-by-untrusted-provider", [.repair(.unproveAddress)]),
            ("unproven-address-with-providers", [nil]),
            (
                "method-older-than-proof",
                [
                    .repair(.suspend(.provider(.google), endsSessions: true)),
                    .repair(.suspend(.phone, endsSessions: true)),
                ]
            ),
            ("second-factor-on-unproven-address", [nil]),
            ("disabled-with-live-sessions", [.repair(.endSessions)]),
            ("weak-password-hash", [nil, nil]),
            ("unused-password", [.repair(.suspend(.password, endsSessions: false))]),
            ("provider-address-differs", [nil]),
            ("identity-wanted-by-two-accounts", [nil]),
            ("recycled-address", [nil]),
            ("stale-number", [.repair(.suspend(.phone, endsSessions: false))]),
            ("stale-email-change", [.repair(.voidCodes(.verifyAndChangeEmail, madeBefore: ago(days: 7)))]),
            (
                "overdue-records",
                [
                    .repair(.deleteOverdue(.codes(.passwordReset), endedBefore: overdue)),
                    .repair(.deleteOverdue(.conflicts, endedBefore: overdue)),
                    .repair(.deleteOverdue(.sessions, endedBefore: overdue)),
                ]
            ),
        ]
    }()

    @Test func `each rule offers the smallest repair that removes the finding, or says why a person must decide`() {
        for (id, offers) in Self.offered {
            let found = Self.ill.filter { $0.rule == id }.flatMap { ill in
                AuditRule.named(id).map { ill.snapshot.proposals(about: Self.findings($0, ill.snapshot), Self.terms) }
                    ?? []
            }
            #expect(found.count == offers.count, "\(id)")
            for (proposal, expected) in zip(found, offers) {
                switch proposal.offer {
                case .repair: #expect(proposal.offer == expected, "\(id)")
                case .person(let reason): #expect(expected == nil && !reason.isEmpty, "\(id): \(reason)")
                }
                #expect(proposal.user == user("ann") && proposal.finding.rule == id)
            }
        }
        let alone = AuditRule.all.filter { !$0.isAboutSeveral && !$0.isAboutProject }.map(\.id)
        #expect(Set(Self.offered.map(\.rule)) == Set(alone), "every rule is in the table")
    }

    @Test func `no repair is offered for an account with an unreadable value`() {
        let snapshot = Self.changed { snapshot in
            snapshot.account?.email = nil
            snapshot.unreadable = ["users.email"]
            snapshot.orphanedIdentifiers = [.init(kind: "email", value: ann.canonical)]
        }
        let findings = AuditChecks(AuditRule.all).findings(in: snapshot, Self.terms)
        #expect(findings.map(\.rule) == ["unreadable-value", "claim-without-owner"])
        for proposal in snapshot.proposals(about: findings, Self.terms) {
            guard case .person = proposal.offer else {
                Issue.record("\(proposal)")
                continue
            }
        }
    }

    @Test func `a weak hash without recent sign-ins is removed if another method works`() {
        let dormant = Self.changed { snapshot in
            snapshot.passwordScheme = "$2b$10$N9qo8uLOickgx2ZMRZoMye"
            snapshot.createdAt = Self.ago(days: 800)
            snapshot.lastLoginAt = Self.ago(days: 400)
        }
        var alone = dormant
        alone.account = .fixture("ann", email: ann, proof: .emailCode, password: true)
        for (snapshot, offer) in [
            (dormant, RepairOffer.repair(.suspend(.password, endsSessions: false))), (alone, nil),
        ] {
            let findings = AuditRule.named("weak-password-hash").map { Self.findings($0, snapshot) } ?? []
            let proposal = snapshot.proposals(about: findings, Self.terms).first
            if let offer {
                #expect(proposal?.offer == offer)
            } else {
                guard case .person? = proposal?.offer else {
                    Issue.record("the last method was taken: \(String(describing: proposal))")
                    continue
                }
            }
        }
    }

    @Test func `repairs by several rules together leave a working method`() {
        // Three rules would remove the password, the number and Google. Each alone may.
        let snapshot = Self.changed { snapshot in
            snapshot.account?.email?.proof = .emailLink
            snapshot.emailProvenAt = Self.ago(days: 1)
            snapshot.createdAt = Self.ago(days: 800)
            snapshot.lastLoginAt = Self.ago(days: 400)
            snapshot.passwordScheme = "$2b$10$N9qo8uLOickgx2ZMRZoMye"
        }
        let findings = AuditRule.all.flatMap { $0.findings(in: snapshot, Self.terms) }
        let proposals = snapshot.proposals(about: findings, Self.terms)
        var account = snapshot.account
        for proposal in proposals {
            guard case .repair(let repair) = proposal.offer else { continue }
            account = account?.applying(repair.change)
        }
        #expect(findings.filter { $0.rule == "method-older-than-proof" }.count == 3)
        #expect(account.map(\.signInMethods.count) == 1)
        let offers = proposals.map(\.offer)
        #expect(
            offers.filter {
                if case .person(let reason) = $0 { reason.hasPrefix("the user would have no other") } else { false }
            }.count >= 1
        )
    }

    @Test func `an unproven number is deleted, and one that several accounts use is a person's decision`() {
        var left = owner("cid", of: "cid@example.com")
        left.unprovenPhoneNumber = annsNumber
        left.account?.version = 5
        var factor = owner("bob", of: "bob@example.com")
        factor.secondFactorNumbers = [annsNumber]
        func proposals(_ snapshots: [AccountSnapshot]) -> [Proposal] {
            guard let rule = AuditRule.named("shared-number") else { return [] }
            let members = members("shared-number", snapshots)
            return rule.finding(about: members, key: annsNumber.rawValue, tenant: .project)
                .map { rule.proposals(about: $0, members: members) } ?? []
        }
        let found = proposals([Self.well(), left])
        #expect(found.map(\.offer) == [.repair(.forgetNumber)])
        #expect(found.map(\.user) == [user("cid")] && found.map(\.version) == [5])
        guard case .person? = proposals([Self.well(), factor, left]).first?.offer else {
            Issue.record("two people use the number")
            return
        }
    }

    // MARK: What is no finding

    @Test func `an account without a method by design, or disabled on purpose, is not locked out`() {
        let accounts = [
            Account.fixture("anonymous"), .fixture("custom", customTokens: true),
            .fixture("disabled", email: bob, disabled: true),
        ]
        for account in accounts {
            let snapshot = Self.changed { $0.account = account }
            #expect(AuditRule.userWithoutSignInMethodFindings(snapshot, Self.terms).isEmpty, "\(account.id)")
        }
    }

    @Test func `a takeover leaves nothing older than its proof`() {
        let owner = AccountSnapshot.after(takeover: Self.well(), at: Self.now)
        for rule in AuditRule.all where rule.id == "method-older-than-proof" {
            #expect(Self.findings(rule, owner).isEmpty)
        }
    }

    @Test func `a password in use, a fresh change and a new number are no findings`() {
        let fresh = Self.changed { snapshot in
            snapshot.codes = [Self.codes(.verifyAndChangeEmail, waitingSince: Self.ago(days: 2), expiring: Self.now)]
            snapshot.account?.isDisabled = false
            snapshot.conflicts = [Self.conflict(.accountExistsWithDifferentCredential, .facebook, live: 1)]
        }
        for rule in AuditRule.all { #expect(Self.findings(rule, fresh) == [], "\(rule.id)") }
    }

    @Test func `a conflict that was settled by linking is no finding`() {
        let settled = Self.changed { snapshot in
            snapshot.conflicts = [
                Self.conflict(.accountExistsWithDifferentCredential, .google, live: 0, isResolved: true)
            ]
        }
        for rule in AuditRule.all { #expect(Self.findings(rule, settled) == [], "\(rule.id)") }
    }

    @Test func `a conflict about an address that is gone or was proven since is no finding`() throws {
        let rule = try #require(AuditRule.named("recycled-address"))
        let conflicts = [Self.conflict(.accountExistsWithDifferentCredential, .google, live: 0)]
        for (provenDaysAgo, count) in [(nil, 1), (41, 1), (40, 1), (39, 0)] as [(Int64?, Int)] {
            let snapshot = Self.changed { snapshot in
                snapshot.conflicts = conflicts
                snapshot.emailProvenAt = provenDaysAgo.map(Self.ago)
            }
            #expect(Self.findings(rule, snapshot).count == count, "\(String(describing: provenDaysAgo))")
        }
        let without = Self.changed { snapshot in
            snapshot.conflicts = conflicts
            snapshot.account?.email = nil
        }
        #expect(Self.findings(rule, without) == [])
    }

    // MARK: Several accounts

    private static func traits(of snapshot: AccountSnapshot, for rule: AuditRule) -> [AuditRule.Trait] {
        var traits: [AuditRule.Trait] = []
        AuditChecks([rule]).forEachTrait(of: snapshot, terms) { _, trait in traits.append(trait) }
        return traits
    }

    /// Findings of a rule among accounts with these addresses and numbers.
    private func groups(_ id: String, _ snapshots: [AccountSnapshot]) -> [Finding] {
        guard let rule = AuditRule.named(id) else { return [] }
        let keys = Set(snapshots.flatMap { Self.traits(of: $0, for: rule) }.map(\.key)).sorted()
        return keys.compactMap { key in
            rule.finding(about: members(id, snapshots, key: key), key: key, tenant: .project)
        }
    }

    /// The members that the accounts contribute to a rule, in total or under one key.
    private func members(_ id: String, _ snapshots: [AccountSnapshot], key: String? = nil) -> [AuditRule.Member] {
        guard let rule = AuditRule.named(id) else { return [] }
        return snapshots.flatMap { snapshot in
            Self.traits(of: snapshot, for: rule).filter { key == nil || $0.key == key }.map {
                AuditRule.Member(user: snapshot.id, version: snapshot.account?.version ?? 0, detail: $0.detail)
            }
        }
    }

    private func owner(_ id: String, of text: String) -> AccountSnapshot {
        var snapshot = AccountSnapshot(tenant: .project, id: user(id))
        snapshot.account = .fixture(id, email: address(text), proof: .emailCode)
        return snapshot
    }

    @Test func `an address of several accounts is found, in any of its uses`() throws {
        var other = owner("bob", of: "bob@example.com")
        other.linkedProviders = [.init(identity: identity(.google, "g"), issuer: nil, email: ann, linkedAt: Self.now)]
        let found = groups("same-address-in-several-accounts", [owner("ann", of: "ann@gmail.com"), other])
        #expect(found.map(\.user) == [user("ann")] && found.first?.evidence.others == [user("bob")])
        #expect(groups("same-address-in-several-accounts", [other]).isEmpty, "one account is no group")
    }

    @Test func `a number of several accounts is found, in any of its uses`() {
        var factor = owner("bob", of: "bob@example.com")
        factor.secondFactorNumbers = [annsNumber]
        var left = owner("cid", of: "cid@example.com")
        left.unprovenPhoneNumber = annsNumber
        let found = groups("shared-number", [Self.well(), factor, left])
        #expect(found.count == 1 && found[0].evidence.others == [user("bob"), user("cid")])
    }

    @Test(arguments: [
        ("ada.lovelace@gmail.com", "adalovelace@gmail.com"),
        ("ada@gmail.com", "a.d.a+shop@googlemail.com"),
        ("ada@outlook.com", "ada+1@outlook.com"),
        ("ada@me.com", "ada@icloud.com"),
        ("microsoft@example.com", "rnicrosoft@example.com"),
        ("paypal@example.com", "paypa1@example.com"), ("google@example.com", "g00gle@example.com"),
        // Cyrillic letters: а, р, о.
        ("paypal@example.com", "раураl@example.com"),
        ("ada@example.com", "ada@exаmple.com"),
        // Without its dot, and as one letter.
        ("li@example.com", "lı@example.com"),
    ])
    func `look-alike addresses are found`(first: String, second: String) throws {
        let one = try #require(EmailAddress(first))
        guard let two = EmailAddress(second) else {
            // An invalid address needs no finding.
            return
        }
        #expect(one.lookAlikeKey == two.lookAlikeKey, "\(one.lookAlikeKey) and \(two.lookAlikeKey)")
        #expect(groups("look-alike-addresses", [owner("one", of: first), owner("two", of: second)]).count == 1)
    }

    @Test(arguments: [
        ("ada@example.com", "ada+shop@example.com"), ("a.da@example.com", "ada@example.com"),
        ("ada@example.com", "eda@example.com"), ("ada@gmail.com", "ada@gmail.example"),
        ("strasse@example.com", "straße@example.com"),
    ])
    func `addresses of different people are no look-alikes`(first: String, second: String) throws {
        let one = try #require(EmailAddress(first))
        let two = try #require(EmailAddress(second))
        #expect(one.lookAlikeKey != two.lookAlikeKey)
    }
}

extension AuditRule {
    fileprivate static func userWithoutSignInMethodFindings(
        _ snapshot: AccountSnapshot,
        _ terms: AuditTerms
    ) -> [Finding] {
        named("user-without-sign-in-method")?.findings(in: snapshot, terms) ?? []
    }
}

extension AccountSnapshot {
    /// The account after a takeover by a reset.
    fileprivate static func after(takeover snapshot: AccountSnapshot, at now: Timestamp) -> AccountSnapshot {
        var left = snapshot
        left.account = .fixture(snapshot.id.rawValue, email: ann, proof: .passwordReset, password: true)
        left.emailProvenAt = now
        left.linkedProviders = []
        left.methodProofs = [.password: .init(proof: .message, provenAt: now)]
        return left
    }
}
