import Foundation
import Testing

@testable import ConcordAuth

/// A disk that is full when the tokens arrive.
@Suite struct UnwritableStoreTests {
    private final class FullDisk: SessionStore {
        let inner = InMemorySessionStore()
        let isFull = Locked(true)

        func read() throws -> StoredState? { try inner.read() }

        func replace(_ expected: StoredState.Version?, with state: StoredState) throws -> Bool {
            if isFull.with({ $0 }) { throw SessionStoreError.unavailable("no space left on device") }
            return try inner.replace(expected, with: state)
        }

        func discard() throws { try inner.discard() }
    }

    @Test func theUserOfASignInIsSignedInUntilTheProcessEnds() async throws {
        let disk = FullDisk()
        let rig = Rig(store: disk)
        rig.playServer()
        let auth = try rig.auth()
        #expect(auth.storeFailure == nil)
        let error = await failure { try await auth.signIn(withEmail: "ada@example.com", password: "correct horse") }
        #expect(error?.code == .storeNotWritable)
        #expect(auth.storeFailure?.code == .storeNotWritable)
        let user = try #require(auth.currentUser)
        #expect(user.email == "ada@example.com")
        _ = try await user.getIDToken()
        let new = try await user.getIDToken(forcingRefresh: true)
        #expect(try await user.getIDToken() == new)
        #expect(try rig.auth().currentUser == nil, "a new process has nothing")
        disk.isFull.with { $0 = false }
        _ = try await user.getIDToken(forcingRefresh: true)
        #expect(auth.storeFailure == nil)
        #expect(try rig.auth().currentUser?.uid == "ada", "the next change stores everything")
    }

    @Test func theTokensOfAChangeAreUsedUntilTheProcessEnds() async throws {
        let disk = FullDisk()
        disk.isFull.with { $0 = false }
        let rig = Rig(store: disk)
        rig.playServer()
        let auth = try rig.auth()
        let user = try await auth.signIn(withEmail: "ada@example.com", password: "correct horse").user
        disk.isFull.with { $0 = true }
        let new = JSONValue.idToken("ada")
        rig.transport.on(Rig.update, 200, .tokens("ada", idToken: new))
        #expect(await failure { try await user.updatePassword(to: "battery staple") }?.code == .storeNotWritable)
        #expect(try await user.getIDToken() == new)
        #expect(auth.currentUser === user)
    }

    @Test func aSignOutEndsTheSessionInThisProcess() async throws {
        let disk = FullDisk()
        disk.isFull.with { $0 = false }
        let rig = Rig(store: disk)
        rig.playServer()
        let auth = try rig.auth()
        try await auth.signIn(withEmail: "ada@example.com", password: "correct horse")
        disk.isFull.with { $0 = true }
        #expect(await failure { try auth.signOut() }?.code == .storeNotWritable)
        #expect(auth.currentUser == nil)
        disk.isFull.with { $0 = false }
        try auth.signOut()
        #expect(try rig.auth().currentUser == nil)
    }

    @Test func theStateOfAnotherProcessCounts() async throws {
        let disk = FullDisk()
        let rig = Rig(store: disk)
        rig.playServer()
        let auth = try rig.auth()
        _ = await failure { try await auth.signIn(withEmail: "ada@example.com", password: "correct horse") }
        disk.isFull.with { $0 = false }
        try await rig.auth().signIn(withEmail: "bob@example.com", password: "correct horse")
        #expect(auth.currentUser?.uid == "bob")
        #expect(auth.storeFailure == nil)
    }
}
