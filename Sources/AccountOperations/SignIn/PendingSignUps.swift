package import AccountLinking
import AccountStore
import Crypto
import IdentityProviders
import JSON
import Postgres

// Sign-ups that wait until the owner of the mailbox continues them (ADR 0119). Free addresses and those of accounts get
// the same rows after the same reads, so neither the answer nor its time says who has an account.

/// The secrets of a pending sign-up, made once for each request.
struct SignUpSecrets: Sendable {
    /// 43 characters of base64url: 256 random bits. Names the sign-up.
    let handle: String
    /// 43 characters of base64url: 256 random bits. Only the mail has it.
    let link: String
    /// Eight digits, to type where the sign-up began.
    let code: String
    let messageID: OutboxMessage.ID

    init(effects: Effects) {
        handle = Base64URL.encode(effects.randomBytes(32))
        link = Base64URL.encode(effects.randomBytes(32))
        code = ShortCode.new(effects)
        messageID = effects.newEventID()
    }

    /// The stored hash of a secret with too much entropy to guess.
    static func hash(of secret: String) -> [UInt8] { Array(SHA256.hash(data: Array(secret.utf8))) }
}

/// A pending sign-up whose mailbox the caller has proven.
package struct ProvenSignUp: Sendable {
    package let email: EmailAddress
    /// The provider whose credential waits; `nil` for a sign-up with a password.
    package let provider: ProviderID?
    /// True if an account has the address: the credential can be linked to it, and no account can be created.
    package let accountExists: Bool
    /// Presented to continue. Valid for this sign-up only.
    package let proofToken: String
    package let expiresAt: Timestamp
}

/// A confirmed credential that became a conflict, which the mailbox has proven.
package struct LinkableSignUp: Sendable {
    package let conflict: ProvenConflict
    /// The handle of the conflict.
    package let pendingToken: String
}

/// The proof of the mailbox of a pending sign-up, sealed: nothing is stored for it.
private struct SignUpProof: Sendable {
    let digest: [UInt8]
    let expiresAt: Timestamp

    private static let context = "sign-up-proof/1"
    private static let bytesMax = 512

    init(digest: [UInt8], expiresAt: Timestamp) {
        (self.digest, self.expiresAt) = (digest, expiresAt)
    }

    /// `nil` for text that this service did not seal.
    init?(_ text: String, sealer: Sealer) {
        guard text.utf8.count <= Self.bytesMax, let sealed = Base64URL.decode(text),
            let content = try? sealer.open(sealed, context: Self.context),
            let parts = (try? JSONValue(parsing: content))?.array, parts.count == 2,
            let digest = parts[0].string.flatMap({ Base64URL.decode($0) }), let end = parts[1].integer
        else { return nil }
        self.init(digest: digest, expiresAt: Timestamp(microsecondsSinceEpoch: end))
    }

    func sealed(by sealer: Sealer) throws -> String {
        let content: JSONValue = .array([
            .string(Base64URL.encode(digest)), .integer(expiresAt.microsecondsSinceEpoch),
        ])
        return Base64URL.encode(try sealer.seal(Array(content.text.utf8), context: Self.context))
    }
}

/// A sign-up as the caller presents it, to continue it.
private struct PresentedSignUp: Sendable {
    let handle: String
    let proofToken: String?
    let tenant: TenantID
}

