import AccountTestSupport
import Metrics
import Testing

@testable import PrometheusMetrics

struct PrometheusRegistryTests {
    private static let odd = "a \"quoted\" \\ value\nof two lines"

    private static let families = [
        MetricFamily(
            "test_requests_total",
            .counter,
            [
                MetricFamily.Label("route", ["/a", "/b", odd], "where"),
                MetricFamily.Label("status", ["2xx", "5xx"], "how"),
            ],
            "Requests, with a \\ and\na second line"
        ),
        MetricFamily("test_queued", .gauge, "Queued requests"),
        MetricFamily("test_cpu_seconds_total", .observedCounter, "Processor time"),
        MetricFamily("test_wait_seconds", .histogram(bounds: [0.00025, 0.5, 10]), "Duration of waits"),
    ]

    private static func counter(_ registry: PrometheusRegistry, _ route: String, _ status: String) -> Counter {
        Counter(
            label: "test_requests_total",
            dimensions: [("route", route), ("status", status)],
            factory: registry
        )
    }

    @Test func `every declared series is exposed with 0 before the first event`() throws {
        let registry = PrometheusRegistry(Self.families)
        let shown = try Exposition(registry.text())
        #expect(shown.families["test_requests_total"]?.samples.count == 6)
        #expect(shown.families.values.flatMap(\.samples).allSatisfy { $0.value == 0 })
        #expect(registry.seriesCount == 9)
    }

