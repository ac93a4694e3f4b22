import JSON
package import PrometheusMetrics
import ServiceLifecycle
import Synchronization
import Tracing

/// Sends spans and metrics to a collector (OTLP/HTTP with JSON), in the background. A collector that is slow or away
/// costs spans, which are counted, and never time: no request waits for it.
package struct OTLPExporter: Service, CustomStringConvertible {
    /// Sends one request. Throws if there is no answer; the error's text is logged.
    package typealias Send = @Sendable (_ path: String, _ body: [UInt8], _ contentType: String) async throws -> Answer

    /// An answer of the collector.
    package struct Answer: Sendable, Hashable {
        /// Number of bytes that are enough of a body.
        package static let bodyBytesMax = 4096

        let status: Int
        /// The body, or its beginning.
        let body: [UInt8]
        /// Time after which the collector accepts the request again, in seconds.
        let retryAfterSeconds: Int?

        package init(status: Int, body: [UInt8] = [], retryAfterSeconds: Int? = nil) {
            self.status = status
            self.body = body
            self.retryAfterSeconds = retryAfterSeconds
        }

        /// Number of spans that the collector did not accept, although it accepted the request (OTLP specification,
        /// "Partial Success").
        var rejectedSpans: Int {
            guard let count = (try? JSONValue(parsing: body))?["partialSuccess"]?["rejectedSpans"] else { return 0 }
            // Protobuf writes 64-bit integers as texts, and reads both forms.
            return max(0, count.string.flatMap { Int($0) } ?? count.integer.map { Int($0) } ?? 0)
        }
    }

    package struct Limits: Sendable, Hashable {
        /// The longest time that a span waits for its batch.
        package var batchInterval = Duration.seconds(1)
        /// The interval between two exports of metrics; `nil` exports none.
        package var metricsInterval: Duration? = .seconds(60)
        /// The time in which the collector has to answer.
        package var sendTimeout = Duration.seconds(10)
        /// The attempts to send one batch.
        package var attemptsMax = 5
        /// The pause after the first failed attempt. It doubles with each, with a jitter of ±25 %.
        package var retryPause = Duration.seconds(1)
        /// The longest pause that the collector can ask for.
        package var retryAfterMax = Duration.seconds(30)
        /// The time in which the last spans and metrics are sent when the service stops.
        package var flushTimeout = Duration.seconds(5)

        package init() {}
    }

    /// Data of one kind. Collectors have a path for each, and some accept only traces.
    package enum Signal: String, Sendable, Hashable, CaseIterable {
        case traces
        case metrics

        var path: String { "/v1/" + rawValue }
    }

    /// The answer of the collector, or its absence, that made an export fail.
    package enum Failure: Error, Sendable, Hashable, CustomStringConvertible {
        case status(Int, retryAfter: Duration? = nil)
        case timedOut
        case unreachable(String)

        package var description: String {
            switch self {
            case .status(let status, _): "the collector answered with status \(status)"
            case .timedOut: "the collector did not answer in time"
            case .unreachable(let reason): "the collector cannot be reached: \(reason)"
            }
        }

        /// True if the same request may succeed later (OTLP specification, "Failures").
        var isTransient: Bool {
            switch self {
            case .status(let status, _): [429, 502, 503, 504].contains(status)
            case .timedOut, .unreachable: true
            }
        }
    }

    /// The counts of what was lost, and the reports of outages. Shared with tests and metrics.
    package final class Losses: Sendable {
        private let unsent = Atomic<Int64>(0)

        package init() {}

        /// The number of spans that no attempt delivered, or that the collector rejected.
        package var unsentCount: Int64 { unsent.load(ordering: .relaxed) }

        func add(_ count: Int) { unsent.add(Int64(count), ordering: .relaxed) }
    }

    package static let contentType = "application/json"

    package let description = "OpenTelemetry exporter"
    private let resource: OTLPResource
    private let queue: SpanQueue
    private let registry: PrometheusRegistry?
    private let limits: Limits
    private let losses: Losses
    private let send: Send
    private let failed: @Sendable (Signal, Failure) -> Void
    private let succeeded: @Sendable (Signal) -> Void
    private let startNanoseconds = DefaultTracerClock.now.nanosecondsSinceEpoch

    /// - Parameters:
    ///   - resource: the process that sends.
    ///   - queue: the spans to send.
    ///   - registry: the metrics to send; `nil` sends none.
    ///   - limits: intervals and timeouts.
    ///   - losses: counts the spans that cannot be delivered.
    ///   - send: sends a request to the collector.
    ///   - failed: called after each failed attempt.
    ///   - succeeded: called after each export.
    package init(
        resource: OTLPResource,
        queue: SpanQueue,
        registry: PrometheusRegistry?,
        limits: Limits = Limits(),
        losses: Losses = Losses(),
        send: @escaping Send,
        failed: @escaping @Sendable (Signal, Failure) -> Void = { _, _ in },
        succeeded: @escaping @Sendable (Signal) -> Void = { _ in }
    ) {
        self.resource = resource
        self.queue = queue
        self.registry = registry
        self.limits = limits
        self.losses = losses
        self.send = send
        self.failed = failed
        self.succeeded = succeeded
    }

    /// Exports until shutdown, then sends what is left.
    package func run() async {
        await withTaskGroup { group in
            group.addTask { await exportSpans() }
            group.addTask { await wakeRegularly() }
            if let interval = limits.metricsInterval, registry != nil {
                group.addTask { await exportMetrics(every: interval) }
            }
        }
        await flush()
    }

    // MARK: Loops, each until shutdown

    private func exportSpans() async {
        for await _ in queue.wakeups {
            // The rest of a batch waits for the next wakeup: spans that arrive during an export share one.
            repeat {
                let batch = queue.takeBatch()
                guard !batch.isEmpty, await export(batch) else { break }
            } while queue.hasBatch
        }
    }

    private func wakeRegularly() async {
        while await pause(limits.batchInterval) { queue.wake() }
        queue.finishWakeups()
    }

    private func exportMetrics(every interval: Duration) async {
        while await pause(interval) {
            // The next export holds the same totals, so no attempt is repeated.
            if let body = metricsBody() { _ = await attempt(.metrics, body) }
        }
    }

    /// - Returns: false if the service stops.
    private func pause(_ duration: Duration) async -> Bool {
        do {
            try await cancelWhenGracefulShutdown { try await Task.sleep(for: duration) }
            return true
        } catch {
            return false
        }
    }

    // MARK: Exports

    /// Sends a batch, repeatedly if need be.
    /// - Returns: false if the service stops. The batch is back in the queue.
    private func export(_ batch: [SpanRecord]) async -> Bool {
        let body = OTLPSpans(resource: resource, spans: batch).body
        var pauseLength = limits.retryPause
        for number in 1...limits.attemptsMax {
            switch await attempt(.traces, body) {
            case .delivered(let answer):
                losses.add(min(answer.rejectedSpans, batch.count))
                return true
            case .failed(let failure):
                guard failure.isTransient, number < limits.attemptsMax else {
                    losses.add(batch.count)
                    return true
                }
                guard await pause(max(pauseLength * Double.random(in: 0.75...1.25), requestedPause(failure))) else {
                    queue.putBack(batch)
                    return false
                }
                pauseLength *= 2
            case .stopped:
                queue.putBack(batch)
                return false
            }
        }
        return true
    }

    /// The pause that the collector asks for, within the limit.
    private func requestedPause(_ failure: Failure) -> Duration {
        guard case .status(_, let retryAfter?) = failure else { return .zero }
        return min(retryAfter, limits.retryAfterMax)
    }

    private enum Outcome {
        case delivered(Answer)
        case failed(Failure)
        /// The service stops, and it is unknown what the collector received.
        case stopped
    }

    /// Sends once. A shutdown cancels it.
    private func attempt(_ signal: Signal, _ body: [UInt8]) async -> Outcome {
        do throws(Failure) {
            let answer = try await sendOnce(signal, body, within: limits.sendTimeout, untilShutdown: true)
            succeeded(signal)
            return .delivered(answer)
        } catch {
            if Task.isCancelled || Task.isShuttingDownGracefully { return .stopped }
            failed(signal, error)
            return .failed(error)
        }
    }

    private func sendOnce(
        _ signal: Signal,
        _ body: [UInt8],
        within timeout: Duration,
        untilShutdown: Bool
    ) async throws(Failure) -> Answer {
        let sendAll: @Sendable () async throws -> Answer? = {
            try await withThrowingTaskGroup(of: Answer.self) { group in
                group.addTask { try await send(signal.path, body, Self.contentType) }
                group.addTask {
                    try await Task.sleep(for: timeout)
                    throw Failure.timedOut
                }
                defer { group.cancelAll() }
                return try await group.next()
            }
        }
        let answer: Answer?
        do {
            answer = untilShutdown ? try await cancelWhenGracefulShutdown(sendAll) : try await sendAll()
        } catch let failure as Failure {
            throw failure
        } catch {
            throw .unreachable("\(error)")
        }
        guard let answer else { throw .unreachable("no answer") }
        guard (200..<300).contains(answer.status) else {
            throw .status(answer.status, retryAfter: answer.retryAfterSeconds.map { .seconds($0) })
        }
        return answer
    }

    private func metricsBody() -> [UInt8]? {
        guard let snapshots = registry?.snapshots(), !snapshots.isEmpty else { return nil }
        return OTLPMetrics(
            resource: resource,
            snapshots: snapshots,
            startNanoseconds: startNanoseconds,
            nowNanoseconds: max(startNanoseconds, DefaultTracerClock.now.nanosecondsSinceEpoch)
        ).body
    }

    // MARK: The end

    /// Sends the last spans and metrics, each once, within `flushTimeout`.
    private func flush() async {
        let deadline = ContinuousClock.now + limits.flushTimeout
        while !Task.isCancelled {
            let batch = queue.takeBatch()
            guard !batch.isEmpty else { break }
            let body = OTLPSpans(resource: resource, spans: batch).body
            guard let answer = await sendLast(.traces, body, deadline) else {
                losses.add(batch.count + queue.count)
                return
            }
            losses.add(min(answer.rejectedSpans, batch.count))
        }
        if limits.metricsInterval != nil, let body = metricsBody() {
            _ = await sendLast(.metrics, body, deadline)
        }
    }

    private func sendLast(_ signal: Signal, _ body: [UInt8], _ deadline: ContinuousClock.Instant) async -> Answer? {
        let timeLeft = min(limits.sendTimeout, ContinuousClock.now.duration(to: deadline))
        guard timeLeft > .zero else { return nil }
        do throws(Failure) {
            return try await sendOnce(signal, body, within: timeLeft, untilShutdown: false)
        } catch {
            // A cancelled service did not wait for the collector.
            if !Task.isCancelled { failed(signal, error) }
            return nil
        }
    }
}
