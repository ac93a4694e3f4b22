import Glibc
import JSON

extension Benchmark {
    /// Tests if the time of an answer reveals that an address has an account, where the answer does not.
    static let enumeration = Benchmark(
        name: "enumeration",
        rows: ["password", "methods", "reset", "link", "change", "short-code"].map { "enumeration-\($0)" },
        summary: "addresses with an account against addresses without, protection on; a pair distinguished by its times"
    ) { lab in
        lab.note("enumeration: 1000 requests for addresses with an account between 1000 for others, each endpoint")
        let server = try await lab.developmentServer()
        defer { server.process.stop() }
        try protect(server)
        let token = try idToken(of: lab.plan.users, try await lab.tokenAuthority())
        return try Probe.all(idToken: token).map { probe in
            let rounds = try (0..<lab.plan.rounds).map { try compare(probe, lab, server, round: $0) }
            let odds = rounds.map(\.odds)
            return Outcome(
                name: "enumeration-\(probe.name)",
                summary: "HTTP \(probe.summary); how often the slower of two answers is guessed right, 0.50 by chance",
                reference: "the same for an address without an account",
                samples: rounds.map(\.known),
                referenceRates: rounds.map(\.unknown.rate),
                values: odds
            )
        }
    }

    private static let requestsOfEach = 1000

    private struct Comparison {
        let known: Sample
        let unknown: Sample
        /// The chance of an observer of one answer of each kind to identify them correctly.
        let odds: Double
    }

    /// One caller requests an address with an account and one without in turn, in random order.
    private static func compare(_ probe: Probe, _ lab: Lab, _ server: Server, round: Int) throws -> Comparison {
        let count = requestsOfEach
        let numbers = Array(Accounts.numbers(count * (round + 1), upTo: lab.plan.passwords).suffix(count))
        guard numbers.count == count else { throw BenchmarkFailure("too few accounts; give more --users") }
        var requests: [[UInt8]] = []
        var isKnown: [Bool] = []
        for number in numbers {
            for known in Bool.random() ? [true, false] : [false, true] {
                // Of the same length and form.
                let email = known ? Accounts.email(number) : Accounts.email(number).replacing("user-", with: "none-")
                requests.append(probe.bytes(email, server.port))
                isKnown.append(known)
            }
        }
        let load = try HTTPLoad(port: server.port, connections: 1)
        load.expectedStatus = probe.status
        var times: (known: [UInt64], unknown: [UInt64]) = ([], [])
        var last = nanoseconds()
        load.onAnswer = { request, _ in
            let now = nanoseconds()
            if isKnown[request] { times.known.append(now - last) } else { times.unknown.append(now - last) }
            last = now
        }
        _ = try load.run(requests)
        let test = MannWhitney(times.known, times.unknown)
        let known = sample(times.known)
        let unknown = sample(times.unknown)
        lab.note(
            """
              \(probe.name): medians \(known.percentile(50).shown(3)) ms with an account, \
            \(unknown.percentile(50).shown(3)) ms without; right \(test.odds.shown(3)) of the time, \
            z \(test.z.shown(2)), p \(test.p.shown(4))
            """
        )
        return Comparison(known: known, unknown: unknown, odds: test.odds)
    }

    private static func sample(_ times: [UInt64]) -> Sample {
        let seconds = Double(times.reduce(0, +)) / 1e9
        return Sample(count: times.count, seconds: seconds, latencies: times.sorted())
    }

    private static func protect(_ server: Server) throws {
        let body = #"{"emailPrivacyConfig":{"enableImprovedEmailPrivacy":true}}"#
        let path = "/v2/projects/\(Lab.projectID)/config?updateMask=emailPrivacyConfig"
        let post = request(path, Array(body.utf8), port: server.port, fields: "Authorization: Bearer owner\r\n")
        _ = try HTTPLoad(port: server.port, connections: 1).run([Array("PATCH".utf8) + post.dropFirst("POST".count)])
    }
}

/// A request whose answer does not reveal if its address has an account.
private struct Probe {
    let name: String
    let summary: String
    var status = "200"
    let path: String
    let body: (_ email: String) -> [UInt8]

    func bytes(_ email: String, _ port: UInt16) -> [UInt8] {
        request("\(path)?key=\(Lab.apiKey)", body(email), port: port)
    }

    /// All probes. `accounts:signUp` is not among them, because its answer reveals the account (rule P1).
    ///
    /// `idToken`: of a session that requests another address.
    static func all(idToken: String) -> [Probe] {
        [
            Probe(
                name: "password",
                summary: "signInWithPassword with a wrong password",
                status: "400",
                path: "/v1/accounts:signInWithPassword"
            ) { email in
                JSONWriter.object { writer in
                    writer.field("email", email)
                    writer.field("password", "not the password")
                }
            },
            Probe(
                name: "methods",
                summary: "createAuthUri with an address",
                path: "/v1/accounts:createAuthUri"
            ) { email in
                JSONWriter.object { writer in
                    writer.field("identifier", email)
                    writer.field("continueUri", "http://localhost")
                }
            },
            mail("reset", "PASSWORD_RESET"),
            mail("link", "EMAIL_SIGNIN"),
            Probe(
                name: "change",
                summary: "sendOobCode VERIFY_AND_CHANGE_EMAIL",
                path: "/v1/accounts:sendOobCode"
            ) { email in
                JSONWriter.object { writer in
                    writer.field("requestType", "VERIFY_AND_CHANGE_EMAIL")
                    writer.field("idToken", idToken)
                    writer.field("newEmail", email)
                }
            },
            Probe(
                name: "short-code",
                summary: "shortCode:exchange with a wrong code",
                status: "403",
                path: "/concord/v1/shortCode:exchange"
            ) { email in
                JSONWriter.object { writer in
                    writer.field("requestType", "PASSWORD_RESET")
                    writer.field("email", email)
                    writer.field("code", "wrong")
                }
            },
        ]
    }

    private static func mail(_ name: String, _ type: String) -> Probe {
        Probe(name: name, summary: "sendOobCode \(type)", path: "/v1/accounts:sendOobCode") { email in
            JSONWriter.object { writer in
                writer.field("requestType", type)
                writer.field("email", email)
            }
        }
    }
}

/// The rank-sum test of Mann and Whitney: do values of one kind tend to be greater than those of another?
struct MannWhitney {
    /// The chance that the greater of two values, one of each kind, is of the kind with the greater values; 0.5 without
    /// a difference.
    let odds: Double
    /// The distance of the ranks in standard deviations.
    let z: Double
    /// The probability of such a distance if the kinds do not differ.
    let p: Double

    init(_ first: [UInt64], _ second: [UInt64]) {
        let (m, n) = (Double(first.count), Double(second.count))
        let all = (first.map { ($0, true) } + second.map { ($0, false) }).sorted { $0.0 < $1.0 }
        // Equal values share the mean of their ranks.
        var ranks = 0.0
        var start = 0
        while start < all.count {
            let end = all[start...].firstIndex { $0.0 != all[start].0 } ?? all.count
            let rank = Double(start + 1 + end) / 2
            ranks += rank * Double(all[start..<end].count { $0.1 })
            start = end
        }
        let u = ranks - m * (m + 1) / 2
        odds = 0.5 + (u / (m * n) - 0.5).magnitude
        z = (u - m * n / 2).magnitude / (m * n * (m + n + 1) / 12).squareRoot()
        p = erfc(z / 2.0.squareRoot())
    }
}
