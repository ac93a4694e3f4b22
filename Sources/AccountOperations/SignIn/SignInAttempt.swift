import AccountLinking
import AccountStore

/// What every attempt to complete one sign-in shares: everything random and the time, made before the first.
struct SignInAttempt: Sendable {
    let tenant: TenantID
    let now: Timestamp
    var session: NewSession
    var context: ChangeContext
    /// The hash of the password the decision sets.
    var passwordHash: String?
    /// What else is written with it: a code used up, a conflict resolved.
    var sideWrites: [AccountWrite.SideWrite] = []
    /// What tells the owner of a replaced address; `nil` where the decision replaces none.
    var recovery: EmailRecovery?
    /// What the rules were asked, to be kept with what comes of it.
    var decisions: [DecisionRecord] = []
    /// Whether a "no" is kept as well: where whoever asks has shown something.
    var keepsRefusals = false
    /// The provider's ID token that opens the session; `nil` where none does, or where tokens are not counted.
    var idTokenUse: IDTokenUse?
    /// The limits that an account counts against if the decision creates one; empty where a trusted backend asks for it.
    var signUpLimits: [CountedLimit] = []
    /// Whose answer is kept with what is written; `nil` where the request may not be repeated.
    var idempotent: IdempotentRequest<SignedIn>?
    private let eventID: AccountEvent.ID
    private let newUserID: UserID?
    private let newEpoch: Int64

    ///
    /// `newUserID`: the id of an account the decision may create; random unless given.
    init(
        effects: Effects,
        tenant: TenantID,
        session: NewSession,
        methodProof: UserRecord.Proof,
        linkedProvider: UserRecord.LinkedProvider? = nil,
        passwordHash: String? = nil,
        newUserID: UserID? = nil
    ) {
        self.tenant = tenant
        self.now = effects.now()
        self.session = session
        self.context = ChangeContext(now: now, methodProof: methodProof, linkedProvider: linkedProvider)
        self.passwordHash = passwordHash
        self.eventID = effects.newEventID()
        self.newUserID = newUserID ?? UserID(effects.newLocalID())
        self.newEpoch = effects.newSessionEpoch()
    }

    /// Names what comes of the attempt to an operator.
    var decision: DecisionID { DecisionID(eventID) }

    /// The answer of the rules. The attempt stores question and answer with its result.
    mutating func ask(_ question: some Question<SignInDecision>, _ policy: LinkPolicy) -> Verdict<SignInDecision> {
        decisions.append(DecisionRecord(question, under: policy))
        return question.decide(policy)
    }

    /// The answer to the last question with more facts, which is stored in its place.
    mutating func askAgain(_ question: some Question<SignInDecision>, _ policy: LinkPolicy) -> Verdict<SignInDecision> {
        decisions.removeLast()
        return ask(question, policy)
    }

    /// The account that `change`, which `rule` decided, creates.
    func newUser(by change: AccountChange, _ rule: Rule) throws -> UserRecord {
        guard let newUserID else { throw UnexpectedDecision(rule) }
        let blank = UserRecord(tenant: tenant, id: newUserID, sessionEpoch: newEpoch, createdAt: now)
        var user = blank.applying(change, context)
        user.lastLoginAt = now
        user.lastRefreshAt = now
        // No token is older than the account. One whose user signed in at the provider before that is not a revoked one.
        let signedInAt = session.record(for: user, at: now).authTime
        user.validSince = min(user.validSince, Timestamp(secondsSinceEpoch: signedInAt.secondsSinceEpoch))
        return user
    }

    func event(_ kind: AccountEvent.Kind, _ rule: Rule) -> AccountEvent {
        AccountEvent(id: eventID, occurredAt: now, kind: kind, rule: rule, decisions: decisions)
    }
}

/// A decision answered a question that was not asked: a bug in the rules, never the caller's doing.
struct UnexpectedDecision: Error, Sendable {
    let rule: Rule

    init(_ rule: Rule) {
        self.rule = rule
    }
}
