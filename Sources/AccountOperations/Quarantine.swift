package import AccountLinking
import AccountStore

/// A suspended method, for its owner.
package struct SuspendedMethod: Sendable {
    package let method: SignInMethod
    package let reason: QuarantineReason
    package let quarantinedAt: Timestamp
    /// The method is deleted then.
    package let expiresAt: Timestamp
    /// The decision that suspended it.
    package let decision: DecisionID
}

package struct Quarantine: Sendable {
    /// Sorted by name.
    package let methods: [SuspendedMethod]
    /// The account's version. Every change that a decision could read raises it.
    package let version: Int64
}

/// A method that a decision removes from an account. Shown to the owner before and after the decision.
package struct MethodSuspension: Sendable, Hashable {
    package let method: SignInMethod
    package let reason: QuarantineReason
    /// End of the suspension; `nil` if the project does not suspend methods: the method is deleted at once.
    package let expiresAt: Timestamp?

    package var restoration: MethodRestoration { MethodRestoration(of: method, isKept: expiresAt != nil) }
}

extension AccountOperations {
    /// The methods of `account` that `change`, decided by `rule`, suspends at `now`. Sorted by name.
    func suspensions(
        by change: AccountChange,
        of account: Account,
        _ rule: Rule,
        at now: Timestamp
    ) -> [MethodSuspension] {
        let seconds = project.settings.quarantineSeconds
        return methodsSuspended(by: change, of: account)
            .map { method in
                MethodSuspension(
                    method: method,
                    reason: QuarantineReason(rule),
                    expiresAt: seconds > 0 ? now.adding(seconds: seconds) : nil
                )
            }
            .sorted { $0.method.name < $1.method.name }
    }
}

/// A suspended password, with the client that tries it.
private struct SuspendedPassword: Sendable {
    let hash: String
    let passwordAttempt: PasswordAttempt
}

extension AccountWrite {
    /// Suspends the methods that `change` removes, and mails the owner, if the change and the project's settings say
    /// so.
    func suspendingMethods(_ change: AccountChange, settings: ProjectSettings, sealer: Sealer) throws -> AccountWrite {
        let seconds = settings.quarantineSeconds
        guard change.quarantinesRemovals, seconds > 0 else { return self }
        var write = self
        let now = event.occurredAt
        let until = now.adding(seconds: seconds)
        write.quarantinedUntil = until
        let methods = write.quarantinedMethods
        guard !methods.isEmpty, let address = user.email?.address else { return write }
        let mail = Mail(
            template: .methodsQuarantined,
            to: address.raw,
            email: address.lowercased,
            displayName: user.profile.displayName,
            locale: settings.mailLocale(user.profile.language),
            suspended: Mail.Suspended(
                methods: methods.map(\.name),
                reason: QuarantineReason(event.rule).rawValue,
                until: RFC3339.text(until)
            )
        )
        // Each event has one such mail, with the event's id.
        let message = try mail.message(
            id: event.id,
            tenant: user.tenant,
            createdAt: now,
            expiresAt: until,
            sealer: sealer
        )
        write.sideWrites.append(.enqueue(message))
        write.ownerMail = message.id
        return write
    }
}

extension AccountOperations {
    /// Adds the suspended methods to a write, under the project's current settings.
    func suspendingMethods(_ write: AccountWrite, by change: AccountChange) throws -> AccountWrite {
        try write.suspendingMethods(change, settings: project.settings, sealer: sealer)
    }

    /// The suspended methods of a session's account. Two round trips.
    package func quarantine(idToken: String, tenant: TenantID) async throws -> Quarantine {
        try await quarantine(of: authenticate(idToken: idToken, tenant: tenant).user)
    }

    /// The same for a user that was read already. One round trip.
    func quarantine(of user: UserRecord) async throws -> Quarantine {
        let methods = try await store.quarantinedMethods(of: user.id, tenant: user.tenant, at: effects.now())
        return Quarantine(methods, of: user, version: user.version)
    }

    /// Restores the suspended password of a session's account, given the password (rules B).
    ///
    /// A wrong password counts as at a sign-in. If several callers race, one restores it. Sessions stay.
    ///
    /// - `client`: as at a sign-in.
    /// - Throws: `PasswordHasher.Overloaded`, `Contention`, or a database error.
    package func restorePassword(
        _ password: String,
        idToken: String,
        from client: PasswordClient = .unknown,
        _ request: ChangeRequest<AccountMethods>
    ) async throws -> AccountMethods {
        try await changeAccount(of: idToken, for: .restoreMethod, request) { user, challenge, attempt in
            let suspended = try await suspendedPassword(of: user, from: client)
            let plan = try await planRestoration(
                of: suspended,
                to: user,
                by: password,
                isSessionRecent: challenge == nil,
                from: client
            )
            if let refusal = plan.refusal {
                if refusal.decision.saysPasswordIsWrong, let passwordAttempt = suspended?.passwordAttempt {
                    try await count(passwordAttempt)
                }
                try await keepRefusal(plan, of: user)
                throw refused(refusal, challenge)
            }
            guard let suspended else { throw UnexpectedDecision(.notQuarantined) }
            if let objection = objection(toSignInWith: password) {
                try await requireStillUnlocked(suspended.passwordAttempt)
                throw objection
            }
            return try await restore(suspended, to: user, plan, attempt, request)
        }
    }

