package import AccountLinking
import AccountStore

/// What a code is for.
package struct InspectedEmailCode: Sendable {
    package let code: EmailCodeRecord
    /// What it takes off the account, where it does that.
    package let secondFactor: SecondFactor?
    /// The sign-in methods that using it would suspend, by name.
    package let suspended: [MethodSuspension]
    /// The account, where the code would be the first proof of its address.
    package var unproven: UnprovenAccount?
    /// Effect on the sign-in methods, where it undoes a change of them.
    package var reversal: MethodReversal?
}

/// An account whose address nobody has shown to own, as the person who reads the mailbox may know it: enough to tell an account
/// of their own from an intruder's.
package struct UnprovenAccount: Sendable {
    package let createdAt: Timestamp
    /// The methods by which it can be entered, in the order `createAuthUri` lists them.
    package let methods: [SignInMethod]
    package let phoneNumber: PhoneNumber?
    /// True if confirming the address without the session that asked for the code ends every session.
    package let endsSessions: Bool
    /// The methods that disowning the account would suspend, by name.
    package let suspended: [MethodSuspension]
    /// True if disowning the account takes the address off it, rather than giving the account to the owner of the address.
    package let givesAddressUp: Bool
}

extension AccountOperations {
    /// What a code is for, without using it (`accounts:resetPassword` with nothing but the code).
    ///
    /// A code that would be refused because its account has changed, is gone or is disabled says so already here.
    package func inspectEmailCode(_ text: String, tenant: TenantID) async throws -> InspectedEmailCode {
        let use = EmailCodeUse(text, tenant: tenant, effects: effects)
        let code = try await usableEmailCode(use)
        // The account of a sign-in link stays hidden until the client names the address.
        if code.kind == .emailSignIn {
            return InspectedEmailCode(code: code, secondFactor: nil, suspended: [])
        }
        if code.kind == .revertSignInMethodChange {
            let judged = try await judgeRevert(code, isUse: false)
            if case .refuse(let refusal) = judged.verdict.decision {
                throw refused(.refusal(refusal), by: judged.verdict.rule)
            }
            return InspectedEmailCode(code: code, secondFactor: nil, suspended: [], reversal: judged.reversal)
        }
        let judged = try await judge(code)
        let verdict = judged.verdict
        if case .refuse(let refusal) = verdict.decision, refusal == .invalidEmailCode || refusal == .userDisabled {
            throw refused(.refusal(refusal), by: verdict.rule)
        }
        let factor = code.secondFactor.flatMap { id in judged.user?.secondFactors.first { $0.id == id } }
        var suspended: [MethodSuspension] = []
        if let user = judged.user {
            switch verdict.decision {
            case .apply(_, let change, issuesTokens: _), .takeAddress(_, let change, from: _, _):
                suspended = suspensions(by: change, of: user.account, verdict.rule, at: use.now)
            case .unchanged, .refuse: break
            }
        }
        var inspected = InspectedEmailCode(code: code, secondFactor: factor, suspended: suspended)
        if code.kind == .verifyEmail, let user = judged.user { inspected.unproven = unproven(user, code, verdict, use) }
        return inspected
    }

    /// - `verdict`: on confirming the address without a session.
    private func unproven(
        _ user: UserRecord,
        _ code: EmailCodeRecord,
        _ verdict: Verdict<UpdateDecision>,
        _ use: EmailCodeUse
    ) -> UnprovenAccount? {
        let account = user.account
        let disowning = VerifyEmailQuestion(account: account, address: code.email, answer: .disown).decide(policy)
        guard case .apply(_, let confirmed, issuesTokens: _) = verdict.decision,
            case .apply(_, let disowned, issuesTokens: _) = disowning.decision
        else { return nil }
        return UnprovenAccount(
            createdAt: user.createdAt,
            methods: account.signInMethods,
            phoneNumber: user.phoneNumber,
            endsSessions: confirmed.endsSessions,
            suspended: suspensions(by: disowned, of: account, disowning.rule, at: use.now),
            givesAddressUp: disowned.email == .remove
        )
    }
}
