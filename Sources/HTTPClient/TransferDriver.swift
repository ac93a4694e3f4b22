import CCurl
import Glibc
import Synchronization

/// The queue of requests, and the thread that drives their transfers.
///
/// Only the thread uses libcurl: its multi handle and all easy handles are local to `run`. Callers put requests and
/// cancellations into `state` and wake the thread by an eventfd, which libcurl waits for together with its sockets. The
/// thread and the transport retain the driver, which closes the eventfd last.
final class TransferDriver: Sendable {
    private struct State {
        /// Limit of requests in progress.
        var transfersMax: Int
        /// Requests that the thread has not taken.
        var added: [Job] = []
        /// Cancelled requests in progress.
        var cancelled: Set<Int> = []
        /// Numbers of all requests in progress.
        var reserved: Set<Int> = []
        var requestsEver = 0
        /// The eventfd that wakes the thread; -1 before the first request.
        var wakeup: Int32 = -1
        var hasThread = false
        var isClosed = false
    }

    private let state: Mutex<State>

    init(transfersMax: Int) {
        state = Mutex(State(transfersMax: transfersMax))
    }

    /// Sets the limit of requests in progress, for later requests.
    func limit(transfersMax: Int) {
        state.withLock { $0.transfersMax = transfersMax }
    }

    deinit {
        let wakeup = state.withLock(\.wakeup)
        if wakeup >= 0 { Glibc.close(wakeup) }
    }

