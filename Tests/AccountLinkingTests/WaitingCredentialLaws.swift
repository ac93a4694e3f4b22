import AccountLinking
import AccountTestSupport
import Testing

private let noon = Timestamp(secondsSinceEpoch: 1_700_000_000)

/// One point of the space of a sign-in to an account that a credential waits for.
struct WaitingCredentialCase {
    enum SignIn: CaseIterable {
        case password, emailLink, emailLinkToSession, phone, phoneToSession, provider
    }

    var policy = LinkPolicy()
    var signIn: SignIn
    /// The account that the sign-in finds.
    var account: Account
    var isSessionRecent = true
    /// The account whose second factor was proven.
    var proven: UserID?
    var waiting: WaitingCredential

    static let all = everyPoint(choose)

    static func choose(_ choices: inout Choices) -> WaitingCredentialCase {
        let signIn = choices.choose(from: SignIn.allCases)
        var account = Account.fixture(
            "T",
            email: ann,
            proof: choices.choose(from: [nil, .emailCode]),
            password: true,
            emailLink: true,
            phone: true,
            providers: [.facebook: "facebook-of-T"]
        )
        let credential = IncomingCredential.untrusted
        let provider = credential.identity.provider
        if choices.chooseBool() { account.linkedProviders[provider] = "another-of-T" }
        let conflict = choices.choose(from: conflicts(about: account))
        var waiting = WaitingCredential(
            conflict: conflict,
            kind: .accountExistsWithDifferentCredential,
            isPresented: choices.chooseBool(),
            credential: credential,
            isProviderEnabled: true,
            emailOwner: account,
            tenant: .project,
            now: noon
        )
        var policy = LinkPolicy()
        switch choices.choose(below: 5) {
        case 0: break
        case 1: waiting.isProviderEnabled = false
        case 2: waiting.identityOwner = .fixture("F", providers: [provider: credential.identity.subject])
        case 3:
            waiting.emailOwner = .fixture("M", email: ann)
            policy.isOneAccountPerEmail = choices.chooseBool()
        default: waiting.emailOwner = nil
        }
        var point = WaitingCredentialCase(policy: policy, signIn: signIn, account: account, waiting: waiting)
        if signIn == .emailLinkToSession || signIn == .phoneToSession {
            point.isSessionRecent = choices.chooseBool()
            point.policy.linkingNeedsRecentSignIn = choices.chooseBool()
        }
        if account.linkedProviders[provider] != nil {
            point.waiting.kind = choices.choose(from: [.accountExistsWithDifferentCredential, .emailAlreadyInUse])
            point.policy.subjectChange = choices.choose(from: [.conflict, .replace])
        }
        if signIn == .password || signIn == .emailLinkToSession, choices.chooseBool() {
            point.account.hasSecondFactor = true
            point.policy.requiresEnrolledSecondFactors = true
            point.proven = choices.choose(from: [nil, account.id])
            // A session proves it for itself alone.
            if point.proven != nil { point.waiting.secondFactorProvenBy = choices.choose(from: [nil, account.id]) }
        }
        return point
    }

    /// Conflicts that can be settled, and one for each reason why not.
    private static func conflicts(about account: Account) -> [ConflictFacts] {
        func proof(_ kind: ConflictProofKind, expires seconds: Int64 = 60) -> ConflictProofFacts {
            ConflictProofFacts(
                binding: ProofBinding(kind, of: account, policyVersion: LinkPolicy().version),
                attempts: 0,
                expiresAt: noon.adding(seconds: seconds)
            )
        }
        func conflict(
            _ state: ConflictFacts.State,
            _ proof: ConflictProofFacts? = nil,
            expires seconds: Int64 = 600
        ) -> ConflictFacts {
            ConflictFacts(
                state: state,
                expiresAt: noon.adding(seconds: seconds),
                tenant: .project,
                account: account.id,
                proof: proof
            )
        }
        var stale = conflict(.proven, proof(.session))
        stale.proof?.binding.sessionEpoch += 1
        var foreign = conflict(.open)
        foreign.account = user("E")
        var ofOtherTenant = conflict(.open)
        ofOtherTenant.tenant = TenantID("other")
        return [
            conflict(.open), conflict(.open, proof(.mailbox)), conflict(.proven, proof(.mailbox)),
            conflict(.proven, proof(.session)), conflict(.proven, proof(.session, expires: 0)),
            conflict(.proven, proof(.session), expires: 0), conflict(.resolved, proof(.session)), stale, foreign,
            ofOtherTenant,
        ]
    }

    func question(_ waiting: WaitingCredential?) -> any Question<SignInDecision> {
        switch signIn {
        case .password:
            SignInWithPasswordQuestion(
                owner: account,
                isLocked: false,
                passwordMatches: true,
                secondFactorProvenBy: proven,
                waiting: waiting
            )
        case .emailLink, .emailLinkToSession:
            SignInWithEmailLinkQuestion(
                email: ann,
                owner: account,
                target: signIn == .emailLink ? nil : account,
                isSessionRecent: isSessionRecent,
                secondFactorProvenBy: proven,
                waiting: waiting
            )
        case .phone, .phoneToSession:
            SignInWithPhoneQuestion(
                number: annsNumber,
                owner: account,
                target: signIn == .phone ? nil : account,
                operation: .unspecified,
                proof: .code,
                isSessionRecent: isSessionRecent,
                waiting: waiting
            )
        case .provider:
            SignInWithIdpQuestion(
                identityOwner: account,
                emailOwner: nil,
                credential: incoming(.facebook, "facebook-of-T", nil),
                isProviderEnabled: true,
                createsUsers: true,
                secondFactorProvenBy: proven,
                waiting: waiting
            )
        }
    }

