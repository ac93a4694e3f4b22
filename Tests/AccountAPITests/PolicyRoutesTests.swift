import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// Reading and replacing the policy's tables on Concord's own routes.
@Suite struct PolicyRoutesTests {
    private static let path = "/concord/v1/policy"

    private func send(
        _ api: TestAPI,
        _ method: HTTPRequest.Method,
        _ body: JSONValue? = nil,
        query: String = "",
        ifMatch: String? = nil
    ) async throws -> Wire.Answer {
        var headers: HTTPFields = [:]
        headers[.ifMatch] = ifMatch
        let answer = try await api.send(
            method,
            Self.path + query,
            body.map { Array($0.text.utf8) } ?? [],
            key: nil,
            bearer: "owner",
            headers: headers
        )
        #expect(try OpenAPIDocument().defects(of: answer, to: method, at: Self.path) == [])
        return answer
    }

    @Test func `a policy is replaced as a whole and used at once, and its versions stay readable`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let before = try await send(api, .get)
            #expect(before.status == 200 && before.headers[.eTag] == #""1""#)
            #expect(before.json["emailTrust"] == [] && before.json["conflictProofs"] == [])
            #expect(
                before.json["emailTrustByDefault"]?.array?.contains(["provider": "apple.com", "trust": "verifying-new"])
                    == true
            )

            _ = try await api.signUp("trust@example.com")
            let credential = #"{"sub":"77","email":"trust@example.com","email_verified":true}"#
            let signIn: JSONValue = [
                "requestUri": "http://localhost", "returnIdpCredential": true,
                "postBody": .string("providerId=github.com&access_token=\(credential)"),
            ]
            let refused = try await api.post("/v1/accounts:signInWithIdp", signIn)
            #expect(refused.json["needConfirmation"] == true)

            let rules: JSONValue = [
                "emailTrust": [["provider": "github.com", "domain": "Example.COM", "trust": "verifying"]],
                "conflictProofs": [["provider": "facebook.com", "proofs": ["session"]]],
            ]
            let replaced = try await send(api, .put, rules, ifMatch: before.headers[.eTag])
            #expect(replaced.status == 200 && replaced.json["version"] == 2)
            #expect(
                replaced.json["emailTrust"]
                    == [["provider": "github.com", "domain": "example.com", "trust": "verifying"]]
            )
            let taken = try await api.post("/v1/accounts:signInWithIdp", signIn)
            #expect(taken.json["idToken"]?.string != nil && taken.json["needConfirmation"] == nil, "\(taken.text)")

            #expect(try await send(api, .get, query: "?version=1").json["emailTrust"] == [])
            let second = try await send(api, .get, query: "?version=2")
            #expect(second.json["conflictProofs"] == [["provider": "facebook.com", "proofs": ["session"]]])
            #expect(try await send(api, .get, query: "?version=3").status == 404)
            #expect(try await send(api, .get, query: "?version=x").status == 400)
            #expect(try await send(api, .put, rules, ifMatch: #""1""#).status == 412)
            #expect(try await send(api, .put, [:]).json["emailTrust"] == [])
        }
    }

    @Test func `every mistake is reported, and nothing is stored`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let answer = try await send(
                api,
                .put,
                [
                    "emailTrust": [
                        ["provider": "GitHub!", "issuer": "http://x", "domain": "no domain", "trust": "full"],
                        ["provider": "oidc.*", "domain": "hosted", "trust": "verifying", "domian": "typo.example"],
                        ["provider": "oidc.work", "trust": "verifying"],
                        ["provider": "OIDC.work", "trust": "asserting"],
                        "none",
                    ],
                    "conflictProofs": [["method": "Fax!", "provider": 1, "proofs": ["post"]], [:]],
                    "extra": [],
                ]
            )
            #expect(answer.status == 400 && answer.problem == .invalidPolicy)
            #expect(
                answer.json["errors"]?.array?.compactMap(\.string) == [
                    "extra is not part of the policy",
                    "concord.emailTrust[0].provider must be the id of a provider, oidc.*, saml.* or *",
                    "concord.emailTrust[0].issuer must be an https URL, none or *",
                    "concord.emailTrust[0].domain must be the domain of an address, hosted or *",
                    "concord.emailTrust[0].trust must be one of untrusted, asserting, verifying-new, verifying, authoritative",
                    "concord.emailTrust[1].domian is not a member of a rule",
                    "concord.emailTrust[1].domain can be hosted for google.com alone",
                    "concord.emailTrust[4] must be an object",
                    "concord.emailTrust[3] is about the same as concord.emailTrust[2]",
                    "concord.conflictProofs[0].method must be a sign-in method",
                    "concord.conflictProofs[0].provider must be the id of a provider",
                    "concord.conflictProofs[0].proofs must be a list of mailbox, session",
                    "concord.conflictProofs[1].proofs must be a list of mailbox, session",
                ]
            )
            #expect(try await send(api, .get).json["version"] == 1)
            let long = JSONValue.array(Array(repeating: ["provider": "*", "trust": "asserting"], count: 101))
            #expect(try await send(api, .put, ["emailTrust": long]).problem == .invalidPolicy)
        }
    }

    @Test func `only operators have access`() async throws {
        try await TestAPI.with { api in
            for method in [HTTPRequest.Method.get, .put] {
                for bearer in [nil, "owner"] {
                    let answer = try await api.send(method, Self.path, key: nil, bearer: bearer)
                    #expect(answer.status == 401 && answer.problem == .invalidSession)
                }
            }
        }
    }

    @Test func `if many replace the policy at once, each gets the policy it wrote, with its version`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let answers = try await withThrowingTaskGroup { group in
                for number in 0..<24 {
                    group.addTask {
                        let rules: JSONValue = [
                            "emailTrust": [
                                [
                                    "provider": "github.com", "domain": .string("\(number).example.com"),
                                    "trust": "verifying",
                                ]
                            ]
                        ]
                        return (rules["emailTrust"], try await send(api, .put, rules))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for (rules, answer) in answers {
                #expect(answer.status == 200 && answer.json["emailTrust"] == rules, "\(answer.text)")
                let version = try #require(answer.json["version"]?.integer)
                #expect(answer.headers[.eTag] == "\"\(version)\"")
                #expect(try await send(api, .get, query: "?version=\(version)").json["emailTrust"] == rules)
            }
            #expect(Set(answers.compactMap { $0.1.json["version"]?.integer }) == Set(2...25))
        }
    }

    @Test func `64 concurrent replacements create 64 stored versions`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<64 {
                    group.addTask {
                        let domain = "d\(number).example"
                        let rule: JSONValue = [
                            "provider": "github.com", "domain": .string(domain), "trust": "verifying",
                        ]
                        return try await send(api, .put, ["emailTrust": [rule]]).status
                    }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses == Array(repeating: 200, count: 64))
            let versions = try await api.service.database.count(
                "SELECT count(*) FROM project_config_versions"
            )
            #expect(versions == 65)
            let newest = try await api.service.database.count(
                """
                SELECT count(*) FROM project_config_versions JOIN project_config USING (version, settings)
                """
            )
            #expect(newest == 1)
            let named = try await api.service.database.count(
                "SELECT count(*) FROM project_config_versions WHERE author = 'owner' AND reason IS NULL"
            )
            #expect(named == 64)
        }
    }
}
