import Synchronization
import UnixSignals

/// The error after Ctrl-C or a signal to end.
struct Interrupted: Error {}

/// Records SIGINT and SIGTERM while a task runs that checks for them and stops at a safe place.
final class Interrupt: Sendable {
    private let came = Atomic(false)
    private let notice: String?

    /// - `notice`: the text on the first signal.
    init(saying notice: String? = "stopping after the work in progress") {
        self.notice = notice
    }

    /// True after a signal.
    var hasCome: Bool { came.load(ordering: .relaxed) }

    /// Runs `body`; meanwhile signals are recorded and do not end the process. The first one prints the notice.
    func watching<Output: Sendable>(_ body: () async throws -> Output) async rethrows -> Output {
        let signals = await UnixSignalsSequence(trapping: [.sigint, .sigterm])
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in signals where !self.came.exchange(true, ordering: .relaxed) {
                    if let notice = self.notice { complain(notice) }
                }
            }
            defer { group.cancelAll() }
            return try await body()
        }
    }
}
