package import AccountLinking
import AccountStore

/// A client's sign-up (`accounts:signUp`).
package enum SignUp: Sendable {
    case anonymous
    case password(EmailAddress, String)
    /// Adds address and password to the account of the session, which keeps its id.
    case link(EmailAddress, String, idToken: String)
}

extension AccountOperations {
    /// Creates an account with a password or an anonymous one, or adds a password to the account of a session.
    ///
    /// - `displayName`: the name of the account, at most `Profile.displayNameLengthMax` characters.
    /// - `continueURL`: the page of the app to which the mail to a mailbox that must be proven leads back. It must be
    ///   on an authorized domain.
    /// - `locale`: the language for the mail to a replaced address or to a mailbox that must be proven, as sent.
    /// - Throws: `PasswordHasher.Overloaded`, `Contention`, or a failure of the database.
    package func signUp(
        _ request: SignUp,
        displayName: String? = nil,
        continueURL: String? = nil,
        from client: PasswordClient = .unknown,
        tenant: TenantID,
        locale: String? = nil
    ) async throws -> SignedIn {
        try requireAuthorized(mailReturningTo: continueURL)
        switch request {
        case .anonymous:
            return try await counting(.anonymous) {
                try await createAnonymous(displayName: displayName, from: client, tenant: tenant)
            }
        case .password(let email, let password):
            return try await counting(.password) {
                try await create(
                    email: email,
                    password: password,
                    displayName: displayName,
                    continueURL: continueURL,
                    client: client,
                    tenant: tenant,
                    locale: locale
                )
            }
        case .link(let email, let password, let idToken):
            return try await link(
                email: email,
                password: password,
                idToken: idToken,
                displayName: displayName,
                continueURL: continueURL,
                client: client,
                tenant: tenant,
                locale: locale
            )
        }
    }

    private func createAnonymous(
        displayName: String?,
        from client: PasswordClient,
        tenant: TenantID
    ) async throws -> SignedIn {
        var attempt = SignInAttempt(
            effects: effects,
            sampling: project.settings.factSampling,
            tenant: tenant,
            session: NewSession(effects: effects, signInProvider: "anonymous"),
            methodProof: .signUp
        )
        attempt.signUpLimits = limits(on: .signUps, from: client.address)
        return try await retrying(effects) { [attempt] in
            var attempt = attempt
            let verdict = attempt.ask(SignUpAnonymouslyQuestion(displayName: displayName), policy)
            return try await applySignIn(verdict, loaded: [], attempt)
        }
    }

    private func create(
        email: EmailAddress,
        password: String,
        displayName: String?,
        continueURL: String?,
        client: PasswordClient,
        tenant: TenantID,
        locale: String?
    ) async throws -> SignedIn {
        // Before anything that depends on the address.
        let blind = SignUpQuestion(email: email, emailOwner: nil).decide(policy)
        if case .refuse(.mailboxUnproven) = blind.decision {
            throw try await mailingMailbox(
                email,
                blind.rule,
                returningTo: continueURL,
                from: client,
                tenant: tenant,
                locale: locale
            )
        }
        // Before hashing, which would be wasted on a taken address.
        let preview = try await preview(with: email, tenant: tenant)
        if case .refuse(let refusal) = preview.decision {
            try await mailRightDoor(
                afterSignUp: refusal,
                with: email,
                from: client.address,
                locale: locale,
                tenant: tenant
            )
            throw refused(.refusal(refusal), by: preview.rule)
        }
        if let objection = objection(toNew: password, for: email) { throw objection }
        let limits = limits(on: .signUps, from: client.address)
        try await requireRoom(for: .signUps, within: limits, tenant: tenant, at: effects.now())

        let hash = try await passwords.hash(password, for: HashCaller(network: client.network, isKnown: false))
        var attempt = SignInAttempt(
            effects: effects,
            sampling: project.settings.factSampling,
            tenant: tenant,
            session: NewSession(effects: effects, signInProvider: "password"),
            methodProof: .signUp,
            passwordHash: hash
        )
        attempt.signUpLimits = limits
        return try await retrying(effects) { [attempt] in
            var attempt = attempt
            let claim = try await store.claim(on: email, tenant: tenant, at: attempt.now)
            let question = SignUpQuestion(
                email: email,
                emailOwner: claim.owner?.account,
                displayName: displayName,
                reservation: claim.reservation
            )
            let verdict = attempt.ask(question, policy)
            attempt.sideWrites = claim.clearing
            return try await applySignIn(verdict, loaded: [], attempt)
        }
    }

    /// The verdict on a sign-up now.
    private func preview(with email: EmailAddress, tenant: TenantID) async throws -> Verdict<SignInDecision> {
        let claim = try await store.claim(on: email, tenant: tenant, at: effects.now())
        return SignUpQuestion(
            email: email,
            emailOwner: claim.owner?.account,
            displayName: nil,
            reservation: claim.reservation
        ).decide(policy)
    }

