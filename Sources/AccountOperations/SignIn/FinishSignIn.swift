package import AccountLinking
import AccountStore
import IdentityProviders
import Postgres

/// The second step of a sign-in (`mfaSignIn:finalize`).
package struct FinishSignIn: Sendable {
    package enum Shown: Sendable {
        case message(code: String, sessionInfo: String)
        case totp(code: String, factor: String)
    }

    /// What the first step gave (`mfaPendingCredential`).
    package var pendingCredential: String
    package var shown: Shown

    package init(pendingCredential: String, shown: Shown) {
        self.pendingCredential = pendingCredential
        self.shown = shown
    }

    package struct Result: Sendable {
        package let signedIn: SignedIn
        package let factor: SecondFactor
    }
}

/// A second factor that was just shown.
private struct ShownFactor: Sendable {
    let factor: SecondFactor
    /// What has to be written with whatever it allows: it undoes the write if the same was used meanwhile.
    let sideWrites: [AccountWrite.SideWrite]
}

/// A sign-in that waits for its second factor, with its user as they are now.
private struct WaitingSignIn: Sendable {
    let challenge: FactorChallenge
    let firstFactor: FirstFactor
    let user: UserRecord
}

extension AccountOperations {
    /// Sends a code to the number that is a second factor of a pending sign-in (`mfaSignIn:start`). The client does not
    /// know the number itself.
    ///
    /// `request`: its number does not count.
    /// - Returns: `sessionInfo`.
    package func sendSignInCode(
        _ request: PhoneCodeRequest,
        to factor: String,
        pendingCredential: String,
        tenant: TenantID
    ) async throws -> String {
        let waiting = try await waitingSignIn(pendingCredential, tenant: tenant, at: effects.now())
        guard let factor = waiting.user.secondFactors.first(where: { $0.id == SecondFactorID(factor) }) else {
            throw refused(.refusal(.secondFactorNotFound), by: .withdrawUnknownFactor)
        }
        guard let number = factor.number else { throw Denial.secondFactor(.unsupportedKind) }
        var request = request
        request.number = number.rawValue
        return try await sendFactorCode(request, for: .secondFactor, of: waiting.user)
    }

    /// Appraises the number and the app of `request`, and sends a code about a second factor of `user`.
    func sendFactorCode(
        _ request: PhoneCodeRequest,
        for purpose: PhoneVerificationRecord.Purpose,
        of user: UserRecord
    ) async throws -> String {
        let addressee = try await appraise(request, tenant: user.tenant) { isRegionAllowed in
            let verdict = decideSendFactorCode(isRegionAllowed: isRegionAllowed)
            return verdict.decision.map { Verdict(verdict.rule, $0) }
        }
        return try await send(
            PhoneCodeOrder(
                number: addressee.number,
                isFictional: addressee.isFictional,
                purpose: purpose,
                user: user.id,
                locale: request.locale,
                subscriber: request.subscriber,
                tenant: user.tenant
            )
        )
    }

