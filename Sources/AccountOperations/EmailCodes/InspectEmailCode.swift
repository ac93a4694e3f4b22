package import AccountLinking
import AccountStore

extension AccountOperations {
    /// What a code is for, without using it (`accounts:resetPassword` with nothing but the code).
    ///
    /// A code that would be refused because its account has changed, is gone or is disabled says so already here.
    package func inspectEmailCode(_ text: String, tenant: TenantID) async throws -> Outcome<EmailCodeRecord> {
        let use = EmailCodeUse(text, tenant: tenant, effects: effects)
        let code: EmailCodeRecord
        switch try await usableEmailCode(use) {
        case .denied(let denial): return .denied(denial)
        case .success(let found): code = found
        }
        // The account of a sign-in link is nobody's business before the address was named (S57).
        if code.kind == .emailSignIn { return .success(code) }
        let verdict = try await judge(code).verdict
        if case .refuse(let refusal) = verdict.decision, refusal == .invalidEmailCode || refusal == .userDisabled {
            return refused(.refusal(refusal), by: verdict.rule)
        }
        return .success(code)
    }
}
