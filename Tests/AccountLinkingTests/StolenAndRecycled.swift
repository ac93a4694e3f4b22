import AccountLinking
import Testing

/// Attacks with a former address or an old session. Each test fails without the rule that stops the attack, and shows
/// the result under the preset `firebase`.
struct StolenAndRecycled {
    private let owner = Account.fixture(
        "m",
        email: address("john@corp.example"),
        proof: .emailCode,
        password: true,
        providers: [.google: "john"]
    )

    private func signIn(
        _ credential: IncomingCredential,
        to owner: Account,
        _ policy: LinkPolicy
    ) -> Verdict<SignInDecision> {
        SignInWithIdpQuestion(
            identityOwner: nil,
            emailOwner: owner,
            credential: credential,
            isProviderEnabled: true,
            createsUsers: true,
            secondFactorProvenBy: nil
        ).decide(policy)
    }

    @Test(arguments: [ProviderID.apple, .yahoo, .microsoft, .google, provider("oidc.work"), provider("saml.work")])
    func `a provider that says the address is not verified signs in to no account`(provider: ProviderID) {
        for domain in ["corp.example", "icloud.com", "yahoo.com", "outlook.com", "gmail.com"] {
            let owner = Account.fixture("m", email: address("ann@" + domain), proof: .emailCode, password: true)
            let thief = incoming(provider, "thief", owner.email?.address, flagged: false)
            for policy in [LinkPolicy(), .firebase] {
                #expect(signIn(thief, to: owner, policy).rule == .untrustedEmailConflict)
            }
        }
    }

    @Test func `the former holder of an address does not sign in to its account with an old Apple account`() {
        let former = incoming(.apple, "former", owner.email?.address, flagged: true)
        #expect(signIn(former, to: owner, LinkPolicy()).rule == .untrustedEmailConflict)
        #expect(signIn(former, to: owner, .firebase).rule == .linkByProvenEmail)
        let kind = SignInWithIdpQuestion(
            identityOwner: nil,
            emailOwner: nil,
            credential: former,
            isProviderEnabled: true,
            createsUsers: true,
            secondFactorProvenBy: nil
        ).decide(LinkPolicy())
        guard case .createUser(let change) = kind.decision, case .set(_, let proof) = change.email else {
            Issue.record("a new account was refused")
            return
        }
        #expect(proof == .provider(.apple))
    }

    @Test func `the former holder of an address cannot lock its owner out with another account at the same provider`() {
        // Opened by Apple's word. The former holder linked their own Google account.
        let former = Account.fixture(
            "m",
            email: owner.email?.address,
            proof: .provider(.apple),
            password: true,
            providers: [.apple: "former", .google: "former's own"]
        )
        let present = incoming(.google, "present", owner.email?.address, flagged: true, hostedDomain: "corp.example")
        for change in SubjectChange.allCases {
            let verdict = signIn(present, to: former, .policy { $0.subjectChange = change })
            guard verdict.rule == .takeoverFromFormerHolder, case .signIn(_, let change, _) = verdict.decision else {
                Issue.record("not a takeover under \(change): \(verdict.rule)")
                continue
            }
            let after = former.applying(change)
            #expect(after.signInMethods == [.provider(.google)] && after.linkedProviders[.google] == "present")
            #expect(change.endsSessions && change.voidsOutstandingProofs)
        }
        #expect(signIn(present, to: former, .firebase).rule == .subjectReplaced)
    }