extension AccountOperations {
    /// Stores a sign-up that waits for its mailbox, and mails it.
    ///
    /// Makes the same reads and writes for every address. The mail is withheld if `decideMailSignUp` gives
    /// the owner of an account the right door (`mailRightDoor`) instead.
    ///
    /// - `credential`: the provider's credential that waits; `nil` for a sign-up with a password.
    /// - `continueURL`: the page of the app to which the mail leads back.
    /// - `others`: further limits that count the row.
    /// - Returns: the handle of the sign-up.
    /// - Throws: `Denial` if a limit is reached, `Contention`, or a failure of the database.
    func beginSignUp(
        of email: EmailAddress,
        bringing credential: VerifiedCredential? = nil,
        returningTo continueURL: String? = nil,
        counting others: [CountedLimit] = [],
        from clientAddress: String?,
        locale: String?,
        tenant: TenantID
    ) async throws -> String {
        let now = effects.now()
        let secrets = SignUpSecrets(effects: effects)
        let recipient = try await store.recipient(of: email, tenant: tenant, at: now)
        let digest = SignUpSecrets.hash(of: secrets.handle)
        var signUp = PendingSignUpRecord(
            tenant: tenant,
            digest: digest,
            email: recipient.spelling ?? email,
            linkHash: SignUpSecrets.hash(of: secrets.link),
            sealedCode: try sealer.seal(
                Array(secrets.code.utf8),
                context: SealingContext.signUpCode(tenant: tenant.rawValue, digest: digest)
            ),
            sealedCredential: try credential.map { credential in
                // Bounds the age that a returning caller can claim: the sign-in at the provider is over by now.
                var credential = credential
                credential.signedInAt = min(credential.signedInAt ?? now, now)
                return try sealer.seal(
                    Array(credential.stored.text.utf8),
                    context: SealingContext.pendingSignUp(tenant: tenant.rawValue, digest: digest)
                )
            },
            createdAt: now,
            expiresAt: now.adding(
                seconds: credential == nil
                    ? Lifetimes.pendingSignUpSeconds : project.settings.conflictLifetimeSeconds
            )
        )
        let mail = Mail(
            template: .signUpMailbox,
            to: signUp.email.raw,
            email: signUp.email.lowercased,
            // Without a credential the client has no handle, so it cannot send the code.
            shortCode: credential == nil ? nil : secrets.code,
            link: mailLinks.signInPage(signUp: secrets.handle, secret: secrets.link, continueURL: continueURL),
            locale: mailLocale(locale),
            requester: (credential?.incoming).map {
                Mail.Requester(provider: $0.identity.provider.rawValue, name: $0.profile.displayName)
            }
        )
        let verdict = decideMailSignUp(
            hasOwner: credential == nil && (recipient.owner != nil || recipient.reservation?.wasProven ?? false)
        )
        let isWithheld =
            switch verdict.decision {
            case .confirmation: false
            case .rightDoor: true
            }
        if isWithheld { signUp.consumedAt = now }
        let message = try mail.message(
            id: secrets.messageID,
            tenant: tenant,
            createdAt: now,
            expiresAt: signUp.expiresAt,
            isWithheld: isWithheld,
            sealer: sealer
        )
        let limits =
            others
            + project.settings.mailLimits.limiting(
                .message(.mail),
                to: "\(mail.template.name) \(email.canonical)",
                from: clientAddress
            )
        try await retrying(effects) { [signUp] in
            if let reached = try await store.reached(limits, tenant: tenant, at: now).first {
                throw Denial.emailCode(reached.scope == .project ? .quotaExceeded : .tooManyMails(forReset: false))
            }
            try await store.begin(signUp, message: message, counting: limits).requireApplied()
        }
        metrics.decided(verdict.rule)
        return secrets.handle
    }

    /// Checks an answer to the mail of a pending sign-up.
    ///
    /// A code is counted before it is answered, right or wrong, so that concurrent guesses cannot exceed the limit.
    /// After five codes only the link is accepted.
    ///
    /// - `clientAddress`: the address that limits on guesses count.
    package func proveSignUp(
        _ handle: String,
        _ answer: ConflictProofAnswer,
        from clientAddress: String?,
        tenant: TenantID
    ) async throws -> ProvenSignUp {
        let now = effects.now()
        let digest = SignUpSecrets.hash(of: handle)
        return try await retrying(effects) {
            let signUp = try await store.pendingSignUp(digest, tenant: tenant)
            let limits = signUp.map { answer.limits(of: $0, project.settings.guessLimits, from: clientAddress) } ?? []
            let isLimitReached = try await !store.reached(limits, tenant: tenant, at: now).isEmpty
            let verdict = decideProveSignUp(
                signUp?.facts,
                handleTenant: tenant,
                by: answer.kind,
                isRight: signUp.map { answer.isRight(for: $0, sealer: sealer) } ?? false,
                isLimitReached: isLimitReached,
                now: now
            )
            if case .refuse(let refusal) = verdict.decision { throw refused(.pendingSignUp(refusal), by: verdict.rule) }
            guard let signUp else { throw UnexpectedDecision(verdict.rule) }
            if answer.kind == .code {
                guard try await store.countGuess(at: signUp, counting: limits, at: now) else { throw FactsMoved() }
            }
            if verdict.decision == .wrong { throw refused(.pendingSignUp(.wrongAnswer), by: verdict.rule) }
            metrics.decided(verdict.rule)
            let claim = try await store.claim(on: signUp.email, tenant: tenant, at: now)
            let end = min(now.adding(seconds: Lifetimes.signUpProofSeconds), signUp.expiresAt)
            return ProvenSignUp(
                email: signUp.email,
                provider: try credential(of: signUp)?.incoming.identity.provider,
                accountExists: claim.owner != nil,
                proofToken: try SignUpProof(digest: digest, expiresAt: end).sealed(by: sealer),
                expiresAt: end
            )
        }
    }

