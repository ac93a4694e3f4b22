import AccountLinking
import AccountOperations
import AccountTestSupport
import IdentityProviders
import JSON
import Testing

@testable import Postgres

/// `account-exists-with-different-credential`, from the refusal to the linked account.
@Suite struct ConflictTests {
    @Test func `a provider's credential with another account's address opens a conflict and changes nothing`()
        async throws
    {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let before = try await service.database.contents()
            let credential = service.credential(.twitter, subject: "77", email: "ada@example.com", isVerified: true)
            let (account, _) = try await service.signIn(credential).confirmation()
            #expect(account == ada.user.id)
            let after = try await service.database.contents()
            for table in ["users", "identifiers", "linked_providers", "sign_in_methods", "sessions"] {
                #expect(before[table] == after[table], "\(table)")
            }
        }
    }

    @Test func `the pending credential is linked once its owner has signed in, and then both methods sign in`()
        async throws
    {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let credential = service.credential(.twitter, subject: "77", email: "ada@example.com")
            let (_, pendingToken) = try await service.signIn(credential).confirmation()

            let session = try await service.signIn("ada@example.com").success()
            let linked = try await service.signIn(pendingToken: pendingToken, idToken: session.tokens.idToken)
                .signedIn()
            #expect(linked.user.id == ada.user.id && !linked.isNewUser)
            #expect(linked.user.linkedProviders.keys.map(\.rawValue) == ["twitter.com"])

            #expect(try await service.signIn(credential).signedIn().user.id == ada.user.id)
            #expect(try await service.signIn("ada@example.com").success().user.id == ada.user.id)
        }
    }

    @Test func `the handle works without a session and in another process`() async throws {
        try await TestService.with { service in
            let owner = try await service.signIn(service.credential(.gitHub, subject: "1")).signedIn()
            let target = try await service.signUp("ada@example.com")
            // L1: the identity belongs to another account.
            let (refusal, handle) = try await service.signIn(
                service.credential(.gitHub, subject: "1"),
                idToken: target.tokens.idToken
            ).refused()
            #expect(refusal == .federatedIdentityAlreadyLinked)
            let pendingToken = try #require(handle)
            try await service.withSecondProcess { other in
                // Without a session the handle signs in to the account that owns the identity.
                let signedIn = try await other.signIn(pendingToken: pendingToken).signedIn()
                #expect(signedIn.user.id == owner.user.id)
            }
            #expect(try await service.signIn(pendingToken: pendingToken).denial == .invalidPendingToken)
        }
    }

    @Test func `the database contains no token of a pending credential in the clear`() async throws {
        try await TestService.with { service in
            _ = try await service.signUp("ada@example.com")
            var credential = service.credential(.facebook, subject: "55", email: "ada@example.com")
            credential.accessToken = "EAAB-a-secret-access-token-of-the-provider"
            credential.tokenSecret = "a-secret-that-belongs-to-the-token"
            let (_, pendingToken) = try await service.signIn(credential).confirmation()
            let dump = try await service.database.contents().values.joined()
            #expect(dump.contains("conflict-opened"), "the dump is of this database")
            for secret in [credential.accessToken, credential.tokenSecret, credential.idToken, pendingToken] {
                let secret = try #require(secret)
                #expect(!dump.contains(secret))
                #expect(!dump.contains(Hexadecimal.encode(Array(secret.utf8))))
            }
        }
    }

    @Test func `repeating the raw tokens with a session resolves the conflict that they opened`() async throws {
        try await TestService.with { service in
            _ = try await service.signUp("ada@example.com")
            let credential = service.credential(.twitter, subject: "77", email: "ada@example.com")
            let (_, pendingToken) = try await service.signIn(credential).confirmation()
            let session = try await service.signIn("ada@example.com").success()
            _ = try await service.signIn(credential, idToken: session.tokens.idToken).signedIn()
            // The sign-in joined the conflict, so the handle is consumed.
            #expect(try await service.signIn(pendingToken: pendingToken).denial == .invalidPendingToken)
            #expect(
                try await service.database.count("SELECT count(*) FROM conflicts WHERE state = 'open'") == 0
            )
        }
    }

    @Test func `a password sign-in with a pending credential links it once`() async throws {
        try await TestService.withTwo { service, other in
            let ada = try await service.signUp("ada@example.com")
            let credential = service.credential(.twitter, subject: "77", email: "ada@example.com")
            let (_, pendingToken) = try await service.signIn(credential).confirmation()
            let outcomes = try await service.race(with: other, count: 16) { service, _ in
                try await service.signIn("ada@example.com", pendingToken: pendingToken).success()
            }
            #expect(outcomes.allSatisfy { $0.user.id == ada.user.id })
            #expect(outcomes.compactMap(\.linkedProvider) == [.twitter])
            #expect(try await service.signIn(credential).signedIn().user.id == ada.user.id)
            #expect(try await service.database.count("SELECT count(*) FROM conflicts WHERE state = 'resolved'") == 1)
            #expect(
                try await service.database.count(
                    "SELECT count(*) FROM account_events WHERE kind = 'method-linked' AND rule = 'L4'"
                ) == 1
            )
            try await service.database.expectConsistency()
        }
    }

    @Test func `a sign-in that links a pending credential stores one question, which has the credential`() async throws
    {
        try await TestService.with { service in
            _ = try await service.signUp("ada@example.com")
            let credential = service.credential(.twitter, subject: "77", email: "ada@example.com")
            let (_, pendingToken) = try await service.signIn(credential).confirmation()
            let signedIn = try await service.signIn("ada@example.com", pendingToken: pendingToken).success()
            #expect(signedIn.linkedProvider == .twitter)
            let decision = try #require(try await service.operations.decision(signedIn.decision))
            #expect(decision.rule == "L4" && decision.questions.count == 1)
            let facts = decision.questions.first?["facts"]
            #expect(facts?["question"] == "signInWithPassword" && facts?["waiting"]?["presented"] == true)
            #expect(decision.rulesToday == [.providerLinked])
        }
    }

    @Test func `a valid sign-in succeeds although its pending credential is invalid`() async throws {
        try await TestService.with { service in
            _ = try await service.signUp("ada@example.com")
            _ = try await service.signUp("eve@example.com")
            let credential = service.credential(.twitter, subject: "77", email: "ada@example.com")
            let (_, pendingToken) = try await service.signIn(credential).confirmation()
            // A conflict of another account is ignored.
            for token in [pendingToken, "forged", String(pendingToken.dropLast())] {
                let signedIn = try await service.signIn("eve@example.com", pendingToken: token).success()
                #expect(signedIn.linkedProvider == nil && signedIn.user.linkedProviders.isEmpty)
            }
            #expect(try await service.signIn("ada@example.com", "wrong", pendingToken: pendingToken).denial != nil)
            #expect(try await service.view(pendingToken, nil).success().state == .open)
            _ = try await service.decline(pendingToken).success()
            #expect(
                try await service.signIn("ada@example.com", pendingToken: pendingToken).success().linkedProvider == nil
            )
        }
    }

    @Test func `a second attempt joins the open conflict`() async throws {
        try await TestService.with { service in
            _ = try await service.signUp("ada@example.com")
            let credential = service.credential(.twitter, subject: "77", email: "ada@example.com")
            let (_, first) = try await service.signIn(credential).confirmation()
            let (_, second) = try await service.signIn(credential).confirmation()
            #expect(try await service.database.count("SELECT count(*) FROM conflicts") == 1)
            let session = try await service.signIn("ada@example.com").success()
            _ = try await service.signIn(pendingToken: first, idToken: session.tokens.idToken).signedIn()
            #expect(
                try await service.signIn(pendingToken: second, idToken: session.tokens.idToken).denial
                    == .invalidPendingToken
            )
        }
    }

    @Test func `an expired handle is refused`() async throws {
        try await TestService.with { service in
            _ = try await service.signUp("ada@example.com")
            let credential = service.credential(.twitter, subject: "77", email: "ada@example.com")
            let (_, pendingToken) = try await service.signIn(credential).confirmation()
            service.clock.advance(seconds: 3601)
            let session = try await service.signIn("ada@example.com").success()
            #expect(
                try await service.signIn(pendingToken: pendingToken, idToken: session.tokens.idToken).denial
                    == .invalidPendingToken
            )
        }
    }

    @Test func `a modified handle is refused`() async throws {
        try await TestService.with { service in
            _ = try await service.signUp("ada@example.com")
            let credential = service.credential(.twitter, subject: "77", email: "ada@example.com")
            let (_, pendingToken) = try await service.signIn(credential).confirmation()
            var bytes = try #require(Base64URL.decode(pendingToken))
            for index in bytes.indices {
                bytes[index] ^= 1
                let changed = Base64URL.encode(bytes)
                #expect(try await service.signIn(pendingToken: changed).denial == .invalidPendingToken)
                bytes[index] ^= 1
            }
            for text in ["", "x", pendingToken + "A", String(pendingToken.dropLast(4))] {
                #expect(try await service.signIn(pendingToken: text).denial == .invalidPendingToken)
            }
        }
    }

    @Test func `another account's session cannot use the handle, even once the address is free`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let mallory = try await service.signUp("mallory@example.com")
            let credential = service.credential(.twitter, subject: "77", email: "ada@example.com")
            let (_, pendingToken) = try await service.signIn(credential).confirmation()
            func use(by session: SignedIn) async throws -> Outcome<SignInWithIdp.Result> {
                try await service.signIn(pendingToken: pendingToken, idToken: session.tokens.idToken)
            }
            #expect(try await use(by: mallory).denial == .invalidPendingToken)
            // The address is free, so it does not prevent the link.
            try await service.edit(ada.user.id) { $0.email = nil }
            #expect(try await use(by: mallory).denial == .invalidPendingToken)
            // A failure does not consume the handle.
            #expect(try await use(by: ada).signedIn().user.id == ada.user.id)
        }
    }

    @Test func `a credential of a former issuer is linked nowhere, and one of the new issuer is`()
        async throws
    {
        try await TestService.with { service in
            let provider = try #require(ProviderID("oidc.work"))
            var config = ProviderConfig(provider: provider)
            config.isEnabled = true
            config.clientID = "client"
            config.issuer = "https://old.example"
            #expect(try await service.operations.addProviderConfig(config) == nil)
            func credential(of issuer: String) -> ProviderCredential {
                let claims: JSONValue = [
                    "sub": "1", "iss": .string(issuer), "aud": "client", "email": "ada@example.com",
                    "email_verified": false,
                ]
                return ProviderCredential(provider: provider, idToken: claims.text)
            }
            let ada = try await service.signUp("ada@example.com")
            let idToken = ada.tokens.idToken
            let old = credential(of: "https://old.example")
            let (_, handle) = try await service.signIn(old).confirmation()
            let proven = try await service.prove(handle, by: ada).success()
            // No user is linked, so the issuer may change. At the new issuer the same subject is another user.
            _ = try await service.operations.updateProviderConfig(provider) { $0.issuer = "https://new.example" }.get()

            #expect(try await service.signIn(pendingToken: handle, idToken: idToken).denial == .invalidPendingToken)
            #expect(try await service.signIn(pendingToken: handle).denial == .invalidPendingToken)
            #expect(try await service.signIn(old, idToken: idToken).denial == .invalidCredential(.wrongIssuer))
            #expect(try await service.signIn("ada@example.com", pendingToken: handle).success().linkedProvider == nil)
            #expect(try await service.signIn("ada@example.com").success().linkedProvider == nil, "proven before")
            #expect(
                try await service.resolve(handle, proven.proofToken).denial
                    == .conflict(.refused(.operationNotAllowed))
            )
            #expect(try await service.database.count("SELECT count(*) FROM linked_providers") == 0)

            let (_, other) = try await service.signIn(credential(of: "https://new.example")).confirmation()
            let linked = try await service.signIn(pendingToken: other, idToken: idToken).signedIn()
            #expect(linked.user.linkedProviders[provider]?.issuer == "https://new.example")
        }
    }

    @Test func `a takeover voids the open conflicts of the account`() async throws {
        try await TestService.with { service in
            _ = try await service.signUp("ada@gmail.com", "of an attacker")
            let credential = service.credential(.twitter, subject: "77", email: "ada@gmail.com")
            let (_, pendingToken) = try await service.signIn(credential).confirmation()
            let owner = try await service.signIn(
                service.credential(.google, subject: "g", email: "ada@gmail.com", isVerified: true)
            ).signedIn()
            #expect(
                try await service.signIn(pendingToken: pendingToken, idToken: owner.tokens.idToken).denial
                    == .invalidPendingToken
            )
        }
    }
}

extension TestDatabase {
    /// The text of every row by table: the content of a stolen dump.
    func contents() async throws -> [String: String] {
        let tables: [String?] = try await rows(
            "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'"
        )
        var contents: [String: String] = [:]
        for table in tables.compactMap(\.self) {
            let name = SQL(text: table)
            let rows: [String?] = try await rows(
                Query("SELECT string_agg(t::text, E'\\n' ORDER BY t::text) FROM \(name) AS t")
            )
            contents[table] = rows.first.flatMap(\.self) ?? ""
        }
        return contents
    }
}