    @Test func `the next owner of a domain does not sign in to the former user's account`() {
        let next = incoming(
            .google,
            "next-john",
            owner.email?.address,
            flagged: true,
            hostedDomain: "corp.example"
        )
        let strict = signIn(next, to: owner, LinkPolicy())
        #expect(
            strict
                == Verdict(
                    .subjectDiffers,
                    .conflict(
                        .accountExistsWithDifferentCredential(account: owner.id, verifiedProviders: [.google])
                    )
                )
        )
        #expect(signIn(next, to: owner, .firebase).rule == .subjectReplaced)
        let takeover = signIn(next, to: owner, .policy { $0.subjectChange = .takeover })
        guard takeover.rule == .takeoverBySubject, case .signIn(_, let change, let isRecycled) = takeover.decision
        else {
            Issue.record("not a takeover: \(takeover.rule)")
            return
        }
        let after = owner.applying(change)
        #expect(after.signInMethods == [.provider(.google)] && after.linkedProviders[.google] == "next-john")
        #expect(change.endsSessions && change.quarantinesRemovals && isRecycled)
        #expect(signIn(next, to: owner, .policy { $0.subjectChange = .move }).rule == .subjectMoved)
    }

    @Test func `the next owner of a domain, who reads its mail, does not settle the conflict by the mailbox`() {
        let noon = Timestamp(secondsSinceEpoch: 1_700_000_000)
        let next = incoming(.google, "next-john", owner.email?.address, flagged: true, hostedDomain: "corp.example")
        func settle(_ kind: ConflictProofKind, _ policy: LinkPolicy) -> Verdict<ResolutionDecision> {
            let proof = ConflictProofFacts(
                binding: ProofBinding(kind, of: owner, policyVersion: policy.version),
                attempts: 0,
                expiresAt: noon.adding(seconds: 60)
            )
            return ResolveConflictQuestion(
                conflict: ConflictFacts(
                    state: .proven,
                    expiresAt: noon.adding(seconds: 60),
                    tenant: .project,
                    account: owner.id,
                    proof: proof
                ),
                handleTenant: .project,
                isProver: true,
                target: owner,
                identityOwner: nil,
                emailOwner: nil,
                credential: next,
                isProviderEnabled: true,
                now: noon
            ).decide(policy)
        }
        #expect(settle(.mailbox, LinkPolicy()) == Verdict(.resolveSecondSubject, .refuse(.providerAlreadyLinked)))
        #expect(settle(.session, .firebase) == Verdict(.resolveSecondSubject, .refuse(.providerAlreadyLinked)))
        let settled = settle(.session, LinkPolicy())
        guard settled.rule == .subjectReplacedAfterProof, case .resolve(_, let change) = settled.decision else {
            Issue.record("not settled: \(settled.rule)")
            return
        }
        let after = owner.applying(change)
        #expect(after.linkedProviders[.google] == "next-john" && after.hasPassword && !change.endsSessions)
    }

    @Test func `an old stolen session adds no sign-in method and removes none`() {
        let link = LinkWithIdpQuestion(
            target: owner,
            identityOwner: nil,
            emailOwner: nil,
            credential: incoming(.gitHub, "thief", bob, flagged: true),
            isProviderEnabled: true,
            secondFactorProvenBy: nil,
            isSessionRecent: false
        ).decide(LinkPolicy())
        #expect(link == Verdict(.linkNeedsRecentSignIn, .refuse(.credentialTooOld)))
        let number = SignInWithPhoneQuestion(
            number: annsNumber,
            owner: nil,
            target: owner,
            operation: .link,
            proof: .code,
            isSessionRecent: false
        ).decide(LinkPolicy())
        #expect(number == Verdict(.numberNeedsRecentSignIn, .refuse(.credentialTooOld)))
        func unlink(_ enabled: Set<ProviderID>, _ policy: LinkPolicy) -> Rule {
            UnlinkQuestion(
                account: owner,
                enabledProviders: enabled,
                removal: Removal(providers: [.google]),
                request: .client(isSessionRecent: false)
            ).decide(policy).rule
        }
        #expect(unlink([.google], LinkPolicy()) == .unlinkNeedsRecentSignIn)
        // A method that does not work can be removed.
        #expect(unlink([], LinkPolicy()) == .methodUnlinked)
        #expect(unlink([.google], .firebase) == .methodUnlinked)
    }

    @Test func `an account with a second factor cannot reserve an address without proof`() {
        let squatter = Account.fixture("s", email: bob, proof: .emailCode, password: true, secondFactor: true)
        func change(_ policy: LinkPolicy) -> Verdict<UpdateDecision> {
            var policy = policy
            policy.protectsEmailEnumeration = false
            return decideChangeEmail(
                policy: policy,
                account: squatter,
                newAddress: ann,
                owner: nil,
                isSessionRecent: true
            )
        }
        #expect(change(LinkPolicy()) == Verdict(.secondFactorNeedsProvenAddress, .refuse(.unverifiedEmail)))
        #expect(change(.firebase).rule == .emailChanged)
        func link(_ policy: LinkPolicy) -> Rule {
            var policy = policy
            policy.protectsEmailEnumeration = false
            return SignUpRequest.linkPassword(ann, to: squatter, isSessionRecent: true).decide(policy, emailOwner: nil)
                .rule
        }
        #expect(link(LinkPolicy()) == .passwordNeedsProvenAddress)
        #expect(link(.firebase) == .emailAndPasswordLinked)
        // Nor the address of a provider whose word is no proof.
        let withoutAddress = Account.fixture("s", providers: [.google: "s"], secondFactor: true)
        let linked = LinkWithIdpQuestion(
            target: withoutAddress,
            identityOwner: nil,
            emailOwner: nil,
            credential: .untrusted,
            isProviderEnabled: true,
            secondFactorProvenBy: nil,
            isSessionRecent: true
        ).decide(LinkPolicy())
        guard case .signIn(_, let added, _) = linked.decision else {
            Issue.record("the link was refused: \(linked.rule)")
            return
        }
        #expect(withoutAddress.applying(added).email == nil)
    }

    @Test func `the first proof of an address leaves the intruder who registered it no session`() {
        let begun = Account.fixture("i", email: ann, password: true, providers: [.facebook: "intruder"])
        func answer(_ answer: VerifyEmailAnswer, _ policy: LinkPolicy) -> (rule: Rule, after: Account?) {
            let verdict = VerifyEmailQuestion(account: begun, address: ann, answer: answer).decide(policy)
            guard case .apply(_, let change, issuesTokens: false) = verdict.decision else { return (verdict.rule, nil) }
            return (verdict.rule, begun.applying(change))
        }
        // The victim clicks in their own browser, which has no session.
        let strict = answer(.confirm(from: .absent), LinkPolicy())
        #expect(strict.rule == .firstProofElsewhere && strict.after?.sessionEpoch == begun.sessionEpoch + 1)
        let firebase = answer(.confirm(from: .absent), .firebase)
        #expect(firebase.rule == .emailVerified && firebase.after?.sessionEpoch == begun.sessionEpoch)
        // If the victim disowns the account, nothing of the intruder's is left in it.
        for policy in [LinkPolicy(), .firebase] {
            let disowned = answer(.disown, policy)
            #expect(disowned.rule == .disowned && disowned.after?.signInMethods == [])
            #expect(disowned.after?.sessionEpoch == begun.sessionEpoch + 1)
            #expect(disowned.after?.isEmailVerified == true)
        }
    }

    @Test func `an old stolen session of an account without an address does not link the thief's mailbox`() {
        let victim = Account.fixture("v", phone: true, providers: [.apple: "victim"])
        func link(_ policy: LinkPolicy, owner: Account? = nil) -> Verdict<SignInDecision> {
            SignInWithEmailLinkQuestion(
                email: bob,
                owner: owner,
                target: victim,
                isSessionRecent: false,
                secondFactorProvenBy: nil
            ).decide(policy)
        }
        let refused = Verdict<SignInDecision>(.mailedLinkNeedsRecentSignIn, .refuse(.credentialTooOld))
        #expect(link(LinkPolicy()) == refused)
        #expect(link(LinkPolicy(), owner: .fixture("o", email: bob, proof: .emailCode)) == refused)
        #expect(link(.firebase).rule == .emailSetByEmailLink)
    }

    @Test func `a thief who took an account over loses it when the owner recovers it`() {
        let noon = Timestamp(secondsSinceEpoch: 1_700_000_000)
        var record = UserRecord(tenant: .project, id: user("v"), sessionEpoch: 7, createdAt: noon)
        func add(_ change: AccountChange, afterSeconds seconds: Int64) {
            let now = noon.adding(seconds: seconds)
            record = record.applying(change, ChangeContext(now: now, methodProof: .session))
        }
        add(
            .only {
                $0.email = .set(ann, proof: .emailCode)
                $0.password = .set
                $0.linkedIdentity = identity(.apple, "victim")
            },
            afterSeconds: 1
        )
        // The mail to the victim is sent with the change of address.
        let mail = noon.adding(seconds: 100)
        add(
            .only {
                $0.email = .set(bob, proof: .emailCode)
                $0.rememberedInitialEmail = ann
            },
            afterSeconds: 100
        )
        add(.only { $0.password = .set }, afterSeconds: 101)
        add(.only { $0.linkedIdentity = identity(.google, "thief") }, afterSeconds: 102)
        var app = SecondFactor.app("thief's")
        app.enrolledAt = noon.adding(seconds: 103)
        add(.only { $0.secondFactors = [app] }, afterSeconds: 103)

        let verdict = decideApplyEmailCode(
            policy: .secondFactors,
            account: record.account,
            code: .recover(initial: ann, ownerCameLater: false, since: record.additions(since: mail)),
            owner: nil
        )
        guard verdict.rule == .recoverySuspendsAdditions, case .apply(_, let change, _) = verdict.decision else {
            Issue.record("the thief stays: \(verdict.rule)")
            return
        }
        let after = record.account.applying(change)
        #expect(after.signInMethods == [.provider(.apple)] && after.email?.address == ann && !after.hasSecondFactor)
        #expect(change.endsSessions && change.quarantinesRemovals)
        // The owner signs in by the mailbox, without the thief's second factor.
        let link = SignInWithEmailLinkQuestion(
            email: ann,
            owner: after,
            target: nil,
            isSessionRecent: false,
            secondFactorProvenBy: nil
        ).decide(.secondFactors)
        #expect(link.rule == .signInByEmailLink)
        let keeping = LinkPolicy.policy { $0.passwordResetUnlinksProviders = false }
        #expect(ResetPasswordQuestion(account: after, address: ann).decide(keeping).rule == .resetKeepsProviders)
    }

    @Test func `an intruder who registered an address and changed it loses the account when the owner recovers it`() {
        let prepared = Account.fixture(
            "i",
            email: bob,
            proof: .emailCode,
            password: true,
            providers: [.google: "intruder"],
            initialEmail: true
        )
        for policy in [LinkPolicy(), .firebase] {
            let verdict = decideApplyEmailCode(
                policy: policy,
                account: prepared,
                code: .recover(initial: ann, ownerCameLater: false, since: nil),
                owner: nil
            )
            guard verdict.rule == .takeoverByRecovery, case .apply(_, let change, _) = verdict.decision else {
                Issue.record("the intruder stays: \(verdict.rule)")
                return
            }
            let after = prepared.applying(change)
            #expect(after.signInMethods.isEmpty && after.email == AccountEmail(address: ann, proof: .emailCode))
            #expect(change.quarantinesRemovals && change.endsSessions && change.voidsOutstandingProofs)
        }
    }

    @Test func `the former holder of an address, who signed up with Apple, loses the account to the present holder`() {
        let johns = address("john@corp.example")
        let former = Account.fixture("f", email: johns, proof: .provider(.apple), providers: [.apple: "former"])
        let google = incoming(.google, "present", johns, flagged: true, hostedDomain: "corp.example")
        func entered(_ policy: LinkPolicy) -> [(Rule, Account)] {
            var entries: [(Rule, Account)] = []
            let byGoogle = signIn(google, to: former, policy)
            if case .signIn(_, let change, _) = byGoogle.decision {
                entries.append((byGoogle.rule, former.applying(change)))
            }
            let byLink = SignInWithEmailLinkQuestion(
                email: johns,
                owner: former,
                target: nil,
                isSessionRecent: false,
                secondFactorProvenBy: nil
            ).decide(policy)
            if case .signIn(_, let change, _) = byLink.decision {
                entries.append((byLink.rule, former.applying(change)))
            }
            let byReset = ResetPasswordQuestion(account: former, address: johns).decide(policy)
            if case .apply(_, let change, _) = byReset.decision {
                entries.append((byReset.rule, former.applying(change)))
            }
            return entries
        }
        let strict = entered(LinkPolicy())
        #expect(strict.map(\.0) == [.takeoverFromFormerHolder, .mailedLinkFromFormerHolder, .resetSetsFirstPassword])
        for (rule, account) in strict {
            #expect(account.linkedProviders[.apple] == nil, "\(rule)")
            #expect(account.sessionEpoch > former.sessionEpoch && LinkPolicy().isProven(account), "\(rule)")
        }
        let production = entered(.firebase)
        #expect(production.map(\.0) == [.linkByProvenEmail, .signInByEmailLink, .resetSetsFirstPassword])
        #expect(production.dropLast().allSatisfy { $0.1.linkedProviders[.apple] == "former" })
        // A Google sign-in that was linked in a session is better proof than Apple's word, and suspends nothing.
        var withGoogle = former
        withGoogle.linkedProviders[.google] = "present"
        let own = SignInWithIdpQuestion(
            identityOwner: withGoogle,
            emailOwner: withGoogle,
            credential: google,
            isProviderEnabled: true,
            createsUsers: true,
            secondFactorProvenBy: nil
        ).decide(LinkPolicy())
        #expect(
            own
                == Verdict(
                    .signInByIdentity,
                    .signIn(
                        withGoogle.id,
                        .only { $0.email = .prove(.provider(.google)) },
                        emailWasRecycled: false
                    )
                )
        )
    }

    @Test(arguments: ["https://accounts.google.com", "accounts.google.com"])
    func `the next owner of a domain does not sign in by another id of the same issuer`(issuer: String) {
        let workspace = provider("oidc.workspace")
        let email = owner.email?.address
        let byAnotherID = incoming(
            workspace,
            "next-john",
            email,
            flagged: true,
            hostedDomain: "corp.example",
            issuer: issuer
        )
        #expect(signIn(byAnotherID, to: owner, LinkPolicy()).rule == .subjectDiffers)
        #expect(signIn(byAnotherID, to: owner, .policy { $0.subjectChange = .takeover }).rule == .takeoverBySubject)
        // The reverse: the other id is linked.
        let registered = Account.fixture("m", email: email, proof: .emailCode, password: true)
            .linking(workspace, "john", issuer: issuer)
        let byGoogle = incoming(.google, "next-john", email, flagged: true, hostedDomain: "corp.example")
        #expect(signIn(byGoogle, to: registered, LinkPolicy()).rule == .subjectDiffers)
        // The same subject is the same person.
        let same = incoming(workspace, "john", email, flagged: true, hostedDomain: "corp.example", issuer: issuer)
        #expect(signIn(same, to: owner, LinkPolicy()).rule == .linkByProvenEmail)
        // An operator's own issuer is registered twice.
        let (first, second) = (provider("oidc.first"), provider("oidc.second"))
        let trusting = LinkPolicy.policy {
            $0.emailTrust = $0.emailTrust.adding([.init(.init(.openIDConnect), .verifying)])
        }
        let twice = Account.fixture("m", email: email, proof: .emailCode)
            .linking(first, "john", issuer: "https://id.corp.example")
        func next(_ issuer: String) -> Rule {
            signIn(incoming(second, "next-john", email, flagged: true, issuer: issuer), to: twice, trusting).rule
        }
        #expect(next("https://id.corp.example") == .subjectDiffers)
        #expect(next("https://id.other.example") == .linkByProvenEmail)
        // Production does not compare issuers.
        var production = LinkPolicy.firebase
        production.emailTrust = production.emailTrust.adding([.init(.init(.openIDConnect), .verifying)])
        #expect(signIn(byAnotherID, to: owner, production).rule == .linkByProvenEmail)
    }

    @Test func `an identity without an issuer has the issuer of its registration`() {
        // Linked by an import or an administrator.
        let workspace = provider("oidc.workspace")
        let imported = Account.fixture(
            "m",
            email: owner.email?.address,
            proof: .administrator,
            password: true,
            providers: [workspace: "john"]
        )
        let next = incoming(.google, "next-john", owner.email?.address, flagged: true, hostedDomain: "corp.example")
        let registered = LinkPolicy.policy { $0.registeredIssuers = [workspace: "https://accounts.google.com"] }
        #expect(signIn(next, to: imported, registered).rule == .subjectDiffers)
        #expect(signIn(next, to: imported, LinkPolicy()).rule == .linkByProvenEmail)
        // The issuer in the row prevails.
        let elsewhere = imported.linking(workspace, "john", issuer: "https://id.corp.example")
        #expect(signIn(next, to: elsewhere, registered).rule == .linkByProvenEmail)
        // Unlinked since, after its word for a new address had opened the account.
        let apple = provider("oidc.apple")
        let former = Account.fixture("f", email: owner.email?.address, proof: .provider(apple), password: true)
        let present = incoming(.google, "present", owner.email?.address, flagged: true, hostedDomain: "corp.example")
        let issuers = LinkPolicy.policy { $0.registeredIssuers = [apple: "https://appleid.apple.com"] }
        #expect(signIn(present, to: former, issuers).rule == .takeoverFromFormerHolder)
    }

    @Test func `by another id of the issuer neither the mailbox nor the former user's next sign-in settles a conflict`()
    {
        let noon = Timestamp(secondsSinceEpoch: 1_700_000_000)
        let next = incoming(
            provider("oidc.workspace"),
            "next-john",
            owner.email?.address,
            flagged: true,
            hostedDomain: "corp.example",
            issuer: "https://accounts.google.com"
        )
        for (kind, settles) in [(ConflictProofKind.mailbox, false), (.session, true)] {
            let facts = ConflictFacts(
                state: .proven,
                expiresAt: noon.adding(seconds: 60),
                tenant: .project,
                account: owner.id,
                proof: ConflictProofFacts(
                    binding: ProofBinding(kind, of: owner, policyVersion: LinkPolicy().version),
                    attempts: 0,
                    expiresAt: noon.adding(seconds: 60)
                )
            )
            let resolved = ResolveConflictQuestion(
                conflict: facts,
                handleTenant: .project,
                isProver: true,
                target: owner,
                identityOwner: nil,
                emailOwner: owner.id,
                credential: next,
                isProviderEnabled: true,
                now: noon
            ).decide(LinkPolicy())
            #expect(resolved.rule == (settles ? .credentialLinkedAfterProof : .resolveSecondSubject))
            let waits = refusalOfNextSignIn(
                conflict: facts,
                target: owner,
                credential: next,
                policy: LinkPolicy(),
                now: noon
            )
            #expect(waits == (settles ? nil : Verdict(.nextSignInLeavesConflict, .unproven)))
        }
    }
}