    /// Loads the suspended password of an account, with the counts of wrong passwords for its address; `nil` if none is suspended.
    private func suspendedPassword(of user: UserRecord, from client: PasswordClient) async throws -> SuspendedPassword?
    {
        guard let address = user.email?.address else { return nil }
        let (source, device) = try await source(of: client, tenant: user.tenant)
        let start = effects.now()
        let found = try await store.quarantinedPassword(
            of: user.id,
            address: address,
            by: source,
            tenant: user.tenant,
            at: start
        )
        guard let found else { return nil }
        let passwordAttempt = PasswordAttempt(
            at: address,
            tenant: user.tenant,
            source: source,
            device: device,
            network: client.network,
            counts: found.counts,
            user: user,
            at: start
        )
        return SuspendedPassword(hash: found.hash, passwordAttempt: passwordAttempt)
    }

    /// Asks the rules, and compares the password only if nothing else refuses it: a refusal costs no hash.
    private func planRestoration(
        of suspended: SuspendedPassword?,
        to user: UserRecord,
        by password: String,
        isSessionRecent: Bool,
        from client: PasswordClient
    ) async throws -> UpdatePlan {
        var question = RestorePasswordQuestion(
            account: user.account,
            isQuarantined: suspended != nil,
            isSessionRecent: isSessionRecent,
            isLocked: suspended?.passwordAttempt.isLocked ?? false,
            passwordMatches: true
        )
        var plan = UpdatePlan(user.account)
        try plan.ask(question, policy)
        guard plan.refusal == nil, let suspended else { return plan }
        // The session is live.
        let caller = HashCaller(network: client.network, isKnown: true)
        question.passwordMatches = try await verify(password, against: suspended.hash, for: caller)
        plan = UpdatePlan(user.account)
        try plan.ask(question, policy)
        return plan
    }

    /// Counts a wrong password.
    /// - Throws: `FactsMoved` if the address was locked meanwhile.
    private func count(_ passwordAttempt: PasswordAttempt) async throws {
        guard
            try await store.countWrongPassword(
                passwordAttempt.throttleKeys,
                tenant: passwordAttempt.tenant,
                at: effects.now()
            )
        else {
            throw FactsMoved()
        }
    }

    private func restore(
        _ suspended: SuspendedPassword,
        to user: UserRecord,
        _ plan: UpdatePlan,
        _ attempt: UpdateAttempt,
        _ request: ChangeRequest<AccountMethods>
    ) async throws -> AccountMethods {
        var attempt = attempt
        attempt.kind = .methodRestored
        attempt.passwordHash = suspended.hash
        let changed = user.applying(plan.change, attempt.context)
        let methods = methods(of: changed, version: user.version + 1)
        try await apply(
            changed,
            previous: user,
            plan: plan,
            otherwise: .quarantinedPasswordRestored,
            attempt,
            sideWrites: [suspended.passwordAttempt.unlocked(at: effects.now())]
                + storeAnswer(methods, to: request.idempotent, of: user.id, tenant: user.tenant, at: attempt.now)
        )
        return methods
    }

    /// Gives a suspended method of a session's account up before its time is over.
    ///
    /// - Throws: `Contention`, or a database error.
    package func discardQuarantined(
        _ method: SignInMethod,
        idToken: String,
        _ request: ChangeRequest<Quarantine>
    ) async throws -> Quarantine {
        let (tenant, event) = (request.tenant, effects.newEventID())
        return try await changeAccount(of: idToken, for: .restoreMethod, request) { user, challenge, attempt in
            let suspended = try await store.quarantinedMethods(of: user.id, tenant: tenant, at: attempt.now)
            let verdict = decideDiscardQuarantined(
                method,
                account: user.account,
                isQuarantined: suspended.contains { $0.method == method },
                isSessionRecent: challenge == nil
            )
            if let refusal = verdict.decision { throw refused(Verdict(verdict.rule, refusal), challenge) }
            let left = Quarantine(suspended.filter { $0.method != method }, of: user, version: user.version + 1)
            let write = AccountWrite(
                previous: user,
                user: user,
                event: AccountEvent(
                    id: event,
                    occurredAt: attempt.now,
                    kind: .quarantineDiscarded,
                    rule: verdict.rule
                ),
                sideWrites: [.discardQuarantined(method, of: user)]
                    + (try storeAnswer(left, to: request.idempotent, of: user.id, tenant: tenant, at: attempt.now))
            )
            try await store.apply(write).requireApplied()
            return left
        }
    }
}

extension Quarantine {
    fileprivate init(_ methods: [QuarantinedMethod], of user: UserRecord, version: Int64) {
        self.init(
            methods: methods.map {
                SuspendedMethod(
                    method: $0.method,
                    reason: QuarantineReason($0.rule),
                    quarantinedAt: $0.quarantinedAt,
                    expiresAt: $0.expiresAt,
                    decision: DecisionID($0.event)
                )
            },
            version: version
        )
    }
}
