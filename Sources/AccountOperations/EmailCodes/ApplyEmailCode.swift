package import AccountLinking
import AccountStore

package struct AppliedEmailCode: Sendable {
    package let kind: EmailCodeRecord.Kind
    package let user: UserRecord
    /// The new address, as clients see it. Only for `verifyAndChangeEmail`.
    package let newEmail: String?
    /// True if a first proof of the address ended every session.
    package var endedSessions = false
    /// Tokens of a new session, if the code came with a session that it ended.
    package var tokens: IssuedTokens?
    /// Only for `revertSignInMethodChange`.
    package var reversal: MethodReversal?
    package var suspended: [MethodSuspension] = []
}

struct JudgedEmailCode: Sendable {
    /// `nil` if the account is deleted.
    let user: UserRecord?
    let verdict: Verdict<UpdateDecision>
    var decisions: [DecisionRecord] = []
    var claim = AddressClaim.free
}

extension AccountOperations {
    /// Applies a code that verifies, changes or restores an address, removes a second factor, or undoes a change of
    /// sign-in methods (`accounts:update` with an `oobCode`).
    ///
    /// If many callers present one code at once, the rules answer one of them. Even a refusal consumes the code, unless
    /// the code undoes what an intruder may have done (`EmailCodeRecord.Kind.takesBack`). Only a session that presents
    /// the first proof of its address, and ends by it, gets tokens.
    ///
    /// - `idToken`: read only for a code that verifies an address.
    /// - `locale`: for the mail to a replaced address.
    package func applyEmailCode(
        _ text: String,
        tenant: TenantID,
        idToken: String? = nil,
        locale: String? = nil
    ) async throws -> AppliedEmailCode {
        let use = EmailCodeUse(text, tenant: tenant, effects: effects)
        let recovery = EmailRecovery(effects: effects, locale: locale)
        let caller = try await presenter(of: use, idToken: idToken)
        let session = caller.map { NewSession(effects: effects, signInProvider: $0.token.signInProvider, after: $0) }
        return try await retrying(effects) {
            let kinds: [EmailCodeRecord.Kind] = [
                .verifyEmail, .verifyAndChangeEmail, .recoverEmail, .revertSecondFactorAddition,
                .revertSignInMethodChange,
            ]
            let code = try await usableEmailCode(use, as: kinds)
            if code.kind == .revertSignInMethodChange { return try await applyRevert(code, use) }
            let judged = try await judge(code, from: caller)
            return try await apply(judged, code, use, session: session, recovery: recovery)
        }
    }

    /// The session that presents a code, for a code that verifies an address; `nil` for every other code.
    private func presenter(of use: EmailCodeUse, idToken: String?) async throws -> AuthenticatedSession? {
        guard let idToken, try await store.emailCode(use.hash, tenant: use.tenant)?.kind == .verifyEmail else {
            return nil
        }
        do {
            return try await authenticate(idToken: idToken, tenant: use.tenant)
        } catch let denial as Denial {
            // Firebase ignores this token. An invalid one matters only if a first proof ends sessions.
            if policy.firstProofEndsSessions { throw denial }
            return nil
        }
    }

    /// Applies the verdict on a code, and uses the code up unless a refusal leaves it usable.
    private func apply(
        _ judged: JudgedEmailCode,
        _ code: EmailCodeRecord,
        _ use: EmailCodeUse,
        session: NewSession?,
        recovery: EmailRecovery
    ) async throws -> AppliedEmailCode {
        let (user, verdict) = (judged.user, judged.verdict)
        switch verdict.decision {
        case .refuse(let refusal):
            if !code.kind.takesBack { try await store.useUp(code, by: use.id, at: use.now).requireApplied() }
            throw refused(.refusal(refusal), by: verdict.rule)
        case .unchanged:
            guard let user else { throw UnexpectedDecision(verdict.rule) }
            try await store.useUp(code, by: use.id, at: use.now).requireApplied()
            return AppliedEmailCode(kind: code.kind, user: user, newEmail: nil)
        case .apply(_, let change, let issuesTokens):
            guard let user else { throw UnexpectedDecision(verdict.rule) }
            let session = issuesTokens ? session : nil
            let changed = try await apply(
                change,
                to: user,
                verdict.rule,
                using: code,
                use,
                session: session,
                // No session replaces an address that is taken back.
                recovery: code.kind == .recoverEmail ? nil : recovery,
                decisions: judged.decisions,
                sideWrites: judged.claim.clearing + voidingElsewhere(code, of: user)
            )
            return AppliedEmailCode(
                kind: code.kind,
                user: changed,
                newEmail: code.newEmail?.lowercased,
                endedSessions: code.kind == .verifyEmail && change.endsSessions,
                tokens: try session.map { try issueTokens(for: changed, session: $0, at: use.now) },
                suspended: suspensions(by: change, of: user.account, verdict.rule, at: use.now)
            )
        case .takeAddress(_, let change, from: _, let loss):
            guard let user, let owner = judged.claim.owner else { throw UnexpectedDecision(verdict.rule) }
            let changed = try await apply(
                change,
                to: user,
                verdict.rule,
                using: code,
                use,
                sideWrites: voidingElsewhere(code, of: user),
                takingAddressFrom: (owner, loss)
            )
            return AppliedEmailCode(
                kind: code.kind,
                user: changed,
                newEmail: nil,
                suspended: suspensions(by: change, of: user.account, verdict.rule, at: use.now)
            )
        }
    }

