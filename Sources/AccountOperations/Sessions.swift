package import AccountLinking
import AccountStore
import Crypto
import JSON

/// Tokens that a client receives for an account.
package struct IssuedTokens: Sendable {
    package let idToken: String
    package let refreshToken: String
    /// Seconds until the ID token expires.
    package let expiresInSeconds: Int64
    let session: SessionRecord
}

/// The session that another one continues. No change of the account makes a session recent or young: otherwise a stolen
/// session could stay both by a change every few minutes.
struct SessionOrigin: Sendable, Hashable {
    /// Session id; `nil` for a token of an older version.
    var id: [UInt8]?
    /// Time of the sign-in.
    var authTime: Timestamp
    /// `SessionTimes.startedAt`, or the time of the sign-in if the session was not read.
    var lifetimeStart: Timestamp
}

/// A session that an operation is about to open, with its refresh token. Made once per request.
struct NewSession: Sendable {
    let id: [UInt8]
    private let secret: [UInt8]
    private let signInProvider: String
    private let secondFactor: SessionRecord.SecondFactor?
    /// Time of the sign-in at the provider; `nil` if the provider does not report it or it does not count.
    private let signedInAt: Timestamp?
    /// The session that opens this one, by a link or a change of the account; `nil` for a sign-in.
    private let origin: SessionOrigin?
    private let claims: JSONValue?
    private let signInAttributes: JSONValue?

    /// The method of a sign-in whose facts are left out, as far as `rule` does not name it; `nil` if it does.
    func eventDetails(of rule: Rule) -> JSONValue? {
        var details: [String: JSONValue] = [:]
        if rule == .signInByIdentity { details["provider"] = .string(signInProvider) }
        if let secondFactor { details["secondFactor"] = .string(secondFactor.kind) }
        return details.isEmpty ? nil : .object(details)
    }

    /// Returns false if an existing session opens this one.
    var isSignIn: Bool { origin == nil }

    init(
        effects: Effects,
        signInProvider: String,
        secondFactor: SessionRecord.SecondFactor? = nil,
        signedInAt: Timestamp? = nil,
        continuing origin: SessionOrigin? = nil,
        claims: JSONValue? = nil,
        signInAttributes: JSONValue? = nil
    ) {
        self.id = effects.randomBytes(RefreshToken.sessionBytes)
        self.secret = effects.randomBytes(RefreshToken.secretBytes)
        self.signInProvider = signInProvider
        self.secondFactor = secondFactor
        self.signedInAt = signedInAt
        self.origin = origin
        self.claims = claims
        self.signInAttributes = signInAttributes
    }

    /// Continues the session of a caller, with the second factor that it proved.
    init(
        effects: Effects,
        signInProvider: String,
        after caller: AuthenticatedSession?,
        signInAttributes: JSONValue? = nil
    ) {
        self.init(
            effects: effects,
            signInProvider: signInProvider,
            secondFactor: caller?.token.secondFactor,
            continuing: caller?.origin,
            signInAttributes: signInAttributes
        )
    }

    /// The session's row for `user`, under the epoch of `user`.
    ///
    /// - `userAgent`: of the client that opens the session, as sent.
    func record(for user: UserRecord, at now: Timestamp, userAgent: String? = nil) -> SessionRecord {
        let authTime = origin?.authTime ?? min(signedInAt ?? now, now)
        var record = SessionRecord(
            tenant: user.tenant,
            user: user.id,
            id: id,
            secretHash: Array(SHA256.hash(data: secret)),
            epoch: user.sessionEpoch,
            authTime: authTime,
            startedAt: authTime < now ? now : nil,
            signInProvider: signInProvider,
            secondFactor: secondFactor,
            claims: claims,
            signInAttributes: signInAttributes
        )
        record.lifetimeStart = origin?.lifetimeStart
        record.device = userAgent.flatMap(Self.device)
        return record
    }

    /// Length limit of a device's name. Browsers send some 140 characters.
    private static let deviceLengthMax = 200

    /// The printable ASCII characters of a `User-Agent` (RFC 9110 §10.1.5 allows no others); `nil` if there are none.
    static func device(userAgent: String) -> String? {
        let printable = userAgent.utf8.lazy.filter { (0x20...0x7E).contains($0) }.prefix(deviceLengthMax)
        let device = String(decoding: Array(printable), as: UTF8.self)
        return device.isEmpty ? nil : device
    }

    func refreshToken(for user: UserRecord) -> String {
        RefreshToken(tenant: user.tenant, user: user.id, session: id, secret: secret).encoded
    }
}

extension AccountOperations {
    /// Mints the tokens of a session that is being stored.
    func issueTokens(
        for user: UserRecord,
        session: NewSession,
        at now: Timestamp
    ) throws -> IssuedTokens {
        let record = session.record(for: user, at: now)
        return IssuedTokens(
            idToken: try tokens.mintIDToken(for: user, session: record, at: now),
            refreshToken: session.refreshToken(for: user),
            expiresInSeconds: Lifetimes.idTokenSeconds,
            session: record
        )
    }
}