    /// Signs in with both factors. Only now is applied what the first one amounts to, judged anew by the same rules as the
    /// account stands now.
    ///
    /// Of many callers with one credential, one message or one code of an app exactly one is signed in.
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
            let shown: ShownFactor
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
                // A right code that lets nobody in is not told from a wrong one a second time.
                let spent = [.useUp(waiting.challenge, by: use, at: now)] + shown.sideWrites
                try await store.spend(spent).requireApplied()
                throw denial
            }
        }
    }

    private func waitingSignIn(
        _ handle: String,
        tenant: TenantID,
        at now: Timestamp
    ) async throws -> WaitingSignIn {
        let found = try await usableChallenge(handle, for: .signIn, tenant: tenant, at: now)
        guard let presented = found.presented, let firstFactor = FirstFactor(stored: presented.content) else {
            throw Denial.secondFactor(found.state == .locked ? .tooManyAttempts : .invalidPendingCredential)
        }
        let challenge = presented.challenge
        let user = try await store.user(challenge.user, tenant: tenant)
        var isOriginGone = false
        if let user, let origin = firstFactor.origin {
            isOriginGone = try await session(origin.id, of: user, aliveAt: challenge.createdAt) == .gone
        }
        let verdict = decideContinueSignIn(
            account: user?.account,
            sessionEpoch: challenge.sessionEpoch,
            isOriginGone: isOriginGone
        )
        if let refusal = verdict.decision { throw refused(.refusal(refusal), by: verdict.rule) }
        guard let user else { throw UnexpectedDecision(verdict.rule) }
        return WaitingSignIn(challenge: challenge, firstFactor: firstFactor, user: user)
    }

    /// A wrong code is counted before it is answered, against the message, the sign-in and the user, and a right one counts
    /// only with the write it allows: so no more are compared than there may be, however many come at once.
    /// - Throws: `Denial`, `FactsMoved`, or what the database could not do.
    private func message(
        _ use: PhoneVerificationUse,
        _ code: String,
        for waiting: WaitingSignIn
    ) async throws -> ShownFactor {
        let (user, tenant) = (waiting.user, waiting.user.tenant)
        let guessed = Guessed.messageCode(of: user.id)
        let attempts = try await store.wrongGuesses(at: guessed, tenant: tenant, at: use.now)
        if attempts.isLocked { throw locked(user, at: use.now) }
        let verification: PhoneVerificationRecord
        do {
            verification = try await usableVerification(use, for: .secondFactor, of: user.id, code: code)
        } catch let denial as Denial where denial == .phone(.invalidCode) {
            throw try await wrongCode(guessed, for: waiting, at: use.now)
        }
        guard let factor = user.secondFactors.first(where: { $0.number == verification.number }) else {
            try await store.useUp(verification, by: use.id, at: use.now).requireApplied()
            throw refused(.refusal(.secondFactorNotFound), by: .withdrawUnknownFactor)
        }
        return ShownFactor(
            factor: factor,
            sideWrites: [.useUp(verification, by: use.id, at: use.now)]
                + unlocked(guessed, attempts, of: user, at: use.now)
        )
    }

    /// The "no" to a wrong code, counted against the sign-in and the user.
    /// - Throws: `FactsMoved`, or what the database could not do.
    private func wrongCode(
        _ guessed: Guessed,
        for waiting: WaitingSignIn,
        at now: Timestamp
    ) async throws -> Denial {
        guard try await store.countWrongCode(waiting.challenge, guessing: guessed, at: now) else {
            throw FactsMoved()
        }
        store.activity.noteRefusal(of: waiting.user, .wrongSecondFactor, at: now)
        return .phone(.invalidCode)
    }

    private func locked(_ user: UserRecord, at now: Timestamp) -> Denial {
        store.activity.noteRefusal(of: user, .lockedSecondFactor, at: now)
        return .secondFactor(.tooManyAttempts)
    }

    /// What a right code is written with: it counts only while nothing is locked, and counting begins anew.
    private func unlocked(
        _ guessed: Guessed,
        _ attempts: CountedAttempts,
        of user: UserRecord,
        at now: Timestamp
    ) -> [AccountWrite.SideWrite] {
        let required = AccountWrite.SideWrite.requireUnlocked([guessed], tenant: user.tenant, at: now)
        return attempts.failures > 0 ? [required, .forgetWrongGuesses(at: guessed, tenant: user.tenant)] : [required]
    }

    /// As `message`, of the code of an app.
    /// - Throws: `Denial`, `FactsMoved`, or what the database could not do.
    private func totp(
        _ code: String,
        of factor: String,
        for waiting: WaitingSignIn,
        by use: PostgresUUID,
        at now: Timestamp
    ) async throws -> ShownFactor {
        let user = waiting.user
        guard let factor = user.secondFactors.first(where: { $0.id == SecondFactorID(factor) }) else {
            throw refused(.refusal(.secondFactorNotFound), by: .withdrawUnknownFactor)
        }
        guard factor.kind == .totp else { throw Denial.secondFactor(.unsupportedKind) }
        let facts = try await store.totpFacts(of: factor.id, of: user.id, tenant: user.tenant, at: now)
        // Withdrawn since the user was read.
        guard let stored = facts.secret else { throw FactsMoved() }
        if facts.attempts.isLocked { throw locked(user, at: now) }
        let secret = try sealer.open(
            stored.sealed,
            context: factor.id.secretContext(of: user.id, tenant: user.tenant)
        )
        let step = TOTP(secret: secret)
            .step(ofCode: code, at: now, adjacent: project.settings.totpAdjacentSteps, after: stored.lastStep)
        let guessed = Guessed.totpCode(of: user.id)
        guard let step else { throw try await wrongCode(guessed, for: waiting, at: now) }
        let accepted = AccountWrite.SideWrite.accept(
            step: step,
            of: factor.id,
            of: user.id,
            tenant: user.tenant,
            by: use
        )
        return ShownFactor(
            factor: factor,
            sideWrites: unlocked(guessed, facts.attempts, of: user, at: now) + [accepted]
        )
    }

    /// Asks the rules again what the first factor amounts to, and applies it.
    /// - Throws: `Denial`, `FactsMoved`, or what the database could not do.
    private func finish(
        _ waiting: WaitingSignIn,
        with shown: ShownFactor,
        by use: PostgresUUID,
        at now: Timestamp
    ) async throws -> SignedIn {
        let (firstFactor, user) = (waiting.firstFactor, waiting.user)
        var attempt = SignInAttempt(
            effects: effects,
            tenant: user.tenant,
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
        attempt.sideWrites = [.useUp(waiting.challenge, by: use, at: now)] + shown.sideWrites
        var settlesConflict = false
        if let credential = firstFactor.openingCredential {
            attempt.idTokenUse = idTokenUse(credential, isFirst: firstFactor.isReauthentication)
        }
        var loaded: [UserRecord?] = [user]
        let question: any Question<SignInDecision>
        var claim = AddressClaim.free
        var takesConflict = true
        switch firstFactor.kind {
        case .password:
            question = SignInWithPasswordQuestion(
                owner: user.account,
                isLocked: false,
                passwordMatches: true,
                secondFactorProvenBy: user.id
            )
        case .emailLink(let address):
            attempt.recovery = EmailRecovery(effects: effects, locale: firstFactor.locale)
            claim = try await store.claim(on: address, tenant: user.tenant, at: now)
            let owner = claim.owner
            loaded.append(owner)
            question = SignInWithEmailLinkQuestion(
                email: address,
                owner: owner?.account,
                target: firstFactor.links ? user.account : nil,
                isSessionRecent: firstFactor.isSessionRecent,
                secondFactorProvenBy: user.id,
                reservation: claim.reservation
            )
        case .idp(let credential, let kept):
            let incoming = credential.incoming
            attempt.context.linkedProvider = .init(incoming, at: attempt.now)
            let target = firstFactor.links ? user.id : nil
            if let kept {
                let conflict = try await store.conflict(kept.id, of: kept.user, tenant: user.tenant)
                let used = try usableCredential(of: conflict, target: target, tenant: user.tenant, now: attempt.now)
                guard let usable = used.credential else { throw refused(.invalidPendingToken, by: used.rule) }
                attempt.sideWrites.append(.resolve(usable.conflict, at: attempt.now))
                settlesConflict = usable.conflict.isOpenedBySignIn(to: user.id)
            }
            takesConflict = kept == nil && !firstFactor.links
            let found = try await matchingAccounts(for: incoming, target: target, tenant: user.tenant)
            loaded += found.loaded
            if let use = attempt.idTokenUse, try await isRepeated(use, by: found.identityOwner) {
                throw Denial.invalidCredential(.usedBefore)
            }
            claim = found.claim
            let isAccepted = isAccepted(incoming)
            if firstFactor.links {
                question = LinkWithIdpQuestion(
                    target: user.account,
                    identityOwner: found.identityOwner?.account,
                    emailOwner: found.emailOwner?.account,
                    credential: incoming,
                    isProviderEnabled: isAccepted,
                    secondFactorProvenBy: user.id,
                    isSessionRecent: firstFactor.isSessionRecent,
                    settlesConflict: settlesConflict,
                    reservation: claim.reservation
                )
            } else {
                question = SignInWithIdpQuestion(
                    identityOwner: found.identityOwner?.account,
                    emailOwner: found.emailOwner?.account,
                    credential: incoming,
                    isProviderEnabled: isAccepted,
                    createsUsers: firstFactor.createsUsers,
                    secondFactorProvenBy: user.id,
                    reservation: claim.reservation
                )
            }
        }
        attempt.sideWrites += claim.clearing
        let verdict = attempt.ask(question, policy)
        switch verdict.decision {
        case .refuse: break
        case .signIn(let id, _, emailWasRecycled: _) where id == user.id: break
        // The address or the identity is somebody else's by now: what was shown was shown for this account.
        case .signIn, .createUser, .conflict, .secondFactorRequired:
            throw refused(.refusal(.invalidPendingSignIn), by: .pendingSignInStale)
        }
        // One reading of the account: what is written is compared with what was read first.
        let readAgain = loaded.dropFirst().lazy.compactMap(\.self).first { $0.id == user.id }
        if let readAgain, readAgain.version != user.version { throw FactsMoved() }
        guard takesConflict else { return try await complete(verdict, loaded: loaded, attempt) }
        let whole = try await adding(
            firstFactor.pendingToken,
            to: verdict,
            of: user,
            secondFactorProvenBy: user.id,
            isSessionRecent: !firstFactor.links || firstFactor.isSessionRecent,
            &attempt
        )
        return try await complete(whole, loaded: loaded, attempt)
    }
}
