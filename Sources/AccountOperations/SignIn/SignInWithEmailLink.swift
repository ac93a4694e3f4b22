package import AccountLinking
import AccountStore

/// A sign-in by a mailed link (`accounts:signInWithEmailLink`).
package struct EmailLinkSignIn: Sendable {
    /// The address that the client remembers; compared with the recipient of the link.
    package var email: String?
    package var code: String?
    /// The session whose account the link is added to.
    package var idToken: String?
    /// The handle of a conflict, whose credential the sign-in also links.
    package var pendingToken: String?
    /// The network address of the client, if known.
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
    /// Every answer of the rules uses the code, also a refusal. Of concurrent callers exactly one gets such an answer.
    /// A wrong address is counted before the answer and leaves the code usable. The sixth guess is refused, even if all
    /// are concurrent.
    ///
    /// - `locale`: the language for the mail to a replaced address, as sent.
    package func signInWithEmailLink(
        _ request: EmailLinkSignIn,
        tenant: TenantID,
        locale: String? = nil
    ) async throws -> SignInOutcome {
        try await counting(.emailLink, links: request.idToken != nil) {
            if let refusal = SignInWithEmailLinkQuestion.refusal(under: policy) { throw refused(refusal) }
            let caller = try await caller(request.idToken, tenant: tenant)
            guard let email = request.email else { throw Denial.emailCode(.missingEmail) }
            guard let text = request.code else { throw Denial.emailCode(.missingCode) }
            let address = EmailAddress(email)
            let use = EmailCodeUse(text, tenant: tenant, effects: effects)
            var attempt = SignInAttempt(
                effects: effects,
                sampling: project.settings.factSampling,
                tenant: tenant,
                session: NewSession(effects: effects, signInProvider: "password", after: caller),
                methodProof: .message
            )
            attempt.recovery = EmailRecovery(effects: effects, locale: locale)
            attempt.keepsRefusals = true
            attempt.signUpLimits = limits(on: .signUps, from: request.clientAddress)

            return try await retrying(effects) { [attempt] in
                let code = try await usableEmailCode(use, as: [.emailSignIn])
                if let refusal = refusalOfSignInLink(mailedTo: code.email, named: address) {
                    guard try await store.countWrongAddress(code) else { throw FactsMoved() }
                    throw refused(refusal)
                }
                var firstFactor = FirstFactor(.emailLink(code.email))
                firstFactor.origin = caller?.origin
                firstFactor.pendingToken = request.pendingToken
                firstFactor.locale = locale
                return try await signIn(with: code, use, firstFactor, caller: caller, attempt)
            }
        }
    }

    /// Signs in by the proof of a lookup, and uses its code up: rows M, for an account that exists.
    func signIn(
        by proof: LookUpProof,
        _ use: EmailCodeUse,
        _ request: EmailLinkSignIn,
        locale: String?
    ) async throws -> SignInOutcome {
        try await counting(.emailLink) {
            if let refusal = SignInWithEmailLinkQuestion.refusal(under: policy) { throw refused(refusal) }
            var attempt = SignInAttempt(
                effects: effects,
                sampling: project.settings.factSampling,
                tenant: use.tenant,
                session: NewSession(effects: effects, signInProvider: "password", after: nil),
                methodProof: .message
            )
            attempt.recovery = EmailRecovery(effects: effects, locale: locale)
            attempt.keepsRefusals = true
            attempt.signUpLimits = limits(on: .signUps, from: request.clientAddress)

            return try await retrying(effects) { [attempt] in
                let code = try await usableEmailCode(use, as: [.lookUp])
                var firstFactor = FirstFactor(.emailLink(code.email))
                firstFactor.pendingToken = request.pendingToken
                firstFactor.locale = locale
                return try await signIn(with: code, use, firstFactor, caller: nil, attempt, proof: proof)
            }
        }
    }

    /// Loads, decides and applies after code and address are found right.
    ///
    /// - `proof`: the proof of a lookup, which must still hold.
    private func signIn(
        with code: EmailCodeRecord,
        _ use: EmailCodeUse,
        _ firstFactor: FirstFactor,
        caller: AuthenticatedSession?,
        _ attempt: SignInAttempt,
        proof: LookUpProof? = nil
    ) async throws -> SignInOutcome {
        var (attempt, firstFactor) = (attempt, firstFactor)
        let target = try await target(of: caller)
        let claim = try await store.claim(on: code.email, tenant: use.tenant, at: use.now)
        let owner = claim.owner
        if let proof, let refusal = refusal(of: proof, owner: owner, at: use.now) { throw refusal }
        if let refusal = refusalOfSignInLink(mailedTo: code.email, owner: owner?.account) { throw refused(refusal) }
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
