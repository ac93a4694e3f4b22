package import AccountLinking
import AccountStore
import JSON

/// The name of a session, as its user is told: it stands in the session's ID tokens, and refreshes nothing.
package struct SessionID: Sendable, Hashable {
    let bytes: [UInt8]

    fileprivate init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// `nil` for text that is no such name.
    package init?(_ text: String) {
        guard let bytes = RefreshToken.sessionID(text) else { return nil }
        self.bytes = bytes
    }

    package var text: String { Base64URL.encode(bytes) }
}

/// A page of an account's sessions, and the sign-ins to it that were refused.
package struct AccountSessions: Sendable {
    package struct Session: Sendable {
        package let id: SessionID
        package let startedAt: Timestamp
        /// Up to `SessionLifetimes.usePrecisionSeconds` too early.
        package let lastUsedAt: Timestamp
        package let signInProvider: String
        package let secondFactor: String?
        /// `User-Agent` of the sign-in.
        package let device: String?
        /// Returns true for the session that asks.
        package let isCurrent: Bool

        fileprivate init(_ listed: ListedSession, current: [UInt8]?) {
            id = SessionID(listed.id)
            startedAt = listed.startedAt
            lastUsedAt = listed.times.lastUsedAt
            signInProvider = listed.signInProvider
            secondFactor = listed.secondFactor
            device = listed.device
            isCurrent = listed.id == current
        }
    }

    /// The sign-ins that were refused on one day for one reason.
    package struct Refusals: Sendable {
        /// A row of the decision tables, or `wrong-second-factor`, or `locked-second-factor`.
        package let reason: String
        package let count: Int64
        package let firstAt: Timestamp
        package let lastAt: Timestamp

        init(_ stored: SignInRefusals) {
            reason = stored.reason
            count = stored.count
            firstAt = stored.firstAt
            lastAt = stored.lastAt
        }
    }

    package let sessions: [Session]
    /// The last session before the next page; `nil` on the last page.
    package let next: SessionID?
    /// With the first page alone; the newest first, at most `AccountSessions.refusalsMax`.
    package let refusals: [Refusals]
    /// The account's; raised by every change that a decision could read.
    package let version: Int64

    package static let sessionsMax = 100
    static let refusalsMax = 100
}

/// A request to end sessions of one's own account.
package enum SessionsToEndByUser: Sendable, Hashable {
    case one(SessionID)
    /// All but the one that asks.
    case others
    case all
    /// The one that asks.
    case own
}

extension AccountOperations {
    /// A page of the sessions of a session's account, in the order of their ids. Two round trips, three for the first page.
    package func sessions(
        idToken: String,
        tenant: TenantID,
        after: SessionID?,
        countMax: Int
    ) async throws -> AccountSessions {
        let session = try await authenticate(idToken: idToken, tenant: tenant)
        return try await sessions(of: session.user, after: after, countMax: countMax, current: session.token.session)
    }

    /// The same for an administrator; `nil` where there is no such account.
    package func sessions(
        of id: UserID,
        tenant: TenantID,
        after: SessionID?,
        countMax: Int
    ) async throws -> AccountSessions? {
        guard let user = try await store.user(id, tenant: tenant) else { return nil }
        return try await sessions(of: user, after: after, countMax: countMax, current: nil)
    }

    private func sessions(
        of user: UserRecord,
        after: SessionID?,
        countMax: Int,
        current: [UInt8]?
    ) async throws -> AccountSessions {
        let now = effects.now()
        let lifetimes = project.settings.sessionLifetimes
        let listed = try await store.sessions(of: user, after: after?.bytes ?? [], countMax: countMax)
        return AccountSessions(
            sessions: listed.filter { !lifetimes.haveEnded($0.times, at: now) }
                .map { .init($0, current: current) },
            next: listed.count == countMax ? listed.last.map { SessionID($0.id) } : nil,
            refusals: after == nil
                ? try await store.signInRefusals(
                    of: user.id,
                    tenant: user.tenant,
                    countMax: AccountSessions.refusalsMax
                )
                .map(AccountSessions.Refusals.init) : [],
            version: user.version
        )
    }

    /// Ends sessions of the account of a session: rows T9 and T10. No recent sign-in is needed (`decideEndSessions`).
    ///
    /// If many callers end the same session, one does: the account's version guards the write. A session that is being opened
    /// meanwhile lives, unless all end: its sign-in comes after.
    ///
    /// Once the session that asks has ended, a repeated request is refused.
    /// - Returns: whether there was one to end.
    /// - Throws: `Contention`, or what the database could not do.
    package func endSessions(
        _ sessions: SessionsToEndByUser,
        idToken: String,
        _ request: ChangeRequest<Bool>
    ) async throws -> Bool {
        try await endSessions(sessions, of: try await authenticate(idToken: idToken, tenant: request.tenant), request)
    }

