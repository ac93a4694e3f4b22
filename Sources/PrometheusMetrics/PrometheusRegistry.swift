package import CoreMetrics
import Synchronization

/// The measurements of the process, in the format that Prometheus reads (text exposition format 0.0.4).
///
/// Every time series is declared, and no other can come into being: a request for an undeclared one ends the program, so
/// handles are made at the start, never while a request is served. A family may hide its series until they are first
/// used (`MetricFamily.Appearance`). Recording takes no lock.
package final class PrometheusRegistry: MetricsFactory {
    /// The content type of `text`.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    enum Series: Sendable {
        case counter(CounterSeries)
        case gauge(GaugeSeries)
        case histogram(HistogramSeries)

        /// True once a gauge was set, or another series has a value other than 0.
        var isUsed: Bool {
            switch self {
            case .counter(let counter): counter.value != 0
            case .gauge(let gauge): gauge.isSet
            case .histogram(let histogram): histogram.counts.contains { $0 != 0 }
            }
        }
    }

    /// A series and how its lines begin.
    struct Line: Sendable {
        /// `name{a="b"}`; of a histogram the one for each bucket, of its sum and of its count.
        let heads: [String]
        /// The values of the family's labels.
        let values: [String]
        let series: Series
    }

    private struct Key: Hashable {
        let name: String
        let values: [String]
    }

    private let families: [(declared: MetricFamily, lines: [Line])]
    private let seriesByKey: [Key: Series]
    private let readings = Mutex<[@Sendable () -> Void]>([])

    /// A registry of these and no other series. Names and label names follow the data model of Prometheus, names are
    /// distinct and so are the values of a label.
    package init(_ declared: [MetricFamily]) {
        var seriesByKey: [Key: Series] = [:]
        families = declared.map { family in
            let lines = family.combinations.map { values in
                let line = Self.line(family, values)
                let isNew = seriesByKey.updateValue(line.series, forKey: Key(name: family.name, values: values)) == nil
                precondition(isNew, "\(family.name) is declared twice")
                return line
            }
            return (family, lines)
        }
        self.seriesByKey = seriesByKey
    }

    /// Lets `read` set values that are known only when they are read. It runs before each `text` and `snapshots`, so it must not wait.
    package func beforeReading(_ read: @escaping @Sendable () -> Void) {
        readings.withLock { $0.append(read) }
    }

    /// Number of series; a histogram counts as one.
    package var seriesCount: Int { seriesByKey.count }

    /// Every shown series, as it stands now. A family without a shown series is absent.
    package func text() -> String {
        var text = ""
        for (family, shown) in read() {
            text += "# HELP \(family.name) \(Self.escaped(family.help, quotes: false))\n"
            text += "# TYPE \(family.name) \(family.kind.name)\n"
            for line in shown { Self.append(line, to: &text) }
        }
        return text
    }

    /// The families that have shown series, with these series.
    func read() -> [(declared: MetricFamily, lines: [Line])] {
        for read in readings.withLock(\.self) { read() }
        return families.compactMap { family, lines in
            let shown = family.appearance == .atStart ? lines : lines.filter(\.series.isUsed)
            return shown.isEmpty ? nil : (family, shown)
        }
    }

    // MARK: Writing

    private static func line(_ family: MetricFamily, _ values: [String]) -> Line {
        let labels = zip(family.labels, values).map { "\($0.name)=\"\(escaped($1, quotes: true))\"" }
        func head(_ suffix: String = "", _ more: [String] = []) -> String {
            let all = labels + more
            return family.name + suffix + (all.isEmpty ? " " : "{\(all.joined(separator: ","))} ")
        }
        switch family.kind {
        case .counter: return Line(heads: [head()], values: values, series: .counter(CounterSeries()))
        case .gauge, .observedCounter:
            return Line(heads: [head()], values: values, series: .gauge(GaugeSeries()))
        case .histogram(let bounds):
            let buckets = (bounds.map(number) + ["+Inf"]).map { head("_bucket", ["le=\"\($0)\""]) }
            return Line(
                heads: buckets + [head("_sum"), head("_count")],
                values: values,
                series: .histogram(HistogramSeries(boundsSeconds: bounds))
            )
        }
    }

    private static func append(_ line: Line, to text: inout String) {
        switch line.series {
        case .counter(let counter): text += "\(line.heads[0])\(counter.value)\n"
        case .gauge(let gauge): text += "\(line.heads[0])\(number(gauge.value))\n"
        case .histogram(let histogram):
            var total: Int64 = 0
            let counts = histogram.counts
            for (head, count) in zip(line.heads, counts) {
                total += count
                text += "\(head)\(total)\n"
            }
            text += "\(line.heads[counts.count])\(number(histogram.sumSeconds))\n"
            text += "\(line.heads[counts.count + 1])\(total)\n"
        }
    }

    private static func number(_ value: Double) -> String {
        Int64(exactly: value).map(String.init) ?? value.description
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.append(character)
            }
        }
    }

    // MARK: Handles

    private func series(_ name: String, _ dimensions: [(String, String)]) -> Series {
        guard let family = families.first(where: { $0.declared.name == name })?.declared,
            family.labels.map(\.name) == dimensions.map(\.0),
            let series = seriesByKey[Key(name: name, values: dimensions.map(\.1))]
        else { preconditionFailure("\(name) with \(dimensions) is not declared") }
        return series
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        guard case .counter(let counter) = series(label, dimensions) else {
            preconditionFailure("\(label) is no counter")
        }
        return counter
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        guard case .gauge(let gauge) = series(label, dimensions) else { preconditionFailure("\(label) is not set") }
        return gauge
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        guard case .histogram(let histogram) = series(label, dimensions) else {
            preconditionFailure("\(label) is no histogram")
        }
        return histogram
    }

    package func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        preconditionFailure("\(label): durations are timers, and what is set is a meter")
    }

    // Series live as long as the process.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}

extension MetricFamily.Kind {
    package var name: String {
        switch self {
        case .counter, .observedCounter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }
}
