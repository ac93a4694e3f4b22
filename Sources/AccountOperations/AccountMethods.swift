package import AccountLinking
import AccountStore

/// The sign-in methods of an account, for its user.
package struct AccountMethods: Sendable {
    package struct Method: Sendable {
        package let status: MethodStatus
        /// Time and kind of the method's proof; `nil` if unknown.
        package let proof: UserRecord.MethodProof?
    }

    package let methods: [Method]
    /// The account's version. Every change that a decision could read raises it.
    package let version: Int64
}

extension AccountOperations {
    /// The sign-in methods of a session's account, in the order of `createAuthUri`. One round trip.
    package func methods(idToken: String, tenant: TenantID) async throws -> AccountMethods {
        let user = try await authenticate(idToken: idToken, tenant: tenant).user
        return methods(of: user, version: user.version)
    }

    /// Removes a sign-in method from a session's account (rules K). A method that the account does not have counts as
    /// removed.
    ///
    /// If callers remove the last two methods concurrently, one is refused: the account's version guards each write,
    /// and the second is decided again on the new state.
    ///
    /// - Throws: `Contention`, or a database error.
    package func removeMethod(
        _ method: SignInMethod,
        idToken: String,
        _ request: ChangeRequest<AccountMethods>
    ) async throws -> AccountMethods {
        try await changeAccount(of: idToken, for: .removeMethod, request) { user, challenge, attempt in
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
                sideWrites: storeAnswer(
                    left,
                    to: request.idempotent,
                    of: user.id,
                    tenant: user.tenant,
                    at: attempt.now
                )
            )
            return left
        }
    }

    /// Changes a session's account by `attempt` while the session is live. `attempt` gets the account, and the
    /// challenge that the session must meet if its sign-in is too old for `operation`.
    ///
    /// A request that was applied before throws its stored answer. A request that expects another version is refused.
    func changeAccount<Value: Sendable>(
        of idToken: String,
        for operation: SensitiveOperation,
        _ request: ChangeRequest<Value>,
        _ attempt: (UserRecord, ReauthenticationChallenge?, UpdateAttempt) async throws -> Value
    ) async throws -> Value {
        let session = try await authenticate(idToken: idToken, tenant: request.tenant)
        let shared = UpdateAttempt(effects: effects, methodProof: .session)
        let challenge = challenge(session, for: operation, now: shared.now)
        return try await changeAccount(of: session, request, at: shared.now) { user in
            try await attempt(user, challenge, shared)
        }
    }

    /// The same for an operation that any session may request.
    func changeAccount<Value: Sendable>(
        of session: AuthenticatedSession,
        _ request: ChangeRequest<Value>,
        at now: Timestamp,
        _ attempt: (UserRecord) async throws -> Value
    ) async throws -> Value {
        try await retrying(effects) {
            let user = try await account(of: session, asItIs: store.user(session.user.id, tenant: request.tenant))
            func storedAnswer() async throws -> Denial? {
                try await self.storedAnswer(to: request.idempotent, of: user.id, tenant: user.tenant, at: now)
            }
            // Read after the account. If an earlier copy of this request left the account as it is, its answer is
            // visible too.
            if let answer = try await storedAnswer() { throw answer }
            if let expected = request.expectedVersion, expected != user.version { throw Denial.versionMismatch }
            do {
                return try await attempt(user)
            } catch let denial as Denial {
                // The same request may have been applied meanwhile and caused the refusal.
                throw try await storedAnswer() ?? denial
            }
        }
    }

    /// The refusal of a session, counted, with the challenge that the session can meet.
    func refused(_ refusal: Verdict<Refusal>, _ challenge: ReauthenticationChallenge?) -> Denial {
        guard refusal.decision == .credentialTooOld, let challenge else {
            return refused(.refusal(refusal.decision), by: refusal.rule)
        }
        return refused(.reauthenticationRequired(challenge), by: refusal.rule)
    }

    func methods(of user: UserRecord, version: Int64) -> AccountMethods {
        let account = user.account
        let statuses = methodStatuses(
            of: account,
            policy: policy,
            enabledProviders: enabledProviders(of: account)
        )
        return AccountMethods(
            methods: statuses.map { .init(status: $0, proof: user.methodProofs[$0.method]) },
            version: version
        )
    }
}
