import Glibc

extension Benchmark {
    /// Time and memory of a full audit, compared with reading the same rows, and the labelled defects that it misses.
    static let audit = Benchmark(
        name: "audit",
        rows: ["audit-time", "audit-memory", "audit-missed", "audit-beside"],
        summary: "concord audit run, all rules, over as many accounts with 2.3 identities each and labelled defects"
    ) { lab in
        lab.note("audit: \(lab.plan.users) accounts with labelled defects")
        let url = try await lab.makeDatabase("audited")
        try lab.psql("audit-corpus", ["users": String(lab.plan.users)], on: url)
        var samples: [Sample] = []
        var references: [Double] = []
        for round in 0..<lab.plan.rounds {
            if round.isMultiple(of: 2) { samples.append(try command(auditing, over: url, lab, output: found(lab))) }
            let start = nanoseconds()
            try lab.psql("audit-read", on: url)
            references.append(Double(nanoseconds() - start) / 1e9)
            if !round.isMultiple(of: 2) { samples.append(try command(auditing, over: url, lab, output: found(lab))) }
            lab.note(
                """
                  \(samples[round].seconds.shown(1)) s, \(samples[round].rate.shown(0)) accounts/s, \
                \((Double(samples[round].residentBytes) / 1_048_576).shown(1)) MiB, against \
                \(references[round].shown(1)) s
                """
            )
        }
        let (missed, others, labels) = try judged(lab, url)
        lab.note("  \(labels) labels, \(missed) missed, \(others) found beside them")
        let ratios = zip(samples, references).map { $0.seconds / $1 }
        let resident = samples.map { Double($0.residentBytes) / 1_048_576 }
        func outcome(_ name: String, _ reference: String, _ values: [Double]) -> Outcome {
            Outcome(
                name: name,
                summary: summaries[name] ?? "",
                reference: reference,
                samples: samples,
                values: values
            )
        }
        return [
            outcome("audit-time", "psql \\copy of the same rows", ratios),
            outcome("audit-memory", "none", resident),
            outcome("audit-missed", "labels", [Double(missed)]),
            outcome("audit-beside", "labels", [Double(others)]),
        ]
    }

    private static let summaries = [
        "audit-time": "a full audit, against reading the same rows to nowhere; time",
        "audit-memory": "a full audit, resident memory at most, in MiB",
        "audit-missed": "labelled defects that a full audit does not find",
        "audit-beside": "what a full audit finds that is not labelled",
    ]

    /// A full audit that ends with success after any finding.
    static let auditing = ["audit", "run", "--format", "csv", "--fail-on", "never"]

    /// Runs a command that reads all accounts.
    static func command(_ arguments: [String], over url: String, _ lab: Lab, output: String) throws -> Sample {
        let postgres = ProcessStatus.timeOfFamily(lab.postmaster)
        let start = nanoseconds()
        let process = try ChildProcess(
            "\(lab.binaries)/concord",
            arguments,
            environment: ["CONCORD_DATABASE_URL": url, "TMPDIR": lab.directory],
            output: output
        )
        let usage = process.waitForUsage()
        guard usage.endedWell else { throw BenchmarkFailure("\(arguments[0]) failed:\n\(process.output.prefix(2000))") }
        var sample = Sample(count: lab.plan.users, seconds: Double(nanoseconds() - start) / 1e9)
        sample.product = usage.time
        sample.postgres = ProcessStatus.timeOfFamily(lab.postmaster) - postgres
        sample.residentBytes = usage.residentBytesMax
        return sample
    }

    private static func found(_ lab: Lab) -> String { "\(lab.directory)/findings.csv" }

    /// The number of labels that the last run missed, of its findings without a label, and of all labels.
    private static func judged(_ lab: Lab, _ url: String) throws -> (missed: Int, others: Int, labels: Int) {
        let commands = [
            """
            CREATE TEMP TABLE found (rule text, severity text, tenant text, user_id text COLLATE "C", others text,
                evidence text)
            """,
            "\\copy found FROM '\(found(lab))' CSV HEADER",
            """
            SELECT count(*) FROM (SELECT rule, user_id FROM audit_labels EXCEPT SELECT rule, user_id FROM found) AS missed
            UNION ALL SELECT count(*) FROM (
                SELECT rule, user_id FROM found EXCEPT ALL SELECT rule, user_id FROM audit_labels) AS others
            UNION ALL SELECT count(*) FROM audit_labels
            """,
        ]
        let lines = try lab.psql(commands.flatMap { ["--command", $0] }, on: url).split(separator: "\n")
        guard lines.count == 3, let missed = Int(lines[0]), let others = Int(lines[1]), let labels = Int(lines[2])
        else {
            throw BenchmarkFailure("the findings could not be judged:\n\(lines.joined(separator: "\n"))")
        }
        return (missed, others, labels)
    }
}
