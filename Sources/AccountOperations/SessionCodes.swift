package import AccountLinking
import AccountStore
import Crypto
import JSON

// The code by which an app gets a session of Concord's pages: after a conflict, or after a sign-in.

/// The page of an app to which a page of Concord returns, with the app's own values.
package struct AppReturn: Sendable {
    /// The parameter that the app sent wrongly.
    package enum Defect: Error, Sendable {
        case continueURL
        case state
        case codeChallenge
    }

    let url: ContinueURL
    let state: String?
    let codeChallenge: [UInt8]?

    package static let urlBytesMax = 2048
    package static let stateBytesMax = 512
    /// Length of a SHA-256 in base64url without padding (RFC 7636 §4.2).
    package static let codeChallengeLength = 43

    /// - `state`: printable ASCII characters (RFC 6749 §A.5), which come back unchanged.
    /// - `codeChallenge`: of the method `S256`. `nil` if the app asks for no session.
    package init(continueURL: String, state: String?, codeChallenge: String?) throws(Defect) {
        guard continueURL.utf8.count <= Self.urlBytesMax, let url = ContinueURL(continueURL) else {
            throw .continueURL
        }
        if let state {
            guard (1...Self.stateBytesMax).contains(state.utf8.count), state.utf8.allSatisfy({ 0x20...0x7E ~= $0 })
            else { throw .state }
        }
        self.url = url
        self.state = state
        self.codeChallenge = try codeChallenge.map { text throws(Defect) in
            guard text.utf8.count == Self.codeChallengeLength, let digest = Base64URL.decode(text),
                digest.count == SHA256.byteCount
            else { throw .codeChallenge }
            return digest
        }
    }
}

/// A session that an app got for a code.
package struct HandedSession: Sendable {
    package let user: UserID
    package let tokens: IssuedTokens
    /// The name of the decision, for operators.
    package let decision: DecisionID
    /// The token of the app's device, if the app asked for one.
    package var deviceToken: String?
}

/// The proof of the app that it sent the challenge (RFC 7636 §4.1).
package struct CodeVerifier: Sendable {
    let challenge: SHA256Digest

    /// `nil` unless `text` is 43 to 128 letters, digits, `-`, `.`, `_` or `~`.
    package init?(_ text: String) {
        guard (43...128).contains(text.utf8.count), text.utf8.allSatisfy(PercentEncoding.isUnreserved) else {
            return nil
        }
        challenge = SHA256.hash(data: Array(text.utf8))
    }
}

extension AccountOperations {
    /// Exchanges a code for a session (rules T13 and T15 to T23). Of concurrent callers one gets a session. The others
    /// count as a second use, which ends it, unless they repeat the request under its idempotency key.
    ///
    /// A wrong verifier is counted before the response, so concurrent attempts cannot exceed the limit.
    package func exchangeSessionCode(
        _ code: String,
        _ verifier: CodeVerifier,
        _ request: ChangeRequest<HandedSession>
    ) async throws -> HandedSession {
        let (tenant, now) = (request.tenant, effects.now())
        let eventID = effects.newEventID()
        let ending = UpdateAttempt(effects: effects, methodProof: .session)
        return try await retrying(effects) {
            // Before the stored answer: if the same request is applied meanwhile, the code still looks unused.
            let found = try await storedSessionCode(code, tenant: tenant)
            if let found,
                let answer = try await storedAnswer(to: request.idempotent, of: found.user, tenant: tenant, at: now)
            {
                throw answer
            }
            var (session, user): (SessionRecord?, UserRecord?) = (nil, nil)
            if let found, let requester = found.session {
                (session, user) = try await store.session(requester, of: found.user, tenant: tenant)
            }
            let access = refreshVerdict(on: session, user, at: now)
            let verdict = decideExchangeSessionCode(
                found?.facts,
                isVerifierRight: found?.challenge.map { verifier.challenge.equals($0) } ?? false,
                isPageAuthorized: isPageAuthorized(found?.continueURL),
                session: access.decision,
                now: now
            )
            switch verdict.decision {
            case .refuse(let refusal):
                // An exchange between the reads has ended the session that was read after the code.
                if let found, try await storedSessionCode(code, tenant: tenant) != found {
                    throw FactsMoved()
                }
                throw refused(.sessionCode(refusal), by: verdict.rule)
            case .wrong:
                guard let found, try await store.countFailedAttempt(found) else { throw FactsMoved() }
                throw refused(.sessionCode(.wrongVerifier), by: verdict.rule)
            case .endGivenSession:
                if let given = found?.givenSession, let user {
                    _ = try await end(.one, given, of: user, ending, sideWrites: [])
                }
                throw refused(.sessionCode(.unusable), by: verdict.rule)
            case .exchange:
                guard let found, let session, let user else { throw UnexpectedDecision(verdict.rule) }
                return try await handOver(
                    session,
                    of: user,
                    by: found,
                    AccountEvent(id: eventID, occurredAt: now, kind: .sessionHandedOver, rule: verdict.rule),
                    request.idempotent
                )
            }
        }
    }

