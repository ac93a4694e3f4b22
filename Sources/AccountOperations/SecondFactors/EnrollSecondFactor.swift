package import AccountLinking
import AccountStore

/// `totpSessionInfo`.
package struct TOTPEnrollment: Sendable {
    /// Base32.
    package let sharedKey: String
    package let codeDigits: Int
    package let periodSeconds: Int64
    package let sessionInfo: String
    package let endsAt: Timestamp
}

/// `mfaEnrollment:finalize`.
package struct FinishEnrollment: Sendable {
    package enum Presented: Sendable {
        case message(code: String, sessionInfo: String)
        case totp(code: String, sessionInfo: String)
    }

    package var shown: Presented
    package var displayName: String?

    package init(shown: Presented, displayName: String?) {
        self.shown = shown
        self.displayName = displayName
    }

    package struct Result: Sendable {
        package let updated: Updated
        package let factor: SecondFactor
    }
}

private struct NewFactor: Sendable {
    let method: SecondFactor.Method
    /// The app's secret, and the time step of the shown code.
    let secret: (bytes: [UInt8], step: Int64)?
    let sideWrites: [AccountWrite.SideWrite]
}

extension AccountOperations {
    /// Sends a code to the new number (`mfaEnrollment:start`).
    /// - Returns: `sessionInfo`.
    package func startEnrollment(
        _ request: PhoneCodeRequest,
        idToken: String,
        tenant: TenantID
    ) async throws -> String {
        try requireEnrollable(.phone)
        let caller = try await authenticate(idToken: idToken, tenant: tenant)
        try requireEnrollable(.phone(try judge(request.number).number), by: caller)
        return try await sendFactorCode(request, for: .enrollment, of: caller.user)
    }

    /// `mfaEnrollment:start`.
    package func startTOTPEnrollment(idToken: String, tenant: TenantID) async throws -> TOTPEnrollment {
        try requireEnrollable(.totp)
        let caller = try await authenticate(idToken: idToken, tenant: tenant)
        try requireEnrollable(.totp, by: caller)
        let totp = TOTP(secret: effects.randomBytes(TOTP.secretBytes))
        let challenge = try newChallenge(.enrollment, of: caller.user, content: totp.secret, at: effects.now())
        let isAccountGone = try await store.begin(challenge) != .applied
        if let refusal = refusalOfSession(isAccountGone: isAccountGone) { throw refused(refusal) }
        return TOTPEnrollment(
            sharedKey: totp.sharedKey,
            codeDigits: TOTP.codeDigits,
            periodSeconds: TOTP.periodSeconds,
            sessionInfo: try FactorChallengeHandle(challenge).sealed(by: sealer),
            endsAt: challenge.expiresAt
        )
    }

    /// Enrolls the factor whose code is shown: rules G. Ends every other session.
    ///
    /// The session may be stolen, so the account's address gets a mail with a code that removes the factor. A first
    /// address that a code can restore gets such a mail too.
    ///
    /// - `locale`: for the mails.
    package func finishEnrollment(
        _ request: FinishEnrollment,
        idToken: String,
        tenant: TenantID,
        locale: String? = nil
    ) async throws -> FinishEnrollment.Result {
        let kind: SecondFactorKind =
            switch request.shown {
            case .message: .phone
            case .totp: .totp
            }
        try requireEnrollable(kind)
        let caller = try await authenticate(idToken: idToken, tenant: tenant)
        var session: PhoneSession?
        if case .message(code: _, let sessionInfo) = request.shown {
            guard let presented = PhoneSession(sessionInfo) else { throw Denial.phone(.invalidSession) }
            session = presented
        }
        guard let id = SecondFactorID(effects.newLocalID()) else { throw UnexpectedDecision(.factorEnrolled) }
        let use = effects.newEventID()
        let revert = EmailRecovery(effects: effects, locale: locale)
        let firstRevert = EmailRecovery(effects: effects, locale: locale)
        let attempt = UpdateAttempt(
            effects: effects,
            methodProof: .session,
            session: NewSession(
                effects: effects,
                signInProvider: caller.token.signInProvider,
                secondFactor: SessionRecord.SecondFactor(kind: kind.rawValue, enrollmentID: id.rawValue),
                continuing: caller.origin
            )
        )
        return try await retrying(effects) { [attempt] in
            let user = try await account(of: caller, asItIs: store.user(caller.user.id, tenant: tenant))
            let new: NewFactor
            switch request.shown {
            case .message(let code, sessionInfo: _):
                guard let session else { throw Denial.phone(.invalidSession) }
                let presented = PhoneVerificationUse(session: session, tenant: tenant, now: attempt.now, id: use)
                new = try await message(presented, code, of: user)
            case .totp(let code, let sessionInfo):
                new = try await totp(code, sessionInfo, of: user, by: use, at: attempt.now)
            }
            let factor = SecondFactor(
                id: id,
                method: new.method,
                displayName: request.displayName,
                enrolledAt: attempt.now
            )
            var attempt = attempt
            if let (bytes, step) = new.secret {
                let context = id.secretContext(of: user.id, tenant: tenant)
                attempt.totpSecret = NewTOTPSecret(sealed: try sealer.seal(bytes, context: context), acceptedStep: step)
            }
            let policy = policy
            let verdict = decideEnrollSecondFactor(
                policy: policy,
                account: user.account,
                enrolled: user.secondFactors,
                new: factor,
                session: caller.asFactorSession(for: .enrollSecondFactor, policy: policy, now: attempt.now)
            )
            let mails =
                try revertMail(revert, of: factor, to: user, at: attempt.now)
                + (await revertMailToFirstAddress(firstRevert, of: factor, to: user, at: attempt.now))
            let updated = try await apply(verdict, to: user, attempt, sideWrites: new.sideWrites + mails)
            return FinishEnrollment.Result(updated: updated, factor: factor)
        }
    }

