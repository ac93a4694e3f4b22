/// The values of one family, read together, for exporters with another format than Prometheus'.
package struct MetricSnapshot: Sendable, Hashable {
    package enum Value: Sendable, Hashable {
        case count(Int64)
        case number(Double)
        /// The number of values in each bucket; the last bucket has no bound.
        case histogram(counts: [Int64], sumSeconds: Double)
    }

    package struct Point: Sendable, Hashable {
        /// The values of the family's labels, in their order.
        package let labelValues: [String]
        package let value: Value
    }

    package let family: MetricFamily
    package let points: [Point]
}

extension PrometheusRegistry {
    /// The same families and series as `text`, as values.
    package func snapshots() -> [MetricSnapshot] {
        read().map { family, lines in
            let points = lines.map { line in
                let value: MetricSnapshot.Value =
                    switch line.series {
                    case .counter(let counter): .count(counter.value)
                    case .gauge(let gauge): .number(gauge.value)
                    case .histogram(let histogram):
                        .histogram(counts: histogram.counts, sumSeconds: histogram.sumSeconds)
                    }
                return MetricSnapshot.Point(labelValues: line.values, value: value)
            }
            return MetricSnapshot(family: family, points: points)
        }
    }
}
