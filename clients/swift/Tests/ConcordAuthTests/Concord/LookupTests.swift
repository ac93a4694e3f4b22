import Foundation
import Testing

@testable import ConcordAuth

/// Lookups, first sign-ins that ask, and sign-ups that wait for their mailbox.
struct LookupTests {
    private static let proven: JSONValue = [
        "email": "ada@example.com",
        "methods": [
            ["method": "google.com", "works": true],
            ["method": "password", "works": false, "restorableUntil": "2030-01-01T00:00:00.000Z"],
        ],
        "lastUsed": "google.com", "signsIn": true, "offersPassword": true, "proofToken": "lookup-proof",
        "expireTime": "2030-01-01T00:00:00.000Z",
    ]

    private static let signedIn: JSONValue = [
        "localId": "ada", "idToken": .string(FakeConcord.token()), "refreshToken": "refresh", "expiresIn": "3600",
    ]

    @Test("a mail is on its way, or the known device gets the methods")
    func ask() async throws {
        let server = FakeConcord()
        let auth = try server.auth(InMemorySessionStore())
        server.script("/concord/v1/lookup", status: 202, [:])
        #expect(try await auth.lookup(email: "ada@example.com") == .mailSent)
        #expect(server.bodies("/concord/v1/lookup") == [["email": "ada@example.com"]])
        try await auth.signIn(withEmail: "ada@example.com", password: "correct horse")
        try auth.signOut()
        server.script(
            "/concord/v1/lookup",
            [
                "email": "ada@example.com",
                "methods": [["method": "phone", "works": false, "obstacle": "not-enabled"]],
                "offersPassword": false,
            ]
        )
        guard case .known(let account) = try await auth.lookup(email: "ada@example.com") else {
            Issue.record("the device is not known")
            return
        }
        #expect(account.methods.first?.obstacle == "not-enabled")
        #expect(server.bodies("/concord/v1/lookup").last?["deviceToken"]?.stringValue == "device-token")
    }

    @Test("the code and the link prove a mailbox")
    func prove() async throws {
        let server = FakeConcord()
        let auth = try server.auth(InMemorySessionStore())
        server.script("/concord/v1/lookup:prove", Self.proven)
        let lookup = try await auth.prove(lookupCode: "1234 5678", email: "ada@example.com")
        #expect(lookup.methods.map(\.name) == ["google.com", "password"])
        #expect(lookup.methods.last?.restorableUntil != nil)
        let link = try #require(URL(string: "https://id.example.com/signin#lookup=s%2B1&email=ada%40example.com&way=x"))
        _ = try await auth.prove(lookupLink: link)
        await expect(.invalidActionCode) {
            try await auth.prove(lookupLink: #require(URL(string: "https://id.example.com/signin?lookup=x")))
        }
        #expect(
            server.bodies("/concord/v1/lookup:prove") == [
                ["email": "ada@example.com", "code": "1234 5678"], ["linkSecret": "s+1"],
            ]
        )
    }

    @Test("the proof signs in, sets a password, or proves a conflict")
    func continueLookup() async throws {
        let server = FakeConcord()
        let store = InMemorySessionStore()
        let auth = try server.auth(store)
        server.script("/concord/v1/lookup:prove", Self.proven)
        server.script("/concord/v1/lookup:continue", Self.signedIn)
        let lookup = try await auth.prove(lookupCode: "12345678", email: "ada@example.com")
        #expect(try await lookup.signIn(in: auth).user.uid == "ada")
        let body = try #require(server.bodies("/concord/v1/lookup:continue").first)
        #expect(body["way"] == "signIn" && body["proofToken"] == "lookup-proof" && body["returnDeviceToken"] == true)
        server.script("/concord/v1/lookup:continue", ["oobCode": "code", "oobLink": "https://id.example.com/"])
        server.script("/v1/accounts:resetPassword", ["email": "ada@example.com", "requestType": "PASSWORD_RESET"])
        #expect(try await lookup.setPassword("correct horse battery", in: auth) == "ada@example.com")
        #expect(server.bodies("/v1/accounts:resetPassword").last?["oobCode"] == "code")
        let error = await expect(.accountExistsWithDifferentCredential) {
            try await auth.signIn(with: GitHubAuthProvider.credential(withToken: "token"))
        }
        let conflict = try #require(error?.conflict)
        server.script(
            "/concord/v1/lookup:continue",
            [
                "proofToken": "proof-1",
                "conflict": [
                    "state": "proven", "kind": "account-exists-with-different-credential", "providerId": "github.com",
                    "openTime": "2026-01-05T09:00:00.000Z", "expireTime": "2030-01-01T00:00:00.000Z",
                ],
            ]
        )
        server.state.with { $0.proofToken = "proof-1" }
        try await lookup.prove(conflict, in: auth)
        try await server.auth(store).pendingConflicts().first?.resolve(in: auth)
        #expect(server.isLinked)
        #expect(try auth.pendingConflicts().isEmpty)
    }

