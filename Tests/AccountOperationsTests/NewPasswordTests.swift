import AccountLinking
import AccountTestSupport
import JSON
import Testing

@testable import AccountOperations

struct CommonPasswordTests {
    @Test func `the list has 10,000 sorted lower-case passwords of sufficient length`() {
        let all = CommonPasswords.all
        #expect(all.count == 10_000 && Set(all).count == 10_000)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        #expect(all.allSatisfy { $0.count >= WeakPassword.lengthMin && $0 == $0.lowercased() })
    }

    @Test func `each entry is found, in any case, and no other text is`() {
        for password in CommonPasswords.all {
            #expect(CommonPasswords.contains(String(password)))
            #expect(CommonPasswords.contains(password.uppercased()), "\(password)")
        }
        for other in ["", " ", "correct horse", "password1 ", "password\npassword1", "passwor", "~~~~~~~~", "!", "я"] {
            #expect(!CommonPasswords.contains(other), "\(other)")
        }
    }
}

/// Requirements for a new password, by preset and setting.
struct NewPasswordTests {
    private static let enabled: JSONValue = ["signIn": ["email": ["enabled": true]]]

    private func objections(
        _ settings: JSONValue,
        _ passwords: [String],
        for email: String? = "ada.lovelace@example.com"
    ) async throws -> [Denial?] {
        let address = email.flatMap(EmailAddress.init)
        return try await TestService.with(settings: settings) { service in
            passwords.map { service.operations.objection(toNew: $0, for: address) }
        }
    }

    @Test func `a new project requires eight characters and refuses common passwords`() async throws {
        let passwords = ["1234567", "correct", "password", "PassWord1", "iloveyou1", "correct horse", "🙂🙂🙂🙂🙂🙂🙂🙂"]
        let short = Denial.weakPassword(lengthMin: 8)
        #expect(
            try await objections(Self.enabled, passwords)
                == [short, short, .commonPassword, .commonPassword, .commonPassword, nil, nil]
        )
    }

    @Test func `the address, its local part, the app's name and its id are refused as passwords`() async throws {
        let settings = Self.enabled.setting("The Shop of Ada", at: ["concord", "displayName"])
        let passwords = ["ADA.lovelace@example.com", "ada.lovelace", "the shop of ada", TestService.projectID]
        #expect(try await objections(settings, passwords).allSatisfy { $0 == .commonPassword })
        #expect(try await objections(settings, ["ada.lovelace1", "example.com"]).allSatisfy { $0 == nil })
        #expect(try await objections(settings, ["ada.lovelace"], for: nil) == [nil])
    }

    @Test
    func `the preset firebase requires six characters and allows common passwords`()
        async throws
    {
        let firebase = Self.enabled.setting("firebase", at: ["linkPolicy", "preset"])
        let passwords = ["12345", "123456", "password", "ada.lovelace"]
        let short = Denial.weakPassword(lengthMin: 6)
        #expect(try await objections(firebase, passwords) == [short, nil, nil, nil])
        let refusing = firebase.setting(true, at: ["concord", "passwords", "refusesCommon"])
        #expect(
            try await objections(refusing, passwords) == [short, .commonPassword, .commonPassword, .commonPassword]
        )
        let long = firebase.setting(10, at: ["concord", "passwords", "lengthMin"])
        #expect(try await objections(long, ["123456789", "1234567890"]) == [.weakPassword(lengthMin: 10), nil])
        let lenient = Self.enabled.setting(6, at: ["concord", "passwords", "lengthMin"])
        #expect(try await objections(lenient, ["12345", "123456", "zx9q1w"]) == [short, .commonPassword, nil])
    }

    @Test func `an enforced policy sets the length, and common passwords stay refused`() async throws {
        func policy(_ state: JSONValue, _ options: JSONValue) -> JSONValue {
            Self.enabled.setting(
                [
                    "passwordPolicyEnforcementState": state,
                    "passwordPolicyVersions": [["customStrengthOptions": options]],
                ],
                at: ["passwordPolicyConfig"]
            )
        }
        let passwords = ["zx9q1w", "123456", "correct horse"]
        #expect(
            try await objections(policy("ENFORCE", ["minPasswordLength": 6]), passwords) == [nil, .commonPassword, nil]
        )
        #expect(
            try await objections(policy("ENFORCE", ["minPasswordLength": 20]), passwords)
                == Array(repeating: .passwordPolicy(missing: [.atLeast(characters: 20)]), count: 3)
        )
        // Without its own length, the policy uses the project's.
        #expect(
            try await objections(policy("ENFORCE", [:]), passwords).first
                == .passwordPolicy(missing: [.atLeast(characters: 8)])
        )
        let short = Denial.weakPassword(lengthMin: 8)
        #expect(try await objections(policy("OFF", ["minPasswordLength": 6]), passwords) == [short, short, nil])
    }
}
