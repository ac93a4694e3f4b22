import Foundation
import Testing

@testable import ConcordAuth

@Suite struct TokenRefreshTests {
    /// A client over a store whose session has an expired token.
    private func expired(_ rig: Rig) async throws -> (auth: Auth, user: User) {
        rig.playServer()
        try await rig.auth().signIn(withEmail: "ada@example.com", password: "correct horse")
        rig.advance(3_500)
        let auth = try rig.auth()
        return (auth, try #require(auth.currentUser))
    }

    @Test func oneThousandTasksCauseOneRefresh() async throws {
        let rig = Rig()
        let (_, user) = try await expired(rig)
        rig.transport.on(Rig.token) { _ in
            try await Task.sleep(nanoseconds: 50_000_000)
            return .json(200, .refreshed("ada"))
        }
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<1_000 { group.addTask { try await user.getIDToken() } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(tokens.count == 1)
        #expect(rig.transport.count(Rig.token) == 1)
        #expect(rig.transport.withoutDeadline == 0)
    }

    @Test func oneThousandForcedRefreshesAreOneToo() async throws {
        let rig = Rig()
        let (_, user) = try await expired(rig)
        let callers = Locked(0)
        rig.transport.on(Rig.token) { _ in
            try await eventually { callers.with { $0 } == 1_000 }
            // The last caller has counted itself, and is about to wait.
            try await Task.sleep(nanoseconds: 200_000_000)
            return .json(200, .refreshed("ada"))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<1_000 {
                group.addTask {
                    callers.with { $0 += 1 }
                    _ = try await user.getIDToken(forcingRefresh: true)
                }
            }
            try await group.waitForAll()
        }
        #expect(rig.transport.count(Rig.token) <= 2)
    }

    @Test func aForcedRefreshDoesNotJoinOneThatWasSentBefore() async throws {
        let rig = Rig()
        let (_, user) = try await expired(rig)
        let gate = Promise<Bool>()
        let tokens = Locked<[String]>([])
        rig.transport.on(Rig.token) { _ in
            let answer = JSONValue.refreshed("ada")
            tokens.with { $0.append(answer["id_token"]?.stringValue ?? "") }
            _ = try await gate.value()
            return .json(200, answer)
        }
        let first = Task { try await user.getIDToken() }
        try await eventually { rig.transport.count(Rig.token) == 1 }
        // The account gets new claims here.
        let callers = Locked(0)
        let forced = (0..<100).map { _ in
            Task {
                callers.with { $0 += 1 }
                return try await user.getIDToken(forcingRefresh: true)
            }
        }
        try await eventually { callers.with { $0 } == 100 }
        try await Task.sleep(nanoseconds: 200_000_000)
        gate.settle(.success(true))
        _ = try await first.value
        for task in forced { #expect(try await task.value == tokens.with { $0.dropFirst().first }) }
        #expect(rig.transport.count(Rig.token) == 2)
    }

    @Test func aForcedRefreshDoesNotTakeTheTokenOfAnotherProcess() async throws {
        let rig = Rig()
        let (_, user) = try await expired(rig)
        let other = try await rig.auth().currentUser?.getIDToken()
        #expect(try await user.getIDToken(forcingRefresh: true) != other)
        #expect(rig.transport.count(Rig.token) == 2)
    }

    @Test func aFreshTokenIsNotRefreshed() async throws {
        let rig = Rig()
        rig.playServer()
        let user = try await rig.auth().signIn(withEmail: "ada@example.com", password: "correct horse").user
        let first = try await user.getIDToken()
        #expect(try await user.getIDToken() == first)
        #expect(rig.transport.count(Rig.token) == 0)
    }

    @Test func aTokenIsRefreshedFiveMinutesEarly() async throws {
        let rig = Rig()
        rig.playServer()
        try await rig.auth().signIn(withEmail: "ada@example.com", password: "correct horse")
        rig.advance(3_299)
        _ = try await rig.auth().currentUser?.getIDToken()
        #expect(rig.transport.count(Rig.token) == 0)
        rig.advance(2)
        _ = try await rig.auth().currentUser?.getIDToken()
        #expect(rig.transport.count(Rig.token) == 1)
    }

    @Test func theServersClockCountsIfThisMachinesIsWrong() async throws {
        let rig = Rig()
        rig.playServer()
        // The token expires 400 seconds after the answer, by the server's clock.
        rig.transport.on(Rig.password) { _ in
            .json(200, .tokens("ada"), headers: ["Date": "Fri, 15 Jan 2027 08:53:20 GMT"])
        }
        try await rig.auth().signIn(withEmail: "ada@example.com", password: "correct horse")
        rig.advance(99)
        _ = try await rig.auth().currentUser?.getIDToken()
        #expect(rig.transport.count(Rig.token) == 0)
        rig.advance(2)
        _ = try await rig.auth().currentUser?.getIDToken()
        #expect(rig.transport.count(Rig.token) == 1)
    }

    @Test func aClockThatWasSetBackCausesARefresh() async throws {
        let rig = Rig()
        rig.playServer()
        try await rig.auth().signIn(withEmail: "ada@example.com", password: "correct horse")
        rig.advance(-86_400)
        _ = try await rig.auth().currentUser?.getIDToken()
        #expect(rig.transport.count(Rig.token) == 1)
    }

    @Test func aCancelledCallerDoesNotCancelTheRefreshOfOthers() async throws {
        let rig = Rig()
        let (_, user) = try await expired(rig)
        let gate = Promise<Bool>()
        rig.transport.on(Rig.token) { _ in
            _ = try await gate.value()
            return .json(200, .refreshed("ada"))
        }
        let first = Task { try await user.getIDToken() }
        try await eventually { rig.transport.count(Rig.token) == 1 }
        let second = Task { try await user.getIDToken() }
        first.cancel()
        #expect(await failure { _ = try await first.value }?.code == .taskCancelled)
        gate.settle(.success(true))
        _ = try await second.value
        #expect(rig.transport.count(Rig.token) == 1)
    }

    @Test func aSignOutDuringARefreshWins() async throws {
        let rig = Rig()
        let (auth, user) = try await expired(rig)
        let gate = Promise<Bool>()
        rig.transport.on(Rig.token) { _ in
            _ = try await gate.value()
            return .json(200, .refreshed("ada"))
        }
        let caller = Task { try await user.getIDToken() }
        try await eventually { rig.transport.count(Rig.token) == 1 }
        try auth.signOut()
        gate.settle(.success(true))
        #expect(await failure { _ = try await caller.value }?.code == .nullUser)
        #expect(auth.currentUser == nil)
        #expect(try rig.store.read()?.session == nil)
    }

    @Test func anotherSignInDuringARefreshWins() async throws {
        let rig = Rig()
        let (auth, user) = try await expired(rig)
        let gate = Promise<Bool>()
        rig.transport.on(Rig.token) { _ in
            _ = try await gate.value()
            return .json(200, .refreshed("ada"))
        }
        let caller = Task { try await user.getIDToken() }
        try await eventually { rig.transport.count(Rig.token) == 1 }
        try await auth.signIn(withEmail: "bob@example.com", password: "correct horse")
        gate.settle(.success(true))
        #expect(await failure { _ = try await caller.value }?.code == .nullUser)
        #expect(auth.currentUser?.uid == "bob")
        #expect(try rig.store.read()?.session?.refreshToken.text.hasPrefix("refresh-bob") == true)
    }

    @Test func aTokenThatAnotherProcessRefreshedIsTaken() async throws {
        let rig = Rig()
        let (_, user) = try await expired(rig)
        let other = try await rig.auth().currentUser?.getIDToken()
        #expect(try await user.getIDToken() == other)
        #expect(rig.transport.count(Rig.token) == 1)
    }

    @Test func aRefreshTokenThatAnotherProcessReplacedDoesNotEndTheSession() async throws {
        let rig = Rig()
        let (auth, user) = try await expired(rig)
        let old = try #require(try rig.store.read()?.session?.refreshToken.text)
        let gate = Promise<Bool>()
        rig.transport.on(Rig.token) { request in
            guard request.form["refresh_token"] == old else { return .json(200, .refreshed("ada")) }
            _ = try await gate.value()
            return .error("INVALID_REFRESH_TOKEN")
        }
        let caller = Task { try await user.getIDToken() }
        try await eventually { rig.transport.count(Rig.token) == 1 }
        var state = try #require(try rig.store.read())
        let version = state.version
        state.version += 1
        state.session?.refreshToken = Secret("refresh-ada-newer")
        #expect(try rig.store.replace(version, with: state))
        gate.settle(.success(true))
        _ = try await caller.value
        #expect(auth.currentUser?.uid == "ada")
        #expect(rig.transport.count(Rig.token) == 2)
    }

    @Test(arguments: ["TOKEN_EXPIRED", "USER_DISABLED", "USER_NOT_FOUND", "INVALID_REFRESH_TOKEN"])
    func aRefusedRefreshSignsOut(_ message: String) async throws {
        let rig = Rig()
        let (auth, user) = try await expired(rig)
        rig.transport.on(Rig.token) { _ in .error(message) }
        let error = await failure { _ = try await user.getIDToken() }
        #expect(error?.serverCode == message)
        #expect(auth.currentUser == nil)
        #expect(await failure { _ = try await user.getIDToken() }?.code == .nullUser)
    }

    @Test func failuresOfTheNetworkAndOfTheServerKeepTheSession() async throws {
        let rig = Rig()
        let (auth, user) = try await expired(rig)
        for answer in [
            { throw URLError(.notConnectedToInternet) },
            { HTTPResponse(status: 502, headers: ["Content-Type": "text/html"], body: Data("<html>".utf8)) },
            { .error("INTERNAL_ERROR", status: 500) },
            { .error("UNAVAILABLE", status: 503) },
            { HTTPResponse(status: 200, body: Data("{\"access_tok".utf8)) },
            { .json(200, .refreshed("bob")) },
        ] as [@Sendable () throws -> HTTPResponse] {
            rig.transport.on(Rig.token) { _ in try answer() }
            #expect(await failure { _ = try await user.getIDToken() } != nil)
            #expect(auth.currentUser?.uid == "ada")
        }
    }

    @Test func aRefreshIsRepeatedTwiceAtMost() async throws {
        let rig = Rig()
        let (_, user) = try await expired(rig)
        rig.transport.on(Rig.token) { _ in throw URLError(.networkConnectionLost) }
        let error = await failure { _ = try await user.getIDToken() }
        #expect(error?.code == .networkError)
        #expect(rig.transport.count(Rig.token) == 3)
        let pauses = rig.pauses.with { $0 }
        #expect(pauses.count == 2 && pauses[0] < pauses[1])
    }
}
