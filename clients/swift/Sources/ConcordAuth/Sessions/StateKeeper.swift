import Foundation

/// Reads and changes the state of one scope in one store: each change is one compare-and-set.
///
/// If the store cannot be written, changes whose loss would end the session stay in memory until the process ends, or a
/// later change can be written, or another process writes the store.
final class StateKeeper: Sendable {
    /// A state that could not be written.
    private struct Unwritten {
        let base: StoredState.Version?
        let whole: StoredState
        let failure: AuthError
    }

    /// A changed state.
    struct Change<Result> {
        let state: StoredState
        let result: Result
        /// The failure of the write, if the state is in memory alone.
        let failure: AuthError?
    }

    private let store: any SessionStore
    private let scope: String
    private let unwritten = Locked<Unwritten?>(nil)
    /// Changes of this process queue here, so that they do not make each other start over.
    private let queue = NSLock()
    /// Seconds that a change waits for other changes, of this process and of others.
    private let patience: TimeInterval
    /// More retries than writers of other processes can cause in practice.
    private static let mostRetries = 1_000

    init(_ store: any SessionStore, scope: String, patience: TimeInterval = 10) {
        self.store = store
        self.scope = scope
        self.patience = patience
    }

    /// The failure of the last write, while the newest state is in memory alone.
    var writeFailure: AuthError? { unwritten.with { $0?.failure } }

    /// The stored state; an empty one if nothing is stored.
    ///
    /// - Throws: ``AuthErrorCode/storeUnreadable``, ``AuthErrorCode/storeFutureFormat``,
    ///   ``AuthErrorCode/keychainError``.
    func read() throws(AuthError) -> StoredState { try readWhole().state.part(of: scope) }

    private func readWhole() throws(AuthError) -> (stored: StoredState.Version?, state: StoredState) {
        let stored: StoredState?
        do { stored = try store.read() } catch { throw AuthError(reading: error) }
        let newest = unwritten.with { unwritten in
            // Another process wrote the store: its state counts.
            if let state = unwritten, state.base != stored?.version { unwritten = nil }
            return unwritten?.whole
        }
        return (stored?.version, newest ?? stored ?? StoredState())
    }

    /// Changes the stored state. `change` may run several times, on newer states.
    ///
    /// - Returns: The state as stored, and the result of `change`. If `change` leaves the state as it is, nothing is
    ///   written.
    /// - Throws: The errors of ``read()``; ``AuthErrorCode/storeNotWritable``, also after 10 seconds of waiting for
    ///   other
    ///   writers.
    func change<Result>(
        _ change: (inout StoredState) -> Result
    ) throws(AuthError) -> (state: StoredState, result: Result) {
        let changed = try apply(change, inMemory: false)
        return (changed.state, changed.result)
    }

    /// Changes the state as ``change(_:)`` does, but keeps a state that cannot be written in memory, and returns it with
    /// the failure.
    func changeInMemory<Result>(_ change: (inout StoredState) -> Result) throws(AuthError) -> Change<Result> {
        try apply(change, inMemory: true)
    }

    private func apply<Result>(
        _ change: (inout StoredState) -> Result,
        inMemory: Bool
    ) throws(AuthError) -> Change<Result> {
        let end = Uptime.now() + patience
        guard queue.lock(before: Date(timeIntervalSinceNow: patience)) else {
            throw AuthError(.storeNotWritable, "other changes of the session store took more than \(patience) seconds")
        }
        defer { queue.unlock() }
        for _ in 0..<Self.mostRetries where Uptime.now() < end {
            let (stored, old) = try readWhole()
            let before = old.part(of: scope)
            var state = before
            let result = change(&state)
            if state == before { return Change(state: before, result: result, failure: nil) }
            state.version = stored.map { $0 &+ 1 } ?? old.version
            var whole = old
            whole.replacePart(of: scope, with: state)
            whole.version = state.version
            do {
                guard try store.replace(stored, with: whole) else { continue }
                unwritten.with { $0 = nil }
                return Change(state: state, result: result, failure: nil)
            } catch {
                let failure = AuthError(writing: error)
                let isKept = unwritten.with { unwritten in
                    guard inMemory || unwritten != nil else { return false }
                    unwritten = Unwritten(base: stored, whole: whole, failure: failure)
                    return true
                }
                guard inMemory, isKept else { throw failure }
                return Change(state: state, result: result, failure: failure)
            }
        }
        throw AuthError(.storeNotWritable, "another process writes the session store all the time")
    }

    func discard() throws(AuthError) {
        do { try store.discard() } catch { throw AuthError(writing: error) }
        unwritten.with { $0 = nil }
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
