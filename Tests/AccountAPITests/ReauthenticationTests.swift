import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// The required age of a sign-in, which an app can read in advance.
struct ReauthenticationTests {
    @Test(arguments: [300, 0, 77] as [Int64])
    func `the policy of every sensitive operation is public`(seconds: Int64) async throws {
        let settings = ProjectSettings.developmentDefaults
            .setting(["recentSignInSeconds": .integer(seconds)], at: ["concord"])
        try await TestAPI.with(settings: settings) { api in
            let path = "/concord/v1/reauthentication-policy"
            let answer = try await api.send(.get, path, key: nil)
            #expect(try OpenAPIDocument().defects(of: answer, to: .get, at: path) == [])
            let operations = answer.json["operations"]?.array ?? []
            #expect(
                operations.compactMap { $0["operation"]?.string } == SensitiveOperation.allCases.map(\.rawValue)
            )
            #expect(operations.allSatisfy { $0["maxAge"] == .integer(seconds) && $0["exemptions"] == ["anonymous"] })
        }
    }

    @Test func `an account that unlinks its session's provider still needs reauthentication`() async throws {
        let settings = ProjectSettings.developmentDefaults.setting(["recentSignInSeconds": 2], at: ["concord"])
        try await TestAPI.with(settings: settings) { api in
            let body: JSONValue = [
                "requestUri": "http://localhost", "postBody": #"providerId=twitter.com&id_token={"sub":"77"}"#,
            ]
            let session = try await api.post("/v1/accounts:signInWithIdp", body).json
            let idToken = session["idToken"] ?? .null
            let unlink: JSONValue = ["idToken": idToken, "deleteProvider": ["twitter.com"]]
            let unlinked = try await api.post("/v1/accounts:update", unlink)
            #expect(unlinked.status == 200, "\(unlinked.text)")
            api.service.clock.advance(seconds: 5)
            let own: JSONValue = ["idToken": idToken, "email": "a@example.com", "password": "correct horse"]
            for (path, body) in [("delete", ["idToken": idToken]), ("signUp", own)] as [(String, JSONValue)] {
                let answer = try await api.post("/v1/accounts:\(path)", body)
                #expect(answer.errorMessage == "CREDENTIAL_TOO_OLD_LOGIN_AGAIN", "\(path): \(answer.text)")
            }
        }
    }
}
