package import AccountLinking
import AccountStore

/// A sign-in link that came back (`accounts:signInWithEmailLink`).
package struct EmailLinkSignIn: Sendable {
    /// The address as the client remembers it; compared with the one the link was sent to.
    package var email: String?
    package var code: String?
    /// The session whose account the link is to be attached to.
    package var idToken: String?
    /// A conflict of the account, whose credential is linked by the same sign-in.
    package var pendingToken: String?
    /// The network address of the client, as far as it is known.
    package var clientAddress: String?

    package init(
        email: String?,
        code: String?,
        idToken: String?,
        pendingToken: String? = nil,
        clientAddress: String? = nil
    ) {
        self.email = email
        self.code = code
        self.idToken = idToken
        self.pendingToken = pendingToken
        self.clientAddress = clientAddress
    }
}

extension AccountOperations {
    /// Signs in, signs up or links by a mailed link: rows M.
    ///
    /// Every answer of the rules uses the code up, also a refusal; of many callers at once exactly one is answered by
    /// them. A wrong address leaves the code usable and is counted, before it is answered: the sixth guess is refused
    /// however many were made at once.
    ///
    /// `locale`: the language for the mail to a replaced address, as sent.
    package func signInWithEmailLink(
        _ request: EmailLinkSignIn,
        tenant: TenantID,
        locale: String? = nil
    ) async throws -> SignInOutcome {
        if let refusal = SignInWithEmailLinkQuestion.refusal(under: policy) { throw refused(refusal) }
        let caller = try await caller(request.idToken, tenant: tenant)
        guard let email = request.email else { throw Denial.emailCode(.missingEmail) }
        guard let text = request.code else { throw Denial.emailCode(.missingCode) }
        let address = EmailAddress(email)
        let use = EmailCodeUse(text, tenant: tenant, effects: effects)
        var attempt = SignInAttempt(
            effects: effects,
            tenant: tenant,
            session: NewSession(effects: effects, signInProvider: "password", after: caller),
            methodProof: .message
        )
        attempt.recovery = EmailRecovery(effects: effects, locale: locale)
        attempt.keepsRefusals = true
        attempt.signUpLimits = limits(on: .signUps, from: request.clientAddress)

        return try await retrying(effects) { [attempt] in
            let code = try await usableEmailCode(use, as: [.emailSignIn])
            guard address == code.email else {
                guard try await store.countWrongAddress(code) else { throw FactsMoved() }
                throw Denial.emailCode(.wrongAddress)
            }
            var firstFactor = FirstFactor(.emailLink(code.email))
            firstFactor.origin = caller?.origin
            firstFactor.pendingToken = request.pendingToken
            firstFactor.locale = locale
            return try await signIn(with: code, use, firstFactor, caller: caller, attempt)
        }
    }

    /// Loads, decides and applies once the code and the address are right.
    private func signIn(
        with code: EmailCodeRecord,
        _ use: EmailCodeUse,
        _ firstFactor: FirstFactor,
        caller: AuthenticatedSession?,
        _ attempt: SignInAttempt
    ) async throws -> SignInOutcome {
        var (attempt, firstFactor) = (attempt, firstFactor)
        let target = try await target(of: caller)
        let claim = try await store.claim(on: code.email, tenant: use.tenant, at: use.now)
        let owner = claim.owner
        // The link was sent before there was an account, to another spelling: perhaps to another mailbox.
        if let mailbox = owner?.email?.address, !mailbox.isSameMailbox(as: code.email) {
            throw Denial.refusal(.invalidEmailCode)
        }
        if let target, let caller {
            firstFactor.isSessionRecent = caller.isRecent(onAccount: target.account, policy: policy, now: use.now)
        }
        let question = SignInWithEmailLinkQuestion(
            email: code.email,
            owner: owner?.account,
            target: target?.account,
            isSessionRecent: firstFactor.isSessionRecent,
            secondFactorProvenBy: caller?.provenFactorOwner,
            reservation: claim.reservation
        )
        let first = attempt.ask(question, policy)
        if case .refuse = first.decision {
            try await store.useUp(code, by: use.id, at: use.now).requireApplied()
        }
        attempt.sideWrites = [.useUp(code, by: use.id, at: use.now)] + claim.clearing
        let verdict = try await askAgain(question, after: first, presenting: firstFactor.pendingToken, &attempt)
        return try await applyOrAskForSecondFactor(verdict, after: firstFactor, loaded: [target, owner], attempt)
    }
}
