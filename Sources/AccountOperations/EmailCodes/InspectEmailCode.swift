package import AccountLinking
import AccountStore

/// What a code is for.
package struct InspectedEmailCode: Sendable {
    package let code: EmailCodeRecord
    /// What it takes off the account, where it does that.
    package let secondFactor: SecondFactor?
    /// The sign-in methods that using it would suspend, by name.
    package let suspended: [MethodSuspension]
}

extension AccountOperations {
    /// What a code is for, without using it (`accounts:resetPassword` with nothing but the code).
    ///
    /// A code that would be refused because its account has changed, is gone or is disabled says so already here.
    package func inspectEmailCode(_ text: String, tenant: TenantID) async throws -> Outcome<InspectedEmailCode> {
        let use = EmailCodeUse(text, tenant: tenant, effects: effects)
        let code: EmailCodeRecord
        switch try await usableEmailCode(use) {
        case .denied(let denial): return .denied(denial)
        case .success(let found): code = found
        }
        // The account of a sign-in link is nobody's business before the address was named (S57).
        if code.kind == .emailSignIn {
            return .success(InspectedEmailCode(code: code, secondFactor: nil, suspended: []))
        }
        let judged = try await judge(code)
        let verdict = judged.verdict
        if case .refuse(let refusal) = verdict.decision, refusal == .invalidEmailCode || refusal == .userDisabled {
            return refused(.refusal(refusal), by: verdict.rule)
        }
        let factor = code.secondFactor.flatMap { id in judged.user?.secondFactors.first { $0.id == id } }
        var suspended: [MethodSuspension] = []
        if case .apply(_, let change, issuesTokens: _) = verdict.decision, let user = judged.user {
            suspended = suspensions(by: change, of: user.account, verdict.rule, at: use.now)
        }
        return .success(InspectedEmailCode(code: code, secondFactor: factor, suspended: suspended))
    }
}
