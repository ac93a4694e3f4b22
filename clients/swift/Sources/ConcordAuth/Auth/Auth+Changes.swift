/// The part of a state that listeners observe.
struct Published: Equatable {
    var session: StoredSession?
    var version: StoredState.Version
}

extension Auth {
    /// The signed-in user now, and each time a session begins or ends; `nil` for none. A reauthentication and a link go
    /// on with the session.
    ///
    /// A change by another process is seen at the client's next use. Values that are not read yet are replaced by the
    /// newest. End the loop, or cancel its task, to stop.
    public var authStateChanges: AsyncStream<User?> { changes(\.stateListeners) }

    /// The users of ``authStateChanges``, and the user again each time the ID token changes.
    public var idTokenChanges: AsyncStream<User?> { changes(\.tokenListeners) }

    private func changes(
        _ listeners: any WritableKeyPath<State, [Int: AsyncStream<User?>.Continuation]> & Sendable
    ) -> AsyncStream<User?> {
        _ = currentUser
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let number = state.with { state in
                state.nextListener += 1
                state[keyPath: listeners][state.nextListener] = continuation
                continuation.yield(user(of: state.published?.session, &state))
                return state.nextListener
            }
            continuation.onTermination = { [weak self] _ in
                self?.removeListener(number)
            }
        }
    }

    private func removeListener(_ number: Int) {
        // The continuation is released outside the lock.
        _ = state.with { state in
            (state.stateListeners.removeValue(forKey: number), state.tokenListeners.removeValue(forKey: number))
        }
    }

    /// Notifies listeners of a state that was read or written, unless a newer one was published.
    ///
    /// - Parameters:
    ///   - stored: The state.
    ///   - user: The object to use if the session was ended and reopened.
    /// - Returns: The signed-in user.
    @discardableResult
    func publish(_ stored: StoredState, keeping user: User? = nil) -> User? {
        let session = stored.session.flatMap { $0.scope == configuration.scope ? $0 : nil }
        return state.with { state in
            if state.user == nil, let user, user.sessionID == session?.id { state.user = user }
            let last = state.published
            let isOld = last.map { stored.version < $0.version && $0.version - stored.version < 1 << 32 } ?? false
            if isOld, let user = state.user { return user }
            let user = self.user(of: session, &state)
            if isOld { return user }
            state.published = Published(session: session, version: stored.version)
            if last?.session?.id != session?.id {
                for listener in state.stateListeners.values { listener.yield(user) }
            }
            if last?.session?.idToken != session?.idToken {
                for listener in state.tokenListeners.values { listener.yield(user) }
            }
            return user
        }
    }

    private func user(of session: StoredSession?, _ state: inout State) -> User? {
        guard let session else {
            state.user = nil
            return nil
        }
        if let user = state.user, user.sessionID == session.id {
            user.profile.with { $0 = session.user }
            return user
        }
        let user = User(session, auth: self)
        state.user = user
        return user
    }
}
