import CLibpq
import DequeModule
import Glibc
import Synchronization

/// Wakes a thread that waits for it; signals add up to one.
///
/// An eventfd, so that the reactor can wait for it together with its sockets.
final class Wakeup: Sendable {
    let descriptor: Int32

    init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC))
        precondition(descriptor >= 0, "no file descriptor left")
    }

    deinit {
        close(descriptor)
    }

    func signal() {
        eventfd_write(descriptor, 1)
    }

    /// Blocks until there was a signal since the last call.
    func wait() {
        var count: eventfd_t = 0
        while eventfd_read(descriptor, &count) != 0, errno == EINTR {}
    }
}

/// Starts a thread that runs `body` and ends.
func startThread(_ body: @escaping @Sendable () -> Void) {
    final class Start: Sendable {
        let body: @Sendable () -> Void

        init(body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
    var thread = pthread_t()
    // The new thread takes over the reference that passRetained leaves here.
    let start = Unmanaged.passRetained(Start(body: body))
    let outcome = pthread_create(
        &thread,
        nil,
        { argument in
            guard let argument else { return nil }
            Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
            return nil
        },
        start.toOpaque()
    )
    precondition(outcome == 0, "no thread can be made")
    pthread_detach(thread)
}

/// Runs blocking work on a thread of its own and waits for it without blocking the caller's.
package func runOnNewThread<Output: Sendable>(
    _ body: @escaping @Sendable () -> Output
) async -> Output {
    await withCheckedContinuation { continuation in
        startThread { continuation.resume(returning: body()) }
    }
}

/// An executor of one thread that is made when it first gets work.
///
/// Work that runs here keeps its task's locals, which a bare thread would lose. It may block.
final class ThreadExecutor: TaskExecutor {
    private struct State {
        var jobs: Deque<UnownedJob> = []
        var hasThread = false
        var isStopped = false
    }

    private let state = Mutex(State())
    private let wakeup = Wakeup()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let needsThread = state.withLock { state in
            state.jobs.append(job)
            defer { state.hasThread = true }
            return !state.hasThread
        }
        if needsThread {
            startThread { self.runJobs() }
        } else {
            wakeup.signal()
        }
    }

    /// Ends the thread once it has run what was enqueued before.
    func stop() {
        state.withLock { $0.isStopped = true }
        wakeup.signal()
    }

    private enum Turn {
        case run(UnownedJob)
        case wait
        case end
    }

    private func runJobs() {
        while true {
            let turn: Turn = state.withLock { state in
                if let job = state.jobs.popFirst() { return .run(job) }
                guard state.isStopped else { return .wait }
                // Whoever enqueues after this makes another thread.
                state.hasThread = false
                return .end
            }
            switch turn {
            case .run(let job): job.runSynchronously(on: asUnownedTaskExecutor())
            case .wait: wakeup.wait()
            case .end: return
            }
        }
    }
}
