import AccountLinking
import AccountStore
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// A mailed code as the development listing shows it.
struct ListedCode {
    let email: String
    let newEmail: String?
    let code: String
    let link: String
}

extension TestAPI {
    /// The newest usable code of a type; the clock has to move between two of them.
    func listedCode(_ requestType: String) async throws -> ListedCode {
        let listed = try await listedCodes().last { $0["requestType"] == .string(requestType) }
        let found = try #require(listed, "no \(requestType) was mailed")
        return ListedCode(
            email: try #require(found["email"]?.string),
            newEmail: found["newEmail"]?.string,
            code: try #require(found["oobCode"]?.string),
            link: try #require(found["oobLink"]?.string)
        )
    }

    func listedCodes() async throws -> [JSONValue] {
        let path = "/emulator/v1/projects/\(TestService.projectID)/oobCodes"
        return try await send(.get, path, key: nil).json["oobCodes"]?.array ?? []
    }

    /// Asks for a code about `email` and reads it from the listing.
    func code(_ requestType: String, for email: String) async throws -> String {
        service.clock.advance(seconds: 1)
        let answer = try await post(
            "/v1/accounts:sendOobCode",
            ["requestType": .string(requestType), "email": .string(email)]
        )
        #expect(answer.status == 200, "\(answer.text)")
        return try await listedCode(requestType).code
    }

    /// Asks for a code as the user of a session.
    func code(_ requestType: String, session idToken: String?, newEmail: String? = nil) async throws -> String {
        service.clock.advance(seconds: 1)
        var body: [String: JSONValue] = [
            "requestType": .string(requestType), "idToken": .string(try #require(idToken)),
        ]
        body["newEmail"] = newEmail.map(JSONValue.string)
        let answer = try await post("/v1/accounts:sendOobCode", .object(body))
        #expect(answer.status == 200, "\(answer.text)")
        return try await listedCode(requestType).code
    }

    func follow(_ code: String, as email: String, idToken: String? = nil) async throws -> Answer {
        var body: [String: JSONValue] = ["email": .string(email), "oobCode": .string(code)]
        body["idToken"] = idToken.map(JSONValue.string)
        return try await post("/v1/accounts:signInWithEmailLink", .object(body))
    }

    func reset(_ code: String, to password: String? = nil) async throws -> Answer {
        var body: [String: JSONValue] = ["oobCode": .string(code)]
        body["newPassword"] = password.map(JSONValue.string)
        return try await post("/v1/accounts:resetPassword", .object(body))
    }

    func signIn(_ email: String, password: String = "correct horse") async throws -> Answer {
        try await post(
            "/v1/accounts:signInWithPassword",
            ["email": .string(email), "password": .string(password)]
        )
    }

    func refresh(_ refreshToken: String?) async throws -> Answer {
        try await post(
            "/v1/token",
            ["grant_type": "refresh_token", "refresh_token": .string(try #require(refreshToken))]
        )
    }

    /// Applies a code the way the development action page does.
    func act(_ mode: String, _ code: String, _ more: String = "") async throws -> Answer {
        try await send(.get, "/emulator/action?mode=\(mode)&oobCode=\(code)&apiKey=any\(more)", key: nil)
    }
}

extension TestService {
    func user(owning email: String) async throws -> UserRecord? {
        let address = try #require(EmailAddress(email))
        return try await operations.store.user(owning: .email(address), tenant: .project)
    }

    /// Changes an account the way another part of the service would.
    func change(
        _ email: String,
        sideWrites: [AccountWrite.SideWrite] = [],
        _ body: (inout UserRecord) throws -> Void
    ) async throws {
        let user = try #require(try await user(owning: email))
        var changed = user
        try body(&changed)
        let write = AccountWrite(
            previous: user,
            user: changed,
            event: AccountEvent(
                id: .init(high: UInt64.random(in: 0...UInt64.max), low: UInt64.random(in: 0...UInt64.max)),
                occurredAt: clock.now,
                kind: .userUpdated,
                rule: .adminUpdateUnknownAccount
            ),
            sideWrites: sideWrites
        )
        #expect(try await operations.store.apply(write) == .applied)
    }

    /// Links a provider as an unproven sign-in method.
    func link(_ provider: String, subject: String, to email: String) async throws {
        let provider = try #require(ProviderID(provider))
        let identity = try #require(ProviderIdentity(provider: provider, subject: subject))
        try await change(email) { user in
            user.linkedProviders[provider] = UserRecord.LinkedProvider(
                identity: identity,
                issuer: nil,
                email: nil,
                displayName: nil,
                photoURL: nil,
                screenName: nil,
                linkedAt: clock.now,
                updatedAt: clock.now
            )
            user.methodProofs[.provider(provider)] = .init(proof: .providerCredential, provenAt: clock.now)
        }
    }

    /// Marks the address of an account as proven.
    func prove(_ email: String) async throws {
        try await change(email) { user in
            user.email?.proof = .emailCode
            user.emailProvenAt = clock.now
        }
    }

    /// Replaces an address the way a client does, with the mail that lets its owner take it back.
    func replaceAddress(_ email: String, by newEmail: String) async throws {
        // The account's own methods are older than the mail.
        clock.advance(seconds: 1)
        let new = try #require(EmailAddress(newEmail))
        let user = try #require(try await user(owning: email))
        var after = user
        after.initialEmail = after.initialEmail ?? after.email?.address.raw
        after.email = AccountEmail(address: new, proof: nil)
        after.emailProvenAt = nil
        after.endSessions(at: clock.now)
        let recovery = try await operations.sideWrites(
            of: AccountChange(),
            from: user,
            to: after,
            recovery: EmailRecovery(effects: operations.effects, locale: nil),
            at: clock.now
        )
        #expect(!recovery.isEmpty)
        try await change(email, sideWrites: recovery) { $0 = after }
    }
}

extension JSONValue {
    /// `settings` with one more member.
    func with(_ name: String, _ value: JSONValue) -> JSONValue {
        var members = object ?? [:]
        members[name] = value
        return .object(members)
    }
}

/// Development's settings with addresses protected.
let protectedSettings = ProjectSettings.developmentDefaults.with(
    "emailPrivacyConfig",
    ["enableImprovedEmailPrivacy": true]
)
