import AccountTestSupport
import IdentityProviders
import JSON
import NIOHTTP1
import Testing

/// `/__/auth/handler` and `/__/auth/iframe` as web and native apps drive them: the real program, a real browser.
@Suite(.serialized, .page) struct HandlerTests {
    private static var server: DevServer {
        get throws { try #require(PageTrait.current?.server) }
    }

    /// An app of the project's, in a browser that has what its SDK loads from Google.
    private static func open(
        _ body: @Sendable (DevServer, WebApp, Browser) async throws -> Void
    ) async throws {
        let server = try server
        // `localhost` is a foreign host here.
        let domains: JSONValue = ["authorizedDomains": ["127.0.0.1"]]
        let path = "/v2/projects/demo-concord/config?updateMask=authorizedDomains"
        #expect(try await server.send(.PATCH, path, domains, bearer: "owner").status == 200)
        try await WebApp.run { app in
            try await Browser.run { browser in
                try await browser.resize(800, 800)
                try await browser.inject(WebApp.library)
                try await body(server, app, browser)
            }
        }
    }

    private static func address(
        _ app: WebApp,
        _ server: DevServer,
        host: String = "127.0.0.1",
        provider: String = "github.com"
    ) -> String {
        app.url(host) + "?provider=\(provider)&service=" + server.url
    }

    /// The request of the SDK after it received the event.
    private static func signIn(_ server: DevServer, _ event: JSONValue) async throws -> JSONValue {
        var body: [String: JSONValue] = ["returnIdpCredential": true, "returnSecureToken": true]
        body["requestUri"] = event["urlResponse"]
        body["sessionId"] = event["sessionId"]
        body["postBody"] = event["postBody"]
        return try await server.send(.POST, "/v1/accounts:signInWithIdp?key=any", .object(body)).json
    }

    private static func consent(
        _ browser: Browser,
        email: String,
        isVerified: Bool = true
    ) async throws {
        try await browser.wait(until: "document.querySelector('#sub')?.value")
        try await browser.wait(until: "document.querySelector('#outcome').ariaBusy === 'false'")
        #expect(try await browser.text("h1").hasPrefix("Sign in with "))
        try await browser.run("document.querySelector('#email').value = '\(email)'")
        if !isVerified { try await browser.run("document.querySelector('#flag-false').click()") }
        try await browser.screenshot("provider")
    }

    // MARK: Web apps

    @Test func `a popup signs in, and an unverified address opens a conflict`() async throws {
        try await Self.open { server, app, browser in
            let signUp: JSONValue = ["email": "popup@example.com", "password": "correct horse"]
            let account = try await server.send(.POST, "/v1/accounts:signUp?key=any", signUp).json["localId"]?.string
            try await browser.open(Self.address(app, server))
            try await browser.wait(until: "window.storage && events.length === 1")
            #expect(try await browser.value("events[0].error.code") == "auth/no-auth-event")
            #expect(try await browser.value("storage[0].webStorageSupport") == true)

            let window = try #require(try await browser.windows().first)
            try await browser.press("popup")
            try await browser.inPopup(of: window) {
                try await Self.consent(browser, email: "popup@example.com", isVerified: false)
                try await browser.press("Sign in")
            }
            try await browser.wait(until: "events.length === 2")
            // The popup closes itself, once the app has what it brought.
            try await browser.wait(forWindows: [window])

            let event = try await browser.value("events[1]")
            #expect(event["type"] == "signInViaPopup" && event["eventId"] == "event-1" && event["error"] == .null)
            let answer = try await Self.signIn(server, event)
            #expect(answer["needConfirmation"] == true && answer["localId"]?.string == account, "\(answer.text)")
            #expect(answer["pendingToken"] != nil && answer["idToken"] == nil)
            // `GithubAuthProvider.credentialFromError` is made of it.
            #expect(answer["oauthAccessToken"] != nil && answer["oauthIdToken"] == nil)

            let again = try await Self.signIn(server, event)
            #expect(again["error"]?["message"]?.string?.hasPrefix("INVALID_IDP_RESPONSE") == true, "\(again.text)")
        }
    }

    @Test(arguments: ["google.com", "apple.com", "facebook.com", "twitter.com", "microsoft.com"])
    func `a simulated sign-in returns the tokens of the provider`(provider: String) async throws {
        try await Self.open { server, app, browser in
            try await browser.open(Self.address(app, server, provider: provider))
            try await browser.wait(until: "events.length === 1")
            let window = try #require(try await browser.windows().first)
            try await browser.press("popup")
            try await browser.inPopup(of: window) {
                try await Self.consent(browser, email: "\(provider)@example.com")
                try await browser.press("Sign in")
            }
            try await browser.wait(until: "events.length === 2")
            try await browser.wait(forWindows: [window])
            let answer = try await Self.signIn(server, try await browser.value("events[1]"))
            #expect(answer["idToken"] != nil && answer["oauthAccessToken"] != nil, "\(answer.text)")
            let hasIDTokens = !["facebook.com", "twitter.com"].contains(provider)
            #expect((answer["oauthIdToken"] != nil) == hasIDTokens, "\(answer.text)")
            #expect((answer["oauthTokenSecret"] != nil) == (provider == "twitter.com"), "\(answer.text)")
        }
    }

    @Test func `a popup signs in with Twitter, from its request token to its profile`() async throws {
        try await ProviderSimulator<SimulatedTwitter>.run(SimulatedTwitter()) { twitter async throws in
            try await Self.open { server, app, browser in
                twitter.provider.change { $0.callback = server.url + "/emulator/auth/handler" }
                let addresses = twitter.addresses.map { ($0.key.rawValue, JSONValue.string($0.value)) }
                let registered = try await server.send(
                    .POST,
                    "/v2/projects/demo-concord/defaultSupportedIdpConfigs?idpId=twitter.com",
                    [
                        "enabled": true, "clientId": .string(SimulatedTwitter.key),
                        "clientSecret": .string(SimulatedTwitter.secret),
                        "addresses": .object(Dictionary(uniqueKeysWithValues: addresses)),
                    ],
                    bearer: "owner"
                )
                #expect(registered.status == 200, "\(registered.json.text)")
                try await browser.open(Self.address(app, server, provider: "twitter.com"))
                try await browser.wait(until: "events.length === 1")
                try await browser.press("popup")
                try await browser.wait(until: "events.length === 2")
                let answer = try await Self.signIn(server, try await browser.value("events[1]"))
                #expect(answer["idToken"] != nil && answer["providerId"] == "twitter.com", "\(answer.text)")
                #expect(answer["oauthAccessToken"] != nil && answer["oauthTokenSecret"] != nil)
                #expect(answer["screenName"]?.string?.isEmpty == false && answer["rawUserInfo"] != nil)
                let registration = "/v2/projects/demo-concord/defaultSupportedIdpConfigs/twitter.com"
                #expect(try await server.send(.DELETE, registration, bearer: "owner").status == 200)
            }
        }
    }

    @Test func `a redirect returns to the app, and its frame delivers the event once`() async throws {
        try await Self.open { server, app, browser in
            try await browser.open(Self.address(app, server))
            try await browser.wait(until: "events.length === 1")
            try await browser.press("redirect")
            try await Self.consent(browser, email: "redirect@example.com")
            try await browser.press("Sign in")
            try await browser.wait(until: "window.events?.length === 1")
            let event = try await browser.value("events[0]")
            #expect(event["type"] == "signInViaRedirect")
            let answer = try await Self.signIn(server, event)
            #expect(answer["idToken"] != nil && answer["isNewUser"] == true, "\(answer.text)")
            #expect(answer["email"] == "redirect@example.com")

            try await browser.reload()
            try await browser.wait(until: "window.events?.length === 1")
            #expect(try await browser.value("events[0].error.code") == "auth/no-auth-event")
        }
    }

    @Test func `a user who cancels at the provider returns without a session`() async throws {
        try await Self.open { server, app, browser in
            try await browser.open(Self.address(app, server))
            try await browser.wait(until: "events.length === 1")
            let window = try #require(try await browser.windows().first)
            try await browser.press("popup")
            try await browser.inPopup(of: window) {
                try await Self.consent(browser, email: "cancelled@example.com")
                try await browser.press("Cancel")
            }
            try await browser.wait(until: "events.length === 2")
            let answer = try await Self.signIn(server, try await browser.value("events[1]"))
            #expect(answer["error"]?["message"]?.string?.hasPrefix("USER_CANCELLED") == true, "\(answer.text)")
            #expect(try await server.database.rowCounts()["provider_flows"] == 0)
        }
    }

    @Test func `a page from another origin gets no response and begins no sign-in`() async throws {
        try await Self.open { server, app, browser in
            try await browser.open(Self.address(app, server, host: "localhost"))
            try await browser.wait(until: "window.storage")
            let window = try #require(try await browser.windows().first)
            try await browser.press("popup")
            try await browser.inPopup(of: window) {
                try await browser.wait(for: "Sign-in failed")
                #expect(try await browser.text("main").contains("is not registered"))
                try await browser.screenshot("handler-foreign")
            }
            #expect(try await browser.value("events.length") == 0)
            #expect(try await server.database.rowCounts()["provider_flows"] == 0)

            try await browser.press("redirect")
            try await browser.wait(for: "Sign-in failed")
            #expect(
                try await browser.value("location.pathname") == "/emulator/auth/handler",
                "the page does not continue"
            )
        }
    }

