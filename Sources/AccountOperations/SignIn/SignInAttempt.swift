import AccountLinking
import AccountStore
import Postgres

/// The values that every attempt of one sign-in shares: the time and everything random, made before the first attempt.
struct SignInAttempt: Sendable {
    let tenant: TenantID
    let now: Timestamp
    var session: NewSession
    var context: ChangeContext
    /// The hash of the password that the decision sets.
    var passwordHash: String?
    /// Further writes of the transaction: a used code, a resolved conflict.
    var sideWrites: [AccountWrite.SideWrite] = []
    /// The mail to the owner of a replaced address; `nil` if the sign-in replaces none.
    var recovery: EmailRecovery?
    /// The questions to the rules that are stored with the result.
    var decisions: [DecisionRecord] = []
    /// The version of the policy that decided.
    private var policyVersion: Int64?
    /// True if the last question is stored.
    private var storesLast = false
    /// True if a refusal is recorded too, because the caller has proven something.
    var keepsRefusals = false
    /// The result of looking for a proven conflict, if that was loaded with the accounts.
    var waiting: WaitingConflict?
    /// The provider's ID token that opens the session; `nil` if none does, or tokens are not counted.
    var idTokenUse: IDTokenUse?
    /// The limits that count a created account; empty for a trusted backend.
    var signUpLimits: [CountedLimit] = []
    /// The repeatable request whose answer is stored; `nil` if the request cannot be repeated.
    var idempotent: IdempotentRequest<SignedIn>?
    /// True if the answer is stored without an account, because a repetition of the request names none.
    var isOfStranger = false
    private let sampling: FactSampling
    private let eventID: AccountEvent.ID
    private let newUserID: UserID?
    private let newEpoch: Int64

    /// - `newUserID`: the id of a created account; random if `nil`.
    init(
        effects: Effects,
        sampling: FactSampling,
        tenant: TenantID,
        session: NewSession,
        methodProof: UserRecord.Proof,
        linkedProvider: UserRecord.LinkedProvider? = nil,
        passwordHash: String? = nil,
        newUserID: UserID? = nil
    ) {
        self.sampling = sampling
        self.tenant = tenant
        self.now = effects.now()
        self.session = session
        self.context = ChangeContext(now: now, methodProof: methodProof, linkedProvider: linkedProvider)
        self.passwordHash = passwordHash
        self.eventID = effects.newEventID()
        self.newUserID = newUserID ?? UserID(effects.newLocalID())
        self.newEpoch = effects.newSessionEpoch()
    }

    /// Marks what the sign-in uses up.
    var use: PostgresUUID { eventID }

    /// The name of the result, for operators.
    var decision: DecisionID { DecisionID(eventID) }

    /// The verdict of the rules. The attempt stores question and answer with its result, unless the sign-in is ordinary
    /// (`FactSampling`).
    mutating func ask(_ question: some Question<SignInDecision>, _ policy: LinkPolicy) -> Verdict<SignInDecision> {
        let verdict = question.decide(policy)
        note(verdict, on: question, policy)
        return verdict
    }

    /// Stores a question that was asked already, as `ask` does.
    mutating func note(
        _ verdict: Verdict<SignInDecision>,
        on question: some Question<SignInDecision>,
        _ policy: LinkPolicy
    ) {
        policyVersion = policy.version
        storesLast = sampling.storesFacts(of: question, verdict, number: eventID.low)
        if storesLast { decisions.append(DecisionRecord(question, under: policy)) }
    }

    /// The verdict on the last question with more facts. It is stored in place of the last.
    mutating func askAgain(_ question: some Question<SignInDecision>, _ policy: LinkPolicy) -> Verdict<SignInDecision> {
        if storesLast { decisions.removeLast() }
        return ask(question, policy)
    }

    /// The new account by `change`, which `rule` decided.
    func newUser(by change: AccountChange, _ rule: Rule) throws -> UserRecord {
        guard let newUserID else { throw UnexpectedDecision(rule) }
        let blank = UserRecord(tenant: tenant, id: newUserID, sessionEpoch: newEpoch, createdAt: now)
        var user = blank.applying(change, context)
        user.lastLoginAt = now
        user.lastRefreshAt = now
        // A token is not older than the account, except for a user who signed in at the provider before. Such a token
        // is not revoked.
        let signedInAt = session.record(for: user, at: now).authTime
        user.validSince = min(user.validSince, Timestamp(secondsSinceEpoch: signedInAt.secondsSinceEpoch))
        return user
    }

    func event(_ kind: AccountEvent.Kind, _ rule: Rule) -> AccountEvent {
        AccountEvent(
            id: eventID,
            occurredAt: now,
            kind: kind,
            rule: rule,
            details: decisions.isEmpty ? session.eventDetails(of: rule) : nil,
            decisions: decisions,
            policyVersion: policyVersion
        )
    }
}

/// A decision of a kind that the question cannot have: a bug in the rules.
struct UnexpectedDecision: Error, Sendable {
    let rule: Rule

    init(_ rule: Rule) {
        self.rule = rule
    }
}
