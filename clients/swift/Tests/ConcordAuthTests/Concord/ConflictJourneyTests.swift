import Foundation
import Testing

@testable import ConcordAuth

/// Journeys that settle a conflict, in an app that loses power at every request.
struct ConflictJourneyTests {
    private static let github = GitHubAuthProvider.credential(withToken: "github-token")
    private static let password = EmailAuthProvider.credential(withEmail: "ada@example.com", password: "correct horse")

    @Test("a conflict is in the store before its error is thrown")
    func conflictIsStored() async throws {
        let server = FakeConcord()
        let store = InMemorySessionStore()
        let error = await #expect(throws: AuthError.self) {
            try await server.auth(store).signIn(with: Self.github)
        }
        #expect(error?.code == .accountExistsWithDifferentCredential)
        #expect(error?.email == "ada@example.com")
        #expect(error?.updatedCredential?.pendingToken == Secret("handle-1"))
        let conflict = try #require(error?.conflict)
        #expect(try server.auth(store).pendingConflicts() == [conflict])
        #expect(conflict.kind == .accountExists)
        #expect(conflict.providerID == "github.com")
    }

    /// The steps of an app, from its launch. It continues where an earlier process ended.
    private func launch(_ auth: Auth, settlesWithPassword: Bool = false) async throws {
        if let conflict = try auth.pendingConflicts().first {
            if settlesWithPassword {
                if let user = auth.currentUser {
                    try await conflict.link(to: user)
                } else {
                    try await conflict.settle(with: Self.password, in: auth)
                }
                return
            }
            if conflict.proof == nil {
                try await conflict.startProof(in: auth)
                try await conflict.prove(code: FakeConcord.code, in: auth)
            }
            try await conflict.resolve(in: auth)
            return
        }
        guard auth.currentUser == nil else { return }
        do {
            try await auth.signIn(with: Self.github)
        } catch {
            guard error.code == .accountExistsWithDifferentCredential else { throw error }
            try await launch(auth, settlesWithPassword: settlesWithPassword)
        }
    }

    @Test(
        "an app that loses power at any request settles its conflict on the next launch",
        arguments: ["proof", "password", "unproven address", "new account"]
    )
    func killedApp(journey: String) async throws {
        let settlesWithPassword = journey == "password"
        func server() -> FakeConcord {
            let server = FakeConcord()
            server.state.with { state in
                state.confirmsAddresses = journey == "unproven address" || journey == "new account"
                state.hasAccount = journey != "new account"
            }
            return server
        }
        let whole = server()
        try await launch(whole.auth(InMemorySessionStore()), settlesWithPassword: settlesWithPassword)
        let requests = whole.requests.count
        try #require(requests >= 3)
        for number in 1...requests {
            for end in [FakeConcord.Process.End.before(number), .after(number)] {
                let server = server()
                let store = InMemorySessionStore()
                try? await launch(server.auth(store, end), settlesWithPassword: settlesWithPassword)
                let next = try server.auth(store)
                try await launch(next, settlesWithPassword: settlesWithPassword)
                #expect(next.currentUser?.uid == "ada", "\(journey), \(end)")
                #expect(try next.pendingConflicts().isEmpty, "\(journey), \(end)")
                #expect(server.state.with { $0.links } == 1, "\(journey), \(end)")
            }
        }
    }

    @Test("a lost answer to a link is a success if the account has the provider")
    func lostLink() async throws {
        let server = FakeConcord()
        let store = InMemorySessionStore()
        let auth = try server.auth(store)
        let error = await #expect(throws: AuthError.self) { try await auth.signIn(with: Self.github) }
        let conflict = try #require(error?.conflict)
        let user = try await auth.signIn(with: Self.password).user
        server.state.with { $0.isLinked = true }
        let result = try await conflict.link(to: user)
        #expect(result.user.providerData.map(\.providerID) == ["password", "github.com"])
        #expect(try auth.pendingConflicts().isEmpty)
    }

    @Test("the sign-in settles a proven conflict, and the link after it is a success")
    func settledBySignIn() async throws {
        let server = FakeConcord()
        let store = InMemorySessionStore()
        let auth = try server.auth(store)
        let error = await expect(.accountExistsWithDifferentCredential) { try await auth.signIn(with: Self.github) }
        let conflict = try #require(error?.conflict)
        try await conflict.prove(code: FakeConcord.code, in: auth)
        let result = try await conflict.settle(with: Self.password, in: auth)
        #expect(result.user.providerData.map(\.providerID) == ["password", "github.com"])
        #expect(try auth.pendingConflicts().isEmpty)
        #expect(server.state.with { $0.links } == 1)
    }

    @Test("a conflict that ended unsettled is no success, also if the account has another identity of the provider")
    func endedUnsettled() async throws {
        let server = FakeConcord()
        let auth = try server.auth(InMemorySessionStore())
        let error = await expect(.accountExistsWithDifferentCredential) { try await auth.signIn(with: Self.github) }
        let conflict = try #require(error?.conflict)
        let user = try await auth.signIn(with: Self.password).user
        server.state.with { $0.isLinked = true }
        server.script("/concord/v1/conflict", problem: "conflict-expired", status: 410)
        await expect(.invalidCredential) { try await conflict.link(to: user) }
        #expect(try auth.pendingConflicts().isEmpty)
    }

    @Test("the proof says what it suspends, and is stored")
    func proofIsStored() async throws {
        let server = FakeConcord()
        let store = InMemorySessionStore()
        let auth = try server.auth(store)
        let error = await #expect(throws: AuthError.self) { try await auth.signIn(with: Self.github) }
        let conflict = try #require(error?.conflict)
        try await conflict.startProof(in: auth)
        let proof = try await conflict.prove(code: FakeConcord.code, in: auth)
        #expect(proof.suspended.map(\.method) == ["password"])
        #expect(proof.suspended.first?.restoration == .password)
        let stored = try #require(try server.auth(store).pendingConflicts().first)
        #expect(stored.proof == proof)
        #expect(stored.expireTime != nil)
    }

    @Test("a wrong code leaves the conflict, and a closed conflict leaves the store")
    func endedConflict() async throws {
        let server = FakeConcord()
        let auth = try server.auth(InMemorySessionStore())
        let error = await #expect(throws: AuthError.self) { try await auth.signIn(with: Self.github) }
        let conflict = try #require(error?.conflict)
        await expect(.wrongProof) { try await conflict.prove(code: "00000000", in: auth) }
        #expect(try auth.pendingConflicts().count == 1)
        server.state.with { $0.isDeclined = true }
        await expect(.conflictClosed) { try await conflict.startProof(in: auth) }
        #expect(try auth.pendingConflicts().isEmpty)
    }

    @Test("a declined conflict leaves the store")
    func decline() async throws {
        let server = FakeConcord()
        let auth = try server.auth(InMemorySessionStore())
        let error = await #expect(throws: AuthError.self) { try await auth.signIn(with: Self.github) }
        try await #require(error?.conflict).decline(in: auth)
        #expect(try auth.pendingConflicts().isEmpty)
        #expect(server.state.with { $0.isDeclined })
    }

    @Test("a conflict without a proof cannot be resolved, and nothing is sent")
    func noProof() async throws {
        let server = FakeConcord()
        let auth = try server.auth(InMemorySessionStore())
        let error = await #expect(throws: AuthError.self) { try await auth.signIn(with: Self.github) }
        let conflict = try #require(error?.conflict)
        let sent = server.requests.count
        await expect(.proofRequired) { try await conflict.resolve(in: auth) }
        #expect(server.requests.count == sent)
    }

    @Test(
        "a proof that has expired leaves the store, and the conflict stays",
        arguments: ["proof-expired", "proof-stale"]
    )
    func expiredProof(problem: String) async throws {
        let server = FakeConcord()
        let auth = try server.auth(InMemorySessionStore())
        let error = await expect(.accountExistsWithDifferentCredential) { try await auth.signIn(with: Self.github) }
        let conflict = try #require(error?.conflict)
        try await conflict.prove(code: FakeConcord.code, in: auth)
        server.script("/concord/v1/conflict:resolve", problem: problem, status: 409)
        _ = try? await conflict.resolve(in: auth)
        #expect(try auth.pendingConflicts().map(\.proof) == [nil])
        await expect(.proofRequired) { try await conflict.resolve(in: auth) }
    }

    @Test("a session of the account proves a conflict")
    func sessionProof() async throws {
        let server = FakeConcord()
        let store = InMemorySessionStore()
        let auth = try server.auth(store)
        let error = await expect(.accountExistsWithDifferentCredential) { try await auth.signIn(with: Self.github) }
        let conflict = try #require(error?.conflict)
        let user = try await auth.signIn(with: Self.password).user
        server.script(
            "/concord/v1/conflict/proof",
            [
                "proofToken": "session-proof",
                "conflict": [
                    "state": "proven", "kind": "account-exists-with-different-credential", "providerId": "github.com",
                    "openTime": "2026-01-05T09:00:00.000Z", "expireTime": "2030-01-01T00:00:00.000Z",
                ],
            ]
        )
        try await conflict.prove(with: user, in: auth)
        #expect(try server.auth(store).pendingConflicts().first?.proof?.token == Secret("session-proof"))
        let body = try #require(server.bodies("/concord/v1/conflict/proof").last)
        #expect(body["kind"] == "session" && body["idToken"]?.stringValue?.isEmpty == false)
    }
}