    @Test("a lookup's sign-in that needs a second factor has a resolver")
    func secondFactor() async throws {
        let server = FakeConcord()
        let auth = try server.auth(InMemorySessionStore())
        server.script("/concord/v1/lookup:prove", Self.proven)
        server.script(
            "/concord/v1/lookup:continue",
            ["localId": "ada", "mfaPendingCredential": "pending", "mfaInfo": [["mfaEnrollmentId": "factor"]]]
        )
        let lookup = try await auth.prove(lookupCode: "12345678", email: "ada@example.com")
        let error = await expect(.secondFactorRequired) { try await lookup.signIn(in: auth) }
        #expect(error?.resolver?.hints.map(\.uid) == ["factor"])
    }

    @Test("a first sign-in asks, and its credential creates an account or links to another")
    func firstSignIn() async throws {
        let server = FakeConcord()
        let auth = try server.auth(InMemorySessionStore())
        let credential = GoogleAuthProvider.credential(withIDToken: "google-token")
        server.script(
            "/v1/accounts:signInWithIdp",
            [
                "asksFirst": true, "pendingToken": "first", "providerId": "google.com", "email": "ada@gmail.com",
                "displayName": "Ada Lovelace",
            ]
        )
        let error = await expect(.asksFirst) { try await auth.signIn(with: credential, asksFirst: true) }
        let first = try #require(error?.firstSignIn)
        #expect(first.providerID == "google.com" && first.email == "ada@gmail.com")
        #expect(first.displayName == "Ada Lovelace")
        #expect(try auth.pendingConflicts().isEmpty)
        let stored = try JSONDecoder().decode(FirstSignIn.self, from: JSONEncoder().encode(first))
        server.script("/v1/accounts:signInWithIdp", Self.signedIn)
        try await stored.createAccount(in: auth)
        try await first.link(to: #require(auth.currentUser))
        let bodies = server.bodies("/v1/accounts:signInWithIdp")
        #expect(bodies.map { $0["asksFirst"]?.boolValue } == [true, nil, nil])
        #expect(bodies.dropFirst().map { $0["pendingToken"]?.stringValue } == ["first", "first"])
        #expect(bodies.last?["idToken"] != nil)
    }

    @Test("a mailed sign-up creates its account with the password")
    func pendingSignUp() async throws {
        let server = FakeConcord()
        let auth = try server.auth(InMemorySessionStore())
        let link = try #require(URL(string: "https://id.example.com/signin#signUp=handle-1&proof=secret"))
        let signUp = try #require(PendingSignUp(link: link))
        let proven: JSONValue = [
            "email": "ada@example.com", "accountExists": false, "proofToken": "proof",
            "expireTime": "2030-01-01T00:00:00.000Z",
        ]
        server.script("/concord/v1/signUp/pending:prove", proven)
        let mailbox = try await signUp.prove(in: auth)
        #expect(mailbox.email == "ada@example.com" && !mailbox.accountExists)
        let result = try await signUp.create(mailbox, password: "correct horse", displayName: "Ada", in: auth)
        #expect(result.additionalUserInfo?.isNewUser == true)
        let request = try #require(server.requests.first { $0.url.path.hasSuffix("pending:create") })
        #expect(request.headers["Authorization"] == "Bearer handle-1")
        #expect(request.headers["Idempotency-Key"] != nil)
        let other = try #require(URL(string: "https://id.example.com/signin#email=x"))
        #expect(PendingSignUp(link: other) == nil)
    }
}
