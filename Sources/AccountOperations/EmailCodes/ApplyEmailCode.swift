package import AccountLinking
import AccountStore

/// What an applied code did.
package struct AppliedEmailCode: Sendable {
    package let kind: EmailCodeRecord.Kind
    /// The account as it is now.
    package let user: UserRecord
    /// The address that took the place of another, as clients see it; only for `verifyAndChangeEmail`.
    package let newEmail: String?
}

/// A code, judged with the account it is about.
struct JudgedEmailCode: Sendable {
    /// As it was loaded; `nil` when it is gone.
    let user: UserRecord?
    let verdict: Verdict<UpdateDecision>
    /// What is kept of the question, where anything is.
    var decisions: [DecisionRecord] = []
    /// What stands on the address that the code sets.
    var claim = AddressClaim.free
}

extension AccountOperations {
    /// Applies a code that verifies, changes or brings back an address, or takes a new second factor off again
    /// (`accounts:update` with an `oobCode`).
    ///
    /// Every answer of the rules uses the code up, also a refusal; of many callers at once exactly one is answered by
    /// them. But a refusal leaves a code usable that brings an address back, or takes a second factor off
    /// (`EmailCodeRecord.Kind.takesBack`). No tokens are issued.
    ///
    /// `locale`: the language for the mail to a replaced address, as sent.
    package func applyEmailCode(
        _ text: String,
        tenant: TenantID,
        locale: String? = nil
    ) async throws -> Outcome<AppliedEmailCode> {
        let use = EmailCodeUse(text, tenant: tenant, effects: effects)
        let recovery = EmailRecovery(effects: effects, locale: locale)
        return try await decideAndApply {
            let code: EmailCodeRecord
            let kinds: [EmailCodeRecord.Kind] = [
                .verifyEmail, .verifyAndChangeEmail, .recoverEmail, .revertSecondFactorAddition,
            ]
            switch try await usableEmailCode(use, as: kinds) {
            case .denied(let denial): return .denied(denial)
            case .success(let found): code = found
            }
            let judged = try await judge(code)
            let (user, verdict) = (judged.user, judged.verdict)
            switch verdict.decision {
            case .refuse(let refusal) where code.kind.takesBack:
                return refused(.refusal(refusal), by: verdict.rule)
            case .refuse(let refusal):
                guard try await store.useUp(code, by: use.id, at: use.now) == .applied else { return nil }
                return refused(.refusal(refusal), by: verdict.rule)
            case .unchanged:
                guard let user else { throw UnexpectedDecision(verdict.rule) }
                guard try await store.useUp(code, by: use.id, at: use.now) == .applied else { return nil }
                return .success(AppliedEmailCode(kind: code.kind, user: user, newEmail: nil))
            case .apply(_, let change, issuesTokens: _):
                guard let user else { throw UnexpectedDecision(verdict.rule) }
                let changed = try await apply(
                    change,
                    to: user,
                    verdict.rule,
                    using: code,
                    use,
                    recovery: recovery,
                    companions: judged.claim.clearing
                )
                return changed.map {
                    .success(AppliedEmailCode(kind: code.kind, user: $0, newEmail: code.newEmail?.lowercased))
                }
            case .takeAddress(_, let change, from: _, let loss):
                guard let user, let owner = judged.claim.owner else { throw UnexpectedDecision(verdict.rule) }
                let changed = try await apply(
                    change,
                    to: user,
                    verdict.rule,
                    using: code,
                    use,
                    takingAddressFrom: (owner, loss)
                )
                return changed.map { .success(AppliedEmailCode(kind: code.kind, user: $0, newEmail: nil)) }
            }
        }
    }

    /// What the rules say to a code about an account.
    func judge(_ code: EmailCodeRecord) async throws -> JudgedEmailCode {
        var user: UserRecord?
        if let id = code.user { user = try await store.user(id, tenant: code.tenant) }
        switch code.kind {
        case .passwordReset:
            let policy = policy
            let question = UpdateQuestion.resetPassword(account: user?.account, address: code.email)
            let decision = DecisionRecord(.update(question), under: policy)
            return JudgedEmailCode(user: user, verdict: question.verdict(policy), decisions: [decision])
        case .verifyEmail:
            return JudgedEmailCode(user: user, verdict: decideVerifyEmail(account: user?.account, address: code.email))
        case .verifyAndChangeEmail:
            guard let newEmail = code.newEmail, let epoch = code.sessionEpoch else { break }
            let claim = try await store.claim(on: newEmail, tenant: code.tenant, at: effects.now())
            let change = EmailCodeChange.verifyAndChange(to: newEmail, sentFor: code.email, sessionEpoch: epoch)
            let verdict = decideApplyEmailCode(account: user?.account, code: change, owner: claim.owner?.account)
                .respecting(claim.reservation)
            return JudgedEmailCode(user: user, verdict: verdict, claim: claim)
        case .recoverEmail:
            user = user.flatMap { code.bringsBackAddress(of: $0) ? $0 : nil }
            let claim = try await store.claim(on: code.email, tenant: code.tenant, at: effects.now())
            let ownerCameLater = claim.owner.map { $0.createdAt >= code.createdAt } ?? false
            let change = EmailCodeChange.recover(initial: code.email, ownerCameLater: ownerCameLater)
            let verdict = decideApplyEmailCode(account: user?.account, code: change, owner: claim.owner?.account)
                .respecting(claim.reservation)
            return JudgedEmailCode(user: user, verdict: verdict, claim: claim)
        case .revertSecondFactorAddition:
            guard let factor = code.secondFactor else { break }
            let verdict = decideRevertSecondFactor(
                account: user?.account,
                enrolled: user?.secondFactors ?? [],
                added: factor,
                address: code.email
            )
            return JudgedEmailCode(user: user, verdict: verdict)
        case .emailSignIn: break
        }
        return JudgedEmailCode(user: user, verdict: Verdict(.u12, .refuse(.invalidEmailCode)))
    }
}
