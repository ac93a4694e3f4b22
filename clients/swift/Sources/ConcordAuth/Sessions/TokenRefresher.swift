import Foundation

/// The ID token that a caller needs.
enum TokenNeed: Sendable {
    /// One that is valid for 5 more minutes.
    case fresh
    /// One that the server did not refuse.
    case other(than: String)
    /// One that the server issues after this moment, for example with new claims.
    case new
}

/// Keeps the ID token of a session fresh: one refresh for any number of callers.
///
/// - A caller that is cancelled stops waiting; the refresh goes on for the others.
/// - A refresh that another process did meanwhile is taken over, unless a caller needs a new token.
/// - A caller that needs a new token does not join a refresh that was sent before.
/// - While a request that may replace the tokens is under way (``replacingTokens(ofSession:_:)``), refreshes wait: the
///   server may have ended the old refresh token already.
/// - A session that ended meanwhile stays ended: the late answer is dropped.
/// - Failures of the network never end the session. Only the server's word does (``AuthError/endsSession``).
final class TokenRefresher: Sendable {
    /// A token is refreshed this many seconds before it expires, as FirebaseAuth does.
    static let margin: TimeInterval = 300
    /// The most refreshes of one flight. More than one is sent if other processes replace the tokens meanwhile.
    private static let mostAttempts = 4

    private struct Arrival {
        let idToken: Secret
        let uptime: TimeInterval
    }

    /// A refresh, or another request that may replace the tokens.
    private struct Flight {
        let promise = Promise<StoredState>()
        let isRefresh: Bool
        /// True if a caller needs a new token.
        var isForced: Bool
        /// The moment at which a refresh began, by the count of all of them; `nil` before.
        var start: UInt64?
    }

    private struct Flights {
        var bySession: [UUID: Flight] = [:]
        var lastStart: UInt64 = 0
        /// The last forced refresh that succeeded.
        var forced: (session: UUID, start: UInt64)?
    }

    private enum Step {
        case wait(Promise<StoredState>)
        case join(Promise<StoredState>)
        case start(Promise<StoredState>)
    }

    private let backend: Backend
    private let keeper: StateKeeper
    private let flights = Locked(Flights())
    private let arrival = Locked<Arrival?>(nil)

    init(backend: Backend, keeper: StateKeeper) {
        self.backend = backend
        self.keeper = keeper
    }

    /// The state with the token of the session that the caller needs.
    ///
    /// - Throws: ``AuthErrorCode/nullUser`` if the session ended, the failure of the refresh otherwise.
    func freshState(ofSession id: UUID, _ need: TokenNeed) async throws(AuthError) -> StoredState {
        let before = flights.with { $0.lastStart }
        while true {
            let state = try keeper.read()
            let session = try session(id, in: state)
            if Task.isCancelled { throw .cancelled }
            switch need {
            case .fresh: if isFresh(session) { return state }
            case .other(let refused): if session.idToken.text != refused, isFresh(session) { return state }
            case .new:
                let last = flights.with { $0.forced }
                if let last, last.session == id, last.start > before { return state }
            }
            switch step(id, need, since: before) {
            case .wait(let promise): try await Self.wait(for: promise)
            case .join(let promise): return try await promise.value(until: Deadline.end)
            case .start(let promise):
                // The deadline of this caller is not that of the others.
                Task { [self] in
                    await Deadline.$end.withValue(nil) { await refresh(id, replacing: session.idToken, promise) }
                }
                return try await promise.value(until: Deadline.end)
            }
        }
    }

    private func step(_ id: UUID, _ need: TokenNeed, since before: UInt64) -> Step {
        let isForced = if case .new = need { true } else { false }
        return flights.with { flights in
            guard let flight = flights.bySession[id] else {
                let flight = Flight(isRefresh: true, isForced: isForced)
                flights.bySession[id] = flight
                return .start(flight.promise)
            }
            guard flight.isRefresh else { return .wait(flight.promise) }
            guard isForced else { return .join(flight.promise) }
            if let start = flight.start {
                return flight.isForced && start > before ? .join(flight.promise) : .wait(flight.promise)
            }
            flights.bySession[id]?.isForced = true
            return .join(flight.promise)
        }
    }

