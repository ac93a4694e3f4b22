import JSON

/// One row of the table.
struct Outcome: Sendable {
    let name: String
    let summary: String
    /// The name of the reference.
    let reference: String
    var samples: [Sample] = []
    var referenceRates: [Double] = []
    /// The value of each round, usually a ratio or MiB.
    let values: [Double]
    /// The bound on `value`; `nil` for a row that only serves for comparison.
    var threshold: Threshold?
    /// The value if only the indispensable parts were done (`Part`); `nil` if not measured.
    var limit: Double?

    var value: Double { values.median }
    var isMet: Bool { threshold?.isMet(by: value) ?? true }
    private var thresholdText: String { threshold?.text ?? "none" }

    private func median(_ value: (Sample) -> Double) -> Double { samples.map(value).median }

    var rate: Double { median(\.rate) }
    var referenceRate: Double { referenceRates.median }
    var p50: Double { median { $0.percentile(50) } }
    var p99: Double { median { $0.percentile(99) } }
    /// Microseconds of processor time for one request.
    var userTime: Double { median { $0.product.user / Double($0.count) * 1_000_000 } }
    var systemTime: Double { median { $0.product.system / Double($0.count) * 1_000_000 } }
    var postgresTime: Double { median { $0.postgres.total / Double($0.count) * 1_000_000 } }
    var loadTime: Double { median { $0.load.total / Double($0.count) * 1_000_000 } }
    var residentMiB: Double { median { Double($0.residentBytes) / 1_048_576 } }

    /// The text that is shown as soon as the row is measured.
    var line: String {
        "  \(name): \(value.shown(2)), threshold \(thresholdText), \(isMet ? "met" : "MISSED")"
    }

    // MARK: The table

    private static let headings = [
        "benchmark", "rate/s", "reference/s", "p50 ms", "p99 ms", "CPU µs", "user", "system", "PostgreSQL", "load",
        "MiB", "value", "range", "limit", "threshold", "",
    ]

    private var cells: [String] {
        let isMeasured = !samples.isEmpty
        func cell(_ value: Double, _ digits: Int) -> String { isMeasured && value > 0 ? value.shown(digits) : "" }
        return [
            name, cell(rate, 0), referenceRates.isEmpty ? "" : referenceRate.shown(0), cell(p50, 2), cell(p99, 2),
            cell(userTime + systemTime, 1), cell(userTime, 1), cell(systemTime, 1), cell(postgresTime, 1),
            cell(loadTime, 1), cell(residentMiB, 1), value.shown(2),
            "\((values.min() ?? 0).shown(2))–\((values.max() ?? 0).shown(2))", limit?.shown(2) ?? "",
            thresholdText, isMet ? "met" : "MISSED",
        ]
    }

    /// Returns the outcomes as aligned columns.
    static func table(_ outcomes: [Outcome]) -> String {
        let rows = [headings] + outcomes.map(\.cells)
        let widths = headings.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let columns = row.indices.map { column in
                column == 0
                    ? row[column].padded(to: widths[column]) : row[column].padded(to: widths[column], left: true)
            }
            return columns.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    /// Returns the outcomes as JSON.
    static func document(_ outcomes: [Outcome], _ plan: Plan) -> JSONValue {
        .object([
            "users": .integer(Int64(plan.users)),
            "seconds": .double(plan.seconds),
            "rounds": .integer(Int64(plan.rounds)),
            "clients": .integer(Int64(plan.clients)),
            "benchmarks": .array(outcomes.map(\.json)),
        ])
    }

    private var json: JSONValue {
        .object([
            "name": .string(name),
            "summary": .string(summary),
            "reference": .string(reference),
            "rate": .double(rate),
            "referenceRate": .double(referenceRate),
            "p50Milliseconds": .double(p50),
            "p99Milliseconds": .double(p99),
            "userMicroseconds": .double(userTime),
            "systemMicroseconds": .double(systemTime),
            "postgresMicroseconds": .double(postgresTime),
            "loadMicroseconds": .double(loadTime),
            "residentMiB": .double(residentMiB),
            "value": .double(value),
            "lowest": .double(values.min() ?? 0),
            "highest": .double(values.max() ?? 0),
            "limit": limit.map(JSONValue.double) ?? .null,
            "threshold": .string(thresholdText),
            "isMet": .bool(isMet),
            "rates": .array(samples.map { .double($0.rate) }),
            "referenceRates": .array(referenceRates.map { .double($0) }),
        ])
    }
}

extension Double {
    /// Returns the number with `digits` decimals.
    func shown(_ digits: Int) -> String {
        var scale: Double = 1
        for _ in 0..<digits { scale *= 10 }
        let scaled = (self * scale).rounded()
        guard digits > 0, scaled.magnitude < 1e15 else { return String(Int64(scaled)) }
        let magnitude = Int64(scaled.magnitude)
        let fraction = String(magnitude % Int64(scale))
        let zeros = String(repeating: "0", count: digits - fraction.count)
        return "\(scaled < 0 ? "-" : "")\(magnitude / Int64(scale)).\(zeros)\(fraction)"
    }
}

extension String {
    /// Returns the text padded with spaces, at its end or at its left.
    func padded(to width: Int, left: Bool = false) -> String {
        let filling = String(repeating: " ", count: max(0, width - count))
        return left ? filling + self : self + filling
    }
}
