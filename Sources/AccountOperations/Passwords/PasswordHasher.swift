import CArgon2
package import Metrics
import NIOPosix
package import Spans
import Synchronization
import Tracing

/// Hashes passwords on separate threads behind a bounded queue, so that a flood of sign-ins does not slow lookups, and
/// one network's flood does not lock others out (`HashQueue`).
///
/// New hashes are Argon2id with 19 MiB, two passes and one lane (OWASP Password Storage Cheat Sheet; RFC 9106).
package final class PasswordHasher: Sendable {
    /// The queue is full: answer 503, so that the client retries.
    package struct Overloaded: Error, Sendable {}

    /// The library failed, which only lack of memory explains.
    package struct HashingFailed: Error, Sendable {
        package let code: Int32
    }

    /// The named secret does not exist.
    package struct MissingKey: Error, Sendable {}

    private static let memoryKiB: UInt32 = 19 * 1024
    private static let passes: UInt32 = 2
    private static let lanes: UInt32 = 1
    private static let saltBytes = 16
    private static let hashBytes = 32

    private struct Job: Sendable {
        let ticket: HashQueue.Ticket
        /// Returns a closure that resumes the caller with the result.
        let run: @Sendable () -> @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    private struct State: Sendable {
        var queue: HashQueue
        var jobs: [HashQueue.Ticket: Job] = [:]
        var isShutDown = false
        private var ticketsMade: UInt64 = 0

        init(queue: HashQueue) {
            self.queue = queue
        }

        mutating func newTicket() -> HashQueue.Ticket {
            ticketsMade += 1
            return HashQueue.Ticket(number: ticketsMade)
        }
    }

    private let threads: NIOThreadPool
    private let state: Mutex<State>
    private let metrics: PasswordHasherMetrics
    private let spans: Spans
    private let randomBytes: @Sendable (Int) -> [UInt8]
    /// Verified without a stored hash, so that unknown addresses take as long as known ones.
    private let dummyHash: PasswordHash

    /// - `threadCount`: each thread uses one core and 19 MiB.
    /// - `queueMax`: waiting and running passwords before `Overloaded`.
    package init(
        threadCount: Int,
        queueMax: Int,
        randomBytes: @escaping @Sendable (Int) -> [UInt8],
        metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        spans: Spans = .off
    ) throws(HashingFailed) {
        self.state = Mutex(State(queue: HashQueue(threadCount: threadCount, placesMax: queueMax)))
        self.metrics = PasswordHasherMetrics(metrics)
        self.spans = spans
        self.randomBytes = randomBytes
        self.dummyHash = try Self.readable(try Self.argon2id([], salt: randomBytes(Self.saltBytes)))
        self.threads = NIOThreadPool(numberOfThreads: threadCount)
        self.threads.start()
    }

    /// Fails the waiting passwords and refuses later ones.
    package func shutDown() async {
        let waiting = state.withLock { state in
            state.isShutDown = true
            let left = state.jobs.values.filter { state.queue.leave($0.ticket) }
            for job in left { state.jobs[job.ticket] = nil }
            return left
        }
        for job in waiting { job.fail(CancellationError()) }
        try? await threads.shutdownGracefully()
    }

    /// A PHC string.
    /// - Throws: `Overloaded`, `HashingFailed`.
    package func hash(_ password: String, for caller: HashCaller) async throws -> String {
        let salt = randomBytes(Self.saltBytes)
        let span = spans.child("hash password", .internal)
        span?.attributes["concord.password.algorithm"] = "argon2"
        return try await run(for: caller, span) { try Self.argon2id(Array(password.utf8), salt: salt) }
    }

    /// Without a hash the result is false after the same work. A hash with other parameters takes at least that work.
    ///
    /// - `key`: the secret that the hash names.
    /// - Throws: `Overloaded`, `HashingFailed`, `MissingKey`.
    package func verify(
        _ password: String,
        against hash: String?,
        key: HashKey? = nil,
        for caller: HashCaller
    ) async throws -> Bool {
        let dummyHash = dummyHash
        let span = spans.child("verify password", .internal)
        // An unknown address has the algorithm of a new hash, as it takes the same time.
        span?.attributes["concord.password.algorithm"] = hash.flatMap(PasswordHash.init)?.algorithm ?? "argon2"
        return try await run(for: caller, span) {
            let bytes = Array(password.utf8)
            if let hash {
                let hash = try Self.readable(hash)
                if try hash.matches(bytes, key: key) { return true }
                if Self.isLikeNew(hash) { return false }
            }
            _ = try dummyHash.matches(bytes, key: nil)
            return false
        }
    }

    /// True if `hash` has other parameters than new ones.
    package func isOutdated(_ hash: String) -> Bool {
        PasswordHash(hash).map { !Self.isLikeNew($0) } ?? false
    }

    private static func isLikeNew(_ hash: PasswordHash) -> Bool {
        guard case .argon2(let hash) = hash else { return false }
        return hash.variant == .id && hash.version == ARGON2_VERSION_13.rawValue && hash.memoryKiB == memoryKiB
            && hash.passes == passes && hash.lanes == lanes && hash.associatedData.isEmpty
            && hash.salt.count >= saltBytes && hash.hash.count >= hashBytes
    }

    private static func readable(_ text: String) throws(HashingFailed) -> PasswordHash {
        guard let hash = PasswordHash(text) else { throw HashingFailed(code: ARGON2_DECODING_FAIL.rawValue) }
        return hash
    }

    private func run<Output: Sendable>(
        for caller: HashCaller,
        _ span: (any Tracing.Span)?,
        _ work: @escaping @Sendable () throws -> Output
    ) async throws -> Output {
        defer { span?.end() }
        let ticket = state.withLock { $0.newTicket() }
        let start = ContinuousClock.now
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let job = Job(
                    ticket: ticket,
                    run: { [metrics] in
                        let wait = start.duration(to: .now)
                        metrics.wait.record(duration: wait)
                        span?.attributes["concord.password.queue_wait_ms"] = wait / .milliseconds(1)
                        let result = Result(catching: work)
                        return { continuation.resume(with: result) }
                    },
                    fail: { continuation.resume(throwing: $0) }
                )
                enter(job, caller, isCancelled: Task.isCancelled)
            }
        } onCancel: {
            let job = state.withLock { $0.queue.leave(ticket) ? $0.jobs.removeValue(forKey: ticket) : nil }
            job?.fail(CancellationError())
        }
    }

    private func enter(_ job: Job, _ caller: HashCaller, isCancelled: Bool) {
        let actions: [(HashQueue.Action, Job)]? = state.withLock { state in
            if isCancelled || state.isShutDown { return nil }
            state.jobs[job.ticket] = job
            return Self.jobs(of: state.queue.enter(job.ticket, caller), in: &state)
        }
        guard let actions else { return job.fail(CancellationError()) }
        for (action, job) in actions {
            switch action {
            case .start:
                threads.submit { [self] status in
                    if case .cancelled = status { return job.fail(CancellationError()) }
                    work(job)
                }
            case .refuse(_, let reason):
                metrics.refused[reason]?.increment()
                job.fail(Overloaded())
            }
        }
    }

    /// Runs `job`, then waiting jobs, on this thread.
    private func work(_ job: Job) {
        var next: Job? = job
        while let job = next {
            let answer = job.run()
            next = state.withLock { state in
                Self.jobs(of: state.queue.finish(job.ticket), in: &state).first?.1
            }
            // After its place is free, because the caller may return at once.
            answer()
        }
    }

    private static func jobs(
        of actions: [HashQueue.Action],
        in state: inout State
    ) -> [(HashQueue.Action, Job)] {
        actions.compactMap { action in
            switch action {
            case .start(let ticket), .refuse(let ticket, _):
                state.jobs.removeValue(forKey: ticket).map { (action, $0) }
            }
        }
    }

    package func report() {
        let (busy, queued) = state.withLock { ($0.queue.running, $0.queue.waiting) }
        metrics.busy.set(busy)
        metrics.queued.set(queued)
    }

    private static func argon2id(_ password: [UInt8], salt: [UInt8]) throws(HashingFailed) -> String {
        let length = argon2_encodedlen(
            passes,
            memoryKiB,
            lanes,
            UInt32(saltBytes),
            UInt32(hashBytes),
            Argon2_id
        )
        var encoded = [CChar](repeating: 0, count: length)
        let outcome = argon2id_hash_encoded(
            passes,
            memoryKiB,
            lanes,
            password,
            password.count,
            salt,
            salt.count,
            hashBytes,
            &encoded,
            length
        )
        guard outcome == ARGON2_OK.rawValue else { throw HashingFailed(code: outcome) }
        return String(decoding: encoded.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension PasswordHash {
    /// The family, for traces.
    fileprivate var algorithm: String {
        switch self {
        case .argon2: "argon2"
        case .bcrypt: "bcrypt"
        case .scrypt: "scrypt"
        case .firebaseScrypt: "firebase-scrypt"
        case .pbkdf2: "pbkdf2"
        case .digest: "digest"
        case .hmac: "hmac"
        }
    }
}
