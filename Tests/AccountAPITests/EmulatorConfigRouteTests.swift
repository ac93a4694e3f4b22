import AccountAPI
import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

/// The two settings that emulator test suites switch.
@Suite struct EmulatorConfigRouteTests {
    private static let path = "/emulator/v1/projects/\(TestService.projectID)/config"

    @Test func `a test suite can check that the server runs`() async throws {
        try await TestAPI.with { api in
            let answer = try await api.send(.get, "/", key: nil)
            #expect(answer.json["authEmulator"]?["ready"] == true)
        }
    }

    @Test func `the two emulator settings can be read and changed without credentials`() async throws {
        try await TestAPI.with { api in
            let before: JSONValue = [
                "signIn": ["allowDuplicateEmails": false], "emailPrivacyConfig": ["enableImprovedEmailPrivacy": false],
            ]
            #expect(try await api.send(.get, Self.path, key: nil).json == before)
            let one: JSONValue = ["signIn": ["allowDuplicateEmails": true]]
            let changed = try await api.send(.patch, Self.path, Array(one.text.utf8), key: nil)
            #expect(changed.json["signIn"]?["allowDuplicateEmails"] == true)
            let other: JSONValue = ["emailPrivacyConfig": ["enableImprovedEmailPrivacy": true]]
            _ = try await api.send(.patch, Self.path, Array(other.text.utf8), key: nil)
            let after = try await api.send(.get, Self.path, key: nil).json
            #expect(after["signIn"]?["allowDuplicateEmails"] == true)
            #expect(after["emailPrivacyConfig"]?["enableImprovedEmailPrivacy"] == true)
            let policy = api.service.operations.project.settings.policy
            #expect(!policy.isOneAccountPerEmail && policy.protectsEmailEnumeration && policy.allowsPasswordSignIn)
        }
    }

    @Test func `an empty change changes nothing, and other fields are ignored`() async throws {
        try await TestAPI.with { api async throws in
            let body: JSONValue = ["signIn": ["email": ["enabled": false]]]
            #expect(try await api.send(.patch, Self.path, Array(body.text.utf8), key: nil).status == 200)
            #expect(try await api.send(.patch, Self.path, [], key: nil).status == 200)
            #expect(api.service.operations.project.settings.policy.allowsPasswordSignIn)
            let wrong: JSONValue = ["signIn": ["allowDuplicateEmails": "perhaps"]]
            #expect(try await api.send(.patch, Self.path, Array(wrong.text.utf8), key: nil).status == 400)
        }
    }

    @Test func `production has no emulator configuration`() async throws {
        try await TestAPI.with(development: nil) { api async throws in
            #expect(try await api.send(.get, "/", key: nil).status == 404)
            #expect(try await api.send(.get, Self.path, key: nil).status == 404)
            #expect(try await api.send(.patch, Self.path, [], key: nil).status == 404)
        }
    }
}
