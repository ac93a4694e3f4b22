import Foundation
import Testing

@testable import ConcordAuth

/// Conflicts in the session store.
struct PendingConflictTests {
    private func conflict(
        _ handle: String = "handle-1",
        server: String = "https://id.example.com",
        project: String = FakeConcord.projectID,
        receiveTime: Date = Date()
    ) throws -> AuthConflict {
        AuthConflict(
            kind: .accountExists,
            providerID: "github.com",
            email: "ada@example.com",
            handle: handle,
            server: try #require(URL(string: server)),
            projectID: project,
            receiveTime: receiveTime
        )
    }

    private func store(_ conflicts: [AuthConflict]) throws -> InMemorySessionStore {
        let store = InMemorySessionStore()
        for conflict in conflicts {
            let scope = AuthConfiguration.scope(server: conflict.server, projectID: conflict.projectID)
            _ = try StateKeeper(store, scope: scope).change { $0.conflicts.append(conflict) }
        }
        return store
    }

    @Test("conflicts of other servers and projects are ignored, and stay for their own clients")
    func foreignConflicts() async throws {
        let conflicts = [
            try conflict("own"), try conflict("other-server", server: "https://other.example.com"),
            try conflict("other-project", project: "other"),
            try conflict("same-place", server: "https://ID.example.com/"),
        ]
        let store = try store(conflicts)
        let fake = FakeConcord()
        let auth = try fake.auth(store)
        #expect(try auth.pendingConflicts().map(\.id) == [conflicts[3].id, conflicts[0].id])
        #expect(try fake.auth(store, project: "other").pendingConflicts().map(\.id) == [conflicts[2].id])
        for foreign in conflicts[1...2] {
            await expect(.conflictUnknown) { try await foreign.read(in: auth) }
            await expect(.conflictUnknown) { try await foreign.resolve(in: auth) }
            await expect(.conflictUnknown) { try await foreign.decline(in: auth) }
        }
        #expect(fake.requests.isEmpty)
        #expect(try store.read()?.conflicts.count == 2)
        #expect(try store.read()?.others.map(\.conflicts.count) == [1, 1])
    }

    @Test("expired conflicts are removed from the store")
    func expiredConflicts() throws {
        let now = Date()
        var known = try conflict("known")
        known.expireTime = now.addingTimeInterval(-1)
        var later = try conflict("later", receiveTime: now.addingTimeInterval(-86_400))
        later.expireTime = now.addingTimeInterval(60)
        let unknown = try conflict("unknown", receiveTime: now.addingTimeInterval(-AuthConflict.lifetimeMax))
        let store = try store([known, later, unknown])
        #expect(try FakeConcord().auth(store, now: { now }).pendingConflicts().map(\.id) == [later.id])
        #expect(try store.read()?.conflicts.map(\.id) == [later.id])
    }

    @Test("the store has the newest 8 conflicts")
    func limit() async throws {
        let store = InMemorySessionStore()
        let server = FakeConcord()
        for number in 1...10 {
            server.state.with { $0.handle = "handle-\(number)" }
            let auth = try server.auth(store)
            await expect(.accountExistsWithDifferentCredential) {
                try await auth.signIn(with: GitHubAuthProvider.credential(withToken: "token"))
            }
        }
        let handles = try server.auth(store).pendingConflicts().map(\.handle.text)
        #expect(handles == (3...10).reversed().map { "handle-\($0)" })
    }

    @Test("two processes that store and settle conflicts at once lose none")
    func races() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("state.json")
        let server = FakeConcord()
        let processes = try [0, 1].map { _ in try server.auth(FileSessionStore(file: file)) }
        let ended = try (0..<32).map { try conflict("ended-\($0)") }
        let open = try (0..<4).map { try conflict("open-\($0)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, conflict) in (ended.prefix(16) + open + ended.suffix(16)).enumerated() {
                group.addTask {
                    let auth = processes[number % 2]
                    if open.contains(conflict) { return try auth.replace(conflict) }
                    // Never more than the store holds: the two processes settle what they store.
                    _ = try auth.keeper.change { state in
                        state.conflicts.append(conflict)
                        state.conflicts.removeAll { $0.id == conflict.id }
                    }
                    try auth.forget(conflict)
                }
            }
            try await group.waitForAll()
        }
        #expect(try Set(processes[0].pendingConflicts()) == Set(open))
        #expect(try processes[1].pendingConflicts() == processes[0].pendingConflicts())
    }

    @Test("a conflict of a later kind can be read and settled")
    func laterKind() throws {
        let text = try JSONEncoder().encode(conflict())
        let changed = String(decoding: text, as: UTF8.self)
            .replacingOccurrences(of: "account-exists-with-different-credential", with: "of-tomorrow")
        let decoded = try JSONDecoder().decode(AuthConflict.self, from: Data(changed.utf8))
        #expect(decoded.kind == .unknown)
        #expect(decoded.handle.text == "handle-1")
    }

    @Test("no description shows a handle, a proof or a secret")
    func descriptions() async throws {
        var conflict = try conflict("SECRET-handle")
        conflict.proof = ConflictProof(
            suspended: [],
            replaced: [],
            signInMethods: [],
            accountExists: true,
            expireTime: nil,
            token: Secret("SECRET-proof")
        )
        var error = AuthError(.accountExistsWithDifferentCredential, "text")
        error.conflict = conflict
        error.updatedCredential = conflict.credential
        let link = try #require(URL(string: "https://id.example.com/signin#signUp=SECRET-a&proof=SECRET-b"))
        let answer =
            #"{"email":"a","methods":[],"signsIn":true,"offersPassword":true,"expireTime":0,"#
            + #""proofToken":"SECRET-c"}"#
        let lookup = try JSONDecoder().decode(ProvenLookup.self, from: Data(answer.utf8))
        var first = AuthError(.asksFirst, "text")
        first.updatedCredential = conflict.credential
        let redirect = PendingRedirect(
            scope: "",
            operation: "signIn",
            eventID: "",
            sessionSecret: Secret("SECRET-d"),
            providerID: nil,
            uid: nil,
            startTime: Date(),
            callback: nil,
            answer: Secret("SECRET-e")
        )
        let text = UnfinishedPhoneVerification(verificationID: "SECRET-f", phoneNumber: "SECRET-g", requestTime: Date())
        let push = PushCredential(scope: "", receipt: Secret("SECRET-h"), secret: Secret("SECRET-i"))
        let values: [Any?] = [
            conflict, conflict.proof, error, PendingSignUp(link: link), lookup, first.firstSignIn, redirect, text, push,
            StoredState(), conflict.credential, [conflict],
        ]
        for value in values {
            let value = try #require(value)
            var dumped = ""
            dump(value, to: &dumped)
            for shown in ["\(value)", String(reflecting: value), String(describing: value), dumped] {
                #expect(!shown.contains("SECRET"), "\(type(of: value))")
            }
        }
    }
}