    /// Returns the number of a new request, which must be added.
    func reserve() throws(HTTPTransport.Failure) -> Int {
        let number = state.withLock { state -> Result<Int, HTTPTransport.Failure> in
            guard state.reserved.count < state.transfersMax else { return .failure(.tooManyRequests) }
            if state.wakeup < 0 { state.wakeup = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) }
            guard state.wakeup >= 0 else { return .failure(.unreachable(reason: "no file descriptor left")) }
            state.requestsEver += 1
            state.reserved.insert(state.requestsEver)
            return .success(state.requestsEver)
        }
        return try number.get()
    }

    func add(_ job: Job) {
        enum Step {
            case start, signal
            case fail(HTTPTransport.Failure)
        }
        let step = state.withLock { state -> Step in
            if state.isClosed || state.cancelled.contains(job.number) {
                state.reserved.remove(job.number)
                state.cancelled.remove(job.number)
                return .fail(state.isClosed ? .closed : .cancelled)
            }
            state.added.append(job)
            defer { state.hasThread = true }
            return state.hasThread ? .signal : .start
        }
        switch step {
        case .start: if !startThread(self) { failAdded() }
        case .signal: signal()
        case .fail(let failure): job.continuation.resume(returning: .failure(failure))
        }
    }

    /// Fails the requests that wait for a thread. The next request tries again to start it.
    private func failAdded() {
        let added = state.withLock { state in
            state.hasThread = false
            defer { state.added = [] }
            return state.added
        }
        for job in added { settle(job, .failure(.unreachable(reason: "no thread can be made"))) }
    }

    /// Does nothing if the request is no longer in progress. It may come before `add`.
    func cancel(_ number: Int) {
        let isInProgress = state.withLock { state in
            guard state.reserved.contains(number) else { return false }
            state.cancelled.insert(number)
            return true
        }
        if isInProgress { signal() }
    }

    /// Fails all requests and ends the thread.
    func close() {
        state.withLock { $0.isClosed = true }
        signal()
    }

    private func signal() {
        let wakeup = state.withLock(\.wakeup)
        if wakeup >= 0 { eventfd_write(wakeup, 1) }
    }

    // MARK: The thread

    fileprivate func run() {
        // A write to a closed connection would end the process. libcurl leaves this to the program.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)

        guard CurlLibrary.isReady, let multi = curl_multi_init() else {
            state.withLock { $0.isClosed = true }
            for job in takeWork().added { settle(job, .failure(.closed)) }
            return
        }
        /// By easy handle. An entry leaves when the multi handle has forgotten the easy handle.
        var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
        func end(_ transfer: Transfer, _ result: Result<HTTPTransport.Response, HTTPTransport.Failure>) {
            curl_multi_remove_handle(multi, transfer.handle)
            transfers[transfer.handle] = nil
            settle(transfer.job, result)
        }
        var files = AuthorityFiles()
        let refused = HTTPTransport.Failure.unreachable(reason: "libcurl does not accept the request")
        while true {
            let (added, cancelled, isClosed) = takeWork()
            if isClosed {
                for transfer in Array(transfers.values) { end(transfer, .failure(.closed)) }
                for job in added { settle(job, .failure(.closed)) }
                break
            }
            for job in added {
                guard let transfer = Transfer(job, &files) else {
                    settle(job, .failure(refused))
                    continue
                }
                transfers[transfer.handle] = transfer
                if curl_multi_add_handle(multi, transfer.handle) != CURLM_OK { end(transfer, .failure(refused)) }
            }
            if !cancelled.isEmpty {
                for transfer in transfers.values.filter({ cancelled.contains($0.job.number) }) {
                    end(transfer, .failure(.cancelled))
                }
            }
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            var left: Int32 = 0
            while let message = curl_multi_info_read(multi, &left) {
                guard let handle = message.pointee.easy_handle, let transfer = transfers[handle] else { continue }
                end(transfer, transfer.result(of: ccurl_result(message)))
            }
            // libcurl has the deadlines too, but counts anew for a request that waited for another's connection.
            let now = ContinuousClock.now
            for transfer in transfers.values.filter({ $0.job.request.deadline <= now }) {
                end(transfer, .failure(.timedOut))
            }
            wait(multi, until: transfers.values.lazy.map(\.job.request.deadline).min())
        }
        curl_multi_cleanup(multi)
    }

    private func takeWork() -> (added: [Job], cancelled: Set<Int>, isClosed: Bool) {
        state.withLock { state in
            let work = (state.added, state.cancelled, state.isClosed)
            state.added = []
            return work
        }
    }

    /// Waits for a socket, a timer of libcurl, a signal, or the deadline.
    private func wait(_ multi: UnsafeMutableRawPointer, until deadline: ContinuousClock.Instant?) {
        let wakeup = state.withLock(\.wakeup)
        var wakeups = [curl_waitfd(fd: wakeup, events: Int16(CURL_WAIT_POLLIN), revents: 0)]
        let milliseconds = deadline.map { deadline in
            let left = ContinuousClock.now.duration(to: deadline) / .milliseconds(1)
            return Int32(min(max(left.rounded(.up), 0), Double(Int32.max)))
        }
        if curl_multi_poll(multi, &wakeups, 1, milliseconds ?? Int32.max, nil) != CURLM_OK {
            // Memory is exhausted: do not make it worse by spinning.
            usleep(10_000)
        }
        var count: eventfd_t = 0
        eventfd_read(wakeup, &count)
    }

    private func settle(_ job: Job, _ result: Result<HTTPTransport.Response, HTTPTransport.Failure>) {
        state.withLock { state in
            state.reserved.remove(job.number)
            state.cancelled.remove(job.number)
        }
        job.continuation.resume(returning: result)
    }
}

/// Runs `driver` on a new thread, which retains it. Returns false if the system makes none.
private func startThread(_ driver: TransferDriver) -> Bool {
    var thread = pthread_t()
    let argument = Unmanaged.passRetained(driver)
    let outcome = pthread_create(
        &thread,
        nil,
        { argument in
            guard let argument else { return nil }
            Unmanaged<TransferDriver>.fromOpaque(argument).takeRetainedValue().run()
            return nil
        },
        argument.toOpaque()
    )
    guard outcome == 0 else {
        argument.release()
        return false
    }
    pthread_detach(thread)
    return true
}
