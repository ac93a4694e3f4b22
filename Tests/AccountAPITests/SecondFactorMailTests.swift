import AccountLinking
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// The mail that reports a new second factor, and removes it.
struct SecondFactorMailTests {
    private static let type = "REVERT_SECOND_FACTOR_ADDITION"
    private static let update = "/v1/accounts:update"
    private static let inspect = "/v1/accounts:resetPassword"

    @Test func `the owner gets a mail about a new number, and can remove it with all sessions`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollNumber(api.factorOwner(), "+16505553434")
            let mailed = try await api.listedCode(Self.type)
            #expect(mailed.email == owner.email && mailed.link.contains("mode=revertSecondFactorAddition"))
            let body: JSONValue = ["oobCode": .string(mailed.code)]
            let inspected = try await api.post(Self.inspect, body)
            #expect(inspected.json["requestType"] == .string(Self.type), "\(inspected.text)")
            #expect(inspected.json["email"] == .string(owner.email))
            #expect(inspected.json["mfaInfo"]?["phoneInfo"] == "+*******3434")
            #expect(inspected.json["mfaInfo"]?["mfaEnrollmentId"] != nil)

            let applied = try await api.post(Self.update, body)
            #expect(applied.status == 200 && applied.json["email"] == .string(owner.email), "\(applied.text)")
            #expect(applied.json["idToken"] == nil)
            #expect(try await api.refresh(owner.refreshToken).errorMessage == "TOKEN_EXPIRED")
            #expect(try await api.service.user(owner.id)?.secondFactors.isEmpty == true)
            #expect(try await api.firstStep(owner).json["idToken"] != nil)
            #expect(try await api.post(Self.update, body).errorMessage == "INVALID_OOB_CODE")
        }
    }

    @Test func `the code removes only the factor in its mail`() async throws {
        try await TestAPI.with { api async throws in
            let first = try await api.enrollApp(api.factorOwner(), name: "first")
            let code = try await api.listedCode(Self.type).code
            let second = try await api.enrollApp(first, name: "second")
            #expect(try await api.post(Self.update, ["oobCode": .string(code)]).status == 200)
            #expect(try await api.service.user(second.id)?.secondFactors.map(\.displayName) == ["second"])
            #expect(try await api.firstStep(second).json["idToken"] == nil)
        }
    }

    @Test func `the code is void after seven days, or if the factor or the address changed`() async throws {
        try await TestAPI.with { api async throws in
            func refused(_ code: String) async throws -> String? {
                let inspected = try await api.post(Self.inspect, ["oobCode": .string(code)]).errorMessage
                let applied = try await api.post(Self.update, ["oobCode": .string(code)]).errorMessage
                return inspected == applied ? applied : "\(inspected ?? "-") or \(applied ?? "-")"
            }
            let ada = try await api.enrollApp(api.factorOwner("ada@example.com"))
            let withdrawn = try await api.listedCode(Self.type).code
            #expect(try await api.withdraw(ada.enrollmentID ?? "", ada.idToken).status == 200)
            #expect(try await refused(withdrawn) == "INVALID_OOB_CODE")

            let bob = try await api.enrollApp(api.factorOwner("bob@example.com"))
            let moved = try await api.listedCode(Self.type).code
            let other = try #require(EmailAddress("other@example.com"))
            try await api.service.edit(bob.id) { $0.email?.address = other }
            #expect(try await refused(moved) == "INVALID_OOB_CODE")
            #expect(try await api.service.user(bob.id)?.secondFactors.count == 1)

            let eve = try await api.enrollApp(api.factorOwner("eve@example.com"))
            let disabled = try await api.listedCode(Self.type).code
            try await api.disable(["localId": .string(eve.id.rawValue)])
            #expect(try await refused(disabled) == "USER_DISABLED")

            let dan = try await api.enrollApp(api.factorOwner("dan@example.com"))
            let old = try await api.listedCode(Self.type).code
            api.service.clock.advance(seconds: 7 * 86_400)
            #expect(try await refused(old) == "EXPIRED_OOB_CODE")
            #expect(try await api.service.user(dan.id)?.secondFactors.count == 1)
        }
    }

    /// A project where an account with second factors takes an unproven address, as production has it.
    private static let takesUnprovenAddresses = ProjectSettings.developmentDefaults
        .setting(false, at: ["linkPolicy", "secondFactorsNeedProvenAddress"])

    enum Proof: CaseIterable {
        case reset, link
    }

    /// The thief shows to read the mailbox of the address that the account was moved to.
    private func prove(_ way: Proof, _ api: TestAPI, _ thief: FactorOwner, _ email: String) async throws {
        switch way {
        case .reset:
            #expect(
                try await api.reset(try await api.code("PASSWORD_RESET", for: email), to: "thief's own").status == 200
            )
        case .link:
            let first = try await api.follow(try await api.code("EMAIL_SIGNIN", for: email), as: email)
            let pending = try #require(first.json["mfaPendingCredential"]?.string)
            let code = api.code(of: try #require(thief.app))
            #expect(try await api.secondStep(pending, thief.enrollmentID, code).status == 200)
        }
        let database = api.service.database
        #expect(try await database.count("SELECT count(*) FROM account_events WHERE kind = 'account-taken-over'") == 1)
    }

    @Test(arguments: Proof.allCases)
    func `the owner recovers from a thief who enrols a factor, moves the account and proves the new address`(
        way: Proof
    ) async throws {
        try await TestAPI.with(settings: Self.takesUnprovenAddresses) { api async throws in
            let thief = try await api.enrollApp(api.factorOwner("ada@example.com"))
            let revert: JSONValue = ["oobCode": .string(try await api.listedCode(Self.type).code)]
            let change: JSONValue = ["idToken": .string(thief.idToken), "email": "thief@example.com"]
            #expect(try await api.post(Self.update, change).status == 200)
            let recover: JSONValue = ["oobCode": .string(try await api.listedCode("RECOVER_EMAIL").code)]
            // Too early: the address is another. It is not spent by that.
            for path in [Self.update, Self.inspect, Self.update] {
                #expect(try await api.post(path, revert).errorMessage == "INVALID_OOB_CODE")
            }
            try await prove(way, api, thief, "thief@example.com")

            #expect(try await api.post(Self.update, recover).status == 200)
            #expect(try await api.post(Self.update, revert).status == 200)
            let owner = try #require(try await api.service.user(thief.id))
            #expect(owner.email?.address.raw == "ada@example.com" && owner.email?.isVerified == true)
            #expect(owner.secondFactors.isEmpty)
            let reset = try await api.code("PASSWORD_RESET", for: "ada@example.com")
            #expect(try await api.reset(reset, to: "the owner's own").status == 200)
            #expect(try await api.signIn("ada@example.com", password: "the owner's own").json["idToken"] != nil)
            for code in [recover, revert] {
                #expect(try await api.post(Self.update, code).errorMessage == "INVALID_OOB_CODE")
            }
        }
    }

    @Test func `by default a thief must prove the next address, and the owner restores both`() async throws {
        try await TestAPI.with { api async throws in
            let thief = try await api.enrollApp(api.factorOwner("ada@example.com"))
            let revert: JSONValue = ["oobCode": .string(try await api.listedCode(Self.type).code)]
            let change: JSONValue = ["idToken": .string(thief.idToken), "email": "thief@example.com"]
            let refused = try await api.post(Self.update, change)
            #expect(refused.errorMessage?.hasPrefix("UNVERIFIED_EMAIL") == true, "\(refused.text)")
            let proof = try await api.code(
                "VERIFY_AND_CHANGE_EMAIL",
                session: thief.idToken,
                newEmail: "thief@example.com"
            )
            #expect(try await api.post(Self.update, ["oobCode": .string(proof)]).status == 200)
            let recover: JSONValue = ["oobCode": .string(try await api.listedCode("RECOVER_EMAIL").code)]
            #expect(try await api.post(Self.update, revert).errorMessage == "INVALID_OOB_CODE")

            #expect(try await api.post(Self.update, recover).status == 200)
            #expect(try await api.post(Self.update, revert).status == 200)
            let owner = try #require(try await api.service.user(thief.id))
            #expect(owner.email?.address.raw == "ada@example.com" && owner.email?.isVerified == true)
            #expect(owner.secondFactors.isEmpty)
        }
    }

    @Test func `an unproven address restores nothing after another address is proven`() async throws {
        try await TestAPI.with(settings: Self.takesUnprovenAddresses) { api async throws in
            let owner = try await api.enrollApp(api.factorOwner("ada@example.com"))
            try await api.service.edit(owner.id) { user in
                user.email?.proof = nil
                user.emailProvenAt = nil
            }
            let change: JSONValue = ["idToken": .string(owner.idToken), "email": "next@example.com"]
            #expect(try await api.post(Self.update, change).status == 200)
            let recover: JSONValue = ["oobCode": .string(try await api.listedCode("RECOVER_EMAIL").code)]
            try await prove(.reset, api, owner, "next@example.com")
            #expect(try await api.post(Self.update, recover).errorMessage == "INVALID_OOB_CODE")
            #expect(try await api.service.user(owner.id)?.email?.address.raw == "next@example.com")
        }
    }

    @Test func `a password reset keeps the code, which undoes an intruder's change`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollApp(api.factorOwner())
            let revert = try await api.listedCode(Self.type).code
            let reset = try await api.code("PASSWORD_RESET", for: owner.email)
            let body: JSONValue = ["oobCode": .string(reset), "newPassword": "another password"]
            #expect(try await api.post(Self.inspect, body).status == 200)
            #expect(try await api.post(Self.update, ["oobCode": .string(revert)]).status == 200)
        }
    }

    @Test func `if 16 uses of one code race, one removes the factor`() async throws {
        try await TestAPI.with { api async throws in
            let owner = try await api.enrollApp(api.factorOwner())
            let code = try await api.listedCode(Self.type).code
            let answers = try await withThrowingTaskGroup { group in
                for _ in 0..<16 {
                    group.addTask { try await api.post(Self.update, ["oobCode": .string(code)]).errorMessage }
                }
                return try await group.reduce(into: [String?]()) { $0.append($1) }
            }
            #expect(answers.count { $0 == nil } == 1)
            #expect(answers.count { $0 == "INVALID_OOB_CODE" } == 15)
            #expect(try await api.service.user(owner.id)?.secondFactors.isEmpty == true)
        }
    }

    @Test func `the development page applies the code`() async throws {
        try await TestAPI.with { api async throws in
            _ = try await api.enrollApp(api.factorOwner())
            let mailed = try await api.listedCode(Self.type)
            let answer = try await api.act("revertSecondFactorAddition", mailed.code)
            #expect(
                answer.json["authEmulator"]?["success"] == "The second factor has been successfully removed.",
                "\(answer.text)"
            )
        }
    }
}
