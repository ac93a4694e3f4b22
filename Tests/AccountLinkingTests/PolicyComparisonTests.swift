import AccountLinking
import AccountTestSupport
import Foundation
import Testing

/// Reported effects of a change of policy, compared with the decisions under both policies.
struct PolicyComparisonTests {
    private static let oidc = provider("oidc.acme")
    private static let issuer = "https://id.acme.example"

    private static func terms(
        _ enabled: Set<ProviderID> = [.google, .gitHub, oidc],
        _ change: (inout LinkPolicy) -> Void = { _ in }
    ) -> PolicyTerms {
        var policy = LinkPolicy()
        policy.registeredIssuers = [oidc: issuer]
        change(&policy)
        return PolicyTerms(policy: policy, enabledProviders: enabled)
    }

    private static func trusting(_ rules: EmailTrustRule...) -> PolicyTerms {
        terms { $0.emailTrust = $0.emailTrust.adding(rules) }
    }

    /// One policy of each kind that decisions distinguish, by name.
    private static let policies: [(name: String, terms: PolicyTerms)] = [
        ("plain", terms()),
        ("no password", terms { $0.allowsPasswordSignIn = false }),
        ("no links", terms { $0.allowsEmailLinkSignIn = false }),
        ("no numbers", terms { $0.allowsPhoneSignIn = false }),
        ("duplicates", terms { $0.isOneAccountPerEmail = false }),
        ("no sign-up", terms { $0.allowsClientSignUp = false }),
        (
            "duplicates, no sign-up",
            terms {
                $0.isOneAccountPerEmail = false
                $0.allowsClientSignUp = false
            }
        ),
        ("second factors", terms { $0.requiresEnrolledSecondFactors = true }),
        ("no GitHub", terms([.google, oidc])),
        ("no provider", terms([])),
        ("GitHub trusted", trusting(.init(.init(.only(.gitHub)), .verifying))),
        ("Google ignored", trusting(.init(.init(.only(.google)), .untrusted))),
        ("Acme for its domain", trusting(.init(.init(.only(oidc), .any, .only("example.com")), .authoritative))),
        ("Acme asserting", trusting(.init(.init(.only(oidc), .only(issuer)), .asserting))),
    ]

    /// From the plain policy to each, back, and from each to another.
    private static let pairs: [(name: String, present: PolicyTerms, proposed: PolicyTerms)] = policies.indices.flatMap {
        index in
        [(0, index), (index, 0), (index, (index + 5) % policies.count)].map { present, proposed in
            (
                "\(policies[present].name) → \(policies[proposed].name)", policies[present].terms,
                policies[proposed].terms
            )
        }
    }

    /// Every account that decisions distinguish.
    private static let snapshots: [AccountSnapshot] = everyPoint { choices in
        var account = Account.fixture("a")
        let address = choices.choose(from: [nil, ann, bob])
        if let address {
            account.email = AccountEmail(
                address: address,
                proof: choices.choose(from: [nil, .provider(.google)])
            )
        }
        switch choices.choose(below: 3) {
        case 0: break
        case 1: account.hasPassword = true
        default:
            account.hasPassword = true
            account.hasEmailLink = address != nil
            account.phoneNumber = annsNumber
        }
        for provider in [ProviderID.google, oidc] where choices.chooseBool() {
            account.linkedProviders[provider] = "s"
        }
        switch choices.choose(below: 4) {
        case 0: break
        case 1: account.isDisabled = true
        case 2: account.hasSecondFactor = true
        default: account.usesCustomTokens = true
        }
        return snapshot(of: account, naming: choices.choose(from: [nil, ann]))
    }

    private static func snapshot(of account: Account, naming email: EmailAddress?) -> AccountSnapshot {
        var snapshot = AccountSnapshot(tenant: .project, id: account.id)
        snapshot.account = account
        snapshot.linkedProviders = account.linkedProviders.sorted { $0.key < $1.key }.map { provider, subject in
            .init(
                identity: identity(provider, subject),
                issuer: provider == oidc ? issuer : nil,
                email: email,
                linkedAt: Timestamp(secondsSinceEpoch: 1)
            )
        }
        return snapshot
    }

