extension Benchmark {
    /// All accounts into a file.
    static let accountExport = Benchmark(
        name: "export",
        summary: "concord account export of every account, hashes included, against COPY TO of the same tables"
    ) { lab in
        lab.note("export: \(lab.plan.users) accounts")
        var times: [Times] = []
        for _ in 0..<lab.plan.rounds {
            times.append(Times(product: try export(lab), reference: try seconds { try lab.copyOut(lab.databaseURL) }))
            lab.note("  \(times[times.count - 1].text)")
        }
        return [outcome("export", of: lab, times)]
    }

    /// All accounts from a file into an empty database.
    static let accountImport = Benchmark(
        name: "import",
        summary: "concord account import of every account, hashes given, against COPY FROM of the rows it writes"
    ) { lab in
        lab.note("import: \(lab.plan.users) accounts")
        _ = try export(lab)
        var times: [Times] = []
        for round in 0..<lab.plan.rounds {
            let imported = try await lab.makeDatabase("import_\(round)")
            let file = "\(lab.directory)/accounts"
            let product = try seconds {
                try lab.account(["import", "--format", "ndjson", "--hash-algo", "PHC", file], imported)
            }
            try lab.copyOut(imported)
            let copied = try await lab.makeDatabase("copy_\(round)")
            times.append(Times(product: product, reference: try seconds { try lab.copyIn(copied) }))
            lab.note("  \(times[times.count - 1].text)")
        }
        return [outcome("import", of: lab, times)]
    }

    private struct Times {
        let product: Double
        let reference: Double

        var ratio: Double { reference / product }
        var text: String { "\(product.shown(1)) s against \(reference.shown(1)) s" }
    }

    private static func seconds(_ work: () throws -> Void) rethrows -> Double {
        let start = nanoseconds()
        try work()
        return Double(nanoseconds() - start) / 1e9
    }

    private static func export(_ lab: Lab) throws -> Double {
        let file = "\(lab.directory)/accounts"
        return try seconds {
            try lab.account(
                ["export", "--format", "ndjson", "--include-password-hashes", "--output", file],
                lab.databaseURL
            )
        }
    }

    private static func outcome(_ name: String, of lab: Lab, _ times: [Times]) -> Outcome {
        let ratios = times.map(\.ratio)
        return Outcome(
            name: name,
            summary: "every account, in accounts a second",
            reference: "COPY of the same tables",
            samples: times.map { Sample(count: lab.plan.users, seconds: $0.product) },
            referenceRates: times.map { Double(lab.plan.users) / $0.reference },
            values: ratios
        )
    }
}