    /// The time of the oldest live recovery code that was mailed to the proven address of `code`; `nil` if there is
    /// none. One round trip.
    ///
    /// A thief who changes the address repeatedly leaves a code for each change. Any of them undoes all.
    private func startOfRecovery(by code: EmailCodeRecord) async throws -> Timestamp? {
        guard let id = code.user else { return nil }
        return try await store.recoveries(of: id, tenant: code.tenant, at: effects.now())
            .first { $0.wasProven && $0.email == code.email }?.createdAt
    }

    private func voidingElsewhere(_ code: EmailCodeRecord, of user: UserRecord) -> [AccountWrite.SideWrite] {
        guard code.kind == .recoverEmail else { return [] }
        return voiding(elsewhereThan: code.email, of: user, at: effects.now())
    }

    /// - `caller`: presents a code that verifies an address.
    /// - `isDisowned`: true if the code's holder rejects the account.
    func judge(
        _ code: EmailCodeRecord,
        from caller: AuthenticatedSession? = nil,
        isDisowned: Bool = false
    ) async throws -> JudgedEmailCode {
        var user: UserRecord?
        if let id = code.user { user = try await store.user(id, tenant: code.tenant) }
        switch code.kind {
        case .passwordReset:
            let policy = policy
            let question = ResetPasswordQuestion(account: user?.account, address: code.email)
            let decision = DecisionRecord(question, under: policy)
            return JudgedEmailCode(user: user, verdict: question.decide(policy), decisions: [decision])
        case .verifyEmail:
            let policy = policy
            let question = VerifyEmailQuestion(
                account: user?.account,
                address: code.email,
                answer: isDisowned ? .disown : try await .confirm(from: provingSession(caller, of: user, code))
            )
            let decision = DecisionRecord(question, under: policy)
            return JudgedEmailCode(user: user, verdict: question.decide(policy), decisions: [decision])
        case .verifyAndChangeEmail:
            guard let newEmail = code.newEmail, let epoch = code.sessionEpoch else { break }
            let claim = try await store.claim(on: newEmail, tenant: code.tenant, at: effects.now())
            let change = EmailCodeChange.verifyAndChange(to: newEmail, sentFor: code.email, sessionEpoch: epoch)
            return judge(change, of: user, claim)
        case .recoverEmail:
            user = user.flatMap { code.bringsBackAddress(of: $0) ? $0 : nil }
            let claim = try await store.claim(on: code.email, tenant: code.tenant, at: effects.now())
            let start = try await startOfRecovery(by: code)
            let change = EmailCodeChange.recover(
                initial: code.email,
                ownerCameLater: claim.owner.map { $0.createdAt >= code.createdAt } ?? false,
                since: start.flatMap { user?.additions(since: $0) }
            )
            return judge(change, of: user, claim)
        case .revertSecondFactorAddition:
            guard let factor = code.secondFactor else { break }
            let verdict = decideRevertSecondFactor(
                account: user?.account,
                enrolled: user?.secondFactors ?? [],
                added: factor,
                address: code.email
            )
            return JudgedEmailCode(user: user, verdict: verdict)
        // `judgeRevert` decides about these.
        case .emailSignIn, .revertSignInMethodChange, .lookUp: break
        }
        return judge(nil, of: user, .free)
    }

    /// The verdict on a change of the address; on a code that changes none if `change` is `nil`.
    private func judge(_ change: EmailCodeChange?, of user: UserRecord?, _ claim: AddressClaim) -> JudgedEmailCode {
        let verdict = decideApplyEmailCode(
            policy: policy,
            account: user?.account,
            code: change,
            owner: claim.owner?.account
        ).respecting(claim.reservation)
        return JudgedEmailCode(user: user, verdict: verdict, claim: claim)
    }

    /// The session that a code came with, as it stands with the account and with the request for the code.
    private func provingSession(
        _ caller: AuthenticatedSession?,
        of user: UserRecord?,
        _ code: EmailCodeRecord
    ) async throws -> ProvingSession {
        guard let caller, let user, caller.user.id == user.id else { return .absent }
        do {
            _ = try await account(of: caller, asItIs: user)
        } catch is Denial {
            return .absent
        }
        return caller.token.authTime == code.requesterAuthTime ? .asking : .other
    }
}