    private static func predictions(
        _ present: PolicyTerms,
        _ proposed: PolicyTerms,
        _ snapshot: AccountSnapshot
    ) -> [Prediction] {
        var memo = PolicyComparison.Memo()
        return PolicyComparison(present: present, proposed: proposed).predictions(for: snapshot, &memo)
    }

    // MARK: On every input

    @Test func `an unchanged policy has no effect on any account`() {
        for (name, terms) in Self.policies {
            var memo = PolicyComparison.Memo()
            let comparison = PolicyComparison(present: terms, proposed: terms)
            for snapshot in Self.snapshots {
                #expect(comparison.predictions(for: snapshot, &memo).isEmpty, "\(name)")
            }
        }
    }

    @Test func `an account's effects do not depend on the accounts before it`() {
        for (name, present, proposed) in Self.pairs {
            let comparison = PolicyComparison(present: present, proposed: proposed)
            var memo = PolicyComparison.Memo()
            for snapshot in Self.snapshots {
                var fresh = PolicyComparison.Memo()
                let found = comparison.predictions(for: snapshot, &memo)
                #expect(found == comparison.predictions(for: snapshot, &fresh), "\(name)")
                #expect(Set(found.map(\.effect)).count == found.count, "each effect once")
                let order = found.compactMap { SimulatedEffect.allCases.firstIndex(of: $0.effect) }
                #expect(order == order.sorted())
            }
        }
    }

    @Test func `lockouts and lost or gained methods equal the change of working methods`() {
        for (name, present, proposed) in Self.pairs {
            for snapshot in Self.snapshots {
                guard let account = snapshot.account else { continue }
                func working(_ terms: PolicyTerms) -> Set<SignInMethod> {
                    Set(
                        workingMethods(
                            of: account,
                            policy: terms.policy,
                            enabledProviders: terms.enabledProviders
                        )
                    )
                }
                let (before, after) = (working(present), working(proposed))
                var expected: Set<SimulatedEffect> = []
                if !before.isSubset(of: after) {
                    expected.insert(after.isEmpty && !account.usesCustomTokens ? .lockedOut : .methodLost)
                }
                if !after.isSubset(of: before) { expected.insert(before.isEmpty ? .letIn : .methodGained) }
                let found = Set(Self.predictions(present, proposed, snapshot).map(\.effect))
                    .intersection([.lockedOut, .methodLost, .letIn, .methodGained])
                #expect(found == expected, "\(name): \(account)")
            }
        }
    }

    /// The outcome of a sign-in with the account's address, from the decision alone.
    private static func outcome(
        _ terms: PolicyTerms,
        _ account: Account,
        _ address: EmailAddress,
        _ provider: ProviderID,
        flagged: VerifiedFlag,
        hosted: Bool
    ) -> String {
        let verdict = SignInWithIdpQuestion(
            identityOwner: nil,
            emailOwner: account,
            credential: incoming(
                provider,
                "new",
                address,
                flagged: flagged.value,
                hostedDomain: hosted ? String(address.domain) : nil,
                issuer: provider == oidc ? issuer : nil
            ),
            isProviderEnabled: terms.enabledProviders.contains(provider),
            createsUsers: true,
            secondFactorProvenBy: account.id
        ).decide(terms.policy)
        switch (verdict.rule, verdict.decision) {
        case (.takeoverByProvider, _): return "takes over"
        case (_, .signIn): return "links"
        case (_, .createUser): return "creates an account"
        case (_, .conflict): return "conflict"
        case (_, .refuse(let refusal)): return "refused (\(refusal.rawValue))"
        case (_, .secondFactorRequired): return "asks for the second factor"
        }
    }

