package import AccountLinking
import AccountStore
import JSON

/// The public name of a session. The session's ID tokens contain it; it cannot refresh the session.
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
        /// True for the calling session.
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

    /// The sign-ins refused on one day for one reason.
    package struct Refusals: Sendable {
        /// The id of a decision rule, `wrong-second-factor` or `locked-second-factor`.
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
    /// The session after which the next page starts; `nil` on the last page.
    package let next: SessionID?
    /// Newest first, at most `AccountSessions.refusalsMax`. Only with the first page.
    package let refusals: [Refusals]
    /// The devices that the account knows, latest use first. Only with the first page.
    package let devices: [ListedDevice]
    /// The account's version. Every change that a decision could read raises it.
    package let version: Int64

    package static let sessionsMax = 100
    static let refusalsMax = 100
}

/// The sessions of the user's own account that a request ends.
package enum SessionsToEndByUser: Sendable, Hashable {
    case one(SessionID)
    /// All but the calling session.
    case others
    case all
    /// The calling session.
    case own
}

extension AccountOperations {
    /// A page of the sessions of a session's account, sorted by id. Two round trips, four for the first page.
    package func sessions(
        idToken: String,
        tenant: TenantID,
        after: SessionID?,
        countMax: Int
    ) async throws -> AccountSessions {
        let session = try await authenticate(idToken: idToken, tenant: tenant)
        return try await sessions(of: session.user, after: after, countMax: countMax, current: session.token.session)
    }

    /// The same for an administrator; `nil` if there is no such account.
    package func sessions(
        of id: UserID,
        tenant: TenantID,
        after: SessionID?,
        countMax: Int
    ) async throws -> AccountSessions? {
        guard let user = try await store.user(id, tenant: tenant) else { return nil }
        return try await sessions(of: user, after: after, countMax: countMax, current: nil)
    }

    /// The same for a user that was read already.
    func sessions(
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
            devices: after == nil ? try await devices(of: user, at: now) : [],
            version: user.version
        )
    }

    /// Ends sessions of a session's account (rules T9 and T10). No recent sign-in is required (`decideEndSessions`).
    ///
    /// If several callers end the same session, one succeeds: the account's version guards the write. A session that is
    /// opened meanwhile survives unless all sessions end: its sign-in counts as later.
    ///
    /// Once the calling session has ended, a repeated request is refused.
    /// - Returns: `true` if there was a session to end.
    /// - Throws: `Contention`, or a database error.
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
        // A token of an older version names no session: its holder must refresh it first.
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
    /// - `localID`: the user that the client expects. If the token has another user, the user is not found.
    /// - Throws: `Contention`, or a database error.
    package func signOut(idToken: String, localID: String?, tenant: TenantID) async throws -> UserID {
        let session = try await authenticate(idToken: idToken, tenant: tenant)
        let user = session.user.id
        if let refusal = refusalOfSignOut(of: user, named: localID) { throw refused(refusal) }
        _ = try await endSessions(.own, of: session, ChangeRequest(tenant: tenant))
        return user
    }

    /// Ends all sessions of the account that an administrator names.
    /// - Throws: `Contention`, or a database error.
    package func endAllSessions(of id: UserID, tenant: TenantID) async throws -> UserID {
        let attempt = UpdateAttempt(effects: effects, methodProof: .administrator)
        return try await retrying(effects) {
            let user = try await accountToUpdate(id, tenant: tenant)
            _ = try await end(.all, nil, of: user, attempt, sideWrites: [])
            return id
        }
    }

    /// - `named`: the session to end, or the one to spare.
    /// - Returns: `true` if there was a session to end.
    func end(
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
            // Before the sessions: a conflict that is settled meanwhile opens a session, which must end too.
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

    /// Voids the codes and conflicts that an ended session may have started. An administrator voids none: the owner may
    /// have just been sent a code.
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
