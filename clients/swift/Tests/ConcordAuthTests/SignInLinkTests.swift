import Foundation
import Testing

@testable import ConcordAuth

@Suite struct SignInLinkTests {
    private static let send = "/v1/accounts:sendOobCode"

    private func link(_ code: String = "code-1", continueURL: String = "https://app.example.com/welcome") -> String {
        var components = URLComponents(string: "https://id.example.com/__/auth/action") ?? URLComponents()
        components.queryItems = [
            URLQueryItem(name: "mode", value: "signIn"), URLQueryItem(name: "oobCode", value: code),
            URLQueryItem(name: "apiKey", value: "key"), URLQueryItem(name: "continueUrl", value: continueURL),
        ]
        return components.string ?? ""
    }

    private func settings(_ url: String = "https://app.example.com/welcome") -> ActionCodeSettings {
        var settings = ActionCodeSettings()
        settings.url = URL(string: url)
        settings.handleCodeInApp = true
        return settings
    }

    @Test func aLinkSignsInAfterARestart() async throws {
        let rig = Rig()
        rig.playServer()
        rig.transport.on(Self.send, 200, ["email": "ada@example.com"])
        try await rig.auth().sendSignInLink(toEmail: "ada@example.com", actionCodeSettings: settings())
        let sent = try #require(rig.transport.requests.first?.json)
        #expect(sent["requestType"] == "EMAIL_SIGNIN")
        #expect(sent["continueUrl"] == "https://app.example.com/welcome")
        #expect(sent["canHandleCodeInApp"] == true)
        rig.transport.on(Rig.emailLink) { _ in .json(200, .tokens("ada")) }
        let auth = try rig.auth()
        #expect(auth.isSignIn(withEmailLink: link()))
        try await auth.signIn(link: link())
        let request = try #require(rig.transport.requests.last { $0.url.path == Rig.emailLink }?.json)
        #expect(request["email"] == "ada@example.com")
        #expect(request["oobCode"] == "code-1")
        #expect(try rig.store.read()?.emailLinks == [])
    }

    @Test func aProcessThatIsKilledWhileTheMailIsSentKeepsTheAddress() async throws {
        let rig = Rig()
        rig.transport.on(Self.send) { _ in throw URLError(.networkConnectionLost) }
        let auth = try rig.auth()
        let error = await failure {
            try await auth.sendSignInLink(toEmail: "ada@example.com", actionCodeSettings: settings())
        }
        #expect(error?.code == .networkError)
        #expect(try rig.store.read()?.emailLinks.map(\.email) == ["ada@example.com"])
    }

    @Test func aRefusedRequestForAnotherMailKeepsTheAddressOfTheFirst() async throws {
        let rig = Rig()
        rig.playServer()
        rig.transport.on(Self.send, 200, ["email": "ada@example.com"])
        let auth = try rig.auth()
        try await auth.sendSignInLink(toEmail: "ada@example.com", actionCodeSettings: settings())
        rig.advance(10)
        rig.transport.on(Self.send) { _ in .error("TOO_MANY_ATTEMPTS_TRY_LATER") }
        let error = await failure {
            try await auth.sendSignInLink(toEmail: "ada@example.com", actionCodeSettings: settings())
        }
        #expect(error?.code == .tooManyRequests)
        rig.transport.on(Rig.emailLink) { _ in .json(200, .tokens("ada")) }
        try await auth.signIn(link: link())
        #expect(auth.currentUser?.uid == "ada")
    }

    @Test func aRefusedRequestStoresNoAddress() async throws {
        let rig = Rig()
        rig.transport.on(Self.send) { _ in .error("UNAUTHORIZED_DOMAIN : no") }
        let auth = try rig.auth()
        let error = await failure {
            try await auth.sendSignInLink(toEmail: "ada@example.com", actionCodeSettings: settings())
        }
        #expect(error?.code == .unauthorizedDomain)
        #expect(try rig.store.read()?.emailLinks == [])
    }

    @Test func theAddressOfTheSameContinueURLIsTriedFirst() async throws {
        let rig = Rig()
        rig.playServer()
        rig.transport.on(Self.send, 200, [:])
        let auth = try rig.auth()
        let first = settings("https://app.example.com/welcome?user=1")
        try await auth.sendSignInLink(toEmail: "ada@example.com", actionCodeSettings: first)
        try await auth.sendSignInLink(toEmail: "bob@example.com", actionCodeSettings: settings())
        rig.transport.on(Rig.emailLink) { request in
            request.json["email"] == "ada@example.com" ? .json(200, .tokens("ada")) : .error("INVALID_EMAIL : no")
        }
        try await auth.signIn(link: link(continueURL: "https://app.example.com/welcome?user=1"))
        #expect(rig.transport.count(Rig.emailLink) == 1)
        #expect(auth.currentUser?.uid == "ada")
        #expect(try rig.store.read()?.emailLinks.map(\.email) == ["bob@example.com"])
    }

    @Test func withoutAStoredAddressTheAppHasToAsk() async throws {
        let rig = Rig()
        let auth = try rig.auth()
        let text = link()
        #expect(await failure { try await auth.signIn(link: text) }?.code == .missingEmail)
        #expect(rig.transport.requests.isEmpty)
    }

    @Test func atMostEightLinksAreStored() async throws {
        let rig = Rig()
        rig.transport.on(Self.send, 200, [:])
        let auth = try rig.auth()
        for number in 0..<10 {
            try await auth.sendSignInLink(toEmail: "\(number)@example.com", actionCodeSettings: settings())
        }
        #expect(try rig.store.read()?.emailLinks.map(\.email) == (2..<10).map { "\($0)@example.com" })
    }

    @Test(arguments: [
        "", "x", "https://id.example.com/", "https://id.example.com/?mode=signIn", "?oobCode=1&mode=resetPassword",
        "https://id.example.com/?link=https%3A%2F%2Fid.example.com%2F%3Flink%3Dx",
    ])
    func otherLinksAreNone(_ text: String) async throws {
        let auth = try Rig().auth()
        #expect(!auth.isSignIn(withEmailLink: text))
        #expect(await failure { try await auth.signIn(withEmail: "a@b.c", link: text) }?.code == .invalidActionCode)
    }

    @Test func aLinkInsideALinkIsFound() throws {
        var outer = URLComponents(string: "https://links.example.com/") ?? URLComponents()
        outer.queryItems = [URLQueryItem(name: "link", value: link())]
        let found = try #require(ActionCodeURL(link: outer.string ?? ""))
        #expect(found.code == "code-1")
        #expect(found.operation == .emailLink)
        #expect(found.continueURL?.absoluteString == "https://app.example.com/welcome")
    }
}