    @Test func `exactly the sign-ins whose outcome changes are reported`() {
        for (name, present, proposed) in Self.pairs {
            let comparison = PolicyComparison(present: present, proposed: proposed)
            var memo = PolicyComparison.Memo()
            for snapshot in Self.snapshots {
                guard let account = snapshot.account else { continue }
                var found: Set<String> = []
                for case .signIns(_, let transitions) in comparison.predictions(for: snapshot, &memo).map(\.cause) {
                    for transition in transitions {
                        let signIn = transition.signIn
                        guard account.linkedProviders[signIn.provider] == nil,
                            [.none, .registered].contains(signIn.issuer)
                        else { continue }
                        found.insert(
                            "\(signIn.provider.rawValue) \(signIn.flag) \(signIn.isHosted): \(transition.before.text) → \(transition.after.text)"
                        )
                    }
                }
                var expected: Set<String> = []
                for provider in [ProviderID.google, .gitHub, Self.oidc] {
                    guard let address = account.email?.address, account.linkedProviders[provider] == nil else {
                        continue
                    }
                    let cases = VerifiedFlag.allCases.flatMap { flag in [true, false].map { (flag, $0) } }
                    for (flagged, hosted) in cases {
                        if hosted, provider != .google { continue }
                        func ending(_ terms: PolicyTerms) -> String {
                            Self.outcome(terms, account, address, provider, flagged: flagged, hosted: hosted)
                        }
                        let (before, after) = (ending(present), ending(proposed))
                        if before == after || after == "refused (operationNotAllowed)" { continue }
                        expected.insert("\(provider.rawValue) \(flagged) \(hosted): \(before) → \(after)")
                    }
                }
                // A disabled account is distinguished if the provider is enabled: its refusal differs.
                #expect(found == expected, "\(name): \(account)")
            }
        }
    }

    // MARK: By name

    private static let withPassword = Account.fixture("a", email: bob, proof: .emailCode, password: true)

    private static let rows: [(effect: SimulatedEffect, from: PolicyTerms, to: PolicyTerms, AccountSnapshot)] = [
        (.lockedOut, terms(), terms { $0.allowsPasswordSignIn = false }, snapshot(of: withPassword, naming: nil)),
        (
            .methodLost, terms(), terms([.google]),
            snapshot(of: .fixture("a", password: true, phone: true, providers: [.gitHub: "1"]), naming: bob)
        ),
        (
            .wouldSplit, terms(), terms { $0.isOneAccountPerEmail = false },
            snapshot(of: withPassword, naming: nil)
        ),
        (
            .wouldConflict, trusting(.init(.init(.only(.gitHub)), .verifying)), terms(),
            snapshot(of: withPassword, naming: nil)
        ),
        (
            .wouldBeTakenOver, terms(), trusting(.init(.init(.only(.gitHub)), .verifying)),
            snapshot(of: .fixture("a", email: bob, password: true), naming: nil)
        ),
        (
            .wouldBeRefused, terms { $0.isOneAccountPerEmail = false },
            terms {
                $0.isOneAccountPerEmail = false
                $0.allowsClientSignUp = false
            }, snapshot(of: withPassword, naming: nil)
        ),
        (
            .proofLost, trusting(.init(.init(.only(.gitHub)), .verifying)), terms(),
            snapshot(of: .fixture("a", email: bob, proof: .provider(.gitHub), providers: [.gitHub: "1"]), naming: bob)
        ),
        (
            .conflictStuck, terms(), terms { $0.conflictProofRules = [.init(.init(), [])] },
            {
                var open = snapshot(of: withPassword, naming: nil)
                let instant = Timestamp(secondsSinceEpoch: 1)
                open.conflicts = [
                    .init(
                        kind: .accountExistsWithDifferentCredential,
                        provider: .gitHub,
                        count: 1,
                        liveCount: 1,
                        unresolvedCount: 1,
                        lastOpenedAt: instant,
                        firstExpiry: instant
                    )
                ]
                return open
            }()
        ),
        (
            .secondFactorAsked, terms(), terms { $0.requiresEnrolledSecondFactors = true },
            snapshot(of: .fixture("a", email: bob, proof: .emailCode, password: true, secondFactor: true), naming: nil)
        ),
        (
            .secondFactorSkipped, terms { $0.requiresEnrolledSecondFactors = true }, terms(),
            snapshot(of: .fixture("a", email: bob, proof: .emailCode, password: true, secondFactor: true), naming: nil)
        ),
        (
            .wouldLink, terms(), trusting(.init(.init(.only(.gitHub)), .verifying)),
            snapshot(of: withPassword, naming: nil)
        ),
        (
            .wouldBeVerified, terms(), trusting(.init(.init(.only(.gitHub)), .verifying)),
            snapshot(of: .fixture("a", email: bob, providers: [.gitHub: "1"]), naming: bob)
        ),
        (
            .methodGained, terms([.google]), terms(),
            snapshot(of: .fixture("a", phone: true, providers: [.gitHub: "1"]), naming: nil)
        ),
        (
            .letIn, terms([.google]), terms(),
            snapshot(of: .fixture("a", providers: [.gitHub: "1"]), naming: nil)
        ),
    ]

