import Foundation
import Testing

@testable import ConcordAuth

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Sign-in on a provider's page, with callbacks by loopback and by scheme.
struct WebFlowTests {
    /// The address with which the page of the server calls the app back.
    private static func callback(
        of opened: URL,
        _ values: [(String, String)],
        event: String? = nil
    ) throws -> URL {
        let query = try #require(URLComponents(url: opened, resolvingAgainstBaseURL: false)?.queryItems)
        func parameter(_ name: String) -> String? { query.first { $0.name == name }?.value }
        var inner = URLComponents()
        inner.scheme = "https"
        inner.host = "id.example.com"
        inner.path = "/__/auth/callback"
        let all =
            [("authType", parameter("authType") ?? ""), ("eventId", event ?? parameter("eventId") ?? "")] + values
        // As `URLSearchParams` writes it.
        var unreserved = CharacterSet.alphanumerics
        unreserved.insert(charactersIn: "*-._ ")
        inner.percentEncodedQuery = all.map { name, value in
            let value = value.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
            return name + "=" + value.replacingOccurrences(of: " ", with: "+")
        }
        .joined(separator: "&")
        let link = inner.string?.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let base: String
        if let port = parameter("loopback") {
            base = "http://127.0.0.1:\(port)"
        } else {
            let app = parameter("appId").map { "app-" + $0.replacingOccurrences(of: ":", with: "-") }
            base = (app ?? "com.googleusercontent.apps.42") + "://firebaseauth"
        }
        return try #require(URL(string: "\(base)/link?deep_link_id=\(link)"))
    }

    private static let answer = "https://id.example.com/__/auth/handler?code=abc%20d&state=s+1"

    @discardableResult
    private static func visit(_ url: URL) async throws -> Int {
        try await withCheckedThrowingContinuation { continuation in
            URLSession.shared.dataTask(with: url) { _, response, error in
                if let response = response as? HTTPURLResponse {
                    continuation.resume(returning: response.statusCode)
                } else {
                    continuation.resume(throwing: error ?? URLError(.badServerResponse))
                }
            }
            .resume()
        }
    }

    @Test("a loopback callback signs in with the secret whose digest the page got")
    func loopback() async throws {
        let server = FakeConcord()
        server.state.with { $0.isLinked = true }
        let store = InMemorySessionStore()
        let auth = try server.auth(store)
        let opened = Locked<URL?>(nil)
        let provider = OAuthProvider(providerID: "github.com", auth: auth)
        provider.scopes = ["user:email", "read:org"]
        provider.customParameters = ["lang": "fr"]
        let browser = LoopbackAuthentication { url in
            opened.with { $0 = url }
            #expect(try store.read()?.redirect?.answer == nil)
            let callback = try Self.callback(of: url, [("link", Self.answer)])
            #expect(try await Self.visit(callback) == 200)
        }
        let result = try await auth.signIn(with: provider, uiDelegate: browser)
        #expect(result.user.uid == "ada")
        let page = try #require(opened.with { $0 })
        let items = URLComponents(url: page, resolvingAgainstBaseURL: false)?.queryItems ?? []
        let query = Dictionary(uniqueKeysWithValues: items.map { ($0.name, $0.value ?? "") })
        #expect(page.path == "/__/auth/handler")
        #expect(query["authType"] == "signInWithRedirect")
        #expect(query["providerId"] == "github.com")
        #expect(query["scopes"] == "user:email,read:org")
        #expect(query["customParameters"] == #"{"lang":"fr"}"#)
        #expect(query["hl"] == "fr")
        #expect(query["appId"] == nil && query["ibi"] == nil)
        let body = try #require(server.bodies("/v1/accounts:signInWithIdp").first)
        #expect(body["requestUri"]?.stringValue == Self.answer)
        let secret = try #require(body["sessionId"]?.stringValue)
        #expect(query["sessionId"] == Digest.hex(of: secret))
        #expect(query["sessionId"] != secret)
        #expect(try store.read()?.redirect == nil)
    }

