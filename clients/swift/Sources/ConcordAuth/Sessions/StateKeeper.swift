import Foundation

/// Reads and changes the state of one store: each change is one compare-and-set.
final class StateKeeper: Sendable {
    private let store: any SessionStore
    /// Changes of this process queue here, so that they do not make each other start over.
    private let queue = Locked(())
    /// More retries than writers of other processes can cause in practice.
    private static let mostRetries = 1_000

    init(_ store: any SessionStore) { self.store = store }

    /// The stored state; an empty one if nothing is stored.
    ///
    /// - Throws: ``AuthErrorCode/storeUnreadable``, ``AuthErrorCode/storeFutureFormat``,
    ///   ``AuthErrorCode/keychainError``.
    func read() throws(AuthError) -> StoredState {
        do { return try store.read() ?? StoredState() } catch { throw AuthError(reading: error) }
    }

    /// Changes the stored state. `change` may run several times, on newer states.
    ///
    /// - Returns: The state as stored, and the result of `change`. If `change` leaves the state as it is, nothing is
    ///   written.
    func change<Result>(
        _ change: (inout StoredState) -> Result
    ) throws(AuthError) -> (state: StoredState, result: Result) {
        try queue.with { (_) throws(AuthError) -> (state: StoredState, result: Result) in
            for _ in 0..<Self.mostRetries {
                let stored: StoredState?
                do { stored = try store.read() } catch { throw AuthError(reading: error) }
                var state = stored ?? StoredState()
                let before = state
                let result = change(&state)
                if state == before { return (before, result) }
                state.version = before.version &+ 1
                do {
                    if try store.replace(stored?.version, with: state) { return (state, result) }
                } catch {
                    throw AuthError(writing: error)
                }
            }
            throw AuthError(.storeNotWritable, "another process writes the session store all the time")
        }
    }

    func discard() throws(AuthError) {
        do { try store.discard() } catch { throw AuthError(writing: error) }
    }
}

extension AuthError {
    fileprivate init(reading error: any Error) {
        switch error as? SessionStoreError {
        case .futureFormat(let format):
            self.init(
                .storeFutureFormat,
                "the session store has format \(format), this version reads \(StoredState.format). Update the app",
                underlying: error
            )
        case .damaged(let what):
            self.init(
                .storeUnreadable,
                "the session store is damaged: \(what). Auth.discardStoredState() starts over",
                underlying: error
            )
        case .unavailable(let why):
            self.init(.storeUnreadable, "the session store cannot be read: \(why)", underlying: error)
        case nil:
            self =
                error as? AuthError
                ?? AuthError(.storeUnreadable, "the session store cannot be read", underlying: error)
        }
    }

    fileprivate init(writing error: any Error) {
        if case .unavailable(let why) = error as? SessionStoreError {
            self.init(.storeNotWritable, "the session store cannot be written: \(why)", underlying: error)
        } else {
            self =
                error as? AuthError
                ?? AuthError(.storeNotWritable, "the session store cannot be written", underlying: error)
        }
    }
}
