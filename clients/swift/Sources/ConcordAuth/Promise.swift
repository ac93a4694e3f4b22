import Foundation

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
    /// - Parameter end: The moment at which the waiter gives up, in seconds of ``Uptime``.
    /// - Returns: The result.
    /// - Throws: The error that was delivered, or ``AuthErrorCode/taskCancelled`` if the waiting task is cancelled, or
    ///   ``AuthErrorCode/networkError`` after `end`.
    func value(until end: TimeInterval? = nil) async throws(AuthError) -> Value {
        let number = state.with { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let timer = end.map { end in
            Task {
                try await Task.sleep(nanoseconds: UInt64(min(max(end - Uptime.now(), 0), 1e9) * 1_000_000_000))
                state.with { $0.waiters.removeValue(forKey: number) }?.resume(returning: .failure(.deadlineOver))
            }
        }
        defer { timer?.cancel() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let settled: Result<Value, AuthError>? = state.with { state in
                    if let result = state.result { return result }
                    if Task.isCancelled { return .failure(.cancelled) }
                    if let end, Uptime.now() >= end { return .failure(.deadlineOver) }
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
