import AccountLinking
import Testing

private let noon = Timestamp(secondsSinceEpoch: 1_700_000_000)
private let policyVersion: Int64 = 3
private let credential = incoming(.gitHub, "github-ann", ann, flagged: true)

/// The account of the conflicts, with a proven address by default.
private func owner(proof: EmailProof? = .emailCode, _ change: (inout Account) -> Void = { _ in }) -> Account {
    var account = Account.fixture("a", email: ann, proof: proof, password: true)
    change(&account)
    return account
}

private func proof(
    _ kind: ConflictProofKind = .mailbox,
    of account: Account = owner(),
    attempts: Int = 0,
    expires: Timestamp = noon.adding(seconds: 60)
) -> ConflictProofFacts {
    ConflictProofFacts(
        binding: ProofBinding(kind, of: account, policyVersion: policyVersion),
        attempts: attempts,
        expiresAt: expires
    )
}

private func conflict(
    _ state: ConflictFacts.State = .open,
    expires: Timestamp = noon.adding(seconds: 3600),
    tenant: TenantID = .project,
    proof: ConflictProofFacts? = nil
) -> ConflictFacts {
    ConflictFacts(state: state, expiresAt: expires, tenant: tenant, account: user("a"), proof: proof)
}

/// Mails in these places, which are taken for another minute.
private func mails(places: ClosedRange<Int>) -> ProofMails {
    ProofMails(freeAt: Dictionary(uniqueKeysWithValues: places.map { ($0, noon.adding(seconds: 60)) }))
}

/// Conflicts that end every question at once, with their rules and refusals.
private let dead: [(ConflictFacts?, Rule, ConflictRefusal)] = [
    (nil, .conflictUnknown, .unknown),
    (conflict(tenant: TenantID("other")), .conflictUnknown, .unknown),
    (conflict(.resolved), .conflictClosed, .closed(.resolved)),
    (conflict(.declined), .conflictClosed, .closed(.declined)),
    (conflict(.superseded), .conflictClosed, .closed(.superseded)),
    (conflict(expires: noon), .conflictExpired, .expired),
    (conflict(.proven, expires: noon.adding(seconds: -1), proof: proof()), .conflictExpired, .expired),
]

struct ProveConflictRows {
    private func decide(
        _ conflict: ConflictFacts?,
        account: Account? = owner(),
        isRight: Bool = true
    ) -> Verdict<ProofDecision> {
        decideProveConflict(
            conflict: conflict,
            handleTenant: .project,
            binding: account.map {
                ProofBinding(conflict?.proof?.binding.kind ?? .mailbox, of: $0, policyVersion: policyVersion)
            },
            isRight: isRight,
            now: noon
        )
    }