    @Test func `recorded values are exposed in the text format of Prometheus`() throws {
        let registry = PrometheusRegistry(Self.families)
        Self.counter(registry, "/a", "2xx").increment(by: 3)
        Self.counter(registry, Self.odd, "5xx").increment()
        let queued = Meter(label: "test_queued", factory: registry)
        queued.set(7)
        queued.increment(by: 1)
        queued.decrement(by: 3)
        registry.beforeReading { Meter(label: "test_cpu_seconds_total", factory: registry).set(1.25) }
        let timer = Timer(label: "test_wait_seconds", factory: registry)
        timer.recordNanoseconds(250_000)
        timer.recordNanoseconds(250_001)
        timer.recordSeconds(60)
        let text = registry.text()
        #expect(
            text == """
                # HELP test_requests_total Requests, with a \\\\ and\\na second line
                # TYPE test_requests_total counter
                test_requests_total{route="/a",status="2xx"} 3
                test_requests_total{route="/a",status="5xx"} 0
                test_requests_total{route="/b",status="2xx"} 0
                test_requests_total{route="/b",status="5xx"} 0
                test_requests_total{route="a \\"quoted\\" \\\\ value\\nof two lines",status="2xx"} 0
                test_requests_total{route="a \\"quoted\\" \\\\ value\\nof two lines",status="5xx"} 1
                # HELP test_queued Queued requests
                # TYPE test_queued gauge
                test_queued 5
                # HELP test_cpu_seconds_total Processor time
                # TYPE test_cpu_seconds_total counter
                test_cpu_seconds_total 1.25
                # HELP test_wait_seconds Duration of waits
                # TYPE test_wait_seconds histogram
                test_wait_seconds_bucket{le="0.00025"} 1
                test_wait_seconds_bucket{le="0.5"} 2
                test_wait_seconds_bucket{le="10"} 2
                test_wait_seconds_bucket{le="+Inf"} 3
                test_wait_seconds_sum 60.000500001
                test_wait_seconds_count 3

                """
        )
        let shown = try Exposition(text)
        #expect(shown.value("test_requests_total", ["route": Self.odd, "status": "5xx"]) == 1)
    }

    @Test func `a family that is shown from its first use hides series without a value`() throws {
        let registry = PrometheusRegistry([
            MetricFamily(
                "test_rare_total",
                .counter,
                [MetricFamily.Label("kind", ["a", "b"], "which")],
                shown: .atFirstUse,
                "Rare events"
            ),
            MetricFamily("test_rare_seconds", .histogram(bounds: [1]), shown: .atFirstUse, "Rare waits"),
            MetricFamily("test_start_time_seconds", .gauge, shown: .atFirstUse, "A time that may be unknown"),
        ])
        let rare = Counter(label: "test_rare_total", dimensions: [("kind", "b")], factory: registry)
        let timer = Timer(label: "test_rare_seconds", factory: registry)
        let start = Meter(label: "test_start_time_seconds", factory: registry)
        #expect(registry.text().isEmpty)
        #expect(registry.seriesCount == 4, "hidden series are declared")
        rare.increment()
        timer.recordNanoseconds(0)
        start.set(1.5)
        let shown = try Exposition(registry.text())
        #expect(shown.families["test_rare_total"]?.samples.map(\.labels) == [["kind": "b"]])
        #expect(shown.value("test_rare_seconds_bucket", ["le": "1"]) == 1, "a wait of 0 is a wait")
        #expect(shown.value("test_start_time_seconds") == 1.5)
    }

    @Test func `concurrent threads lose no update`() async throws {
        let registry = PrometheusRegistry(Self.families)
        await withTaskGroup { group in
            for caller in 0..<16 {
                group.addTask { @concurrent in
                    let counter = Self.counter(registry, "/b", "2xx")
                    let timer = Timer(label: "test_wait_seconds", factory: registry)
                    let meter = Meter(label: "test_queued", factory: registry)
                    for _ in 0..<1000 {
                        counter.increment()
                        timer.recordNanoseconds(Int64(caller) * 1_000_000_000)
                        meter.increment(by: 2)
                        meter.decrement(by: 1)
                    }
                }
            }
        }
        let shown = try Exposition(registry.text())
        #expect(shown.value("test_requests_total", ["route": "/b", "status": "2xx"]) == 16_000)
        #expect(shown.value("test_wait_seconds_count") == 16_000)
        #expect(shown.value("test_wait_seconds_sum") == 120_000)
        #expect(shown.value("test_wait_seconds_bucket", ["le": "10"]) == 11_000)
        #expect(shown.value("test_queued") == 16_000)
    }

    @Test func `a counter keeps its value after a reset or a destroy`() throws {
        let registry = PrometheusRegistry(Self.families)
        let counter = Self.counter(registry, "/a", "2xx")
        counter.increment()
        counter.reset()
        counter.destroy()
        Self.counter(registry, "/a", "2xx").increment()
        #expect(try Exposition(registry.text()).value("test_requests_total", ["route": "/a", "status": "2xx"]) == 2)
    }

    @Test func `an undeclared series stops the program`() async {
        await #expect(processExitsWith: .failure) {
            let registry = PrometheusRegistry([MetricFamily("a_total", .counter, "a")])
            _ = Counter(label: "a_total", dimensions: [("path", "/whatever/came")], factory: registry)
        }
        await #expect(processExitsWith: .failure) {
            let registry = PrometheusRegistry([MetricFamily("a_total", .counter, "a")])
            _ = Counter(label: "b_total", factory: registry)
        }
        await #expect(processExitsWith: .failure) {
            _ = PrometheusRegistry([MetricFamily("a_total", .counter, "a"), MetricFamily("a_total", .gauge, "b")])
        }
    }

    @Test(arguments: [
        "", "a_total 1\n", "# HELP a_total b\n# TYPE a_total counter\na_total 1", "# TYPE a_total counter\na_total 1\n",
        "# HELP a_total b\n# TYPE a_total counter\na_total 1\na_total 2\n",
        "# HELP a_total b\n# TYPE a_total counter\nb_total 1\n", "# HELP a b\n# TYPE a counter\na 1\n",
        "# HELP a_total b\n# TYPE a_total counter\na_total{x=\"1\" 1\n",
        "# HELP a_total b\n# TYPE a_total counter\na_total{x=\"a\"b\"} 1\n",
        "# HELP a_total b\n# TYPE a_total counter\na_total{1x=\"a\"} 1\n",
        "# HELP a_total b\n# TYPE a_total counter\na_total one\n",
        "# HELP a_total b\n# TYPE a_total counter\na_total 1 5\n",
        "# HELP a_total b\n# TYPE a_total counter\n", "# HELP a b\n# TYPE a gauge\na 1\n\n",
        "# HELP a_seconds b\n# TYPE a_seconds histogram\na_seconds_bucket{le=\"+Inf\"} 1\na_seconds_sum 1\n"
            + "a_seconds_count 2\n",
        "# HELP a_seconds b\n# TYPE a_seconds histogram\na_seconds_bucket{le=\"1\"} 2\n"
            + "a_seconds_bucket{le=\"+Inf\"} 1\na_seconds_sum 1\na_seconds_count 1\n",
    ])
    func `the parser of the tests refuses malformed text`(text: String) {
        #expect(throws: Exposition.Defect.self) { try Exposition(text) }
    }
}
