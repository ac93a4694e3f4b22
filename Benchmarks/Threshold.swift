import JSON

/// The value that a row of the table has to reach: a line of `thresholds.json`.
enum Threshold: Sendable {
    case atLeast(Double)
    case atMost(Double)

    func isMet(by value: Double) -> Bool {
        switch self {
        case .atLeast(let bound): value >= bound
        case .atMost(let bound): value <= bound
        }
    }

    var text: String {
        switch self {
        case .atLeast(let bound): ">= \(bound.shown(2))"
        case .atMost(let bound): "<= \(bound.shown(2))"
        }
    }

    /// Reads the thresholds of all rows, by name. `nil`: the row has none, and is measured for others to be compared with.
    /// - Throws: `BenchmarkFailure` if the file cannot be read.
    static func all(at path: String) throws -> [String: Threshold?] {
        guard let rows = try? JSONValue(parsing: Array(contents(of: path).utf8)).object else {
            throw BenchmarkFailure("cannot read \(path)")
        }
        var all: [String: Threshold?] = [:]
        for (name, row) in rows {
            let threshold: Threshold? =
                bound(row["atLeast"]).map(atLeast) ?? bound(row["atMost"]).map(atMost)
            guard threshold != nil || row == .null else { throw BenchmarkFailure("\(path): \(name): no bound") }
            all.updateValue(threshold, forKey: name)
        }
        return all
    }

    private static func bound(_ number: JSONValue?) -> Double? {
        switch number {
        case .integer(let bound): Double(bound)
        case .double(let bound): bound
        default: nil
        }
    }
}
