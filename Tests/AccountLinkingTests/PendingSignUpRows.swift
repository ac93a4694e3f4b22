import AccountLinking
import Testing

/// Sign-ups that wait for their mailbox.
struct PendingSignUpRows {
    private static let now = Timestamp(secondsSinceEpoch: 100)

    /// Every pending sign-up as a request can find it.
    private static let found: [PendingSignUpFacts?] = {
        var all: [PendingSignUpFacts?] = [nil]
        for tenant in [TenantID.project, TenantID("other")] {
            for (isUsed, isDeclined) in [(false, false), (true, false), (true, true)] {
                for end in [99, 100, 101] as [Int64] {
                    for attempts in 0...PendingSignUpFacts.attemptsMax {
                        all.append(
                            PendingSignUpFacts(
                                tenant: tenant,
                                isUsed: isUsed,
                                isDeclined: isDeclined,
                                expiresAt: Timestamp(secondsSinceEpoch: end),
                                attempts: attempts
                            )
                        )
                    }
                }
            }
        }
        return all
    }()

    private static func isUsable(_ signUp: PendingSignUpFacts?) -> Bool {
        guard let signUp else { return false }
        return signUp.tenant == .project && !signUp.isUsed && signUp.expiresAt == Timestamp(secondsSinceEpoch: 101)
    }

    private static func prove(
        _ signUp: PendingSignUpFacts?,
        _ kind: SignUpAnswerKind,
        isRight: Bool,
        isLimitReached: Bool
    ) -> Verdict<ProveSignUpDecision> {
        decideProveSignUp(
            signUp,
            handleTenant: .project,
            by: kind,
            isRight: isRight,
            isLimitReached: isLimitReached,
            now: now
        )
    }

    private static func `continue`(_ signUp: PendingSignUpFacts?, isProver: Bool) -> Verdict<PendingSignUpRefusal>? {
        refusalOfContinuing(signUp, handleTenant: .project, isProver: isProver, now: now)
    }

    private static let identityOwner = Account.fixture("F", providers: [.facebook: "facebook-ann"])

    /// Every input of the last step, with its policy.
    private static let completions: [(policy: LinkPolicy, question: CompleteSignUpQuestion)] = {
        var all: [(LinkPolicy, CompleteSignUpQuestion)] = []
        for number in 0..<128 {
            func isSet(_ bit: Int) -> Bool { number >> bit & 1 == 1 }
            var policy = LinkPolicy()
            policy.allowsClientSignUp = isSet(0)
            policy.allowsPasswordSignIn = isSet(1)
            let reservation =
                isSet(6) ? AddressReservation(address: ann, account: user("r"), wasProven: isSet(2)) : nil
            let question = CompleteSignUpQuestion(
                email: ann,
                emailOwner: isSet(3) ? .fixture("M", email: ann) : nil,
                credential: isSet(4) ? .untrusted : nil,
                identityOwner: isSet(4) && isSet(5) ? identityOwner : nil,
                isProviderEnabled: isSet(1),
                displayName: "Ann",
                reservation: isSet(3) ? nil : reservation
            )
            all.append((policy, question))
        }
        return all
    }()

    /// Every input of a link: the address is free or used, and the sign-up has a credential or a password.
    private static let links: [LinkConfirmedQuestion] = [nil, Account.fixture("M", email: ann)].flatMap { owner in
        [nil, IncomingCredential.untrusted].map { credential in
            LinkConfirmedQuestion(email: ann, emailOwner: owner, credential: credential)
        }
    }

    static let rules: [Rule] = {
        var all = [true, false].map { decideMailSignUp(hasOwner: $0).rule }
        for signUp in found {
            for kind in SignUpAnswerKind.allCases {
                for isRight in [true, false] {
                    all.append(prove(signUp, kind, isRight: isRight, isLimitReached: false).rule)
                }
            }
            all += [true, false].compactMap { Self.continue(signUp, isProver: $0)?.rule }
            all.append(decideDeclineSignUp(signUp, handleTenant: .project, now: now).rule)
        }
        all += completions.map { $0.question.decide($0.policy).rule }
        all += links.map { $0.decide(LinkPolicy()).rule }
        return all
    }()

    @Test func `P19 and P20: while the mailbox is required, the address makes no difference`() {
        checkLaw(SignUpCase.all) { point in
            guard point.policy.signUpRequiresMailbox else { return nil }
            if case .linkPassword(let email, let target, _) = point.request, target.email?.address == email {
                return nil
            }
            var stranger = point
            stranger.owner = nil
            return point.verdict == stranger.verdict
        }
    }