    // MARK: Native apps

    @Test(
        arguments: [
            ("appId=1:7:ios:a1", "app-1-7-ios-a1://firebaseauth/link"),
            ("clientId=7-x.apps.googleusercontent.com", "com.googleusercontent.apps.7-x://firebaseauth/link"),
            ("ibi=com.example.app", "com.example.app://google/link"),
            ("apn=com.example.app", "intent://firebase.auth/#Intent;scheme=genericidp;package=com.example.app;"),
        ]
    )
    func `a native app gets the callback on its scheme, and only it has the session id`(
        app: String,
        scheme: String
    ) async throws {
        try await Self.open { server, _, browser in
            // SHA-256 of "the secret of the app".
            let digest = "6a131169b2b5fec95aed705a94af9d85a34cf349423b005e0054c631958471c0"
            let query = "authType=signInWithRedirect&apiKey=any&providerId=github.com&eventId=e&sessionId=\(digest)&"
            try await browser.open(server.url + "/__/auth/handler?" + query + app)
            try await Self.consent(browser, email: "native-\(scheme.utf8.count)@example.com")
            try await browser.press("Sign in")
            try await browser.wait(until: "document.querySelector('main a')")
            let address = try #require(try await browser.value("document.querySelector('main a').href").string)
            #expect(address.hasPrefix(scheme), "\(address)")
            #expect(try await browser.text("main a") == "Back to the app")
            let link = try await browser.value(
                """
                ((address) => {
                  const deep = new URL(address.replace(/^[^:]+:/, "https:")).searchParams.get("deep_link_id");
                  if (deep) return new URL(deep).searchParams.get("link");
                  return decodeURIComponent(address.match(/S\\.link=([^;]+)/)[1]);
                })(document.querySelector("main a").href)
                """
            )
            // A person who saw the address of the page knows only the digest.
            let stolen = try await Self.signIn(server, ["urlResponse": link, "sessionId": .string(digest)])
            #expect(stolen["error"] != nil, "\(stolen.text)")
            let event: JSONValue = ["urlResponse": link, "sessionId": "the secret of the app"]
            let answer = try await Self.signIn(server, event)
            #expect(answer["idToken"] != nil, "\(answer.text)")
        }
    }