    /// Creates the account of a proven sign-up, and signs in. Of concurrent requests one creates an account.
    ///
    /// - `password`: the password of the new account. Required unless a provider's credential waits, which needs none.
    /// - `displayName`: at most `Profile.displayNameLengthMax` characters.
    package func createAccount(
        ofSignUp handle: String,
        proofToken: String?,
        password: String?,
        displayName: String?,
        from client: PasswordClient,
        _ request: ChangeRequest<SignedIn>
    ) async throws -> SignedIn {
        let now = effects.now()
        let presented = PresentedSignUp(handle: handle, proofToken: proofToken, tenant: request.tenant)
        return try await answeringOnce(request, at: now) {
            try await createAccount(
                by: presented,
                password: password,
                displayName: displayName,
                from: client,
                answerTo: request.idempotent,
                at: now
            )
        }
    }

    /// The same, for a caller that recognizes repetitions (`answeringOnce`).
    ///
    /// - `idempotent`: stores the answer beside the account.
    private func createAccount(
        by presented: PresentedSignUp,
        password: String?,
        displayName: String?,
        from client: PasswordClient,
        answerTo idempotent: IdempotentRequest<SignedIn>?,
        at now: Timestamp
    ) async throws -> SignedIn {
        let tenant = presented.tenant
        let first = try await usableSignUp(presented, at: now)
        let credential = try credential(of: first)
        var chosen: String?
        if credential == nil {
            guard let password else { throw Denial.pendingSignUp(.passwordMissing) }
            if let objection = objection(toNew: password, for: first.email) { throw objection }
            chosen = password
        }
        let provider = credential?.incoming.identity.provider
        let limits = limits(on: .signUps, from: client.address)
        let use = effects.newEventID()
        return try await counting(provider.map { OperationMetrics.SignInMethod($0) } ?? .password) { [chosen] in
            var hash: String?
            if let chosen {
                // Before hashing, which would be wasted. The caller has proven the mailbox, so the time may show that
                // the address belongs to an account.
                let preview = try await completion(of: first, with: nil, named: displayName, at: now)
                    .question.decide(policy)
                if case .refuse(let refusal) = preview.decision {
                    throw refused(.refusal(refusal), by: preview.rule)
                }
                try await requireRoom(for: .signUps, within: limits, tenant: tenant, at: now)
                hash = try await passwords.hash(chosen, for: HashCaller(network: client.network, isKnown: false))
            }
            var attempt = SignInAttempt(
                effects: effects,
                sampling: project.settings.factSampling,
                tenant: tenant,
                session: NewSession(
                    effects: effects,
                    signInProvider: provider?.rawValue ?? "password",
                    signInAttributes: credential?.signInAttributes
                ),
                methodProof: credential == nil ? .signUp : .providerCredential,
                passwordHash: hash
            )
            attempt.signUpLimits = limits
            attempt.context.linkedProvider = credential.map { .init($0.incoming, at: attempt.now) }
            attempt.idempotent = idempotent
            attempt.isOfStranger = true
            return try await retrying(effects) { [attempt] in
                var attempt = attempt
                let signUp = try await usableSignUp(presented, at: now)
                let found = try await completion(of: signUp, with: credential, named: displayName, at: now)
                let verdict = attempt.ask(found.question, policy)
                attempt.sideWrites = [.useUp(signUp, by: use, at: now)] + found.claim.clearing
                return try await applySignIn(verdict, loaded: [], attempt)
            }
        }
    }