    @Test func `Q1 to Q3: an unknown, closed or expired conflict is refused first`() {
        for (facts, rule, refusal) in dead {
            #expect(decide(facts) == Verdict(rule, .refuse(refusal)))
            #expect(
                decideStartProof(
                    policy: LinkPolicy(),
                    conflict: facts,
                    provider: .gitHub,
                    handleTenant: .project,
                    startsSoFar: 0,
                    mails: ProofMails(),
                    isAccountGone: false,
                    now: noon
                ) == Verdict(rule, .refuse(refusal))
            )
            #expect(
                decideProveBySession(
                    conflict: facts,
                    handleTenant: .project,
                    session: user("a"),
                    isSessionRecent: true,
                    now: noon
                ) == Verdict(rule, .refuse(refusal))
            )
            #expect(
                decideProveByLookUp(
                    policy: LinkPolicy(),
                    conflict: facts,
                    provider: .gitHub,
                    handleTenant: .project,
                    proven: user("a"),
                    now: noon
                ) == Verdict(rule, .refuse(refusal))
            )
            #expect(
                ConflictDecliner.allCases.allSatisfy {
                    decideDeclineConflict(conflict: facts, handleTenant: .project, by: $0, now: noon)
                        == Verdict(rule, .some(refusal))
                }
            )
        }
    }

    @Test func `Q4: an answer without a started proof proves nothing`() {
        #expect(decide(conflict()) == Verdict(.proofNotExpected, .refuse(.unproven)))
        #expect(decide(conflict(.proven, proof: proof())) == Verdict(.proofNotExpected, .refuse(.unproven)))
        #expect(decide(conflict(.proven, proof: proof()), isRight: false).rule == .proofNotExpected)
    }

    @Test func `Q5: a proof expires exactly at its time`() {
        #expect(decide(conflict(proof: proof(expires: noon))) == Verdict(.proofExpired, .refuse(.proofExpired)))
        let soon = Timestamp(microsecondsSinceEpoch: noon.microsecondsSinceEpoch + 1)
        #expect(decide(conflict(proof: proof(expires: soon))).rule == .proofAccepted)
    }

    @Test func `Q6: after five wrong answers the right one is refused too`() {
        #expect(decide(conflict(proof: proof(attempts: 4))).rule == .proofAccepted)
        #expect(decide(conflict(proof: proof(attempts: 5))) == Verdict(.proofTooManyAnswers, .refuse(.tooManyAttempts)))
        #expect(decide(conflict(proof: proof(attempts: 6)), isRight: false).rule == .proofTooManyAnswers)
    }

    @Test func `Q7: a proof is bound to the account, the address and the policy of its request`() {
        let bound = conflict(proof: proof())
        let changes: [(inout Account) -> Void] = [
            { $0.sessionEpoch += 1 },
            { $0.email = nil },
            { $0.email = AccountEmail(address: bob, proof: .emailCode) },
        ]
        for change in changes {
            #expect(decide(bound, account: owner(change)) == Verdict(.proofStale, .refuse(.proofStale)))
        }
        #expect(decide(bound, account: nil) == Verdict(.proofStale, .refuse(.proofStale)))
        var older = proof()
        older.binding.policyVersion -= 1
        #expect(decide(conflict(proof: older)) == Verdict(.proofStale, .refuse(.proofStale)))
        // Changes that do not concern the ownership of the account are allowed.
        #expect(decide(bound, account: owner { $0.version += 1 }).rule == .proofAccepted)
    }

    @Test func `Q8: the right answer proves the conflict`() {
        #expect(decide(conflict(proof: proof())) == Verdict(.proofAccepted, .proven))
    }

    @Test func `Q9: a wrong answer is counted`() {
        #expect(decide(conflict(proof: proof()), isRight: false) == Verdict(.proofWrong, .wrong))
    }

    @Test func `Q10 and Q11: five mails can be requested`() {
        func start(_ startsSoFar: Int) -> Verdict<StartProofDecision> {
            decideStartProof(
                policy: LinkPolicy(),
                conflict: conflict(),
                provider: .gitHub,
                handleTenant: .project,
                startsSoFar: startsSoFar,
                mails: ProofMails(),
                isAccountGone: false,
                now: noon
            )
        }
        #expect(start(4) == Verdict(.proofMailed, .mail(place: 1)))
        #expect(start(5) == Verdict(.proofMailsUsedUp, .refuse(.tooManyAttempts)))
    }

    @Test func `Q1: no mail goes out about an account that is gone`() {
        let verdict = decideStartProof(
            policy: LinkPolicy(),
            conflict: conflict(),
            provider: .gitHub,
            handleTenant: .project,
            startsSoFar: 0,
            mails: ProofMails(),
            isAccountGone: true,
            now: noon
        )
        #expect(verdict == Verdict(.conflictUnknown, .refuse(.unknown)))
    }

    @Test func `Q16: ten mails within an hour are sent about an account, over all conflicts`() {
        func start(_ startsSoFar: Int, _ mails: ProofMails) -> Verdict<StartProofDecision> {
            decideStartProof(
                policy: LinkPolicy(),
                conflict: conflict(),
                provider: .gitHub,
                handleTenant: .project,
                startsSoFar: startsSoFar,
                mails: mails,
                isAccountGone: false,
                now: noon
            )
        }
        #expect(start(0, mails(places: 1...9)) == Verdict(.proofMailed, .mail(place: 10)))
        #expect(start(0, mails(places: 1...10)) == Verdict(.tooManyProofMails, .refuse(.tooManyMails(waitSeconds: 60))))
        #expect(start(5, mails(places: 1...10)).rule == .proofMailsUsedUp, "waiting would not help")
    }

    @Test func `Q15: no mail is sent if policy lets no mail settle the credential`() {
        func start(_ rule: ConflictProofRule) -> Verdict<StartProofDecision> {
            decideStartProof(
                policy: .policy { $0.conflictProofRules = [rule] },
                conflict: conflict(),
                provider: .gitHub,
                handleTenant: .project,
                startsSoFar: 0,
                mails: ProofMails(),
                isAccountGone: false,
                now: noon
            )
        }
        #expect(
            start(.init(.init(provider: .gitHub), [.session]))
                == Verdict(.proofByMailNotOffered, .refuse(.proofNotOffered))
        )
        #expect(start(.init(.init(provider: .facebook), [])).rule == .proofMailed)
        // An anonymous caller does not learn the account's methods.
        #expect(start(.init(.init(method: .password), [])).rule == .proofMailed)
    }

    @Test func `Q15, Q17 and Q18: a lookup proves a conflict of the same account, if policy accepts the mailbox`() {
        func prove(_ proven: UserID, _ policy: LinkPolicy = LinkPolicy()) -> Verdict<ProofDecision> {
            decideProveByLookUp(
                policy: policy,
                conflict: conflict(),
                provider: .gitHub,
                handleTenant: .project,
                proven: proven,
                now: noon
            )
        }
        #expect(prove(user("a")) == Verdict(.provenByLookUp, .proven))
        #expect(prove(user("b")) == Verdict(.proofByLookUpOfOtherAccount, .refuse(.unproven)))
        for proven in [user("a"), user("b")] {
            #expect(prove(proven, .onlySessions) == Verdict(.proofByMailNotOffered, .refuse(.proofNotOffered)))
        }
    }

    @Test func `Q12 to Q14: only a recent session of the account proves the conflict`() {
        func prove(_ session: UserID, recent: Bool) -> Verdict<ProofDecision> {
            decideProveBySession(
                conflict: conflict(),
                handleTenant: .project,
                session: session,
                isSessionRecent: recent,
                now: noon
            )
        }
        #expect(prove(user("b"), recent: true) == Verdict(.proofBySessionOfOtherAccount, .refuse(.unproven)))
        #expect(prove(user("b"), recent: false) == Verdict(.proofBySessionOfOtherAccount, .refuse(.unproven)))
        #expect(
            prove(user("a"), recent: false) == Verdict(.proofNeedsRecentSignIn, .refuse(.refused(.credentialTooOld)))
        )
        #expect(prove(user("a"), recent: true) == Verdict(.provenBySession, .proven))
    }
}

