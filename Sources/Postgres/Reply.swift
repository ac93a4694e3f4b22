import Synchronization

/// An answer that one caller waits for and that whoever is first gives: the server, a deadline, the caller's
/// cancellation or the shutdown. All later ones are told that they came too late.
final class Reply<Value: Sendable>: Sendable {
    private enum State {
        case pending
        case waiting(CheckedContinuation<Value, Never>)
        case given(Value)
        case taken
    }

    private struct Guarded {
        var state = State.pending
        var isStarted = false
    }

    private let guarded = Mutex(Guarded())

    /// Notes that work for this answer begins. `false` when nobody waits for it any more.
    func start() -> Bool {
        guarded.withLock { guarded in
            switch guarded.state {
            case .pending, .waiting:
                guarded.isStarted = true
                return true
            case .given, .taken:
                return false
            }
        }
    }

    /// Gives the answer, unless there is one. `value` is told whether work for it had begun.
    @discardableResult
    func finish(_ value: (_ isStarted: Bool) -> Value) -> Bool {
        let (continuation, value): (CheckedContinuation<Value, Never>?, Value?) = guarded.withLock { guarded in
            switch guarded.state {
            case .pending:
                let value = value(guarded.isStarted)
                guarded.state = .given(value)
                return (nil, value)
            case .waiting(let continuation):
                guarded.state = .taken
                return (continuation, value(guarded.isStarted))
            case .given, .taken:
                return (nil, nil)
            }
        }
        guard let value else { return false }
        continuation?.resume(returning: value)
        return true
    }

    /// Waits for the answer, which is what `cancelled` says when the calling task is cancelled first. To be called
    /// once.
    func value(cancelled: @escaping @Sendable (_ isStarted: Bool) -> Value) async -> Value {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let given: Value? = guarded.withLock { guarded in
                    switch guarded.state {
                    case .pending:
                        guarded.state = .waiting(continuation)
                        return nil
                    case .given(let value):
                        guarded.state = .taken
                        return value
                    case .waiting, .taken:
                        preconditionFailure("an answer is waited for once")
                    }
                }
                if let given { continuation.resume(returning: given) }
            }
        } onCancel: {
            finish(cancelled)
        }
    }
}
