import JSON
import Synchronization

/// What a process wrote to its log, line by line, while it still writes.
final class ProcessLog: Sendable {
    private struct Waiter {
        let message: String
        let continuation: CheckedContinuation<JSONValue?, Never>
    }

    private struct State {
        var lines: [String] = []
        var hasEnded = false
        var waiters: [Waiter] = []
    }

    private let state = Mutex(State())

    var text: String { state.withLock { $0.lines.joined(separator: "\n") } }

    /// The lines of a level, such as `error`.
    func lines(of level: String) -> [String] {
        state.withLock { $0.lines }.filter { Self.parsed($0)["level"]?.string == level }
    }

    func append(_ line: String) {
        let value = Self.parsed(line)
        let message = value["message"]?.string
        let found = state.withLock { state in
            state.lines.append(line)
            let found = state.waiters.filter { $0.message == message }
            state.waiters.removeAll { $0.message == message }
            return found
        }
        for waiter in found { waiter.continuation.resume(returning: value) }
    }

    func end() {
        let left = state.withLock { state in
            state.hasEnded = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in left { waiter.continuation.resume(returning: nil) }
    }

    /// The first line with `message`, or the next; `nil` when the process ends without one.
    func line(saying message: String) async -> JSONValue? {
        await withCheckedContinuation { continuation in
            let known: JSONValue?? = state.withLock { state in
                if let line = state.lines.lazy.map(Self.parsed).first(where: { $0["message"]?.string == message }) {
                    return .some(line)
                }
                if state.hasEnded { return .some(nil) }
                state.waiters.append(Waiter(message: message, continuation: continuation))
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    private static func parsed(_ line: String) -> JSONValue {
        (try? JSONValue(parsing: Array(line.utf8))) ?? .null
    }
}
