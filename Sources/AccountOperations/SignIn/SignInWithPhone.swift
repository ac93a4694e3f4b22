package import AccountLinking
import AccountStore

/// A sign-in by a number (`accounts:signInWithPhoneNumber`).
package struct PhoneSignIn: Sendable {
    package enum Presented: Sendable {
        case code(String, sessionInfo: String)
        /// The proof from an earlier answer, with its number.
        case temporaryProof(String, number: String)
    }

    package var shown: Presented
    /// The session whose account the number is added to.
    package var idToken: String?
    package var operation: PhoneOperation
    /// The handle of a conflict, whose credential the sign-in also links.
    package var pendingToken: String?
    /// The network address of the client, if known.
    package var clientAddress: String?

    package init(
        shown: Presented,
        idToken: String? = nil,
        operation: PhoneOperation = .unspecified,
        pendingToken: String? = nil,
        clientAddress: String? = nil
    ) {
        self.shown = shown
        self.idToken = idToken
        self.operation = operation
        self.pendingToken = pendingToken
        self.clientAddress = clientAddress
    }

    package enum Ending: Sendable {
        case signedIn(SignedIn)
        /// Another account has the number (N8). The client can continue with the proof, without another code.
        case numberInUse(PhoneNumber, temporaryProof: String, expiresInSeconds: Int64)
    }

    package struct Result: Sendable {
        package let ending: Ending
        package let decision: DecisionID
    }
}

extension AccountOperations {
    /// Signs in, signs up, reauthenticates or links by a number: rows N.
    ///
    /// Every answer of the rules uses a code, also a refusal. Only success uses a temporary proof. Of concurrent
    /// callers exactly one gets an answer of the rules.
    package func signInWithPhone(_ request: PhoneSignIn, tenant: TenantID) async throws -> PhoneSignIn.Result {
        try await counting(.phone, links: request.idToken != nil) {
            if let refusal = SignInWithPhoneQuestion.refusal(under: policy) { throw refused(refusal) }
            let caller = try await caller(request.idToken, tenant: tenant)
            let text: String
            switch request.shown {
            case .code(_, let sessionInfo): text = sessionInfo
            case .temporaryProof(let proof, _): text = proof
            }
            guard let session = PhoneSession(text) else {
                throw Denial.phone(request.shown.kind == .code ? .invalidSession : .invalidTemporaryProof)
            }
            let use = PhoneVerificationUse(
                session: session,
                tenant: tenant,
                now: effects.now(),
                id: effects.newEventID()
            )
            let next = PhoneSession(effects: effects)
            var attempt = SignInAttempt(
                effects: effects,
                sampling: project.settings.factSampling,
                tenant: tenant,
                session: NewSession(effects: effects, signInProvider: "phone", after: caller),
                methodProof: .message
            )
            attempt.keepsRefusals = true
            attempt.signUpLimits = limits(on: .signUps, from: request.clientAddress)
            return try await retrying(effects) { [attempt] in
                let verification = try await usableVerification(use, request.shown)
                return try await signIn(with: verification, use, request, caller: caller, next: next, attempt)
            }
        }
    }

    /// Loads, decides and applies after the code or the proof is found right.
    ///
    /// - `next`: the session of a proof that the answer can contain.
    private func signIn(
        with verification: PhoneVerificationRecord,
        _ use: PhoneVerificationUse,
        _ request: PhoneSignIn,
        caller: AuthenticatedSession?,
        next: PhoneSession,
        _ attempt: SignInAttempt
    ) async throws -> PhoneSignIn.Result {
        var attempt = attempt
        let number = verification.number
        let target = try await target(of: caller)
        let owner = try await store.user(owning: .phone(number), tenant: use.tenant)
        var isSessionRecent = true
        if let target, let caller {
            isSessionRecent = caller.isRecent(onAccount: target.account, policy: policy, now: attempt.now)
        }
        let question = SignInWithPhoneQuestion(
            number: number,
            owner: owner?.account,
            target: target?.account,
            operation: request.operation,
            proof: request.shown.kind,
            isSessionRecent: isSessionRecent
        )
        let first = attempt.ask(question, policy)
        if case .refuse(let refusal) = first.decision, request.shown.kind == .code {
            let proof = refusal == .phoneNumberExists ? temporaryProof(of: number, next, use) : nil
            try await store.useUp(verification, by: use.id, at: use.now, exchangingFor: proof).requireApplied()
            if proof != nil {
                // Recorded and counted like any other refusal.
                try await note(refusalBy: first.rule, of: [target, owner], attempt)
                metrics.decided(first.rule)
                let ending = PhoneSignIn.Ending.numberInUse(
                    number,
                    temporaryProof: next.text,
                    expiresInSeconds: Lifetimes.temporaryProofSeconds
                )
                return PhoneSignIn.Result(ending: ending, decision: attempt.decision)
            }
        }
        attempt.sideWrites = [.useUp(verification, by: use.id, at: use.now)]
        let verdict = try await askAgain(question, after: first, presenting: request.pendingToken, &attempt)
        let signedIn = try await applySignIn(verdict, loaded: [target, owner], attempt)
        return PhoneSignIn.Result(ending: .signedIn(signedIn), decision: signedIn.decision)
    }

    private func usableVerification(
        _ use: PhoneVerificationUse,
        _ shown: PhoneSignIn.Presented
    ) async throws -> PhoneVerificationRecord {
        switch shown {
        case .code(let code, _):
            return try await usableVerification(use, for: .signIn, code: code)
        case .temporaryProof(_, let number):
            do {
                let proof = try await usableVerification(use, for: .temporaryProof)
                if proof.number == PhoneNumber(number) { return proof }
            } catch is Denial {}
            throw Denial.phone(.invalidTemporaryProof)
        }
    }

    private func temporaryProof(
        of number: PhoneNumber,
        _ session: PhoneSession,
        _ use: PhoneVerificationUse
    ) -> PhoneVerificationRecord {
        PhoneVerificationRecord(
            tenant: use.tenant,
            id: session.id,
            sessionDigests: [session.digest],
            purpose: .temporaryProof,
            number: number,
            sealedCode: nil,
            createdAt: use.now,
            expiresAt: use.now.adding(seconds: Lifetimes.temporaryProofSeconds)
        )
    }
}

extension PhoneSignIn.Presented {
    fileprivate var kind: PhoneProof {
        switch self {
        case .code: .code
        case .temporaryProof: .temporaryProof
        }
    }
}
