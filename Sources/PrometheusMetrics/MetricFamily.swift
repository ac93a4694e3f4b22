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

    /// A label that distinguishes the series of a family.
    package struct Label: Sendable, Hashable {
        package let name: String
        /// Every value there is: a series for each is shown from the start, so that its first increase is seen.
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
    /// The meaning of the metric, in one line.
    package let help: String

    package init(_ name: String, _ kind: Kind, _ help: String) {
        self.init(name, kind, [], help)
    }

    package init(_ name: String, _ kind: Kind, _ labels: [Label], _ help: String) {
        self.name = name
        self.kind = kind
        self.labels = labels
        self.help = help
    }

    /// Every combination of label values, the last label varying fastest.
    var combinations: [[String]] {
        labels.reduce([[]]) { rows, label in rows.flatMap { row in label.values.map { row + [$0] } } }
    }
}
