import AccountLinking
import AccountOperations
import AccountStore
import FoundationEssentials
import JSON

/// Requests at most that a second of one measurement can need. They are prepared before it, because making them costs
/// more than sending them.
private let requestsPerSecondMax = 12_000.0

extension Benchmark {
    /// The least that any request costs, whatever it asks for.
    static let httpFloor = Benchmark(
        "http-floor",
        "HTTP /healthz, two bytes without a database",
        against: "point-lookup",
        aim: nil
    ) { lab in
        let server = try await lab.serve()
        let health = Array("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n\r\n".utf8)
        return Measurement { seconds in
            try lab.measure(server, Array(repeating: health, count: 32), repeats: true, seconds: seconds)
        } end: {
            server.process.stop()
        }
    }

    static let lookUpCold = Benchmark(
        "lookup-cold",
        "HTTP accounts:lookup, each ID token seen for the first time",
        against: "point-lookup",
        aim: 0.45
    ) { lab in
        let server = try await lab.serve()
        let tokens = try await lab.tokenAuthority(of: server)
        return Measurement { seconds in
            let numbers = Accounts.numbers(Int(seconds * requestsPerSecondMax), upTo: lab.plan.users)
            let requests = try lookUps(of: numbers, tokens, server)
            return try lab.measure(server, requests, seconds: seconds)
        } end: {
            server.process.stop()
        }
    }

    static let lookUpWarm = Benchmark(
        "lookup-warm",
        "HTTP accounts:lookup, 10,000 ID tokens again and again",
        against: "point-lookup",
        aim: 0.6
    ) { lab in
        let server = try await lab.serve()
        let requests = try await warmLookUps(lab, server)
        _ = try lab.connect(server).run(requests)
        return Measurement { seconds in
            try lab.measure(server, requests, repeats: true, seconds: seconds)
        } end: {
            server.process.stop()
        }
    }

    static let tokenRefresh = Benchmark(
        "token-refresh",
        "HTTP token, an ID token for a refresh token",
        against: "point-lookup",
        aim: 0.4
    ) { lab in
        let server = try await lab.serve()
        return Measurement { seconds in
            let requests = try Accounts.numbers(Int(seconds * requestsPerSecondMax), upTo: lab.plan.linked).map {
                let refreshToken = try Accounts.refreshToken($0)
                let body = JSONWriter.object { writer in
                    writer.field("grant_type", "refresh_token")
                    writer.field("refresh_token", refreshToken)
                }
                return request("/v1/token?key=\(Lab.apiKey)", body, port: server.port)
            }
            return try lab.measure(server, requests, repeats: true, seconds: seconds)
        } end: {
            server.process.stop()
        }
    }

    static let idpSignIn = Benchmark(
        "idp-sign-in",
        "HTTP signInWithIdp of a known identity, signature verified, session written",
        against: "idp-sign-in",
        aim: 1.0
    ) { lab in
        let server = try await lab.developmentServer()
        return Measurement { seconds in
            let requests = try idpSignIns(lab, server, seconds: seconds, of: .linked)
            return try lab.measure(server, requests, seconds: seconds)
        } end: {
            server.process.stop()
        }
    }
}

extension Lab {
    /// Connections of their own for each measurement: the server closes those that are idle while `pgbench` runs.
    fileprivate func connect(_ server: Server) throws -> HTTPLoad {
        try HTTPLoad(port: server.port, connections: plan.clients)
    }

    func measure(
        _ server: Server,
        _ requests: [[UInt8]],
        repeats: Bool = false,
        seconds: Double
    ) throws -> Sample {
        let load = try connect(server)
        return try server.measure { try load.run(requests, repeats: repeats, seconds: seconds) }
    }
}

/// `accounts:lookup` with 10,000 ID tokens.
func warmLookUps(_ lab: Lab, _ server: Server) async throws -> [[UInt8]] {
    let tokens = try await lab.tokenAuthority(of: server)
    return try lookUps(of: Accounts.numbers(10_000, upTo: lab.plan.users), tokens, server)
}

/// `accounts:lookup` with a new ID token for each account.
private func lookUps(of numbers: [Int], _ tokens: TokenAuthority, _ server: Server) throws -> [[UInt8]] {
    try numbers.map { number in
        let token = try idToken(of: number, tokens)
        let body = JSONWriter.object { writer in writer.field("idToken", token) }
        return request("/v1/accounts:lookup?key=\(Lab.apiKey)", body, port: server.port)
    }
}

/// An ID token of an account's session that has just begun.
func idToken(of number: Int, _ tokens: TokenAuthority) throws -> String {
    let now = Effects.system.now()
    let user = try Accounts.record(number, now: now)
    let session = SessionRecord(
        tenant: .project,
        user: user.id,
        id: [],
        secretHash: [],
        epoch: user.sessionEpoch,
        authTime: now,
        signInProvider: "password"
    )
    return try tokens.mintIDToken(for: user, session: session, at: now)
}

/// Whose identity a provider's sign-in brings.
enum Newcomer {
    /// One that is linked to the account.
    case linked
    /// One that nobody has seen, with the account's address, which the provider does not vouch for.
    case stranger
}

/// `accounts:signInWithIdp`, as many as `seconds` can need. A provider's token is good for five minutes, so each
/// measurement has new ones.
func idpSignIns(_ lab: Lab, _ server: Server, seconds: Double, of newcomer: Newcomer) throws -> [[UInt8]] {
    let numbers = Accounts.numbers(Int(min(seconds * 4000, 40_000)), upTo: lab.plan.linked)
    return try providerTokens(for: numbers, of: lab.issuer, newcomer).map { token in
        let body = JSONWriter.object { writer in
            writer.field("requestUri", "http://localhost")
            writer.field("postBody", "providerId=\(Accounts.provider)&id_token=\(token)")
            writer.field("returnIdpCredential", true)
            writer.field("returnSecureToken", true)
        }
        return request("/v1/accounts:signInWithIdp?key=\(Lab.apiKey)", body, port: server.port)
    }
}

/// ID tokens from the issuer.
private func providerTokens(for numbers: [Int], of issuer: Issuer, _ newcomer: Newcomer) throws -> [String] {
    let load = try HTTPLoad(port: issuer.port, connections: 8)
    var tokens = [String](repeating: "", count: numbers.count)
    load.onAnswer = { index, body in
        tokens[index] = (try? JSONValue(parsing: Array(body)))?["id_token"]?.string ?? ""
    }
    let requests = numbers.map { number in
        let claims = JSONWriter.object { writer in
            writer.field("sub", newcomer == .linked ? Accounts.subject(number) : "stranger-\(number)")
            writer.field("aud", Accounts.clientID)
            writer.field("email", Accounts.email(number))
            writer.field("email_verified", newcomer == .linked)
            writer.field("name", "User \(number)")
        }
        return request("/token", claims, port: issuer.port)
    }
    _ = try load.run(requests)
    return tokens
}
