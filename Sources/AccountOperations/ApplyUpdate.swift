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

    init(_ account: Account) {
        self.account = account
    }

    /// Adds a verdict.
    /// - Returns: the refusal, when it is one: the whole update is refused then.
    mutating func add(_ verdict: Verdict<UpdateDecision>) -> Refusal? {
        switch verdict.decision {
        case .refuse(let refusal): return refusal
        case .unchanged: return nil
        case .apply(_, let next, let issues):
            merge(next, verdict.rule)
            issuesTokens = issuesTokens || issues
            return nil
        }
    }

    /// Adds a verdict that links a password to the account of the session, which ends in tokens.
    mutating func add(linking verdict: Verdict<SignInDecision>) throws -> Refusal? {
        switch verdict.decision {
        case .refuse(let refusal): return refusal
        case .signIn(_, let next, _):
            merge(next, verdict.rule)
            issuesTokens = true
            return nil
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
    /// The session that replaces the one the update ends; `nil` for an administrator.
    var session: NewSession?
    /// What tells the owner of a replaced address; `nil` for an administrator.
    var recovery: EmailRecovery?
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

    /// The event of an update that `rules` decided; the first of them is the event's own.
    func event(_ kind: AccountEvent.Kind, _ rules: [Rule], otherwise rule: Rule) -> AccountEvent {
        AccountEvent(
            id: eventID,
            occurredAt: now,
            kind: kind,
            rule: rules.first ?? rule,
            details: rules.count > 1
                ? .object(["rules": .array(rules.map { .string($0.rawValue) })]) : nil
        )
    }
}

extension AccountOperations {
    /// Writes `user`, which a plan made of `previous`, and opens the session the plan asks for.
    /// - Returns: `nil` when the facts moved.
    func apply(
        _ user: UserRecord,
        previous: UserRecord,
        plan: UpdatePlan,
        otherwise rule: Rule,
        _ attempt: UpdateAttempt,
        companions: [AccountWrite.Companion] = []
    ) async throws -> Updated? {
        if user == previous, companions.isEmpty, attempt.passwordHash == nil || plan.change.password != .set {
            return Updated(user: previous)
        }
        let session = plan.issuesTokens ? attempt.session : nil
        let write = AccountWrite(
            previous: previous,
            user: user,
            passwordHash: plan.change.password == .set ? attempt.passwordHash : nil,
            session: session?.record(for: user, at: attempt.now),
            event: attempt.event(.init(updateWith: plan.change), plan.rules, otherwise: rule),
            companions: try self.companions(
                of: plan.change,
                from: previous,
                to: user,
                recovery: attempt.recovery,
                at: attempt.now
            ) + companions
        )
        guard try await store.apply(write) == .applied else { return nil }
        guard let session else { return Updated(user: user) }
        store.activity.note(user.id, tenant: user.tenant, at: attempt.now, isSignIn: false)
        return Updated(user: user, tokens: try issueTokens(for: user, session: session, at: attempt.now))
    }
}