    private func link(
        email: EmailAddress,
        password: String,
        idToken: String,
        displayName: String?,
        continueURL: String?,
        client: PasswordClient,
        tenant: TenantID,
        locale: String?
    ) async throws -> SignedIn {
        let session: Result<AuthenticatedSession, Denial>
        do {
            session = .success(try await authenticate(idToken: idToken, tenant: tenant))
        } catch let denial as Denial {
            session = .failure(denial)
        }
        if policy.signUpRequiresMailbox {
            let caller = try session.get()
            let target = try await account(of: caller, asItIs: store.user(caller.user.id, tenant: tenant))
            let isRecent = caller.isRecent(for: .changePassword, policy: policy, now: effects.now())
            if let rule = ruleRequiringMailbox(email, of: target, isSessionRecent: isRecent) {
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
        // The order of refusals: the address is taken, the password is bad, the token is bad.
        if let refusal = try await refusal(of: email, to: try? session.get(), tenant: tenant) {
            try await mailRightDoor(
                afterSignUp: refusal.decision,
                with: email,
                from: client.address,
                locale: locale,
                tenant: tenant
            )
            throw refused(refusal)
        }
        if let objection = objection(toNew: password, for: email) { throw objection }
        let caller = try session.get()
        let hash = try await passwords.hash(password, for: HashCaller(network: client.network, isKnown: false))
        var attempt = SignInAttempt(
            effects: effects,
            sampling: project.settings.factSampling,
            tenant: tenant,
            session: NewSession(effects: effects, signInProvider: "password", after: caller),
            methodProof: .session,
            passwordHash: hash
        )
        attempt.recovery = EmailRecovery(effects: effects, locale: locale)
        attempt.keepsRefusals = true
        return try await retrying(effects) { [attempt] in
            var attempt = attempt
            let target = try await account(of: caller, asItIs: store.user(caller.user.id, tenant: tenant))
            let claim = try await store.claim(on: email, tenant: tenant, at: attempt.now)
            let policy = policy
            let question = LinkPasswordQuestion(
                email: email,
                target: target.account,
                isSessionRecent: caller.isRecent(for: .changePassword, policy: policy, now: attempt.now),
                emailOwner: claim.owner?.account,
                displayName: displayName,
                reservation: claim.reservation
            )
            let verdict = attempt.ask(question, policy)
            attempt.sideWrites = claim.clearing
            return try await applySignIn(verdict, loaded: [target], attempt)
        }
    }

    /// The rule that requires the mailbox before the account of a session gets `email` and a password; `nil` if none
    /// does. Asked before the owner of the address is read.
    func ruleRequiringMailbox(_ email: EmailAddress, of target: UserRecord, isSessionRecent: Bool) -> Rule? {
        let verdict = LinkPasswordQuestion(
            email: email,
            target: target.account,
            isSessionRecent: isSessionRecent,
            emailOwner: target.email?.address == email ? target.account : nil
        ).decide(policy)
        guard case .refuse(.mailboxUnproven) = verdict.decision else { return nil }
        return verdict.rule
    }

    /// Mails the address of a sign-up, and returns the refusal, which is the same for every address. A free address gets
    /// the mail that continues the sign-up, a used one the right door; both get the rows of the two. The password in
    /// the request is not stored: a stranger would choose the owner's.
    func mailingMailbox(
        _ email: EmailAddress,
        _ rule: Rule,
        returningTo continueURL: String?,
        from client: PasswordClient,
        tenant: TenantID,
        locale: String?
    ) async throws -> Denial {
        _ = try await beginSignUp(
            of: email,
            returningTo: continueURL,
            from: client.address,
            locale: locale,
            tenant: tenant
        )
        // The limits on mails have counted this request. The window of wrong doors does not apply, because the answer
        // promises a mail.
        try await mailRightDoor(
            after: .signUp,
            to: email,
            counting: [],
            returningTo: continueURL,
            locale: locale,
            tenant: tenant
        )
        return refused(.refusal(.mailboxUnproven), by: rule)
    }

    /// The refusal of the address if another account has it. Without a session the answer reveals no more than that of
    /// a sign-up.
    private func refusal(
        of email: EmailAddress,
        to caller: AuthenticatedSession?,
        tenant: TenantID
    ) async throws -> Verdict<Refusal>? {
        guard let caller else {
            let preview = try await preview(with: email, tenant: tenant)
            guard case .refuse(.emailExists) = preview.decision else { return nil }
            return Verdict(preview.rule, .emailExists)
        }
        let claim = try await store.claim(on: email, tenant: tenant, at: effects.now())
        return decideLinkAddress(
            email,
            to: caller.user.id,
            owner: claim.owner?.id,
            reservation: claim.reservation
        )
    }
}
