import AccountOperations
import JSON

extension Benchmark {
    /// Logins at the speed of one hash thread, beside lookups at a fixed pace that should not slow down.
    static let passwords = Benchmark(
        name: "passwords",
        rows: ["logins", "lookups-alone", "lookups-beside"],
        summary: "HTTP signInWithPassword on one hash thread, beside 2,000 lookups a second"
    ) { lab in
        lab.note("passwords: logins beside \(Int(lookUpsPerSecond)) lookups a second")
        let server = try await lab.serve()
        defer { server.process.stop() }
        let lookUps = try await warmLookUps(lab, server)
        let logins = logIns(lab, server)
        try warmUp(lookUps, logins, server)

        var rounds: [Round] = []
        for _ in 0..<lab.plan.rounds {
            let hashRate = try await oneCoreHashRate(lab)
            let alone = try look(lookUps, server, seconds: lab.plan.seconds)
            let plan = lab.plan
            async let beside = look(lookUps, server, seconds: plan.seconds)
            let loggedIn = try logIn(logins, server, seconds: plan.seconds)
            rounds.append(Round(hashRate: hashRate, logins: loggedIn, alone: alone, beside: try await beside))
            let round = rounds[rounds.count - 1]
            lab.note(
                """
                  \(loggedIn.rate.shown(1)) logins/s against \(hashRate.shown(1)) hashes/s, lookups' p99 \
                \(round.beside.percentile(99).shown(2)) ms against \(alone.percentile(99).shown(2)) ms
                """
            )
        }
        return outcomes(rounds)
    }

    /// Sign-ins of a stranger while one client signs in as often as it can.
    static let passwordsFlooded = Benchmark(
        name: "passwords-flooded",
        summary: "a stranger's HTTP signInWithPassword while one client with 150 connections signs in without a pause"
    ) { lab in
        lab.note("passwords-flooded: a stranger's logins beside a flood")
        let server = try await lab.serve()
        defer { server.process.stop() }
        let logins = logIns(lab, server)
        var samples: [Sample] = []
        for _ in 0..<lab.plan.rounds {
            async let flood = flood(logins, server, seconds: lab.plan.seconds + 2)
            // Waits until the queue is full.
            try await Task.sleep(for: .seconds(1))
            samples.append(try strangerLogIns(logins, server, seconds: lab.plan.seconds))
            let flooded = try await flood
            lab.note(
                "  the client's \(flooded.rate.shown(0)) answers/s, the stranger's p99 \(samples[samples.count - 1].percentile(99).shown(0)) ms"
            )
        }
        let shares = samples.map { sample in
            Double(sample.latencies.count { $0 <= 2_000_000_000 }) / Double(sample.count)
        }
        return [
            Outcome(
                name: "passwords-flooded",
                summary: "share of a stranger's logins that succeed within 2 s beside a client with 150 connections",
                reference: "none",
                samples: samples,
                values: shares
            )
        ]
    }

    private static func flood(_ requests: [[UInt8]], _ server: Server, seconds: Double) throws -> Sample {
        let load = try HTTPLoad(port: server.port, connections: 150)
        load.toleratesRefusals = true
        return try load.run(requests, repeats: true, seconds: seconds)
    }

    /// Sends four logins a second from another address, each until its answer.
    private static func strangerLogIns(_ requests: [[UInt8]], _ server: Server, seconds: Double) throws -> Sample {
        let load = try HTTPLoad(port: server.port, connections: 32, from: 2)
        load.toleratesRefusals = true
        return try load.run(Array(requests.prefix(max(4, Int(seconds * 4)))), perSecond: 4)
    }

    private static let lookUpsPerSecond = 2000.0
    /// Enough to keep the hash thread busy, few enough for its queue.
    private static let callers = 8

    private struct Round {
        let hashRate: Double
        let logins: Sample
        let alone: Sample
        let beside: Sample

        var loginRatio: Double { logins.rate / hashRate }
        var delay: Double { beside.percentile(99) / alone.percentile(99) }
    }

    private static func outcomes(_ rounds: [Round]) -> [Outcome] {
        let logins = rounds.map(\.loginRatio)
        let delays = rounds.map(\.delay)
        return [
            Outcome(
                name: "logins",
                summary: "HTTP signInWithPassword on one hash thread, beside 2,000 lookups a second",
                reference: "Argon2id on one core",
                samples: rounds.map(\.logins),
                referenceRates: rounds.map(\.hashRate),
                values: logins
            ),
            Outcome(
                name: "lookups-alone",
                summary: "2,000 lookups a second without logins; p99 in milliseconds",
                reference: "none",
                samples: rounds.map(\.alone),
                values: rounds.map { $0.alone.percentile(99) }
            ),
            Outcome(
                name: "lookups-beside",
                summary: "2,000 lookups a second beside the logins; p99 against p99 without them",
                reference: "the same lookups without logins",
                samples: rounds.map(\.beside),
                values: delays
            ),
        ]
    }

    private static func warmUp(_ lookUps: [[UInt8]], _ logins: [[UInt8]], _ server: Server) throws {
        _ = try HTTPLoad(port: server.port, connections: callers).run(lookUps)
        _ = try HTTPLoad(port: server.port, connections: callers).run(logins, seconds: 1)
    }

    /// Returns the number of passwords that one idle core verifies in a second.
    private static func oneCoreHashRate(_ lab: Lab) async throws -> Double {
        let hasher = try PasswordHasher(threadCount: 1, queueMax: 1, randomBytes: Effects.system.randomBytes)
        let start = nanoseconds()
        var count = 0.0
        while nanoseconds() - start < 3_000_000_000 {
            guard try await hasher.verify(Accounts.password, against: lab.passwordHash, for: .administrator) else {
                throw BenchmarkFailure("the password does not match its hash")
            }
            count += 1
        }
        let rate = count / (Double(nanoseconds() - start) / 1e9)
        await hasher.shutDown()
        return rate
    }

    private static func look(_ requests: [[UInt8]], _ server: Server, seconds: Double) throws -> Sample {
        let load = try HTTPLoad(port: server.port, connections: 32)
        return try server.measure {
            try load.run(requests, repeats: true, seconds: seconds, perSecond: lookUpsPerSecond)
        }
    }

    private static func logIn(_ requests: [[UInt8]], _ server: Server, seconds: Double) throws -> Sample {
        try HTTPLoad(port: server.port, connections: callers).run(requests, repeats: true, seconds: seconds)
    }

    private static func logIns(_ lab: Lab, _ server: Server) -> [[UInt8]] {
        Accounts.numbers(1000, upTo: lab.plan.passwords).map { number in
            let body = JSONWriter.object { writer in
                writer.field("email", Accounts.email(number))
                writer.field("password", Accounts.password)
                writer.field("returnSecureToken", true)
            }
            return request("/v1/accounts:signInWithPassword?key=\(Lab.apiKey)", body, port: server.port)
        }
    }
}
