import AccountLinking
import Testing

/// Attacks by people whom a provider or an old session vouches for too far: each test fails without the rule that stops
/// it, and shows what the preset `firebase` does instead.
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
        decideSignInWithIdp(
            policy: policy,
            accounts: MatchingAccounts(identityOwner: nil, emailOwner: owner),
            credential: credential,
            isProviderEnabled: true,
            createsUsers: true,
            secondFactorProvenBy: nil
        )
    }

    @Test(arguments: [ProviderID.apple, .yahoo, .microsoft, .google, provider("oidc.work"), provider("saml.work")])
    func `a provider that says the address is not verified enters no account`(provider: ProviderID) {
        for domain in ["corp.example", "icloud.com", "yahoo.com", "outlook.com", "gmail.com"] {
            let owner = Account.fixture("m", email: address("ann@" + domain), proof: .emailCode, password: true)
            let thief = incoming(provider, "thief", owner.email?.address, flagged: false)
            for policy in [LinkPolicy(), .firebase] { #expect(signIn(thief, to: owner, policy).rule == .i11) }
        }
    }

    @Test func `the former holder of an address does not enter its account with an old Apple account`() {
        let former = incoming(.apple, "former", owner.email?.address, flagged: true)
        #expect(signIn(former, to: owner, LinkPolicy()).rule == .i11)
        #expect(signIn(former, to: owner, .firebase).rule == .i7)
        let newcomer = decideSignInWithIdp(
            policy: LinkPolicy(),
            accounts: MatchingAccounts(identityOwner: nil, emailOwner: nil),
            credential: former,
            isProviderEnabled: true,
            createsUsers: true,
            secondFactorProvenBy: nil
        )
        guard case .createUser(let change) = newcomer.decision, case .set(_, let proof) = change.email else {
            Issue.record("a new account was refused")
            return
        }
        #expect(proof == .provider(.apple))
    }

    @Test func `the next owner of a domain does not enter the old person's account`() {
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
        #expect(signIn(next, to: owner, .firebase).rule == .i8)
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
            return decideResolveConflict(
                policy: policy,
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
            )
        }
        #expect(settle(.mailbox, LinkPolicy()) == Verdict(.j10, .refuse(.providerAlreadyLinked)))
        #expect(settle(.session, .firebase) == Verdict(.j10, .refuse(.providerAlreadyLinked)))
        let settled = settle(.session, LinkPolicy())
        guard settled.rule == .subjectReplacedAfterProof, case .resolve(_, let change) = settled.decision else {
            Issue.record("not settled: \(settled.rule)")
            return
        }
        let after = owner.applying(change)
        #expect(after.linkedProviders[.google] == "next-john" && after.hasPassword && !change.endsSessions)
    }

    @Test func `an old stolen session brings in no way of its own, and takes off none of the owner's`() {
        let link = decideLinkWithIdp(
            policy: LinkPolicy(),
            target: owner,
            accounts: MatchingAccounts(identityOwner: nil, emailOwner: nil),
            credential: incoming(.gitHub, "thief", bob, flagged: true),
            isProviderEnabled: true,
            secondFactorProvenBy: nil,
            request: LinkRequest(isSessionRecent: false)
        )
        #expect(link == Verdict(.linkNeedsRecentSignIn, .refuse(.credentialTooOld)))
        let number = decideSignInWithPhone(
            policy: LinkPolicy(),
            number: annsNumber,
            owner: nil,
            target: owner,
            operation: .link,
            shownBy: .code,
            isSessionRecent: false
        )
        #expect(number == Verdict(.numberNeedsRecentSignIn, .refuse(.credentialTooOld)))
        func unlink(_ enabled: Set<ProviderID>, _ policy: LinkPolicy) -> Rule {
            decideUnlink(
                policy: policy,
                enabledProviders: enabled,
                account: owner,
                removal: Removal(providers: [.google]),
                request: .client(isSessionRecent: false)
            ).rule
        }
        #expect(unlink([.google], LinkPolicy()) == .unlinkNeedsRecentSignIn)
        // A method that lets nobody in can go.
        #expect(unlink([], LinkPolicy()) == .k3)
        #expect(unlink([.google], .firebase) == .k3)
    }

    @Test func `an account with a second factor does not squat an address that nobody proved`() {
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
        #expect(change(.firebase).rule == .u4)
        func link(_ policy: LinkPolicy) -> Rule {
            var policy = policy
            policy.protectsEmailEnumeration = false
            return decideSignUp(
                policy: policy,
                request: .linkPassword(ann, to: squatter, isSessionRecent: true),
                emailOwner: nil
            ).rule
        }
        #expect(link(LinkPolicy()) == .passwordNeedsProvenAddress)
        #expect(link(.firebase) == .p4)
        // Nor by the address of a provider whose word is no proof.
        let withoutAddress = Account.fixture("s", providers: [.google: "s"], secondFactor: true)
        let linked = decideLinkWithIdp(
            policy: LinkPolicy(),
            target: withoutAddress,
            accounts: MatchingAccounts(identityOwner: nil, emailOwner: nil),
            credential: .untrusted,
            isProviderEnabled: true,
            secondFactorProvenBy: nil,
            request: LinkRequest(isSessionRecent: true)
        )
        guard case .signIn(_, let added, _) = linked.decision else {
            Issue.record("the link was refused: \(linked.rule)")
            return
        }
        #expect(withoutAddress.applying(added).email == nil)
    }
    @Test func `who confirms the address of an account that an intruder began leaves the intruder no session`() {
        let begun = Account.fixture("i", email: ann, password: true, providers: [.facebook: "intruder"])
        func answer(_ answer: VerifyEmailAnswer, _ policy: LinkPolicy) -> (rule: Rule, after: Account?) {
            let verdict = decideVerifyEmail(policy: policy, account: begun, address: ann, answer: answer)
            guard case .apply(_, let change, issuesTokens: false) = verdict.decision else { return (verdict.rule, nil) }
            return (verdict.rule, begun.applying(change))
        }
        // The victim clicks in a browser of their own, where no session is.
        let strict = answer(.confirm(from: .absent), LinkPolicy())
        #expect(strict.rule == .firstProofElsewhere && strict.after?.sessionEpoch == begun.sessionEpoch + 1)
        let firebase = answer(.confirm(from: .absent), .firebase)
        #expect(firebase.rule == .v4 && firebase.after?.sessionEpoch == begun.sessionEpoch)
        // Or says that the account is not theirs: nothing of the intruder's is left in it.
        for policy in [LinkPolicy(), .firebase] {
            let disowned = answer(.disown, policy)
            #expect(disowned.rule == .disowned && disowned.after?.signInMethods == [])
            #expect(disowned.after?.sessionEpoch == begun.sessionEpoch + 1)
            #expect(disowned.after?.isEmailVerified == true)
        }
    }
}
