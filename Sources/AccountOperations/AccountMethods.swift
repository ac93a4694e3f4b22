package import AccountLinking
import AccountStore

/// How the user of an account can sign in, as the user is told.
package struct AccountMethods: Sendable {
    package struct Method: Sendable {
        package let standing: MethodStanding
        /// How and when the method was proven; `nil` where that is not known.
        package let proof: UserRecord.MethodProof?
    }

    package let methods: [Method]
    /// The account's; raised by every change that a decision could read.
    package let version: Int64
}

extension AccountOperations {
    /// The sign-in methods of a session's account, in the order `createAuthUri` lists them. One round trip.
    package func methods(idToken: String, tenant: TenantID) async throws -> AccountMethods {
        let user = try await authenticate(idToken: idToken, tenant: tenant).user
        return methods(of: user, version: user.version)
    }

    /// Takes a sign-in method off the account of a session: rows K. What the account does not have is gone already.
    ///
    /// Of many callers at once that take the last two, one is refused: the account's version guards the write, and the
    /// refused one is decided on what the other left.
    ///
    /// `expectedVersion`: the version the caller has seen; `nil` accepts any. `once`: where the caller may repeat the
    /// request.
    /// - Throws: `Contention`, or what the database could not do.
    package func removeMethod(
        _ method: SignInMethod,
        idToken: String,
        tenant: TenantID,
        expectedVersion: Int64?,
        once: Once<AccountMethods>? = nil
    ) async throws -> AccountMethods {
        try await decideAndApply(
            onAccountOf: idToken,
            for: .removeMethod,
            tenant: tenant,
            expectedVersion: expectedVersion,
            once: once
        ) { user, challenge, attempt in
            var plan = UpdatePlan(user.account)
            try plan.ask(
                RemoveMethodQuestion(
                    account: user.account,
                    enabledProviders: enabledProviders(of: user.account),
                    method: method,
                    isSessionRecent: challenge == nil
                ),
                policy
            )
            if let refusal = plan.refusal {
                try await keepRefusal(plan, of: user)
                throw refused(refusal, challenge)
            }
            if plan.change.isEmpty { return methods(of: user, version: user.version) }
            let changed = user.applying(plan.change, attempt.context)
            let left = methods(of: changed, version: user.version + 1)
            try await apply(
                changed,
                previous: user,
                plan: plan,
                otherwise: .methodUnlinked,
                attempt,
                companions: keeping(left, for: once, of: user.id, tenant: tenant, at: attempt.now)
            )
            return left
        }
    }

    /// Decides and applies something about the methods of a session's account, while the session holds.
    ///
    /// A request that was answered before is answered as it was; one about another version than there is, refused.
    func decideAndApply<Value: Sendable>(
        onAccountOf idToken: String,
        for operation: SensitiveOperation,
        tenant: TenantID,
        expectedVersion: Int64?,
        once: Once<Value>?,
        _ decide: (UserRecord, ReauthenticationChallenge?, UpdateAttempt) async throws -> Value
    ) async throws -> Value {
        let session = try await authenticate(idToken: idToken, tenant: tenant)
        let attempt = UpdateAttempt(effects: effects, methodProof: .session)
        let challenge = challenge(session, for: operation, now: attempt.now)
        return try await decideAndApply(
            onAccountOf: session,
            attempt,
            tenant: tenant,
            expectedVersion: expectedVersion,
            once: once
        ) { user, attempt in try await decide(user, challenge, attempt) }
    }

    /// The same for an operation that every session may ask for.
    func decideAndApply<Value: Sendable>(
        onAccountOf session: AuthenticatedSession,
        _ attempt: UpdateAttempt,
        tenant: TenantID,
        expectedVersion: Int64?,
        once: Once<Value>?,
        _ decide: (UserRecord, UpdateAttempt) async throws -> Value
    ) async throws -> Value {
        try await retrying(effects) {
            let user = try await account(of: session, asItIs: store.user(session.user.id, tenant: tenant))
            /// What is said where the request was applied before.
            func earlierAnswer() async throws -> Denial? {
                guard let once else { return nil }
                let kept = try await store.keptAnswer(once.key(of: user.id, tenant: tenant), at: attempt.now)
                return try denial(of: once, answered: kept, of: user.id, tenant: tenant)
            }
            // After the account: who sees it as a repeated request left it sees the answer too.
            if let denial = try await earlierAnswer() { throw denial }
            if let expectedVersion, expectedVersion != user.version { throw Denial.versionMismatch }
            do {
                return try await decide(user, attempt)
            } catch let denial as Denial {
                // What is refused may be so because the same request has been applied since.
                throw try await earlierAnswer() ?? denial
            }
        }
    }

    /// The "no" to a session, counted, with the challenge that the session can meet.
    func refused(_ refusal: Verdict<Refusal>, _ challenge: ReauthenticationChallenge?) -> Denial {
        guard refusal.decision == .credentialTooOld, let challenge else {
            return refused(.refusal(refusal.decision), by: refusal.rule)
        }
        return refused(.reauthenticationRequired(challenge), by: refusal.rule)
    }

    func methods(of user: UserRecord, version: Int64) -> AccountMethods {
        let account = user.account
        let standings = methodStandings(
            of: account,
            policy: policy,
            enabledProviders: enabledProviders(of: account)
        )
        return AccountMethods(
            methods: standings.map { .init(standing: $0, proof: user.methodProofs[$0.method]) },
            version: version
        )
    }
}
