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
    /// The hash that the password matches, where it is not like those made here.
    let outdatedHash: String?
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
            facts.attempts.isLocked ? false : try await verify(password, against: facts.passwordHash)
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
            companions: companions,
            outdatedHash: matches ? facts.passwordHash.flatMap { passwords.isOutdated($0) ? $0 : nil } : nil
        )
    }

    /// Whether passwords of `email` may not be guessed at now. To be asked before anything is said that only a right password
    /// is told and that is not applied with `JudgedPassword.companions`: judge again where it is so.
    func isLocked(_ email: EmailAddress, tenant: TenantID) async throws -> Bool {
        try await store.wrongGuesses(at: .password(of: email), tenant: tenant, at: effects.now()).isLocked
    }

    /// Whether `password` matches `hash`, as `PasswordHasher.verify`. Reads the secret that the hash names, where it names one.
    func verify(_ password: String, against hash: String?) async throws -> Bool {
        var key: HashKey?
        if let id = hash.flatMap(PasswordHash.init)?.keyID {
            key = try await hashKeys.key(id)
        }
        return try await passwords.verify(password, against: hash, key: key)
    }

    /// What replaces an outdated hash of a password that was found right, with whatever the sign-in writes; `nil` where
    /// there is no time for it now: the next sign-in does it.
    ///
    /// `newHash`: made once for all attempts.
    func rehashing(
        _ password: String,
        _ judged: JudgedPassword,
        _ newHash: inout String?
    ) async throws -> AccountWrite.Companion? {
        guard let outdatedHash = judged.outdatedHash, let user = judged.user else { return nil }
        do {
            let hash: String
            if let newHash { hash = newHash } else { hash = try await passwords.hash(password) }
            newHash = hash
            return .replacePasswordHash(outdatedHash, by: hash, of: user.id, tenant: user.tenant)
        } catch is PasswordHasher.Overloaded {
            return nil
        }
    }
}