    @Test func `a native app without a scheme gets the callback on its port of 127.0.0.1`() async throws {
        try await Self.open { server, app, browser in
            // SHA-256 of "the secret of the app".
            let digest = "6a131169b2b5fec95aed705a94af9d85a34cf349423b005e0054c631958471c0"
            let port = app.url("127.0.0.1").split(separator: ":")[2].prefix { $0.isNumber }
            let query = "authType=signInWithRedirect&apiKey=any&providerId=github.com&eventId=e&sessionId=\(digest)"
            try await browser.open(server.url + "/__/auth/handler?\(query)&loopback=\(port)")
            try await Self.consent(browser, email: "loopback@example.com")
            try await browser.press("Sign in")
            try await browser.wait(until: "location.pathname === '/link'")
            #expect(try await browser.value("location.host").string == "127.0.0.1:\(port)")
            let deep = "new URL(new URLSearchParams(location.search).get('deep_link_id')).searchParams"
            #expect(try await browser.value("\(deep).get('eventId')") == "e")
            let link = try await browser.value("\(deep).get('link')")
            let stolen = try await Self.signIn(server, ["urlResponse": link, "sessionId": .string(digest)])
            #expect(stolen["error"] != nil, "\(stolen.text)")
            let answer = try await Self.signIn(server, ["urlResponse": link, "sessionId": "the secret of the app"])
            #expect(answer["idToken"] != nil, "\(answer.text)")
        }
    }

