import AccountLinking
import AccountOperations
import AccountStore
import FoundationEssentials
import JSON

/// The most requests that a second of one measurement can need. They are prepared in advance, because making them costs
/// more than sending them.
private let requestsPerSecondMax = 12_000.0

extension Benchmark {
    /// The minimal cost of any request.
    static let httpFloor = Benchmark(
        "http-floor",
        "HTTP /healthz, two bytes without a database",
        against: "point-lookup"
    ) { lab in
        let server = try await lab.serve()
        return Measurement { seconds in
            try lab.measureFloor(server, seconds: seconds)
        } end: {
            server.process.stop()
        }
    }

    static let lookUpCold = Benchmark(
        "lookup-cold",
        "HTTP accounts:lookup, each ID token seen for the first time",
        against: "point-lookup",
        parts: [.request, .verification, .row]
    ) { lab in
        let server = try await lab.serve()
        let tokens = try await lab.tokenAuthority()
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
        parts: [.request, .row]
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

    /// A lookup of the account with a token that was just issued, as SDKs do.
    static let lookUpIssued = Benchmark(
        "lookup-issued",
        "HTTP accounts:lookup, each ID token just issued by the same server",
        against: "point-lookup",
        parts: [.request, .row]
    ) { lab in
        let server = try await lab.serve()
        return Measurement { seconds in
            // Fewer than the server caches.
            let numbers = Accounts.numbers(Int(min(seconds * requestsPerSecondMax, 12_000)), upTo: lab.plan.linked)
            let requests = try lookUps(with: try issuedTokens(for: numbers, lab, server), server)
            return try lab.measure(server, requests, seconds: seconds)
        } end: {
            server.process.stop()
        }
    }

    static let tokenRefresh = Benchmark(
        "token-refresh",
        "HTTP token, an ID token for a refresh token",
        against: "point-lookup",
        parts: [.request, .row, .row, .signature]
    ) { lab in
        let server = try await lab.serve()
        return Measurement { seconds in
            let numbers = Accounts.numbers(Int(seconds * requestsPerSecondMax), upTo: lab.plan.linked)
            return try lab.measure(server, try refreshes(of: numbers, server), repeats: true, seconds: seconds)
        } end: {
            server.process.stop()
        }
    }

    static let idpSignIn = Benchmark(
        "idp-sign-in",
        "HTTP signInWithIdp of a known identity, signature verified, session written",
        against: "idp-sign-in",
        parts: [.request, .verification, .row, .row, .signature, .statements]
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
    /// Opens connections for each measurement: the server closes those that are idle while `pgbench` runs.
    fileprivate func connect(_ server: Server) throws -> HTTPLoad {
        try HTTPLoad(port: server.port, connections: plan.clients)
    }

    /// Measures requests for the smallest answer.
    func measureFloor(_ server: Server, seconds: Double) throws -> Sample {
        let health = Array("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n\r\n".utf8)
        return try measure(server, Array(repeating: health, count: 32), repeats: true, seconds: seconds)
    }

    func measure(
        _ server: Server,
        _ requests: [[UInt8]],
        repeats: Bool = false,
        seconds: Double,
        status: String = "200"
    ) throws -> Sample {
        let load = try connect(server)
        load.expectedStatus = status
        return try server.measure { try load.run(requests, repeats: repeats, seconds: seconds) }
    }
}

/// Returns `accounts:lookup` with 10,000 ID tokens.
func warmLookUps(_ lab: Lab, _ server: Server) async throws -> [[UInt8]] {
    let tokens = try await lab.tokenAuthority()
    return try lookUps(of: Accounts.numbers(10_000, upTo: lab.plan.users), tokens, server)
}

/// Returns `accounts:lookup` with a new ID token for each account.
private func lookUps(of numbers: [Int], _ tokens: TokenAuthority, _ server: Server) throws -> [[UInt8]] {
    try lookUps(with: numbers.map { try idToken(of: $0, tokens) }, server)
}

private func lookUps(with tokens: [String], _ server: Server) throws -> [[UInt8]] {
    tokens.map { token in
        let body = JSONWriter.object { writer in writer.field("idToken", token) }
        return request("/v1/accounts:lookup?key=\(Lab.apiKey)", body, port: server.port)
    }
}

/// Returns `token` requests for the session of each account.
func refreshes(of numbers: [Int], _ server: Server) throws -> [[UInt8]] {
    try numbers.map { number in
        let refreshToken = try Accounts.refreshToken(number)
        let body = JSONWriter.object { writer in
            writer.field("grant_type", "refresh_token")
            writer.field("refresh_token", refreshToken)
        }
        return request("/v1/token?key=\(Lab.apiKey)", body, port: server.port)
    }
}

/// Returns ID tokens that `server` has just issued.
private func issuedTokens(for numbers: [Int], _ lab: Lab, _ server: Server) throws -> [String] {
    let load = try lab.connect(server)
    return try load.answers(to: try refreshes(of: numbers, server), "id_token")
}

/// Returns an ID token of a new session of an account.
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

/// The identity in a provider's token.
enum IdentityKind {
    /// One that is linked to the account.
    case linked
    /// A new identity with the account's address, which the provider does not vouch for.
    case stranger
}

/// Returns `accounts:signInWithIdp` requests, as many as `seconds` can need. Each measurement has new ones, because a
/// provider's token is valid for five minutes.
func idpSignIns(_ lab: Lab, _ server: Server, seconds: Double, of kind: IdentityKind) throws -> [[UInt8]] {
    let numbers = Accounts.numbers(Int(min(seconds * 4000, 40_000)), upTo: lab.plan.linked)
    return try providerTokens(for: numbers, of: lab.issuer, kind).map { token in
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
private func providerTokens(for numbers: [Int], of issuer: Issuer, _ kind: IdentityKind) throws -> [String] {
    let load = try HTTPLoad(port: issuer.port, connections: 8)
    let requests = numbers.map { number in
        let claims = JSONWriter.object { writer in
            writer.field("sub", kind == .linked ? Accounts.subject(number) : "stranger-\(number)")
            writer.field("aud", Accounts.clientID)
            writer.field("email", Accounts.email(number))
            writer.field("email_verified", kind == .linked)
            writer.field("name", "User \(number)")
        }
        return request("/token", claims, port: issuer.port)
    }
    return try load.answers(to: requests, "id_token")
}

extension HTTPLoad {
    /// Returns one member of each answer, as text; empty if it is missing.
    func answers(to requests: [[UInt8]], _ member: String) throws -> [String] {
        var texts = [String](repeating: "", count: requests.count)
        onAnswer = { index, body in texts[index] = (try? JSONValue(parsing: Array(body)))?[member]?.string ?? "" }
        _ = try run(requests)
        return texts
    }
}