    @Test func `no sign-up sets an unproven address while the mailbox is required`() {
        checkLaw(SignUpCase.all) { point in
            guard point.policy.signUpRequiresMailbox else { return nil }
            let change: AccountChange
            switch point.verdict.decision {
            case .createUser(let created): change = created
            case .signIn(_, let changed, emailWasRecycled: _): change = changed
            case .secondFactorRequired, .conflict, .refuse: return nil
            }
            guard case .set = change.email else { return true }
            return false
        }
    }

    @Test func `P21 and P22: a free address is asked to confirm, the owner of a taken one gets the right door`() {
        #expect(decideMailSignUp(hasOwner: false) == Verdict(.signUpMailed, .confirmation))
        #expect(decideMailSignUp(hasOwner: true) == Verdict(.signUpMailsOwner, .rightDoor))
    }

    @Test func `P23 to P26: a right answer proves a usable sign-up, and five codes lock the code but not the link`() {
        for signUp in Self.found {
            for kind in SignUpAnswerKind.allCases {
                for isRight in [true, false] {
                    for isLimitReached in [true, false] {
                        let isLocked = isLimitReached || signUp?.attempts == PendingSignUpFacts.attemptsMax
                        let expected: Verdict<ProveSignUpDecision> =
                            if !Self.isUsable(signUp) {
                                Verdict(.pendingSignUpUnusable, .refuse(.unusable))
                            } else if kind == .code, isLocked {
                                Verdict(.pendingSignUpLocked, .refuse(.tooManyAttempts))
                            } else if isRight {
                                Verdict(.pendingSignUpProven, .proven)
                            } else {
                                Verdict(.pendingSignUpWrongAnswer, .wrong)
                            }
                        #expect(
                            Self.prove(signUp, kind, isRight: isRight, isLimitReached: isLimitReached) == expected
                        )
                    }
                }
            }
        }
    }

    @Test func `P23 and P27: only the prover of a usable sign-up continues it`() {
        for signUp in Self.found {
            let isUsable = Self.isUsable(signUp)
            #expect(
                Self.continue(signUp, isProver: true) == (isUsable ? nil : Verdict(.pendingSignUpUnusable, .unusable))
            )
            #expect(
                Self.continue(signUp, isProver: false)
                    == (isUsable
                        ? Verdict(.pendingSignUpUnproven, .unproven) : Verdict(.pendingSignUpUnusable, .unusable))
            )
        }
    }

    @Test func `P23 and P36: a usable sign-up is declined, and a declined one again`() {
        for signUp in Self.found {
            let isDeclined = signUp?.tenant == .project && signUp?.isDeclined == true
            let expected: Verdict<PendingSignUpRefusal?> =
                Self.isUsable(signUp) || isDeclined
                ? Verdict(.pendingSignUpDeclined, nil) : Verdict(.pendingSignUpUnusable, .unusable)
            #expect(decideDeclineSignUp(signUp, handleTenant: .project, now: Self.now) == expected)
        }
    }

    @Test func `P28 to P31: a proven sign-up creates an account with a proven address, or is refused`() {
        for (policy, question) in Self.completions {
            let verdict = question.decide(policy)
            let isReserved = question.reservation?.wasProven ?? false
            let isEnabled = question.credential == nil ? policy.allowsPasswordSignIn : question.isProviderEnabled
            switch verdict.decision {
            case .createUser(let change):
                #expect(isEnabled && policy.allowsClientSignUp && !isReserved)
                #expect(question.emailOwner == nil && question.identityOwner == nil)
                #expect(change.email == .set(ann, proof: .emailCode))
                #expect((change.password == .set) == (question.credential == nil))
                #expect(change.linkedIdentity == question.credential?.identity)
            case .refuse(.operationNotAllowed): #expect(!isEnabled)
            case .refuse(.federatedIdentityAlreadyLinked): #expect(isEnabled && question.identityOwner != nil)
            case .refuse(.emailExists): #expect(isEnabled && (question.emailOwner != nil || isReserved))
            case .refuse(.signUpDisabled): #expect(isEnabled && !policy.allowsClientSignUp)
            case .signIn, .secondFactorRequired, .conflict, .refuse: Issue.record("\(verdict)")
            }
        }
    }

    @Test func `P32 and P33: only a credential is linked, and only to an account`() {
        #expect(Self.links.count == 4)
        for question in Self.links {
            let expected: Verdict<LinkConfirmedDecision> =
                if let owner = question.emailOwner, question.credential != nil {
                    Verdict(.confirmedCredentialConflict, .openConflict(owner.id))
                } else {
                    Verdict(.confirmedCredentialWithoutAccount, .refuse(.nothingToLink))
                }
            #expect(question.decide(LinkPolicy()) == expected)
        }
    }
}
