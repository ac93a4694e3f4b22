import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import NIOCore
import NIOHTTP1
import Postgres
import Testing

@testable import AccountAPI
@testable import HTTPServer

/// One client that makes rows without end, as a stranger would, over HTTP.
struct StrangerLimitTests {
    private struct Scene: Sendable {
        let service: TestService
        let responder: any Responder

        func post(
            _ path: String,
            _ body: JSONValue,
            from peer: String,
            bearer: String? = nil
        ) async throws -> (status: Int, message: String?) {
            var headers: HTTPHeaders = ["Content-Type": "application/json", "Host": "localhost"]
            if let bearer { headers.add(name: "Authorization", value: "Bearer \(bearer)") }
            let answer = await responder.respond(
                to: ServerRequest(
                    method: .post,
                    target: path + (path.contains("?") ? "&" : "?") + "key=\(TestService.apiKey)",
                    headers: headers,
                    body: .complete(ByteBuffer(string: body.text)),
                    peer: try SocketAddress(ipAddress: peer, port: 1)
                )
            )
            let json = try? JSONValue(parsing: Array(answer.body.readableBytesView))
            return (Int(answer.status.code), json?["error"]?["message"]?.string)
        }

        func rows(_ count: Query<Int64?>) async throws -> Int64 { try await service.database.count(count) }
    }

    private static func with(
        _ row: LimitedResource,
        perAddressPerHour: Int64,
        _ body: @Sendable (Scene) async throws -> Void
    ) async throws {
        let settings = ProjectSettings.developmentDefaults
            .setting(.integer(perAddressPerHour), at: ["concord", row.rawValue, "perAddressPerHour"])
        try await TestService.with(settings: settings) { service in
            let handle = ServiceHandle()
            handle.state = .ready(service.operations, checkDatabase: { nil })
            let api = API(
                service: handle,
                callers: DevelopmentCallers(),
                development: nil,
                jsonDepthMax: 64,
                trustedProxies: [],
                logger: RecordedLog().logger
            )
            try await body(Scene(service: service, responder: api.responder()))
        }
    }

    /// Two addresses of one subscriber, and one of another.
    private static let home = ["2001:db8:1:2::7", "2001:db8:1:2::8"]
    private static let elsewhere = "2001:db8:1:3::7"

    @Test func `one host with a whole IPv6 site has ten times the limit of a network`() async throws {
        try await Self.with(.signUps, perAddressPerHour: 1) { scene in
            var statuses: [Int] = []
            for number in 1...12 {
                statuses.append(
                    try await scene.post("/v1/accounts:signUp", [:], from: "2001:db8:1:\(number)::7").status
                )
            }
            #expect(statuses == Array(repeating: 200, count: 10) + [400, 400])
            #expect(try await scene.post("/v1/accounts:signUp", [:], from: "2001:db8:2:1::7").status == 200)
            #expect(try await scene.post("/v1/accounts:signUp", [:], from: "192.0.2.1").status == 200)
        }
    }

