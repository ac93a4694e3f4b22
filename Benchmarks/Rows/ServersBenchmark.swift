extension Benchmark {
    /// The lookups of `lookup-warm`.
    static let serversLookUp = overServers(
        "servers-lookup",
        "HTTP accounts:lookup, 10,000 ID tokens again and again"
    ) { lab, server in
        try await warmLookUps(lab, server)
    }

    /// The refreshes of `token-refresh`, of users that every server has cached.
    static let serversRefresh = overServers(
        "servers-refresh",
        "HTTP token, 16,000 refresh tokens again and again"
    ) { lab, server in
        // Fewer users than a server caches (16,384). More than are refreshed in a second: each server writes the times
        // of a user once a second, so with fewer users one server would write less than four.
        try refreshes(of: Accounts.numbers(16_000, upTo: lab.plan.linked), server)
    }

    /// Numbers of servers. The first is the reference.
    private static let serverCounts = [1, 2, 4]

    /// Makes a benchmark that compares the processor time for one request, of Concord and PostgreSQL, between several
    /// servers and one. Each server has as many callers as the one had: a service gets more servers because it gets more
    /// callers. With fewer callers each, a server joins fewer statements.
    ///
    /// The row `name` compares 4 servers with 1; the row `name-2` compares 2 with 1.
    /// - `requests`: the requests, prepared with the first server running.
    private static func overServers(
        _ name: String,
        _ summary: String,
        requests: @escaping @Sendable (Lab, Server) async throws -> [[UInt8]]
    ) -> Benchmark {
        Benchmark(
            name: name,
            rows: [name, "\(name)-2"],
            summary: "\(summary); CPU for one request with 4 servers against 1, and with 2 against 1"
        ) { lab in
            lab.note("\(name): \(summary), with 1, 2 and 4 servers")
            let callers = lab.plan.clients
            var servers = [try await lab.serve(output: "serve-1")]
            defer { for server in servers { server.process.stop() } }
            let requests = try await requests(lab, servers[0])
            try warmUp(servers[0], requests, callers: callers)

            var samples: [Int: [Sample]] = [:]
            for round in 0..<lab.plan.rounds {
                // A measurement changes the machine's state for the next one, so the order alternates.
                for count in round.isMultiple(of: 2) ? serverCounts : serverCounts.reversed() {
                    // Servers without callers would add their periodic work to the measurement.
                    while servers.count > count { servers.removeLast().process.stop() }
                    while servers.count < count {
                        servers.append(try await lab.serve(output: "serve-\(servers.count + 1)"))
                        try warmUp(servers[servers.count - 1], requests, callers: callers)
                    }
                    // Opens the connections that this number of callers needs.
                    _ = try load(servers, requests, callers: callers * count, seconds: 1)
                    let sample = try load(servers, requests, callers: callers * count, seconds: lab.plan.seconds)
                    samples[count, default: []].append(sample)
                    lab.note(
                        "  servers: \(count), \(sample.rate.shown(0))/s, \(sample.cost.shown(1)) µs of CPU each with PostgreSQL"
                    )
                }
            }
            return [
                outcome(name, summary, servers: 4, samples),
                outcome("\(name)-2", summary, servers: 2, samples),
            ]
        }
    }

    /// Sends each request once to one server, which fills its caches.
    private static func warmUp(_ server: Server, _ requests: [[UInt8]], callers: Int) throws {
        _ = try HTTPLoad(port: server.port, connections: callers).run(requests)
    }

    private static func load(
        _ servers: [Server],
        _ requests: [[UInt8]],
        callers: Int,
        seconds: Double
    ) throws -> Sample {
        let load = try HTTPLoad(ports: servers.map(\.port), connections: callers)
        return try servers.measure { try load.run(requests, repeats: true, seconds: seconds) }
    }

    private static func outcome(
        _ name: String,
        _ summary: String,
        servers count: Int,
        _ samples: [Int: [Sample]]
    ) -> Outcome {
        let several = samples[count] ?? []
        let one = samples[1] ?? []
        return Outcome(
            name: name,
            summary: "\(summary); CPU for one request with \(count) servers against 1",
            reference: "1 server with as many callers as each of them",
            samples: several,
            referenceRates: one.map(\.rate),
            values: zip(several, one).map { $0.cost / $1.cost }
        )
    }
}

extension Sample {
    /// Microseconds of processor time for one request, in Concord and PostgreSQL.
    fileprivate var cost: Double { (product + postgres).total / Double(count) * 1e6 }
}
