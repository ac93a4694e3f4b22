import CLibpq
import DequeModule
import Glibc
import Synchronization

/// Wakes a waiting thread; several signals count as one.
///
/// An eventfd, so that the reactor can wait for it together with its sockets.
package final class Wakeup: Sendable {
    let descriptor: Int32

    package init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC))
        precondition(descriptor >= 0, "no file descriptor left")
    }

    deinit {
        close(descriptor)
    }

    package func signal() {
        eventfd_write(descriptor, 1)
    }

    /// Blocks until a signal has come since the last call.
    package func wait() {
        var count: eventfd_t = 0
        while eventfd_read(descriptor, &count) != 0, errno == EINTR {}
    }

    /// Blocks until a signal has come since the last call, for about `milliseconds` at most.
    /// - Returns: false if none has come.
    package func wait(milliseconds: Int32) -> Bool {
        var input = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&input, 1, milliseconds) > 0 else { return false }
        wait()
        return true
    }
}

/// Runs `body` on a new thread.
package func startThread(_ body: @escaping @Sendable () -> Void) {
    final class Start: Sendable {
        let body: @Sendable () -> Void

        init(body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
    var thread = pthread_t()
    // The new thread takes over the reference of passRetained.
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

/// Runs blocking work on a new thread, and waits for it without blocking the caller's thread.
package func runOnNewThread<Output: Sendable>(
    _ body: @escaping @Sendable () -> Output
) async -> Output {
    await withCheckedContinuation { continuation in
        startThread { continuation.resume(returning: body()) }
    }
}

/// An executor of one thread, which starts with the first work.
///
/// Work keeps its task's locals, which a bare thread would lose. It may block.
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

    /// Ends the thread after the enqueued work.
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
                // A later `enqueue` starts another thread.
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