    @Test func `one client cannot create accounts without limit`() async throws {
        try await Self.with(.signUps, perAddressPerHour: 3) { scene in
            let bodies: [(path: String, body: @Sendable (Int) -> JSONValue)] = [
                ("/v1/accounts:signUp", { _ in [:] }),
                (
                    "/v1/accounts:signUp",
                    { ["email": .string("a\($0)@example.com"), "password": .string(TestService.password)] }
                ),
                (
                    "/v1/accounts:signInWithIdp",
                    { number in
                        let token: JSONValue = ["sub": .string("s\(number)")]
                        return [
                            "requestUri": "http://localhost", "returnSecureToken": true,
                            "postBody": .string("providerId=google.com&id_token=\(token.text)"),
                        ]
                    }
                ),
            ]
            var answers: [(status: Int, message: String?)] = []
            for number in 0..<9 {
                let (path, body) = bodies[number % 3]
                answers.append(try await scene.post(path, body(number), from: Self.home[number % 2]))
            }
            #expect(answers.map(\.status) == [200, 200, 200, 400, 400, 400, 400, 400, 400])
            let messages = Set(answers.compactMap(\.message))
            #expect(messages == ["TOO_MANY_ATTEMPTS_TRY_LATER : Too many new accounts. Try again later."])
            #expect(try await scene.rows("SELECT count(*) FROM users") == 3)

            // The owner of an account signs in all the same.
            let signIn: JSONValue = ["email": "a1@example.com", "password": .string(TestService.password)]
            #expect(try await scene.post("/v1/accounts:signInWithPassword", signIn, from: Self.home[0]).status == 200)
            #expect(try await scene.post("/v1/accounts:signUp", [:], from: Self.elsewhere).status == 200)
            for number in 0..<4 {
                let account: JSONValue = ["localId": .string("admin-\(number)")]
                let path = "/v1/projects/\(TestService.projectID)/accounts"
                #expect(try await scene.post(path, account, from: Self.home[0], bearer: "owner").status == 200)
            }
        }
    }

    @Test func `one client cannot begin sign-ins at providers without limit`() async throws {
        try await Self.with(.providerFlows, perAddressPerHour: 3) { scene in
            let registration: JSONValue = ["enabled": true, "clientId": "c", "clientSecret": "s"]
            let registrations = "/v2/projects/\(TestService.projectID)/defaultSupportedIdpConfigs?idpId=github.com"
            let registered = try await scene.post(registrations, registration, from: Self.home[0], bearer: "owner")
            #expect(registered.status == 200, "\(registered.message ?? "")")
            let body: JSONValue = [
                "providerId": "github.com", "continueUri": "http://localhost/__/auth/handler",
            ]
            var answers: [(status: Int, message: String?)] = []
            for number in 0..<6 {
                answers.append(
                    try await scene.post("/v1/accounts:createAuthUri", body, from: Self.home[number % 2])
                )
            }
            #expect(answers.map(\.status) == [200, 200, 200, 400, 400, 400])
            #expect(answers.last?.message?.hasPrefix("TOO_MANY_ATTEMPTS_TRY_LATER : ") == true)
            #expect(try await scene.rows("SELECT count(*) FROM provider_flows") == 3)
            #expect(try await scene.post("/v1/accounts:createAuthUri", body, from: Self.elsewhere).status == 200)
            // Looking an address up begins nothing.
            let lookUp: JSONValue = ["identifier": "ada@example.com", "continueUri": "http://localhost"]
            #expect(try await scene.post("/v1/accounts:createAuthUri", lookUp, from: Self.home[0]).status == 200)
        }
    }

    @Test func `one client cannot open conflicts without limit, and learns of no account`() async throws {
        try await Self.with(.conflicts, perAddressPerHour: 3) { scene in
            let account: JSONValue = ["email": "ada@example.com", "password": .string(TestService.password)]
            #expect(try await scene.post("/v1/accounts:signUp", account, from: Self.elsewhere).status == 200)
            var answers: [(status: Int, message: String?)] = []
            for number in 0..<6 {
                let token: JSONValue = ["sub": .string("s\(number)"), "email": "ada@example.com"]
                let body: JSONValue = [
                    "requestUri": "http://localhost", "returnSecureToken": true,
                    "postBody": .string("providerId=github.com&access_token=\(token.text)"),
                ]
                answers.append(
                    try await scene.post("/v1/accounts:signInWithIdp", body, from: Self.home[number % 2])
                )
            }
            #expect(answers.map(\.status) == [200, 200, 200, 400, 400, 400])
            let messages = Set(answers.compactMap(\.message))
            #expect(
                messages == [
                    "TOO_MANY_ATTEMPTS_TRY_LATER : Too many sign-ins with a provider. Try again later."
                ]
            )
            #expect(try await scene.rows("SELECT count(*) FROM conflicts") == 3)
            #expect(try await scene.rows("SELECT count(*) FROM account_events WHERE kind = 'conflict-opened'") == 3)
        }
    }
}
