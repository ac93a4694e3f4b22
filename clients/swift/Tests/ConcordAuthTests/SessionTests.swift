import Foundation
import Testing

@testable import ConcordAuth

@Suite struct SessionTests {
    @Test func sixtyFourSignInsAtOnceLeaveOneConsistentSession() async throws {
        let directory = TemporaryDirectory()
        let rig = Rig(store: FileSessionStore(file: directory.file))
        rig.playServer()
        // Eight processes, each with its own store object over the file.
        let clients = try (0..<8).map { _ in
            let process = Rig(store: FileSessionStore(file: directory.file))
            process.playServer()
            return try process.auth()
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask {
                    let result = try await clients[number % 8]
                        .signIn(withEmail: "user\(number)@example.com", password: "correct horse")
                    #expect(result.user.uid == "user\(number)")
                }
            }
            try await group.waitForAll()
        }
        let session = try #require(try FileSessionStore(file: directory.file).read()?.session)
        let uid = session.user.uid
        #expect(try IDToken(session.idToken.text).uid == uid)
        #expect(session.refreshToken.text.hasPrefix("refresh-\(uid)-"))
        #expect(session.user.email == "\(uid)@example.com")
        for client in clients { #expect(client.currentUser?.uid == uid) }
    }

    @Test func aNewProcessFindsTheSession() async throws {
        let directory = TemporaryDirectory()
        let rig = Rig(store: FileSessionStore(file: directory.file))
        rig.playServer()
        try await rig.auth().signIn(withEmail: "ada@example.com", password: "correct horse")
        let user = try #require(try Rig(store: FileSessionStore(file: directory.file)).auth().currentUser)
        #expect(user.uid == "ada")
        #expect(user.email == "ada@example.com")
        #expect(user.isEmailVerified)
        #expect(user.providerData.map(\.providerID) == ["password"])
    }

    @Test func aSessionOfAnotherServerIsNotUsed() async throws {
        let rig = Rig()
        rig.playServer()
        try await rig.auth().signIn(withEmail: "ada@example.com", password: "correct horse")
        var configuration = try rig.auth().configuration
        configuration.server = try #require(URL(string: "https://other.example.com"))
        let other = try Auth(configuration: configuration)
        #expect(other.currentUser == nil)
        #expect(try rig.auth().currentUser?.uid == "ada")
    }

    @Test func tokensArriveBeforeTheAccountIsLoaded() async throws {
        let rig = Rig()
        rig.playServer()
        rig.transport.on(Rig.lookup) { _ in throw URLError(.networkConnectionLost) }
        let result = try await rig.auth().signIn(withEmail: "ada@example.com", password: "correct horse")
        #expect(result.user.uid == "ada")
        #expect(try rig.auth().currentUser?.uid == "ada")
    }

    @Test func theUserObjectShowsChanges() async throws {
        let rig = Rig()
        rig.playServer()
        let auth = try rig.auth()
        let user = try await auth.signIn(withEmail: "ada@example.com", password: "correct horse").user
        #expect(auth.currentUser === user)
        rig.transport.on(Rig.update, 200, ["localId": "ada"])
        rig.transport.on(Rig.lookup, 200, .account("ada", ["displayName": "Ada"]))
        let request = user.createProfileChangeRequest()
        request.displayName = "Ada"
        request.photoURL = nil
        try await request.commitChanges()
        let sent = try #require(rig.transport.requests.last { $0.url.path == Rig.update }?.json)
        #expect(sent["displayName"] == "Ada")
        #expect(sent["deleteAttribute"] == ["PHOTO_URL"])
        #expect(user.displayName == "Ada")
        #expect(auth.currentUser === user)
    }

