import AccountLinking
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountOperations

/// Second factors as administrators see and set them.
struct SecondFactorAdminTests {
    private let numbers = (0..<6).map { "+1650555100\($0)" }

    private func enrolled(_ id: String, _ api: TestAPI) async throws -> [JSONValue] {
        let found = try await api.admin("accounts:lookup", ["localId": [.string(id)]])
        return found.json["users"]?.array?.first?["mfaInfo"]?.array ?? []
    }

    private func update(_ id: String, _ enrollments: JSONValue, _ api: TestAPI) async throws -> TestAPI.Answer {
        try await api.admin("accounts:update", ["localId": .string(id), "mfa": ["enrollments": enrollments]])
    }

    @Test func `an account can be created with several numbers, each once`() async throws {
        try await TestAPI.withAdministrator { api async throws in
            let factors: JSONValue = [
                ["phoneInfo": .string(numbers[0]), "displayName": "work"], ["phoneInfo": .string(numbers[1])],
                ["phoneInfo": .string(numbers[0]), "displayName": "again"],
            ]
            let body: JSONValue = [
                "localId": "a", "email": "ann@example.com", "emailVerified": true, "mfaInfo": factors,
            ]
            #expect(try await api.admin("accounts", body).status == 200)
            let listed = try await enrolled("a", api)
            #expect(listed.map { $0["phoneInfo"] } == [.string(numbers[0]), .string(numbers[1])])
            #expect(listed.allSatisfy { $0["unobfuscatedPhoneInfo"] == $0["phoneInfo"] })
            let page = try await api.send(.get, "\(TestAPI.projectPath)/accounts:batchGet", key: nil, bearer: "owner")
            #expect(page.json["users"]?.array?.first?["mfaInfo"] == .array(listed))
            let queried = try await api.admin("accounts:query")
            #expect(queried.json["userInfo"]?.array?.first?["mfaInfo"] == .array(listed))
            #expect(listed.map { $0["displayName"] } == ["work", nil])
            #expect(listed.allSatisfy { $0["mfaEnrollmentId"]?.string?.utf8.count == 28 })
        }
    }

    @Test func `an update replaces the whole list of factors`() async throws {
        try await TestAPI.withAdministrator { api async throws in
            let body: JSONValue = [
                "localId": "a", "email": "ann@example.com", "emailVerified": true,
                "mfaInfo": [["phoneInfo": .string(numbers[0])], ["phoneInfo": .string(numbers[1])]],
            ]
            #expect(try await api.admin("accounts", body).status == 200)
            let before = try await enrolled("a", api)
            let ids = before.compactMap { $0["mfaEnrollmentId"]?.string }
            let id = try #require(UserID("a"))
            let epoch = try await api.service.user(id)?.sessionEpoch

            func factor(_ id: String?, _ number: String, _ name: String? = nil) -> JSONValue {
                var members: [String: JSONValue] = ["phoneInfo": .string(number)]
                members["mfaEnrollmentId"] = id.map(JSONValue.string)
                members["displayName"] = name.map(JSONValue.string)
                return .object(members)
            }
            let renamed = [factor(ids[0], numbers[0], "one"), factor(ids[1], numbers[1])]
            #expect(try await update("a", .array(renamed), api).status == 200)
            #expect(try await enrolled("a", api).first?["displayName"] == "one")
            #expect(try await api.service.user(id)?.sessionEpoch == epoch, "a name ends no session")

            // Each takes the other's place and number.
            let swapped = [factor(ids[1], numbers[0]), factor(ids[0], numbers[1], "one")]
            #expect(try await update("a", .array(swapped), api).status == 200)
            #expect(try await enrolled("a", api).map { $0["mfaEnrollmentId"] } == [.string(ids[1]), .string(ids[0])])
            #expect(try await api.service.user(id)?.sessionEpoch != epoch)

            let grown = [factor(nil, numbers[2]), factor(ids[0], numbers[1]), factor("chosen", numbers[3])]
            #expect(try await update("a", .array(grown), api).status == 200)
            let listed = try await enrolled("a", api)
            #expect(listed.map { $0["phoneInfo"] } == [2, 1, 3].map { .string(numbers[$0]) })
            #expect(listed[1]["enrolledAt"] == before[0]["enrolledAt"] && listed[2]["mfaEnrollmentId"] == "chosen")

            #expect(try await api.admin("accounts:update", ["localId": "a", "mfa": [:]]).status == 200)
            #expect(try await enrolled("a", api).isEmpty)
        }
    }