    /// The question whether a proven sign-up makes an account now.
    private func completion(
        of signUp: PendingSignUpRecord,
        with credential: VerifiedCredential?,
        named displayName: String?,
        at now: Timestamp
    ) async throws -> (question: CompleteSignUpQuestion, claim: AddressClaim) {
        let claim = try await store.claim(on: signUp.email, tenant: signUp.tenant, at: now)
        var identityOwner: UserRecord?
        if let credential {
            let matching = try await matchingAccounts(for: credential.incoming, target: nil, tenant: signUp.tenant)
            identityOwner = matching.identityOwner
        }
        let question = CompleteSignUpQuestion(
            email: signUp.email,
            emailOwner: claim.owner?.account,
            credential: credential?.incoming,
            identityOwner: identityOwner?.account,
            isProviderEnabled: credential.map { isAccepted($0.incoming) } ?? false,
            displayName: displayName,
            reservation: claim.reservation
        )
        return (question, claim)
    }

    /// Turns the credential of a proven sign-up into a conflict of the account that has the address. The mailbox has
    /// proven the conflict, so the caller can resolve it. The sign-up is used.
    package func linkSignUp(
        _ handle: String,
        proofToken: String?,
        _ request: ChangeRequest<LinkableSignUp>
    ) async throws -> LinkableSignUp {
        let (tenant, now) = (request.tenant, effects.now())
        let presented = PresentedSignUp(handle: handle, proofToken: proofToken, tenant: tenant)
        return try await answeringOnce(request, at: now) {
            let use = effects.newEventID()
            return try await openProvenConflict(by: presented, at: now) { signUp, linkable in
                try [.useUp(signUp, by: use, at: now)]
                    + storeAnswer(linkable, to: request.idempotent, of: nil, tenant: tenant, at: now)
            }
        }
    }

    /// Opens the conflict of a proven sign-up's credential with the account that has the address, and proves it by the
    /// mailbox. A repetition joins the conflict.
    ///
    /// - `sideWrites`: further writes of the transaction that proves the conflict.
    private func openProvenConflict(
        by presented: PresentedSignUp,
        at now: Timestamp,
        sideWrites: (PendingSignUpRecord, LinkableSignUp) throws -> [AccountWrite.SideWrite]
    ) async throws -> LinkableSignUp {
        let tenant = presented.tenant
        let provenID = effects.newEventID()
        let token = Base64URL.encode(effects.randomBytes(32))
        return try await retrying(effects) {
            let signUp = try await usableSignUp(presented, at: now)
            let credential = try credential(of: signUp)
            let claim = try await store.claim(on: signUp.email, tenant: tenant, at: now)
            let policy = policy
            let question = linkQuestion(of: signUp, bringing: credential, owner: claim.owner)
            let verdict = question.decide(policy)
            if case .refuse(let refusal) = verdict.decision {
                throw refused(.pendingSignUp(refusal), by: verdict.rule)
            }
            guard let credential, let owner = claim.owner else { throw UnexpectedDecision(verdict.rule) }
            let pendingToken = try await keep(
                credential,
                because: .accountExistsWithDifferentCredential(account: owner.id, verifiedProviders: []),
                event: AccountEvent(
                    id: effects.newEventID(),
                    occurredAt: now,
                    kind: .conflictOpened,
                    rule: verdict.rule,
                    decisions: [DecisionRecord(question, under: policy)]
                ),
                among: [owner],
                until: signUp.expiresAt,
                counting: [],
                // Otherwise the loser of a race would leave a conflict that its sign-up cannot prove.
                sideWrites: [.requireUsable(signUp)],
                tenant: tenant
            )
            let proven = try await proveBySignUp(
                pendingToken,
                token: token,
                eventID: provenID,
                verdict.rule,
                tenant: tenant,
                at: now,
                proving: { _ = try await prove(&$0, by: presented, at: now) },
                sideWrites: {
                    try sideWrites(signUp, LinkableSignUp(conflict: $0, pendingToken: pendingToken))
                }
            )
            metrics.decided(verdict.rule)
            return LinkableSignUp(conflict: proven, pendingToken: pendingToken)
        }
    }

    /// Adds the proof of the sign-up's mailbox to a conflict of the account with that address.
    ///
    /// - Returns: the sign-up, which is usable. Of two callers with one handle, the second finds it used.
    /// - Throws: the refusal if the sign-up is not usable, the conflict has ended, or the account has another address.
    private func prove(
        _ loaded: inout LoadedConflict,
        by presented: PresentedSignUp,
        at now: Timestamp
    ) async throws -> PendingSignUpRecord {
        let signUp = try await usableSignUp(presented, at: now)
        if let refusal = refusalOfConflict(loaded.conflict.facts, handleTenant: presented.tenant, now: now) {
            throw refused(refusal)
        }
        let owner = loaded.user.flatMap { $0.email?.address == signUp.email ? $0 : nil }
        let verdict = try linkQuestion(of: signUp, bringing: credential(of: signUp), owner: owner).decide(policy)
        if case .refuse(let refusal) = verdict.decision { throw refused(.pendingSignUp(refusal), by: verdict.rule) }
        guard let owner else { throw UnexpectedDecision(verdict.rule) }
        addMailboxProof(to: &loaded, of: owner, at: now)
        return signUp
    }

