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
        let tokens = try await lab.tokenAuthority()
        try addNumbers(lab, server)
        try protect(server)
        return try Probe.names.map { name in
            // Each probe has a sign-in that is recent: an old one would be refused before the address is read.
            let client = Client(
                idToken: try idToken(of: lab.plan.users, tokens),
                provenIDToken: try signIn(for: "idToken", server),
                deviceToken: try signIn(for: "deviceToken", server)
            )
            guard let probe = Probe.all(as: client).first(where: { $0.name == name }) else {
                throw BenchmarkFailure("\(name): no probe")
            }
            let shut = probe.shut
            if let shut { try configure(shut, server, isShut: true) }
            let rounds = try (0..<roundCount).map { try compare(probe, lab, server, round: $0) }
            if let shut { try configure(shut, server, isShut: false) }
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
    /// One: held answers take 10 ms each, 20 s for an endpoint.
    private static let roundCount = 1

    private struct Comparison {
        let known: Sample
        let unknown: Sample
        /// The chance of an observer of one answer of each kind to identify them correctly, by time or by head.
        let odds: Double
    }

    /// One caller requests an address with an account and one without in turn, in random order.
    private static func compare(_ probe: Probe, _ lab: Lab, _ server: Server, round: Int) throws -> Comparison {
        let numbers = probe.numbers(requestsOfEach, round: round, lab.plan)
        guard numbers.count == requestsOfEach else { throw BenchmarkFailure("too few accounts; give more --users") }
        let guests = try probe.needsGuests ? signUpGuests(2 * requestsOfEach, server) : []
        var requests: [[UInt8]] = []
        var isKnown: [Bool] = []
        for number in numbers {
            for known in Bool.random() ? [true, false] : [false, true] {
                let subject = known ? probe.known(number, round: round) : probe.unknown(number, round: round)
                let guest = probe.needsGuests ? guests[requests.count] : ""
                requests.append(probe.bytes(subject, as: guest, server.port))
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

    /// Switches a sign-in method off, or on again.
    private static func configure(_ door: Probe.Door, _ server: Server, isShut: Bool) throws {
        switch door {
        case .passwords: try configure(#"{"signIn":{"email":{"enabled":\#(!isShut)}}}"#, "signIn.email.enabled", server)
        case .links:
            let body = #"{"signIn":{"email":{"passwordRequired":\#(isShut)}}}"#
            try configure(body, "signIn.email.passwordRequired", server)
        }
    }

    /// A member of the answer to a sign-in of an account that no probe asks about. Its address is proven.
    private static func signIn(for member: String, _ server: Server) throws -> String {
        let claims = #"{"sub":"stranger","email":"enumeration@gmail.com","email_verified":true}"#
        let body = JSONWriter.object { writer in
            writer.field("requestUri", "http://localhost")
            writer.field("postBody", "providerId=google.com&id_token=\(claims)")
            writer.field("returnDeviceToken", true)
        }
        let signIn = request("/v1/accounts:signInWithIdp?key=\(Lab.apiKey)", body, port: server.port)
        let found = try HTTPLoad(port: server.port, connections: 1).answers(to: [signIn], member)
        guard let text = found.first, !text.isEmpty else { throw BenchmarkFailure("a sign-in returned no \(member)") }
        return text
    }

    /// The ID tokens of new anonymous accounts.
    private static func signUpGuests(_ count: Int, _ server: Server) throws -> [String] {
        let signUp = request("/v1/accounts:signUp?key=\(Lab.apiKey)", Array("{}".utf8), port: server.port)
        let load = try HTTPLoad(port: server.port, connections: 8)
        let tokens = try load.answers(to: Array(repeating: signUp, count: count), "idToken")
        guard !tokens.contains("") else { throw BenchmarkFailure("an anonymous sign-up returned no token") }
        return tokens
    }

    /// Imports the accounts with the numbers that probes ask about.
    private static func addNumbers(_ lab: Lab, _ server: Server) throws {
        let path = "/v1/projects/\(Lab.projectID)/accounts:batchCreate"
        for round in 0..<lab.plan.rounds {
            let users = (1...requestsOfEach).map { number -> JSONValue in
                let phoneNumber = Probe.phoneNumber(number, round: round, isKnown: true)
                return .object([
                    "localId": .string("number-\(round)-\(number)"), "phoneNumber": .string(phoneNumber),
                ])
            }
            let body = Array(JSONValue.object(["users": .array(users)]).text.utf8)
            let load = try HTTPLoad(port: server.port, connections: 1)
            var isRefused = false
            load.onAnswer = { _, answer in
                isRefused = (try? JSONValue(parsing: Array(answer)))?["error"] != nil
            }
            let fields = "Authorization: Bearer owner\r\n"
            _ = try load.run([request(path, body, port: server.port, fields: fields)])
            if isRefused { throw BenchmarkFailure("the accounts with numbers were refused") }
        }
    }

    private static func configure(_ body: String, _ mask: String, _ server: Server) throws {
        let path = "/v2/projects/\(Lab.projectID)/config?updateMask=\(mask)"
        let fields = "Authorization: Bearer owner\r\n"
        let patch = request(path, Array(body.utf8), method: "PATCH", port: server.port, fields: fields)
        _ = try HTTPLoad(port: server.port, connections: 1).run([patch])
    }
}

/// The tokens of the client that sends the requests.
private struct Client {
    /// The ID token of an account whose address is not proven.
    let idToken: String
    let provenIDToken: String
    let deviceToken: String
}

/// A request with an address or a number that is not the client's.
private struct Probe {
    /// A sign-in method that the project has switched off.
    enum Door { case passwords, links }

    /// The accounts that a probe asks about.
    enum Accounting { case withPassword, withoutPassword, withNumber }

    let name: String
    let summary: String
    var status = "200"
    var method = "POST"
    let path: String
    /// First letter of the addresses without an account. A probe that creates accounts has its own.
    var letter: Character = "n"
    var accounts = Accounting.withPassword
    var shut: Door?
    /// True if each request has its own anonymous session.
    var needsGuests = false
    /// - `guest`: the ID token of an anonymous session; empty if the probe needs none.
    let body: (_ subject: String, _ guest: String) -> [UInt8]

    func bytes(_ subject: String, as guest: String, _ port: UInt16) -> [UInt8] {
        let isPage = method == "GET"
        return request(
            isPage ? path + subject : "\(path)?key=\(Lab.apiKey)",
            body(subject, guest),
            method: method,
            port: port
        )
    }

    /// The accounts of a round, by number; fewer than `count` if there are too few.
    func numbers(_ count: Int, round: Int, _ plan: Plan) -> [Int] {
        func scattered(upTo limit: Int) -> [Int] {
            Array(Accounts.numbers(count * (round + 1), upTo: limit).suffix(count))
        }
        switch accounts {
        case .withPassword: return scattered(upTo: plan.passwords)
        // The first accounts have a password, and more have a provider.
        case .withoutPassword: return scattered(upTo: plan.linked - plan.passwords).map { $0 + plan.passwords }
        case .withNumber: return Array(1...count)
        }
    }

    /// The address or the number of an account.
    func known(_ number: Int, round: Int) -> String {
        accounts == .withNumber
            ? Self.phoneNumber(number, round: round, isKnown: true) : Accounts.email(number)
    }

    /// An address or number without an account.
    func unknown(_ number: Int, round: Int) -> String {
        accounts == .withNumber
            ? Self.phoneNumber(number, round: round, isKnown: false) : unknownEmail(number, round: round)
    }

    /// A number of 12 characters. There are numbers for five rounds; later ones ask again.
    static func phoneNumber(_ number: Int, round: Int, isKnown: Bool) -> String {
        "+1650555\(String(10_000 + (isKnown ? 0 : 5000) + round % 5 * 1000 + number % 1000).dropFirst())"
    }

    /// An address without an account, of the same length and form as those of accounts. No other round has it.
    private func unknownEmail(_ number: Int, round: Int) -> String {
        let letters = "abcdefghijklmnopqrstuvwxyz"
        let letterOfRound = letters[letters.index(letters.startIndex, offsetBy: round % letters.count)]
        return Accounts.email(number).replacing("user-", with: "\(letter)\(letterOfRound)no-")
    }

    static let names = [
        "password", "right-door", "methods", "device-methods", "reset", "link", "change", "short-code", "sign-up",
        "session-sign-up", "provider", "session-provider", "update", "old-password", "link-code", "lookup", "ways",
        "device-ways", "ways-code", "number", "second-factor", "no-passwords", "no-links", "page", "sign-in-page",
        "account-page", "sign-in-options",
    ]

    /// All probes.
    static func all(as client: Client) -> [Probe] {
        [
            password("password", "signInWithPassword with a wrong password"),
            password(
                "right-door",
                "signInWithPassword for an account without a password, whose owner is mailed how to sign in",
                of: .withoutPassword
            ),
            methods("methods", "createAuthUri with an address", deviceToken: nil),
            methods(
                "device-methods",
                "createAuthUri with the device token of another account",
                deviceToken: client.deviceToken
            ),
            mail("reset", "PASSWORD_RESET"),
            mail("link", "EMAIL_SIGNIN"),
            Probe(
                name: "change",
                summary: "sendOobCode VERIFY_AND_CHANGE_EMAIL",
                path: "/v1/accounts:sendOobCode"
            ) { email, _ in
                JSONWriter.object { writer in
                    writer.field("requestType", "VERIFY_AND_CHANGE_EMAIL")
                    writer.field("idToken", client.idToken)
                    writer.field("newEmail", email)
                }
            },
            Probe(
                name: "short-code",
                summary: "shortCode:exchange with a wrong code",
                status: "403",
                path: "/concord/v1/shortCode:exchange"
            ) { email, _ in
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
            ) { email, _ in
                JSONWriter.object { writer in
                    writer.field("email", email)
                    writer.field("password", Accounts.password)
                }
            },
            Probe(
                name: "session-sign-up",
                summary: "signUp with a password, in a session",
                status: "400",
                path: "/v1/accounts:signUp",
                letter: "t"
            ) { email, _ in
                JSONWriter.object { writer in
                    writer.field("idToken", client.provenIDToken)
                    writer.field("email", email)
                    writer.field("password", Accounts.password)
                }
            },
            provider("provider", "signInWithIdp with an address that the provider does not prove", letter: "p"),
            provider(
                "session-provider",
                "the same in an anonymous session",
                letter: "q",
                needsGuests: true
            ),
            Probe(
                name: "update",
                summary: "update with the address of another account",
                status: "400",
                path: "/v1/accounts:update"
            ) { email, _ in
                JSONWriter.object { writer in
                    writer.field("idToken", client.idToken)
                    writer.field("email", email)
                }
            },
            Probe(
                name: "old-password",
                summary: "resetPassword with a wrong old password",
                status: "400",
                path: "/v1/accounts:resetPassword"
            ) { email, _ in
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
            ) { email, _ in
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
            ) { email, _ in
                JSONWriter.object { writer in writer.field("email", [email]) }
            },
            ways("ways", "lookup of the sign-in methods of an address by mail", deviceToken: nil),
            ways("device-ways", "the same with the device token of another account", deviceToken: client.deviceToken),
            Probe(
                name: "ways-code",
                summary: "lookup:prove with a wrong code",
                status: "403",
                path: "/concord/v1/lookup:prove"
            ) { email, _ in
                JSONWriter.object { writer in
                    writer.field("email", email)
                    writer.field("code", "wrong")
                }
            },
            Probe(
                name: "number",
                summary: "sendVerificationCode with a number",
                path: "/v1/accounts:sendVerificationCode",
                accounts: .withNumber
            ) { number, _ in
                JSONWriter.object { writer in
                    writer.field("phoneNumber", number)
                    writer.field("recaptchaToken", "app")
                }
            },
            Probe(
                name: "second-factor",
                summary: "mfaEnrollment:start with a number",
                path: "/v2/accounts/mfaEnrollment:start",
                accounts: .withNumber
            ) { number, _ in
                JSONWriter.object { writer in
                    writer.field("idToken", client.provenIDToken)
                    writer.field("phoneEnrollmentInfo") { writer in
                        writer.field("phoneNumber", number)
                        writer.field("recaptchaToken", "app")
                    }
                }
            },
            password(
                "no-passwords",
                "signInWithPassword where passwords are off",
                of: .withoutPassword,
                shut: .passwords
            ),
            mail("no-links", "EMAIL_SIGNIN", status: "400", shut: .links),
            page("page", "the page that mails link to, with an address in its query", "/__/auth/action?mode=signIn"),
            page("sign-in-page", "the sign-in page, with an address in its query", "/signin?lang=en"),
            page("account-page", "the page of the account, with an address in its query", "/account?lang=en"),
            page("sign-in-options", "the sign-in methods of the project", "/concord/v1/signIn?lang=en"),
        ]
    }

    private static func password(
        _ name: String,
        _ summary: String,
        of accounts: Accounting = .withPassword,
        shut: Door? = nil
    ) -> Probe {
        Probe(
            name: name,
            summary: summary,
            status: "400",
            path: "/v1/accounts:signInWithPassword",
            accounts: accounts,
            shut: shut
        ) { email, _ in
            JSONWriter.object { writer in
                writer.field("email", email)
                writer.field("password", "not the password")
            }
        }
    }

    private static func methods(_ name: String, _ summary: String, deviceToken: String?) -> Probe {
        Probe(name: name, summary: summary, path: "/v1/accounts:createAuthUri") { email, _ in
            JSONWriter.object { writer in
                writer.field("identifier", email)
                writer.field("continueUri", "http://localhost")
                writer.field("deviceToken", deviceToken)
            }
        }
    }

    private static func provider(
        _ name: String,
        _ summary: String,
        letter: Character,
        needsGuests: Bool = false
    ) -> Probe {
        Probe(
            name: name,
            summary: summary,
            path: "/v1/accounts:signInWithIdp",
            letter: letter,
            needsGuests: needsGuests
        ) { email, guest in
            let claims = JSONWriter.object { writer in
                // An identity that no earlier request had, in a number of digits that does not vary.
                writer.field("sub", String(UInt64.random(in: 1 << 63...UInt64.max), radix: 16))
                writer.field("email", email)
            }
            return JSONWriter.object { writer in
                writer.field("requestUri", "http://localhost")
                writer.field("returnIdpCredential", true)
                writer.field(
                    "postBody",
                    "providerId=github.com&access_token=\(String(decoding: claims, as: UTF8.self))"
                )
                if needsGuests { writer.field("idToken", guest) }
            }
        }
    }

    private static func ways(_ name: String, _ summary: String, deviceToken: String?) -> Probe {
        Probe(name: name, summary: summary, status: "202", path: "/concord/v1/lookup") { email, _ in
            JSONWriter.object { writer in
                writer.field("email", email)
                writer.field("continueUrl", "http://localhost/")
                writer.field("deviceToken", deviceToken)
            }
        }
    }

    private static func page(_ name: String, _ summary: String, _ path: String) -> Probe {
        Probe(name: name, summary: summary, method: "GET", path: path + "&email=") { _, _ in [] }
    }

    private static func mail(_ name: String, _ type: String, status: String = "200", shut: Door? = nil) -> Probe {
        Probe(
            name: name,
            summary: "sendOobCode \(type)" + (shut == nil ? "" : " where links are off"),
            status: status,
            path: "/v1/accounts:sendOobCode",
            shut: shut
        ) { email, _ in
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
