import Foundation
import Testing

@testable import ConcordAuth

/// Changes, refreshes, sign-outs and refusals that meet.
@Suite struct SessionRaceTests {
    private func signedIn(_ rig: Rig) async throws -> (auth: Auth, user: User) {
        rig.playServer()
        let auth = try rig.auth()
        return (auth, try await auth.signIn(withEmail: "ada@example.com", password: "correct horse").user)
    }

    @Test(arguments: [Rig.update, "/v2/accounts/mfaEnrollment:finalize"])
    func aRefreshDuringAChangeThatEndsTokensWaits(_ path: String) async throws {
        let rig = Rig()
        let (auth, user) = try await signedIn(rig)
        let new = JSONValue.idToken("ada")
        let gate = Promise<Bool>()
        let isChanged = Locked(false)
        rig.transport.on(path) { _ in
            // The server has ended the old tokens, and the answer is on its way.
            isChanged.with { $0 = true }
            _ = try await gate.value()
            return .json(200, .tokens("ada", idToken: new))
        }
        let old = try #require(try rig.store.read()?.session?.refreshToken.text)
        rig.transport.on(Rig.token) { request in
            request.form["refresh_token"] == old && isChanged.with({ $0 })
                ? .error("TOKEN_EXPIRED") : .json(200, .refreshed("ada"))
        }
        let change = Task {
            if path == Rig.update { return try await user.updatePassword(to: "battery staple") }
            let credential = PhoneAuthProvider.provider(auth: auth).credential(
                withVerificationID: "v",
                verificationCode: "1"
            )
            let assertion = PhoneMultiFactorGenerator.assertion(with: credential)
            try await user.multiFactor.enroll(with: assertion, displayName: nil)
        }
        try await eventually { rig.transport.count(path) == 1 }
        let refresh = Task { try await user.getIDToken(forcingRefresh: true) }
        try await Task.sleep(nanoseconds: 50_000_000)
        gate.settle(.success(true))
        try await change.value
        _ = try await refresh.value
        #expect(auth.currentUser === user)
        #expect(try rig.store.read()?.session?.refreshToken.text != old)
    }

    @Test func aChangeReopensTheSessionThatARefreshOfAnotherProcessEnded() async throws {
        let rig = Rig()
        let (auth, user) = try await signedIn(rig)
        let other = try #require(try rig.auth().currentUser)
        let new = JSONValue.idToken("ada")
        rig.transport.on(Rig.token) { _ in .error("TOKEN_EXPIRED") }
        rig.transport.on(Rig.update) { _ in
            _ = try? await other.getIDToken(forcingRefresh: true)
            return .json(200, .tokens("ada", idToken: new))
        }
        try await user.updatePassword(to: "battery staple")
        #expect(other.isCurrent)
        #expect(auth.currentUser === user)
        #expect(try await user.getIDToken() == new)
    }

    @Test func aSignOutDuringAChangeWins() async throws {
        let rig = Rig()
        let (auth, user) = try await signedIn(rig)
        rig.transport.on(Rig.update) { _ in
            try auth.signOut()
            return .json(200, .tokens("ada"))
        }
        #expect(await failure { try await user.updatePassword(to: "battery staple") }?.code == .nullUser)
        #expect(auth.currentUser == nil)
    }

    @Test(arguments: [true, false])
    func aSignOutDuringASignInWins(_ byAnotherProcess: Bool) async throws {
        let rig = Rig()
        rig.playServer()
        let auth = try rig.auth()
        let leaver = byAnotherProcess ? try rig.auth() : auth
        rig.transport.on(Rig.password) { _ in
            try leaver.signOut()
            return .json(200, .tokens("ada"))
        }
        let error = await failure { try await auth.signIn(withEmail: "ada@example.com", password: "correct horse") }
        #expect(error?.code == .nullUser)
        #expect(auth.currentUser == nil)
        #expect(try rig.store.read()?.session == nil)
        rig.playServer()
        try await auth.signIn(withEmail: "ada@example.com", password: "correct horse")
        #expect(auth.currentUser?.uid == "ada", "a sign-in that began after the sign-out signs in")
    }

    @Test func aRefusalThatIsAboutAnotherAccountKeepsTheSession() async throws {
        let rig = Rig()
        let (auth, user) = try await signedIn(rig)
        let link = "https://id.example.com/__/auth/action?mode=signIn&oobCode=code-1&apiKey=key"
        for message in ["USER_DISABLED", "USER_NOT_FOUND"] {
            rig.transport.on(Rig.emailLink) { _ in .error(message) }
            let credential = EmailAuthProvider.credential(withEmail: "bob@example.com", link: link)
            #expect(await failure { try await user.link(with: credential) }?.serverCode == message)
            #expect(auth.currentUser === user)
        }
        rig.transport.on(Rig.lookup) { _ in .error("USER_DISABLED") }
        #expect(await failure { try await user.reload() }?.code == .userDisabled)
        #expect(auth.currentUser == nil, "a lookup is about the session's own account")
    }

    @Test func aRefreshedTokenThatOneServerRefusesKeepsTheSession() async throws {
        let rig = Rig()
        let (auth, user) = try await signedIn(rig)
        for path in [Rig.lookup, Rig.update] {
            rig.transport.on(path) { _ in .error("INVALID_ID_TOKEN") }
            let error = await failure {
                if path == Rig.lookup { try await user.reload() } else { try await user.updatePassword(to: "new") }
            }
            #expect(error?.serverCode == "INVALID_ID_TOKEN")
            #expect(auth.currentUser === user)
        }
        #expect(rig.transport.count(Rig.token) == 2)
    }

    @Test func anOlderLookupDoesNotReplaceANewerChange() async throws {
        let rig = Rig()
        let (_, user) = try await signedIn(rig)
        let gate = Promise<Bool>()
        let isFirst = Locked(true)
        rig.transport.on(Rig.lookup) { _ in
            guard
                isFirst.with({ isFirst in
                    defer { isFirst = false }
                    return isFirst
                })
            else {
                return .json(200, .account("ada", ["displayName": "New"]))
            }
            _ = try await gate.value()
            return .json(200, .account("ada", ["displayName": "Old"]))
        }
        let before = rig.transport.count(Rig.lookup)
        let reload = Task { try await user.reload() }
        try await eventually { rig.transport.count(Rig.lookup) == before + 1 }
        rig.transport.on(Rig.update, 200, ["localId": "ada", "displayName": "New", "providerUserInfo": []])
        let request = user.createProfileChangeRequest()
        request.displayName = "New"
        try await request.commitChanges()
        gate.settle(.success(true))
        try await reload.value
        #expect(user.displayName == "New")
        #expect(try rig.store.read()?.session?.user.displayName == "New")
    }

    @Test func theAnswerOfAnOlderLookupDoesNotReplaceThatOfALaterOne() async throws {
        let rig = Rig()
        let (_, user) = try await signedIn(rig)
        let gate = Promise<Bool>()
        rig.transport.on(Rig.lookup) { _ in
            _ = try await gate.value()
            return .json(200, .account("ada", ["displayName": "Old"]))
        }
        let before = rig.transport.count(Rig.lookup)
        let older = Task { try await user.reload() }
        try await eventually { rig.transport.count(Rig.lookup) == before + 1 }
        rig.transport.on(Rig.lookup, 200, .account("ada", ["displayName": "New"]))
        try await user.reload()
        gate.settle(.success(true))
        try await older.value
        #expect(user.displayName == "New")
    }
}