    @Test func `an invalid list is refused and changes nothing`() async throws {
        try await TestAPI.withAdministrator { api async throws in
            let body: JSONValue = [
                "localId": "a", "email": "ann@example.com", "emailVerified": true,
                "mfaInfo": [["phoneInfo": .string(numbers[0])]],
            ]
            #expect(try await api.admin("accounts", body).status == 200)
            let before = try await enrolled("a", api)
            let own = before.first?["mfaEnrollmentId"] ?? .null
            let six = JSONValue.array(numbers.map { ["phoneInfo": .string($0)] })
            let twice: JSONValue = [
                ["mfaEnrollmentId": "x", "phoneInfo": .string(numbers[1])],
                ["mfaEnrollmentId": "x", "phoneInfo": .string(numbers[2])],
            ]
            let app = "UNSUPPORTED_SECOND_FACTOR : Only the user can enroll an authenticator app."
            let badNumber: JSONValue = .array([.object(["phoneInfo": "12"])])
            let nothing: JSONValue = .array([.object(["displayName": "nothing"])])
            let newApp: JSONValue = .array([.object(["totpInfo": .object([:])])])
            let unknownApp: JSONValue = .array([.object(["mfaEnrollmentId": "x", "totpInfo": .object([:])])])
            let otherKind: JSONValue = .array([.object(["mfaEnrollmentId": own, "totpInfo": .object([:])])])
            for (enrollments, expected) in [
                (six, "SECOND_FACTOR_LIMIT_EXCEEDED"),
                (badNumber, "INVALID_MFA_PHONE_NUMBER : Invalid format."),
                (nothing, "INVALID_MFA_PHONE_NUMBER : Invalid format."),
                (twice, "DUPLICATE_MFA_ENROLLMENT_ID"), (newApp, app), (unknownApp, app), (otherKind, app),
            ] as [(JSONValue, String)] {
                #expect(try await update("a", enrollments, api).errorMessage == expected, "\(enrollments.text)")
            }
            let unproven = try await api.admin(
                "accounts:update",
                [
                    "localId": "a", "email": "other@example.com",
                    "mfa": ["enrollments": [["phoneInfo": .string(numbers[1])]]],
                ]
            )
            #expect(unproven.errorMessage?.hasPrefix("UNVERIFIED_EMAIL") == true)
            #expect(try await enrolled("a", api) == before)
        }
    }

    @Test func `an authenticator app keeps its secret when it is renamed, and can be removed`() async throws {
        try await TestAPI.withAdministrator { api async throws in
            let owner = try await api.enrollApp(api.factorOwner())
            let id = JSONValue.string(try #require(owner.enrollmentID))
            let kept: JSONValue = [
                ["phoneInfo": .string(numbers[0])],
                ["mfaEnrollmentId": id, "totpInfo": [:], "displayName": "renamed", "enrolledAt": "2020-01-01"],
            ]
            #expect(try await update(owner.id.rawValue, kept, api).status == 200)
            let listed = try await enrolled(owner.id.rawValue, api)
            #expect(listed.last?["displayName"] == "renamed" && listed.last?["totpInfo"] == [:])
            let pending = try await api.pendingCredential(owner)
            let code = api.code(of: try #require(owner.app))
            #expect(try await api.secondStep(pending, owner.enrollmentID, code).status == 200)
            #expect(try await update(owner.id.rawValue, [], api).status == 200)
            #expect(try await api.firstStep(owner).json["idToken"] != nil)
        }
    }
}
