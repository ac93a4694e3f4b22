/// A result that one task delivers and any number of tasks await.
///
/// A waiter that is cancelled stops waiting at once; the work and the other waiters go on.
final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, AuthError>?
        var waiters: [Int: CheckedContinuation<Result<Value, AuthError>, Never>] = [:]
        var nextWaiter = 0
    }

    private let state = Locked(State())

    /// Delivers the result. Later results are ignored.
    func settle(_ result: Result<Value, AuthError>) {
        let waiters = state.with { state in
            guard state.result == nil else { return [CheckedContinuation<Result<Value, AuthError>, Never>]() }
            state.result = result
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: result) }
    }

    /// The result, as soon as it is there.
    ///
    /// - Throws: The error that was delivered, or ``AuthErrorCode/taskCancelled`` if the waiting task is cancelled.
    func value() async throws(AuthError) -> Value {
        let number = state.with { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let settled: Result<Value, AuthError>? = state.with { state in
                    if let result = state.result { return result }
                    if Task.isCancelled { return .failure(.cancelled) }
                    state.waiters[number] = continuation
                    return nil
                }
                if let settled { continuation.resume(returning: settled) }
            }
        } onCancel: {
            state.with { $0.waiters.removeValue(forKey: number) }?.resume(returning: .failure(.cancelled))
        }
        return try result.get()
    }
}
