import AccountLinking
import AccountStore
import Crypto
import IdentityProviders
import JSON

/// The mailed secrets that prove a conflict: a link and a short code, of which one suffices. Made once per request.
struct ConflictProofSecrets: Sendable {
    /// 43 characters of base64url: 256 random bits.
    let link: String
    /// Eight digits, to type where the conflict occurred. Five wrong answers end the proof.
    let code: String
    let messageID: OutboxMessage.ID

    init(effects: Effects) {
        link = Base64URL.encode(effects.randomBytes(32))
        messageID = effects.newEventID()
        code = ShortCode.new(effects)
    }

    /// The stored hash of a secret with too much entropy to guess.
    static func hash(of secret: String) -> [UInt8] {
        Array(SHA256.hash(data: Array(secret.utf8)))
    }

    /// Binds a sealed code to the conflict, the account and the identity.
    static func codeContext(_ conflict: ConflictRecord) -> String {
        SealingContext.proofCode(
            tenant: conflict.tenant.rawValue,
            user: conflict.user.rawValue,
            conflict: conflict.id,
            identityDigest: conflict.identityDigest
        )
    }
}

/// The owner's answer to the mail.
package enum ConflictProofAnswer: Sendable {
    /// The short code, as typed: spaces and hyphens are ignored.
    case code(String)
    /// The secret in the link.
    case linkSecret(String)
}

extension ConflictProofAnswer {
    /// Returns true if this is the mailed secret. Takes constant time.
    func isRight(for conflict: ConflictRecord, sealer: Sealer) -> Bool {
        guard let proof = conflict.proof else { return false }
        switch self {
        case .linkSecret(let secret):
            guard let hash = proof.linkHash else { return false }
            return SHA256.hash(data: Array(secret.utf8)).equals(hash)
        case .code(let typed):
            return ShortCode.isRight(
                typed,
                proof.sealedCode,
                context: ConflictProofSecrets.codeContext(conflict),
                sealer: sealer
            )
        }
    }
}

/// A conflict that was just proven, and the token of its prover.
package struct ProvenConflict: Sendable {
    package let view: ConflictView
    /// Presented to settle the conflict. Valid for that conflict only, until the proof expires.
    package let proofToken: String
}

extension AccountOperations {
    /// Seconds from the request of a proof to its expiry.
    private static let proofLifetimeSeconds: Int64 = 900

    /// Mails a link and a code to the address of the conflict's account. They replace those of an earlier request.
    ///
    /// The answer does not depend on the account: without an address the same happens, but no mail is sent. Mails about
    /// one account are limited, over all conflicts and servers.
    ///
    /// - `locale`: the requested language of the mail.
    /// - `requestedFrom`: network address of the caller, for the mail.
    package func startMailboxProof(
        _ handle: String,
        _ request: ChangeRequest<ConflictView>,
        locale: String?,
        requestedFrom: String?
    ) async throws -> ConflictView {
        let (tenant, now) = (request.tenant, effects.now())
        // The mail of a pending sign-up was sent when it began.
        if let view = try await signUpView(handle, tenant: tenant) { return view }
        let secrets = ConflictProofSecrets(effects: effects)
        let eventID = effects.newEventID()
        return try await changeConflict(handle, request) { loaded in
            let verdict = decideStartProof(
                policy: policy,
                conflict: loaded.conflict.facts,
                provider: loaded.conflict.provider,
                handleTenant: tenant,
                startsSoFar: Int(loaded.conflict.proofsStarted),
                mails: try await store.proofMails(of: loaded.conflict.user, tenant: tenant),
                isAccountGone: loaded.user == nil,
                now: now
            )
            let place: Int
            switch verdict.decision {
            case .refuse(let refusal): throw refused(.conflict(refusal), by: verdict.rule)
            case .mail(let free): place = free
            }
            guard let user = loaded.user else { throw UnexpectedDecision(verdict.rule) }
            let credential = try open(loaded.conflict)
            var conflict = loaded.conflict
            conflict.state = .open
            conflict.proofsStarted += 1
            conflict.proof = ConflictRecord.Proof(
                facts: ConflictProofFacts(
                    binding: ProofBinding(.mailbox, of: user.account, policyVersion: policy.version),
                    attempts: 0,
                    expiresAt: min(now.adding(seconds: Self.proofLifetimeSeconds), conflict.expiresAt)
                ),
                linkHash: ConflictProofSecrets.hash(of: secrets.link),
                sealedCode: try sealer.seal(
                    Array(secrets.code.utf8),
                    context: ConflictProofSecrets.codeContext(conflict)
                )
            )
            let mail = Mail(
                template: .conflictProof,
                to: user.email?.address.raw ?? "",
                email: user.email?.address.lowercased ?? "",
                displayName: user.profile.displayName,
                code: secrets.code,
                link: mailLinks.conflictPage(
                    handle: handle,
                    secret: secrets.link
                ),
                locale: mailLocale(locale),
                requester: Mail.Requester(
                    provider: credential.credential.incoming.identity.provider.rawValue,
                    name: credential.credential.incoming.profile.displayName,
                    from: requestedFrom
                )
            )
            let message = try mail.message(
                id: secrets.messageID,
                tenant: tenant,
                createdAt: now,
                expiresAt: conflict.proof?.facts.expiresAt ?? now,
                isWithheld: user.email == nil,
                sealer: sealer
            )
            let view = view(of: conflict.raised, credential, now: now)
            try await store.change(
                conflict,
                at: now,
                event: AccountEvent(id: eventID, occurredAt: now, kind: .conflictProofRequested, rule: verdict.rule),
                sideWrites: [
                    .enqueue(message), .countProofMail(to: conflict.user, tenant: tenant, place: place, at: now),
                ]
                    + storeAnswer(view, to: request.idempotent, of: conflict.user, tenant: tenant, at: now)
            ).requireApplied()
            return view
        }
    }

