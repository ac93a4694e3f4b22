package import AccountLinking
import AccountStore

// The second step of a sign-in until the second factor is proven: the waiting sign-in, the code that is sent, and the
// code that is shown.

/// A sign-in that waits for its second factor, with its current user.
struct WaitingSignIn: Sendable {
    let challenge: FactorChallenge
    let firstFactor: FirstFactor
    let user: UserRecord
}

/// A second factor that was just proven.
struct PresentedFactor: Sendable {
    let factor: SecondFactor
    /// Statements for the write that the factor allows. They undo the write if the code was used meanwhile.
    let sideWrites: [AccountWrite.SideWrite]
}

extension AccountOperations {
    /// Sends a code to the second factor of a pending sign-in (`mfaSignIn:start`). The client does not know the number.
    ///
    /// - `request`: its number is not used.
    /// - Returns: `sessionInfo`.
    package func sendSignInCode(
        _ request: PhoneCodeRequest,
        to factor: String,
        pendingCredential: String,
        tenant: TenantID
    ) async throws -> String {
        let waiting = try await waitingSignIn(pendingCredential, tenant: tenant, at: effects.now())
        let named = waiting.user.secondFactors.first { $0.id == SecondFactorID(factor) }
        let factor = try fact(decideFindSecondFactor(named))
        guard let number = factor.number else { throw Denial.secondFactor(.unsupportedKind) }
        var request = request
        request.number = number.rawValue
        return try await sendFactorCode(request, for: .secondFactor, of: waiting.user)
    }

    /// Checks the number and the app of `request`, and sends a code about a second factor of `user`.
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
            PreparedPhoneCode(
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

    func waitingSignIn(
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

    /// Judges the code of a text message. A wrong code is counted before the answer, against the message, the sign-in
    /// and the user. A right one counts only with the write that it allows. So concurrent callers cannot try more codes
    /// than the limit.
    /// - Throws: `Denial`, `FactsMoved`, or a failure of the database.
    func message(
        _ use: PhoneVerificationUse,
        _ code: String,
        for waiting: WaitingSignIn
    ) async throws -> PresentedFactor {
        let (user, tenant) = (waiting.user, waiting.user.tenant)
        let key = ThrottleKey.messageCode(of: user.id)
        let attempts = try await store.failedAttempts(at: key, tenant: tenant, at: use.now)
        if attempts.isLocked { throw locked(user, at: use.now) }
        let verification: PhoneVerificationRecord
        do {
            verification = try await usableVerification(use, for: .secondFactor, of: user.id, code: code)
        } catch let denial as Denial where denial == .phone(.invalidCode) {
            throw try await wrongCode(key, for: waiting, at: use.now)
        }
        let shown = user.secondFactors.first { $0.number == verification.number }
        if shown == nil { try await store.useUp(verification, by: use.id, at: use.now).requireApplied() }
        return PresentedFactor(
            factor: try fact(decideFindSecondFactor(shown)),
            sideWrites: [.useUp(verification, by: use.id, at: use.now)]
                + unlocked(key, attempts, of: user, at: use.now)
        )
    }

    /// The denial of a wrong code, counted against the sign-in and the user.
    /// - Throws: `FactsMoved`, or a failure of the database.
    private func wrongCode(
        _ key: ThrottleKey,
        for waiting: WaitingSignIn,
        at now: Timestamp
    ) async throws -> Denial {
        guard try await store.countWrongCode(waiting.challenge, throttledBy: key, at: now) else {
            throw FactsMoved()
        }
        store.activity.noteRefusal(of: waiting.user, .wrongSecondFactor, at: now)
        return .phone(.invalidCode)
    }

    private func locked(_ user: UserRecord, at now: Timestamp) -> Denial {
        store.activity.noteRefusal(of: user, .lockedSecondFactor, at: now)
        return .secondFactor(.tooManyAttempts)
    }

    /// Statements for a right code: they fail while the user is locked, and reset the count of wrong codes.
    private func unlocked(
        _ key: ThrottleKey,
        _ attempts: FailedAttempts,
        of user: UserRecord,
        at now: Timestamp
    ) -> [AccountWrite.SideWrite] {
        let required = AccountWrite.SideWrite.requireUnlocked([key], tenant: user.tenant, at: now)
        return attempts.failures > 0 ? [required, .resetFailedAttempts(at: key, tenant: user.tenant)] : [required]
    }

    /// Judges the code of an app, as `message` does.
    /// - Throws: `Denial`, `FactsMoved`, or a failure of the database.
    func totp(
        _ code: String,
        of factor: String,
        for waiting: WaitingSignIn,
        by use: AccountEvent.ID,
        at now: Timestamp
    ) async throws -> PresentedFactor {
        let user = waiting.user
        let named = user.secondFactors.first { $0.id == SecondFactorID(factor) }
        let factor = try fact(decideFindSecondFactor(named))
        guard factor.kind == .totp else { throw Denial.secondFactor(.unsupportedKind) }
        let facts = try await store.totpFacts(of: factor.id, of: user.id, tenant: user.tenant, at: now)
        // The factor was withdrawn after the user was read.
        guard let stored = facts.secret else { throw FactsMoved() }
        if facts.attempts.isLocked { throw locked(user, at: now) }
        let secret = try sealer.open(
            stored.sealed,
            context: factor.id.secretContext(of: user.id, tenant: user.tenant)
        )
        let step = TOTP(secret: secret)
            .step(ofCode: code, at: now, adjacent: project.settings.totpAdjacentSteps, after: stored.lastStep)
        let key = ThrottleKey.totpCode(of: user.id)
        guard let step else { throw try await wrongCode(key, for: waiting, at: now) }
        let accepted = AccountWrite.SideWrite.accept(
            step: step,
            of: factor.id,
            of: user.id,
            tenant: user.tenant,
            by: use
        )
        return PresentedFactor(
            factor: factor,
            sideWrites: unlocked(key, facts.attempts, of: user, at: now) + [accepted]
        )
    }
}
