/// One metric, with everything that can be said about it before a program runs: there is no other way to a time series
/// than to declare its family.
package struct MetricFamily: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// Only grows while the process lives. Its name ends in `_total`.
        case counter
        /// A counter that something else keeps: it is set, as a meter, to what that says. The name ends alike.
        case observedCounter
        case gauge
        /// Durations. `bounds` are the upper bounds of the buckets in seconds, ascending; the last, without a bound, is
        /// added. The name ends in `_seconds`.
        case histogram(bounds: [Double])
    }

    /// The time from which a series is shown.
    package enum Appearance: Sendable, Hashable {
        /// From the start, with 0, so that a scraper sees the first increase.
        case atStart
        /// From its first value other than 0. For families with so many series that most stay 0.
        case atFirstUse
    }

    /// A label that distinguishes the series of a family.
    package struct Label: Sendable, Hashable {
        package let name: String
        /// Every value there is.
        package let values: [String]
        /// The meaning of the values, in words.
        package let summary: String

        package init(_ name: String, _ values: [String], _ summary: String) {
            self.name = name
            self.values = values
            self.summary = summary
        }

        /// A label whose values are the cases of an enum.
        package init<Value: CaseIterable & RawRepresentable<String>>(
            _ name: String,
            _: Value.Type,
            _ summary: String
        ) {
            self.init(name, Value.allCases.map(\.rawValue), summary)
        }
    }

    package let name: String
    package let kind: Kind
    package let labels: [Label]
    package let appearance: Appearance
    /// The meaning of the metric, in one line.
    package let help: String

    package init(_ name: String, _ kind: Kind, shown appearance: Appearance = .atStart, _ help: String) {
        self.init(name, kind, [], shown: appearance, help)
    }

    package init(
        _ name: String,
        _ kind: Kind,
        _ labels: [Label],
        shown appearance: Appearance = .atStart,
        _ help: String
    ) {
        self.name = name
        self.kind = kind
        self.labels = labels
        self.appearance = appearance
        self.help = help
    }

    /// Number of series; a histogram counts as one.
    package var seriesCount: Int { labels.reduce(1) { $0 * $1.values.count } }

    /// Every combination of label values, the last label varying fastest.
    var combinations: [[String]] {
        labels.reduce([[]]) { rows, label in rows.flatMap { row in label.values.map { row + [$0] } } }
    }
}
