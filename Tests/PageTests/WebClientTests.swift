import AccountTestSupport
import Foundation
import JSON
import NIOHTTP1
import Subprocess
import Testing

/// `clients/web/concord.js` in a real browser, in an app on another site than the server.
@Suite(.serialized, .page) struct WebClientTests {
    private static var server: DevServer {
        get throws { try #require(PageTrait.current?.server) }
    }

    private static func open(
        _ query: String = "",
        _ body: @Sendable (DevServer, WebClientApp, Browser) async throws -> Void
    ) async throws {
        let server = try server
        try await WebClientApp.run(server: server.url) { app in
            try await Browser.run { browser in
                try await browser.resize(800, 800)
                try await open(app, browser, query)
                try await browser.run("localStorage.clear(); sessionStorage.clear()")
                try await open(app, browser, query)
                try await body(server, app, browser)
            }
        }
    }

    private static func open(_ app: WebClientApp, _ browser: Browser, _ query: String = "") async throws {
        try await browser.open(app.url(query))
        try await browser.wait(until: "window.isReady")
    }

    /// The consent page of a simulated provider.
    private static func consent(
        _ browser: Browser,
        email: String,
        isVerified: Bool = true,
        button: String = "Sign in"
    ) async throws {
        try await browser.wait(until: "document.querySelector('#sub')?.value")
        try await browser.wait(until: "document.querySelector('#outcome').ariaBusy === 'false'")
        try await browser.run("document.querySelector('#email').value = '\(email)'")
        if !isVerified { try await browser.run("document.querySelector('#flag-false').click()") }
        try await browser.press(button)
    }

    /// Presses `button`, which opens a popup, and returns its outcome.
    private static func popup(
        _ browser: Browser,
        _ button: String,
        _ body: () async throws -> Void
    ) async throws -> JSONValue {
        let window = try #require(try await browser.windows().first)
        try await browser.run("outcomes.length = 0")
        try await browser.press(button)
        try await browser.inPopup(of: window, body)
        try await browser.wait(until: "outcomes.length === 1")
        return try await browser.value("outcomes[0]")
    }

    private static func outcome(_ browser: Browser, _ call: String) async throws -> JSONValue {
        try await browser.value("outcome(\(call))")
    }

    /// The request of the SDK after it received the event.
    private static func signIn(_ server: DevServer, _ event: JSONValue) async throws -> JSONValue {
        var body: [String: JSONValue] = ["returnIdpCredential": true, "returnSecureToken": true]
        body["requestUri"] = event["urlResponse"]
        body["sessionId"] = event["sessionId"]
        return try await server.send(.POST, "/v1/accounts:signInWithIdp?key=any", .object(body)).json
    }

    // MARK: The files

    @Test func `the module has at most 5 KB after gzip -9`() async throws {
        let result = try await Subprocess.run(
            .name("gzip"),
            arguments: ["-9", "-n", "-c", WebClientApp.module],
            input: .none,
            output: .bytes(limit: 1 << 20),
            error: .string(limit: 1 << 20)
        )
        #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
        #expect(result.standardOutput.count <= 5 * 1024)
    }

    @Test func `the types name each method of the module, and no other`() async throws {
        let types = try String(
            contentsOfFile: WebClientApp.module.replacing(".js", with: ".d.ts"),
            encoding: .utf8
        )
        let text = try #require(types.firstMatch(of: #/export class Concord \{\n([\s\S]*?)\n\}/#)).output.1
        let documented = Set(text.matches(of: #/(?m)^  (?:get |readonly )?(\w+)[(<:]/#).map { String($0.output.1) })
        try await Self.open { _, _, browser in
            let names = "[...Object.getOwnPropertyNames(web.Concord.prototype), ...Object.keys(concord)]"
            let found = try await browser.value("\(names)").array?.compactMap(\.string) ?? []
            #expect(Set(found) == documented)
            let exported = try await browser.value("Object.keys(web)").array?.compactMap(\.string) ?? []
            for name in exported { #expect(types.contains(" \(name)"), "\(name)") }
        }
    }

    @Test func `each route of clients is called by a method`() throws {
        let module = try String(contentsOfFile: WebClientApp.module, encoding: .utf8)
        let document = try String(
            contentsOfFile: AccountTestSupport.Repository.root + "/docs/openapi.json",
            encoding: .utf8
        )
        let paths = try #require(try JSONValue(parsing: Array(document.utf8))["paths"]?.object)
        var called: Set<String> = []
        for match in module.matches(of: #/(?m)^(?:.*`)?\w+ (GET|POST|DELETE) (\S+)/#) {
            called.insert("\(match.output.1) \(match.output.2)".replacing("`.split(", with: ""))
        }
        for (path, item) in paths where path.hasPrefix("/concord/v1/") {
            for (method, operation) in item.object ?? [:] {
                let schemes = operation["security"]?.array?.compactMap { $0.object?.keys.first } ?? ["handle"]
                guard schemes.isEmpty || schemes != ["operator"] else { continue }
                let route = path.replacing("/concord/v1/", with: "").replacing(#/\{\w+\}/#, with: "*")
                #expect(called.contains("\(method.uppercased()) \(route)"), "\(method) \(path)")
            }
        }
    }

    @Test func `the client plays every journey of the vectors`() async throws {
        let files = ["clients/web/concord.js", "clients/web/vectors.test.js", "clients/vectors.json"]
        try await WebClientApp.run(server: "http://127.0.0.1:1", files: files) { app in
            try await Browser.run { browser in
                try await browser.open(app.url("").replacing("app.html", with: "vectors.html"))
                try await browser.wait(until: "window.isReady")
                let played = try await browser.value("played")
                let differences = played["differences"]?.array?.compactMap(\.string) ?? ["nothing was played"]
                #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
                guard case .integer(let journeys) = played["journeys"] ?? .null else {
                    Issue.record("\(played.text)")
                    return
                }
                #expect(journeys >= 30)
            }
        }
    }

    // MARK: Sessions

    @Test func `1,000 tasks that need a token at once cause one refresh`() async throws {
        try await Self.open { server, _, browser in
            let signUp =
                #"concord.signIn("v1/accounts:signUp", { email: "tokens@example.com", password: "correct horse" })"#
            let account = try await Self.outcome(browser, signUp)
            #expect(try await browser.value("concord.uid") == account["value"]?["localId"], "\(account.text)")
            // The page has the refresh token alone.
            try await browser.reload()
            try await browser.wait(until: "window.isReady")
            try await browser.run(
                "window.sent = 0; const real = fetch; window.fetch = (...all) => { sent++; return real(...all); }"
            )
            let tokens = "Promise.all(Array.from({ length: 1000 }, () => concord.idToken()))"
            let distinct = try await browser.value("\(tokens).then((all) => new Set(all).size)")
            #expect(distinct == 1)
            #expect(try await browser.value("sent") == 1)
        }
    }

    @Test func `a revoked session signs out, and a lost answer does not`() async throws {
        try await Self.open { server, _, browser in
            let signUp =
                #"concord.signIn("v1/accounts:signUp", { email: "revoked@example.com", password: "correct horse" })"#
            let uid = try await Self.outcome(browser, signUp)["value"]?["localId"] ?? .null
            try await browser.run("window.real = fetch; window.fetch = () => Promise.reject(new TypeError('offline'))")
            #expect(try await Self.outcome(browser, "concord.idToken(true)")["code"] == "network-request-failed")
            #expect(try await browser.value("concord.uid") == uid)
            try await browser.run("window.fetch = real")
            let deleted = try await server.send(
                .POST,
                "/v1/accounts:delete",
                ["localId": uid],
                bearer: "owner"
            )
            #expect(deleted.status == 200)
            #expect(try await Self.outcome(browser, "concord.idToken(true)")["code"] == "user-not-found")
            #expect(try await browser.value("concord.uid") == .null)
            #expect(try await Self.outcome(browser, "concord.methods()")["code"] == "no-session")
        }
    }

    @Test func `a sign-out during a refresh wins, and a token of another account is dropped`() async throws {
        try await Self.open { _, _, browser in
            for email in ["first@example.com", "second@example.com"] {
                let body = #"{ email: "\#(email)", password: "correct horse" }"#
                _ = try await Self.outcome(browser, #"concord.signIn("v1/accounts:signUp", \#(body))"#)
                let kept = "((token) => { window.tokens = { ...window.tokens, '\(email)': token }; return true; })"
                #expect(try await browser.value("concord.idToken().then(\(kept))") == true)
            }
            let uid = try await browser.value("concord.uid")
            try await browser.run(
                """
                window.real = fetch;
                window.fetch = async () =>
                  Response.json({ id_token: tokens["first@example.com"], refresh_token: "r", expires_in: "3600" });
                """
            )
            #expect(try await Self.outcome(browser, "concord.idToken(true)")["code"] == "no-session")
            #expect(try await browser.value("concord.uid") == uid)
            try await browser.run("window.fetch = async (...all) => { concord.signOut(); return real(...all); }")
            #expect(try await Self.outcome(browser, "concord.idToken(true)")["code"] == "no-session")
            #expect(try await browser.value("concord.uid") == .null)
        }
    }

    @Test(
        arguments: [
            ("async () => new Response('<h1>Bad gateway</h1>', { status: 502 })", "invalid-answer"),
            ("async () => new Response('{\"version\":')", "invalid-answer"),
            ("async () => Response.json({}, { status: 500 })", "invalid-answer"),
            ("async () => Response.json(null)", "network-request-failed"),
            (
                "async () => new Response(new ReadableStream({ start: (it) => it.error(new TypeError()) }))",
                "network-request-failed"
            ),
        ]
    )
    func `an answer that is none of the server's is a documented error`(fetch: String, code: String) async throws {
        try await Self.open { _, _, browser in
            try await browser.run("window.fetch = \(fetch)")
            #expect(try await Self.outcome(browser, "concord.about()")["code"] == .string(code))
        }
    }

    @Test func `a server without TLS is refused unless it is on this machine`() async throws {
        try await Self.open { _, _, browser in
            for (url, isAllowed) in [
                ("https://id.example.com/concord/", true), ("http://localhost:9099", true), ("http://127.0.0.1", true),
                ("http://[::1]:9099", true), ("http://id.example.com", false), ("http://localhost.example.com", false),
                ("http://localhost@id.example.com", false), ("http://127.0.0.1.example.com", false),
                ("ftp://localhost", false),
            ] {
                let made =
                    "(() => { try { return new web.Concord({ url: '\(url)' }).url } catch (e) { return e.code } })()"
                let found = try await browser.value(made)
                #expect((found != "insecure-url") == isAllowed, "\(url): \(found.text)")
            }
        }
    }

    // MARK: Conflicts

    @Test func `a conflict of a popup is a value, and settles by the mailed code`() async throws {
        try await Self.open { server, _, browser in
            let email = "web-conflict@example.com"
            let signUp: JSONValue = ["email": .string(email), "password": "correct horse"]
            let account = try await server.send(.POST, "/v1/accounts:signUp?key=any", signUp).json["localId"]
            let refused = try await Self.popup(browser, "popup") {
                try await Self.consent(browser, email: email, isVerified: false)
            }
            #expect(refused["code"] == "account-exists-with-different-credential" && refused["email"]?.string == email)
            let conflict = try #require(refused["conflict"], "\(refused.text)")
            #expect(conflict["providerId"] == "github.com")
            let handle = try #require(conflict["handle"]?.string)
            #expect(try await Self.outcome(browser, "concord.readConflict('\(handle)')")["value"]?["state"] == "open")
            let asked = try await Self.outcome(browser, "concord.startProof('\(handle)', { kind: 'mailbox' })")
            #expect(asked["value"]?["proof"]?["kind"] == "mailbox", "\(asked.text)")
            let wrong = try await Self.outcome(browser, "concord.completeProof('\(handle)', { code: '00000000' })")
            #expect(wrong["code"] == "wrong-proof" && wrong["status"] == 403, "\(wrong.text)")
            let open = OpenConflict(server: server, email: email, account: account?.string ?? "", handle: handle)
            let code = try await open.mail().code
            let proven = try await Self.outcome(browser, "concord.completeProof('\(handle)', { code: '\(code)' })")
            let proof = try #require(proven["value"]?["proofToken"]?.string, "\(proven.text)")
            let resolved = try await Self.outcome(
                browser,
                "concord.resolveConflict('\(handle)', { proofToken: '\(proof)' })"
            )
            #expect(resolved["value"]?["localId"] == account, "\(resolved.text)")
            #expect(try await browser.value("concord.uid") == account)
            // The device is known now.
            let known = try await Self.outcome(browser, "concord.lookup({ email: '\(email)' })")
            #expect(known["value"]?["methods"] != nil, "\(known.text)")
        }
    }

    // MARK: Providers' pages

    @Test func `a redirect between sites returns a session, once, and restores the fragment of the page`() async throws
    {
        try await Self.open { _, app, browser in
            try await browser.open(app.url("#/route"))
            try await browser.wait(until: "window.isReady")
            try await browser.press("redirect")
            try await Self.consent(browser, email: "web-redirect@example.com")
            try await browser.wait(until: "window.isReady")
            let returned = try await browser.value("returned")
            #expect(returned["value"]?["email"] == "web-redirect@example.com", "\(returned.text)")
            #expect(try await browser.value("location.hash") == "#/route")
            try await browser.reload()
            try await browser.wait(until: "window.isReady")
            #expect(try await browser.value("returned") == ["value": .null])
            #expect(try await browser.value("Boolean(concord.uid)") == true)
        }
    }

    @Test func `a redirect without a result is an error, and so is an event of another tab`() async throws {
        try await Self.open { _, app, browser in
            try await browser.press("redirect")
            try await browser.wait(until: "document.querySelector('#sub')?.value")
            try await Self.open(app, browser, "&again")
            #expect(try await browser.value("returned")["code"] == "redirect-cancelled-by-user")
            for event in ["eyJldmVudElkIjoieCJ9", "%25", ""] {
                try await Self.open(app, browser, "#concordEvent=\(event)")
                let expected: JSONValue = event.isEmpty ? .null : "invalid-auth-event"
                #expect(try await browser.value("returned")["code"] ?? .null == expected, "\(event)")
                if !event.isEmpty { #expect(try await browser.value("location.hash") == "") }
                #expect(try await browser.value("concord.uid") == .null)
            }
        }
    }

    @Test func `a forged message is not the event of a popup`() async throws {
        try await Self.open { _, _, browser in
            try await browser.run(
                """
                window.real = window.open;
                window.open = (url, id, features) => {
                  const popup = real(url, id, features);
                  const server = new URL(url).origin;
                  setTimeout(() => {
                    for (const [source, origin, eventId] of
                      [[window, server, id], [popup, location.origin, id], [popup, server, "x"]]) {
                      const data = { event: { eventId, error: { code: "auth/forged" } } };
                      const ports = [new MessageChannel().port1];
                      dispatchEvent(new MessageEvent("message", { source, origin, data, ports }));
                    }
                    window.isForged = true;
                  });
                  return popup;
                };
                """
            )
            let outcome = try await Self.popup(browser, "popup") { try await browser.closeWindow() }
            #expect(try await browser.value("window.isForged") == true)
            #expect(outcome["code"] == "popup-closed-by-user", "\(outcome.text)")
        }
    }

    @Test func `a person who cancels, and one who closes the popup, are errors`() async throws {
        try await Self.open { _, _, browser in
            let cancelled = try await Self.popup(browser, "popup") {
                try await Self.consent(browser, email: "web-cancelled@example.com", button: "Cancel")
            }
            #expect(cancelled["code"] == "user-cancelled", "\(cancelled.text)")
            let closed = try await Self.popup(browser, "popup") { try await browser.closeWindow() }
            #expect(closed["code"] == "popup-closed-by-user", "\(closed.text)")
            try await browser.run("window.open = () => null")
            try await browser.run("outcomes.length = 0")
            try await browser.press("popup")
            try await browser.wait(until: "outcomes.length === 1")
            #expect(try await browser.value("outcomes[0].code") == "popup-blocked")
        }
    }

    @Test func `a provider's page that cuts the popup off leaves a sentence there, and an error in the app`()
        async throws
    {
        try await Self.open { server, _, browser in
            let outcome = try await Self.popup(browser, "popup") {
                try await browser.wait(until: "document.querySelector('#sub')?.value")
                // As after a page with another opener policy.
                try await browser.inject("window.opener = null")
                try await Self.consent(browser, email: "severed@example.com")
                try await browser.wait(for: "Sign-in failed")
                #expect(try await browser.text("main").contains("cannot reach the page"))
                try await browser.closeWindow()
            }
            #expect(outcome["code"] == "popup-closed-by-user", "\(outcome.text)")
        }
    }

    // MARK: The server's pages

    @Test func `the sign-in page returns a session, and a return that the app did not begin is refused`() async throws {
        try await Self.open { server, app, browser in
            let signUp: JSONValue = ["email": "page-return@example.com", "password": "correct horse"]
            let account = try await server.send(.POST, "/v1/accounts:signUp?key=any", signUp).json["localId"]
            try await browser.run("concord.openPage('signin', { lang: 'en' })")
            try await browser.wait(until: "document.getElementById('email-field') && \(Browser.isIdle)")
            #expect(try await browser.value("location.hash") == "")
            try await browser.run("document.getElementById('email-field').focus()")
            try await browser.type("page-return@example.com")
            try await browser.press("Continue")
            try await browser.wait(until: "document.getElementById('password-field') && \(Browser.isIdle)")
            try await browser.run("document.getElementById('password-field').focus()")
            try await browser.type("correct horse")
            try await browser.press("Sign in")
            try await browser.wait(until: "window.isReady")
            let returned = try await Self.outcome(browser, "concord.pageResult()")
            #expect(returned["value"]?["localId"] == account, "\(returned.text)")
            #expect(try await browser.value("concord.uid") == account)
            #expect(try await browser.value("location.search") == "")
            #expect(try await Self.outcome(browser, "concord.pageResult()") == ["value": .null])
            for query in ["&state=guessed&concordCode=x", "&concordCode=x", "&concordConflict=resolved"] {
                try await Self.open(app, browser, query)
                let begun = #"JSON.stringify({ state: "begun", codeVerifier: "x" })"#
                let key = "'concord:\(try Self.server.url):any:page'"
                try await browser.run("localStorage.setItem(\(key), \(begun))")
                #expect(try await Self.outcome(browser, "concord.pageResult()")["code"] == "invalid-state", "\(query)")
            }
        }
    }

    // MARK: The Firebase SDK

    @Test func `connect sets the hosts and replaces the resolver, and has to be first`() async throws {
        try await Self.open { server, _, browser in
            let host = JSONValue.string(server.url.replacing("http://", with: ""))
            let config = try await browser.value("auth.config")
            #expect(config["apiHost"] == host && config["tokenApiHost"] == host && config["authDomain"] == host)
            #expect(config["apiScheme"] == "http" && config["emulator"] == .null)
            let resolver = "auth._popupRedirectResolver"
            #expect(
                try await browser.value("\(resolver) instanceof SDKResolver && \(resolver).constructor !== SDKResolver")
                    == true
            )
            // The members of the SDK's interface, with their types.
            let members = """
                ["_shouldInitProactively", "_initialize", "_openPopup", "_openRedirect", "_isIframeWebStorageSupported",
                 "_redirectPersistence", "_originValidation", "_completeRedirectFn", "_overrideRedirectResult"]
                """
            let types = try await browser.value("\(members).map((name) => typeof \(resolver)[name])")
            let expected = ["boolean"] + Array(repeating: "function", count: 8)
            #expect(types.array?.compactMap(\.string) == expected)
            func refusal(_ call: String) async throws -> JSONValue {
                try await browser.value("(() => { try { web.connect(\(call)) } catch (e) { return e.code } })()")
            }
            let late = "{ ...auth, _canInitEmulator: false }, 'https://a.example'"
            #expect(try await refusal(late) == "already-started")
            #expect(try await refusal("auth, 'http://a.example'") == "insecure-url")
        }
    }

    @Test func `a popup of the SDK delivers its event across origins, without a frame and a library`() async throws {
        try await Self.open { server, _, browser in
            let event = try await Self.popup(browser, "SDK popup") {
                try await Self.consent(browser, email: "sdk-popup@example.com")
            }
            let signedIn = try await Self.signIn(server, event["value"] ?? .null)
            #expect(signedIn["email"] == "sdk-popup@example.com", "\(event.text) \(signedIn.text)")
            let opened = "[opened.associatedEvent === outcomes[0].value.eventId, opened.window.closed]"
            try await browser.wait(until: "opened.window.closed")
            #expect(try await browser.value(opened) == [true, true])
            #expect(try await browser.value("auth._popupRedirectResolver.validated") == 1)
            #expect(try await browser.value("document.querySelectorAll('iframe').length") == 0)
            #expect(
                try await browser.value(
                    "performance.getEntriesByType('resource').some(({ name }) => /google/.test(name))"
                ) == false
            )
        }
    }

    @Test(arguments: ["signInViaRedirect", "linkViaRedirect", "reauthViaRedirect"])
    func `a redirect of the SDK returns its event with the id that the SDK waits for`(type: String) async throws {
        try await Self.open("&sdk&type=\(type)&eventId=user:::1") { server, _, browser in
            try await browser.press("SDK redirect")
            try await Self.consent(browser, email: "sdk-\(type.lowercased())@example.com")
            try await browser.wait(until: "window.isReady")
            let returned = try await browser.value("returned")
            let event = returned["value"] ?? .null
            #expect(event["type"]?.string == type && event["eventId"] == "user:::1", "\(returned.text)")
            #expect(try await Self.signIn(server, event)["idToken"] != nil)
            #expect(try await browser.value("location.hash") == "")
            try await browser.reload()
            try await browser.wait(until: "window.isReady")
            #expect(try await browser.value("returned") == ["value": .null])
        }
    }

    @Test func `a redirect of the SDK without its event is an error, never null`() async throws {
        try await Self.open { _, app, browser in
            for (fragment, code) in [
                ("", "auth/redirect-cancelled-by-user"),
                ("#concordEvent=eyJldmVudElkIjoieCJ9", "auth/invalid-auth-event"),
            ] {
                try await Self.open(app, browser, "&sdk")
                try await browser.press("SDK redirect")
                try await browser.wait(until: "document.querySelector('#sub')?.value")
                try await Self.open(app, browser, "&sdk&back" + fragment)
                #expect(try await browser.value("returned")["code"]?.string == code)
            }
            // A tab that began nothing.
            try await Self.open(app, browser, "&sdk#concordEvent=eyJldmVudElkIjoieCJ9")
            #expect(try await browser.value("returned")["code"] == "auth/invalid-auth-event")
        }
    }

    @Test func `the event of a redirect holds no session id`() async throws {
        try await Self.open { server, app, browser in
            try await browser.press("redirect")
            try await browser.wait(until: "document.querySelector('#sub')?.value")
            // The tab forgets what it has begun, as another tab would not know it.
            try await browser.inject("if (location.hash.startsWith('#concordEvent=')) window.stolen = location.hash")
            try await Self.consent(browser, email: "stolen@example.com")
            try await browser.wait(until: "window.isReady && window.stolen")
            let event = try await browser.value(
                "JSON.parse(atob(stolen.slice(14).replaceAll('-', '+').replaceAll('_', '/')))"
            )
            #expect(event["sessionId"] == .null && event["urlResponse"] != nil, "\(event.text)")
            #expect(try await browser.value("returned")["value"]?["email"] == "stolen@example.com")
            for session: JSONValue in [.null, "guessed"] {
                let body: JSONValue = ["urlResponse": event["urlResponse"] ?? .null, "sessionId": session]
                #expect(try await Self.signIn(server, body)["error"] != nil)
            }
        }
    }
}
