import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import Crypto
import HTTPTypes
import IdentityProviders
import JSON
import NIOHTTP1
import Postgres
import Subprocess
import SystemPackage
import Testing

@testable import AccountAPI

/// The features of `concord dev` that `concord serve` must not have, tested on the real program: each is refused, and
/// nothing is written. The lists come from the program, so that each new feature of development is tested from its
/// first day.
@Suite struct DevelopmentOnlyTests {
    private static let authorizations: [String?] = [
        nil, "Bearer owner", "bearer owner", "Bearer owner ", "Basic b3duZXI6", "owner",
    ]

    /// Runs `body` against a server whose project has every provider that development knows, and one account.
    private static func withServer(
        _ body: @Sendable (_ server: ServeProcess, _ account: JSONValue) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            // No host outside is asked, and no neighbour either.
            let nobody = ["tokenInfo": "https://127.0.0.1:9/", "profile": "https://127.0.0.1:9/"]
            for provider in FakeProvider.providers {
                try await database.register(provider.rawValue, clientID: "client", addresses: nobody)
            }
            try await database.register("oidc.local", clientID: "client", issuer: "https://127.0.0.1:9")
            // Also in a shell that is prepared for the commands beside development.
            try await ServeProcess.run(database: database.url, ["CONCORD_DEVELOPMENT": "1"]) { server in
                let account = try await server.signUp("ada@example.com", password: "correct horse").success()
                let before = try await database.rowCounts()
                try await body(server, account)
                #expect(try await database.rowCounts() == before)
                #expect(server.log.lines(of: "error") == [])
            }
        }
    }

    @Test func `a claimed app id without proof is refused`() async throws {
        try await Self.withServer { server, _ in
            for (form, message) in [
                ([:], "MISSING_APP_CREDENTIAL"), (["recaptchaToken": "app"], "CAPTCHA_CHECK_FAILED"),
                (["iosReceipt": "r", "iosSecret": "s"], "INVALID_APP_CREDENTIAL"),
                (["playIntegrityToken": "t"], "APP_NOT_VERIFIED"),
                (["captchaResponse": "t"], "INVALID_RECAPTCHA_TOKEN"),
            ] as [([String: JSONValue], String)] {
                let body = form.merging(["phoneNumber": "+16505553434"]) { first, _ in first }
                let answer = try await server.send(.POST, "/v1/accounts:sendVerificationCode", .object(body))
                #expect(answer.code == message, "\(answer.text)")
            }
        }
    }

    @Test(arguments: ["+15555551000", "+15550100199", "+11235550123"])
    func `a number reserved for examples gets no code`(_ number: String) async throws {
        try await Self.withServer { server, _ in
            let body: JSONValue = ["phoneNumber": .string(number), "recaptchaToken": "app"]
            let answer = try await server.send(.POST, "/v1/accounts:sendVerificationCode", body)
            #expect(answer.code == "INVALID_PHONE_NUMBER", "\(answer.text)")
        }
    }

    @Test func `production has no development route`() async throws {
        try await Self.withServer { server, _ in
            let routes = DevelopmentRoutes().routes
            #expect(routes.count >= 6)
            let nowhere = try await server.send(.GET, "/nowhere")
            #expect(nowhere.status == 404)
            for file in PageFile.development {
                #expect(try await server.send(.GET, file.path).text == nowhere.text, "\(file.path)")
            }
            for route in routes {
                for path in route.concretePaths {
                    for authorization in Self.authorizations {
                        for key in [nil, ServeProcess.apiKey] {
                            let answer = try await server.send(
                                HTTPMethod(rawValue: route.method.rawValue),
                                path,
                                route.method == .get ? nil : [:],
                                key: key,
                                authorization: authorization
                            )
                            #expect(answer.status == 404, "\(route.method) \(path): \(answer.status)")
                            #expect(answer.text == nowhere.text, "\(route.method) \(path)")
                        }
                    }
                }
            }
        }
    }

    @Test func `the bearer owner is refused`() async throws {
        try await Self.withServer { server, account in
            for route in API.routes where route.access != .anyone {
                for path in route.concretePaths {
                    let method = HTTPMethod(rawValue: route.method.rawValue)
                    let body: JSONValue? = route.method == .get ? nil : ["localId": account["localId"] ?? .null]
                    for authorization in ["Bearer owner", "bearer owner"] {
                        for key in [nil, ServeProcess.apiKey] {
                            let answer = try await server.send(
                                method,
                                path,
                                body,
                                key: key,
                                authorization: authorization
                            )
                            #expect(answer.status == 401, "\(method) \(path): \(answer.text)")
                            if route.service == .concord {
                                #expect(answer.json["type"] == "urn:concord:problem:invalid-session")
                            } else {
                                #expect(answer.json["error"]?["status"] == "UNAUTHENTICATED")
                            }
                        }
                    }
                    guard route.access == .administrator else { continue }
                    #expect(try await server.send(method, path, body, key: nil).status == 401)
                    let withKey = try await server.send(method, path, body)
                    if route.service == .concord {
                        #expect(withKey.status == 401, "\(path): \(withKey.text)")
                    } else {
                        #expect(withKey.code == "INSUFFICIENT_PERMISSION", "\(path)")
                    }
                }
            }
        }
    }

    @Test func `an API key must belong to the project`() async throws {
        try await Self.withServer { server, _ in
            for route in API.routes where route.access == .client {
                for path in route.concretePaths {
                    for key in ["any", "fake-api-key", "demo", "owner", TestService.projectID] {
                        let method = HTTPMethod(rawValue: route.method.rawValue)
                        let answer = try await server.send(method, path, route.method == .get ? nil : [:], key: key)
                        #expect(answer.status == 400, "\(path) \(key): \(answer.text)")
                        let message =
                            route.service == .concord ? answer.json["detail"] : answer.json["error"]?["message"]
                        #expect(message?.string?.hasPrefix("API key not valid.") == true)
                    }
                }
            }
        }
    }

    // MARK: Tokens

    @Test func `an unsigned credential of a provider proves nothing`() async throws {
        try await Self.withServer { server, account in
            let providers = FakeProvider.providers.map(\.rawValue).sorted() + ["oidc.local"]
            for provider in providers {
                let claims: JSONValue = [
                    "sub": "1", "email": "ada@example.com", "email_verified": true, "iss": "https://127.0.0.1:9",
                    "aud": "client", "iat": 1_700_000_000, "exp": 4_000_000_000,
                ]
                let tokens = [claims.text, Self.unsigned(claims), try Self.signedByNobody(claims)]
                let fields = tokens.flatMap { ["id_token=\($0)", "access_token=\($0)"] } + ["access_token=anything"]
                for field in fields {
                    for session in [nil, account["idToken"]] {
                        var body: [String: JSONValue] = [
                            "requestUri": "http://localhost", "returnSecureToken": true, "returnIdpCredential": true,
                            "postBody": .string("providerId=\(provider)&\(field)"),
                        ]
                        body["idToken"] = session
                        let answer = try await server.signInWithIdp(.object(body))
                        // Google reports the owner of an access token without the app's secret, so it would be asked.
                        if provider == "google.com", field.hasPrefix("access_token") {
                            #expect(answer.status == 503, "\(field): \(answer.text)")
                            continue
                        }
                        let refusals: Set = [
                            "INVALID_IDP_RESPONSE", "INVALID_PROVIDER_ID", "INVALID_CREDENTIAL_OR_PROVIDER_ID",
                            "OPERATION_NOT_ALLOWED",
                        ]
                        // Without the internet, no provider can be asked about an access token.
                        let isUnanswered = answer.status == 503 && field.hasPrefix("access_token")
                        let isRefused = answer.status == 400 && refusals.contains(answer.code ?? "")
                        #expect(isRefused || isUnanswered, "\(provider) \(field): \(answer.text)")
                    }
                }
            }
        }
    }

    /// The registered issuer is on this machine, where development looks and production does not.
    @Test func `an issuer on this machine gets no request`() async throws {
        try await TestDatabase.with { database in
            try await LocalIssuer.run { issuer in
                try await database.makeProject()
                try await database.register("oidc.local", clientID: "client", issuer: issuer.url)
                let settings = ["CONCORD_PROVIDERS_CERTIFICATE_AUTHORITIES": issuer.certificatePath]
                let token = try issuer.token(for: "ada", audience: "client")
                let body: JSONValue = [
                    "requestUri": "http://localhost", "postBody": .string("providerId=oidc.local&id_token=\(token)"),
                ]
                try await ServeProcess.run(database: database.url, settings) { server async throws in
                    #expect(try await server.signInWithIdp(body).status == 503)
                    // The line may arrive after the answer.
                    let line = try #require(await server.log.line(saying: "an issuer's keys could not be refreshed"))
                    #expect(line.text.contains("network-not-allowed"), "\(line.text)")
                }
                // The same where the operator allows it: what was refused above was the network and nothing else.
                let allowed = settings.merging(["CONCORD_PROVIDERS_ALLOW_PRIVATE_NETWORKS": "true"]) { $1 }
                try await ServeProcess.run(database: database.url, allowed) { server async throws in
                    #expect(try await server.signInWithIdp(body).status == 200)
                }
            }
        }
    }

    @Test func `a session token that the server did not sign is refused`() async throws {
        try await Self.withServer { server, account in
            let parts = try account.text("idToken").split(separator: ".")
            let claims = try JSONValue(parsing: try #require(Base64URL.decode(parts[1])))
            let header = try JSONValue(parsing: try #require(Base64URL.decode(parts[0])))
            // The real token works: what is refused below is the signature.
            #expect(try await server.lookUp(account.text("idToken")).status == 200)
            let forgeries = [
                Self.unsigned(claims), try Self.signedByNobody(claims),
                try Self.signedByNobody(claims, header: header),
                "\(parts[0]).\(parts[1]).", claims.text,
                // The form of development, around the real signature.
                try Self.unsigned(claims, claim: "\(header.text("kid")).\(parts[2])"),
            ]
            for token in forgeries {
                for (path, more) in Self.routesOfSessions {
                    let body = JSONValue.object(more.merging(["idToken": .string(token)]) { $1 })
                    let answer = try await server.post(path, body)
                    #expect(answer.code == "INVALID_ID_TOKEN", "\(path): \(answer.status) \(answer.text)")
                }
            }
            // What development-only servers call a refresh token.
            let open: JSONValue = [
                "_AuthEmulatorRefreshToken": "DO NOT MODIFY", "localId": account["localId"] ?? .null,
                "provider": "password", "extraClaims": [:], "projectId": .string(TestService.projectID),
            ]
            for token in [Base64URL.encode(open.text.utf8), open.text, Self.unsigned(open)] {
                #expect(try await server.refresh(token).code == "INVALID_REFRESH_TOKEN")
            }
        }
    }

    @Test func `a token of development is refused even under the server's own keys`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { server in
                let account = try await server.signUp("ada@example.com", password: "correct horse").success()
                let signed = try account.text("idToken")
                let token = try await database.developmentToken(for: account.text("localId"))
                // It is good: a server in development, given the same keys, accepts it.
                #expect(try await database.acceptsInDevelopment(token))
                #expect(try await server.lookUp(signed).status == 200)
                for (path, more) in Self.routesOfSessions {
                    let body = JSONValue.object(more.merging(["idToken": .string(token)]) { $1 })
                    let answer = try await server.post(path, body)
                    #expect(answer.code == "INVALID_ID_TOKEN", "\(path): \(answer.status) \(answer.text)")
                }
            }
        }
    }

    @Test func `a custom token that no service account signed is refused`() async throws {
        try await Self.withServer { server, account in
            let claims: JSONValue = [
                "uid": account["localId"] ?? .null, "iss": "x@example.com", "sub": "x@example.com",
                "aud": "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit",
                "iat": 1_700_000_000, "exp": 4_000_000_000,
            ]
            for token in [claims.text, Self.unsigned(claims), try Self.signedByNobody(claims)] {
                let answer = try await server.post("/v1/accounts:signInWithCustomToken", ["token": .string(token)])
                #expect(answer.code == "INVALID_CUSTOM_TOKEN", "\(answer.status) \(answer.text)")
            }
        }
    }

    @Test func `options of dev are unknown to serve`() async throws {
        for word in ["--trust-asserted-emails", "--signed-tokens", "--project=demo-x", "--data-dir=/tmp"] {
            let result = try await Subprocess.run(
                .path(FilePath("\(try ProgramFolder.path)/concord")),
                arguments: ["serve", word],
                environment: .custom([:]),
                output: .discarded,
                error: .string(limit: 1 << 16)
            )
            #expect(result.terminationStatus == .exited(64), "\(word): \(result.standardError)")
        }
    }

    /// Every route that takes a session's token, with its other fields.
    private static let routesOfSessions: [(path: String, more: [String: JSONValue])] = [
        ("/v1/accounts:lookup", [:]),
        ("/v1/accounts:delete", [:]),
        ("/v1/accounts:update", ["displayName": "Eve"]),
        ("/v1/accounts:signUp", ["email": "eve@example.com", "password": "correct horse"]),
        ("/v1/accounts:sendOobCode", ["requestType": "VERIFY_EMAIL"]),
        (
            "/v1/accounts:sendOobCode",
            ["requestType": "VERIFY_AND_CHANGE_EMAIL", "newEmail": "eve@example.com"]
        ),
        (
            "/v1/accounts:signInWithIdp",
            ["requestUri": "http://localhost", "postBody": "providerId=google.com&id_token=x"]
        ),
        ("/v1/accounts:signInWithEmailLink", ["email": "eve@example.com", "oobCode": "x"]),
    ]

    private static func unsigned(_ claims: JSONValue) -> String {
        let header: JSONValue = ["alg": "none", "typ": "JWT"]
        return "\(Base64URL.encode(header.text.utf8)).\(Base64URL.encode(claims.text.utf8))."
    }

    private static func unsigned(_ claims: JSONValue, claim: String) throws -> String {
        var members = try #require(claims.object)
        members["concord_signature"] = .string(claim)
        return unsigned(.object(members))
    }

    /// A good signature by an unpublished key.
    private static func signedByNobody(_ claims: JSONValue, header: JSONValue? = nil) throws -> String {
        let header = header ?? ["alg": "HS256", "typ": "JWT"]
        let input = "\(Base64URL.encode(header.text.utf8)).\(Base64URL.encode(claims.text.utf8))"
        let signature = try P256.Signing.PrivateKey().signature(for: Array(input.utf8))
        return "\(input).\(Base64URL.encode(signature.rawRepresentation))"
    }
}

