import JSON

extension Benchmark {
    /// The cost of asking how to sign in, against what a person would do without that.
    static let waysIn = Benchmark(
        name: "ways-in",
        rows: ["lookup-by-proof", "lookup-device"],
        summary:
            "asking how to sign in, by mail and on a known device; the time it takes, against a link and a warm lookup"
    ) { lab in
        lab.note("ways-in: lookups by mail beside sign-in links, and by known devices beside warm lookups of accounts")
        let server = try await lab.developmentServer()
        defer { server.process.stop() }
        let numbers = Accounts.numbers(10_000, upTo: lab.plan.users)
        let byProof = try lab.compareLookUps(
            "lookup-by-proof",
            ("HTTP lookup of an address", numbers.map { lookUp(Accounts.email($0), nil, server) }, "202"),
            against: ("HTTP sendOobCode EMAIL_SIGNIN", numbers.map { signInLink(Accounts.email($0), server) }),
            server
        )
        let byDevice = try lab.compareLookUps(
            "lookup-device",
            ("HTTP lookup with the token of a known device", try lookUpsOfDevices(lab, server), "200"),
            against: ("lookup-warm", try await warmLookUps(lab, server)),
            server
        )
        return [byProof, byDevice]
    }
}

extension Lab {
    fileprivate static let lookUpPath = "/concord/v1/lookup"

    /// Measures two lists of requests in turn.
    fileprivate func compareLookUps(
        _ name: String,
        _ lookUps: (summary: String, requests: [[UInt8]], status: String),
        against reference: (name: String, requests: [[UInt8]]),
        _ server: Server
    ) throws -> Outcome {
        func measured(_ requests: [[UInt8]], _ status: String, seconds: Double) throws -> Sample {
            try measure(server, requests, repeats: true, seconds: seconds, status: status)
        }
        _ = try measured(lookUps.requests, lookUps.status, seconds: 1)
        _ = try measured(reference.requests, "200", seconds: 1)
        var found: [Sample] = []
        var references: [Sample] = []
        for round in 0..<plan.rounds {
            // The first of two measurements changes the machine's state for the second, so they take turns.
            if round.isMultiple(of: 2) {
                found.append(try measured(lookUps.requests, lookUps.status, seconds: plan.seconds))
            }
            references.append(try measured(reference.requests, "200", seconds: plan.seconds))
            if !round.isMultiple(of: 2) {
                found.append(try measured(lookUps.requests, lookUps.status, seconds: plan.seconds))
            }
            note("  \(name): \(found[round].rate.shown(0))/s against \(references[round].rate.shown(0))/s")
        }
        return Outcome(
            name: name,
            summary: "\(lookUps.summary); the time it takes, against \(reference.name)",
            reference: reference.name,
            samples: found,
            referenceRates: references.map(\.rate),
            values: zip(found, references).map { $1.rate / $0.rate }
        )
    }
}

private func lookUp(_ email: String, _ deviceToken: String?, _ server: Server) -> [UInt8] {
    let body = JSONWriter.object { writer in
        writer.field("email", email)
        writer.field("continueUrl", "http://localhost/")
        writer.field("deviceToken", deviceToken)
    }
    return request(Lab.lookUpPath, body, port: server.port)
}

private func signInLink(_ email: String, _ server: Server) -> [UInt8] {
    let body = JSONWriter.object { writer in
        writer.field("requestType", "EMAIL_SIGNIN")
        writer.field("email", email)
        writer.field("continueUrl", "http://localhost/")
    }
    return request("/v1/accounts:sendOobCode?key=\(Lab.apiKey)", body, port: server.port)
}

/// Lookups of 1,000 new accounts by the devices that created them.
private func lookUpsOfDevices(_ lab: Lab, _ server: Server) throws -> [[UInt8]] {
    let emails = (0..<1000).map { "device-\($0)@gmail.com" }
    let signIns = emails.map { email in
        let claims = JSONWriter.object { writer in
            writer.field("sub", email)
            writer.field("email", email)
            writer.field("email_verified", true)
        }
        let body = JSONWriter.object { writer in
            writer.field("requestUri", "http://localhost")
            writer.field("postBody", "providerId=google.com&id_token=\(String(decoding: claims, as: UTF8.self))")
            writer.field("returnDeviceToken", true)
        }
        return request("/v1/accounts:signInWithIdp?key=\(Lab.apiKey)", body, port: server.port)
    }
    let tokens = try HTTPLoad(port: server.port, connections: 8).answers(to: signIns, "deviceToken")
    guard !tokens.contains("") else { throw BenchmarkFailure("a sign-in returned no device token") }
    return zip(emails, tokens).map { lookUp($0, $1, server) }
}