    /// Checks an answer to the mail, and returns the token that settles the conflict (rules Q).
    ///
    /// A wrong answer is counted before the response, so concurrent attempts cannot exceed the limit.
    package func completeMailboxProof(
        _ handle: String,
        _ answer: ConflictProofAnswer,
        from clientAddress: String? = nil,
        _ request: ChangeRequest<ProvenConflict>
    ) async throws -> ProvenConflict {
        let now = effects.now()
        if var view = try await signUpView(handle, tenant: request.tenant) {
            let proven = try await proveSignUp(handle, answer, from: clientAddress, tenant: request.tenant)
            view.state = .proven
            return ProvenConflict(view: view, proofToken: proven.proofToken)
        }
        let token = Base64URL.encode(effects.randomBytes(32))
        let eventID = effects.newEventID()
        return try await changeConflict(handle, request) { loaded in
            let kind = loaded.conflict.proof?.facts.binding.kind ?? .mailbox
            let verdict = decideProveConflict(
                conflict: loaded.conflict.facts,
                handleTenant: request.tenant,
                binding: loaded.user.map {
                    ProofBinding(kind, of: $0.account, policyVersion: policy.version)
                },
                isRight: answer.isRight(for: loaded.conflict, sealer: sealer),
                now: now
            )
            var conflict = loaded.conflict
            switch verdict.decision {
            case .refuse(let refusal):
                throw refused(.conflict(refusal), by: verdict.rule)
            case .wrong:
                conflict.proof?.facts.attempts += 1
                let event = AccountEvent(
                    id: eventID,
                    occurredAt: now,
                    kind: .conflictProofFailed,
                    rule: verdict.rule
                )
                try await store.change(conflict, at: now, event: event).requireApplied()
                throw Denial.conflict(.wrongAnswer)
            case .proven:
                conflict.proof?.linkHash = nil
                conflict.proof?.sealedCode = nil
                return try await prove(
                    LoadedConflict(conflict: conflict, user: loaded.user, identityOwner: loaded.identityOwner),
                    verdict.rule,
                    token: token,
                    eventID: eventID,
                    idempotent: request.idempotent,
                    at: now
                )
            }
        }
    }

    /// Proves a conflict by a recent session of its account.
    package func proveBySession(
        _ handle: String,
        idToken: String,
        _ request: ChangeRequest<ProvenConflict>
    ) async throws -> ProvenConflict {
        let session = try await authenticate(idToken: idToken, tenant: request.tenant)
        let now = effects.now()
        let token = Base64URL.encode(effects.randomBytes(32))
        let eventID = effects.newEventID()
        let challenge = challenge(session, for: .proveConflict, now: now)
        return try await changeConflict(handle, request) { loaded in
            let verdict = decideProveBySession(
                conflict: loaded.conflict.facts,
                handleTenant: request.tenant,
                session: session.user.id,
                isSessionRecent: challenge == nil,
                now: now
            )
            if case .refuse(let refusal) = verdict.decision {
                guard refusal == .refused(.credentialTooOld), let challenge else {
                    throw refused(.conflict(refusal), by: verdict.rule)
                }
                throw refused(.reauthenticationRequired(challenge), by: verdict.rule)
            }
            let user = try await account(of: session, asItIs: loaded.user)
            var conflict = loaded.conflict
            conflict.proof = ConflictRecord.Proof(
                facts: ConflictProofFacts(
                    binding: ProofBinding(.session, of: user.account, policyVersion: policy.version),
                    attempts: 0,
                    expiresAt: min(now.adding(seconds: Self.proofLifetimeSeconds), conflict.expiresAt)
                )
            )
            return try await prove(
                LoadedConflict(conflict: conflict, user: user, identityOwner: loaded.identityOwner),
                verdict.rule,
                token: token,
                eventID: eventID,
                idempotent: request.idempotent,
                at: now
            )
        }
    }