    private func endSessions(
        _ sessions: SessionsToEndByUser,
        of session: AuthenticatedSession,
        _ request: ChangeRequest<Bool>
    ) async throws -> Bool {
        let attempt = UpdateAttempt(effects: effects, methodProof: .session)
        // A token of an older version names no session: its holder refreshes it first.
        let named: [UInt8]?
        switch sessions {
        case .one(let id): named = id.bytes
        case .own, .others:
            guard let own = session.token.session else { throw Denial.refusal(.tokenExpired) }
            named = own
        case .all: named = nil
        }
        return try await changeAccount(of: session, request, at: attempt.now) { user in
            try await end(
                SessionsToEnd(sessions, own: session.token.session),
                named,
                of: user,
                attempt,
                sideWrites: storeAnswer(
                    true,
                    to: request.idempotent,
                    of: user.id,
                    tenant: user.tenant,
                    at: attempt.now
                )
            )
        }
    }

    /// Ends the session of an ID token (`signOutUser`).
    ///
    /// - `localID`: the user as the client believes it; another than the token's is not found.
    /// - Throws: `Contention`, or what the database could not do.
    package func signOut(idToken: String, localID: String?, tenant: TenantID) async throws -> UserID {
        let session = try await authenticate(idToken: idToken, tenant: tenant)
        let user = session.user.id
        if let localID, localID != user.rawValue { throw refused(.refusal(.userNotFound), by: .tokenAccountGone) }
        _ = try await endSessions(.own, of: session, ChangeRequest(tenant: tenant))
        return user
    }

    /// Ends every session of the account that an administrator names.
    /// - Throws: `Contention`, or what the database could not do.
    package func endAllSessions(of id: UserID, tenant: TenantID) async throws -> UserID {
        let attempt = UpdateAttempt(effects: effects, methodProof: .administrator)
        return try await retrying(effects) {
            let user = try await accountToUpdate(id, tenant: tenant)
            _ = try await end(.all, nil, of: user, attempt, sideWrites: [])
            return id
        }
    }

    /// - `named`: the session to end, or the one to leave.
    /// - Returns: whether there was one to end.
    private func end(
        _ sessions: SessionsToEnd,
        _ named: [UInt8]?,
        of user: UserRecord,
        _ attempt: UpdateAttempt,
        sideWrites: [AccountWrite.SideWrite]
    ) async throws -> Bool {
        let verdict = decideEndSessions(
            sessions,
            of: user.account,
            areThere: try await areThere(sessions, named, of: user)
        )
        var changed = user
        var sideWrites = sideWrites
        switch verdict.decision {
        case .unchanged: return false
        case .endAll(let change, let voided):
            changed = user.applying(change, attempt.context)
            sideWrites += voiding(voided, of: user, attempt)
        case .delete(let voided):
            guard let named else { throw UnexpectedDecision(verdict.rule) }
            changed.sessionEndedAt = max(user.sessionEndedAt ?? attempt.now, attempt.now)
            // Before the sessions: who settles a conflict meanwhile opens one that is to end as well.
            sideWrites += voiding(voided, of: user, attempt)
            sideWrites.append(
                sessions == .others
                    ? .endSessions(otherThan: named, of: user.id, tenant: user.tenant)
                    : .endSession(named, of: user.id, tenant: user.tenant)
            )
        }
        var write = AccountWrite(
            previous: user,
            user: changed,
            event: attempt.event(
                kind: sessions == .all ? .sessionsRevoked : .sessionEnded,
                rule: verdict.rule
            ),
            sideWrites: sideWrites
        )
        write.raisesVersion = true
        try await store.apply(write).requireApplied()
        return true
    }

    /// Voids what an ended session may have begun. Nothing for an administrator, who may have sent the owner a code just before.
    private func voiding(
        _ codes: VoidedCodes,
        of user: UserRecord,
        _ attempt: UpdateAttempt
    ) -> [AccountWrite.SideWrite] {
        if attempt.isByAdministrator { return [] }
        return [
            .supersedeLiveConflicts(of: user.id, tenant: user.tenant, at: attempt.now),
            .voidEmailCodes(of: user.id, tenant: user.tenant, codes, at: attempt.now),
        ]
    }

    /// Returns true if any of the sessions exists.
    private func areThere(_ sessions: SessionsToEnd, _ named: [UInt8]?, of user: UserRecord) async throws -> Bool {
        switch sessions {
        case .all: return true
        case .own, .one:
            guard let named else { return false }
            return try await store.session(named, of: user.id, tenant: user.tenant).session != nil
        case .others:
            return try await store.sessions(of: user, after: [], countMax: 2).contains { $0.id != named }
        }
    }
}

extension SessionsToEnd {
    fileprivate init(_ sessions: SessionsToEndByUser, own: [UInt8]?) {
        switch sessions {
        case .own: self = .own
        case .one(let id): self = id.bytes == own ? .own : .one
        case .others: self = .others
        case .all: self = .all
        }
    }
}