    /// Runs a request that may replace the tokens of a session, and stores its answer, while no refresh of the session
    /// is under way.
    func replacingTokens<Result>(
        ofSession id: UUID,
        _ request: () async throws(AuthError) -> Result
    ) async throws(AuthError) -> Result {
        let own = Flight(isRefresh: false, isForced: false)
        func take() -> Promise<StoredState>? {
            flights.with { flights in
                if let other = flights.bySession[id] { return other.promise }
                flights.bySession[id] = own
                return nil
            }
        }
        while let other = take() { try await Self.wait(for: other) }
        defer {
            flights.with { _ = $0.bySession.removeValue(forKey: id) }
            own.promise.settle(.failure(.signedOut))
        }
        return try await request()
    }

    /// Waits for the end of a flight, with or without success.
    private static func wait(for promise: Promise<StoredState>) async throws(AuthError) {
        do {
            _ = try await promise.value(until: Deadline.end)
        } catch {
            if Task.isCancelled { throw .cancelled }
            if Deadline.isOver { throw .deadlineOver }
        }
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

    private func refresh(_ id: UUID, replacing: Secret, _ promise: Promise<StoredState>) async {
        let (start, isForced) = flights.with { flights in
            flights.lastStart += 1
            flights.bySession[id]?.start = flights.lastStart
            return (flights.lastStart, flights.bySession[id]?.isForced ?? false)
        }
        let result: Result<StoredState, AuthError>
        do throws(AuthError) {
            result = .success(try await refreshed(id, replacing: replacing, isForced: isForced))
        } catch {
            result = .failure(error)
        }
        flights.with { flights in
            flights.bySession[id] = nil
            if isForced, case .success = result { flights.forced = (id, start) }
        }
        promise.settle(result)
    }

    private func refreshed(
        _ id: UUID,
        replacing: Secret,
        isForced: Bool
    ) async throws(AuthError) -> StoredState {
        var state = try keeper.read()
        var used = try session(id, in: state)
        if !isForced, used.idToken != replacing, isFresh(used) { return state }
        for _ in 0..<Self.mostAttempts {
            do throws(AuthError) {
                let (newest, isStored) = try await refresh(used)
                if isStored || !isForced { return newest }
                // A token that came meanwhile stays, and may be older than this refresh.
                state = newest
                used = try session(id, in: state)
            } catch {
                guard error.endsSession else { throw error }
                // Another process may have got other tokens meanwhile, for example with a new password.
                state = try keeper.read()
                let stored = try session(id, in: state)
                if stored.refreshToken == used.refreshToken {
                    try end(id, ifRefreshToken: used.refreshToken)
                    throw error
                }
                used = stored
                if !isForced, isFresh(used) { return state }
            }
        }
        return state
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

    /// Sends one refresh. Returns false if another token came meanwhile, which stays.
    private func refresh(_ used: StoredSession) async throws(AuthError) -> (state: StoredState, isStored: Bool) {
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
        let changed = try keeper.changeInMemory { state in
            // A token that came meanwhile, from a refresh of another process or a new password, stays.
            guard state.session?.id == used.id, state.session?.idToken == used.idToken else { return false }
            state.session?.take(fresh, at: now)
            return true
        }
        let stored = try session(used.id, in: changed.state)
        if stored.idToken.text == idToken { noteArrival(of: stored.idToken) }
        return (changed.state, changed.result)
    }

    /// Ends a session that the server ended.
    private func end(_ id: UUID, ifRefreshToken token: Secret) throws(AuthError) {
        _ = try keeper.changeInMemory { state in
            guard state.session?.id == id, state.session?.refreshToken == token else { return }
            state.session = nil
            state.endedSession = id
        }
    }
}