struct ResolveConflictRows {
    private func decide(
        _ conflict: ConflictFacts?,
        isProver: Bool = true,
        target: Account? = owner(),
        identityOwner: UserID? = nil,
        emailOwner: UserID? = nil,
        policy: LinkPolicy = LinkPolicy(),
        enabled: Bool = true
    ) -> Verdict<ResolutionDecision> {
        ResolveConflictQuestion(
            conflict: conflict,
            handleTenant: .project,
            isProver: isProver,
            target: target,
            identityOwner: identityOwner,
            emailOwner: emailOwner,
            credential: credential,
            isProviderEnabled: enabled,
            now: noon
        ).decide(policy.asInForce)
    }

    private let proven = conflict(.proven, proof: proof())

    @Test func `Q1 to Q3: an unknown, closed or expired conflict is not settled`() {
        for (facts, rule, refusal) in dead {
            #expect(decide(facts) == Verdict(rule, .refuse(refusal)))
        }
    }

    @Test func `J1: the conflict of a deleted account is unknown`() {
        #expect(decide(proven, target: nil) == Verdict(.resolveAccountGone, .refuse(.unknown)))
    }

    @Test func `J2: only the prover settles a conflict`() {
        #expect(decide(conflict(proof: proof())) == Verdict(.resolveUnproven, .refuse(.unproven)))
        #expect(decide(proven, isProver: false) == Verdict(.resolveUnproven, .refuse(.unproven)))
        #expect(decide(conflict(.proven)) == Verdict(.resolveUnproven, .refuse(.unproven)))
    }

