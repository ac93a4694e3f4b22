import Foundation
import Testing

@testable import ConcordAuth

@Suite struct BadAnswerTests {
    /// The error of a password sign-in to which the server answers `answer`. The store must stay empty.
    private func signInError(_ answer: @escaping ScriptedTransport.Answer) async throws -> AuthError {
        let rig = Rig()
        rig.playServer()
        rig.transport.on(Rig.password, answer)
        let auth = try rig.auth(requestTimeout: 0.3)
        let error = await failure { try await auth.signIn(withEmail: "ada@example.com", password: "correct horse") }
        #expect(try rig.store.read()?.session == nil)
        #expect(rig.transport.count(Rig.password) == 1, "a sign-in must not be sent twice")
        #expect(rig.transport.withoutDeadline == 0)
        return try #require(error)
    }

    @Test func requestsAndAnswersDescribeNoSecret() throws {
        let url = try #require(URL(string: "https://id.example.com/v1/token?code=s3cret"))
        let request = HTTPRequest(
            method: "POST",
            url: url,
            headers: ["Authorization": "Bearer s3cret"],
            body: Data("s3cret".utf8),
            timeout: 1
        )
        let answer = HTTPResponse(status: 200, headers: ["X-Token": "s3cret"], body: Data("s3cret".utf8))
        var texts = ["\(request)", String(reflecting: request), "\(answer)", String(reflecting: answer)]
        var dumped = ""
        dump(request, to: &dumped)
        dump(answer, to: &dumped)
        texts.append(dumped)
        for text in texts {
            // 115 51 …: the bytes of the body.
            #expect(!text.contains("s3cret") && !text.contains("115"))
        }
    }

    @Test func aSignInHasOneDeadlineForAllItsRequests() async throws {
        let rig = Rig()
        rig.playServer()
        let auth = try rig.auth()
        rig.transport.on(Rig.password) { _ in
            try await Task.sleep(nanoseconds: 200_000_000)
            return .json(200, .tokens("ada"))
        }
        try await auth.signIn(withEmail: "ada@example.com", password: "correct horse")
        let timeouts = rig.transport.requests.map(\.timeout)
        #expect(timeouts.count == 2 && timeouts[1] < timeouts[0] - 0.1, "\(timeouts)")
    }

    @Test func nothingIsSentAfterTheDeadline() async throws {
        let rig = Rig()
        rig.playServer()
        let auth = try rig.auth()
        let start = Uptime.now()
        let error = await failure {
            try await Deadline.$end.withValue(start - 1) {
                _ = try await auth.signIn(withEmail: "ada@example.com", password: "correct horse")
            }
        }
        #expect(error?.code == .networkError)
        #expect(rig.transport.requests.isEmpty)
    }

    @Test func html() async throws {
        let page = HTTPResponse(
            status: 200,
            headers: ["Content-Type": "text/html"],
            body: Data("<!doctype html><title>Wi-Fi</title>".utf8)
        )
        let error = try await signInError { _ in page }
        #expect(error.code == .invalidServerAnswer)
        #expect(error.message.contains("text/html"))
        #expect(!error.description.contains("Wi-Fi"))
    }

    @Test func htmlOfAProxyThatIsDown() async throws {
        let error = try await signInError { _ in
            HTTPResponse(status: 502, headers: ["Content-Type": "text/html"], body: Data("<html>".utf8))
        }
        #expect(error.code == .serverUnavailable)
    }

    @Test func halfABody() async throws {
        let whole = HTTPResponse.json(200, .tokens("ada")).body
        let error = try await signInError { _ in HTTPResponse(status: 200, body: whole.prefix(whole.count / 2)) }
        #expect(error.code == .invalidServerAnswer)
    }

    @Test func anEmptyBody() async throws {
        #expect(try await signInError { _ in HTTPResponse(status: 200) }.code == .invalidServerAnswer)
    }

    @Test func aMemberOfAnotherType() async throws {
        let error = try await signInError { _ in .json(200, ["idToken": 7, "refreshToken": "secret-value"]) }
        #expect(error.code == .invalidServerAnswer)
        #expect(error.message.contains("`idToken`"))
        #expect(!error.description.contains("secret-value"))
    }

    @Test func anAnswerWithoutTokens() async throws {
        #expect(try await signInError { _ in .json(200, ["localId": "ada"]) }.code == .invalidServerAnswer)
    }

    @Test func anIDTokenThatIsNone() async throws {
        for token in ["", "x", "a.b.c", "..", "e30.e30."] {
            let error = try await signInError { _ in .json(200, .tokens("ada", idToken: token)) }
            #expect(error.code == .malformedJWT)
        }
    }

    @Test func anotherAccountsToken() async throws {
        let error = try await signInError { _ in .json(200, .tokens("ada", idToken: JSONValue.idToken("bob"))) }
        #expect(error.code == .tokenOfAnotherAccount)
    }

