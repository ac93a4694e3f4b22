import FoundationEssentials
import HTTPClient
import IdentityProviders
import Logging
import Metrics
import OpenTelemetry
import PrometheusMetrics
import Spans

/// The traces and metrics that go to an OpenTelemetry collector.
struct Telemetry: Sendable {
    static let dropped = "concord_telemetry_spans_dropped_total"
    /// The reasons of a lost span: no room, or the collector did not accept it.
    enum Reason: String, CaseIterable {
        case queueFull = "queue-full"
        case notSent = "not-sent"
    }

    let spans: Spans
    private let configuration: TelemetryConfiguration
    private let http: IssuerHTTPClient
    private let queue = SpanQueue()
    private let losses = OTLPExporter.Losses()

    init(_ configuration: TelemetryConfiguration, _ providers: ProvidersConfiguration) {
        self.configuration = configuration
        // The operator chooses the collector, so it may be in any network, with or without TLS.
        http = IssuerHTTPClient(
            policy: NetworkPolicy(allowsPrivateNetworks: true, allowsLoopback: true, allowsPlainHTTP: true),
            authorities: providers.certificateAuthorities
        )
        spans = Spans(OTLPTracer(queue: queue, sample: configuration.tracesSample))
    }

    /// The service that exports. It stops after all others, so that it sends their last spans.
    func exporter(_ measurements: Measurements, _ logger: Logger) -> OTLPExporter {
        measurements.registry.beforeReading { [queue, losses, telemetry = measurements.telemetry] in
            telemetry.set(.queueFull, queue.droppedCount)
            telemetry.set(.notSent, losses.unsentCount)
        }
        let outages = Dictionary(
            uniqueKeysWithValues: OTLPExporter.Signal.allCases.map { signal in
                let name = signal.rawValue
                let outage = Outage(logger, failure: "\(name) not exported", recovery: "\(name) exported again")
                return (signal, SharedOutage(outage))
            }
        )
        var limits = OTLPExporter.Limits()
        limits.metricsInterval = configuration.metricsInterval
        return OTLPExporter(
            resource: OTLPResource(
                serviceName: configuration.serviceName,
                serviceVersion: ConcordVersion.current,
                instanceID: UUID().uuidString.lowercased()
            ),
            queue: queue,
            registry: measurements.registry,
            limits: limits,
            losses: losses,
            send: { [configuration, http, timeout = limits.sendTimeout] path, body, contentType in
                let response = try await http.response(
                    toPosting: body,
                    fields: [("content-type", contentType)] + configuration.fields.map { ($0.name, $0.value) },
                    to: configuration.endpoint + path,
                    reading: .beginning(bytesMax: OTLPExporter.Answer.bodyBytesMax, statuses: 200...299),
                    deadline: .now + timeout
                )
                return OTLPExporter.Answer(
                    status: response.status,
                    body: response.body,
                    retryAfterSeconds: response.values(of: "retry-after").first.flatMap { Int($0) }
                )
            },
            failed: { outages[$0]?.failed($1) },
            succeeded: { outages[$0]?.succeeded() }
        )
    }
}

/// The spans that were lost. The values are those of the queue and of the exporter.
struct TelemetryMetrics: Sendable {
    private let dropped: [Telemetry.Reason: Meter]

    init(_ factory: any MetricsFactory) {
        dropped = Dictionary(
            uniqueKeysWithValues: Telemetry.Reason.allCases.map {
                ($0, Meter(label: Telemetry.dropped, dimensions: [("reason", $0.rawValue)], factory: factory))
            }
        )
    }

    func set(_ reason: Telemetry.Reason, _ count: Int64) { dropped[reason]?.set(count) }
}