    @Test func `J3: a proof expires exactly at its time`() {
        let late = conflict(.proven, proof: proof(expires: noon))
        #expect(decide(late) == Verdict(.resolveProofExpired, .refuse(.proofExpired)))
    }

    @Test func `J4: a proof is bound to the account, the address and the policy of its request`() {
        #expect(
            decide(proven, target: owner { $0.sessionEpoch += 1 }) == Verdict(.resolveProofStale, .refuse(.proofStale))
        )
        let moved = owner { $0.email = AccountEmail(address: bob, proof: .emailCode) }
        #expect(decide(proven, target: moved) == Verdict(.resolveProofStale, .refuse(.proofStale)))
        var older = proof()
        older.binding.policyVersion -= 1
        #expect(decide(conflict(.proven, proof: older)) == Verdict(.resolveProofStale, .refuse(.proofStale)))
        // A session proves nothing about the mailbox.
        #expect(decide(conflict(.proven, proof: proof(.session)), target: moved).rule == .credentialLinkedAfterProof)
    }

    @Test func `J5 to J7: obstacles to a sign-in prevent settling too`() {
        #expect(
            decide(proven, enabled: false)
                == Verdict(.resolveProviderNotEnabled, .refuse(.refused(.operationNotAllowed)))
        )
        #expect(
            decide(proven, target: owner { $0.isDisabled = true })
                == Verdict(.resolveAccountDisabled, .refuse(.refused(.userDisabled)))
        )
        let guarded = owner { $0.hasSecondFactor = true }
        #expect(
            decide(proven, target: guarded, policy: .secondFactors)
                == Verdict(.resolveNeedsSecondFactor, .refuse(.secondFactorRequired))
        )
        #expect(decide(proven, target: guarded).rule == .credentialLinkedAfterProof)
    }

    @Test func `J8: an identity that was linked meanwhile signs in`() {
        #expect(
            decide(proven, identityOwner: user("a")) == Verdict(.resolveAlreadyLinked, .resolve(user("a"), .nothing))
        )
    }

    @Test func `J9 and J10: no identity is taken from its owner, and none is replaced`() {
        #expect(
            decide(proven, identityOwner: user("b"))
                == Verdict(.resolveIdentityInUse, .refuse(.refused(.federatedIdentityAlreadyLinked)))
        )
        let other = owner { $0.linkedProviders = [.gitHub: "another"] }
        #expect(decide(proven, target: other) == Verdict(.resolveSecondSubject, .refuse(.providerAlreadyLinked)))
    }

    @Test func `U26: a credential whose address a third account owns now is not linked`() {
        let refused = Verdict<ResolutionDecision>(.credentialAddressTaken, .refuse(.refused(.emailExists)))
        for target in [owner(), owner { $0.email = nil }, owner { $0.linkedProviders = [.gitHub: "another"] }] {
            let proven = conflict(.proven, proof: proof(.session, of: target))
            #expect(decide(proven, target: target, emailOwner: user("b")) == refused)
            #expect(
                decide(proven, target: target, identityOwner: user("a"), emailOwner: user("b")).rule
                    == .resolveAlreadyLinked
            )
            #expect(decide(proven, target: target, emailOwner: target.id).rule != .credentialAddressTaken)
            let duplicates = LinkPolicy.duplicates
            #expect(decide(proven, target: target, emailOwner: user("b"), policy: duplicates).rule != refused.rule)
        }
    }

    @Test func `J11: the first proof of the mailbox takes the account over`() {
        let unproven = owner(proof: nil) { $0.linkedProviders = [.facebook: "intruder"] }
        let takeover = AccountChange.only {
            $0.email = .prove(.emailCode)
            $0.password = .remove
            $0.emailLink = false
            $0.phone = .remove
            $0.unlinkedProviders = [.facebook]
            $0.quarantinesRemovals = true
            $0.linkedIdentity = credential.identity
            $0.endsSessions = true
            $0.voidsOutstandingProofs = true
        }
        let facts = conflict(.proven, proof: proof(of: unproven))
        #expect(decide(facts, target: unproven) == Verdict(.takeoverByConflict, .resolve(user("a"), takeover)))
        // Also if the intruder has another identity of the same provider (J10), or only a word for new addresses proves
        // the address.
        for word in [nil, EmailProof.provider(.apple)] {
            let other = owner(proof: word) { $0.linkedProviders = [.gitHub: "intruder", .apple: "intruder"] }
            let settled = decide(conflict(.proven, proof: proof(of: other)), target: other)
            guard settled.rule == .takeoverByConflict, case .resolve(_, let change) = settled.decision else {
                Issue.record("no takeover: \(settled.rule)")
                continue
            }
            #expect(other.applying(change).linkedProviders == [.gitHub: "github-ann"])
        }
        // A session of such an account belongs to the person who made it, so nothing is removed.
        let bySession = conflict(.proven, proof: proof(.session, of: unproven))
        #expect(decide(bySession, target: unproven).rule == .credentialLinkedAfterProof)
    }

    @Test func `J12: a proven conflict links its credential and changes nothing else`() {
        let change = AccountChange.only { $0.linkedIdentity = credential.identity }
        #expect(decide(proven) == Verdict(.credentialLinkedAfterProof, .resolve(user("a"), change)))
        #expect(
            decide(conflict(.proven, proof: proof(.session)))
                == Verdict(.credentialLinkedAfterProof, .resolve(user("a"), change))
        )
        // As in linking (L4), no unproven address replaces a removed one.
        let without = owner { account in
            account.email = nil
            account.hasInitialEmail = true
        }
        #expect(
            decide(conflict(.proven, proof: proof(.session, of: without)), target: without)
                == Verdict(.credentialLinkedAfterProof, .resolve(user("a"), change))
        )
    }

    @Test func `J14: policy decides which proof settles a pair`() {
        let rule = ConflictProofRule(.init(method: .password, provider: .gitHub), [.session])
        let policy = LinkPolicy.policy { $0.conflictProofRules = [rule] }
        #expect(decide(proven, policy: policy) == Verdict(.resolveProofNotOffered, .refuse(.proofNotOffered)))
        #expect(decide(conflict(.proven, proof: proof(.session)), policy: policy).rule == .credentialLinkedAfterProof)
        #expect(
            decide(proven, target: owner { $0.hasPassword = false }, policy: policy).rule == .credentialLinkedAfterProof
        )
    }

    @Test func `J15: the next sign-in settles a proven conflict, except by the first proof of a mailbox`() {
        func refusal(_ facts: ConflictFacts, _ target: Account = owner()) -> Verdict<ConflictRefusal>? {
            refusalOfNextSignIn(
                conflict: facts,
                target: target,
                credential: .untrusted,
                policy: LinkPolicy().asInForce,
                now: noon
            )
        }
        #expect(refusal(proven) == nil)
        let unproven = owner(proof: nil)
        #expect(
            refusal(conflict(.proven, proof: proof(of: unproven)), unproven)
                == Verdict(.nextSignInLeavesConflict, .unproven)
        )
        // A person with a session of the account could sign in to it, as the next one does.
        #expect(refusal(conflict(.proven, proof: proof(.session, of: unproven)), unproven) == nil)
        #expect(refusal(conflict(proof: proof())) == Verdict(.resolveUnproven, .unproven))
        #expect(refusal(conflict(.proven, proof: proof(expires: noon))) == Verdict(.resolveProofExpired, .proofExpired))
        #expect(refusal(proven, owner { $0.sessionEpoch += 1 }) == Verdict(.resolveProofStale, .proofStale))
    }

    @Test func `J13: the holder of the handle may decline the conflict`() {
        let verdict = decideDeclineConflict(conflict: proven, handleTenant: .project, by: .holder, now: noon)
        #expect(verdict == Verdict(.conflictDeclined, nil))
    }

    @Test func `J17: an administrator may decline the conflict, proven or not`() {
        for facts in [proven, conflict()] {
            let verdict = decideDeclineConflict(conflict: facts, handleTenant: .project, by: .administrator, now: noon)
            #expect(verdict == Verdict(.declinedByOperator, nil))
        }
    }

    @Test func `an expired conflict is neither open nor proven, and a closed one stays closed`() {
        func shown(_ state: ConflictFacts.State, expires: Timestamp) -> ConflictFacts.ShownState {
            conflict(state, expires: expires).shownState(at: noon)
        }
        let later = noon.adding(seconds: 1)
        for state in ConflictFacts.State.allCases {
            #expect(shown(state, expires: later).rawValue == state.rawValue)
            #expect(shown(state, expires: noon).rawValue == (state.isLive ? "expired" : state.rawValue))
        }
    }
}

