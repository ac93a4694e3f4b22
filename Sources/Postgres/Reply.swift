import Synchronization

/// An answer that one caller waits for. The first to give it wins: the server, a deadline, the caller's cancellation or
/// the shutdown. Later attempts fail.
final class Reply<Value: Sendable>: Sendable {
    private enum State {
        case pending
        case waiting(CheckedContinuation<Value, Never>)
        case given(Value)
        case taken
    }

    private struct Contents {
        var state = State.pending
        var isStarted = false
    }

    private let contents = Mutex(Contents())

    /// Records that work for this answer begins. Returns `false` if its caller has gone.
    func start() -> Bool {
        contents.withLock { contents in
            switch contents.state {
            case .pending, .waiting:
                contents.isStarted = true
                return true
            case .given, .taken:
                return false
            }
        }
    }

    /// Gives the answer, unless there is one. `value` gets `true` if work for it had begun.
    @discardableResult
    func finish(_ value: (_ isStarted: Bool) -> Value) -> Bool {
        let (continuation, value): (CheckedContinuation<Value, Never>?, Value?) = contents.withLock { contents in
            switch contents.state {
            case .pending:
                let value = value(contents.isStarted)
                contents.state = .given(value)
                return (nil, value)
            case .waiting(let continuation):
                contents.state = .taken
                return (continuation, value(contents.isStarted))
            case .given, .taken:
                return (nil, nil)
            }
        }
        guard let value else { return false }
        continuation?.resume(returning: value)
        return true
    }

    /// Waits for the answer. If the calling task is cancelled first, `cancelled` makes the answer. Call it once.
    func value(cancelled: @escaping @Sendable (_ isStarted: Bool) -> Value) async -> Value {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let given: Value? = contents.withLock { contents in
                    switch contents.state {
                    case .pending:
                        contents.state = .waiting(continuation)
                        return nil
                    case .given(let value):
                        contents.state = .taken
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
