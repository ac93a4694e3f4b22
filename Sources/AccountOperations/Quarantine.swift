package import AccountLinking
import AccountStore

/// A suspended method, as its owner is told.
package struct SuspendedMethod: Sendable {
    package let method: SignInMethod
    package let reason: QuarantineReason
    package let quarantinedAt: Timestamp
    /// From then on it is gone.
    package let expiresAt: Timestamp
    /// Names the decision that suspended it.
    package let decision: DecisionID
}

/// What of an account is suspended.
package struct Quarantine: Sendable {
    /// By name.
    package let methods: [SuspendedMethod]
    /// The account's; raised by every change that a decision could read.
    package let version: Int64
}

/// A method that a decision takes off an account, as its owner learns of it: before the decision and after it.
package struct MethodSuspension: Sendable, Hashable {
    package let method: SignInMethod
    package let reason: QuarantineReason
    /// The end of the suspension; `nil` where the project keeps nothing, and the method is deleted at once.
    package let expiresAt: Timestamp?

    package var restoration: MethodRestoration { MethodRestoration(of: method, isKept: expiresAt != nil) }
}

extension AccountOperations {
    /// The methods of `account` that `change`, which `rule` decided, suspends at `now`, by name.
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

extension AccountWrite {
    /// The write, with what `change` takes off the account suspended, where it says so and the project keeps such things; the
    /// owner is told by mail.
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
        // One event, one such mail: it has the event's id.
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
    /// Adds the suspended methods to a write, with the settings that the project has now.
    func suspendingMethods(_ write: AccountWrite, by change: AccountChange) throws -> AccountWrite {
        try write.suspendingMethods(change, settings: project.settings, sealer: sealer)
    }

    /// What is suspended of the account of a session. Two round trips.
    package func quarantine(idToken: String, tenant: TenantID) async throws -> Quarantine {
        let user = try await authenticate(idToken: idToken, tenant: tenant).user
        let methods = try await store.quarantinedMethods(of: user.id, tenant: tenant, at: effects.now())
        return Quarantine(methods, of: user, version: user.version)
    }

    /// Makes the suspended password of a session's account its password again, for whoever knows it: rows B.
    ///
    /// A wrong password counts as at a sign-in. Of many callers at once one brings it back. Sessions stay.
    ///
    /// `client`: as at a sign-in.
    /// - Throws: `PasswordHasher.Overloaded`, `Contention`, or what the database could not do.
    package func restorePassword(
        _ password: String,
        idToken: String,
        from client: PasswordClient = .unknown,
        _ request: ChangeRequest<AccountMethods>
    ) async throws -> AccountMethods {
        let tenant = request.tenant
        return try await changeAccount(of: idToken, for: .restoreMethod, request) { user, challenge, attempt in
            var found: QuarantinedPassword?
            var passwordAttempt: PasswordAttempt?
            if let address = user.email?.address {
                let (source, device) = source(of: client)
                let start = effects.now()
                found = try await store.quarantinedPassword(
                    of: user.id,
                    address: address,
                    by: source,
                    tenant: tenant,
                    at: start
                )
                if let found {
                    passwordAttempt = PasswordAttempt(
                        at: address,
                        tenant: tenant,
                        source: source,
                        device: device,
                        network: client.network,
                        counts: found.counts,
                        user: user,
                        at: start
                    )
                }
            }
            func question(passwordMatches: Bool) -> RestorePasswordQuestion {
                RestorePasswordQuestion(
                    account: user.account,
                    isQuarantined: found != nil,
                    isSessionRecent: challenge == nil,
                    isLocked: passwordAttempt?.isLocked ?? false,
                    passwordMatches: passwordMatches
                )
            }
            // Asked first as if the password were right: where that would not help, it costs no hash.
            var plan = UpdatePlan(user.account)
            try plan.ask(question(passwordMatches: true), policy)
            if plan.refusal == nil, let found {
                // The session is live.
                let caller = HashCaller(network: client.network, isKnown: true)
                let matches = try await verify(password, against: found.hash, for: caller)
                plan = UpdatePlan(user.account)
                try plan.ask(question(passwordMatches: matches), policy)
            }
            if let refusal = plan.refusal {
                if refusal.decision.saysPasswordIsWrong, let passwordAttempt,
                    try await !store.countWrongPassword(passwordAttempt.throttleKeys, tenant: tenant, at: effects.now())
                {
                    throw FactsMoved()
                }
                try await keepRefusal(plan, of: user)
                throw refused(refusal, challenge)
            }
            guard let found, let passwordAttempt else { throw UnexpectedDecision(.notQuarantined) }
            if let objection = objection(toSignInWith: password) {
                try await requireStillUnlocked(passwordAttempt)
                throw objection
            }
            var attempt = attempt
            attempt.kind = .methodRestored
            attempt.passwordHash = found.hash
            let changed = user.applying(plan.change, attempt.context)
            let methods = methods(of: changed, version: user.version + 1)
            try await apply(
                changed,
                previous: user,
                plan: plan,
                otherwise: .quarantinedPasswordRestored,
                attempt,
                sideWrites: [passwordAttempt.unlocked(at: effects.now())]
                    + storeAnswer(methods, to: request.idempotent, of: user.id, tenant: tenant, at: attempt.now)
            )
            return methods
        }
    }

    /// Gives a suspended method of a session's account up before its time is over.
    ///
    /// - Throws: `Contention`, or what the database could not do.
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