extension LinkPolicy {
    /// This policy with the version that the proofs are bound to.
    fileprivate var asInForce: LinkPolicy {
        var policy = self
        policy.version = policyVersion
        return policy
    }

    fileprivate static let onlySessions = policy { $0.conflictProofRules = [.init(.init(), [.session])] }
}

/// Every combination of the inputs of the decisions about a conflict.
enum ConflictCase {
    static let conflicts: [ConflictFacts?] = {
        var all: [ConflictFacts?] = [nil, conflict(tenant: TenantID("other")), conflict(expires: noon)]
        for state in ConflictFacts.State.allCases {
            all.append(conflict(state))
            for kind in ConflictProofKind.allCases {
                for attempts in [0, 4, 5] {
                    for expires in [noon, noon.adding(seconds: 60)] {
                        all.append(conflict(state, proof: proof(kind, attempts: attempts, expires: expires)))
                    }
                }
            }
        }
        return all
    }()

    static let targets: [Account?] = [
        nil, owner(), owner(proof: nil), owner { $0.sessionEpoch += 1 }, owner { $0.isDisabled = true },
        owner { $0.hasSecondFactor = true }, owner { $0.linkedProviders = [.gitHub: "another"] },
        owner { $0.email = AccountEmail(address: bob, proof: .emailCode) },
    ]

