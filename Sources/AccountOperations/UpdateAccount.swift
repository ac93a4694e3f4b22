package import AccountLinking
import AccountStore

/// Changes that the user's own session requests (`accounts:update` with an ID token).
package struct UpdateAccount: Sendable {
    /// The value as sent; validated after the session.
    package var email: String?
    package var password: String?
    package var profile = ProfileEdit()
    package var removal = Removal()

    package init() {}
}

extension AccountOperations {
    /// Applies all changes that are requested to a session's account, or none.
    ///
    /// A new password or address ends sessions. The result then has tokens of a new session.
    /// - `continueURL`: as in `signUp`.
    /// - `locale`: language of the mail to a replaced address, as sent.
    /// - Throws: `PasswordHasher.Overloaded`, `Contention`, or a database error.
    package func updateAccount(
        _ request: UpdateAccount,
        idToken: String,
        continueURL: String? = nil,
        from client: PasswordClient = .unknown,
        tenant: TenantID,
        locale: String? = nil
    ) async throws -> Updated {
        try requireAuthorized(mailReturningTo: continueURL)
        let caller = try await authenticate(idToken: idToken, tenant: tenant)
        var email: EmailAddress?
        if let raw = request.email {
            guard let address = EmailAddress(raw) else { throw Denial.invalidEmail }
            email = address
        }
        // Before anything that depends on the address.
        if let email, request.password != nil, caller.user.email == nil, policy.signUpRequiresMailbox {
            let isRecent = caller.isRecent(for: .changePassword, policy: policy, now: effects.now())
            if let rule = ruleRequiringMailbox(email, of: caller.user, isSessionRecent: isRecent) {
                throw try await mailingMailbox(
                    email,
                    rule,
                    returningTo: continueURL,
                    from: client,
                    tenant: tenant,
                    locale: locale
                )
            }
        }
        // Decide before hashing, in the documented order of errors: a refused request costs no hash.
        let start = effects.now()
        let found = try await claim(on: email, tenant: tenant, at: start)
        let preview = try plan(request, caller.user, email: email, claim: found, caller: caller, at: start)
        if let refusal = preview.refusal {
            try await keepRefusal(preview, of: caller.user)
            throw refused(.refusal(refusal.decision), by: refusal.rule)
        }
        let address = email ?? caller.user.email?.address
        if let password = request.password, let objection = objection(toNew: password, for: address) {
            throw objection
        }

        var hash: String?
        if let password = request.password {
            hash = try await passwords.hash(password, for: HashCaller(network: client.network, isKnown: true))
        }
        let attempt = UpdateAttempt(
            effects: effects,
            methodProof: .session,
            passwordHash: hash,
            session: NewSession(
                effects: effects,
                signInProvider: request.password == nil ? caller.token.signInProvider : "password",
                after: caller
            ),
            recovery: EmailRecovery(effects: effects, locale: locale)
        )
        return try await retrying(effects) {
            let user = try await account(of: caller, asItIs: store.user(caller.user.id, tenant: tenant))
            let claim = try await claim(on: email, tenant: tenant, at: attempt.now)
            let plan = try plan(request, user, email: email, claim: claim, caller: caller, at: attempt.now)
            if let refusal = plan.refusal {
                try await keepRefusal(plan, of: user)
                throw refused(.refusal(refusal.decision), by: refusal.rule)
            }
            let changed = user.applying(plan.change, attempt.context)
            return try await apply(
                changed,
                previous: user,
                plan: plan,
                otherwise: .profileUnchanged,
                attempt,
                sideWrites: claim.clearing
            )
        }
    }

    private func claim(
        on email: EmailAddress?,
        tenant: TenantID,
        at now: Timestamp
    ) async throws -> AddressClaim {
        guard let email else { return .free }
        return try await store.claim(on: email, tenant: tenant, at: now)
    }

    /// The verdicts on the parts of the request, in the order in which they take effect.
    private func plan(
        _ request: UpdateAccount,
        _ user: UserRecord,
        email: EmailAddress?,
        claim: AddressClaim,
        caller: AuthenticatedSession,
        at now: Timestamp
    ) throws -> UpdatePlan {
        let policy = policy
        func isRecent(for operation: SensitiveOperation) -> Bool {
            caller.isRecent(for: operation, onAccount: user.account, policy: policy, now: now)
        }
        var plan = UpdatePlan(user.account)
        if let email, request.password != nil, user.email == nil || user.email?.address == email {
            // Address and password for an account that has no other address: a sign-up in place.
            let question = LinkPasswordQuestion(
                email: email,
                target: plan.account,
                isSessionRecent: isRecent(for: .changePassword),
                emailOwner: claim.owner?.account,
                reservation: claim.reservation
            )
            try plan.ask(linking: question, policy)
        } else {
            if let email {
                try plan.add(
                    decideChangeEmail(
                        policy: policy,
                        account: plan.account,
                        newAddress: email,
                        owner: claim.owner?.account,
                        isSessionRecent: isRecent(for: .changeEmail)
                    ).respecting(claim.reservation)
                )
            }
            if request.password != nil {
                try plan.add(
                    decideChangePassword(
                        policy: policy,
                        account: plan.account,
                        isSessionRecent: isRecent(for: .changePassword)
                    )
                )
            }
        }
        try plan.add(
            decideEditProfile(
                account: plan.account,
                current: user.profile,
                edited: request.profile.applied(to: user.profile)
            )
        )
        try plan.ask(
            UnlinkQuestion(
                account: plan.account,
                enabledProviders: enabledProviders(of: plan.account),
                removal: request.removal,
                request: .client(isSessionRecent: isRecent(for: .changeEmail))
            ),
            policy
        )
        return plan
    }
}
