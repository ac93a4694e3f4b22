/// One or several rows of the table: measurements and their references.
struct Benchmark: Sendable {
    let name: String
    /// The names of the rows, which are the first column of the table.
    let rows: [String]
    let summary: String
    let measure: @Sendable (Lab) async throws -> [Outcome]

    /// - `rows`: by default one row of the same name.
    init(
        name: String,
        rows: [String]? = nil,
        summary: String,
        measure: @escaping @Sendable (Lab) async throws -> [Outcome]
    ) {
        self.name = name
        self.rows = rows ?? [name]
        self.summary = summary
        self.measure = measure
    }

    /// All benchmarks, in the order in which they run. The next one goes here.
    static let all: [Benchmark] = [
        .pointLookup, .signUpWrite, .httpFloor, .lookUpCold, .lookUpWarm, .lookUpIssued, .tokenRefresh,
        .serversLookUp, .serversRefresh, .passwords, .passwordsFlooded, .memory, .idpSignIn, .besideHangingProvider,
        .conflictOpen, .conflictOpenAged, .waysIn, .enumeration, .outboxDrain,
        .audit, .simulation, .accountExport, .accountImport,
    ]
}

/// The result of one measurement of the product.
struct Sample: Sendable {
    var count: Int
    var seconds: Double
    /// In nanoseconds, ascending.
    var latencies: [UInt64] = []
    /// Processor time within the measurement: of the measured processes, of PostgreSQL, and of the load if that is
    /// another process.
    var product = CPUTime.zero
    var postgres = CPUTime.zero
    var load = CPUTime.zero
    var residentBytes = 0

    var rate: Double { Double(count) / seconds }

    /// Returns a percentile of the latencies in milliseconds.
    func percentile(_ percent: Double) -> Double {
        guard !latencies.isEmpty else { return 0 }
        let index = Int((Double(latencies.count) * percent / 100).rounded(.up)) - 1
        return Double(latencies[min(max(index, 0), latencies.count - 1)]) / 1_000_000
    }
}

/// A script for `pgbench`.
struct Script: Sendable, ExpressibleByStringLiteral {
    /// The name of the file without its extension.
    let name: String

    init(stringLiteral name: String) {
        self.name = name
    }
}

/// The result of `pgbench`.
struct Reference: Sendable {
    /// Transactions a second.
    var rate: Double
    /// PostgreSQL's processor time for each.
    var postgresMicroseconds: Double
}

/// A prepared benchmark: measures the product once, and cleans up.
struct Measurement {
    let once: (_ seconds: Double) async throws -> Sample
    var end: () -> Void = {}
}

extension Benchmark {
    /// Makes a benchmark that compares a rate with the rate of a `pgbench` script.
    /// - `parts`: the indispensable parts of the work, if their limit is reported too.
    init(
        _ name: String,
        _ summary: String,
        against script: Script,
        parts: [Part] = [],
        setUp: @escaping @Sendable (Lab) async throws -> Measurement
    ) {
        self.name = name
        self.rows = [name]
        self.summary = summary
        self.measure = { lab in
            lab.note("\(name): \(summary)")
            let measurement = try await setUp(lab)
            defer { measurement.end() }
            // Fills caches, opens connections and prepares statements.
            _ = try await measurement.once(1)
            var samples: [Sample] = []
            var references: [Reference] = []
            for round in 0..<lab.plan.rounds {
                // The first of two measurements changes the machine's state for the second, so they take turns.
                if round.isMultiple(of: 2) { samples.append(try await measurement.once(lab.plan.seconds)) }
                references.append(try lab.pgbench(script.name))
                if !round.isMultiple(of: 2) { samples.append(try await measurement.once(lab.plan.seconds)) }
                let sample = samples[round]
                let microseconds = sample.product.total / Double(sample.count) * 1_000_000
                lab.note(
                    """
                      \(sample.rate.shown(0))/s, \(microseconds.shown(0)) µs of CPU each, against \
                    \(references[round].rate.shown(0))/s
                    """
                )
            }
            let ratios = zip(samples, references).map { $0.rate / $1.rate }
            var outcome = Outcome(
                name: name,
                summary: summary,
                reference: "pgbench \(script.name)",
                samples: samples,
                referenceRates: references.map(\.rate),
                values: ratios
            )
            if !parts.isEmpty {
                let statements = references.map(\.postgresMicroseconds).median
                let rate = lab.processors * 1e6 / (try await lab.cost(of: parts, statements: statements))
                outcome.limit = rate / references.map(\.rate).median
            }
            return [outcome]
        }
    }
}

extension [Double] {
    /// The median; 0 if there is no value.
    var median: Double {
        guard !isEmpty else { return 0 }
        let ordered = sorted()
        return (ordered[count / 2] + ordered[(count - 1) / 2]) / 2
    }
}
