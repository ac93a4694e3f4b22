import FoundationEssentials

extension Benchmark {
    /// Measures a simulation over all accounts, relative to a full audit of the same accounts.
    static let simulation = Benchmark(
        name: "simulate",
        rows: ["simulate-time", "simulate-memory"],
        summary: "concord policy simulate, a rule of trust that reaches every account, over the accounts of `audit`"
    ) { lab in
        lab.note("simulate: \(lab.plan.users) accounts, each of which the proposed policy reaches")
        let url = try await lab.makeDatabase("simulated")
        try lab.psql("audit-corpus", ["users": String(lab.plan.users)], on: url)
        let file = "\(lab.directory)/proposed.yaml"
        try Data(proposal.utf8).write(to: URL(filePath: file))
        var samples: [Sample] = []
        var ratios: [Double] = []
        for round in 0..<lab.plan.rounds {
            func simulated() throws -> Sample {
                try command(
                    ["policy", "simulate", "--format", "csv", "--fail-on", "never", file],
                    over: url,
                    lab,
                    output: "\(lab.directory)/effects.csv"
                )
            }
            var sample: Sample?
            if round.isMultiple(of: 2) { sample = try simulated() }
            let audit = try command(auditing, over: url, lab, output: "\(lab.directory)/findings.csv")
            let measured = try sample ?? simulated()
            samples.append(measured)
            ratios.append(measured.seconds / audit.seconds)
            lab.note("  \(measured.seconds.shown(1)) s, against \(audit.seconds.shown(1)) s")
        }
        let resident = samples.map { Double($0.residentBytes) / 1_048_576 }
        func outcome(
            _ name: String,
            _ summary: String,
            _ reference: String,
            _ values: [Double]
        )
            -> Outcome
        {
            Outcome(
                name: name,
                summary: summary,
                reference: reference,
                samples: samples,
                values: values
            )
        }
        return [
            outcome("simulate-time", "a simulation over all accounts; time", "a full audit", ratios),
            outcome("simulate-memory", "the same, resident memory at most, in MiB", "none", resident),
        ]
    }

    /// Disables Google for every account, and links GitHub where the current policy opens a conflict.
    private static let proposal = """
        concord:
          emailTrust:
            - {provider: github.com, trust: verifying}
        providers:
          google.com: {enabled: false}
        """
}
