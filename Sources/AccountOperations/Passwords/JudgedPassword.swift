import AccountLinking
import AccountStore

struct JudgedPassword: Sendable {
    let user: UserRecord?
    let verdict: Verdict<SignInDecision>
    /// The policy of the verdict.
    let policy: LinkPolicy
    let question: SignInWithPasswordQuestion
    let attempt: PasswordAttempt
    /// Must be written with the verdict: fails the write if the client was locked meanwhile.
    let unlocked: AccountWrite.SideWrite
    /// Set if the matching hash has outdated parameters.
    let outdatedHash: String?
}

extension AccountOperations {
    /// Compares a password with the account's, within the limits of `PasswordThrottling`.
    ///
    /// A wrong password is counted before it is answered, and a correct one is valid only with `unlocked` written. So
    /// in commit order no more passwords are answered than the limit allows.
    /// - Throws: `FactsMoved` if the client was locked meanwhile, `PasswordHasher.Overloaded`, or a database error.
    func judge(
        _ password: String,
        of email: EmailAddress,
        by client: PasswordClient,
        tenant: TenantID
    ) async throws -> JudgedPassword {
        let (source, device) = try await source(of: client, tenant: tenant)
        let start = effects.now()
        let facts = try await store.passwordFacts(of: email, by: source, tenant: tenant, at: start)
        let attempt = PasswordAttempt(
            at: email,
            tenant: tenant,
            source: source,
            device: device,
            network: client.network,
            counts: facts.counts,
            user: facts.user,
            at: start
        )
        // A locked client costs no hash, or a flood of guesses would be a flood of work.
        let matches =
            attempt.isLocked ? false : try await verify(password, against: facts.passwordHash, for: attempt.hashCaller)
        let question = SignInWithPasswordQuestion(
            owner: facts.user?.account,
            isLocked: attempt.isLocked,
            passwordMatches: matches,
            secondFactorProvenBy: nil
        )
        let policy = policy
        let verdict = question.decide(policy)
        let now = effects.now()
        if case .refuse(let refusal) = verdict.decision, refusal.saysPasswordIsWrong {
            guard try await store.countWrongPassword(attempt.throttleKeys, tenant: tenant, at: now) else {
                throw FactsMoved()
            }
        }
        // The answer to the right password of a disabled account writes nothing that would check the lock.
        if matches, verdict.decision == .refuse(.userDisabled) { try await requireStillUnlocked(attempt) }
        return JudgedPassword(
            user: facts.user,
            verdict: verdict,
            policy: policy,
            question: question,
            attempt: attempt,
            unlocked: attempt.unlocked(at: now),
            outdatedHash: matches ? facts.passwordHash.flatMap { passwords.isOutdated($0) ? $0 : nil } : nil
        )
    }

    /// Must precede an answer that needs a correct password and does not write `JudgedPassword.unlocked`.
    /// - Throws: `FactsMoved` if the client was locked meanwhile.
    func requireStillUnlocked(_ attempt: PasswordAttempt) async throws {
        let counts = try await store.passwordCounts(
            of: attempt.address,
            by: attempt.source,
            tenant: attempt.tenant,
            at: effects.now()
        )
        if PasswordThrottling.counters(throttling: attempt.caller).contains(where: { counts[$0].isLocked }) {
            throw FactsMoved()
        }
    }

    /// Reads the shared secret that the hash names.
    func verify(_ password: String, against hash: String?, for caller: HashCaller) async throws -> Bool {
        var key: HashKey?
        if let id = hash.flatMap(PasswordHash.init)?.keyID {
            key = try await hashKeys.key(id)
        }
        return try await passwords.verify(password, against: hash, key: key, for: caller)
    }

    /// Replaces an outdated hash of a correct password. `nil` if the hash is current, or the queue is full: the next
    /// sign-in then replaces it.
    ///
    /// - `newHash`: made once for all attempts.
    func rehashing(
        _ password: String,
        _ judged: JudgedPassword,
        _ newHash: inout String?
    ) async throws -> AccountWrite.SideWrite? {
        guard let outdatedHash = judged.outdatedHash, let user = judged.user else { return nil }
        do {
            let hash: String
            if let newHash {
                hash = newHash
            } else {
                hash = try await passwords.hash(password, for: judged.attempt.hashCaller)
            }
            newHash = hash
            return .replacePasswordHash(outdatedHash, by: hash, of: user.id, tenant: user.tenant)
        } catch is PasswordHasher.Overloaded {
            return nil
        }
    }
}
