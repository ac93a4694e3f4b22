import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Logging
import NIOCore
import NIOHTTP1
import Testing

@testable import AccountAPI
@testable import HTTPServer

/// One line for each answer, and the id that joins the line and the answer.
struct RequestLogTests {
    private static let field = "X-Request-Id"

    private static func requestID(_ answer: Wire.Answer) throws -> String? {
        answer.headers[try #require(HTTPField.Name(field))]
    }

    private static func lines(_ api: TestAPI) -> [RecordedLog.Entry] {
        api.log.entries.filter { $0.message == RequestLog.message.description }
    }

    @Test func `each request has one line with method, route, status, duration and id`() async throws {
        try await TestAPI.with { api in
            let id = "web-42.Frankfurt_a"
            let signedUp = try await api.send(
                .post,
                "/v1/accounts:signUp",
                Array(#"{"email":"ada@example.com","password":"correct horse"}"#.utf8),
                headers: [try #require(.init(Self.field)): id]
            )
            #expect(signedUp.status == 200)
            #expect(try Self.requestID(signedUp) == id)
            let line = try #require(Self.lines(api).first)
            #expect(line.level == .info)
            #expect(line.metadata["method"] == "POST" && line.metadata["route"] == "/v1/accounts:signUp")
            #expect(line.metadata["status"]?.description == "200")
            #expect(Double(line.metadata["duration_ms"]?.description ?? "").map { $0 > 0 } == true)
            #expect(line.metadata["request_id"]?.description == id)
            let decision = signedUp.headers[try #require(.init("Concord-Decision"))]
            #expect(line.metadata["decision_id"]?.description == decision)
            #expect(line.metadata["trace_id"] == nil)

            let lookup = try await api.post("/v1/projects/\(TestService.projectID)/accounts:lookup", [:])
            #expect(lookup.status >= 400)
            #expect(try Self.requestID(lookup)?.utf8.count == 32)
            #expect(Self.lines(api).count == 2)
            #expect(Self.lines(api)[1].metadata["status"]?.description == String(lookup.status))
        }
    }

    @Test func `a line names the pattern of the route, and neither path nor query nor method of the client`()
        async throws
    {
        try await TestAPI.with { api in
            let secret = "secret-person"
            _ = try await api.send(.get, "/v2/projects/\(secret)/oauthIdpConfigs/oidc.\(secret)?name=\(secret)")
            _ = try await api.send(.get, "/\(secret)?name=\(secret)")
            _ = try await api.send(try #require(.init(secret)), "/v1/accounts:signUp?name=\(secret)")
            _ = try await api.send(.options, "/v1/accounts:signUp?name=\(secret)")
            _ = try await api.send(.get, "/identitytoolkit.googleapis.com/v1/projects?name=\(secret)")
            let lines = Self.lines(api)
            #expect(
                lines.map { "\($0.metadata["method"] ?? "") \($0.metadata["route"] ?? "")" } == [
                    "GET /v2/projects/{project}/oauthIdpConfigs/{id}", "GET unmatched", "other unmatched",
                    "OPTIONS preflight", "GET /v1/projects",
                ]
            )
            #expect(!api.log.lines.contains { $0.contains(secret) }, "\(api.log.lines)")
        }
    }

    @Test func `health checks have a line only if they fail, and answers with 500 and above are warnings`() async throws
    {
        let log = RecordedLog()
        let handle = ServiceHandle()
        try await Wire.with(service: handle, log: log) { wire in
            let health = try await wire.send(.get, "/healthz")
            #expect(health.status == 200 && log.entries.isEmpty)
            let readiness = try await wire.send(.get, "/readyz")
            let signUp = try await wire.send(.post, "/v1/accounts:signUp")
            #expect(readiness.status == 503 && signUp.status == 503)
            #expect(log.entries.map(\.level) == [.warning, .warning])
            #expect(log.entries.map { $0.metadata["route"]?.description } == ["/readyz", "/v1/accounts:signUp"])
        }
    }

    // MARK: Ids

    @Test(
        arguments: [
            "", " ", "a b", "a@example.com", "+16505550123", "a\u{0}b", "a;b", "ä", "{}", "\"", "%0a",
            String(repeating: "a", count: 129),
        ]
    )
    func `a malformed request id is replaced`(_ sent: String) async throws {
        let id = RequestID(["X-Request-Id": sent]).text
        #expect(id != sent && id.utf8.count == 32)
        #expect(id.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) })
    }

    @Test(arguments: ["a", "A.b_c-9", "0f8fad5b-d9cb-469f-a165-70867728950e", String(repeating: "a", count: 128)])
    func `a well-formed request id is taken, with any spelling of the field`(_ sent: String) {
        #expect(RequestID(["x-request-ID": sent]).text == sent)
    }

    @Test func `several request ids are replaced, and random ids differ`() {
        #expect(!["a", "b"].contains(RequestID(["X-Request-Id": "a", "X-Request-Id": "b"]).text))
        #expect(Set((0..<1000).map { _ in RequestID([:]).text }).count == 1000)
    }

    @Test func `every answer has the id of its request, and pages may read it`() async throws {
        try await TestAPI.with { api in
            for path in ["/v1/accounts:signUp", "/concord/v1/policy", "/nowhere", "/healthz", "/conflict"] {
                for method in [HTTPRequest.Method.get, .post, .options] {
                    let answer = try await api.send(
                        method,
                        path,
                        headers: [try #require(.init(Self.field)): "a-1", .origin: "https://app.example.com"]
                    )
                    #expect(try Self.requestID(answer) == "a-1", "\(method) \(path)")
                    #expect(answer.headers[.accessControlExposeHeaders]?.contains(Self.field) == true)
                }
            }
        }
    }

    @Test func `lines that a request causes carry its id`() async {
        let id = RequestID(["X-Request-Id": "a-1"])
        #expect(RequestID.metadataProvider.get().isEmpty)
        await RequestID.$current.withValue(id) {
            #expect(RequestID.metadataProvider.get() == ["request_id": "a-1"])
            await Task { #expect(RequestID.metadataProvider.get() == ["request_id": "a-1"]) }.value
        }
    }

    // MARK: Traces

    @Test(
        arguments: [
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "4bf92f3577b34da6a3ce929d0e0e4736"),
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-later", "4bf92f3577b34da6a3ce929d0e0e4736"),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-later", nil),
            ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", nil),
            ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", nil),
            ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", nil),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", nil),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", nil), ("secret.person@example.com", nil),
            ("", nil),
        ] as [(String, String?)]
    )
    func `the trace id of a valid traceparent is logged`(_ sent: String, _ traceID: String?) {
        #expect(RequestLog.traceID([sent]) == traceID)
        #expect(RequestLog.traceID([sent, sent]) == nil)
    }

    // MARK: Scope and sample

    /// The statuses that are logged of one request for each status.
    private static func logged(_ scope: RequestLog.Scope, sample: Double = 1, level: Logger.Level = .trace) -> [Int] {
        let log = RecordedLog()
        var logger = log.logger
        logger.logLevel = level
        let requests = RequestLog(scope, sample: sample, to: logger)
        for status in [200, 303, 404, 500, 503] {
            let request = ServerRequest(method: .get, target: "/", headers: [:], body: .tooLarge, peer: nil)
            requests.record(
                request,
                ServerResponse(status: .init(code: status)),
                method: .get,
                route: "/",
                isQuiet: false,
                since: .now
            )
        }
        return log.entries.compactMap { $0.metadata["status"].flatMap { Int($0.description) } }
    }

    @Test func `scope and level decide which requests are logged`() {
        #expect(Self.logged(.all) == [200, 303, 404, 500, 503])
        #expect(Self.logged(.errors) == [500, 503])
        #expect(Self.logged(.off) == [])
        #expect(Self.logged(.all, level: .info) == [200, 303, 404, 500, 503])
        #expect(Self.logged(.all, level: .warning) == [500, 503])
        #expect(Self.logged(.all, level: .error) == [])
        #expect(Self.logged(.off, level: .warning) == [])
    }

    @Test func `a sample of zero logs errors only, and a sample takes its share of the ids`() {
        #expect(Self.logged(.all, sample: 0) == [500, 503])
        let ids = (0..<10_000).map { _ in RequestID([:]) }
        let tenth = RequestLog(.all, sample: 0.1) { _ in }
        #expect((700...1300).contains(ids.count(where: tenth.isSampled)))
        #expect(ids.filter(tenth.isSampled) == ids.filter(tenth.isSampled), "an id is always in the sample or never")
        #expect(ids.allSatisfy(RequestLog(.all) { _ in }.isSampled))
    }
}

/// Changes by administrators: who, over which route, which fields.
struct ChangeLogTests {
    private static func lines(_ api: TestAPI) -> [RecordedLog.Entry] {
        api.log.entries.filter { $0.message == ChangeLog.message.description }
    }

    @Test func `a change is logged with actor, route and the names of the fields, without a value`() async throws {
        try await TestAPI.withAdministrator { api in
            let id = try await api.create(["email": "secret.person@example.com", "displayName": "Secret"])
            #expect(try await api.user(id) != nil)
            let update: JSONValue = [
                "localId": .string(id), "displayName": "Secret Person", "secret.person@example.com": 1, "a1": 2,
            ]
            #expect(try await api.admin("accounts:update", update).status == 200)
            let lines = Self.lines(api)
            #expect(lines.map(\.level) == [.info, .info])
            #expect(lines.allSatisfy { $0.metadata["actor"] == "owner" })
            #expect(
                lines.map { $0.metadata["route"]?.description } == [
                    "POST /v1/accounts:signUp", "POST /v1/accounts:update",
                ]
            )
            #expect(
                lines.map { $0.metadata["fields"]?.description } == ["displayName,email", "displayName,localId"]
            )
            for word in ["secret.person", "Secret", id] {
                #expect(!lines.contains { "\($0.metadata)".contains(word) }, "\(word)")
            }
        }
    }

    @Test func `a change of the project is a notice with the fields of its mask`() async throws {
        try await TestAPI.withAdministrator { api in
            let body: JSONValue = ["signIn": ["anonymous": ["enabled": false]]]
            let path = "/v2/projects/\(TestService.projectID)/config?updateMask=signIn.anonymous.enabled"
            let answer = try await api.send(.patch, path, Array(body.text.utf8), key: nil, bearer: "owner")
            #expect(answer.status == 200, "\(answer.text)")
            let line = try #require(Self.lines(api).first)
            #expect(line.level == .notice && line.metadata["fields"] == "signIn.anonymous.enabled")
            #expect(line.metadata["route"] == "PATCH /v2/projects/{project}/config")
        }
    }

    @Test func `reads, refusals and requests of clients are no changes`() async throws {
        try await TestAPI.withAdministrator { api in
            _ = try await api.signUp("ada@example.com")
            _ = try await api.admin("accounts:lookup", ["email": ["ada@example.com"]])
            _ = try await api.admin("accounts:query")
            _ = try await api.send(.get, "/v2/projects/\(TestService.projectID)/config", key: nil, bearer: "owner")
            let refused = try await api.admin("accounts:update", ["localId": "nobody"])
            #expect(refused.status == 400)
            #expect(Self.lines(api).isEmpty, "\(api.log.lines)")
        }
    }
}
