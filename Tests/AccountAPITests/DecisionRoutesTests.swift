import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountAPI

/// The reasons of decisions, for operators and for the users whom they concern.
@Suite struct DecisionRoutesTests {
    private static let path = "/concord/v1/decisions"

    private func read(_ api: TestAPI, _ id: String, asOperator: Bool) async throws -> Wire.Answer {
        let answer =
            asOperator
            ? try await api.send(.get, "\(Self.path)/\(id)", key: nil, bearer: "owner")
            : try await api.send(.get, "\(Self.path)/\(id)")
        #expect(try OpenAPIDocument().defects(of: answer, to: .get, at: Self.path + "/{decision}") == [])
        return answer
    }

    private func list(_ api: TestAPI, _ query: String, bearer: String? = "owner") async throws -> Wire.Answer {
        let answer = try await api.send(.get, "\(Self.path)?\(query)", key: nil, bearer: bearer)
        #expect(try OpenAPIDocument().defects(of: answer, to: .get, at: Self.path) == [])
        return answer
    }

    /// The answer to a sign-in with GitHub and an address.
    private func signIn(_ api: TestAPI, _ email: String, subject: String) async throws -> Wire.Answer {
        let credential = #"{"sub":"\#(subject)","email":"\#(email)"}"#
        return try await api.post(
            "/v1/accounts:signInWithIdp",
            [
                "requestUri": "http://localhost", "returnIdpCredential": true,
                "postBody": .string("providerId=github.com&access_token=\(credential)"),
            ]
        )
    }

    private func decision(_ answer: Wire.Answer) throws -> String {
        let name = try #require(HTTPField.Name("Concord-Decision"))
        return try #require(answer.headers[name], "\(answer.text)")
    }

    @Test func `a conflict is explained to operators, and its user sees only a conflict`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let account = try await api.signUp("why@example.com")
            let refused = try await signIn(api, "why@example.com", subject: "31")
            #expect(refused.json["needConfirmation"] == true)
            let id = try decision(refused)

            let why = try await read(api, id, asOperator: true).json
            #expect(why["kind"] == "conflict-opened" && why["rule"] == "I11" && why["policyVersion"] == 1)
            #expect(why["localId"] == account["localId"])
            let question = try #require(why["questions"]?.array?.first)
            #expect(question["rule"] == "I11" && question["ruleToday"] == "I11")
            #expect(question["answer"]?["kind"] == "conflict")
            #expect(question["facts"]?["emailOwner"]?["email"] == "a@example.com")
            #expect(question["facts"]?["credential"]?["subject"] == "s1")
            #expect(question["policy"]?["emailTrust"] == "asserting")
            #expect(question["alternatives"]?["emailTrusted"] == "I9")
            #expect(!why.text.contains("why@"))

