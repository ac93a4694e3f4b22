import AccountOperations
import AccountTestSupport
import Foundation
import HTTPTypes
import JSON
import Testing

/// The sign-in link as it reaches an app.
struct SignInLinkTests {
    /// The query of `link`, by name.
    private func query(of link: String?) throws -> [String: String] {
        let components = try #require(link.flatMap { URLComponents(string: $0) })
        let items = (components.queryItems ?? []).map { ($0.name, $0.value ?? "") }
        return Dictionary(items) { _, last in last }
    }

    @Test func `an app's link names the app and has everything that a sign-in needs`() async throws {
        let settings = ProjectSettings.developmentDefaults.with("concord", ["linkDomains": ["app.example.com"]])
        try await TestAPI.with(settings: settings) { api in
            let continueURL = "http://localhost/finish?operation=buy&uid=1%262"
            let answer = try await api.post(
                "/v1/accounts:sendOobCode",
                [
                    "requestType": "EMAIL_SIGNIN", "email": "ada@example.com", "continueUrl": .string(continueURL),
                    "canHandleCodeInApp": true, "iOSBundleId": "com.example.ios", "iOSAppStoreId": "123",
                    "androidPackageName": "com.example.android", "androidInstallApp": true,
                    "androidMinimumVersion": "12",
                ]
            )
            #expect(answer.status == 200, "\(answer.text)")
            let link = try await api.listedCode("EMAIL_SIGNIN").link
            #expect(link.hasPrefix("https://app.example.com/"))
            let outer = try query(of: link)
            #expect(outer["ibi"] == "com.example.ios" && outer["isi"] == "123")
            #expect(outer["apn"] == "com.example.android" && outer["amv"] == "12")
            // By these an SDK knows a sign-in link.
            let inner = try query(of: outer["link"])
            #expect(inner["mode"] == "signIn" && inner["apiKey"] == TestService.apiKey)
            #expect(inner["continueUrl"] == continueURL)
            let code = try #require(inner["oobCode"])
            #expect(try await api.follow(code, as: "ada@example.com").status == 200)
        }
    }

    @Test func `a link that one device requested signs in on another`() async throws {
        try await TestAPI.with { api in
            func post(_ path: String, _ body: JSONValue, from device: String) async throws -> TestAPI.Answer {
                try await api.send(.post, path, Array(body.text.utf8), headers: [.userAgent: device])
            }
            let asked = try await post(
                "/v1/accounts:sendOobCode",
                ["requestType": "EMAIL_SIGNIN", "email": "ada@example.com", "continueUrl": "http://localhost/?uid=1"],
                from: "phone"
            )
            #expect(asked.status == 200)
            let inner = try query(of: try await api.listedCode("EMAIL_SIGNIN").link)
            #expect(inner["continueUrl"] == "http://localhost/?uid=1")
            let signedIn = try await post(
                "/v1/accounts:signInWithEmailLink",
                ["email": "ada@example.com", "oobCode": .string(try #require(inner["oobCode"]))],
                from: "laptop"
            )
            #expect(signedIn.status == 200)
            #expect(signedIn.json["email"] == "ada@example.com")
        }
    }
}