    @Test func anotherProjectsToken() async throws {
        let token = JSONValue.idToken("ada", audience: "other")
        #expect(
            try await signInError { _ in .json(200, .tokens("ada", idToken: token)) }.code == .tokenOfAnotherAccount
        )
    }

    @Test func anotherIssuersToken() async throws {
        let token = JSONValue.idToken("ada", issuer: "https://evil.example.com/demo")
        #expect(
            try await signInError { _ in .json(200, .tokens("ada", idToken: token)) }.code == .tokenOfAnotherAccount
        )
    }

    @Test func aServerThatIsDown() async throws {
        let error = try await signInError { _ in
            .json(503, ["error": ["message": "UNAVAILABLE"]], headers: ["Retry-After": "7"])
        }
        #expect(error.code == .serverUnavailable)
        #expect(error.retryAfter == 7)
    }

    @Test func aServerThatDoesNotAnswer() async throws {
        // A transport that ignores its deadline and its cancellation.
        let error = try await signInError { _ in
            await withUnsafeContinuation { continuation in
                DispatchQueue.global().asyncAfter(deadline: .now() + Rig.patience) {
                    continuation.resume(returning: HTTPResponse(status: 200))
                }
            }
        }
        // An answer would be another error.
        #expect(error.code == .networkError)
    }

    @Test func anErrorThatThisVersionDoesNotKnow() async throws {
        let error = try await signInError { _ in .error("A_NEW_REFUSAL : with a reason") }
        #expect(error.code == .internalError)
        #expect(error.serverCode == "A_NEW_REFUSAL")
    }

    @Test func aProblemThatThisVersionDoesNotKnow() async throws {
        let error = try await signInError { _ in
            .json(409, ["type": "urn:concord:problem:a-new-problem", "title": "New", "status": 409, "hint": "h"])
        }
        #expect(error.code == .internalError)
        #expect(error.serverCode == "a-new-problem")
        #expect(error.details["hint"] == "h")
    }

    @Test func anAnswerOfAFutureKindIsReadByItsMembers() async throws {
        let rig = Rig()
        rig.playServer()
        rig.transport.on(Rig.password) { _ in
            guard case .object(var answer) = JSONValue.tokens("ada") else { return .json(200, .null) }
            answer["kind"] = "concord#SignInResponse.v9"
            answer["aMemberOfTheFuture"] = ["x": [1, .number(2.5), true]]
            return .json(200, .object(answer))
        }
        let result = try await rig.auth().signIn(withEmail: "ada@example.com", password: "correct horse")
        #expect(result.user.uid == "ada")
        #expect(result.additionalUserInfo?.isNewUser == false)
    }

    @Test func aLookupOfAnotherAccountIsNotStored() async throws {
        let rig = Rig()
        rig.playServer()
        let auth = try rig.auth()
        let user = try await auth.signIn(withEmail: "ada@example.com", password: "correct horse").user
        let before = try rig.store.read()
        rig.transport.on(Rig.lookup, 200, .account("bob"))
        #expect(await failure { try await user.reload() }?.code == .tokenOfAnotherAccount)
        rig.transport.on(Rig.lookup, 200, ["users": []])
        #expect(await failure { try await user.reload() }?.code == .invalidServerAnswer)
        #expect(try rig.store.read() == before)
    }

    @Test func aCancelledTaskStopsAtOnce() async throws {
        let rig = Rig()
        rig.transport.on(Rig.password) { _ in
            await withUnsafeContinuation { continuation in
                DispatchQueue.global().asyncAfter(deadline: .now() + Rig.patience) {
                    continuation.resume(returning: HTTPResponse(status: 200))
                }
            }
        }
        let auth = try rig.auth()
        let task = Task { try await auth.signIn(withEmail: "ada@example.com", password: "correct horse") }
        try await eventually { rig.transport.count(Rig.password) == 1 }
        task.cancel()
        let error = await failure { _ = try await task.value }
        #expect(error?.code == .taskCancelled)
        #expect(error?.underlying is CancellationError)
    }

    @Test func anEmptyKeyIsRefused() throws {
        let error = #expect(throws: AuthError.self) { try Rig().auth(apiKey: "") }
        #expect(error?.code == .invalidAPIKey)
    }

    @Test func plainHTTPIsForThisMachineAlone() throws {
        for (url, isAllowed) in [
            ("https://id.example.com", true), ("http://127.0.0.1:9099", true), ("http://localhost:9099", true),
            ("http://[::1]:9099", true), ("http://id.example.com", false), ("http://127.0.0.1.example.com", false),
            ("ftp://127.0.0.1", false),
        ] {
            let server = try #require(URL(string: url))
            let configuration = AuthConfiguration(
                server: server,
                apiKey: "key",
                projectID: "demo",
                sessions: InMemorySessionStore(),
                transport: ScriptedTransport()
            )
            if isAllowed {
                #expect(throws: Never.self) { try configuration.check() }
            } else {
                #expect((#expect(throws: AuthError.self) { try configuration.check() })?.code == .insecureServer)
            }
        }
    }
}
