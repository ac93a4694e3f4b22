package import AccountLinking
import AccountStore

// The last step of every sign-in: the verdict becomes an account, a session and an event, in one transaction.

/// A completed sign-in, sign-up or link.
package struct SignedIn: Sendable {
    package let user: UserRecord
    package let tokens: IssuedTokens
    package let isNewUser: Bool
    /// The provider gave the account's address to another of its users.
    package let emailWasRecycled: Bool
    /// The provider that this sign-in linked.
    package let linkedProvider: ProviderID?
    /// The methods that the sign-in suspended, by name. An intruder may have set them up.
    package let suspended: [MethodSuspension]
    /// The providers whose linked identity the sign-in replaced.
    package let replaced: [ProviderID]
    /// The name of the decision, for operators.
    package let decision: DecisionID
    /// The token of the device, if the client asked for one.
    package var deviceToken: String?
}

extension AccountOperations {
    /// Applies the verdict: signs tokens, creates or changes the account, opens the session and records the event, in
    /// one transaction. Tokens of a session that was not stored never leave the server.
    ///
    /// The caller handles conflicts and second factors before.
    ///
    /// - `loaded`: the accounts of the decision.
    /// - Throws: `Denial`, `FactsMoved`, or a failure of the database.
    func applySignIn(
        _ verdict: Verdict<SignInDecision>,
        loaded: [UserRecord?],
        _ attempt: SignInAttempt
    ) async throws -> SignedIn {
        let made = try await account(madeBy: verdict, of: loaded, attempt)
        let (previous, user, change) = (made.previous, made.user, made.change)
        let start = sessionStart(of: user, attempt)
        let signedIn = SignedIn(
            user: user,
            tokens: try issueTokens(for: user, session: attempt.session, at: start),
            isNewUser: previous == nil,
            emailWasRecycled: made.emailWasRecycled,
            linkedProvider: previous == nil ? nil : change.linkedIdentity?.provider,
            suspended: previous.map { suspensions(by: change, of: $0.account, verdict.rule, at: attempt.now) } ?? [],
            replaced: previous.map { providersReplaced(by: change, of: $0.account) } ?? [],
            decision: attempt.decision
        )
        var sideWrites = attempt.sideWrites + made.sideWrites
        if let use = attempt.idTokenUse { sideWrites.append(.use(use, of: user.id, tenant: user.tenant)) }
        sideWrites += try storeAnswer(
            signedIn,
            to: attempt.idempotent,
            of: attempt.isOfStranger ? nil : user.id,
            tenant: user.tenant,
            at: attempt.now
        )
        let write = AccountWrite(
            previous: previous,
            user: user,
            passwordHash: attempt.passwordHash,
            session: attempt.session.record(for: user, at: start, userAgent: userAgent),
            event: attempt.event(made.event, verdict.rule),
            sideWrites: sideWrites
        )
        let whole = try await mailingMethods(suspendingMethods(write, by: change), changedBy: change)
        try await store.apply(whole).requireApplied()
        if previous != nil { store.activity.note(user, at: attempt.now, isSignIn: true) }
        return signedIn
    }

    /// The time at which the session begins. If another request ended all sessions after this sign-in had begun, the
    /// verdict is about the account after that, so the session begins then. Otherwise it would be revoked from the start.
    private func sessionStart(of user: UserRecord, _ attempt: SignInAttempt) -> Timestamp {
        // An administrator may set `validSince` ahead of the clock: such a session stays revoked.
        attempt.session.isSignIn ? max(attempt.now, min(user.validSince, effects.now())) : attempt.now
    }

    /// The account after the verdict.
    /// - Throws: `Denial` for a refusal, which is recorded and counted.
    private func account(
        madeBy verdict: Verdict<SignInDecision>,
        of loaded: [UserRecord?],
        _ attempt: SignInAttempt
    ) async throws -> CreatedAccount {
        switch verdict.decision {
        case .refuse(let refusal):
            try await note(refusalBy: verdict.rule, of: loaded, attempt)
            throw refused(.refusal(refusal), by: verdict.rule)
        case .conflict, .secondFactorRequired: throw UnexpectedDecision(verdict.rule)
        case .createUser(let change):
            let limits = attempt.signUpLimits
            try await requireRoom(for: .signUps, within: limits, tenant: attempt.tenant, at: attempt.now)
            return CreatedAccount(
                user: try attempt.newUser(by: change, verdict.rule),
                event: .userCreated,
                sideWrites: limits.isEmpty ? [] : [.count(limits, tenant: attempt.tenant, at: attempt.now)]
            )
        case .signIn(let id, let change, let emailWasRecycled):
            let found = try loaded.user(id, verdict.rule)
            var made = CreatedAccount(
                previous: found,
                user: found.applying(change, attempt.context),
                change: change,
                event: AccountEvent.Kind(signInWith: change),
                emailWasRecycled: emailWasRecycled
            )
            if let linked = attempt.context.linkedProvider { made.user.refreshProfile(of: linked) }
            if !attempt.session.isSignIn, made.user == found { made.sideWrites.append(.requireUnchanged(found)) }
            made.sideWrites += try await sideWrites(
                of: change,
                from: found,
                to: made.user,
                recovery: attempt.recovery,
                at: attempt.now
            )
            return made
        }
    }

    /// Records and counts a refusal with the account that it concerns.
    func note(refusalBy rule: Rule, of loaded: [UserRecord?], _ attempt: SignInAttempt) async throws {
        guard let user = loaded.lazy.compactMap(\.self).first else { return }
        if attempt.keepsRefusals {
            try await store.keep(attempt.event(.refused, rule), of: user.id, tenant: user.tenant)
        }
        if attempt.session.isSignIn { store.activity.noteRefusal(of: user, .rule(rule), at: attempt.now) }
    }
}

/// The account after a verdict, and its side writes.
private struct CreatedAccount: Sendable {
    /// `nil` for a new account.
    var previous: UserRecord?
    var user: UserRecord
    /// The change of an existing account.
    var change = AccountChange()
    var event: AccountEvent.Kind
    var emailWasRecycled = false
    var sideWrites: [AccountWrite.SideWrite] = []
}

extension [UserRecord?] {
    /// The account in a verdict.
    func user(_ id: UserID, _ rule: Rule) throws -> UserRecord {
        guard let user = lazy.compactMap(\.self).first(where: { $0.id == id }) else { throw UnexpectedDecision(rule) }
        return user
    }
}