    /// Opens a session that continues `session`, ends `session`, and uses the code up, in one transaction. If the
    /// account or one of its sessions changed since they were read, nothing is written.
    private func handOver(
        _ session: SessionRecord,
        of user: UserRecord,
        by code: StoredSessionCode,
        _ event: AccountEvent,
        _ idempotent: IdempotentRequest<HandedSession>?
    ) async throws -> HandedSession {
        let new = NewSession(
            effects: effects,
            signInProvider: session.signInProvider,
            secondFactor: session.secondFactor,
            continuing: SessionOrigin(
                id: session.id,
                authTime: session.authTime,
                lifetimeStart: session.times.startedAt
            ),
            claims: session.claims,
            signInAttributes: session.signInAttributes
        )
        // The session that it continues may begin later than now (`sessionStart`).
        let start = max(event.occurredAt, session.start)
        let handed = HandedSession(
            user: user.id,
            tokens: try issueTokens(for: user, session: new, at: start),
            decision: DecisionID(event.id)
        )
        let answer = try storeAnswer(handed, to: idempotent, of: user.id, tenant: user.tenant, at: event.occurredAt)
        var changed = user
        changed.sessionEndedAt = max(user.sessionEndedAt ?? event.occurredAt, event.occurredAt)
        var write = AccountWrite(
            previous: user,
            user: changed,
            session: new.record(for: user, at: start, userAgent: userAgent),
            event: event,
            sideWrites: [
                .endContinuedSession(session),
                .use(code, giving: handed.tokens.session.id, at: event.occurredAt),
            ] + answer
        )
        write.raisesVersion = true
        try await store.apply(write).requireApplied()
        store.activity.note(user, at: start, isSignIn: false)
        return handed
    }

    /// The stored form of a code; `nil` for an unknown one, also of another project. One round trip.
    private func storedSessionCode(_ code: String, tenant: TenantID) async throws -> StoredSessionCode? {
        guard let named = SignInCode(code, sealer: sealer) else {
            let hash = ConflictProofSecrets.hash(of: code)
            return try await store.conflictReturn(withCode: hash, tenant: tenant).map { StoredSessionCode($0) }
        }
        guard named.tenant == tenant,
            let record = try await store.signInReturn(of: named.session, of: named.user, tenant: tenant),
            SHA256.hash(data: Array(code.utf8)).equals(record.codeHash)
        else { return nil }
        return StoredSessionCode(record)
    }

    /// Returns true if the project authorizes the page of the app now, or the page is the account page; false without
    /// a page.
    func isPageAuthorized(_ continueURL: String?) -> Bool {
        continueURL.flatMap { ContinueURL($0) }.map { authorizesReturn(to: $0) } ?? false
    }
}
