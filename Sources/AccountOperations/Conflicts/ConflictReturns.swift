package import AccountLinking
import AccountStore
import Crypto
import JSON

/// The page of an app to which the page of a conflict returns, with the app's own values.
package struct ConflictReturn: Sendable {
    /// The parameter that the app sent wrongly.
    package enum Defect: Error, Sendable {
        case continueURL
        case state
        case codeChallenge
    }

    fileprivate let url: ContinueURL
    fileprivate let state: String?
    fileprivate let codeChallenge: [UInt8]?

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

/// The way back to the app, as the holder of the handle sees it.
package struct ConflictReturnView: Sendable {
    /// The app's page, with the outcome.
    package let url: String
    /// True if the session that resolved the conflict gets a code for the app.
    package let givesCode: Bool
}

/// A session that an app got for a code.
package struct HandedSession: Sendable {
    package let user: UserID
    package let tokens: IssuedTokens
    /// The name of the decision, for operators.
    package let decision: DecisionID
}

/// The proof of the app that it sent the challenge (RFC 7636 §4.1).
package struct CodeVerifier: Sendable {
    fileprivate let challenge: SHA256Digest

    /// `nil` unless `text` is 43 to 128 letters, digits, `-`, `.`, `_` or `~`.
    package init?(_ text: String) {
        guard (43...128).contains(text.utf8.count), text.utf8.allSatisfy(PercentEncoding.isUnreserved) else {
            return nil
        }
        challenge = SHA256.hash(data: Array(text.utf8))
    }
}

extension AccountOperations {
    /// Stores the page to return to, in place of an earlier one. Any holder of the handle may do it while the conflict
    /// is live: the page is one that the project authorizes, and only a visit to it delivers a code.
    package func setReturn(
        _ destination: ConflictReturn,
        of handle: String,
        _ request: ChangeRequest<ConflictReturnView>
    ) async throws -> ConflictReturnView {
        guard authorizes(destination.url) else { throw Denial.unauthorizedDomain }
        let (tenant, now) = (request.tenant, effects.now())
        return try await changeConflict(handle, request) { loaded in
            if let refusal = refusalOfConflict(loaded.conflict.facts, handleTenant: tenant, now: now) {
                throw refused(refusal)
            }
            let record = ConflictReturnRecord(
                of: loaded.conflict,
                continueURL: destination.url.text,
                state: destination.state,
                codeChallenge: destination.codeChallenge
            )
            guard let view = view(of: record, from: loaded.conflict, at: now) else { throw Denial.unauthorizedDomain }
            let kept = try storeAnswer(view, to: request.idempotent, of: record.user, tenant: tenant, at: now)
            try await store.put(record, sideWrites: kept).requireApplied()
            return view
        }
    }

    /// The way back of a conflict; `nil` if the app sent none, or the project no longer authorizes its page. One round
    /// trip.
    func conflictReturn(of conflict: ConflictRecord, at now: Timestamp) async throws -> ConflictReturnView? {
        try await store.conflictReturn(of: conflict).flatMap { view(of: $0, from: conflict, at: now) }
    }

    /// Issues a code that hands the session of an ID token over to the app. That session must be the one that resolved
    /// the conflict. The code replaces an earlier one.
    /// - Returns: the app's page with the code.
    package func issueSessionCode(
        _ handle: String,
        idToken: String,
        _ request: ChangeRequest<ConflictReturnView>
    ) async throws -> ConflictReturnView {
        let session = try await authenticate(idToken: idToken, tenant: request.tenant)
        let now = effects.now()
        let code = Base64URL.encode(effects.randomBytes(32))
        return try await changeConflict(handle, request) { loaded in
            let found = try await store.conflictReturn(of: loaded.conflict)
            let offered = found.flatMap { record in
                let isResolver =
                    record.session != nil && record.session == session.token.session
                    && record.user == session.user.id
                return isResolver && record.codeChallenge != nil ? record : nil
            }
            let verdict = decideIssueSessionCode(
                isOffered: offered != nil,
                isUsed: offered?.givenSession != nil,
                isPageAuthorized: isPageAuthorized(offered)
            )
            if let refusal = verdict.decision { throw refused(.sessionCode(refusal), by: verdict.rule) }
            guard let offered, let url = address(of: offered, from: loaded.conflict, at: now, code: code) else {
                throw UnexpectedDecision(verdict.rule)
            }
            let view = ConflictReturnView(url: url, givesCode: true)
            try await store.issueSessionCode(
                ConflictProofSecrets.hash(of: code),
                until: now.adding(seconds: Lifetimes.sessionCodeSeconds),
                for: offered,
                sideWrites: storeAnswer(
                    view,
                    to: request.idempotent,
                    of: offered.user,
                    tenant: request.tenant,
                    at: now
                )
            ).requireApplied()
            return view
        }
    }

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
        let hash = ConflictProofSecrets.hash(of: code)
        let eventID = effects.newEventID()
        let ending = UpdateAttempt(effects: effects, methodProof: .session)
        return try await retrying(effects) {
            // Before the stored answer: if the same request is applied meanwhile, the code still looks unused.
            let found = try await store.conflictReturn(withCode: hash, tenant: tenant)
            if let found,
                let answer = try await storedAnswer(to: request.idempotent, of: found.user, tenant: tenant, at: now)
            {
                throw answer
            }
            var (session, user): (SessionRecord?, UserRecord?) = (nil, nil)
            if let found, let resolver = found.session {
                (session, user) = try await store.session(resolver, of: found.user, tenant: tenant)
            }
            let access = decideRefresh(
                account: user?.account,
                sessionEpoch: session?.epoch,
                sessionStartedAt: session?.start,
                validSince: user?.validSince,
                times: session?.times,
                lifetimes: project.settings.sessionLifetimes,
                now: now
            )
            let verdict = decideExchangeSessionCode(
                found?.code,
                isVerifierRight: found?.codeChallenge.map { verifier.challenge.equals($0) } ?? false,
                isPageAuthorized: isPageAuthorized(found),
                session: access.decision,
                now: now
            )
            switch verdict.decision {
            case .refuse(let refusal):
                // An exchange between the reads has ended the session that was read after the code.
                if let found, try await store.conflictReturn(withCode: hash, tenant: tenant) != found {
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
        by code: ConflictReturnRecord,
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
                .useSessionCode(of: code, giving: handed.tokens.session.id, at: event.occurredAt),
            ] + answer
        )
        write.raisesVersion = true
        try await store.apply(write).requireApplied()
        store.activity.note(user, at: start, isSignIn: false)
        return handed
    }

    private func isPageAuthorized(_ record: ConflictReturnRecord?) -> Bool {
        record.flatMap { ContinueURL($0.continueURL) }.map { authorizes($0) } ?? false
    }

    private func view(
        of record: ConflictReturnRecord,
        from conflict: ConflictRecord,
        at now: Timestamp
    ) -> ConflictReturnView? {
        guard let url = address(of: record, from: conflict, at: now) else { return nil }
        let givesCode = record.codeChallenge != nil && record.session != nil && record.givenSession == nil
        return ConflictReturnView(url: url, givesCode: givesCode)
    }

    /// The app's page with the outcome; `nil` if the project does not authorize it.
    private func address(
        of record: ConflictReturnRecord,
        from conflict: ConflictRecord,
        at now: Timestamp,
        code: String? = nil
    ) -> String? {
        guard isPageAuthorized(record) else { return nil }
        var parameters = [(name: "concordConflict", value: conflict.facts.shownState(at: now).outcome)]
        if let state = record.state { parameters.append(("state", state)) }
        if let code { parameters.append(("concordCode", code)) }
        return redirection(to: record.continueURL, adding: parameters)
    }
}

extension ConflictFacts.ShownState {
    /// The outcome for an app. A proof that is not used yet is none of its business.
    fileprivate var outcome: String {
        switch self {
        case .open, .proven: "open"
        case .resolved: "resolved"
        case .declined: "declined"
        case .superseded: "superseded"
        case .expired: "expired"
        }
    }
}