    @Test("the receiver ignores requests that are not the page's answer")
    func strangers() async throws {
        let auth = try FakeConcord().auth(InMemorySessionStore())
        let browser = LoopbackAuthentication { url in
            let answer = try Self.callback(of: url, [("link", Self.answer)])
            let forged = try Self.callback(of: url, [("link", "https://evil.example")], event: "guessed")
            #expect(try await Self.visit(forged) == 404)
            #expect(try await Self.visit(#require(URL(string: "/favicon.ico", relativeTo: answer))) == 404)
            #expect(try await Self.visit(answer) == 200)
        }
        let credential = try await OAuthProvider(providerID: "github.com", auth: auth).credential(with: browser)
        guard case .redirect(let link, _) = credential.kind else {
            Issue.record("another credential")
            return
        }
        #expect(link.text == Self.answer)
    }

    @Test("a cancelled task and a person who does not answer end the wait, and free the port")
    func noAnswer() async throws {
        let auth = try FakeConcord().auth(InMemorySessionStore())
        let ports = Locked<[Int]>([])
        let provider = OAuthProvider(providerID: "github.com", auth: auth)
        let slow = LoopbackAuthentication(timeout: 0.05) { url in ports.with { $0.append(Self.port(of: url)) } }
        await expect(.webContextCancelled) { try await provider.credential(with: slow) }
        let opened = Promise<Bool>()
        let waiting = Task {
            try await provider.credential(
                with: LoopbackAuthentication { url in
                    ports.with { $0.append(Self.port(of: url)) }
                    opened.settle(.success(true))
                }
            )
        }
        _ = try await opened.value()
        await expect(.webContextAlreadyPresented) { try await provider.credential(with: slow) }
        waiting.cancel()
        await expect(.taskCancelled) { try await waiting.value }
        for port in ports.with({ $0 }) {
            let receiver = try LoopbackReceiver(port: port) { _ in true }
            #expect(receiver.port == port)
            await receiver.stop()
        }
    }

    private static func port(of url: URL) -> Int {
        let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        return items.first { $0.name == "loopback" }?.value.flatMap(Int.init) ?? 0
    }

