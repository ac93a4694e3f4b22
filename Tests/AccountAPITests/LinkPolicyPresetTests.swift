import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

/// The presets of the policy, over HTTP.
@Suite struct LinkPolicyPresetTests {
    private static let signIn = "/v1/accounts:signInWithIdp"
    private static let path = "/admin/v2/projects/\(TestService.projectID)/config"

    private func configure(_ api: TestAPI, _ linkPolicy: JSONValue, mask: String) async throws -> TestAPI.Answer {
        try await api.send(
            .patch,
            "\(Self.path)?updateMask=\(mask)",
            Array(JSONValue.object(["linkPolicy": linkPolicy]).text.utf8),
            key: nil,
            bearer: "owner"
        )
    }

    /// A sign-in by a user of Google's who has the address of John.
    private func google(_ subject: String, _ more: JSONValue = [:]) -> JSONValue {
        let token = #"{"sub":"\#(subject)","email":"john@gmail.com","email_verified":true}"#
        let request: [String: JSONValue] = [
            "requestUri": "http://localhost", "returnIdpCredential": true,
            "postBody": .string("providerId=google.com&id_token=\(token)"),
        ]
        return .object(request.merging(more.object ?? [:]) { $1 })
    }

    @Test func `a preset supplies unset values, and each value can be overridden`() async throws {
        try await TestAPI.withAdministrator { api in
            func values() async throws -> JSONValue? {
                try await api.send(.get, "/concord/v1/policy", key: nil, bearer: "owner").json["linkPolicy"]
            }
            let strict = try await values()
            #expect(strict?["preset"] == "strict" && strict?["subjectChange"] == "conflict")
            #expect(strict?["linkingNeedsRecentSignIn"] == true && strict?["emailTrust"] == "strict")

            #expect(try await configure(api, ["preset": "firebase"], mask: "linkPolicy.preset").status == 200)
            let firebase = try await values()
            #expect(firebase?["subjectChange"] == "replace" && firebase?["emailTrust"] == "firebase")
            #expect(firebase?["linkingNeedsRecentSignIn"] == false && firebase?["httpContinueURLs"] == true)

            let one = try await configure(api, ["subjectChange": "takeover"], mask: "linkPolicy.subjectChange")
            #expect(one.status == 200)
            let mixed = try await values()
            #expect(mixed?["preset"] == "firebase" && mixed?["subjectChange"] == "takeover")

            let wrong = try await configure(api, ["preset": "lax"], mask: "linkPolicy.preset")
            #expect(wrong.status == 400 && wrong.text.contains("linkPolicy.preset"))
            #expect(try await values() == mixed)
        }
    }

    @Test func `the next owner of an address is refused, until the account's owner confirms with another method`()
        async throws
    {
        try await TestAPI.withAdministrator { api in
            let john = try await api.post(Self.signIn, google("john"))
            #expect(john.status == 200 && john.json["isNewUser"] == true)

            let next = try await api.post(Self.signIn, google("next-john"))
            #expect(next.json["needConfirmation"] == true && next.json["idToken"] == nil, "\(next.text)")
            let again = try await api.post(Self.signIn, google("john"))
            #expect(again.json["localId"] == john.json["localId"])

            // John himself has got a new account at Google, and shows his session.
            let settled = try await api.post(
                Self.signIn,
                [
                    "requestUri": "http://localhost", "returnIdpCredential": true,
                    "idToken": again.json["idToken"] ?? .null, "pendingToken": next.json["pendingToken"] ?? .null,
                ]
            )
            #expect(settled.status == 200 && settled.json["localId"] == john.json["localId"], "\(settled.text)")
            let entered = try await api.post(Self.signIn, google("next-john"))
            #expect(entered.json["localId"] == john.json["localId"] && entered.json["isNewUser"] != true)
            #expect(try await api.post(Self.signIn, google("john")).json["needConfirmation"] == true)
        }
    }

    @Test func `under the preset firebase the next owner of an address replaces the previous one, as in production`()
        async throws
    {
        try await TestAPI.withAdministrator { api in
            #expect(try await configure(api, ["preset": "firebase"], mask: "linkPolicy.preset").status == 200)
            let john = try await api.post(Self.signIn, google("john"))
            let next = try await api.post(Self.signIn, google("next-john"))
            #expect(next.json["emailRecycled"] == true && next.json["localId"] == john.json["localId"], "\(next.text)")
        }
    }
}
