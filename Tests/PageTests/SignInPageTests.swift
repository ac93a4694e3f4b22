import AccountTestSupport
import JSON
import NIOHTTP1
import Testing

/// `/signin` in a real browser, with real mails and simulated providers.
@Suite(.serialized, .page) struct SignInPageTests {
    private static var server: DevServer {
        get throws { try #require(PageTrait.current?.server) }
    }

    /// RFC 7636, appendix B.
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    private static let password = "correct horse battery"

    private static let start = "Sign in to the app"
    private static let done = "You are signed in"

    // MARK: Steps

    /// An app that wants no session, so that the page waits at its end.
    private static var backToApp: String {
        get throws { "continueUrl=\(encoded(try server.url + "/healthz"))&state=s" }
    }

    private static func encoded(_ text: String) -> String {
        text.replacing(":", with: "%3A").replacing("/", with: "%2F")
    }

    /// Opens the page in a browser that remembers no account.
    private func open(_ browser: Browser, _ fragment: String? = nil) async throws {
        try await browser.open(try Self.server.url + "/signin")
        try await browser.wait(for: Self.start)
        try await browser.run("localStorage.clear(); sessionStorage.clear()")
        try await openAgain(browser, fragment)
    }

    private func openAgain(_ browser: Browser, _ fragment: String? = nil) async throws {
        let named = try fragment ?? Self.backToApp
        try await browser.open(try Self.server.url + "/signin#" + named)
        try await browser.wait(until: "location.hash === '' && \(Browser.isIdle)")
    }

    private func fill(_ browser: Browser, _ field: String, _ text: String) async throws {
        try await browser.wait(until: "document.getElementById('\(field)')")
        try await browser.run("document.getElementById('\(field)').focus(); document.activeElement.select()")
        try await browser.type(text)
    }

    /// Enters the address, up to the step that is the same for every address.
    private func identify(_ browser: Browser, _ email: String) async throws {
        try await fill(browser, "email-field", email)
        try await browser.press("Continue")
        try await browser.wait(until: "document.querySelector('.who')?.innerText === '\(email)' && \(Browser.isIdle)")
    }

    private func signIn(_ browser: Browser, password: String = Self.password) async throws {
        try await fill(browser, "password-field", password)
        try await browser.press("Sign in")
    }

    private func enterCode(_ browser: Browser, _ code: String, _ button: String = "Continue") async throws {
        try await fill(browser, "code-field", code)
        try await browser.press(button)
    }

    private func problem(_ browser: Browser, contains text: String) async throws {
        let place = "document.getElementById('problem').innerText"
        try await browser.wait(until: "\(place).includes(\(JSONValue.string(text).text)) && \(Browser.isIdle)")
    }

    /// The consent page of a simulated provider.
    private func consent(
        _ browser: Browser,
        _ subject: String,
        email: String,
        isVerified: Bool = true
    ) async throws {
        try await browser.wait(until: "document.querySelector('#sub')?.value")
        try await browser.wait(until: "document.querySelector('#outcome').ariaBusy === 'false'")
        try await browser.run("document.querySelector('#sub').value = '\(subject)'")
        try await browser.run("document.querySelector('#email').value = '\(email)'")
        if !isVerified { try await browser.run("document.querySelector('#flag-false').click()") }
        try await browser.press("Sign in")
    }

    /// Without an app, the page of the account may open.
    private func waitUntilSignedIn(_ browser: Browser) async throws {
        let isDone = "document.querySelector('h1')?.textContent === '\(Self.done)'"
        try await browser.wait(until: "location.pathname === '/account' || \(isDone)")
    }

    private func stored(_ browser: Browser) async throws -> String {
        try await browser.value("JSON.stringify(localStorage)").string ?? ""
    }

    // MARK: Accounts and mails

    @discardableResult
    private func signUp(_ email: String, isProven: Bool = false) async throws -> JSONValue {
        let server = try Self.server
        let body: JSONValue = ["email": .string(email), "password": .string(Self.password), "returnSecureToken": true]
        let account = try await server.send(.POST, "/v1/accounts:signUp?key=any", body).json
        let id = try #require(account["localId"], "\(account.text)")
        guard isProven else { return account }
        let proven: JSONValue = ["localId": id, "emailVerified": true]
        #expect(try await server.send(.POST, "/v1/accounts:update", proven, bearer: "owner").status == 200)
        let session = try await server.send(.POST, "/v1/accounts:signInWithPassword?key=any", body)
        return session.json
    }

    /// An account with Google alone, whose address is proven: Google manages `gmail.com`.
    @discardableResult
    private func signUpWithGoogle(_ email: String) async throws -> JSONValue {
        let token: JSONValue = ["sub": .string("google-\(email)"), "email": .string(email), "email_verified": true]
        let body: JSONValue = [
            "requestUri": "http://localhost", "returnSecureToken": true,
            "postBody": .string("providerId=google.com&id_token=\(token.text)"),
        ]
        let account = try await Self.server.send(.POST, "/v1/accounts:signInWithIdp?key=any", body).json
        #expect(account["localId"] != nil, "\(account.text)")
        return account
    }

    /// The account as an administrator reads it.
    private func account(_ email: String) async throws -> JSONValue {
        let body: JSONValue = ["email": [.string(email)]]
        let found = try await Self.server.send(.POST, "/v1/accounts:lookup", body, bearer: "owner").json
        return found["users"]?.array?.first ?? .null
    }

    private func providers(_ email: String) async throws -> [String] {
        let linked = try await account(email)["providerUserInfo"]?.array ?? []
        return linked.compactMap { $0["providerId"]?.string }.sorted()
    }

    private func mails(_ email: String, _ type: String) async throws -> [JSONValue] {
        let messages = try await Self.server.send(.GET, "/inbox/messages").json["messages"]?.array ?? []
        return messages.filter { $0["to"]?.string == email && $0["type"]?.string == type }
    }

    /// The newest mail: its code, and its links by the end of each.
    private func mail(_ email: String, _ type: String) async throws -> (code: String, links: [String]) {
        let newest = try #require(try await mails(email, type).first)
        let links = (newest["text"]?.string ?? "").matches(of: #/https?:\/\/[^\s<>]+/#).map { String($0.output) }
        return (newest["code"]?.string ?? "", links)
    }

    private func configure(_ field: String, _ value: JSONValue) async throws {
        let path = "/v2/projects/demo-concord/config?updateMask=\(field)"
        let names = field.split(separator: ".").reversed()
        let body = names.reduce(value) { inner, name in [String(name): inner] }
        let answer = try await Self.server.send(.PATCH, path, body, bearer: "owner")
        #expect(answer.status == 200, "\(answer.json.text)")
    }

    // MARK: Passwords and this device

    @Test func `a browser remembers the account and the method used last, until the person forgets them`() async throws
    {
        let email = "remember@example.com"
        try await signUp(email)
        try await Browser.run { browser in
            try await open(browser)
            try await browser.expectReadable("signin-1-start")
            try await browser.press("Continue")
            try await problem(browser, contains: "Enter your email address")
            try await identify(browser, email)
            try await browser.expectReadable("signin-2-ways")
            try await signIn(browser)
            try await browser.wait(for: Self.done)
            try await browser.expectReadable("signin-3-done")
            let state = try await browser.value("JSON.stringify(history.state)").string ?? ""
            #expect(!state.contains("eyJ"), "no ID token is stored: \(state)")
            #expect(try await !stored(browser).contains("eyJ"))

            try await openAgain(browser)
            try await browser.wait(for: Self.start)
            try await browser.expectReadable("signin-4-known")
            try await browser.press("Continue as r…@example.com Used last: Password")
            try await browser.wait(until: "document.getElementById('password-field')")
            #expect(try await !browser.text("main").contains("Continue with Google"))
            try await signIn(browser)
            try await browser.wait(for: Self.done)

            // The device token names the methods without a mail.
            try await openAgain(browser)
            try await browser.wait(for: Self.start)
            try await identify(browser, email)
            try await browser.wait(for: "Choose how to sign in")
            try await browser.expectReadable("signin-5-known-methods")
            #expect(try await mails(email, "LOOKUP") == [])
            try await browser.press("Use another address")
            try await browser.wait(for: Self.start)
            try await browser.press("Forget the accounts on this device")
            try await browser.wait(until: "localStorage.length === 0 && \(Browser.isIdle)")
            #expect(try await !browser.text("main").contains("Continue as"))
        }
    }

    @Test func `every address gets the same step, and a wrong password leads to the mail`() async throws {
        let email = "wrong@gmail.com"
        try await signUp(email, isProven: true)
        try await Browser.run { browser in
            var seen: Set<String> = []
            for one in [email, "nobody@gmail.com"] {
                try await open(browser)
                try await identify(browser, one)
                seen.insert(try await browser.text("main").replacing(one, with: "ADDRESS"))
                try await signIn(browser, password: "wrong password")
                try await problem(browser, contains: "The address or the password is wrong.")
                #expect(try await browser.focused == "", "the field has the focus")
                seen.insert(try await browser.text("main").replacing(one, with: "ADDRESS"))
                try await browser.press("Email me how to sign in")
                try await browser.wait(for: "Check your email")
                seen.insert(try await browser.text("main").replacing(one, with: "ADDRESS"))
            }
            #expect(seen.count == 3, "\(seen)")
            try await openAgain(browser)
            try await browser.wait(for: Self.start)
            try await identify(browser, email)
            try await browser.press("Email me how to sign in")
            try await browser.wait(for: "Check your email")
            try await browser.expectReadable("signin-6-mailed")
            try await enterCode(browser, "123")
            try await problem(browser, contains: "Enter all digits")
            try await enterCode(browser, "00000000")
            try await problem(browser, contains: "The code is wrong")
            try await enterCode(browser, try await mail(email, "LOOKUP").code)
            try await browser.wait(for: "Choose how to sign in")
            try await browser.expectReadable("signin-7-methods")
            try await browser.press("Sign in with this email")
            try await browser.wait(for: Self.done)
        }
    }

    @Test func `someone who is not sure of the address has both mailed, and the code of either signs in`() async throws
    {
        let (email, other) = ("sure@gmail.com", "unsure@gmail.com")
        try await signUp(email, isProven: true)
        try await Browser.run { browser in
            try await open(browser)
            try await identify(browser, other)
            try await signIn(browser, password: "wrong password")
            try await problem(browser, contains: "The address or the password is wrong.")
            try await browser.run("document.querySelector('summary').click()")
            try await browser.expectReadable("signin-28-unsure")
            for wrong in ["", "nonsense", other.uppercased()] {
                try await fill(browser, "other-field", wrong)
                try await browser.press("Email both addresses")
                try await problem(browser, contains: "Enter the other email address")
            }
            #expect(try await mails(email, "LOOKUP").isEmpty, "no address gets a mail alone")
            try await fill(browser, "other-field", email)
            try await browser.press("Email both addresses")
            try await browser.wait(for: "Check your email")
            #expect(try await browser.text("main").contains("\(other) and \(email)"))
            try await enterCode(browser, try await mail(email, "LOOKUP").code)
            try await browser.wait(for: "Choose how to sign in")
            try await browser.press("Sign in with this email")
            try await browser.wait(for: Self.done)
            #expect(try await account(other) == .null)
        }
    }

    @Test
    func `a sign-in to another account offers the one that is signed in neither first nor at all, and refuses it`()
        async throws
    {
        let (email, other) = ("signed-in-already@gmail.com", "other-of-two@example.com")
        let id = try #require(try await signUpWithGoogle(email)["localId"]?.string)
        try await signUp(other)
        let fragment = try "\(Self.backToApp)&except=\(id)&exceptEmail=\(email)"
        try await Browser.run { browser in
            try await open(browser)
            let known: JSONValue = [["email": .string(email), "method": "google.com"]]
            let stored = JSONValue.string(known.text).text
            try await browser.run("localStorage.setItem('concord:accounts', \(stored))")
            try await openAgain(browser, fragment)
            #expect(try await browser.text("main").contains("Sign in to your other account here."))
            #expect(try await browser.value("document.querySelector('.accounts')") == .null)
            try await browser.expectReadable("signin-29-other-account")

            let refusal = "You are signed in to this account already. Sign in to the other one."
            try await fill(browser, "email-field", email.uppercased())
            try await browser.press("Continue")
            try await problem(browser, contains: refusal)
            #expect(try await browser.text("h1") == Self.start)

            // Only the sign-in shows which account a provider's answer enters. Its session ends.
            try await browser.press("Continue with Google")
            try await consent(browser, "google-\(email)", email: email)
            try await browser.wait(for: Self.start)
            try await problem(browser, contains: refusal)
            #expect(try await browser.value("history.state.refreshToken ?? null") == .null)
            #expect(try await browser.value("document.querySelector('.accounts')") == .null)

            try await identify(browser, other)
            try await signIn(browser)
            try await browser.wait(for: Self.done)
            #expect(try await browser.text("main").contains(other))
        }
    }

    @Test func `the keyboard alone signs in, and the focus follows the steps`() async throws {
        let email = "keyboard@example.com"
        try await signUp(email)
        try await Browser.run { browser in
            try await open(browser)
            try await browser.run("document.getElementById('email-field').focus()")
            try await browser.type(email + Browser.Key.enter)
            try await browser.wait(until: "document.getElementById('password-field') && \(Browser.isIdle)")
            #expect(try await browser.value("document.activeElement.tagName") == "H1")
            try await browser.type(Browser.Key.tab)
            #expect(try await browser.value("document.activeElement.id") == "password-field")
            #expect(try await browser.value("document.activeElement.autocomplete") == "current-password")
            #expect(
                try await browser.value("document.querySelector('[autocomplete=username]').value") == .string(email)
            )
            try await browser.type(Self.password + Browser.Key.enter)
            try await browser.wait(for: Self.done)
            #expect(try await browser.focused == Self.done)
            try await browser.tab(to: "Back to the app")
        }
    }

    // MARK: Mails

    @Test func `a mail scanner that opens every button changes nothing, and the button signs in`() async throws {
        let email = "scanner@gmail.com"
        try await signUpWithGoogle(email)
        let before = try await account(email)
        let lookup: JSONValue = ["email": .string(email), "continueUrl": "http://localhost:3000/app"]
        #expect(try await Self.server.send(.POST, "/concord/v1/lookup", lookup).status == 202)
        let links = try await mail(email, "LOOKUP").links
        #expect(links.count == 3, "\(links)")
        try await Browser.run { browser in
            for link in links {
                for _ in 1...3 {
                    try await browser.open(link)
                    try await browser.wait(for: Self.start)
                    #expect(try await browser.value("location.hash") == "", "the secret leaves the address")
                }
            }
            #expect(try await account(email) == before)
            try await browser.expectReadable("signin-8-arrived")
            let link = try #require(links.first { $0.contains("way=emailLink") })
            try await browser.open(link)
            try await browser.wait(for: Self.start)
            try await browser.press("Sign in")
            try await browser.wait(for: Self.done)
            #expect(try await browser.text("main").contains("Back to the app"))

            // The mail is used now. Its button for Google still leads to Google.
            try await browser.open(try #require(links.first { $0.contains("way=google.com") }))
            try await browser.wait(for: Self.start)
            try await browser.press("Continue with Google")
            try await consent(browser, "google-\(email)", email: email)
            try await browser.wait(for: Self.done)
            try await browser.open(link)
            try await browser.wait(for: Self.start)
            try await browser.press("Sign in")
            try await problem(browser, contains: "no longer valid")
        }
    }

    @Test func `the mail sets a first password and keeps the provider`() async throws {
        let email = "first-password@gmail.com"
        try await signUpWithGoogle(email)
        let lookup: JSONValue = ["email": .string(email), "continueUrl": "http://localhost:3000/app"]
        #expect(try await Self.server.send(.POST, "/concord/v1/lookup", lookup).status == 202)
        let links = try await mail(email, "LOOKUP").links
        try await Browser.run { browser in
            try await browser.open(try #require(links.first { $0.contains("way=setPassword") }))
            try await browser.wait(for: Self.start)
            try await browser.press("Set a password")
            try await browser.wait(for: "Choose a new password")
            try await browser.expectReadable("signin-9-new-password")
            try await fill(browser, "password-field", "abc")
            try await browser.press("Save and sign in")
            try await problem(browser, contains: "does not meet the requirements")
            // The new password is saved, but the answer to the sign-in is lost.
            try await browser.run(
                """
                const send = window.fetch;
                window.fetch = (address, request) =>
                  String(address).includes("signInWithPassword") && !window.isBack
                    ? Promise.reject(new TypeError("the connection is gone")) : send(address, request);
                """
            )
            try await fill(browser, "password-field", Self.password)
            try await browser.press("Save and sign in")
            try await problem(browser, contains: "There is no connection")
            try await browser.run("window.isBack = true")
            try await signIn(browser)
            try await browser.wait(for: Self.done)
            #expect(try await providers(email) == ["google.com", "password"])
        }
    }

    @Test func `a stranger's link signs in only after the page shows whose account it is`() async throws {
        let email = "stranger@gmail.com"
        try await signUpWithGoogle(email)
        let back = try Self.backToApp
        for named in ["", "&email=victim%40example.com"] {
            let lookup: JSONValue = ["email": .string(email)]
            #expect(try await Self.server.send(.POST, "/concord/v1/lookup", lookup).status == 202)
            let links = try await mail(email, "LOOKUP").links
            let link = try #require(links.first { $0.contains("way=emailLink") })
            #expect(link.contains("&email=stranger%40gmail.com&"), "the link of the mail names the account")
            let fragment = try #require(link.split(separator: "#").last)
            let changed = fragment.replacing("&email=stranger%40gmail.com", with: named)
            try await Browser.run { browser in
                try await open(browser, "\(changed)&\(back)")
                #expect(try await browser.text("main").contains("victim@example.com") == !named.isEmpty)
                try await browser.press("Sign in")
                try await browser.wait(for: "Choose how to sign in")
                #expect(try await browser.text("main").contains(email))
                #expect(try await !browser.text("main").contains("victim@example.com"))
                #expect(try await browser.value("history.state.refreshToken ?? null") == .null)
                try await browser.press("Sign in with this email")
                try await browser.wait(for: Self.done)
                #expect(try await browser.text("main").contains(email))
            }
        }
    }

    @Test func `of a link, the page shows addresses and methods, and no other text`() async throws {
        try await Browser.run { browser in
            try await open(browser, "email=call%20555-0100&way=emailLink")
            try await browser.wait(for: Self.start)
            #expect(try await !browser.text("main").contains("555"))
            let methods = "constructor,google.com,call%20555-0100"
            try await openAgain(browser, "mode=reauthenticate&email=ada%40example.com&methods=\(methods)")
            try await browser.wait(for: "Confirm that it is you")
            #expect(try await browser.text("main").contains("Continue with Google"))
            #expect(try await !browser.text("main").contains("555"))
            #expect(try await !browser.text("main").contains("native code"))

            // A sign-up that does not exist, and a link without the secret that its button needs.
            try await openAgain(browser, "signUp=abc")
            try await browser.wait(for: "This cannot be finished here")
            try await openAgain(browser, "email=ada%40example.com&way=setPassword")
            try await browser.press("Set a password")
            try await browser.wait(for: "Check your email")
        }
    }

    /// Signs in by a password. The answer arrives after `script` has led to another visit of this tab, which the event
    /// reports, and while the page of the sign-in still runs.
    private func signIn(_ browser: Browser, interruptedBy script: String, _ event: String) async throws {
        try await fill(browser, "password-field", Self.password)
        try await browser.run(
            """
            window.isLeft = true;
            const send = window.fetch;
            window.fetch = async (address, request) => {
              const answer = await send(address, request);
              if (!String(address).includes("signInWithPassword")) return answer;
              const text = await answer.text();
              const { ok, status, headers } = answer;
              const hasLeft = new Promise((resolve) => addEventListener("\(event)", resolve));
              \(script);
              await hasLeft;
              return { ok, status, headers, text: async () => text };
            };
            """
        )
        try await browser.press("Sign in")
        try await browser.wait(until: "!window.isLeft && document.querySelector('h1') && \(Browser.isIdle)")
    }

    @Test func `going back during a sign-in gives its session to no earlier app`() async throws {
        let email = "went-back@example.com"
        try await signUp(email)
        try await Browser.run { browser in
            try await open(browser, "continueUrl=https%3A%2F%2Fevil.example%2F")
            try await browser.run("location.hash = '\(try Self.backToApp)'")
            try await browser.wait(until: "history.state.app.state === 's' && \(Browser.isIdle)")
            try await identify(browser, email)
            try await signIn(browser, interruptedBy: "history.back()", "popstate")
            #expect(try await browser.text("h1") == Self.start)
            #expect(try await browser.value("history.state.app.continueUrl") == "https://evil.example/")
            #expect(try await browser.value("history.state.refreshToken ?? null") == .null)
        }
    }

    @Test func `a link that opens during a sign-in gets neither its session nor its app`() async throws {
        let email = "interrupted@example.com"
        try await signUp(email)
        try await Browser.run { browser in
            try await open(browser)
            try await identify(browser, email)
            let link = "location.hash = 'email=other%40example.com&continueUrl=https%3A%2F%2Fevil.example%2F'"
            try await signIn(browser, interruptedBy: link, "hashchange")
            #expect(try await browser.value("document.getElementById('email-field')?.value") == "other@example.com")
            #expect(try await browser.value("history.state.refreshToken ?? null") == .null)
            #expect(try await browser.value("history.state.app.continueUrl") == "https://evil.example/")
            try await browser.reload()
            try await browser.wait(for: Self.start)
        }
    }

    @Test func `a session that ended elsewhere before the app got it leads back to the start`() async throws {
        let email = "ended-before@example.com"
        let idToken = try #require(try await signUp(email)["idToken"]?.string)
        try await Browser.run { browser in
            try await open(browser)
            try await identify(browser, email)
            try await signIn(browser)
            try await browser.wait(for: Self.done)
            let all = "/concord/v1/account/sessions"
            #expect(try await Self.server.send(.DELETE, all, bearer: idToken).status == 200)
            // An app that wants the session.
            let app = "{ ...history.state.app, codeChallenge: '\(Self.challenge)' }"
            try await browser.run("history.replaceState({ ...history.state, app: \(app) }, '')")
            try await browser.reload()
            try await browser.wait(for: Self.done)
            try await browser.press("Back to the app")
            try await problem(browser, contains: "Your session has ended. Sign in again.")
            try await browser.wait(for: Self.start)
        }
    }

    // MARK: Providers

    @Test func `a first sign-in with a provider asks before it creates an account`() async throws {
        let email = "first@gmail.com"
        try await Browser.run { browser in
            try await open(browser)
            try await browser.press("Continue with Google")
            try await consent(browser, "google-\(email)", email: email)
            try await browser.wait(for: "Is this your first visit?")
            #expect(try await account(email) == .null)
            #expect(try await browser.value("sessionStorage.getItem('concord:signin')") == .null)
            try await browser.expectReadable("signin-10-first")
            try await browser.press("Create an account")
            try await browser.wait(for: Self.done)
            #expect(try await providers(email) == ["google.com"])

            // The account exists now: nothing asks again.
            try await openAgain(browser)
            try await browser.wait(for: Self.start)
            try await browser.press("Continue as f…@gmail.com Used last: Google")
            try await consent(browser, "google-\(email)", email: email)
            try await browser.wait(for: Self.done)
        }
    }

    @Test func `a browser that returns to a provider stays one device`() async throws {
        let email = "one-device@gmail.com"
        let server = try Self.server
        let idToken = try #require(try await signUpWithGoogle(email)["idToken"]?.string)
        try await Browser.run { browser in
            try await open(browser)
            for _ in 1...2 {
                try await browser.press("Continue with Google")
                try await consent(browser, "google-\(email)", email: email)
                try await browser.wait(for: Self.done)
                // The id of a device depends on the second of its sign-in.
                try await Task.sleep(for: .seconds(1))
                try await openAgain(browser)
                try await browser.wait(for: Self.start)
            }
        }
        let devices = try await server.send(.GET, "/concord/v1/account/sessions", bearer: idToken).json["devices"]
        #expect(devices?.array?.count == 1, "\(devices?.text ?? "")")
    }

    @Test func `someone with another account signs in to it, and the provider is linked there`() async throws {
        let email = "own@example.com"
        let other = "work@example.com"
        try await signUp(email)
        try await Browser.run { browser in
            try await open(browser)
            try await browser.press("Continue with GitHub")
            try await consent(browser, "github-of-own", email: other)
            try await browser.wait(for: "Is this your first visit?")
            try await browser.press("Email me how to sign in")
            try await problem(browser, contains: "email address")
            try await fill(browser, "email-field", email)
            try await browser.connect(false)
            try await browser.press("Email me how to sign in")
            try await problem(browser, contains: "There is no connection")
            #expect(try await browser.text("main").contains("GitHub is connected to it afterwards."))
            try await browser.connect(true)
            try await browser.press("Email me how to sign in")
            try await browser.wait(for: "Check your email")
            #expect(try await mail(email, "LOOKUP").code.isEmpty == false)
            try await browser.press("Sign in another way")
            try await browser.wait(until: "document.getElementById('password-field') && \(Browser.isIdle)")
            #expect(try await browser.text("main").contains("GitHub is connected to it afterwards."))
            #expect(try await !browser.text("main").contains("Continue with GitHub"))
            #expect(try await !browser.text("main").contains("Create an account"))
            try await browser.expectReadable("signin-11-waiting")

            // GitHub also waits while the person changes the address.
            try await browser.press("Use another address")
            try await browser.wait(until: "document.getElementById('email-field') && \(Browser.isIdle)")
            #expect(try await browser.text("main").contains("GitHub is connected to it afterwards."))
            try await identify(browser, email)
            try await signIn(browser)
            try await browser.wait(for: Self.done)
            #expect(try await browser.text("main").contains("GitHub is connected."))
            try await browser.expectReadable("signin-12-linked")
            #expect(try await providers(email) == ["github.com", "password"])
            #expect(try await account(other) == .null, "there is no second account")
        }
    }

    @Test func `a conflict is proven by mail and linked on the same page`() async throws {
        let email = "conflict@example.com"
        try await signUp(email)
        try await Browser.run { browser in
            try await open(browser)
            try await browser.press("Continue with GitHub")
            try await consent(browser, "github-\(email)", email: email, isVerified: false)
            try await browser.wait(for: "Is this account yours?")
            try await browser.expectReadable("signin-13-conflict")
            try await browser.press("Email me a code")
            try await browser.wait(for: "Check your email")
            try await browser.expectReadable("signin-14-conflict-code")
            try await enterCode(browser, "00000000")
            try await problem(browser, contains: "The code is wrong")
            try await enterCode(browser, try await mail(email, "CONFLICT_PROOF").code)
            try await browser.wait(for: "Connect GitHub")
            // The page names what stops working before the press.
            #expect(try await browser.text("main").contains("stops working"))
            try await browser.expectReadable("signin-15-link")
            #expect(try await providers(email) == ["password"])
            try await browser.press("Connect GitHub")
            try await browser.wait(for: Self.done)
            try await browser.expectReadable("signin-16-suspended")
            #expect(try await providers(email) == ["github.com"])
        }
    }

    @Test func `a conflict is proven by the method that the account has`() async throws {
        let email = "conflict-google@gmail.com"
        try await signUpWithGoogle(email)
        try await Browser.run { browser in
            try await open(browser)
            try await browser.press("Continue with GitHub")
            try await consent(browser, "github-\(email)", email: email, isVerified: false)
            try await browser.wait(for: "Is this account yours?")
            try await browser.press("Sign in the way I did before")
            try await browser.wait(for: Self.start)
            #expect(try await browser.value("document.getElementById('email-field').value") == .string(email))
            try await browser.press("Continue with Google")
            try await consent(browser, "google-\(email)", email: email)
            try await browser.wait(for: "Connect GitHub")
            try await browser.press("Connect GitHub")
            try await browser.wait(for: Self.done)
            #expect(try await providers(email) == ["github.com", "google.com"])
        }
    }

    @Test func `someone who cancels at the provider can choose again`() async throws {
        try await Browser.run { browser in
            try await open(browser)
            try await browser.press("Continue with GitHub")
            try await browser.wait(until: "document.querySelector('#sub')?.value")
            try await browser.press("Cancel")
            try await browser.wait(until: "location.pathname === '/signin'")
            try await problem(browser, contains: "You cancelled the sign-in")
        }
    }

    // MARK: Registration

    @Test func `someone registers with a password, and an address with an account leads to its sign-in`() async throws {
        let email = "register@example.com"
        try await Browser.run { browser in
            try await open(browser)
            try await browser.press("Create an account")
            try await browser.wait(for: "Create an account")
            try await browser.expectReadable("signin-17-register")
            try await fill(browser, "email-field", email)
            try await fill(browser, "password-field", "abc")
            try await browser.press("Create account")
            try await problem(browser, contains: "does not meet the requirements")
            try await fill(browser, "password-field", Self.password)
            try await browser.press("Create account")
            try await browser.wait(for: Self.done)

            try await open(browser)
            try await browser.press("Create an account")
            try await browser.wait(for: "Create an account")
            try await fill(browser, "email-field", email)
            try await fill(browser, "password-field", Self.password)
            try await browser.press("Create account")
            try await problem(browser, contains: "already exists")
            try await signIn(browser)
            try await browser.wait(for: Self.done)
        }
    }

    @Test func `where the mailbox comes first, the link of the mail leads to the password`() async throws {
        let email = "mailbox@example.com"
        try await configure("concord.signUp.requires", "mailbox")
        try await Browser.run { browser in
            try await open(browser)
            try await browser.press("Create an account")
            try await browser.wait(for: "Create an account")
            try await browser.expectReadable("signin-18-register-mailbox")
            try await fill(browser, "email-field", email)
            try await browser.press("Continue")
            try await browser.wait(for: "Check your email")
            try await browser.expectReadable("signin-19-registered")
            let link = try #require(try await mail(email, "SIGN_UP_MAILBOX").links.first)
            for _ in 1...3 {
                try await browser.open(link)
                try await browser.wait(for: "Continue to the app")
            }
            try await browser.expectReadable("signin-20-arrived-sign-up")
            #expect(try await account(email) == .null, "opening the link creates nothing")
            try await browser.press("Continue")
            try await browser.wait(for: "Your email address is verified")
            try await browser.expectReadable("signin-21-sign-up")
            try await fill(browser, "password-field", Self.password)
            try await browser.press("Create account")
            try await waitUntilSignedIn(browser)
            #expect(try await account(email)["emailVerified"] == true)

            try await browser.open(link)
            try await browser.wait(for: "Continue to the app")
            try await browser.press("Continue")
            try await browser.wait(for: "This cannot be finished here")
            try await browser.expectReadable("signin-22-stopped")
        }
        try await configure("concord.signUp.requires", "none")
    }

    @Test func `where unproven addresses are confirmed, the code says whether an account exists`() async throws {
        let (new, used) = ("confirm-new@example.com", "confirm-used@example.com")
        try await signUp(used)
        try await configure("linkPolicy.unprovenAddress", "confirm")
        try await Browser.run { browser in
            var seen: Set<String> = []
            for email in [new, used] {
                try await open(browser)
                try await browser.press("Continue with GitHub")
                try await consent(browser, "github-\(email)", email: email, isVerified: false)
                try await browser.wait(for: "Check your email")
                seen.insert(try await browser.text("main").replacing(email, with: "ADDRESS"))
                try await enterCode(browser, try await mail(email, "SIGN_UP_MAILBOX").code)
                try await browser.wait(for: "Your email address is verified")
                try await browser.expectReadable("signin-23-confirmed-\(email == new ? "new" : "used")")
                try await browser.press(email == new ? "Create account" : "Connect GitHub")
                if email == used {
                    try await browser.wait(for: "Connect GitHub")
                    try await browser.press("Connect GitHub")
                }
                try await browser.wait(for: Self.done)
                #expect(try await providers(email).contains("github.com"))
            }
            #expect(seen.count == 1, "\(seen)")
        }
        try await configure("linkPolicy.unprovenAddress", "link")
    }

    @Test func `the conflict page passes a credential that waits for its mailbox on, and the app gets the session`()
        async throws
    {
        let email = "passed-on@example.com"
        try await configure("linkPolicy.unprovenAddress", "confirm")
        let handle = try #require(try await Self.server.signIn(email)["pendingToken"]?.string)
        try await WebApp.run { app in
            try await Browser.run { browser in
                let back =
                    "continueUrl=\(Self.encoded(app.url("localhost")))&state=mine&codeChallenge=\(Self.challenge)"
                try await open(browser)
                try await browser.open(try Self.server.url + "/conflict#\(handle)&\(back)")
                try await browser.wait(until: "location.pathname + location.hash === '/signin'")
                try await browser.wait(for: "Check your email")
                #expect(try await browser.text("main").contains("p***@e***.com"))
                try await enterCode(browser, try await mail(email, "SIGN_UP_MAILBOX").code)
                try await browser.wait(for: "Your email address is verified")
                try await browser.press("Create account")
                try await browser.wait(until: "location.pathname === '/app.html'")
                let query = try await browser.value("Object.fromEntries(new URLSearchParams(location.search))")
                #expect(query["state"] == "mine" && query["concordCode"] != nil, "\(query.text)")
                #expect(try await providers(email).contains("github.com"))

                for used in [handle, String(repeating: "A", count: handle.count)] {
                    try await browser.open(try Self.server.url + "/conflict#\(used)")
                    try await browser.wait(for: "This cannot be finished here")
                }
            }
        }
        try await configure("linkPolicy.unprovenAddress", "link")
    }

    // MARK: Second factors

    @Test func `the code of an authenticator app, or of a message, completes the sign-in`() async throws {
        let server = try Self.server
        let app: JSONValue = [["state": "ENABLED", "totpProviderConfig": ["adjacentIntervals": 5]]]
        try await configure(
            "mfa",
            ["state": "ENABLED", "enabledProviders": ["PHONE_SMS"], "providerConfigs": app]
        )
        let email = "factor@gmail.com"
        let session = try await signUp(email, isProven: true)
        let token = try #require(session["idToken"])
        let begun = try await server.send(
            .POST,
            "/v2/accounts/mfaEnrollment:start?key=any",
            ["idToken": token, "totpEnrollmentInfo": [:]]
        ).json["totpSessionInfo"]
        let secret = try #require(begun?["sharedSecretKey"]?.string)
        let phone = "sms-factor@gmail.com"
        let id = try #require(try await signUp(phone, isProven: true)["localId"])
        let number: JSONValue = ["enrollments": [["phoneInfo": "+16505550123", "displayName": "Mobile"]]]
        let enrolled = try await server.send(
            .POST,
            "/v1/accounts:update",
            ["localId": id, "mfa": number],
            bearer: "owner"
        )
        #expect(enrolled.status == 200, "\(enrolled.json.text)")
        try await Browser.run { browser in
            try await open(browser)
            let earlier = try await Self.code(of: secret, stepsFromNow: -1, browser)
            let finished = try await server.send(
                .POST,
                "/v2/accounts/mfaEnrollment:finalize?key=any",
                [
                    "idToken": token,
                    "totpVerificationInfo": [
                        "sessionInfo": begun?["sessionInfo"] ?? .null, "verificationCode": .string(earlier),
                    ],
                ]
            )
            #expect(finished.status == 200, "\(finished.json.text)")
            try await identify(browser, email)
            try await signIn(browser)
            try await browser.wait(for: "One more step")
            try await browser.expectReadable("signin-24-factor")
            try await enterCode(browser, "000000", "Sign in")
            try await problem(browser, contains: "The code is wrong")
            try await enterCode(browser, try await Self.code(of: secret, stepsFromNow: 0, browser), "Sign in")
            try await browser.wait(for: Self.done)

            try await open(browser)
            try await identify(browser, phone)
            try await signIn(browser)
            try await browser.wait(for: "One more step")
            try await browser.expectReadable("signin-25-factor-phone")
            try await browser.run("document.querySelector('[data-list=factors] button').click()")
            try await browser.wait(until: "document.getElementById('code-field') && \(Browser.isIdle)")
            let messages = try await server.send(.GET, "/inbox/messages").json["messages"]?.array ?? []
            let message = try #require(messages.first { $0["kind"]?.string != "mail" })
            try await enterCode(browser, try #require(message["code"]?.string), "Sign in")
            try await browser.wait(for: Self.done)
        }
    }

    /// The code of an authenticator app (RFC 6238), computed by the browser.
    private static func code(of secret: String, stepsFromNow: Int, _ browser: Browser) async throws -> String {
        let code = try await browser.value(
            """
            (async () => {
              const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
              const bits = [...'\(secret)'].map((letter) => letters.indexOf(letter).toString(2).padStart(5, "0")).join("");
              const bytes = bits.match(/.{8}/g).map((byte) => parseInt(byte, 2));
              const counter = new DataView(new ArrayBuffer(8));
              counter.setBigUint64(0, BigInt(Math.floor(Date.now() / 30000) + (\(stepsFromNow))));
              const usage = { name: "HMAC", hash: "SHA-1" };
              const key = await crypto.subtle.importKey("raw", new Uint8Array(bytes), usage, false, ["sign"]);
              const mac = new DataView(await crypto.subtle.sign("HMAC", key, counter));
              const number = mac.getUint32(mac.getUint8(19) & 15) & 0x7fffffff;
              return String(number % 1000000).padStart(6, "0");
            })()
            """
        )
        return try #require(code.string)
    }

    // MARK: Apps

    @Test func `an app gets the session by its verifier, and the page leaves nothing behind`() async throws {
        let server = try Self.server
        let email = "pkce@example.com"
        let account = try await signUp(email)
        try await WebApp.run { app in
            try await Browser.run { browser in
                let address = app.url("localhost")
                let fragment =
                    "continueUrl=\(Self.encoded(address))&state=a%26b&codeChallenge=\(Self.challenge)&email=\(email)"
                try await open(browser, fragment)
                #expect(try await browser.value("document.getElementById('email-field').value") == .string(email))
                try await identify(browser, email)
                try await signIn(browser)
                try await browser.wait(until: "location.pathname === '/app.html'")
                let query = try await browser.value("Object.fromEntries(new URLSearchParams(location.search))")
                #expect(query["state"] == "a&b")
                let code = try #require(query["concordCode"])
                let exchange: JSONValue = ["code": code, "codeVerifier": .string(Self.verifier)]
                let session = try await server.send(.POST, "/concord/v1/session:exchange", exchange)
                #expect(session.status == 200 && session.json["localId"] == account["localId"], "\(session.json.text)")
            }
        }
    }

    @Test func `the button of a mail in the same browser leads back to the app with the session`() async throws {
        let email = "mailed-back@gmail.com"
        try await signUpWithGoogle(email)
        try await WebApp.run { app in
            try await Browser.run { browser in
                let address = Self.encoded(app.url("localhost"))
                try await open(browser, "continueUrl=\(address)&state=mine&codeChallenge=\(Self.challenge)")
                try await identify(browser, email)
                try await browser.press("Email me how to sign in")
                try await browser.wait(for: "Check your email")
                let links = try await mail(email, "LOOKUP").links
                try await browser.open(try #require(links.first { $0.contains("way=emailLink") }))
                try await browser.wait(for: Self.start)
                try await browser.press("Sign in")
                try await browser.wait(until: "location.pathname === '/app.html'")
                let query = try await browser.value("Object.fromEntries(new URLSearchParams(location.search))")
                #expect(query["state"] == "mine" && query["concordCode"] != nil, "\(query.text)")

                // Another device has the address of the app alone.
                try await open(browser)
                let lookup: JSONValue = ["email": .string(email), "continueUrl": .string(app.url("localhost"))]
                #expect(try await Self.server.send(.POST, "/concord/v1/lookup", lookup).status == 202)
                let others = try await mail(email, "LOOKUP").links
                try await browser.open(try #require(others.first { $0.contains("way=emailLink") }))
                try await browser.wait(for: Self.start)
                try await browser.press("Sign in")
                try await browser.wait(for: Self.done)
                try await browser.press("Back to the app")
                try await browser.wait(until: "location.pathname === '/app.html'")
                #expect(try await browser.value("location.search.includes('concordCode')") == false)
            }
        }
    }

    @Test func `users of an app below an authorized host get the mail, and no code leads there`() async throws {
        let email = "below@gmail.com"
        try await signUpWithGoogle(email)
        try await configure("linkPolicy.authorizesSubdomains", true)
        try await Browser.run { browser in
            let app = "continueUrl=http%3A%2F%2Fapp.localhost%3A9%2F&state=s&codeChallenge=\(Self.challenge)"
            try await open(browser, app)
            try await identify(browser, email)
            try await browser.press("Email me how to sign in")
            try await browser.wait(for: "Check your email")
            try await enterCode(browser, try await mail(email, "LOOKUP").code)
            try await browser.wait(for: "Choose how to sign in")
            try await browser.press("Sign in with this email")
            try await browser.wait(for: Self.done)
            #expect(try await browser.text("main").contains("does not lead back to it"))
        }
        try await configure("linkPolicy.authorizesSubdomains", false)
    }

    @Test(arguments: ["https%3A%2F%2Fevil.example%2F", "javascript%3Aalert(1)", "%2F%2Fevil.example", "x"])
    func `a page that the project does not authorize gets no user`(_ page: String) async throws {
        let email = "foreign-\(page.utf8.count)@example.com"
        try await signUp(email)
        try await Browser.run { browser in
            try await open(browser, "continueUrl=\(page)&state=s&codeChallenge=\(Self.challenge)")
            try await identify(browser, email)
            try await signIn(browser)
            try await browser.wait(for: Self.done)
            #expect(try await browser.text("main").contains("does not lead back to it"))
            #expect(try await !browser.text("main").contains("Back to the app"))
            #expect(try await browser.value("location.pathname") == "/signin")
            if page == "x" { try await browser.expectReadable("signin-26-foreign") }
        }
    }

    @Test func `a confirmation without an address is of the named account alone`() async throws {
        let owner = try #require(try await signUpWithGoogle("confirm-owner@gmail.com")["localId"]?.string)
        _ = try await signUpWithGoogle("confirm-stranger@gmail.com")
        let app = Self.encoded(try Self.server.url + "/healthz")
        let fragment =
            "mode=reauthenticate&user=\(owner)&methods=google.com"
            + "&continueUrl=\(app)&state=s&codeChallenge=\(Self.challenge)"
        try await Browser.run { browser in
            try await open(browser, fragment)
            try await browser.wait(for: "Confirm that it is you")
            try await browser.press("Continue with Google")
            try await consent(browser, "google-confirm-stranger@gmail.com", email: "confirm-stranger@gmail.com")
            try await browser.wait(until: "location.pathname === '/signin'")
            try await problem(browser, contains: "That is another account.")
            try await browser.press("Continue with Google")
            try await consent(browser, "google-confirm-owner@gmail.com", email: "confirm-owner@gmail.com")
            try await browser.wait(until: "location.pathname === '/healthz'")
            #expect(try await browser.value("location.search.includes('concordCode=')") == true)
        }
    }

    @Test func `a confirmation offers only the methods of the account, and accepts no other account`() async throws {
        let email = "confirm@gmail.com"
        try await signUpWithGoogle(email)
        let server = try Self.server
        let other = try #require(try await signUpWithGoogle("confirm-other@gmail.com")["idToken"]?.string)
        let app = Self.encoded(try Self.server.url + "/healthz")
        let fragment =
            "mode=reauthenticate&email=\(email)&methods=google.com,emailLink"
            + "&continueUrl=\(app)&state=s&codeChallenge=\(Self.challenge)"
        try await Browser.run { browser in
            try await open(browser, fragment)
            try await browser.wait(for: "Confirm that it is you")
            #expect(try await browser.value("document.getElementById('password-field')") == .null)
            try await browser.expectReadable("signin-27-confirm")
            try await browser.press("Continue with Google")
            try await consent(browser, "google-confirm-other@gmail.com", email: "confirm-other@gmail.com")
            try await browser.wait(until: "location.pathname === '/signin'")
            try await problem(browser, contains: "That is another account.")
            let sessions = try await server.send(.GET, "/concord/v1/account/sessions", bearer: other).json["sessions"]
            #expect(sessions?.array?.count == 1, "the sign-in to the other account has ended")
            try await browser.press("Email me a code")
            try await browser.wait(for: "Check your email")
            #expect(try await !browser.text("main").contains("Use another address"))
            try await browser.press("Sign in another way")
            try await browser.wait(for: "Confirm that it is you")
            #expect(try await browser.value("document.getElementById('password-field')") == .null)
            try await browser.press("Email me a code")
            try await browser.wait(for: "Check your email")
            try await enterCode(browser, try await mail(email, "LOOKUP").code)
            try await browser.wait(until: "location.pathname === '/healthz'")
            #expect(try await browser.value("location.search.includes('concordCode=')") == true)
        }
    }

    // MARK: Poor browsers

    @Test func `without storage, everything works but a provider's page, and the page says why`() async throws {
        let email = "no-storage@example.com"
        try await signUp(email)
        try await Browser.run { browser in
            // The browser serves other tests afterwards.
            try await browser.inject(
                """
                if (location.hash.includes("storage=none")) {
                  for (const name of ["localStorage", "sessionStorage"]) {
                    Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });
                  }
                }
                """
            )
            try await open(browser, try Self.backToApp + "&storage=none")
            try await identify(browser, email)
            try await browser.press("Continue with Google")
            try await problem(browser, contains: "Allow cookies and site data")
            try await signIn(browser)
            try await browser.wait(for: Self.done)
            #expect(try await browser.text("main").contains("Back to the app"))
        }
    }

    @Test func `without the project the page offers another try, for every reason`() async throws {
        try await Browser.run { browser in
            try await browser.inject(
                """
                if (location.hash.includes("project=none")) {
                  const send = window.fetch;
                  window.fetch = (address, request) =>
                    String(address).endsWith("concord/v1/signIn") && !window.isBack
                      ? Promise.resolve(new Response("{}", { status: 404 })) : send(address, request);
                }
                """
            )
            try await open(browser, try Self.backToApp + "&project=none")
            try await browser.wait(for: "The service does not answer")
            #expect(try await browser.text("main").contains("The service has an error."))
            try await browser.run("window.isBack = true")
            try await browser.press("Try again")
            try await browser.wait(for: Self.start)
        }
    }

    @Test func `without a network the page says so, and goes on when it is back`() async throws {
        try await Browser.run { browser in
            try await open(browser)
            try await identify(browser, "offline@example.com")
            try await browser.connect(false)
            try await browser.press("Email me how to sign in")
            try await problem(browser, contains: "There is no connection")
            try await browser.connect(true)
            try await browser.press("Email me how to sign in")
            try await browser.wait(for: "Check your email")
            try await browser.reload()
            try await browser.wait(for: "Check your email")
        }
    }
}