            // Another policy, the same facts: what would be decided now.
            _ = try await api.send(
                .put,
                "/concord/v1/policy",
                Array(#"{"emailTrust":[{"provider":"github.com","trust":"authoritative"}]}"#.utf8),
                key: nil,
                bearer: "owner"
            )
            let today = try await read(api, id, asOperator: true).json
            #expect(today["questions"]?.array?.first?["ruleToday"] == "I9" && today["rule"] == "I11")
        }
    }

    @Test func `the public part of a decision reveals nothing about the account`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            // One account has a password and no proof, the other one a link and a proof: two answers alike.
            _ = try await api.signUp("plain@example.com")
            let proven = try await api.signUp("proven@example.com")
            _ = try await api.post(
                "/v1/accounts:update",
                ["localId": proven["localId"] ?? .null, "emailVerified": true],
                bearer: "owner"
            )
            var shown: [JSONValue] = []
            for email in ["plain@example.com", "proven@example.com"] {
                let id = try decision(try await signIn(api, email, subject: email))
                let summary = try await read(api, id, asOperator: false)
                #expect(summary.json["decisionId"] == .string(id))
                var members = try #require(summary.json.object)
                members["decisionId"] = nil
                members["decisionTime"] = nil
                shown.append(.object(members))
            }
            #expect(shown == [["outcome": "conflict"], ["outcome": "conflict"]])
        }
    }

    @Test func `an ordinary sign-in says its provider, and stores facts if the project asks for them`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            _ = try await signIn(api, "known@example.com", subject: "51")
            let first = try await read(api, decision(signIn(api, "known@example.com", subject: "51")), asOperator: true)
            #expect(first.json["rule"] == "I2" && first.json["kind"] == "signed-in")
            #expect(first.json["omitsFacts"] == true && first.json["questions"] == [])
            #expect(first.json["provider"] == "github.com" && first.json["secondFactor"] == nil)
            let change = try ProjectConfigChange(
                body: ["concord": ["ordinaryFactsOneIn": 1]],
                mask: "concord.ordinaryFactsOneIn"
            )
            _ = try await api.service.operations.updateProjectConfig(change, by: .owner).get()
            let second = try await read(
                api,
                decision(signIn(api, "known@example.com", subject: "51")),
                asOperator: true
            )
            #expect(second.json["questions"]?.array?.count == 1)
            #expect(second.json["omitsFacts"] == nil && second.json["provider"] == nil)
        }
    }

    @Test func `sign-ins, links, unlinks and refusals are listed, the newest first`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let account = try await api.signUp("all@example.com")
            let idToken = account["idToken"] ?? .null
            api.service.clock.advance(seconds: 1)
            let signedIn = try await api.post(
                "/v1/accounts:signInWithPassword",
                ["email": "all@example.com", "password": .string(TestService.password)]
            )
            #expect(try await read(api, decision(signedIn), asOperator: false).json["outcome"] == "signed-in")
            api.service.clock.advance(seconds: 1)
            _ = try await api.post(
                "/v1/accounts:signInWithIdp",
                [
                    "requestUri": "http://localhost", "idToken": idToken,
                    "postBody": #"providerId=github.com&access_token={"sub":"41"}"#,
                ]
            )
            api.service.clock.advance(seconds: 1)
            _ = try await api.post(
                "/v1/accounts:update",
                ["idToken": idToken, "deleteProvider": ["github.com"]]
            )
            // The identity of another account: no link, and that is kept as well.
            _ = try await signIn(api, "else@example.com", subject: "42")
            _ = try await api.post(
                "/v1/accounts:signInWithIdp",
                [
                    "requestUri": "http://localhost", "idToken": idToken, "returnIdpCredential": true,
                    "postBody": #"providerId=github.com&access_token={"sub":"42","email":"else@example.com"}"#,
                ]
            )
            let localID = try #require(account["localId"]?.string)
            let all = try await list(api, "localId=\(localID)").json["decisions"]?.array ?? []
            #expect(all.compactMap { $0["rule"]?.string } == ["K3", "L4", "S6", "P11"])
            // The sign-in changed nothing: its facts are not stored.
            for decision in all {
                let isOrdinary = decision["rule"] == "S6"
                #expect(decision["questions"]?.array?.isEmpty == isOrdinary)
                #expect(decision["omitsFacts"] == (isOrdinary ? true : nil) && decision["policyVersion"] == 1)
            }

            let first = try await list(api, "localId=\(localID)&pageSize=3").json
            let token = try #require(first["nextPageToken"]?.string)
            let second = try await list(api, "localId=\(localID)&pageSize=3&pageToken=\(token)").json
            #expect((first["decisions"]?.array ?? []) + (second["decisions"]?.array ?? []) == all)
            #expect(second["nextPageToken"] == nil)
            #expect(try await api.service.database.unexplainedEvents() == [])
            #expect(try await api.service.database.inconsistencies() == [])
        }
    }

    @Test func `a refusal with a valid credential is recorded, a refusal of a wrong password is not`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let account = try await api.signUp("off@example.com")
            let localID = try #require(account["localId"]?.string)
            api.service.clock.advance(seconds: 1)
            _ = try await api.post(
                "/v1/accounts:signInWithPassword",
                ["email": "off@example.com", "password": "not the password"]
            )
            _ = try await api.post(
                "/v1/accounts:signInWithIdp",
                [
                    "requestUri": "http://localhost", "idToken": account["idToken"] ?? .null,
                    "postBody": #"providerId=github.com&access_token={"sub":"51"}"#,
                ]
            )
            api.service.clock.advance(seconds: 1)
            _ = try await api.post(
                "/v1/accounts:update",
                ["localId": .string(localID), "disableUser": true],
                bearer: "owner"
            )
            api.service.clock.advance(seconds: 1)
            let refused = try await signIn(api, "off@example.com", subject: "51")
            #expect(refused.errorMessage == "USER_DISABLED")
            let rules = try await list(api, "localId=\(localID)").json["decisions"]?.array?
                .compactMap { $0["rule"]?.string }
            #expect(rules == ["I1", "X5", "L4", "P11"])
        }
    }

    @Test func `a refusal leaves no trace that reveals whether an account has an address`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            _ = try await api.signUp("here@example.com")
            let name = try #require(HTTPField.Name("Concord-Decision"))
            func refused(_ email: String, _ provider: String) async throws -> Wire.Answer {
                try await api.post(
                    "/v1/accounts:signInWithIdp",
                    [
                        "requestUri": "http://localhost", "autoCreate": false,
                        "postBody": .string(
                            #"providerId=\#(provider)&access_token={"sub":"61","email":"\#(email)"}"#
                        ),
                    ]
                )
            }
            // I12 and I6, then I0: the same answer, and no write for one that the other does without.
            let before = try await api.service.database.rowCounts()
            for isEnabled in [true, false] {
                if !isEnabled {
                    let off = try await api.send(
                        .post,
                        "/v2/projects/\(TestService.projectID)/defaultSupportedIdpConfigs?idpId=github.com",
                        Array(#"{"enabled":false,"clientId":"c","clientSecret":"s"}"#.utf8),
                        key: nil,
                        bearer: "owner"
                    )
                    #expect(off.status == 200, "\(off.text)")
                }
                let here = try await refused("here@example.com", "github.com")
                let nowhere = try await refused("nowhere@example.com", "github.com")
                #expect(
                    here.status == 400
                        && here.errorMessage?.hasPrefix(isEnabled ? "USER_NOT_FOUND" : "OPERATION_NOT_ALLOWED") == true
                )
                #expect(here.status == nowhere.status && here.text == nowhere.text)
                #expect(here.headers[name] == nil && nowhere.headers[name] == nil)
            }
            let after = try await api.service.database.rowCounts()
            #expect(after["account_events"] == before["account_events"])
        }
    }

    @Test func `unknown decisions, invalid pages and callers without rights are refused`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            for id in ["x", "00000000-0000-7000-8000-000000000000", "000000000000-7000-8000-000000000000-00000000"] {
                #expect(try await read(api, id, asOperator: true).problem == .noSuchRoute)
                #expect(try await read(api, id, asOperator: false).problem == .noSuchRoute)
            }
            for query in ["", "localId=", "localId=a&pageSize=0", "localId=a&pageSize=101", "localId=a&pageToken=1"] {
                #expect(try await list(api, query).problem == .malformedRequest, "\(query)")
            }
            #expect(try await list(api, "localId=nobody").json == ["decisions": []])
            #expect(try await list(api, "localId=a", bearer: nil).problem == .invalidSession)
            let keyless = try await api.send(.get, Self.path + "/x", key: nil)
            #expect(keyless.problem == .invalidSession)
        }
    }
}
