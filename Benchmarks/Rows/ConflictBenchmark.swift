extension Benchmark {
    /// The cost of opening a conflict, against a sign-in without one.
    static let conflictOpen = Benchmark(
        name: "conflict-open",
        summary: "HTTP signInWithIdp that opens a conflict; the time it takes, against one of a known identity"
    ) { lab in
        lab.note("conflict-open: sign-ins that open a conflict, beside sign-ins that find none")
        let server = try await lab.developmentServer()
        defer { server.process.stop() }
        return [
            try lab.compareConflicts(
                "conflict-open",
                "HTTP signInWithIdp that opens a conflict; the time it takes, against one of a known identity",
                server
            )
        ]
    }

    /// The same with a table full of expired conflicts.
    static let conflictOpenAged = Benchmark(
        name: "conflict-open-aged",
        summary: "the same beside ten million conflicts that have expired"
    ) { lab in
        lab.note("conflict-open-aged: adding \(lab.plan.expiredConflicts) expired conflicts")
        try lab.addExpiredConflicts()
        let server = try await lab.developmentServer()
        defer { server.process.stop() }
        return [
            try lab.compareConflicts(
                "conflict-open-aged",
                "the same beside ten million conflicts that have expired",
                server
            )
        ]
    }
}

extension Lab {
    /// Measures sign-ins that open a conflict and sign-ins that do not, in turn.
    fileprivate func compareConflicts(
        _ name: String,
        _ summary: String,
        _ server: Server
    ) throws -> Outcome {
        func measured(_ kind: IdentityKind, seconds: Double) throws -> Sample {
            try measure(server, try idpSignIns(self, server, seconds: seconds, of: kind), seconds: seconds)
        }
        for kind in [IdentityKind.linked, .stranger] { _ = try measured(kind, seconds: 1) }

        var opened: [Sample] = []
        var signedIn: [Sample] = []
        for round in 0..<plan.rounds {
            // The first of two measurements changes the machine's state for the second, so they take turns.
            if round.isMultiple(of: 2) { opened.append(try measured(.stranger, seconds: plan.seconds)) }
            signedIn.append(try measured(.linked, seconds: plan.seconds))
            if !round.isMultiple(of: 2) { opened.append(try measured(.stranger, seconds: plan.seconds)) }
            note("  \(opened[round].rate.shown(0)) conflicts/s against \(signedIn[round].rate.shown(0)) sign-ins/s")
        }
        let ratios = zip(opened, signedIn).map { $1.rate / $0.rate }
        return Outcome(
            name: name,
            summary: summary,
            reference: "HTTP signInWithIdp of a known identity",
            samples: opened,
            referenceRates: signedIn.map(\.rate),
            values: ratios
        )
    }
}
