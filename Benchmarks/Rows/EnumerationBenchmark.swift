import Glibc
import JSON

extension Benchmark {
    /// Tests if the status, the header fields, the size or the time of an answer reveals that an address has an account.
    static let enumeration = Benchmark(
        name: "enumeration",
        rows: Probe.names.map { "enumeration-\($0)" },
        summary:
            "addresses with an account against addresses without, protection on; a pair distinguished by its answers"
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
                summary:
                    "HTTP \(probe.summary); how often the answer about an account is guessed right, 0.50 by chance",
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
        /// The chance of an observer of one answer of each kind to identify them correctly, by time or by head.
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
                let email = known ? Accounts.email(number) : probe.unknownEmail(number, round: round)
                requests.append(probe.bytes(email, server.port))
                isKnown.append(known)
            }
        }
        let load = try HTTPLoad(port: server.port, connections: 1)
        load.expectedStatus = probe.status
        var heads = AnswerHeads()
        load.onHead = { request, head in heads.add(head, ofKnown: isKnown[request]) }
        var times: (known: [UInt64], unknown: [UInt64]) = ([], [])
        var last = nanoseconds()
        load.onAnswer = { request, _ in
            let now = nanoseconds()
            if isKnown[request] { times.known.append(now - last) } else { times.unknown.append(now - last) }
            last = now
        }
        _ = try load.run(requests)
        if let failure = heads.failure { throw BenchmarkFailure("\(probe.name): an unexpected answer: \(failure)") }
        let test = MannWhitney(times.known, times.unknown)
        let known = sample(times.known)
        let unknown = sample(times.unknown)
        let difference = heads.difference
        lab.note(
            """
              \(probe.name): medians \(known.percentile(50).shown(3)) ms with an account, \
            \(unknown.percentile(50).shown(3)) ms without; right \(test.odds.shown(3)) of the time, \
            z \(test.z.shown(2)), p \(test.p.shown(4)); heads: \
            \(difference.map { "\($0.field) right \($0.odds.shown(3)) of the time" } ?? "the same bytes")
            """
        )
        return Comparison(known: known, unknown: unknown, odds: max(test.odds, difference?.odds ?? 0.5))
    }

    private static func sample(_ times: [UInt64]) -> Sample {
        let seconds = Double(times.reduce(0, +)) / 1e9
        return Sample(count: times.count, seconds: seconds, latencies: times.sorted())
    }

    private static func protect(_ server: Server) throws {
        try configure(#"{"emailPrivacyConfig":{"enableImprovedEmailPrivacy":true}}"#, "emailPrivacyConfig", server)
        try configure(#"{"concord":{"signUp":{"requires":"mailbox"}}}"#, "concord.signUp.requires", server)
        try configure(#"{"linkPolicy":{"unprovenAddress":"confirm"}}"#, "linkPolicy.unprovenAddress", server)
    }

    private static func configure(_ body: String, _ mask: String, _ server: Server) throws {
        let path = "/v2/projects/\(Lab.projectID)/config?updateMask=\(mask)"
        let fields = "Authorization: Bearer owner\r\n"
        let patch = request(path, Array(body.utf8), method: "PATCH", port: server.port, fields: fields)
        _ = try HTTPLoad(port: server.port, connections: 1).run([patch])
    }
}

/// A request with an address that is not the client's.
private struct Probe {
    let name: String
    let summary: String
    var status = "200"
    var method = "POST"
    let path: String
    /// First letter of the addresses without an account. A probe that creates accounts has its own.
    var letter: Character = "n"
    let body: (_ email: String) -> [UInt8]

    func bytes(_ email: String, _ port: UInt16) -> [UInt8] {
        let isPage = method == "GET"
        return request(isPage ? path + email : "\(path)?key=\(Lab.apiKey)", body(email), method: method, port: port)
    }

    /// An address without an account, of the same length and form as those of accounts. No other round has it.
    func unknownEmail(_ number: Int, round: Int) -> String {
        let letters = "abcdefghijklmnopqrstuvwxyz"
        let letterOfRound = letters[letters.index(letters.startIndex, offsetBy: round % letters.count)]
        return Accounts.email(number).replacing("user-", with: "\(letter)\(letterOfRound)no-")
    }

    static let names = [
        "password", "methods", "reset", "link", "change", "short-code", "sign-up", "provider", "update",
        "old-password", "link-code", "lookup", "ways", "ways-code", "page",
    ]

    /// All probes.
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
            Probe(
                name: "sign-up",
                summary: "signUp with a password",
                status: "400",
                path: "/v1/accounts:signUp",
                letter: "s"
            ) { email in
                JSONWriter.object { writer in
                    writer.field("email", email)
                    writer.field("password", Accounts.password)
                }
            },
            Probe(
                name: "provider",
                summary: "signInWithIdp with an address that the provider does not prove",
                path: "/v1/accounts:signInWithIdp",
                letter: "p"
            ) { email in
                let claims = JSONWriter.object { writer in
                    writer.field("sub", "github-" + email)
                    writer.field("email", email)
                }
                return JSONWriter.object { writer in
                    writer.field("requestUri", "http://localhost")
                    writer.field("returnIdpCredential", true)
                    writer.field(
                        "postBody",
                        "providerId=github.com&access_token=\(String(decoding: claims, as: UTF8.self))"
                    )
                }
            },
            Probe(
                name: "update",
                summary: "update with the address of another account",
                status: "400",
                path: "/v1/accounts:update"
            ) { email in
                JSONWriter.object { writer in
                    writer.field("idToken", idToken)
                    writer.field("email", email)
                }
            },
            Probe(
                name: "old-password",
                summary: "resetPassword with a wrong old password",
                status: "400",
                path: "/v1/accounts:resetPassword"
            ) { email in
                JSONWriter.object { writer in
                    writer.field("email", email)
                    writer.field("oldPassword", "not the password")
                    writer.field("newPassword", Accounts.password)
                }
            },
            Probe(
                name: "link-code",
                summary: "signInWithEmailLink with a wrong code",
                status: "400",
                path: "/v1/accounts:signInWithEmailLink"
            ) { email in
                JSONWriter.object { writer in
                    writer.field("email", email)
                    writer.field("oobCode", "wrong")
                }
            },
            Probe(
                name: "lookup",
                summary: "lookup of an address without a session",
                status: "400",
                path: "/v1/accounts:lookup"
            ) { email in
                JSONWriter.object { writer in writer.field("email", [email]) }
            },
            Probe(
                name: "ways",
                summary: "lookup of the sign-in methods of an address by mail",
                status: "202",
                path: "/concord/v1/lookup"
            ) { email in
                JSONWriter.object { writer in
                    writer.field("email", email)
                    writer.field("continueUrl", "http://localhost/")
                }
            },
            Probe(
                name: "ways-code",
                summary: "lookup:prove with a wrong code",
                status: "403",
                path: "/concord/v1/lookup:prove"
            ) { email in
                JSONWriter.object { writer in
                    writer.field("email", email)
                    writer.field("code", "wrong")
                }
            },
            Probe(
                name: "page",
                summary: "the page that mails link to, with an address in its query",
                method: "GET",
                path: "/__/auth/action?mode=signIn&email="
            ) { _ in [] },
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

/// The status lines and header fields of answers of two kinds, `Content-Length` among them.
private struct AnswerHeads {
    /// Fields whose values differ in every answer: only their presence and length counts.
    private static let random: Set = ["date", "x-request-id", "concord-decision"]

    private var known: [String: [String: Int]] = [:]
    private var unknown: [String: [String: Int]] = [:]
    private var counts = (known: 0, unknown: 0)
    /// The first status that is the server's fault.
    private(set) var failure: String?

    mutating func add(_ head: ArraySlice<UInt8>, ofKnown isKnown: Bool) {
        if isKnown { counts.known += 1 } else { counts.unknown += 1 }
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        for (number, line) in lines.enumerated() {
            let name = number == 0 ? "status" : line.prefix { $0 != ":" }.lowercased()
            var value = String(line)
            if number == 0, line.dropFirst(9).first == "5", failure == nil { failure = value }
            if Self.random.contains(name) { value = "\(value.utf8.count) bytes" }
            if isKnown {
                known[name, default: [:]][value, default: 0] += 1
            } else {
                unknown[name, default: [:]][value, default: 0] += 1
            }
        }
    }

    /// The field by which the kinds are distinguished best; `nil` if all answers have the same bytes.
    var difference: (field: String, odds: Double)? {
        let fields = Set(known.keys).union(unknown.keys).map { (field: $0, odds: odds(by: $0)) }
        return fields.filter { $0.odds > 0.5 }.max { ($0.odds, $0.field) < ($1.odds, $1.field) }
    }

    /// The chance to identify a pair by the values of a field, if the observer knows how often each kind has each value.
    private func odds(by field: String) -> Double {
        let (first, second) = (shares(known[field] ?? [:], counts.known), shares(unknown[field] ?? [:], counts.unknown))
        let distance = Set(first.keys).union(second.keys)
            .reduce(0.0) { $0 + ((first[$1] ?? 0) - (second[$1] ?? 0)).magnitude }
        return 0.5 + distance / 4
    }

    /// The share of each value. Answers without the field have the value "".
    private func shares(_ values: [String: Int], _ count: Int) -> [String: Double] {
        var values = values
        let missing = count - values.values.reduce(0, +)
        if missing > 0 { values["", default: 0] += missing }
        return values.mapValues { Double($0) / Double(max(count, 1)) }
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
