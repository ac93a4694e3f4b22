import AccountLinking
import AccountStore

/// A password that was compared with its account's.
struct JudgedPassword: Sendable {
    let user: UserRecord?
    let verdict: Verdict<SignInDecision>
    let decision: DecisionRecord
    /// What has to be written with whatever the verdict allows: it undoes the write if the address was locked meanwhile,
    /// and forgets the wrong passwords before this one.
    let companions: [AccountWrite.Companion]
}

extension AccountOperations {
    /// Compares a password with the one of the account that owns `email`, within the limits of `PasswordAttempts`.
    ///
    /// A wrong password is counted before it is answered, and a right one counts only with `companions` applied. So in
    /// the order of commits no more passwords are answered than the limit allows, however many come at once.
    /// - Returns: `nil` when the address was locked while the password was compared: judge again.
    /// - Throws: `PasswordHasher.Overloaded`, or what the database could not do.
    func judge(_ password: String, of email: EmailAddress, tenant: TenantID) async throws -> JudgedPassword? {
        let facts = try await store.passwordFacts(of: email, tenant: tenant, at: effects.now())
        // A locked address costs no hash: a flood of guesses is also a flood of work.
        let matches =
            facts.attempts.isLocked ? false : try await passwords.verify(password, against: facts.passwordHash)
        let question = SignInQuestion.password(
            owner: facts.user?.account,
            isLocked: facts.attempts.isLocked,
            passwordMatches: matches,
            secondFactorProvenBy: nil
        )
        let policy = policy
        let verdict = question.verdict(policy)
        let now = effects.now()
        if case .refuse(let refusal) = verdict.decision, refusal.saysPasswordIsWrong {
            guard try await store.countWrongPassword(for: email, tenant: tenant, at: now) else { return nil }
        }
        var companions = [AccountWrite.Companion.requireUnlocked(.password(of: email), tenant: tenant, at: now)]
        if facts.attempts.failures > 0 {
            companions.append(.forgetWrongGuesses(at: .password(of: email), tenant: tenant))
        }
        return JudgedPassword(
            user: facts.user,
            verdict: verdict,
            decision: DecisionRecord(.signIn(question), under: policy),
            companions: companions
        )
    }
}
