import AccountTestSupport
import OpenTelemetry
import PrometheusMetrics
import ServiceLifecycle
import Synchronization

/// A collector in this process. It records requests, and a function decides its answers.
final class Collector: Sendable {
    struct Refused: Error, CustomStringConvertible {
        let description = "refused"
    }

    struct Request: Sendable {
        let path: String
        let body: [UInt8]
    }

    private let seen = Mutex<[Request]>([])
    private let reports = Mutex<[String]>([])
    private let answer: @Sendable (_ number: Int) async throws -> OTLPExporter.Answer

    /// `status`: returns the status of a request, by its number from 1.
    init(_ status: @escaping @Sendable (_ number: Int) async throws -> Int = { _ in 200 }) {
        answer = { OTLPExporter.Answer(status: try await status($0)) }
    }

    /// `answer`: returns the answer to a request, by its number from 1.
    init(answering answer: @escaping @Sendable (_ number: Int) -> OTLPExporter.Answer) {
        self.answer = answer
    }

    var requests: [Request] { seen.withLock(\.self) }
    /// `failed: …` and `succeeded`, in order.
    var outcomes: [String] { reports.withLock(\.self) }

    /// The spans of all requests that were accepted.
    func spans() throws -> [OTLPSpan] {
        try requests.filter { $0.path == "/v1/traces" }.flatMap { try OTLPMessage.spans($0.body) }
    }

    static let resource = OTLPResource(serviceName: "test", serviceVersion: "1.2.3", instanceID: "one")

    func exporter(
        _ queue: SpanQueue,
        _ registry: PrometheusRegistry? = nil,
        limits: OTLPExporter.Limits,
        losses: OTLPExporter.Losses = .init()
    ) -> OTLPExporter {
        OTLPExporter(
            resource: Self.resource,
            queue: queue,
            registry: registry,
            limits: limits,
            losses: losses,
            send: { [self] path, body, _ in
                let number = seen.withLock { seen in
                    seen.append(Request(path: path, body: body))
                    return seen.count
                }
                return try await answer(number)
            },
            failed: { [self] _, failure in reports.withLock { $0.append("failed: \(failure)") } },
            succeeded: { [self] _ in reports.withLock { $0.append("succeeded") } }
        )
    }

    /// Intervals so long that only a full batch or the shutdown sends, and no metrics.
    static var patient: OTLPExporter.Limits {
        var limits = OTLPExporter.Limits()
        limits.batchInterval = .seconds(3600)
        limits.metricsInterval = nil
        limits.sendTimeout = .seconds(60)
        limits.flushTimeout = .seconds(60)
        return limits
    }

    /// Intervals so short that a test need not wait.
    static var eager: OTLPExporter.Limits {
        var limits = patient
        limits.batchInterval = .milliseconds(1)
        limits.retryPause = .milliseconds(1)
        return limits
    }
}

/// Runs `exporter` beside `body`, then shuts it down gracefully.
func running(_ exporter: OTLPExporter, _ body: () async throws -> Void) async throws {
    let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(
            services: [.init(service: exporter)],
            logger: RecordedLog().logger
        )
    )
    try await withThrowingTaskGroup { tasks in
        tasks.addTask { try await group.run() }
        try await body()
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
    }
}

/// Waits until `condition` holds. The time limit of the suite ends a wait that is in vain.
func wait(until condition: () -> Bool) async throws {
    while !condition() { try await Task.sleep(for: .milliseconds(2)) }
}