    /// Removes a second factor: rules G. Ends every other session, and the new one carries no second factor.
    package func withdrawSecondFactor(
        _ factor: String,
        idToken: String,
        tenant: TenantID
    ) async throws -> Updated {
        let caller = try await authenticate(idToken: idToken, tenant: tenant)
        let attempt = UpdateAttempt(
            effects: effects,
            methodProof: .session,
            session: NewSession(
                effects: effects,
                signInProvider: caller.token.signInProvider,
                continuing: caller.origin
            )
        )
        return try await retrying(effects) {
            let user = try await account(of: caller, asItIs: store.user(caller.user.id, tenant: tenant))
            let policy = policy
            let verdict = decideWithdrawSecondFactor(
                policy: policy,
                account: user.account,
                enrolled: user.secondFactors,
                withdrawn: SecondFactorID(factor),
                session: caller.asFactorSession(for: .withdrawSecondFactor, policy: policy, now: attempt.now)
            )
            return try await apply(verdict, to: user, attempt)
        }
    }

    /// - Throws: `FactsMoved`, `Denial`, or a database error.
    private func apply(
        _ verdict: Verdict<UpdateDecision>,
        to user: UserRecord,
        _ attempt: UpdateAttempt,
        sideWrites: [AccountWrite.SideWrite] = []
    ) async throws -> Updated {
        var plan = UpdatePlan(user.account)
        try plan.add(verdict)
        if let refusal = plan.refusal { throw refused(.refusal(refusal.decision), by: refusal.rule) }
        let changed = user.applying(plan.change, attempt.context)
        return try await apply(
            changed,
            previous: user,
            plan: plan,
            otherwise: verdict.rule,
            attempt,
            sideWrites: sideWrites
        )
    }

    /// Called before anything is read.
    /// - Throws: a denial if the project does not allow such a factor.
    private func requireEnrollable(_ kind: SecondFactorKind) throws(Denial) {
        if let refusal = refusalOfEnrollment(of: kind, policy) { throw refused(refusal) }
    }

    /// - Throws: a denial if the session cannot enroll such a factor.
    private func requireEnrollable(_ method: SecondFactor.Method, by caller: AuthenticatedSession) throws {
        let now = effects.now()
        guard let id = SecondFactorID("new") else { throw UnexpectedDecision(.factorEnrolled) }
        let policy = policy
        let verdict = decideEnrollSecondFactor(
            policy: policy,
            account: caller.user.account,
            enrolled: caller.user.secondFactors,
            new: SecondFactor(id: id, method: method, displayName: nil, enrolledAt: now),
            session: caller.asFactorSession(for: .enrollSecondFactor, policy: policy, now: now)
        )
        if case .refuse(let refusal) = verdict.decision { throw refused(.refusal(refusal), by: verdict.rule) }
    }

    private func message(
        _ use: PhoneVerificationUse,
        _ code: String,
        of user: UserRecord
    ) async throws -> NewFactor {
        let verification = try await usableVerification(use, for: .enrollment, of: user.id, code: code)
        return NewFactor(
            method: .phone(verification.number),
            secret: nil,
            sideWrites: [.useUp(verification, by: use.id, at: use.now)]
        )
    }

    /// A wrong code is counted before it is answered.
    private func totp(
        _ code: String,
        _ sessionInfo: String,
        of user: UserRecord,
        by use: AccountEvent.ID,
        at now: Timestamp
    ) async throws -> NewFactor {
        let found = try await usableChallenge(sessionInfo, for: .enrollment, tenant: user.tenant, at: now)
        guard let presented = found.presented else {
            switch found.state {
            case .expired: throw Denial.phone(.sessionExpired)
            case .locked: throw Denial.phone(.tooManyAttempts)
            case .usable, .consumed: throw Denial.phone(.invalidSession)
            }
        }
        let challenge = presented.challenge
        guard challenge.user == user.id, challenge.sessionEpoch == user.sessionEpoch else {
            throw Denial.phone(.invalidSession)
        }
        let step = TOTP(secret: presented.content)
            .step(ofCode: code, at: now, adjacent: project.settings.totpAdjacentSteps, after: nil)
        guard let step else {
            guard try await store.countWrongCode(challenge, throttledBy: nil, at: now) else { throw FactsMoved() }
            throw Denial.phone(.invalidCode)
        }
        return NewFactor(
            method: .totp,
            secret: (presented.content, step),
            sideWrites: [.useUp(challenge, by: use, at: now)]
        )
    }
}

extension AuthenticatedSession {
    fileprivate func asFactorSession(
        for operation: SensitiveOperation,
        policy: LinkPolicy,
        now: Timestamp
    ) -> FactorSession {
        FactorSession(
            signInProvider: token.signInProvider,
            hasProvenSecondFactor: token.secondFactor != nil,
            isRecent: isRecent(for: operation, policy: policy, now: now)
        )
    }
}
