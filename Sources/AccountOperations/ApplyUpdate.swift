package import AccountLinking
import AccountStore
import JSON

/// An account after an update, with the tokens that replace those the update ended.
package struct Updated: Sendable {
    package let user: UserRecord
    package var tokens: IssuedTokens?
}

/// One update of one account, put together from the verdicts on its parts, each taken on what the ones before leave.
struct UpdatePlan: Sendable {
    /// The account as the verdicts so far leave it.
    private(set) var account: Account
    private(set) var change = AccountChange()
    private(set) var issuesTokens = false
    /// The rules that changed something, in order.
    private(set) var rules: [Rule] = []
    /// What refuses the whole update.
    private(set) var refusal: Verdict<Refusal>?
    /// What the rules were asked about methods, to be kept with what comes of it.
    private(set) var decisions: [DecisionRecord] = []

    init(_ account: Account) {
        self.account = account
    }

    /// Adds a verdict; nothing once one has refused.
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

    /// Adds what the rules answer to a question about methods, which is kept unless nothing was asked to change.
    mutating func ask(_ question: some Question<UpdateDecision>, _ policy: LinkPolicy) throws {
        guard refusal == nil else { return }
        let verdict = question.decide(policy)
        if case .unchanged = verdict.decision {
        } else {
            decisions.append(DecisionRecord(question, under: policy))
        }
        try add(verdict)
    }

    /// Adds what the rules answer to a link of a password to the account of the session, which ends in tokens.
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

/// What every attempt to apply one update shares: everything random and the time, made before the first.
struct UpdateAttempt: Sendable {
    let now: Timestamp
    let context: ChangeContext
    /// The hash of the password the update sets.
    var passwordHash: String?
    /// The secret of the factor the update enrols.
    var totpSecret: NewTOTPSecret?
    /// The session that replaces the one the update ends; `nil` for an administrator.
    var session: NewSession?
    /// What tells the owner of a replaced address; `nil` for an administrator.
    var recovery: EmailRecovery?
    /// What it is called; `nil`: what the change says.
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

    /// Returns true for the change of an administrator, whose account's owner is not mailed.
    var isByAdministrator: Bool { context.methodProof == .administrator }

    /// The event of an attempt that is no update of the account's own data.
    func event(kind: AccountEvent.Kind, rule: Rule) -> AccountEvent {
        AccountEvent(id: eventID, occurredAt: now, kind: kind, rule: rule)
    }

    /// The event of an update as planned; its rule is the first that changed something.
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
    /// Keeps the "no" of a plan that was refused because of the account's methods.
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

    /// Writes `user`, which a plan made of `previous`, and opens the session the plan asks for.
    /// - Throws: `FactsMoved`, or what the database could not do.
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
