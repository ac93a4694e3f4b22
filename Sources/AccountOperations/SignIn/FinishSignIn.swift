package import AccountLinking
import AccountStore
import IdentityProviders

/// The second step of a sign-in (`mfaSignIn:finalize`).
package struct FinishSignIn: Sendable {
    package enum Presented: Sendable {
        case message(code: String, sessionInfo: String)
        case totp(code: String, factor: String)
    }

    /// The credential that the first step issued (`mfaPendingCredential`).
    package var pendingCredential: String
    package var shown: Presented

    package init(pendingCredential: String, shown: Presented) {
        self.pendingCredential = pendingCredential
        self.shown = shown
    }

    package struct Result: Sendable {
        package let signedIn: SignedIn
        package let factor: SecondFactor
    }
}

extension AccountOperations {
    /// Signs in with both factors. The first factor is decided again, about the current account, and only then applied.
    ///
    /// If many callers use one credential, one message or one code of an app, exactly one is signed in.
    package func finishSignIn(
        _ request: FinishSignIn,
        tenant: TenantID
    ) async throws -> FinishSignIn.Result {
        let now = effects.now()
        let use = effects.newEventID()
        var session: PhoneSession?
        if case .message(code: _, let sessionInfo) = request.shown {
            guard let presented = PhoneSession(sessionInfo) else { throw Denial.phone(.invalidSession) }
            session = presented
        }
        return try await retrying(effects) {
            let waiting = try await waitingSignIn(request.pendingCredential, tenant: tenant, at: now)
            let firstFactor = waiting.firstFactor
            return try await counting(firstFactor.method, links: firstFactor.links) {
                let shown: PresentedFactor
                switch request.shown {
                case .message(let code, sessionInfo: _):
                    guard let session else { throw Denial.phone(.invalidSession) }
                    let presented = PhoneVerificationUse(session: session, tenant: tenant, now: now, id: use)
                    shown = try await message(presented, code, for: waiting)
                case .totp(let code, let factor):
                    shown = try await totp(code, of: factor, for: waiting, by: use, at: now)
                }
                do {
                    let signedIn = try await finish(waiting, with: shown, by: use, at: now)
                    return FinishSignIn.Result(signedIn: signedIn, factor: shown.factor)
                } catch let denial as Denial {
                    // A refusal uses a right code. Otherwise a second attempt would show that the code was right.
                    let spent = [.useUp(waiting.challenge, by: use, at: now)] + shown.sideWrites
                    try await store.spend(spent).requireApplied()
                    throw denial
                }
            }
        }
    }

    /// Decides the first factor again, and applies the decision.
    /// - Throws: `Denial`, `FactsMoved`, or a failure of the database.
    private func finish(
        _ waiting: WaitingSignIn,
        with shown: PresentedFactor,
        by use: AccountEvent.ID,
        at now: Timestamp
    ) async throws -> SignedIn {
        let (firstFactor, user) = (waiting.firstFactor, waiting.user)
        var attempt = attempt(waiting, with: shown)
        attempt.sideWrites = [.useUp(waiting.challenge, by: use, at: now)] + shown.sideWrites
        let (question, loaded) = try await loadAgain(firstFactor, of: user, &attempt)
        let first = attempt.ask(question, policy)
        if let stale = decideFinishSignIn(first.decision, of: user.id) {
            throw refused(.refusal(stale.decision), by: stale.rule)
        }
        // Both reads of the account must agree, because the write is checked against the first.
        let readAgain = loaded.dropFirst().lazy.compactMap(\.self).first { $0.id == user.id }
        if let readAgain, readAgain.version != user.version { throw FactsMoved() }
        guard firstFactor.maySettleConflict else { return try await applySignIn(first, loaded: loaded, attempt) }
        let verdict = try await askAgain(
            question,
            after: first,
            presenting: firstFactor.pendingToken,
            secondFactorProvenBy: user.id,
            &attempt
        )
        return try await applySignIn(verdict, loaded: loaded, attempt)
    }

    private func attempt(_ waiting: WaitingSignIn, with shown: PresentedFactor) -> SignInAttempt {
        let firstFactor = waiting.firstFactor
        var attempt = SignInAttempt(
            effects: effects,
            sampling: project.settings.factSampling,
            tenant: waiting.user.tenant,
            session: NewSession(
                effects: effects,
                signInProvider: firstFactor.signInProvider,
                secondFactor: SessionRecord.SecondFactor(
                    kind: shown.factor.kind.rawValue,
                    enrollmentID: shown.factor.id.rawValue
                ),
                signedInAt: firstFactor.openingCredential.flatMap(countedSignIn),
                continuing: firstFactor.origin,
                signInAttributes: firstFactor.signInAttributes
            ),
            methodProof: firstFactor.methodProof
        )
        if let credential = firstFactor.openingCredential {
            attempt.idTokenUse = idTokenUse(credential, isFirst: firstFactor.isReauthentication)
        }
        return attempt
    }

    /// Loads the facts of the first factor again, for its question with the second factor proven.
    private func loadAgain(
        _ firstFactor: FirstFactor,
        of user: UserRecord,
        _ attempt: inout SignInAttempt
    ) async throws -> (question: any Question<SignInDecision>, loaded: [UserRecord?]) {
        switch firstFactor.kind {
        case .password:
            let question = SignInWithPasswordQuestion(
                owner: user.account,
                isLocked: false,
                passwordMatches: true,
                secondFactorProvenBy: user.id
            )
            return (question, [user])
        case .emailLink(let address):
            attempt.recovery = EmailRecovery(effects: effects, locale: firstFactor.locale)
            let claim = try await store.claim(on: address, tenant: user.tenant, at: attempt.now)
            attempt.sideWrites += claim.clearing
            let question = SignInWithEmailLinkQuestion(
                email: address,
                owner: claim.owner?.account,
                target: firstFactor.links ? user.account : nil,
                isSessionRecent: firstFactor.isSessionRecent,
                secondFactorProvenBy: user.id,
                reservation: claim.reservation
            )
            return (question, [user, claim.owner])
        case .idp(let credential, let conflict):
            let found = try await loadAccounts(
                for: credential,
                waitingIn: conflict,
                target: firstFactor.links ? user.id : nil,
                &attempt
            )
            let purpose: IdpPurpose =
                firstFactor.links
                ? .link(to: user, isSessionRecent: firstFactor.isSessionRecent)
                : .signIn(createsUsers: firstFactor.createsUsers)
            let question = question(
                purpose,
                with: credential.incoming,
                among: found,
                secondFactorProvenBy: user.id
            )
            return (question, [user] + found.loaded)
        }
    }
}

extension FirstFactor {
    /// Returns true unless the credential comes from a conflict, or is linked to a session. Such a sign-in settles no
    /// other conflict.
    fileprivate var maySettleConflict: Bool {
        switch kind {
        case .password, .emailLink: true
        case .idp(_, let conflict): conflict == nil && !links
        }
    }
}