    static let resolutions: [(facts: ConflictFacts?, isProver: Bool, verdict: Verdict<ResolutionDecision>)] = {
        var all: [(ConflictFacts?, Bool, Verdict<ResolutionDecision>)] = []
        for facts in conflicts {
            for target in targets {
                for (identityOwner, emailOwner) in [
                    (nil, nil), (user("a"), nil), (user("b"), nil), (nil, user("a")), (nil, user("b")),
                ] {
                    for (isProver, isEnabled, policy) in [
                        (true, true, LinkPolicy.secondFactors), (true, false, .secondFactors),
                        (false, true, .secondFactors), (true, true, .onlySessions),
                    ] {
                        let verdict = ResolveConflictQuestion(
                            conflict: facts,
                            handleTenant: .project,
                            isProver: isProver,
                            target: target,
                            identityOwner: identityOwner,
                            emailOwner: emailOwner,
                            credential: credential,
                            isProviderEnabled: isEnabled,
                            now: noon
                        ).decide(policy.asInForce)
                        all.append((facts, isProver, verdict))
                    }
                }
            }
        }
        return all
    }()

    /// Every rule about a conflict.
    static let rules: [Rule] = {
        var rules = resolutions.map(\.verdict.rule)
        for facts in conflicts {
            for isRight in [true, false] {
                for target in targets {
                    rules.append(
                        decideProveConflict(
                            conflict: facts,
                            handleTenant: .project,
                            binding: target.map {
                                ProofBinding(
                                    facts?.proof?.binding.kind ?? .mailbox,
                                    of: $0,
                                    policyVersion: policyVersion
                                )
                            },
                            isRight: isRight,
                            now: noon
                        ).rule
                    )
                }
                for session in [user("a"), user("b")] {
                    rules.append(
                        decideProveByLookUp(
                            policy: isRight ? LinkPolicy() : .onlySessions,
                            conflict: facts,
                            provider: .gitHub,
                            handleTenant: .project,
                            proven: session,
                            now: noon
                        ).rule
                    )
                    rules.append(
                        decideProveBySession(
                            conflict: facts,
                            handleTenant: .project,
                            session: session,
                            isSessionRecent: isRight,
                            now: noon
                        ).rule
                    )
                }
            }
            for (starts, mails) in [(0, ProofMails()), (5, ProofMails()), (0, mails(places: 1...10))] {
                for policy in [LinkPolicy(), .onlySessions] {
                    rules.append(
                        decideStartProof(
                            policy: policy,
                            conflict: facts,
                            provider: .gitHub,
                            handleTenant: .project,
                            startsSoFar: starts,
                            mails: mails,
                            isAccountGone: false,
                            now: noon
                        ).rule
                    )
                }
            }
            rules += ConflictDecliner.allCases.map {
                decideDeclineConflict(conflict: facts, handleTenant: .project, by: $0, now: noon).rule
            }
            if let facts {
                rules += targets.compactMap(\.self).compactMap { target in
                    refusalOfNextSignIn(
                        conflict: facts,
                        target: target,
                        credential: .untrusted,
                        policy: LinkPolicy().asInForce,
                        now: noon
                    )?.rule
                }
            }
        }
        return rules
    }()
}