    @Test("a page that an earlier process opened continues in the next one, by loopback and by scheme")
    func killedWhileOpen() async throws {
        let server = FakeConcord()
        server.state.with { $0.isLinked = true }
        let store = InMemorySessionStore()
        let opened = Locked<URL?>(nil)
        let first = try server.auth(store)
        let browser = LoopbackAuthentication(timeout: 0.05) { url in opened.with { $0 = url } }
        _ = try? await OAuthProvider(providerID: "github.com", auth: first).credential(with: browser)
        let next = try server.auth(store)
        let unfinished = try #require(try next.unfinishedRedirect())
        #expect(unfinished.providerID == "github.com" && unfinished.operation == .signIn && !unfinished.isAnswered)
        let url = try Self.callback(of: #require(opened.with { $0 }), [("link", Self.answer)])
        async let credential = next.resumeRedirect(uiDelegate: LoopbackAuthentication { _ in })
        // The person reloads the page until the app listens.
        while (try? await Self.visit(url)) != 200 { try await Task.sleep(nanoseconds: 5_000_000) }
        try await next.signIn(with: credential)
        #expect(next.currentUser?.uid == "ada")
        #expect(try next.unfinishedRedirect() == nil)

        let byScheme = Task { [first] in
            try await OAuthProvider(providerID: "github.com", auth: first).credential(
                with: SchemeAuthentication(auth: first) { url in opened.with { $0 = url } }
            )
        }
        while try store.read()?.redirect == nil { await Task.yield() }
        byScheme.cancel()
        _ = try? await byScheme.value
        let third = try server.auth(store)
        let address = try Self.callback(of: #require(opened.with { $0 }), [("link", Self.answer)])
        #expect(third.canHandle(address))
        let fourth = try server.auth(store)
        #expect(try fourth.unfinishedRedirect()?.isAnswered == true)
        try await fourth.signIn(with: fourth.resumeRedirect())
        #expect(try fourth.unfinishedRedirect() == nil)
        #expect(!fourth.canHandle(address))
    }

    @Test("addresses of the app that are not for the client are left to the app")
    func foreignAddresses() throws {
        let auth = try FakeConcord().auth(InMemorySessionStore())
        for text in [
            "app-1-42-ios-ab://firebaseauth/link", "app-1-42-ios-ab://firebaseauth/link?deep_link_id=x",
            "app-1-42-ios-ab://screen/settings",
            "myapp://firebaseauth/link?deep_link_id=https%3A%2F%2Fa%2F%3FeventId%3D1",
        ] {
            #expect(try !auth.canHandle(#require(URL(string: text))), "\(text)")
        }
    }

    @Test("the callback's scheme is the encoded app id, the reversed client id or the bundle id")
    func schemes() throws {
        var configuration = AuthConfiguration(
            server: try #require(URL(string: "https://id.example.com")),
            apiKey: "key",
            projectID: "demo",
            appID: "1:42:ios:ab",
            bundleID: "com.example.app",
            sessions: InMemorySessionStore()
        )
        #expect(configuration.pageCallback?.scheme == "app-1-42-ios-ab")
        #expect(configuration.pageCallback?.app.map(\.name) == ["ibi", "appId"])
        configuration.clientID = "42.apps.googleusercontent.com"
        #expect(configuration.pageCallback?.scheme == "com.googleusercontent.apps.42")
        #expect(configuration.pageCallback?.app.map(\.name) == ["ibi", "clientId"])
        configuration.clientID = nil
        configuration.appID = nil
        #expect(configuration.pageCallback?.scheme == "com.example.app")
        configuration.bundleID = nil
        #expect(configuration.pageCallback == nil)
    }

    @Test(
        "the failures of a page are documented errors",
        arguments: [
            ("auth/unauthorized-domain", AuthErrorCode.unauthorizedDomain),
            ("auth/user-cancelled", .webContextCancelled),
            ("auth/network-request-failed", .webNetworkRequestFailed), ("auth/app-not-authorized", .appNotAuthorized),
            ("auth/operation-not-allowed", .operationNotAllowed), ("auth/internal-error", .webInternalError),
            ("auth/of-tomorrow", .webSignInUserInteractionFailure),
        ]
    )
    func failures(name: String, code: AuthErrorCode) async throws {
        let store = InMemorySessionStore()
        let auth = try FakeConcord().auth(store)
        let browser = LoopbackAuthentication { url in
            let failure = #"{"code":"\#(name)","message":"A text, with blanks + signs."}"#
            try await Self.visit(Self.callback(of: url, [("firebaseError", failure)]))
        }
        let error = await expect(code) {
            try await OAuthProvider(providerID: "github.com", auth: auth).credential(with: browser)
        }
        #expect(error?.message == "A text, with blanks + signs.")
        #expect(try auth.unfinishedRedirect() == nil)
    }

    @Test("a page without a callback is not opened")
    func noCallback() async throws {
        let configuration = AuthConfiguration(
            server: try #require(URL(string: "https://id.example.com")),
            apiKey: "key",
            projectID: "demo",
            bundleID: nil,
            sessions: InMemorySessionStore()
        )
        let auth = try Auth(configuration: configuration)
        let provider = OAuthProvider(providerID: "github.com", auth: auth)
        await expect(.invalidArgument) {
            try await provider.credential(with: SchemeAuthentication(auth: auth) { _ in Issue.record("opened") })
        }
        #if os(Linux)
        await expect(.webInternalError) { try await provider.credential() }
        #endif
    }

    @Test("the answer of a page that the server refused is not offered again")
    func refusedAnswer() async throws {
        let server = FakeConcord()
        let store = InMemorySessionStore()
        let auth = try server.auth(store)
        let browser = LoopbackAuthentication { url in
            try await Self.visit(Self.callback(of: url, [("link", Self.answer)]))
        }
        let provider = OAuthProvider(providerID: "github.com", auth: auth)
        await expect(.accountExistsWithDifferentCredential) {
            try await auth.signIn(with: provider, uiDelegate: browser)
        }
        #expect(try auth.unfinishedRedirect() == nil)
        #expect(try auth.pendingConflicts().count == 1)
        let lost = try server.auth(store, .before(1))
        let again = OAuthProvider(providerID: "github.com", auth: lost)
        await expect(.networkError) { try await lost.signIn(with: again, uiDelegate: browser) }
        #expect(try auth.unfinishedRedirect()?.isAnswered == true)
    }
}
