import AccountLinking
import AccountStore
import AccountTestSupport
import Foundation
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// Two `concord serve` processes on one database, and an issuer whose signatures they check.
struct TwoServers: Sendable {
    let database: TestDatabase
    let issuer: LocalIssuer
    let first: ServeProcess
    let second: ServeProcess

    /// Every sign-in method on, as in development, and the host of an app.
    static let settings = ProjectSettings.developmentDefaults.setting("authorizedDomains", ["app.example.com"])
    /// A page of that app.
    static let appURL = "https://app.example.com/finish"

    /// The domain that the registrations of the providers name.
    static let emailDomain = "example.com"

    static let callers = 64
    static let password = "correct horse"

    /// The providers of the issuer, which are proof of addresses at `emailDomain` that it does not call unverified.
    enum Provider: String, CaseIterable {
        case one = "oidc.one"
        case two = "oidc.two"

        var clientID: String { "client-of-\(rawValue)" }
    }

    /// Starts both at once on an empty project: whichever makes the signing key, the other uses it too.
    ///
    /// `settings`: the project's; every sign-in method on unless given.
    static func with(
        settings project: JSONValue = TwoServers.settings,
        _ body: @Sendable (TwoServers) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            try await LocalIssuer.run { issuer in
                try await database.makeProject(settings: project)
                for provider in Provider.allCases {
                    try await database.register(
                        provider.rawValue,
                        clientID: provider.clientID,
                        issuer: issuer.url,
                        emailDomains: [emailDomain]
                    )
                }
                let settings = [
                    "CONCORD_PROVIDERS_ALLOW_PRIVATE_NETWORKS": "true",
                    "CONCORD_PROVIDERS_CERTIFICATE_AUTHORITIES": issuer.certificatePath,
                ]
                try await ServeProcess.launch(database: database.url, settings) { starting in
                    try await ServeProcess.run(database: database.url, settings) { second in
                        let first = try await starting.ready()
                        try await body(TwoServers(database: database, issuer: issuer, first: first, second: second))
                        #expect(first.log.lines(of: "error") == [])
                        #expect(second.log.lines(of: "error") == [])
                    }
                }
            }
        }
    }

    /// Runs `body` for every caller at once, every second one against the other process.
    func race(
        _ body: @escaping @Sendable (ServeProcess, _ number: Int) async throws -> HTTPAnswer
    ) async throws -> [HTTPAnswer] {
        try await withThrowingTaskGroup(of: (Int, HTTPAnswer).self) { group in
            for number in 0..<Self.callers {
                group.addTask { (number, try await body(number.isMultiple(of: 2) ? first : second, number)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// Checks the invariants after every race: no answer reports a failure of the server, and the tables are
    /// consistent.
    func expectSound(_ answers: [HTTPAnswer], sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for answer in answers where answer.status >= 500 {
            Issue.record("\(answer.status) \(answer.text)", sourceLocation: sourceLocation)
        }
        #expect(try await database.inconsistencies() == [], sourceLocation: sourceLocation)
        #expect(try await database.unexplainedEvents() == [], sourceLocation: sourceLocation)
    }

    /// A session that raced with its end has the earlier epoch, which nothing accepts.
    func liveSessions() async throws -> Int64 {
        try await database.count(
            "SELECT count(*) FROM sessions JOIN users USING (tenant_id, user_id, session_epoch)"
        )
    }

    // MARK: Requests

    func signUp(_ email: String, password: String = TwoServers.password) async throws -> JSONValue {
        try await first.signUp(email, password: password).success()
    }

    /// The body of a sign-in, or of a link when there is a session, with a provider's signed token.
    func credential(
        _ provider: Provider,
        subject: String,
        email: String? = nil,
        isVerified: Bool = false,
        idToken: String? = nil
    ) throws -> JSONValue {
        let token = try issuer.token(
            for: subject,
            audience: provider.clientID,
            email: email,
            isVerified: isVerified
        )
        var body: [String: JSONValue] = [
            "requestUri": "http://localhost", "returnSecureToken": true,
            "postBody": .string("providerId=\(provider.rawValue)&id_token=\(token)"),
        ]
        if let idToken { body["idToken"] = .string(idToken) }
        return .object(body)
    }

    /// The newest code that was mailed, read from the outbox as the worker that mails it would.
    func emailCode() async throws -> String {
        let codes = try await emailCodes()
        return try #require(codes.last, "no code was mailed")
    }

    func emailCodes() async throws -> [String] {
        let key = try #require(Sealer.Key(id: "1", bytes: ServeProcess.keyEncryptionKeyBytes))
        let sealer = Sealer(sealingKey: key)
        let messages = try await database.withClient { client in
            try await AccountStore(client: client).waitingMessages(.mail, countMax: 1000, tenant: .project)
        }
        return messages.compactMap { message in
            Mail(opening: message, tenant: .project, sealer: sealer)?.code
        }
    }
}

extension ServeProcess {
    func signUp(_ email: String, password: String) async throws -> HTTPAnswer {
        try await post("/v1/accounts:signUp", ["email": .string(email), "password": .string(password)])
    }

    func signIn(_ email: String, password: String = TwoServers.password) async throws -> HTTPAnswer {
        try await post("/v1/accounts:signInWithPassword", ["email": .string(email), "password": .string(password)])
    }

    func signInWithIdp(_ body: JSONValue) async throws -> HTTPAnswer {
        try await post("/v1/accounts:signInWithIdp", body)
    }

    func refresh(_ refreshToken: String) async throws -> HTTPAnswer {
        try await post("/v1/token", ["grant_type": "refresh_token", "refresh_token": .string(refreshToken)])
    }

    func lookUp(_ idToken: String) async throws -> HTTPAnswer {
        try await post("/v1/accounts:lookup", ["idToken": .string(idToken)])
    }

    func delete(_ idToken: String) async throws -> HTTPAnswer {
        try await post("/v1/accounts:delete", ["idToken": .string(idToken)])
    }

    func sendCode(_ type: String, _ email: String) async throws -> HTTPAnswer {
        try await post(
            "/v1/accounts:sendOobCode",
            [
                "requestType": .string(type), "email": .string(email), "continueUrl": .string(TwoServers.appURL),
                "canHandleCodeInApp": true,
            ]
        )
    }

    func reset(_ code: String, to password: String) async throws -> HTTPAnswer {
        try await post(
            "/v1/accounts:resetPassword",
            ["oobCode": .string(code), "newPassword": .string(password)]
        )
    }
}

extension HTTPAnswer {
    /// The body of a success.
    func success(sourceLocation: SourceLocation = #_sourceLocation) throws -> JSONValue {
        try #require(status == 200, "\(status) \(text)", sourceLocation: sourceLocation)
        return json
    }

    /// A member that has to be there.
    func string(_ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        try #require(json[name]?.string, "no \(name) in \(status) \(text)", sourceLocation: sourceLocation)
    }
}

extension JSONValue {
    /// The object with one more member.
    func setting(_ name: String, _ value: JSONValue) -> JSONValue {
        var members = object ?? [:]
        members[name] = value
        return .object(members)
    }

    func text(_ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        try #require(self[name]?.string, "no \(name)", sourceLocation: sourceLocation)
    }
}

extension [HTTPAnswer] {
    /// Number of answers with each code; "200" stands for a success.
    var codes: [String: Int] {
        reduce(into: [:]) { $0[$1.code ?? String($1.status), default: 0] += 1 }
    }
}

extension TestDatabase {
    /// The project that `concord project init` would make, with every sign-in method on and the host of an app.
    func makeProject(settings: JSONValue = TwoServers.settings) async throws {
        let project = ProjectRecord(
            projectID: TestService.projectID,
            projectNumber: 424_242,
            settings: settings
        )
        try await withClient { client in
            _ = try await AccountStore(client: client).createProject(project, apiKey: ServeProcess.apiKey)
        }
    }

    /// Registers a provider as an administrator would.
    func register(
        _ provider: String,
        clientID: String,
        issuer: String? = nil,
        addresses: [String: String] = [:],
        emailDomains: [String] = []
    ) async throws {
        var record = ProviderConfigRecord(provider: try #require(ProviderID(provider)), isEnabled: true)
        record.clientID = clientID
        record.issuer = issuer
        record.addresses = addresses
        record.emailDomains = emailDomains
        try await withClient { client in
            _ = try await AccountStore(client: client).changeProviderConfigs(
                [record.provider],
                tenant: .project,
                at: Timestamp(microsecondsSinceEpoch: 1_750_000_000_000_000)
            ) { [record] _ in ([record], ()) }.get()
        }
    }
}
