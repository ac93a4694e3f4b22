import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// The administrators' listener: reaching it is the credential, so no web page may reach it.
struct OperatorListenerTests {
    private let list = "/v1/projects/\(TestService.projectID)/accounts:batchGet"

    private func withListener(_ body: @Sendable (Wire) async throws -> Void) async throws {
        try await TestService.with { service in
            let handle = ServiceHandle()
            handle.state = .ready(service.operations, checkDatabase: { nil })
            try await Wire.with(service: handle, audience: .operators, callers: OperatorCallers()) { wire in
                try await body(wire)
            }
        }
    }

    @Test func `the bearer owner is an administrator, other callers are not`() async throws {
        try await withListener { wire async throws in
            #expect(try await wire.send(.get, list, key: nil, bearer: "owner").status == 200)
            #expect(try await wire.send(.get, list, key: nil, bearer: "stranger").status == 401)
            #expect(try await wire.send(.get, list, key: nil).status == 401)
            #expect(try await wire.send(.get, list, key: "nonsense").status == 400)
        }
    }

    @Test func `a browser is refused and cannot read the response`() async throws {
        try await withListener { wire async throws in
            let origin: HTTPFields = [.origin: "http://localhost:3000"]
            for method in [HTTPRequest.Method.get, .options] {
                let answer = try await wire.send(method, list, key: nil, bearer: "owner", headers: origin)
                #expect(answer.status == 403)
                #expect(answer.headers[.accessControlAllowOrigin] == nil)
                #expect(answer.headers[.accessControlAllowMethods] == nil)
            }
        }
    }

    @Test func `a request with another host name is refused`() async throws {
        try await withListener { wire async throws in
            let answer = try await wire.send(.get, list, key: nil, bearer: "owner", host: "evil.example.com")
            #expect(answer.status == 403)
        }
    }

    @Test(arguments: ["localhost", "LOCALHOST:9098", "127.0.0.1", "127.0.0.1:9098", "127.1.2.3", "[::1]:9098", "[::1]"])
    func `a name of this host is accepted`(_ authority: String) {
        #expect(API.isThisHost(authority))
    }

    @Test(arguments: [
        nil, "", "example.com", "localhost.example.com", "127.0.0.1.example.com", "127.example.com:9098", "10.0.0.1",
        "[::2]", "0.0.0.0", "[", ":",
    ])
    func `a name that another person could register for this host is refused`(_ authority: String?) {
        #expect(!API.isThisHost(authority))
    }
}