    /// The question whether the credential of a proven sign-up becomes a conflict of the account with the address.
    private func linkQuestion(
        of signUp: PendingSignUpRecord,
        bringing credential: VerifiedCredential?,
        owner: UserRecord?
    ) -> LinkConfirmedQuestion {
        LinkConfirmedQuestion(email: signUp.email, emailOwner: owner?.account, credential: credential?.incoming)
    }

    /// The pending sign-up of the handle as a conflict, so that the page of conflicts shows it; `nil` for handles of
    /// conflicts, and unless a provider's credential waits. What it says follows from requests of the holder; a used
    /// sign-up takes more reads if an account has the address, so callers answer on a tick (ADR 0126).
    ///
    /// A used sign-up has the state of its conflict; without one it is resolved.
    func signUpView(_ handle: String, tenant: TenantID) async throws -> ConflictView? {
        guard ConflictHandle(handle, sealer: sealer) == nil,
            let signUp = try await store.pendingSignUp(SignUpSecrets.hash(of: handle), tenant: tenant),
            let credential = try credential(of: signUp)
        else { return nil }
        let now = effects.now()
        if signUp.consumedAt == nil {
            let isExpired = signUp.expiresAt <= now
            let proof = ConflictView.Proof(
                kind: .mailbox,
                attemptsLeft: max(0, PendingSignUpFacts.attemptsMax - Int(signUp.attempts)),
                expiresAt: signUp.expiresAt
            )
            return view(of: signUp, credential, .open, isExpired: isExpired, proof: isExpired ? nil : proof)
        }
        if signUp.isDeclined { return view(of: signUp, credential, .declined) }
        guard let conflict = try await conflict(of: signUp, bringing: credential, at: now) else {
            return view(of: signUp, credential, .resolved)
        }
        let isExpired = conflict.state.isLive && conflict.expiresAt <= now
        return view(of: signUp, credential, conflict.state, isExpired: isExpired)
    }

    /// The version of every pending sign-up, shown as its entity tag.
    private static let signUpVersion: Int64 = 1

    private func view(
        of signUp: PendingSignUpRecord,
        _ credential: VerifiedCredential,
        _ state: ConflictFacts.State,
        isExpired: Bool = false,
        proof: ConflictView.Proof? = nil
    ) -> ConflictView {
        ConflictView(
            state: state,
            isExpired: isExpired,
            version: Self.signUpVersion,
            kind: .accountExistsWithDifferentCredential,
            provider: credential.incoming.identity.provider,
            maskedEmail: signUp.email.masked,
            openedAt: signUp.createdAt,
            expiresAt: signUp.expiresAt,
            proof: proof,
            signInMethods: nil,
            suspended: nil,
            replaced: nil
        )
    }

    /// Number of conflicts of an account among which that of a sign-up is searched.
    private static let conflictsSearched = 50

    /// The conflict of a used sign-up: the newest of the account with its address about the same identity, unless that
    /// ended before the sign-up began; `nil` if there is none. Two round trips.
    private func conflict(
        of signUp: PendingSignUpRecord,
        bringing credential: VerifiedCredential,
        at now: Timestamp
    ) async throws -> ConflictRecord? {
        let claim = try await store.claim(on: signUp.email, tenant: signUp.tenant, at: now)
        guard let owner = claim.owner else { return nil }
        let digest = Self.digest(of: credential.incoming)
        var filter = ConflictFilter()
        filter.user = owner.id
        filter.provider = credential.incoming.identity.provider
        let conflicts = try await store.conflicts(
            filter,
            after: nil,
            tenant: signUp.tenant,
            at: now,
            countMax: Self.conflictsSearched
        )
        let newest = conflicts.first { $0.identityDigest == digest }
        return newest.flatMap { ($0.closedAt ?? $0.expiresAt) < signUp.createdAt ? nil : $0 }
    }

