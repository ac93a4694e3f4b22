package import AccountLinking
import AccountStore

extension AccountOperations {
    /// Signs in with address and password (`accounts:signInWithPassword`).
    ///
    /// An unknown address costs the same work as a known one, and is locked after as many wrong passwords.
    ///
    /// - `pendingToken`: the handle of a conflict, whose credential the sign-in also links.
    /// - `client`: wrong passwords are counted by it.
    /// - `locale`: the language for the mail after a wrong password, as sent.
    /// - Throws: `PasswordHasher.Overloaded`, `Contention`, or a failure of the database.
    package func signInWithPassword(
        email: EmailAddress,
        password: String,
        pendingToken: String? = nil,
        from client: PasswordClient = .unknown,
        tenant: TenantID,
        locale: String? = nil
    ) async throws -> SignInOutcome {
        try await counting(.password) {
            if let refusal = SignInWithPasswordQuestion.refusal(under: policy) { throw refused(refusal) }
            var newHash: String?
            return try await retrying(effects) {
                let judged = try await judge(password, of: email, by: client, tenant: tenant)
                if case .refuse(let refusal) = judged.verdict.decision, refusal.saysPasswordIsWrong {
                    try await mailRightDoor(
                        after: .password,
                        to: email,
                        from: client.address,
                        locale: locale,
                        tenant: tenant
                    )
                }
                // Only a caller who knows the password learns that it no longer meets the policy.
                if judged.verdict.decision.isSignIn, let objection = objection(toSignInWith: password) {
                    try await requireStillUnlocked(judged.attempt)
                    throw objection
                }
                // The sign-in's time is the end of the comparison, not the beginning of its wait for a thread.
                var attempt = SignInAttempt(
                    effects: effects,
                    sampling: project.settings.factSampling,
                    tenant: tenant,
                    session: NewSession(effects: effects, signInProvider: "password"),
                    methodProof: .session
                )
                attempt.sideWrites =
                    [judged.unlocked]
                    + (judged.verdict.decision.isSignIn
                        ? judged.attempt.afterSignIn(of: judged.user, at: attempt.now) : [])
                if judged.verdict.decision.isSignIn, let rehash = try await rehashing(password, judged, &newHash) {
                    attempt.sideWrites.append(rehash)
                }
                attempt.note(judged.verdict, on: judged.question, judged.policy)
                let verdict = try await askAgain(
                    judged.question,
                    after: judged.verdict,
                    presenting: pendingToken,
                    &attempt
                )
                var firstFactor = FirstFactor(.password)
                firstFactor.pendingToken = pendingToken
                return try await applyOrAskForSecondFactor(verdict, after: firstFactor, loaded: [judged.user], attempt)
            }
        }
    }
}

extension SignInDecision {
    /// Returns true if the first factor is right.
    var isSignIn: Bool {
        switch self {
        case .createUser, .signIn, .secondFactorRequired: true
        case .conflict, .refuse: false
        }
    }
}
