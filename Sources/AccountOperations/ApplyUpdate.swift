package import AccountLinking
import AccountStore
import JSON

/// An account after an update, with the tokens that replace those that the update ended.
package struct Updated: Sendable {
    package let user: UserRecord
    package var tokens: IssuedTokens?
}

/// One update of one account, combined from the verdicts on its parts. Each part is decided on the account that the
/// parts before it leave.
struct UpdatePlan: Sendable {
    /// The account as the verdicts so far leave it.
    private(set) var account: Account
    private(set) var change = AccountChange()
    private(set) var issuesTokens = false
    /// The rules that changed something, in order.
    private(set) var rules: [Rule] = []
    /// The verdict that refuses the whole update.
    private(set) var refusal: Verdict<Refusal>?
    /// Questions about methods, to be stored with the outcome.
    private(set) var decisions: [DecisionRecord] = []

    init(_ account: Account) {
        self.account = account
    }

    /// Adds a verdict. Does nothing after a refusal.
    mutating func add(_ verdict: Verdict<UpdateDecision>) throws {
        guard refusal == nil else { return }
        switch verdict.decision {
        case .refuse(let reason): refusal = Verdict(verdict.rule, reason)
        case .unchanged: break
        case .apply(_, let next, let issues):
            merge(next, verdict.rule)
            issuesTokens = issuesTokens || issues
        case .takeAddress: throw UnexpectedDecision(verdict.rule)
        }
    }

    /// Decides a question about methods and adds the verdict. Records the question unless nothing changes.
    mutating func ask(_ question: some Question<UpdateDecision>, _ policy: LinkPolicy) throws {
        guard refusal == nil else { return }
        let verdict = question.decide(policy)
        if case .unchanged = verdict.decision {
        } else {
            decisions.append(DecisionRecord(question, under: policy))
        }
        try add(verdict)
    }

    /// Decides a link of a password to the session's account, which issues tokens, and adds the verdict.
    mutating func ask(linking question: LinkPasswordQuestion, _ policy: LinkPolicy) throws {
        guard refusal == nil else { return }
        decisions.append(DecisionRecord(question, under: policy))
        let verdict = question.decide(policy)
        switch verdict.decision {
        case .refuse(let reason): refusal = Verdict(verdict.rule, reason)
        case .signIn(_, let next, _):
            merge(next, verdict.rule)
            issuesTokens = true
        case .createUser, .secondFactorRequired, .conflict: throw UnexpectedDecision(verdict.rule)
        }
    }

    private mutating func merge(_ next: AccountChange, _ rule: Rule) {
        change = change.followed(by: next)
        account = account.applying(next)
        rules.append(rule)
    }
}

/// Values that all attempts to apply one update share: the time and everything random, made before the first attempt.
struct UpdateAttempt: Sendable {
    let now: Timestamp
    let context: ChangeContext
    var passwordHash: String?
    var totpSecret: NewTOTPSecret?
    /// Session that replaces the one that the update ends; `nil` for an administrator.
    var session: NewSession?
    /// Values for the mail to the owner of a replaced address; `nil` for an administrator.
    var recovery: EmailRecovery?
    /// Kind of the event; `nil` derives it from the change.
    var kind: AccountEvent.Kind?
    private let eventID: AccountEvent.ID

    init(
        effects: Effects,
        methodProof: UserRecord.Proof,
        linkedProvider: UserRecord.LinkedProvider? = nil,
        passwordHash: String? = nil,
        session: NewSession? = nil,
        recovery: EmailRecovery? = nil
    ) {
        self.now = effects.now()
        self.context = ChangeContext(now: now, methodProof: methodProof, linkedProvider: linkedProvider)
        self.passwordHash = passwordHash
        self.session = session
        self.recovery = recovery
        self.eventID = effects.newEventID()
    }

    /// Returns true for a change by an administrator. Concord does not mail the account's owner about it.
    var isByAdministrator: Bool { context.methodProof == .administrator }

    /// The event of an attempt that does not update the account's own data.
    func event(kind: AccountEvent.Kind, rule: Rule) -> AccountEvent {
        AccountEvent(id: eventID, occurredAt: now, kind: kind, rule: rule)
    }

    /// The event of the planned update. Its rule is the first that changed something.
    func event(_ plan: UpdatePlan, otherwise rule: Rule) -> AccountEvent {
        AccountEvent(
            id: eventID,
            occurredAt: now,
            kind: kind ?? .init(updateWith: plan.change),
            rule: plan.rules.first ?? rule,
            details: plan.rules.count > 1
                ? .object(["rules": .array(plan.rules.map { .string($0.rawValue) })]) : nil,
            decisions: plan.decisions
        )
    }
}

extension AccountOperations {
    /// Stores the refusal of a plan that decided questions about the account's methods.
    func keepRefusal(_ plan: UpdatePlan, of user: UserRecord) async throws {
        guard let refusal = plan.refusal, !plan.decisions.isEmpty else { return }
        let event = AccountEvent(
            id: effects.newEventID(),
            occurredAt: effects.now(),
            kind: .refused,
            rule: refusal.rule,
            decisions: plan.decisions
        )
        try await store.keep(event, of: user.id, tenant: user.tenant)
    }

    /// Writes `user`, which a plan made from `previous`, and opens the session that the plan requires.
    /// - Throws: `FactsMoved`, or a database error.
    @discardableResult
    func apply(
        _ user: UserRecord,
        previous: UserRecord,
        plan: UpdatePlan,
        otherwise rule: Rule,
        _ attempt: UpdateAttempt,
        sideWrites: [AccountWrite.SideWrite] = []
    ) async throws -> Updated {
        if user == previous, sideWrites.isEmpty, attempt.passwordHash == nil || plan.change.password != .set {
            return Updated(user: previous)
        }
        let session = plan.issuesTokens ? attempt.session : nil
        var write = AccountWrite(
            previous: previous,
            user: user,
            passwordHash: plan.change.password == .set ? attempt.passwordHash : nil,
            totpSecret: attempt.totpSecret,
            session: session?.record(for: user, at: attempt.now, userAgent: userAgent),
            event: attempt.event(plan, otherwise: rule),
            sideWrites: try await self.sideWrites(
                of: plan.change,
                from: previous,
                to: user,
                recovery: attempt.recovery,
                at: attempt.now
            ) + sideWrites
        )
        write = try suspendingMethods(write, by: plan.change)
        if attempt.isByAdministrator {
            write.sideWrites += settling(plan.change, from: previous, to: user, by: nil)
            write.sideWrites += voidingFormerMailboxes(from: previous, to: user, at: attempt.now)
        } else {
            write = try await mailingMethods(write, changedBy: plan.change)
        }
        try await store.apply(write).requireApplied()
        guard let session else { return Updated(user: user) }
        store.activity.note(user, at: attempt.now, isSignIn: false)
        return Updated(user: user, tokens: try issueTokens(for: user, session: session, at: attempt.now))
    }
}