extension Route {
    /// The paths with their captures filled in.
    var concretePaths: [String] {
        paths.map { path in
            path.replacing("{project}", with: TestService.projectID).replacing(#/\{[a-zA-Z]+\}/#, with: "x")
        }
    }
}

extension TestDatabase {
    /// The tokens of `concord dev` on this database, with the keys of the server that runs on it.
    private func developmentTokens(_ client: PostgresClient) async throws -> TokenAuthority {
        let key = try #require(Sealer.Key(id: "1", bytes: ServeProcess.keyEncryptionKeyBytes))
        let keys = SigningKeys(
            store: AccountStore(client: client),
            sealer: Sealer(sealingKey: key),
            effects: .system,
            algorithm: .es256,
            projectID: TestService.projectID
        )
        return TokenAuthority(
            projectID: TestService.projectID,
            keys: try await keys.load(.idToken),
            development: DevelopmentTokens()
        )
    }

    fileprivate func developmentToken(for localID: String) async throws -> String {
        try await withClient { client in
            let id = try #require(UserID(localID))
            let user = try #require(await AccountStore(client: client).user(id, tenant: .project))
            let now = Effects.system.now()
            let session = SessionRecord(
                tenant: .project,
                user: id,
                id: Array(repeating: 1, count: 16),
                secretHash: Array(repeating: 2, count: 32),
                epoch: user.sessionEpoch,
                authTime: now,
                signInProvider: "password"
            )
            return try await developmentTokens(client).mintIDToken(for: user, session: session, at: now)
        }
    }

    fileprivate func acceptsInDevelopment(_ token: String) async throws -> Bool {
        try await withClient { client in
            let tokens = try await developmentTokens(client)
            return (try? tokens.verifyIDToken(token, at: Effects.system.now())) != nil
        }
    }
}