    /// Continues a proven sign-up as the page of conflicts does: links the credential to the account that has the
    /// address, or creates one.
    ///
    /// One transaction links the credential and uses the sign-up. If it is refused, for example because the second
    /// factor is missing, the sign-up stays usable. The conflict stays proven, so the next sign-in with both factors
    /// links the credential.
    func continueSignUp(
        _ handle: String,
        proofToken: String?,
        from client: PasswordClient,
        _ request: ChangeRequest<SignedIn>
    ) async throws -> SignedIn {
        let (tenant, now) = (request.tenant, effects.now())
        let presented = PresentedSignUp(handle: handle, proofToken: proofToken, tenant: tenant)
        return try await answeringOnce(request, at: now) {
            let signUp = try await usableSignUp(presented, at: now)
            if let expected = request.expectedVersion, expected != Self.signUpVersion { throw Denial.versionMismatch }
            guard try await store.claim(on: signUp.email, tenant: tenant, at: now).owner != nil else {
                return try await createAccount(
                    by: presented,
                    password: nil,
                    displayName: nil,
                    from: client,
                    answerTo: request.idempotent,
                    at: now
                )
            }
            let use = effects.newEventID()
            let linkable = try await openProvenConflict(by: presented, at: now) { _, _ in [] }
            // The version that the client has seen is that of the sign-up, which was checked.
            let settling = ChangeRequest(tenant: tenant, idempotent: request.idempotent)
            return try await settleConflict(linkable.pendingToken, isOfStranger: true, settling) { loaded in
                // Not the stored proof, which another caller may have replaced by one of another kind.
                let signUp = try await prove(&loaded, by: presented, at: now)
                loaded.conflict.state = .proven
                return ConflictSettler(isProver: true, sideWrites: [.useUp(signUp, by: use, at: now)])
            }
        }
    }

    /// Declines a pending sign-up: its credential, code and link can no longer be used. The holder of the handle may do
    /// it, because they could let it expire as well. A repetition gets the same answer.
    func declineSignUp(_ handle: String, _ request: ChangeRequest<ConflictView>) async throws -> ConflictView {
        let (tenant, now) = (request.tenant, effects.now())
        return try await answeringOnce(request, at: now) {
            try await retrying(effects) {
                let signUp = try await store.pendingSignUp(SignUpSecrets.hash(of: handle), tenant: tenant)
                let verdict = decideDeclineSignUp(signUp?.facts, handleTenant: tenant, now: now)
                if let refusal = verdict.decision { throw refused(.pendingSignUp(refusal), by: verdict.rule) }
                guard let signUp, let credential = try credential(of: signUp) else {
                    throw UnexpectedDecision(verdict.rule)
                }
                let view = view(of: signUp, credential, .declined)
                if let expected = request.expectedVersion, expected != view.version { throw Denial.versionMismatch }
                // Before, so that a crash leaves the sign-up to decline again. After, for a conflict that a concurrent
                // request has opened meanwhile; a declined sign-up opens none.
                try await declineConflict(of: signUp, bringing: credential, at: now)
                try await store.spend([.decline(signUp, at: now)]).requireApplied()
                try await declineConflict(of: signUp, bringing: credential, at: now)
                // Last, so that a repetition after a crash declines the conflict too.
                let answer = try storeAnswer(view, to: request.idempotent, of: nil, tenant: tenant, at: now)
                if !answer.isEmpty { try await store.spend(answer).requireApplied() }
                metrics.decided(verdict.rule)
                return view
            }
        }
    }

    /// Declines the conflict that a sign-up has opened, if it is live: otherwise the owner's next sign-in would link the
    /// declined credential.
    private func declineConflict(
        of signUp: PendingSignUpRecord,
        bringing credential: VerifiedCredential,
        at now: Timestamp
    ) async throws {
        guard let conflict = try await conflict(of: signUp, bringing: credential, at: now) else { return }
        let verdict = decideDeclineConflict(
            conflict: conflict.facts,
            handleTenant: signUp.tenant,
            by: .holder,
            now: now
        )
        guard verdict.decision == nil else { return }
        let event = AccountEvent(
            id: effects.newEventID(),
            occurredAt: now,
            kind: .conflictDeclined,
            rule: verdict.rule
        )
        try await store.change(conflict.closed(as: .declined, at: now), at: now, event: event, sideWrites: [])
            .requireApplied()
    }