/// A caller that proved a live session.
package struct AuthenticatedSession: Sendable {
    package let token: VerifiedIDToken
    package let user: UserRecord
    /// Times of the session, if it was read.
    var times: SessionTimes?

    /// The sign-in that a continued session inherits.
    var origin: SessionOrigin {
        SessionOrigin(id: token.session, authTime: token.authTime, lifetimeStart: times?.startedAt ?? token.authTime)
    }

    /// The account whose second factor the session has proven; `nil` if it has proven none.
    var provenFactorOwner: UserID? { token.secondFactor == nil ? nil : user.id }

    /// Returns true if the sign-in behind the session is recent enough for `operation`.
    func isRecent(for operation: SensitiveOperation, policy: LinkPolicy, now: Timestamp) -> Bool {
        isRecent(for: operation, onAccount: user.account, policy: policy, now: now)
    }

    /// The same for a later state of the account.
    func isRecent(
        for operation: SensitiveOperation,
        onAccount account: Account,
        policy: LinkPolicy,
        now: Timestamp
    ) -> Bool {
        reauthentication(
            policy: policy,
            operation: operation,
            account: account,
            isSessionAnonymous: token.isAnonymous
        )
        .isMet(authTime: token.authTime, now: now)
    }

    /// Returns true if the session signed in recently, regardless of the policy: a fact for rules that apply the
    /// policy themselves. Sessions of anonymous accounts count as recent: they cannot sign in again.
    func isRecent(onAccount account: Account, policy: LinkPolicy, now: Timestamp) -> Bool {
        isRecent(for: .mergeAccounts, onAccount: account, policy: policy, now: now)
    }
}

extension AccountOperations {
    /// The account as it is now, if `session` is still live. Detects any end since the session was authenticated:
    /// nothing that a session began outlives a takeover or its own end. One round trip if the session may have ended
    /// alone, otherwise none.
    ///
    /// Write decisions about the account under its version, or with `requireUnchanged`. If the session ends later, the
    /// write then fails.
    func account(
        of session: AuthenticatedSession,
        asItIs current: UserRecord?
    ) async throws -> UserRecord {
        var presented = PresentedSession.notRead
        if let current {
            presented = try await self.session(session.token.session, of: current, aliveAt: session.token.issuedAt)
        }
        return try account(of: session.token, asItIs: current, presented, isExpired: false, at: effects.now())
    }

    /// The session `id` of `user`, which was live at `time`, if it may have ended alone since.
    ///
    /// - `id`: `nil` if the token names no session, which counts as ended.
    func session(_ id: [UInt8]?, of user: UserRecord, aliveAt time: Timestamp) async throws -> PresentedSession {
        guard user.mayHaveEndedSessions(since: time) else { return .notRead }
        guard let id else { return .gone }
        let (session, newest) = try await store.session(id, of: user.id, tenant: user.tenant)
        // The user is gone too, so the session did not end alone. The write will find no user.
        if newest == nil { return .notRead }
        return session.map { .found($0.times) } ?? .gone
    }

    /// - `isExpired`: the token's hour is over. Reported before every other fact but the account's absence
    ///   (docs/reference/protocol.md, "ID token checks").
    private func account(
        of token: VerifiedIDToken,
        asItIs current: UserRecord?,
        _ session: PresentedSession,
        isExpired: Bool,
        at now: Timestamp
    ) throws -> UserRecord {
        if isExpired, current != nil { throw Denial.refusal(.tokenExpired) }
        let access = decideAccess(
            account: current?.account,
            tokenEpoch: token.sessionEpoch,
            tokenIssuedAt: token.issuedAt,
            validSince: current?.validSince,
            session: session,
            lifetimes: project.settings.sessionLifetimes,
            now: now
        )
        switch access.decision {
        case .refuse(let refusal): throw refused(.refusal(refusal), by: access.rule)
        case .allow:
            guard let current else { throw UnexpectedDecision(access.rule) }
            return current
        }
    }
}

extension AccountOperations {
    /// Verifies an ID token, and that its session is live (docs/reference/protocol.md, "ID token checks").
    ///
    /// One round trip after the signature; two if a session of the account was ended alone within the last hour. The
    /// signature may come from the cache of verified tokens. Expiry, epoch, session and state of the account are
    /// checked each time.
    func authenticate(
        idToken: String,
        tenant: TenantID
    ) async throws -> AuthenticatedSession {
        let now = effects.now()
        let token: VerifiedIDToken
        var isExpired = false
        do {
            token = try tokens.verifyIDToken(idToken, at: now)
        } catch {
            switch error {
            case .invalid: throw Denial.invalidIDToken
            case .expired(let expired):
                token = expired
                isExpired = true
            }
        }
        guard token.tenant == tenant else { throw Denial.tenantMismatch }
        let (current, session) = try await userAndSession(of: token)
        let user = try account(of: token, asItIs: current, session, isExpired: isExpired, at: now)
        var authenticated = AuthenticatedSession(token: token, user: user)
        if case .found(let times) = session { authenticated.times = times }
        return authenticated
    }

    /// The user of a token, and its session if that may have ended alone: the project limits sessions, or a session of
    /// the user was ended since the token was issued.
    private func userAndSession(of token: VerifiedIDToken) async throws -> (UserRecord?, PresentedSession) {
        func presented(_ record: SessionRecord?) -> PresentedSession { record.map { .found($0.times) } ?? .gone }
        if project.settings.sessionLifetimes.isLimited, let id = token.session {
            let (session, user) = try await store.session(id, of: token.user, tenant: token.tenant)
            return (user, presented(session))
        }
        let user = try await store.user(token.user, tenant: token.tenant)
        guard let user, user.mayHaveEndedSessions(since: token.issuedAt) else { return (user, .notRead) }
        // Tokens of older versions name no session.
        guard let id = token.session else { return (user, .gone) }
        let (session, current) = try await store.session(id, of: token.user, tenant: token.tenant)
        return (current, presented(session))
    }
}

extension UserRecord {
    /// The longest time by which an ID token may be younger than the end of its session. Another server's clock issued
    /// it, or a refresh that had read the session before.
    private static let endingLeewaySeconds: Int64 = 300

    /// Returns true if a session of the user that was live at `time` may have ended alone since.
    fileprivate func mayHaveEndedSessions(since time: Timestamp) -> Bool {
        sessionEndedAt.map { time <= $0.adding(seconds: Self.endingLeewaySeconds) } ?? false
    }
}