    @Test func aNewPasswordKeepsTheSessionWithItsNewTokens() async throws {
        let rig = Rig()
        rig.playServer()
        let auth = try rig.auth()
        let user = try await auth.signIn(withEmail: "ada@example.com", password: "correct horse").user
        let new = JSONValue.idToken("ada")
        rig.transport.on(Rig.update, 200, .tokens("ada", idToken: new))
        try await user.updatePassword(to: "battery staple")
        #expect(try await user.getIDToken() == new)
        #expect(auth.currentUser === user)
    }

    @Test func aRevokedSessionSignsOut() async throws {
        let rig = Rig()
        rig.playServer()
        let auth = try rig.auth()
        let user = try await auth.signIn(withEmail: "ada@example.com", password: "correct horse").user
        rig.transport.on(Rig.lookup) { _ in .error("TOKEN_EXPIRED") }
        rig.transport.on(Rig.token) { _ in .error("TOKEN_EXPIRED") }
        #expect(await failure { try await user.reload() }?.code == .userTokenExpired)
        #expect(auth.currentUser == nil)
    }

    @Test func aTokenThatTheServerRefusesIsRefreshedOnce() async throws {
        let rig = Rig()
        rig.playServer()
        let auth = try rig.auth()
        let user = try await auth.signIn(withEmail: "ada@example.com", password: "correct horse").user
        let old = try await user.getIDToken()
        rig.transport.on(Rig.lookup) { request in
            request.json["idToken"]?.stringValue == old ? .error("TOKEN_EXPIRED") : .json(200, .account("ada"))
        }
        try await user.reload()
        #expect(auth.currentUser === user)
        #expect(rig.transport.count(Rig.token) == 1)
    }

    @Test func aReauthenticationWithAnotherAccountChangesNothing() async throws {
        let rig = Rig()
        rig.playServer()
        let auth = try rig.auth()
        let user = try await auth.signIn(withEmail: "ada@example.com", password: "correct horse").user
        let before = try rig.store.read()
        let bob = EmailAuthProvider.credential(withEmail: "bob@example.com", password: "correct horse")
        #expect(await failure { try await user.reauthenticate(with: bob) }?.code == .userMismatch)
        #expect(try rig.store.read() == before)
        let ada = EmailAuthProvider.credential(withEmail: "ada@example.com", password: "correct horse")
        let result = try await user.reauthenticate(with: ada)
        #expect(result.user === user)
        #expect(auth.currentUser === user)
    }

    @Test func listenersSeeSessionsBeginAndEnd() async throws {
        let rig = Rig()
        rig.playServer()
        let auth = try rig.auth()
        var states = auth.authStateChanges.makeAsyncIterator()
        #expect(await states.next() == .some(nil))
        try await auth.signIn(withEmail: "ada@example.com", password: "correct horse")
        #expect(await states.next()??.uid == "ada")
        try auth.signOut()
        #expect(await states.next() == .some(nil))
    }

    @Test func listenersSeeNewTokens() async throws {
        let rig = Rig()
        rig.playServer()
        let auth = try rig.auth()
        let user = try await auth.signIn(withEmail: "ada@example.com", password: "correct horse").user
        var tokens = auth.idTokenChanges.makeAsyncIterator()
        #expect(await tokens.next()??.uid == "ada")
        _ = try await user.getIDToken(forcingRefresh: true)
        #expect(await tokens.next()??.uid == "ada")
    }

    @Test func aDeletedAccountIsSignedOut() async throws {
        let rig = Rig()
        rig.playServer()
        let auth = try rig.auth()
        let user = try await auth.signIn(withEmail: "ada@example.com", password: "correct horse").user
        rig.transport.on("/v1/accounts:delete") { _ in .error("CREDENTIAL_TOO_OLD_LOGIN_AGAIN") }
        #expect(await failure { try await user.delete() }?.code == .requiresRecentLogin)
        #expect(auth.currentUser === user)
        rig.transport.on("/v1/accounts:delete", 200, ["kind": "identitytoolkit#DeleteAccountResponse"])
        try await user.delete()
        #expect(auth.currentUser == nil)
    }
}