struct ConflictLaws {
    @Test func `nothing is settled without the caller's proof, in time`() {
        var settled = 0
        for (facts, isProver, verdict) in ConflictCase.resolutions {
            guard case .resolve(let account, _) = verdict.decision else { continue }
            settled += 1
            #expect(isProver && facts?.state == .proven)
            #expect(facts.map { noon < $0.expiresAt } == true)
            #expect(facts?.proof.map { noon < $0.expiresAt } == true)
            #expect(account == facts?.account)
        }
        #expect(settled > 0)
    }

    @Test func `a proof that is bound to one account or address proves no other (CVE-2026-9087)`() {
        let accounts = [owner(), owner { $0.sessionEpoch += 1 }, owner(proof: nil) { $0.email?.address = bob }]
        var bindings: Set<ProofBinding> = []
        for account in accounts {
            for kind in ConflictProofKind.allCases {
                for version in [policyVersion, policyVersion + 1] {
                    bindings.insert(ProofBinding(kind, of: account, policyVersion: version))
                }
            }
        }
        for given in bindings {
            for wanted in bindings {
                let facts = conflict(
                    proof: ConflictProofFacts(binding: given, attempts: 0, expiresAt: noon.adding(seconds: 60))
                )
                let verdict = decideProveConflict(
                    conflict: facts,
                    handleTenant: .project,
                    binding: wanted,
                    isRight: true,
                    now: noon
                )
                #expect((verdict.decision == .proven) == (given == wanted))
            }
        }
    }
}
