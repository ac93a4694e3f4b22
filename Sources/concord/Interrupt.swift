import Synchronization
import UnixSignals

/// The error after Ctrl-C or a signal to end.
struct Interrupted: Error {}

/// Notices SIGINT and SIGTERM while something runs that ends by itself where it stands well.
final class Interrupt: Sendable {
    private let came = Atomic(false)
    private let notice: String?

    /// - `notice`: the text for the person who waits for the end.
    init(saying notice: String? = "stopping after the work in progress") {
        self.notice = notice
    }

    /// True if the signal has come.
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
