import AccountAPI
import AccountOperations
import AccountStore
import Metrics
import Postgres
import PrometheusMetrics

/// The metrics of the process: a handle for each series, created once.
struct Measurements: Sendable {
    let registry: PrometheusRegistry
    let http: HTTPMetrics
    let operations: OperationMetrics
    let postgres: PostgresMetrics
    let outbox: OutboxMetrics
    let listeners: ListenerMetrics
    let clocks: ClockMetrics
    let upkeep: UpkeepMetrics
    let replica: ReplicaMetrics
    let purge: PurgeMetrics
    let log: LogMetrics
    let telemetry: TelemetryMetrics

    /// `development`: the routes of development, if they are served.
    init(_ development: DevelopmentRoutes?) {
        registry = PrometheusRegistry(MetricsTable.families(development))
        http = HTTPMetrics(registry, development)
        operations = OperationMetrics(registry)
        postgres = PostgresMetrics(registry, calls: AccountStore.callNames)
        outbox = OutboxMetrics(registry)
        listeners = ListenerMetrics(registry)
        clocks = ClockMetrics(registry)
        upkeep = UpkeepMetrics(registry)
        replica = ReplicaMetrics(registry)
        purge = PurgeMetrics(registry)
        log = LogMetrics(registry)
        telemetry = TelemetryMetrics(registry)
        BuildMetric.current.report(registry)
        let process = ProcessReadings(registry)
        registry.beforeReading { process.read() }
    }

    var exposition: MetricsExposition {
        MetricsExposition(contentType: PrometheusRegistry.contentType) { [registry] in registry.text() }
    }
}
