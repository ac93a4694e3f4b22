import JSON
import Synchronization

/// The log of a running process, line by line.
final class ProcessLog: Sendable {
    private struct Waiter {
        let number: Int
        let message: String
        let continuation: CheckedContinuation<JSONValue?, Never>
    }

    private struct State {
        var lines: [String] = []
        var hasEnded = false
        var waiters: [Waiter] = []
        var waitersEver = 0
    }

    /// Longer than any line takes on a machine that is busy with all other tests.
    private static let waitMax = Duration.seconds(900)

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

    /// The first line with `message`, or the next; `nil` when the process ends without one, or writes none for long.
    func line(saying message: String) async -> JSONValue? {
        let number = state.withLock { state in
            state.waitersEver += 1
            return state.waitersEver
        }
        let end = Task {
            try await Task.sleep(for: Self.waitMax)
            giveUp(number)
        }
        defer { end.cancel() }
        return await withCheckedContinuation { continuation in
            let known: JSONValue?? = state.withLock { state in
                if let line = state.lines.lazy.map(Self.parsed).first(where: { $0["message"]?.string == message }) {
                    return .some(line)
                }
                if state.hasEnded { return .some(nil) }
                state.waiters.append(Waiter(number: number, message: message, continuation: continuation))
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    private func giveUp(_ number: Int) {
        let waiter = state.withLock { state in
            let place = state.waiters.firstIndex { $0.number == number }
            return place.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: nil)
    }

    private static func parsed(_ line: String) -> JSONValue {
        (try? JSONValue(parsing: Array(line.utf8))) ?? .null
    }
}
