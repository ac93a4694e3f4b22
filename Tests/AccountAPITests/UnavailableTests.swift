import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// Answers while the service cannot answer.
struct UnavailableTests {
    private func expectPlainText(_ answer: Wire.Answer, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(answer.status == 503, "\(answer.text)", sourceLocation: sourceLocation)
        #expect(answer.headers[.contentType]?.hasPrefix("text/plain") == true, sourceLocation: sourceLocation)
        #expect(answer.headers[.retryAfter] == "1", sourceLocation: sourceLocation)
        #expect(answer.headers[.accessControlAllowOrigin] != nil, sourceLocation: sourceLocation)
        #expect(answer.json == .null, sourceLocation: sourceLocation)
    }

    private func expectJSON(_ answer: Wire.Answer, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(answer.status == 503, sourceLocation: sourceLocation)
        #expect(answer.headers[.retryAfter] == "1", sourceLocation: sourceLocation)
        #expect(answer.json["error"]?["status"] == "UNAVAILABLE", sourceLocation: sourceLocation)
        expectEnvelope(answer, sourceLocation: sourceLocation)
    }

    @Test(arguments: [ServiceHandle.State.starting("waiting for the database"), .draining])
    func `a server that is not ready says so in the format of each route`(_ state: ServiceHandle.State) async throws {
        let handle = ServiceHandle()
        handle.state = state
        try await Wire.with(service: handle, callers: DevelopmentCallers()) { wire in
            for route in API.routes {
                for path in route.concretePaths {
                    if route.service == .concord {
                        let answer = try await wire.send(route.method, path)
                        expectProblem(answer)
                        #expect(answer.problem == .unavailable && answer.headers[.retryAfter] == "1")
                        continue
                    }
                    expectPlainText(try await wire.send(route.method, path))
                    expectJSON(try await wire.send(route.method, path, bearer: "owner"))
                }
            }
            #expect(try await wire.send(.get, "/healthz", key: nil).status == 200)
            let ready = try await wire.send(.get, "/readyz", key: nil)
            #expect(ready.status == 503 && ready.text.hasPrefix("not ready: "))
            #expect(try await wire.send(.get, "/nowhere").status == 404)
        }
    }

    @Test func `an unreachable database is not an error of the caller`() async throws {
        try await TestAPI.with { api in
            let account = try await api.signUp("ann@example.com")
            api.service.client.shutDown()
            let lookUp: JSONValue = ["idToken": account["idToken"] ?? .null]
            expectPlainText(try await api.post("/v1/accounts:lookup", lookUp))
            expectPlainText(
                try await api.post(
                    "/v1/token",
                    ["grantType": "refresh_token", "refreshToken": account["refreshToken"] ?? .null]
                )
            )
            expectPlainText(
                try await api.post(
                    "/v1/accounts:signInWithPassword",
                    ["email": "ann@example.com", "password": "correct horse"]
                )
            )
            expectPlainText(try await api.post("/v1/accounts:signUp", [:]))
            // What needs no database still works.
            let keys = "/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"
            #expect(try await api.wire.send(.get, keys, key: nil).status == 200)
            #expect(try await api.post("/v1/accounts:lookup", ["idToken": "nonsense"]).status == 400)
            #expect(!api.log.lines.contains { $0.hasPrefix("error") }, "\(api.log.lines)")
        }
    }

    @Test func `a server with an unreachable database is not ready`() async throws {
        try await TestService.with { service in
            let handle = ServiceHandle()
            handle.state = .ready(service.operations, checkDatabase: { "the database cannot be reached" })
            try await Wire.with(service: handle) { wire in
                let answer = try await wire.send(.get, "/readyz", key: nil)
                #expect(answer.status == 503 && answer.text == "not ready: the database cannot be reached\n")
            }
        }
    }
}