    /// Proves a conflict by a lookup that has proven the mailbox of `account`, and uses the lookup's code up.
    ///
    /// - `token`: for the prover, the same on each attempt.
    /// - `code`: loads the lookup's code, or throws the refusal of its proof.
    func prove(
        _ handle: String,
        byLookUpOf account: UserID,
        token: String,
        _ request: ChangeRequest<ProvenConflict>,
        _ use: EmailCodeUse,
        code: () async throws -> EmailCodeRecord
    ) async throws -> ProvenConflict {
        try await changeConflict(handle, request) { loaded in
            let lookUp = try await code()
            let verdict = decideProveByLookUp(
                policy: policy,
                conflict: loaded.conflict.facts,
                provider: loaded.conflict.provider,
                handleTenant: request.tenant,
                proven: account,
                now: use.now
            )
            if case .refuse(let refusal) = verdict.decision { throw refused(.conflict(refusal), by: verdict.rule) }
            guard let user = loaded.user else { throw UnexpectedDecision(verdict.rule) }
            var loaded = loaded
            addMailboxProof(to: &loaded, of: user, at: use.now)
            return try await prove(
                loaded,
                verdict.rule,
                token: token,
                eventID: use.id,
                idempotent: request.idempotent,
                sideWrites: { _ in [.useUp(lookUp, by: use.id, at: use.now)] },
                at: use.now
            )
        }
    }

    /// Proves a conflict by the mailbox of a sign-up, which is the mailbox of the account.
    ///
    /// - `token`: the token of the prover.
    /// - `proving`: adds the proof to the conflict, or throws the refusal. Called before each attempt.
    /// - `sideWrites`: further writes of the transaction.
    func proveBySignUp(
        _ handle: String,
        token: String,
        eventID: AccountEvent.ID,
        _ rule: Rule,
        tenant: TenantID,
        at now: Timestamp,
        proving: (inout LoadedConflict) async throws -> Void,
        sideWrites: (ProvenConflict) throws -> [AccountWrite.SideWrite]
    ) async throws -> ProvenConflict {
        let request = ChangeRequest<ProvenConflict>(tenant: tenant)
        return try await changeConflict(handle, request) { loaded in
            var loaded = loaded
            try await proving(&loaded)
            return try await prove(
                loaded,
                rule,
                token: token,
                eventID: eventID,
                idempotent: nil,
                sideWrites: sideWrites,
                at: now
            )
        }
    }

    /// Adds a proof of the mailbox of `user`, the account of the conflict.
    func addMailboxProof(to loaded: inout LoadedConflict, of user: UserRecord, at now: Timestamp) {
        loaded.conflict.proof = ConflictRecord.Proof(
            facts: ConflictProofFacts(
                binding: ProofBinding(.mailbox, of: user.account, policyVersion: policy.version),
                attempts: 0,
                expiresAt: min(now.adding(seconds: Self.proofLifetimeSeconds), loaded.conflict.expiresAt)
            )
        )
    }

    /// - `loaded`: includes the given proof.
    private func prove(
        _ loaded: LoadedConflict,
        _ rule: Rule,
        token: String,
        eventID: AccountEvent.ID,
        idempotent: IdempotentRequest<ProvenConflict>?,
        sideWrites: (ProvenConflict) throws -> [AccountWrite.SideWrite] = { _ in [] },
        at now: Timestamp
    ) async throws -> ProvenConflict {
        var loaded = loaded
        loaded.conflict.state = .proven
        loaded.conflict.proof?.tokenHash = ConflictProofSecrets.hash(of: token)
        let conflict = loaded.conflict
        let pending = try open(conflict)
        let claim = try await addressClaim(of: pending, tenant: conflict.tenant, at: now)
        let question = resolutionQuestion(
            loaded,
            pending,
            isProver: true,
            claim: claim,
            tenant: conflict.tenant,
            now: now
        )
        let proven = ProvenConflict(
            view: view(of: conflict.raised, pending, provenBy: loaded.user, preview: question, now: now),
            proofToken: token
        )
        let event = AccountEvent(id: eventID, occurredAt: now, kind: .conflictProven, rule: rule)
        let kept = try storeAnswer(proven, to: idempotent, of: conflict.user, tenant: conflict.tenant, at: now)
        try await store.change(conflict, at: now, event: event, sideWrites: sideWrites(proven) + kept).requireApplied()
        metrics.conflict(.proven, of: conflict.provider, with: conflict.accountMethod)
        return proven
    }
}

extension ConflictRecord {
    /// The record after a change was applied.
    var raised: ConflictRecord {
        var record = self
        record.version += 1
        return record
    }

    /// Returns true if `token` is the one that the prover got. Takes constant time.
    func isProven(by token: String?) -> Bool {
        guard state == .proven, let token, let hash = proof?.tokenHash else { return false }
        return SHA256.hash(data: Array(token.utf8)).equals(hash)
    }
}
