/// One row or two of the table: what is done, and what it is compared with.
struct Benchmark: Sendable {
    let name: String
    let summary: String
    let measure: @Sendable (Lab) async throws -> [Outcome]

    init(name: String, summary: String, measure: @escaping @Sendable (Lab) async throws -> [Outcome]) {
        self.name = name
        self.summary = summary
        self.measure = measure
    }

    /// Every benchmark, in the order in which they run. The next one goes here.
    static let all: [Benchmark] = [
        .pointLookup, .signUpWrite, .httpFloor, .lookUpCold, .lookUpWarm, .tokenRefresh, .passwords, .memory,
        .idpSignIn, .besideHangingProvider, .conflictOpen, .conflictOpenAged, .enumeration,
        .outboxDrain, .audit, .simulation, .accountExport, .accountImport,
    ]
}

/// What one measurement of the product found.
struct Sample: Sendable {
    var count: Int
    var seconds: Double
    /// In nanoseconds, ascending.
    var latencies: [UInt64] = []
    /// Spent by the measured process, and by PostgreSQL, in the time.
    var product = CPUTime.zero
    var postgres = CPUTime.zero
    var residentBytes = 0

    var rate: Double { Double(count) / seconds }

    /// In milliseconds.
    func percentile(_ percent: Double) -> Double {
        guard !latencies.isEmpty else { return 0 }
        let index = Int((Double(latencies.count) * percent / 100).rounded(.up)) - 1
        return Double(latencies[min(max(index, 0), latencies.count - 1)]) / 1_000_000
    }
}

/// A benchmark that is set up: what measures the product once, and what clears up behind it.
struct Measurement {
    let once: (_ seconds: Double) async throws -> Sample
    var end: () -> Void = {}
}

extension Benchmark {
    /// A benchmark that compares a rate with the rate of a `pgbench` script.
    init(
        _ name: String,
        _ summary: String,
        against script: String,
        aim: Double?,
        setUp: @escaping @Sendable (Lab) async throws -> Measurement
    ) {
        self.name = name
        self.summary = summary
        self.measure = { lab in
            lab.note("\(name): \(summary)")
            let measurement = try await setUp(lab)
            defer { measurement.end() }
            // Caches fill, connections open, statements are prepared.
            _ = try await measurement.once(1)
            var samples: [Sample] = []
            var references: [Double] = []
            for round in 0..<lab.plan.rounds {
                // Whoever comes second finds the machine as the other left it, so they take turns.
                if round.isMultiple(of: 2) { samples.append(try await measurement.once(lab.plan.seconds)) }
                references.append(try lab.pgbench(script))
                if !round.isMultiple(of: 2) { samples.append(try await measurement.once(lab.plan.seconds)) }
                let sample = samples[round]
                let microseconds = sample.product.total / Double(sample.count) * 1_000_000
                lab.note(
                    """
                      \(sample.rate.shown(0))/s, \(microseconds.shown(0)) µs of CPU each, against \
                    \(references[round].shown(0))/s
                    """
                )
            }
            let ratios = zip(samples, references).map { $0.rate / $1 }
            return [
                Outcome(
                    name: name,
                    summary: summary,
                    reference: "pgbench \(script)",
                    samples: samples,
                    referenceRates: references,
                    value: ratios.median,
                    spread: (ratios.min() ?? 0)...(ratios.max() ?? 0),
                    aim: aim.map(Outcome.Aim.atLeast) ?? .none
                )
            ]
        }
    }
}

extension [Double] {
    /// The middle value, or the mean of the two in the middle; 0 when there is none.
    var median: Double {
        guard !isEmpty else { return 0 }
        let ordered = sorted()
        return (ordered[count / 2] + ordered[(count - 1) / 2]) / 2
    }
}