    @Test func `a port gets no callback unless the project names 127.0.0.1`() async throws {
        try await Self.open { server, app, browser in
            let domains: JSONValue = ["authorizedDomains": ["localhost"]]
            let path = "/v2/projects/demo-concord/config?updateMask=authorizedDomains"
            #expect(try await server.send(.PATCH, path, domains, bearer: "owner").status == 200)
            let port = app.url("127.0.0.1").split(separator: ":")[2].prefix { $0.isNumber }
            let query = "authType=signInWithRedirect&apiKey=any&providerId=github.com&sessionId=00&loopback=\(port)"
            try await browser.open(server.url + "/__/auth/handler?" + query)
            try await browser.wait(for: "Sign-in failed")
            #expect(try await browser.text("main").contains("is not registered"))
            #expect(try await server.database.rowCounts()["provider_flows"] == 0)
        }
    }

    @Test(arguments: [("reauthViaRedirect", true), ("signInViaRedirect", false), ("linkViaRedirect", false)])
    func `only a reauthentication requests a new sign-in at the provider`(type: String, asks: Bool) async throws {
        try await Self.open { server, app, browser in
            let query =
                "authType=\(type)&apiKey=any&providerId=github.com&appName=app&redirectUrl=" + app.url("127.0.0.1")
            try await browser.open(server.url + "/emulator/auth/handler?" + query)
            try await browser.wait(until: "document.querySelector('#sub')?.value")
            #expect(try await browser.value("location.search.includes('prompt=login')") == .bool(asks))
            // The next test has the same window and database, and no sign-in under way.
            try await browser.run("sessionStorage.clear()")
            try await server.database.execute("DELETE FROM provider_flows")
        }
    }

    // MARK: What goes wrong

    @Test func `a callback that this window did not request is ignored`() async throws {
        try await Self.open { server, _, browser in
            try await browser.open(server.url + "/__/auth/handler?state=stranger&code=stranger")
            try await browser.wait(for: "Sign-in failed")
            #expect(try await browser.text("main").contains("did not start in this window"))
            try await browser.screenshot("handler-not-begun")
            try await browser.prefer("th")
            try await browser.open(server.url + "/__/auth/handler?state=stranger&code=stranger")
            try await browser.wait(for: "ลงชื่อเข้าใช้ไม่สำเร็จ")
        }
    }

    @Test(
        arguments: [
            "apiKey=any", "providerId=github.com&authType=signInViaPopup&apiKey=any",
            "apiKey=any&providerId=github.com&authType=signInWithRedirect&ibi=com.example.app",
            "apiKey=any&providerId=github.com&authType=signInWithRedirect&sessionId=00&ibi=https",
            "apiKey=any&providerId=github.com&authType=signInWithRedirect&sessionId=00&ibi=javascript:alert(1)//a.b",
            "apiKey=any&providerId=github.com&authType=signInWithRedirect&sessionId=00&apn=a.b%3BS.x%3Dy",
            "apiKey=any&providerId=github.com&authType=signInWithRedirect&sessionId=00&loopback=0",
            "apiKey=any&providerId=github.com&authType=signInWithRedirect&sessionId=00&loopback=65536",
            "apiKey=any&providerId=github.com&authType=signInWithRedirect&sessionId=00&loopback=80.evil.example",
            "apiKey=any&providerId=github.com&authType=signInWithRedirect&sessionId=00&loopback=80&ibi=com.example.app",
            "apiKey=any&providerId=github.com&authType=signInViaRedirect&receiver=opener&redirectUrl=http://127.0.0.1/",
            "apiKey=any&providerId=github.com&authType=signInViaRedirect&receiver=fragment&redirectUrl=http://127.0.0.1/",
            // No page of the app asks: its redirect could pass the fragment on.
            "apiKey=any&providerId=github.com&authType=signInViaRedirect&receiver=fragment&redirectUrl=http://127.0.0.1/"
                + "&sessionId=00",
            "apiKey=any&authType=verifyApp&appName=signin&redirectUrl=http://127.0.0.1/",
            "apiKey=any&providerId=github.com&authType=nonsense&appName=a&redirectUrl=http://127.0.0.1/",
            "apiKey=any&providerId=github.com&authType=signInViaRedirect&appName=a&redirectUrl=javascript:alert(1)",
        ]
    )
    func `a handler with an incomplete request shows an error and begins nothing`(query: String) async throws {
        try await Self.open { server, _, browser in
            try await browser.open(server.url + "/__/auth/handler?" + query)
            try await browser.wait(for: "Sign-in failed")
            #expect(try await server.database.rowCounts()["provider_flows"] == 0)
        }
    }
}
