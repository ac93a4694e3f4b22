extension Benchmark {
    /// What opening a conflict costs beside a sign-in that finds none.
    static let conflictOpen = Benchmark(
        name: "conflict-open",
        summary: "HTTP signInWithIdp that opens a conflict; the time it takes, against one of a known identity"
    ) { lab in
        lab.note("conflict-open: sign-ins that open a conflict, beside sign-ins that find none")
        let server = try await lab.developmentServer()
        defer { server.process.stop() }
        func measure(_ newcomer: Newcomer, seconds: Double) throws -> Sample {
            try lab.measure(
                server,
                try idpSignIns(lab, server, seconds: seconds, of: newcomer),
                seconds: seconds
            )
        }
        for newcomer in [Newcomer.linked, .stranger] { _ = try measure(newcomer, seconds: 1) }

        var opened: [Sample] = []
        var signedIn: [Sample] = []
        for round in 0..<lab.plan.rounds {
            // Whoever comes second finds the machine as the other left it, so they take turns.
            if round.isMultiple(of: 2) { opened.append(try measure(.stranger, seconds: lab.plan.seconds)) }
            signedIn.append(try measure(.linked, seconds: lab.plan.seconds))
            if !round.isMultiple(of: 2) { opened.append(try measure(.stranger, seconds: lab.plan.seconds)) }
            lab.note(
                "  \(opened[round].rate.shown(0)) conflicts/s against \(signedIn[round].rate.shown(0)) sign-ins/s"
            )
        }
        let ratios = zip(opened, signedIn).map { $1.rate / $0.rate }
        return [
            Outcome(
                name: "conflict-open",
                summary: "HTTP signInWithIdp that opens a conflict; the time it takes, against one of a known identity",
                reference: "HTTP signInWithIdp of a known identity",
                samples: opened,
                referenceRates: signedIn.map(\.rate),
                value: ratios.median,
                spread: (ratios.min() ?? 0)...(ratios.max() ?? 0),
                aim: .atMost(1.3)
            )
        ]
    }
}