    @Test func `every effect has its example`() {
        for (effect, present, proposed, snapshot) in Self.rows {
            let found = Self.predictions(present, proposed, snapshot)
            #expect(found.contains { $0.effect == effect }, "\(effect): \(found)")
            #expect(found.allSatisfy { $0.user == snapshot.id })
        }
        #expect(Set(Self.rows.map(\.effect)).union([.addressShared]) == Set(SimulatedEffect.allCases))
    }

    @Test func `accounts with one address share it once policy allows one account per address`() {
        let comparison = PolicyComparison(
            present: Self.terms { $0.isOneAccountPerEmail = false },
            proposed: Self.terms()
        )
        #expect(comparison.joinsAddresses)
        #expect(!PolicyComparison(present: Self.terms(), proposed: Self.terms()).joinsAddresses)
        let owner = Self.snapshot(of: .fixture("ann", email: ann), naming: nil)
        let others = ["bob", "eve"].map { Self.snapshot(of: .fixture($0, providers: [.google: $0]), naming: ann) }
        func members(_ snapshots: [AccountSnapshot]) -> [AuditRule.Member] {
            snapshots.flatMap { snapshot in
                AuditRule.addressTraits(of: snapshot).map {
                    AuditRule.Member(user: snapshot.id, version: 1, detail: $0.detail)
                }
            }
        }
        let shared = comparison.predictions(
            forAccountsNaming: ann.canonical,
            members([owner] + others),
            tenant: .project
        )
        #expect(shared.map(\.user.rawValue) == ["bob", "eve"])
        #expect(shared.allSatisfy { $0.evidence.others == [user("ann")] })
        let orphans = comparison.predictions(forAccountsNaming: ann.canonical, members(others), tenant: .project)
        #expect(orphans.map(\.user.rawValue) == ["bob", "eve"] && orphans.allSatisfy { $0.evidence.others.isEmpty })
    }

    @Test func `unreadable rows and rows without an account have no effects`() {
        var torn = Self.snapshot(of: Self.withPassword, naming: nil)
        torn.unreadable = ["users.email_proof"]
        let nobody = AccountSnapshot(tenant: .project, id: user("nobody"))
        for snapshot in [torn, nobody] {
            #expect(Self.predictions(Self.terms(), Self.terms([]), snapshot).isEmpty)
        }
    }

    @Test func `an effect states its condition`() {
        let found = Self.predictions(
            Self.terms(),
            Self.trusting(.init(.init(.only(.gitHub)), .verifying)),
            Self.snapshot(of: Self.withPassword, naming: nil)
        )
        #expect(found.map(\.effect) == [.wouldLink])
        #expect(
            found.first?.evidence
                == Evidence([
                    "address": .address("bob@example.com"),
                    "signIns": .text("github.com: conflict → links, if it says that it verified the address"),
                ])
        )
    }

    @Test func `the document lists every effect with its text`() throws {
        let document = try String(contentsOfFile: Repository.root + "/docs/guides/policy.md", encoding: .utf8)
        let rows = document.split(separator: "\n").map(String.init)
        for effect in SimulatedEffect.allCases {
            #expect(rows.contains("| `\(effect.rawValue)` | \(effect.summary) |"))
        }
    }

    // MARK: Questions

    @Test func `a question is asked with the enabled providers, and is otherwise unchanged`() {
        for point in SignInWithIdpCase.all {
            let question = SignInWithIdpQuestion(
                identityOwner: point.accounts.identityOwner,
                emailOwner: point.accounts.emailOwner,
                credential: point.credential,
                isProviderEnabled: point.isProviderEnabled,
                createsUsers: point.createsUsers,
                secondFactorProvenBy: point.proven
            )
            let provider = point.credential.identity.provider
            for isEnabled in [true, false] {
                let terms = PolicyTerms(policy: point.policy, enabledProviders: isEnabled ? [provider] : [])
                let answer = question.answer(under: terms)
                var asked = question
                asked.isProviderEnabled = isEnabled
                let verdict = asked.decide(point.policy)
                #expect(answer.rule == verdict.rule && answer.outcome == verdict.decision.outcome)
                var enabled = question
                enabled.enable(terms.enabledProviders)
                #expect(enabled == asked)
            }
        }
    }
}