    /// The verdict without the waiting credential, and with it.
    var verdicts: (alone: Verdict<SignInDecision>, whole: Verdict<SignInDecision>) {
        (question(nil).decide(policy), question(waiting).decide(policy))
    }
}

struct WaitingCredentialLaws {
    private static let points = WaitingCredentialCase.all.map { (point: $0, verdicts: $0.verdicts) }

    private func forAll(
        sourceLocation: SourceLocation = #_sourceLocation,
        _ law: (WaitingCredentialCase, Verdict<SignInDecision>, Verdict<SignInDecision>) -> Bool?
    ) {
        checkLaw(Self.points, sourceLocation: sourceLocation) { law($0.point, $0.verdicts.alone, $0.verdicts.whole) }
    }

    /// The conditions once more, each in full: a mistake would have to be made twice.
    @Test func `a sign-in links the credential if it may use the credential and the rules of linking allow the link`() {
        forAll { point, alone, whole in
            guard case .signIn(_, let change, emailWasRecycled: _) = alone.decision else { return nil }
            let isLinked = point.mayUse && point.mayLink && !change.voidsOutstandingProofs
            return whole.decision.linkedIdentity == (isLinked ? point.waiting.credential.identity : nil)
        }
    }

    @Test func `a credential that is not linked leaves the verdict as it is`() {
        forAll { _, alone, whole in whole.decision.linkedIdentity == nil ? whole == alone : nil }
    }

    @Test func `the link only adds to the sign-in, and its rule is recorded`() {
        forAll { point, alone, whole in
            guard whole.decision.linkedIdentity != nil else { return nil }
            guard case .signIn(let id, let change, emailWasRecycled: false) = alone.decision,
                case .signIn(id, var linked, emailWasRecycled: false) = whole.decision
            else { return false }
            linked.linkedIdentity = nil
            let isReplaced = point.hasAnotherSubject
            let unlinked: Set<ProviderID> = isReplaced ? [point.waiting.credential.identity.provider] : []
            guard linked.unlinkedProviders == unlinked else { return false }
            linked.unlinkedProviders = []
            let rule: Rule =
                isReplaced
                ? .subjectReplacedByOwner
                : point.policy.isOneAccountPerEmail ? .providerLinked : .providerLinkedDuplicateEmails
            return linked == change && whole.rule == rule
        }
    }

    @Test
    func `J15: no sign-in uses up the first proof of an address, or links another subject, for a reader of the mail`() {
        forAll { point, _, whole in
            guard !point.waiting.isPresented, point.waiting.conflict.proof?.binding.kind == .mailbox,
                !point.account.isEmailVerified || point.hasAnotherSubject
            else { return nil }
            return whole.decision.linkedIdentity == nil
        }
    }

    @Test func `a refused sign-in and one that must show its second factor settle nothing`() {
        forAll { _, alone, whole in alone.decision.settlingAccount == nil ? whole == alone : nil }
    }
}

extension WaitingCredentialCase {
    fileprivate var hasAnotherSubject: Bool {
        account.linkedProviders[waiting.credential.identity.provider] != nil
    }

    /// Rows Y for a handle, J1 to J4 and J15 for a proven conflict.
    fileprivate var mayUse: Bool {
        let conflict = waiting.conflict
        guard conflict.state.isLive, noon < conflict.expiresAt else { return false }
        if waiting.isPresented {
            return conflict.tenant == .project && conflict.account == account.id && waiting.isProviderEnabled
        }
        guard conflict.state == .proven, let proof = conflict.proof, noon < proof.expiresAt,
            proof.binding.sessionEpoch == account.sessionEpoch
        else { return false }
        return proof.binding.kind == .session || account.isEmailVerified && !hasAnotherSubject
    }

    /// Rows L.
    fileprivate var mayLink: Bool {
        let isEmailFree = waiting.emailOwner == nil || waiting.emailOwner?.id == account.id
        let needsSecondFactor = policy.requiresEnrolledSecondFactors && waiting.secondFactorProvenBy == nil
        let mayReplace =
            waiting.isPresented && waiting.kind == .accountExistsWithDifferentCredential && isRecent
            && policy.subjectChange == .conflict
        return waiting.isProviderEnabled && (isRecent || !policy.linkingNeedsRecentSignIn)
            && waiting.identityOwner == nil && (isEmailFree || !policy.isOneAccountPerEmail)
            && (!hasAnotherSubject || mayReplace) && !needsSecondFactor
    }

    /// A sign-in without a session is always recent.
    private var isRecent: Bool {
        switch signIn {
        case .password, .emailLink, .phone, .provider: true
        case .emailLinkToSession, .phoneToSession: isSessionRecent
        }
    }
}
