package import AccountLinking

/// A code and its effects.
package struct InspectedEmailCode: Sendable {
    package let code: EmailCodeRecord
    /// The factor that the code removes.
    package let secondFactor: SecondFactor?
    /// The methods that the code suspends.
    package let suspended: [MethodSuspension]
    /// Set if the code would be the first proof of the address.
    package var unproven: UnprovenAccount?
    /// Set if the code undoes a change of methods.
    package var reversal: MethodReversal?
}

/// The details of an unproven account by which the mailbox's reader recognizes an intruder's.
package struct UnprovenAccount: Sendable {
    package let createdAt: Timestamp
    /// In the order of `createAuthUri`.
    package let methods: [SignInMethod]
    package let phoneNumber: PhoneNumber?
    /// True if confirming the address from another session than the requesting one ends every session.
    package let endsSessions: Bool
    /// The methods that disowning suspends.
    package let suspended: [MethodSuspension]
    /// True if disowning removes the address; false if the account goes to the address's owner.
    package let givesAddressUp: Bool
}

extension AccountOperations {
    /// Returns a code's purpose without consuming it (`accounts:resetPassword` with only the code). Refuses a code
    /// whose account is changed, deleted or disabled.
    package func inspectEmailCode(_ text: String, tenant: TenantID) async throws -> InspectedEmailCode {
        let use = EmailCodeUse(text, tenant: tenant, effects: effects)
        let code = try await usableEmailCode(use, as: EmailCodeRecord.Kind.allCases.filter(\.isForActionPage))
        // The account stays hidden until the client names the address.
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

    /// - `verdict`: about confirming the address without a session.
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