    /// Does the work of a request that names no account, unless it was done before under the same idempotency key.
    private func answeringOnce<Value: Sendable>(
        _ request: ChangeRequest<Value>,
        at now: Timestamp,
        _ work: () async throws -> Value
    ) async throws -> Value {
        let (tenant, idempotent) = (request.tenant, request.idempotent)
        if let answer = try await storedAnswer(to: idempotent, of: nil, tenant: tenant, at: now) { throw answer }
        do {
            return try await work()
        } catch let denial as Denial where idempotent != nil {
            // A concurrent attempt of the same request may have been applied, and cause the refusal.
            throw try await storedAnswer(to: idempotent, of: nil, tenant: tenant, at: now) ?? denial
        }
    }

    /// The sign-up, if the caller can continue it. One round trip.
    private func usableSignUp(_ presented: PresentedSignUp, at now: Timestamp) async throws -> PendingSignUpRecord {
        let digest = SignUpSecrets.hash(of: presented.handle)
        let proof = presented.proofToken.flatMap { SignUpProof($0, sealer: sealer) }
        let signUp = try await store.pendingSignUp(digest, tenant: presented.tenant)
        let refusal = refusalOfContinuing(
            signUp?.facts,
            handleTenant: presented.tenant,
            isProver: proof.map { $0.digest == digest && now < $0.expiresAt } ?? false,
            now: now
        )
        if let refusal { throw refused(.pendingSignUp(refusal.decision), by: refusal.rule) }
        guard let signUp else { throw UnexpectedDecision(.pendingSignUpUnusable) }
        return signUp
    }

    /// The sign-up of the handle with its credential, for a session that links it. The session is the proof. One round
    /// trip.
    /// - Throws: `Denial.invalidPendingToken` if there is none.
    func waitingSignUp(
        _ handle: String,
        tenant: TenantID,
        at now: Timestamp
    ) async throws -> (signUp: PendingSignUpRecord, credential: VerifiedCredential) {
        let signUp = try await store.pendingSignUp(SignUpSecrets.hash(of: handle), tenant: tenant)
        let refusal = refusalOfContinuing(signUp?.facts, handleTenant: tenant, isProver: true, now: now)
        guard refusal == nil, let signUp, let credential = try credential(of: signUp) else {
            throw refused(.invalidPendingToken, by: refusal?.rule ?? .pendingSignUpUnusable)
        }
        return (signUp, credential)
    }

    /// The provider's credential that waits; `nil` for a sign-up with a password.
    /// - Throws: the sealer's error, or `UnreadablePendingCredential`.
    func credential(of signUp: PendingSignUpRecord) throws -> VerifiedCredential? {
        guard let sealed = signUp.sealedCredential else { return nil }
        let context = SealingContext.pendingSignUp(tenant: signUp.tenant.rawValue, digest: signUp.digest)
        // Allows more depth than parsing of a provider's response, because that is nested inside.
        guard let value = try? JSONValue(parsing: sealer.open(sealed, context: context), depthMax: 128),
            let credential = VerifiedCredential(stored: value)
        else { throw UnreadablePendingCredential() }
        return credential
    }
}

extension ConflictProofAnswer {
    fileprivate var kind: SignUpAnswerKind {
        switch self {
        case .code: .code
        case .linkSecret: .link
        }
    }

    /// Returns true if this is the mailed secret. Takes constant time.
    fileprivate func isRight(for signUp: PendingSignUpRecord, sealer: Sealer) -> Bool {
        switch self {
        case .linkSecret(let secret): SHA256.hash(data: Array(secret.utf8)).equals(signUp.linkHash)
        case .code(let typed):
            ShortCode.isRight(
                typed,
                signUp.sealedCode,
                context: SealingContext.signUpCode(tenant: signUp.tenant.rawValue, digest: signUp.digest),
                sealer: sealer
            )
        }
    }

    /// The limits that a code counts against. The secret of the link cannot be guessed.
    fileprivate func limits(
        of signUp: PendingSignUpRecord,
        _ guesses: [MessageLimit],
        from clientAddress: String?
    ) -> [CountedLimit] {
        switch self {
        case .linkSecret: []
        case .code:
            guesses.limiting(
                .guess,
                to: "\(Mail.Template.signUpMailbox.name) \(signUp.email.canonical)",
                from: clientAddress
            )
        }
    }
}
