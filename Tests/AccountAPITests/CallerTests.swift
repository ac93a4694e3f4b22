import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// The callers that each kind of route accepts.
@Suite(.api)
struct RegisteredCallerTests {
    @Test func `a client needs a registered key`() async throws {
        let wire = try TestAPI.shared.wire
        for route in API.routes where route.access == .client && route.service != .concord {
            let path = try #require(route.concretePaths.first)
            let missing = try await wire.send(route.method, path, key: nil)
            #expect(missing.status == 403, "\(path)")
            #expect(missing.errorMessage == "The request is missing a valid API key.")
            #expect(missing.json["error"]?["status"] == "PERMISSION_DENIED")
            expectEnvelope(missing)
            for key in ["wrong", TestService.apiKey + "x", TestService.apiKey.lowercased(), "%00"] {
                let bad = try await wire.send(route.method, path, key: key)
                #expect(bad.status == 400 && bad.errorMessage == "API key not valid. Please pass a valid API key.")
                expectEnvelope(bad)
            }
            #expect(try await wire.send(route.method, path, key: "").status == 403)
        }
    }

    @Test func `the key may be in a header`() async throws {
        let wire = try TestAPI.shared.wire
        let field = try #require(HTTPField.Name("X-Goog-Api-Key"))
        let good = try await wire.send(.post, "/v1/accounts:lookup", key: nil, headers: [field: TestService.apiKey])
        #expect(good.errorMessage == "MISSING_ID_TOKEN")
        let beside = try await wire.send(.post, "/v1/accounts:lookup", key: "", headers: [field: TestService.apiKey])
        #expect(beside.errorMessage == "MISSING_ID_TOKEN", "an empty key in the query is none")
        let bad = try await wire.send(.post, "/v1/accounts:lookup", key: nil, headers: [field: "wrong"])
        #expect(bad.errorMessage == "API key not valid. Please pass a valid API key.")
    }

    @Test(arguments: ["owner", "Owner", "ya29.anything", "nonsense", "owner owner"])
    func `no bearer token of development is an administrator in production`(_ token: String) async throws {
        let wire = try TestAPI.shared.wire
        for route in API.routes where route.access != .anyone {
            for path in route.concretePaths {
                for key in [nil, TestService.apiKey] {
                    let answer = try await wire.send(route.method, path, key: key, bearer: token)
                    #expect(answer.status == 401, "\(path): \(answer.text)")
                    if route.service != .concord { #expect(answer.json["error"]?["status"] == "UNAUTHENTICATED") }
                    expectFailureForm(answer, of: route)
                }
            }
        }
    }

    @Test func `an ID token is refused as a bearer token`() async throws {
        let api = try TestAPI.shared
        let account = try await api.signUpAnonymously()
        let token = try #require(account["idToken"]?.string)
        #expect(try await api.wire.post("/v1/accounts:lookup", [:], bearer: token).status == 401)
    }

    @Test func `authorization schemes other than Bearer are ignored`() async throws {
        let wire = try TestAPI.shared.wire
        for authorization in ["Basic b3duZXI6", "owner", "Bearer", ""] {
            let answer = try await wire.send(
                .post,
                "/v1/accounts:lookup",
                headers: [.authorization: authorization]
            )
            #expect(answer.errorMessage == "MISSING_ID_TOKEN", "\(authorization)")
        }
    }
}

@Suite(.api(callers: DevelopmentCallers()))
struct DevelopmentCallerTests {
    @Test func `in development every key is accepted, and a missing key is refused`() async throws {
        let wire = try TestAPI.shared.wire
        #expect(try await wire.post("/v1/accounts:lookup", [:], key: "anything").errorMessage == "MISSING_ID_TOKEN")
        #expect(try await wire.post("/v1/accounts:lookup", [:], key: nil).status == 403)
    }

    @Test func `in development the bearer owner is an administrator, even with a client's key`() async throws {
        let wire = try TestAPI.shared.wire
        let target: JSONValue = ["targetProjectId": "demo-test"]
        let asClient = try await wire.post("/v1/accounts:lookup", target)
        #expect(asClient.errorMessage?.hasPrefix("INSUFFICIENT_PERMISSION") == true)
        for authorization in ["Bearer owner", "bearer owner", "BEARER owner", "Bearer   owner"] {
            let answer = try await wire.send(
                .post,
                "/v1/accounts:lookup",
                Array(target.text.utf8),
                headers: [.authorization: authorization]
            )
            #expect(answer.status == 200, "\(answer.text)")
        }
        let other = try await wire.post("/v1/accounts:lookup", ["targetProjectId": "demo-x"], bearer: "owner")
        #expect(other.status == 404 && other.errorMessage == "PROJECT_NOT_FOUND")
        #expect(try await wire.post("/v1/accounts:lookup", [:], bearer: "stranger").status == 401)
    }
}
