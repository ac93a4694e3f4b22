import Foundation
import Testing

@testable import ConcordAuth

/// Concord's own pages, and the way back to the app.
struct SignInPageTests {
    private static let signedIn: JSONValue = [
        "localId": "ada", "idToken": .string(FakeConcord.token()), "refreshToken": "refresh", "expiresIn": "3600",
    ]

    private func back(_ page: URL, _ more: String) throws -> URL {
        let parameters = page.fragmentParameters
        let (base, state) = (try #require(parameters["continueUrl"]), try #require(parameters["state"]))
        return try #require(URL(string: "\(base)?state=\(state)\(more)"))
    }

    @Test("the page returns a session to the process that comes after the one that opened it")
    func signInPage() async throws {
        let server = FakeConcord()
        let store = InMemorySessionStore()
        let app = try #require(URL(string: "https://app.example.com/signed-in"))
        let page = try server.auth(store).signInPage(continueURL: app, email: "ada+1@example.com")
        #expect(page.path == "/signin" && page.query == nil)
        #expect(page.fragmentParameters["email"] == "ada+1@example.com")
        server.script("/concord/v1/session:exchange", Self.signedIn)
        let next = try server.auth(store)
        try await next.signIn(withReturnURL: back(page, "&concordCode=code"))
        #expect(next.currentUser?.uid == "ada")
        let request = try #require(server.requests.first { $0.url.path == "/concord/v1/session:exchange" })
        let body = try #require(request.body.flatMap(JSONValue.parse))
        let verifier = try #require(body["codeVerifier"]?.stringValue)
        #expect(verifier.count >= 43 && verifier.count <= 128)
        #expect(page.fragmentParameters["codeChallenge"] == Digest.base64URL(of: verifier))
        #expect(page.fragmentParameters["codeChallenge"]?.count == 43)
        #expect(request.headers["Idempotency-Key"] == page.fragmentParameters["state"])
        #expect(try store.read()?.page == nil)
        await expect(.webContextCancelled) { try await next.signIn(withReturnURL: back(page, "&concordCode=code")) }
    }

    @Test("a link that this device did not ask for is refused, and nothing is sent")
    func foreignLink() async throws {
        let server = FakeConcord()
        let auth = try server.auth(InMemorySessionStore())
        let app = try #require(URL(string: "https://app.example.com/signed-in"))
        let page = try auth.signInPage(continueURL: app)
        for text in ["?concordCode=stolen", "?state=other&concordCode=stolen", ""] {
            let link = try #require(URL(string: app.absoluteString + text))
            await expect(.webContextCancelled) { try await auth.signIn(withReturnURL: link) }
        }
        await expect(.webContextCancelled) { try await auth.signIn(withReturnURL: back(page, "")) }
        #expect(server.requests.isEmpty)
    }

    @Test("the page of a conflict has its handle behind the hash, and settles it")
    func conflictPage() async throws {
        let server = FakeConcord()
        let store = InMemorySessionStore()
        let auth = try server.auth(store)
        let error = await expect(.accountExistsWithDifferentCredential) {
            try await auth.signIn(with: GitHubAuthProvider.credential(withToken: "token"))
        }
        let app = try #require(URL(string: "https://app.example.com/signed-in"))
        let page = try #require(error?.conflict).page(continueURL: app, in: auth)
        #expect(page.path == "/conflict" && page.query == nil)
        #expect(page.fragment?.hasPrefix("handle-1&continueUrl=") == true)
        server.script("/concord/v1/session:exchange", Self.signedIn)
        try await server.auth(store).signIn(withReturnURL: back(page, "&concordConflict=resolved&concordCode=code"))
        #expect(try auth.pendingConflicts().isEmpty)
    }

    @Test("short codes and the server's description")
    func otherRoutes() async throws {
        let server = FakeConcord()
        let auth = try server.auth(InMemorySessionStore())
        server.script(
            "/concord/v1/shortCode:exchange",
            ["oobCode": "long", "oobLink": "x", "requestType": "EMAIL_SIGNIN"]
        )
        try await auth.signIn(withEmail: "ada@example.com", shortCode: "1234 5678")
        #expect(server.bodies("/v1/accounts:signInWithEmailLink").first?["oobCode"] == "long")
        server.script(
            "/concord/v1/emailCode:disown",
            ["email": "ada@example.com", "suspended": [], "gaveAddressUp": true]
        )
        #expect(try await auth.disownAccount(withCode: "code").gaveAddressUp)
        server.script("/concord/v1/about", ["version": "1.0.0", "api": 2, "features": ["conflict", "of-tomorrow"]])
        let info = try await auth.serverInfo()
        #expect(info.api == 2 && info.has(.conflict) && !info.has(.merge))
        server.script(
            "/concord/v1/reauthentication-policy",
            ["operations": [["operation": "delete-account", "maxAge": 300, "exemptions": ["anonymous"]]]]
        )
        #expect(try await auth.reauthenticationRules().first?.maxAge == 300)
        server.script(
            "/concord/v1/signIn",
            [
                "apiKey": "key", "methods": [["method": "oidc.acme", "displayName": "Acme"]],
                "signUp": ["allowed": true, "requires": "mailbox"],
            ]
        )
        #expect(try await auth.signInOptions().methods.first?.displayName == "Acme")
        server.script(
            "/concord/v1/decisions/d",
            ["decisionId": "d", "decisionTime": "2026-01-05T09:00:00.000Z", "outcome": "conflict"]
        )
        #expect(try await auth.decision("d").outcome == "conflict")
    }
}
