package import AccountLinking
import AccountStore
import JSON

/// A completed sign-in, sign-up or link.
package struct SignedIn: Sendable {
    package let user: UserRecord
    package let tokens: IssuedTokens
    package let isNewUser: Bool
    /// The provider gave the account's address to another of its users.
    package let emailWasRecycled: Bool
    /// The provider that was linked by this sign-in.
    package let linkedProvider: ProviderID?
    /// The methods that the sign-in took off the account, by name: somebody else may have set them up.
    package let suspended: [MethodSuspension]
    /// The providers whose linked account the sign-in replaced by another.
    package let replaced: [ProviderID]
    /// Names the decision to an operator.
    package let decision: DecisionID
}

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

    /// What the rules answer; kept with what comes of it.
    mutating func ask(_ question: some Question<SignInDecision>, _ policy: LinkPolicy) -> Verdict<SignInDecision> {
        decisions.append(DecisionRecord(question, under: policy))
        return question.decide(policy)
    }

    func newUser(_ rule: Rule) throws -> UserRecord {
        guard let newUserID else { throw UnexpectedDecision(rule) }
        return UserRecord(tenant: tenant, id: newUserID, sessionEpoch: newEpoch, createdAt: now)
    }

    func event(_ kind: AccountEvent.Kind, _ rule: Rule) -> AccountEvent {
        AccountEvent(id: eventID, occurredAt: now, kind: kind, rule: rule, decisions: decisions)
    }
}

extension AccountOperations {
    /// Applies a decision that may end in tokens: signs them, then creates or changes the account, opens the session and
    /// records the event, all in one transaction. Tokens of a session that was not stored are shown to nobody.
    ///
    /// A conflict is for the caller to keep before it comes here; a second factor is asked for by the caller too.
    ///
    /// `loaded`: the accounts the decision was taken on.
    /// - Throws: `Denial`, `FactsMoved`, or what the database could not do.
    func complete(
        _ verdict: Verdict<SignInDecision>,
        loaded: [UserRecord?],
        _ attempt: SignInAttempt
    ) async throws -> SignedIn {
        let previous: UserRecord?
        var user: UserRecord
        let kind: AccountEvent.Kind
        var isRecycled = false
        var linkedProvider: ProviderID?
        var applied = AccountChange()
        var sideWrites = attempt.sideWrites
        let session = attempt.session
        switch verdict.decision {
        case .refuse(let refusal):
            try await note(refusalBy: verdict.rule, of: loaded, attempt)
            throw refused(.refusal(refusal), by: verdict.rule)
        case .conflict, .secondFactorRequired: throw UnexpectedDecision(verdict.rule)
        case .createUser(let change):
            let limits = attempt.signUpLimits
            try await requireRoom(for: .signUps, within: limits, tenant: attempt.tenant, at: attempt.now)
            if !limits.isEmpty { sideWrites.append(.count(limits, tenant: attempt.tenant, at: attempt.now)) }
            previous = nil
            user = try attempt.newUser(verdict.rule).applying(change, attempt.context)
            user.lastLoginAt = attempt.now
            user.lastRefreshAt = attempt.now
            // No token is older than the account. One whose user signed in at the provider before that is not a revoked one.
            let signedInAt = session.record(for: user, at: attempt.now).authTime
            user.validSince = min(user.validSince, Timestamp(secondsSinceEpoch: signedInAt.secondsSinceEpoch))
            kind = .userCreated
        case .signIn(let id, let change, let emailWasRecycled):
            guard let found = loaded.lazy.compactMap(\.self).first(where: { $0.id == id }) else {
                throw UnexpectedDecision(verdict.rule)
            }
            previous = found
            applied = change
            user = found.applying(change, attempt.context)
            if let linked = attempt.context.linkedProvider { user.refreshProfile(of: linked) }
            if !session.isSignIn, user == found { sideWrites.append(.requireUnchanged(found)) }
            sideWrites += try await self.sideWrites(
                of: change,
                from: found,
                to: user,
                recovery: attempt.recovery,
                at: attempt.now
            )
            kind = AccountEvent.Kind(signInWith: change)
            isRecycled = emailWasRecycled
            linkedProvider = change.linkedIdentity?.provider
        }
        let signedIn = SignedIn(
            user: user,
            tokens: try issueTokens(for: user, session: session, at: attempt.now),
            isNewUser: previous == nil,
            emailWasRecycled: isRecycled,
            linkedProvider: linkedProvider,
            suspended: previous.map { suspensions(by: applied, of: $0.account, verdict.rule, at: attempt.now) } ?? [],
            replaced: previous.map { providersReplaced(by: applied, of: $0.account) } ?? [],
            decision: attempt.decision
        )
        if let use = attempt.idTokenUse { sideWrites.append(.use(use, of: user.id, tenant: user.tenant)) }
        sideWrites += try rememberAnswer(
            signedIn,
            to: attempt.idempotent,
            of: user.id,
            tenant: user.tenant,
            at: attempt.now
        )
        let write = AccountWrite(
            previous: previous,
            user: user,
            passwordHash: attempt.passwordHash,
            session: session.record(for: user, at: attempt.now, userAgent: userAgent),
            event: attempt.event(kind, verdict.rule),
            sideWrites: sideWrites
        )
        let whole = try await mailingMethods(quarantining(write, by: applied), changedBy: applied)
        try await store.apply(whole).requireApplied()
        if previous != nil { store.activity.note(user, at: attempt.now, isSignIn: true) }
        return signedIn
    }
}

extension AccountOperations {
    /// Keeps and counts the "no" of a rule with the account that it is about.
    func note(refusalBy rule: Rule, of loaded: [UserRecord?], _ attempt: SignInAttempt) async throws {
        guard let user = loaded.lazy.compactMap(\.self).first else { return }
        if attempt.keepsRefusals {
            try await store.keep(attempt.event(.refused, rule), of: user.id, tenant: user.tenant)
        }
        if attempt.session.isSignIn { store.activity.noteRefusal(of: user, .rule(rule), at: attempt.now) }
    }
}

/// A decision answered a question that was not asked: a bug in the rules, never the caller's doing.
struct UnexpectedDecision: Error, Sendable {
    let rule: Rule

    init(_ rule: Rule) {
        self.rule = rule
    }
}
