import Metrics

/// The running program, as labels of a metric with the value 1.
struct BuildMetric: Sendable {
    static let name = "concord_build_info"

    let version: String
    /// The commit of the sources; `unknown` if the build did not record it.
    let commit: String
    /// Number of the last migration that the program needs.
    let schema: Int

    static let current = BuildMetric(
        version: ConcordVersion.current,
        commit: ConcordVersion.commit,
        schema: ConcordVersion.schema
    )

    /// The labels in the order of the output.
    var labels: [(name: String, value: String, summary: String)] {
        [
            ("version", version, "the version of Concord"),
            ("commit", commit, "the commit of its sources, or `unknown`"),
            ("schema", "\(schema)", "the last migration that it needs"),
        ]
    }

    /// Shows the metric.
    func report(_ factory: any MetricsFactory) {
        Meter(label: Self.name, dimensions: labels.map { ($0.name, $0.value) }, factory: factory).set(1)
    }
}
