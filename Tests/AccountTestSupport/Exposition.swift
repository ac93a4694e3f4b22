/// Parses a server's `/metrics` strictly (Prometheus, "Exposition formats", text format 0.0.4). Discouraged forms are
/// defects too.
package struct Exposition: Sendable {
    package struct Sample: Sendable, Hashable {
        package var name: String
        package var labels: [String: String]
        package var value: Double
    }

    package struct Family: Sendable, Hashable {
        package var help: String
        package var type: String
        package var samples: [Sample] = []
    }

    package struct Defect: Error, CustomStringConvertible {
        package let description: String
    }

    package private(set) var families: [String: Family] = [:]

    /// - Throws: the first `Defect`.
    package init(_ text: String) throws {
        guard text.hasSuffix("\n"), !text.hasSuffix("\n\n") else { throw Defect(description: "no line ends the text") }
        var current: String?
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            var reader = Reader(String(line))
            if line.hasPrefix("# HELP ") {
                let parts = line.split(separator: " ", maxSplits: 3)
                let name = parts.count > 2 ? String(parts[2]) : ""
                guard parts.count == 4, Self.isMetricName(name) else { throw Defect(description: "\(line)") }
                guard families[name] == nil else { throw Defect(description: "\(name) stands in two places") }
                families[name] = Family(help: String(parts[3]), type: "")
                current = name
            } else if line.hasPrefix("# TYPE ") {
                let parts = line.split(separator: " ")
                guard parts.count == 4, let current, parts[2] == current, families[current]?.type == "",
                    ["counter", "gauge", "histogram"].contains(parts[3])
                else { throw Defect(description: "\(line)") }
                families[current]?.type = String(parts[3])
            } else {
                let sample = try reader.sample()
                guard let current, let family = families[current], family.type != "",
                    Self.names(of: current, family.type).contains(sample.name)
                else { throw Defect(description: "not under its family: \(line)") }
                families[current]?.samples.append(sample)
            }
        }
        for (name, family) in families { try Self.check(name, family) }
    }

    /// Every series as text. Each line of a histogram is one series.
    package var series: Set<String> {
        Set(
            families.values.flatMap(\.samples).map { sample in
                sample.name + sample.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.description
            }
        )
    }

    /// The value of a sample; `nil` if there is none.
    package func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        families.values.lazy.flatMap(\.samples).first { $0.name == name && $0.labels == labels }?.value
    }

    private static func names(of family: String, _ type: String) -> [String] {
        type == "histogram" ? ["_bucket", "_sum", "_count"].map { family + $0 } : [family]
    }

    private static func check(_ name: String, _ family: Family) throws {
        guard !family.samples.isEmpty else { throw Defect(description: "\(name) has no sample") }
        guard Set(family.samples.map { [$0.name: $0.labels] }).count == family.samples.count else {
            throw Defect(description: "\(name) has a series twice")
        }
        switch family.type {
        case "counter":
            guard name.hasSuffix("_total") else { throw Defect(description: "\(name) is a counter by another name") }
            guard family.samples.allSatisfy({ $0.value >= 0 }) else { throw Defect(description: "\(name) is negative") }
        case "gauge":
            guard !name.hasSuffix("_total") else { throw Defect(description: "\(name) is a gauge by a wrong name") }
        default: try checkHistogram(name, family)
        }
    }

    /// Checks that each label set has its buckets in ascending order, cumulative, up to `+Inf`, which equals the count.
    private static func checkHistogram(_ name: String, _ family: Family) throws {
        guard name.hasSuffix("_seconds") else { throw Defect(description: "\(name) has no unit") }
        func key(_ sample: Sample) -> [String: String] { sample.labels.filter { $0.key != "le" } }
        for (labels, samples) in Dictionary(grouping: family.samples, by: key) {
            let buckets = samples.filter { $0.name == name + "_bucket" }
            let bounds = buckets.compactMap { $0.labels["le"].flatMap(Double.init) }
            guard buckets.last?.labels["le"] == "+Inf", bounds.count == buckets.count,
                zip(bounds, bounds.dropFirst()).allSatisfy({ $0 < $1 }),
                zip(buckets, buckets.dropFirst()).allSatisfy({ $0.value <= $1.value }),
                samples.filter({ $0.name == name + "_sum" }).count == 1,
                samples.filter({ $0.name == name + "_count" }).map(\.value) == [buckets.last?.value]
            else { throw Defect(description: "\(name) \(labels) is no histogram") }
        }
    }

    fileprivate static func isMetricName(_ name: String) -> Bool {
        name.wholeMatch(of: #/[a-zA-Z_:][a-zA-Z0-9_:]*/#) != nil
    }

    private struct Reader {
        private let line: String
        private var rest: Substring

        init(_ line: String) {
            self.line = line
            rest = line[...]
        }

        private var defect: Defect { Defect(description: "cannot be read: \(line)") }

        mutating func sample() throws -> Sample {
            let name = String(rest.prefix { $0 != "{" && $0 != " " })
            guard Exposition.isMetricName(name) else { throw defect }
            rest = rest.dropFirst(name.count)
            let labels = rest.first == "{" ? try self.labels() : [:]
            guard rest.first == " " else { throw defect }
            let number = rest.dropFirst()
            // Samples have no time stamp: the scraper's clock counts.
            guard number.wholeMatch(of: #/[-+]?(\d+(\.\d+)?([eE][-+]?\d+)?|Inf)|NaN/#) != nil,
                let value = Double(number)
            else { throw defect }
            return Sample(name: name, labels: labels, value: value)
        }

        private mutating func labels() throws -> [String: String] {
            var labels: [String: String] = [:]
            repeat {
                rest = rest.dropFirst()
                guard let match = rest.prefixMatch(of: #/([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"/#) else {
                    throw defect
                }
                let name = String(match.1)
                guard !name.hasPrefix("__"), labels[name] == nil else { throw defect }
                labels[name] = Self.unescaped(match.2)
                rest = rest[match.range.upperBound...]
            } while rest.first == ","
            guard rest.first == "}" else { throw defect }
            rest = rest.dropFirst()
            return labels
        }

        private static func unescaped(_ text: Substring) -> String {
            String(text.replacing(#/\\(.)/#) { $0.1 == "n" ? "\n" : String($0.1) })
        }
    }
}
