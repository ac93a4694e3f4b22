import Foundation

/// Keeps the ID token of a session fresh: one refresh for any number of callers.
///
/// - A caller that is cancelled stops waiting; the refresh goes on for the others.
/// - A refresh that another process did meanwhile is taken over.
/// - A session that ended meanwhile stays ended: the late answer is dropped.
/// - Failures of the network never end the session. Only the server's word does (``AuthError/endsSession``).
final class TokenRefresher: Sendable {
    /// A token is refreshed this many seconds before it expires, as FirebaseAuth does.
    static let margin: TimeInterval = 300

    private struct Arrival {
        let idToken: Secret
        let uptime: TimeInterval
    }

    private let backend: Backend
    private let keeper: StateKeeper
    private let flights = Locked<[UUID: Promise<StoredState>]>([:])
    private let arrival = Locked<Arrival?>(nil)

    init(backend: Backend, keeper: StateKeeper) {
        self.backend = backend
        self.keeper = keeper
    }

    /// The state with a fresh token of the session.
    ///
    /// - Throws: ``AuthErrorCode/nullUser`` if the session ended, the failure of the refresh otherwise.
    func freshState(ofSession id: UUID, forcing: Bool) async throws(AuthError) -> StoredState {
        let state = try keeper.read()
        let session = try session(id, in: state)
        if Task.isCancelled { throw .cancelled }
        if !forcing, isFresh(session) { return state }
        let (flight, isNew) = flights.with { flights in
            if let flight = flights[id] { return (flight, false) }
            let flight = Promise<StoredState>()
            flights[id] = flight
            return (flight, true)
        }
        if isNew {
            Task {
                let result = await refresh(id, replacing: session.idToken, forcing: forcing)
                flights.with { _ = $0.removeValue(forKey: id) }
                flight.settle(result)
            }
        }
        return try await flight.value()
    }

    /// Notes the moment at which a token arrived, by a clock that no user sets.
    func noteArrival(of idToken: Secret) {
        let uptime = Uptime.now()
        arrival.with { $0 = Arrival(idToken: idToken, uptime: uptime) }
    }

    func isFresh(_ session: StoredSession) -> Bool {
        let known = arrival.with { $0?.idToken == session.idToken ? $0?.uptime : nil }
        let age: TimeInterval
        if let known {
            age = Uptime.now() - known
        } else {
            age = backend.configuration.now().timeIntervalSince(session.receiveTime)
            // The machine's clock was set back since: the token's age is unknown.
            if age < 0 { return false }
        }
        return session.lifetime - age > Self.margin
    }

    private func session(_ id: UUID, in state: StoredState) throws(AuthError) -> StoredSession {
        guard let session = state.session, session.id == id, session.scope == backend.configuration.scope else {
            throw .signedOut
        }
        return session
    }

    private func refresh(_ id: UUID, replacing: Secret, forcing: Bool) async -> Result<StoredState, AuthError> {
        do throws(AuthError) {
            var state = try keeper.read()
            var used = try session(id, in: state)
            if used.idToken != replacing, forcing || isFresh(used) { return .success(state) }
            while true {
                do throws(AuthError) {
                    return .success(try await refresh(used))
                } catch {
                    guard error.endsSession else { throw error }
                    // Another process may have used the refresh token meanwhile, and stored its successor.
                    state = try keeper.read()
                    let stored = try session(id, in: state)
                    if stored.refreshToken == used.refreshToken {
                        try end(id, ifRefreshToken: used.refreshToken)
                        throw error
                    }
                    used = stored
                    if isFresh(used) { return .success(state) }
                }
            }
        } catch {
            return .failure(error)
        }
    }

    private struct Answer: Decodable, Sendable {
        let accessToken: String?
        let idToken: String?
        let refreshToken: String
        let lifetime: LooseNumber?
        let userID: String?

        private enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case idToken = "id_token"
            case refreshToken = "refresh_token"
            case lifetime = "expires_in"
            case userID = "user_id"
        }
    }

    private func refresh(_ used: StoredSession) async throws(AuthError) -> StoredState {
        var call = Call<Answer>(method: .post, path: "/v1/token", isRepeatable: true)
        call.form = ["grant_type": "refresh_token", "refresh_token": used.refreshToken.text]
        let answered = try await backend.send(call)
        let answer = answered.value
        guard let idToken = answer.idToken ?? answer.accessToken, !idToken.isEmpty else {
            throw AuthError(.invalidServerAnswer, "the answer to a refresh has no ID token")
        }
        let fresh = try FreshTokens(
            idToken: idToken,
            refreshToken: answer.refreshToken,
            expiresIn: answer.lifetime?.text,
            localID: answer.userID,
            serverTime: answered.serverTime,
            projectID: backend.configuration.projectID
        )
        guard fresh.claims.uid == used.user.uid else { throw .tokenOfAnotherAccount }
        let now = backend.configuration.now()
        let (state, _) = try keeper.change { state in
            // A token that came meanwhile, from a refresh of another process or a new password, stays.
            guard state.session?.id == used.id, state.session?.idToken == used.idToken else { return }
            state.session?.take(fresh, at: now)
        }
        let stored = try session(used.id, in: state)
        if stored.idToken.text == idToken { noteArrival(of: stored.idToken) }
        return state
    }

    /// Ends a session that the server ended.
    private func end(_ id: UUID, ifRefreshToken token: Secret) throws(AuthError) {
        _ = try keeper.change { state in
            if state.session?.id == id, state.session?.refreshToken == token { state.session = nil }
        }
    }
}

extension StoredSession {
    /// A new session.
    init(_ tokens: FreshTokens, scope: String, at now: Date) {
        id = UUID()
        self.scope = scope
        refreshToken = Secret(tokens.refreshToken)
        idToken = Secret(tokens.idToken)
        receiveTime = now
        lifetime = tokens.lifetime
        user = StoredUser(tokens.claims)
    }

    /// Replaces the tokens of the session by newer ones.
    mutating func take(_ tokens: FreshTokens, at now: Date) {
        refreshToken = Secret(tokens.refreshToken)
        idToken = Secret(tokens.idToken)
        receiveTime = now
        lifetime = tokens.lifetime
    }
}
